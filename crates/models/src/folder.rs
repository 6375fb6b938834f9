use crate::checkpoint::Checkpoint;
use crate::config::Config;
use crate::fault::fault;
use crate::opened::{Opened, Parts};
use crate::tokenizer::Tokenizer;
use crate::weights::{Source, Weights, matrix};
use crate::{encoder, families};
use exegete_core::{Card, Result, Task};
use exegete_engine::{Context, Real, Scalar, Tensor};
use std::path::Path;
use std::sync::Arc;

/// Opens a folder: config, tokenizer, weights, network.
pub(crate) fn open<T: Real>(dir: &Path, threads: usize) -> Result<Opened<T>> {
    let config = Config::read(dir)?;
    let task = config.task().map_err(|e| e.at(dir.display()))?;
    let checkpoint = Checkpoint::open(dir)?;
    let tokenizer = Tokenizer::open(dir, &config)?;
    let place = dir.display();
    let mut weights = Weights::new(&checkpoint as &dyn Source<T>);
    let network = families::build(&mut weights, &config, task).map_err(|e| e.at(&place))?;
    let unused = unused(&checkpoint, &weights);
    let params = weights.into_taken();
    let mut warnings = Vec::new();
    if !unused.is_empty() {
        let list = unused.join(", ");
        warnings.push(format!("{place}: {} tensors are not used by this head: {list}", unused.len()));
    }
    if task == Task::Encoder && network.head.pooler_is_missing() {
        warnings.push(format!("{place}: there is no pooler; the pooled vector is the first token's state"));
    }
    let name = dir.file_name().map_or_else(|| place.to_string(), |name| name.to_string_lossy().into_owned());
    let card = Card {
        name,
        family: config.model_type.clone(),
        fingerprint: checkpoint.fingerprint(config.source.as_bytes()),
        task,
        labels: labels(&config, task),
        parameters: params.values().map(|p| p.shape.iter().product::<usize>()).sum(),
        max_tokens: tokenizer.max_tokens(),
        layers: config.num_hidden_layers,
        hidden: config.hidden_size,
        heads: config.num_attention_heads,
        warnings,
    };
    let sites = encoder::sites(&config, task);
    let tokenizer = Some(Arc::new(tokenizer));
    Ok(Opened::new(Parts { card, config, tokenizer, network, params, sites, ctx: Context::new(threads) }))
}

fn labels(config: &Config, task: Task) -> Vec<String> {
    match task {
        Task::QuestionAnswering => vec!["start".into(), "end".into()],
        Task::MaskedLanguageModel | Task::Encoder => Vec::new(),
        _ => config.labels().to_vec(),
    }
}

/// Tensors of the file that the network has no use for. Index buffers are no weights and count as nothing.
fn unused<T: Scalar>(checkpoint: &Checkpoint, weights: &Weights<'_, T>) -> Vec<String> {
    let buffer = |name: &str| name.ends_with("position_ids") || name.ends_with("token_type_ids");
    checkpoint.names().filter(|name| weights.forgot(name) && !buffer(name)).map(str::to_owned).collect()
}

impl<T: Scalar> Source<T> for Checkpoint {
    fn find(&self, name: &str, shape: &[usize]) -> Result<Option<Tensor<T>>> {
        let Some(stored) = self.shape(name) else { return Ok(None) };
        if stored != shape {
            return Err(fault(
                "weights",
                format!(
                    "tensor '{name}' has shape {stored:?}, expected {shape:?}; is this checkpoint for another model type?"
                ),
            ));
        }
        let (rows, cols) = matrix(shape);
        Ok(Some(Tensor::borrowed(rows, cols, T::from_f32s(Box::new(self.read(name)?)))))
    }

    fn contains(&self, name: &str) -> bool {
        Self::contains(self, name)
    }
}
