//! Scores from attention. They say where a model looked, not what moved it; the pages say so, and the
//! evidence shows it.

#[allow(clippy::module_inception, reason = "a method's file has the method's name")]
pub mod attention;
pub mod attention_attribution;
pub mod attention_mean;
pub mod attention_norm;
pub mod attention_rollout;
pub mod gradient_x_attention;
mod pooling;

use crate::question::spread;
use crate::registry::params;
use crate::{Arguments, Parameter, Question, RawAttribution, RawScores};
use exegete_core::{Array, Axis, Error, Result, Role, Rules, Site, SiteInfo};
use pooling::Pooling;
use std::collections::BTreeMap;

/// Which layer and which head, for methods that look at one.
const PARAMETERS: [Parameter; 2] = [
    Parameter::count("layer", 0..=9_999, None, "which layer, from 0; the last unless said"),
    Parameter::count("head", 0..=9_999, None, "one head, from 0; the mean over all unless said"),
];

/// The layer that is read and the head of it; none for the last layer, and for all heads together.
struct HeadChoice {
    layer: Option<usize>,
    head: Option<usize>,
}

impl HeadChoice {
    fn of(arguments: &mut Arguments) -> Result<Self> {
        Ok(Self { layer: arguments.optional_count("layer")?, head: arguments.optional_count("head")? })
    }

    /// As a report names them; `all` is what its method makes of all heads.
    fn params(&self, all: &str) -> BTreeMap<String, serde_json::Value> {
        let named = |given: Option<usize>, usual: &str| given.map_or(usual.into(), serde_json::Value::from);
        params([("layer", named(self.layer, "last")), ("head", named(self.head, all))])
    }
}

/// How a model pays attention.
enum Attention {
    /// Tokens to tokens: the weights of each layer, and the number of heads.
    Between(Vec<Site>, usize),
    /// The text as a whole to its words, once.
    Pooling(Pooling),
    /// Each word of a text that is written to the words of another, \[places, words\].
    Written(Site),
}

impl Attention {
    /// What a model has before the target, or what it lacks.
    fn of(job: &Question<'_>) -> Result<Self> {
        let sites = job.open()?.sites();
        // What lies behind a target inside the model has no part in it.
        let last = sites.order(job.target.last_site(sites)?);
        let before: Vec<&SiteInfo> =
            sites.with_role(Role::Weights).filter(|info| sites.order(info.site) <= last).collect();
        let map = |info: &&SiteInfo| match info.axes[..] {
            [Axis::Head(count), Axis::Token, Axis::Token] => Some((info.site, count)),
            _ => None,
        };
        let (maps, heads): (Vec<Site>, Vec<usize>) = before.iter().filter_map(map).unzip();
        let written = before.iter().find(|info| info.axes == [Axis::Target, Axis::FieldContent(0)]);
        match (heads.first(), Pooling::of(&before), written) {
            (Some(&heads), ..) => Ok(Self::Between(maps, heads)),
            (None, Some(pooling), _) => Ok(Self::Pooling(pooling)),
            (None, None, Some(info)) => Ok(Self::Written(info.site)),
            (None, None, None) => Err(Error::Unsupported(format!(
                "{} has no attention maps before the target {}",
                job.card().name,
                job.target
            ))),
        }
    }
}

/// The attention weights of each layer and the number of heads, where the model has self-attention at all.
fn weights(job: &Question<'_>) -> Result<(Vec<Site>, usize)> {
    match Attention::of(job)? {
        Attention::Between(maps, heads) => Ok((maps, heads)),
        Attention::Pooling(_) => Err(Error::Unsupported(format!(
            "{} has no self-attention, from words to words: it weighs words once, for the text as a whole; attention and \
             gradient_x_attention read those weights",
            job.card().name
        ))),
        Attention::Written(_) => Err(no_self_attention(job)),
    }
}

/// Why a method of self-attention has nothing to read in a model that writes.
fn no_self_attention(job: &Question<'_>) -> Error {
    Error::Unsupported(format!(
        "{} has no self-attention, from words to words: each word that it writes weighs the words of the source; attention reads \
         those weights",
        job.card().name
    ))
}

/// The weights by which a written word was read from the source: that of the target, or the mean over all.
fn written(job: &Question<'_>, site: Site) -> Result<RawAttribution> {
    let weights = job.read_own(&[site], &[], Rules::Gradient)?.values.swap_remove(0);
    let words = weights.shape[1].max(1);
    let rows: Vec<&[f32]> = match job.target.position() {
        Some(place) => weights.data.chunks(words).skip(place).take(1).collect(),
        None => weights.data.chunks(words).collect(),
    };
    let share = 1.0 / rows.len().max(1) as f64;
    let mut of_words = vec![0.0; words];
    rows.iter()
        .for_each(|row| of_words.iter_mut().zip(*row).for_each(|(sum, &a)| *sum += share * f64::from(a)));
    let scores = spread(Axis::FieldContent(0), job.encoded(), &of_words);
    let scores = scores.ok_or_else(|| Error::Model(format!("{site} has no words")))?;
    let read = RawAttribution { site: Some(site), ..RawAttribution::of(RawScores::Tokens(scores)) };
    Ok(match job.target.position() {
        Some(place) => read.with("query", place),
        None => read.note(Some("the mean over all words of the target".to_owned())),
    })
}

/// Every layer's attention probabilities, each \[N, T, T\].
fn maps(job: &Question<'_>, sites: &[Site]) -> Result<Vec<Array>> {
    Ok(job.read_own(sites, &[], Rules::Gradient)?.values)
}

/// The token whose attention is read: the one that the target is about, else the first, which classifiers read.
fn query(job: &Question<'_>) -> usize {
    let Some((site, at)) = job.target.unit() else { return job.target.position().unwrap_or(0) };
    let axes = job.info(site).map_or_else(|_| Vec::new(), |info| info.axes.clone());
    let token = axes.iter().zip(at).find(|(axis, _)| **axis == Axis::Token);
    token.and_then(|(_, index)| *index).unwrap_or(0).min(job.encoded().len() - 1)
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

/// What tokens were scored for the one that is read, at a site.
fn attended(job: &Question<'_>, site: Option<Site>, scores: Vec<f64>) -> RawAttribution {
    RawAttribution { site, ..RawAttribution::of(RawScores::Tokens(scores)) }.with("query", query(job))
}

/// A layer that exists; the last where none is given.
fn layer(given: Option<usize>, count: usize) -> Result<usize> {
    let last = count.saturating_sub(1);
    match given {
        Some(layer) if layer > last => {
            let has = if last == 0 { "one layer, 0".into() } else { format!("layers 0 to {last}") };
            Err(Error::Request(format!("layer={layer}: the model has {has}")))
        }
        given => Ok(given.unwrap_or(last)),
    }
}

/// A head that exists.
fn head(given: Option<usize>, heads: usize) -> Result<Option<usize>> {
    match given {
        Some(head) if head >= heads => {
            let has = if heads == 1 { "one head, 0".into() } else { format!("heads 0 to {}", heads - 1) };
            Err(Error::Request(format!("head={head}: the model has {has}")))
        }
        given => Ok(given),
    }
}
