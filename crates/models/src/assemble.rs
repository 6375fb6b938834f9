use crate::config::Config;
use crate::families;
use crate::opened::{Opened, Parts};
use crate::tokenizer::Tokenizer;
use crate::weights::{Source, Weights};
use exegete_core::{Card, Result, Sizes};
use exegete_engine::{Context, Real};
use std::sync::Arc;

/// What a model is put together from, beside its parameters.
pub(crate) struct Assembly {
    pub(crate) name: String,
    /// What messages call its files.
    pub(crate) place: String,
    pub(crate) config: Config,
    pub(crate) tokenizer: Option<Tokenizer>,
    pub(crate) fingerprint: String,
    pub(crate) threads: usize,
}

/// Builds the network of the config's family and head, and the card that says what it is.
pub(crate) fn assemble<T: Real>(source: &dyn Source<T>, assembly: Assembly) -> Result<Opened<T>> {
    let Assembly { name, place, config, tokenizer, fingerprint, threads } = assembly;
    let task = config.task().map_err(|e| e.at(&place))?;
    let mut weights = Weights::new(source).keeping_panels(layer_bytes(&config) <= MOST_PANEL_BYTES / 2);
    let network = families::build(&mut weights, &config, task).map_err(|e| e.at(&place))?;
    let unused: Vec<String> =
        source.names().into_iter().filter(|name| weights.forgot(name) && !is_buffer(name)).collect();
    let (params, groups) = weights.into_taken();
    let mut warnings = Vec::new();
    if !unused.is_empty() {
        let list = unused.join(", ");
        warnings.push(format!("{place}: {} tensors are not used by this head: {list}", unused.len()));
    }
    if network.head.pooler_is_missing() {
        warnings.push(format!("{place}: there is no pooler; the pooled vector is the first token's state"));
    }
    let card = Card {
        name,
        family: config.model_type.clone(),
        fingerprint,
        task,
        labels: task.labels(config.labels()),
        parameters: params.values().map(|p| p.shape.iter().product::<usize>()).sum(),
        max_tokens: tokenizer.as_ref().map_or(config.max_tokens(), Tokenizer::max_tokens),
        sizes: Sizes(vec![
            ("layers", config.num_hidden_layers),
            ("hidden", config.hidden_size),
            ("heads", config.num_attention_heads),
        ]),
        warnings,
    };
    let tokenizer = tokenizer.map(Arc::new);
    let (groups, ctx) = (groups.into(), Context::new(threads));
    Ok(Opened::new(Parts { card, config, tokenizer, network, params, groups, ctx }))
}

/// The most memory for copies of weights in the layout that products like best, one forward and one backward.
const MOST_PANEL_BYTES: usize = 384 << 20;

/// What the matrices of all layers take in single precision.
fn layer_bytes(c: &Config) -> usize {
    let layer = 4 * c.hidden_size * c.hidden_size + 2 * c.hidden_size * c.intermediate_size;
    c.num_hidden_layers * layer * size_of::<f32>()
}

/// Index buffers are no weights and count as nothing.
fn is_buffer(name: &str) -> bool {
    name.ends_with("position_ids") || name.ends_with("token_type_ids")
}
