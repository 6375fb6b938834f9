//! Scores from attention (METHODS A13). They say where a model looked, not what moved it; the pages say so, and the
//! evidence shows it.

#[allow(clippy::module_inception, reason = "a method's file has the method's name")]
pub mod attention;
pub mod attention_mean;
pub mod attention_norm;
pub mod attention_rollout;
pub mod gradient_x_attention;

use crate::Job;
use exegete_core::{Array, Axis, Error, Place, Quantity, Result, Site};

/// The number of layers and heads, where the model has attention at all.
fn heads(job: &Job<'_>) -> Result<(usize, usize)> {
    let sites = job.open()?.sites();
    // What lies behind a target inside the model has no part in it.
    let last = job.target.sites().first().copied().unwrap_or(Site::Logits);
    let before = |site: Site| matches!(site, Site::Layer(_, Place::Probs)) && site <= last;
    let maps = sites.iter().filter(|info| before(info.site));
    let heads = maps.clone().find_map(|info| match info.axes.first() {
        Some(Axis::Head(count)) => Some(*count),
        _ => None,
    });
    match heads {
        Some(heads) => Ok((maps.count(), heads)),
        None => Err(Error::Unsupported(format!(
            "{} has no attention maps before the target {}",
            job.card().name,
            job.target
        ))),
    }
}

/// Every layer's attention probabilities, each \[N, T, T\].
fn maps(job: &Job<'_>) -> Result<Vec<Array>> {
    let sites: Vec<Site> = (0..heads(job)?.0).map(|layer| Site::Layer(layer, Place::Probs)).collect();
    Ok(job.read(std::slice::from_ref(&job.row), &sites)?.sites.into_iter().flatten().collect())
}

/// The token whose attention is read: the one that the target is about, else the first, which classifiers read.
fn query(job: &Job<'_>) -> usize {
    match &job.target.quantity {
        Quantity::Tag(position, _) | Quantity::Token(position, _) => *position,
        Quantity::Start(Some(position))
        | Quantity::End(Some(position))
        | Quantity::Answer(Some((position, _))) => *position,
        Quantity::Unit(site, at) => {
            let axes = job.info(*site).map_or_else(|_| Vec::new(), |info| info.axes);
            let token = axes.iter().zip(at).find(|(axis, _)| **axis == Axis::Token);
            token.and_then(|(_, index)| *index).unwrap_or(0).min(job.encoded().len() - 1)
        }
        _ => 0,
    }
}

/// One row of an attention map \[N, T, T\], averaged over heads or of one head.
fn row_of(map: &Array, query: usize, head: Option<usize>) -> Vec<f64> {
    let (count, tokens) = (map.shape[0], map.shape[2]);
    let heads = head.map_or(0..count, |head| head..head + 1);
    let share = 1.0 / heads.len() as f64;
    let mut scores = vec![0.0; tokens];
    for head in heads {
        let row = &map.data[(head * map.shape[1] + query) * tokens..][..tokens];
        scores.iter_mut().zip(row).for_each(|(score, &p)| *score += share * f64::from(p));
    }
    scores
}

/// A layer that exists; the last where none is given.
fn layer(given: Option<usize>, layers: usize) -> Result<usize> {
    match given {
        Some(layer) if layer >= layers => {
            Err(Error::Request(format!("layer={layer}: the model has layers 0 to {}", layers - 1)))
        }
        given => Ok(given.unwrap_or(layers - 1)),
    }
}

/// A head that exists.
fn head(given: Option<usize>, heads: usize) -> Result<Option<usize>> {
    match given {
        Some(head) if head >= heads => {
            Err(Error::Request(format!("head={head}: the model has heads 0 to {}", heads - 1)))
        }
        given => Ok(given),
    }
}
