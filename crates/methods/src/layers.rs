//! The layer story of one prediction: the same method at the output of every layer. As in B. van Aken and others, *How
//! does BERT answer questions?*, 2019.

use crate::answer::subject_of;
use crate::raw_attribution::RawScores;
use crate::registry::Method;
use crate::{ConfiguredMethod, Question};
use exegete_core::report::{Item, Map, MapLayer, ReluSwap, Spread, TokenText};
use exegete_core::{Array, Axis, Error, Result, Role, Site, SiteInfo};

/// Scores for every token at the word vectors and behind each layer.
pub(crate) fn layer_attribution(job: &Question<'_>, chosen: &ConfiguredMethod) -> Result<Item> {
    let job = &job.with_baselines_of(chosen);
    if chosen.scores()?.own_site() {
        return Err(Error::Request(format!(
            "{} has no scores by layer; leave all-layers out",
            chosen.info.name
        )));
    }
    let (mut layers, mut subject) = (Vec::new(), None);
    for site in sites(job)? {
        let job = Question { site, ..job.clone() };
        let explained = chosen.explain(&job)?;
        let (RawScores::Elements(values, _), Some(token_values)) =
            (&explained.scores, explained.tokens(&job)?)
        else {
            let name = chosen.info.name;
            return Err(Error::Request(format!(
                "{name} scores tokens and no units, which a story by layers is told of; choose one --site"
            )));
        };
        layers.push(MapLayer {
            site: site.to_string(),
            entropy: entropy(&token_values),
            spread: spreads(values, job.encoded().len()),
            token_values,
            completeness: explained.completeness(&job)?,
        });
        if subject.is_none() {
            let mut told = subject_of(&job, chosen, &explained)?;
            told.notes.extend(explained.swap.as_ref().map(ReluSwap::sentence));
            subject = Some(told);
        }
    }
    let subject = subject.ok_or_else(|| Error::Unsupported("the model has no layers to tell of".into()))?;
    Ok(Item::Map(Box::new(Map { subject, tokens: TokenText::of(job.encoded()), layers, axes: None })))
}

/// The places that carry everything and have every token, up to the target; sentences are told of by themselves.
fn sites(job: &Question<'_>) -> Result<Vec<Site>> {
    let mut sites = vec![job.words()?];
    let of_tokens = |info: &SiteInfo| info.role == Role::LayerOutput && info.axes.contains(&Axis::Token);
    let layer = |site: &Site| job.info(*site).is_ok_and(of_tokens);
    sites.extend(job.cuts()?.into_iter().filter(layer));
    Ok(sites)
}

/// How each token's score is spread over its units; the last axis of a cut is its units. Tokens without an entry have none.
fn spreads(values: &Array, tokens: usize) -> Vec<Spread> {
    let width = values.shape.last().copied().unwrap_or(1).max(1);
    let none = vec![0.0; width];
    let rest = tokens.saturating_sub(values.len() / width);
    values.data.chunks(width).chain(std::iter::repeat_n(&none[..], rest)).map(spread).collect()
}

fn spread(units: &[f32]) -> Spread {
    let mut sorted: Vec<f64> = units.iter().map(|&v| f64::from(v)).collect();
    sorted.sort_by(f64::total_cmp);
    let quantile = |share: f64| {
        let at = share * (sorted.len() - 1) as f64;
        let (low, rest) = (at.floor() as usize, at.fract());
        let high = (low + 1).min(sorted.len() - 1);
        sorted[low] + rest * (sorted[high] - sorted[low])
    };
    Spread {
        min: quantile(0.0),
        lower: quantile(0.25),
        median: quantile(0.5),
        upper: quantile(0.75),
        max: quantile(1.0),
        entropy: entropy(&sorted),
    }
}

/// −Σ p log₂ p with p the shares of sizes; 0 where there is nothing.
pub(crate) fn entropy(values: &[f64]) -> f64 {
    let total: f64 = values.iter().map(|v| v.abs()).sum();
    let term = |v: &f64| {
        let p = v.abs() / total;
        if p > 0.0 { -p * p.log2() } else { 0.0 }
    };
    if total > 0.0 { values.iter().map(term).sum() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_and_quartiles_by_hand() {
        assert!((entropy(&[1.0, -1.0, 1.0, 1.0]) - 2.0).abs() < 1e-12);
        assert_eq!(entropy(&[0.0, 3.0]), 0.0);
        assert_eq!(entropy(&[0.0, 0.0]), 0.0);
        let found = spread(&[4.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!((found.min, found.lower, found.median, found.upper, found.max), (0.0, 1.0, 2.0, 3.0, 4.0));
    }
}
