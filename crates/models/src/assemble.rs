use crate::blueprint::{Blueprint, Built};
use crate::opened::{Opened, Parts};
use crate::tokenizer::Tokenize;
use crate::weights::{Param, TensorSource, Weights};
use exegete_core::{Card, Result, Sizes};
use exegete_engine::{Context, Real};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a model is put together from, beside its parameters.
pub(crate) struct Assembly {
    pub(crate) name: String,
    /// What messages call its files.
    pub(crate) place: String,
    pub(crate) blueprint: Blueprint,
    pub(crate) tokenizer: Option<Arc<dyn Tokenize>>,
    pub(crate) fingerprint: String,
    pub(crate) threads: usize,
}

/// Builds the network of the config's family and head, and the card that says what it is.
pub(crate) fn assemble<T: Real>(source: &dyn TensorSource<T>, assembly: Assembly) -> Result<Opened<T>> {
    let Assembly { name, place, blueprint, tokenizer, fingerprint, threads } = assembly;
    let task = blueprint.task().map_err(|e| e.at(&place))?;
    let mut weights = Weights::new(source).keeping_panels(MOST_PANEL_BYTES);
    let Built { network, word, warning } = blueprint.build(&mut weights, task).map_err(|e| e.at(&place))?;
    let unused: Vec<String> =
        source.names().into_iter().filter(|name| weights.forgot(name) && !is_buffer(name)).collect();
    let (params, groups) = weights.into_taken();
    let mut warnings = Vec::new();
    if !unused.is_empty() {
        let list = unused.join(", ");
        warnings.push(format!("{place}: {} tensors are not used by this head: {list}", unused.len()));
    }
    warnings.extend(warning.map(|warning| format!("{place}: {warning}")));
    let (weights_bytes, kept_panels_bytes) = weight_bytes(&params);
    let mut sizes = blueprint.sizes();
    sizes.extend([("weights_bytes", weights_bytes), ("kept_panels_bytes", kept_panels_bytes)]);
    let card = Card {
        name,
        family: blueprint.family().to_owned(),
        fingerprint,
        task,
        labels: task.labels(blueprint.labels()),
        parameters: params.values().map(|p| p.shape.iter().product::<usize>()).sum(),
        max_tokens: tokenizer.as_ref().map_or(blueprint.limits().tokens, |tokenizer| tokenizer.max_tokens()),
        sizes: Sizes(sizes),
        warnings,
    };
    let (groups, ctx, files) = (groups.into(), Context::new(threads), source.mapped());
    Ok(Opened::new(Parts {
        card,
        blueprint,
        tokenizer,
        network,
        word,
        params,
        groups,
        files,
        softplus: None,
        ctx,
    }))
}

/// The most memory for copies of weights in the layout that products like best.
const MOST_PANEL_BYTES: usize = 512 << 20;

/// Bytes of all parameters, and the most that copies of the matrices among them take, one forward and one for gradients.
fn weight_bytes<T>(params: &BTreeMap<String, Param<T>>) -> (usize, usize) {
    let bytes = |p: &Param<T>| p.shape.iter().product::<usize>() * size_of::<T>();
    let matrices = params.values().filter(|p| p.shape.len() == 2).map(bytes).sum::<usize>();
    (params.values().map(bytes).sum(), (2 * matrices).min(MOST_PANEL_BYTES))
}

/// Index buffers are no weights and count as nothing.
fn is_buffer(name: &str) -> bool {
    name.ends_with("position_ids") || name.ends_with("token_type_ids")
}
