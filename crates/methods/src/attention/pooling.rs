//! Attention that makes one vector of a text: a weight for each word, or for each word of a sentence and for each sentence.

use crate::gradient::path::times;
use crate::question::spread;
use crate::{Question, RawAttribution, RawScores};
use exegete_core::{Array, Axis, Error, Result, Rules, Site, SiteInfo};

/// Where a model weighs words for the text as a whole.
pub(super) struct Pooling {
    /// The weights of words: of the whole text, or of each sentence by itself.
    words: Site,
    axis: Axis,
    /// The weights of sentences, where words are weighed within these.
    sentences: Option<Site>,
}

impl Pooling {
    /// The first weights over words, and those over sentences, if any.
    pub(super) fn of(weights: &[&SiteInfo]) -> Option<Self> {
        let words = weights.iter().find_map(|info| match info.axes[..] {
            [axis @ (Axis::Content | Axis::FieldContent(_))] => Some((info.site, axis)),
            _ => None,
        });
        let sentences = weights.iter().find(|info| info.axes == [Axis::Sentence]).map(|info| info.site);
        words.map(|(words, axis)| Self { words, axis, sentences })
    }

    /// Where the weights of words lie.
    pub(super) fn words(&self) -> Site {
        self.words
    }

    /// The weight of each word; where sentences are weighed, too, times that of its sentence.
    pub(super) fn weights(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let sites: Vec<Site> = [self.words].into_iter().chain(self.sentences).collect();
        let read = job.read_own(&sites, &[], Rules::Gradient)?.values;
        let mut scores = self.tokens(job, &read[0])?;
        if let Some(weights) = read.get(1) {
            let sentences = Axis::Sentence.places(job.encoded()).unwrap_or_default();
            for (sentence, &weight) in sentences.iter().zip(&weights.data) {
                sentence.iter().for_each(|&token| scores[token] *= f64::from(weight));
            }
        }
        Ok(self.scored(scores))
    }

    /// The weight of each word times ∂F/∂weight, which holds whatever comes after, the weights of sentences too.
    pub(super) fn weights_times_slopes(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let site = [self.words];
        let mut read = job.read_own(&site, &site, Rules::Gradient)?;
        let product = times(read.values.swap_remove(0), &read.gradients[0]);
        Ok(self.scored(self.tokens(job, &product)?))
    }

    /// What words have as one number a token; markers and the other text have none.
    fn tokens(&self, job: &Question<'_>, of_words: &Array) -> Result<Vec<f64>> {
        let scores: Vec<f64> = of_words.data.iter().map(|&value| f64::from(value)).collect();
        let none = || Error::Model(format!("{} has no words", self.words));
        spread(self.axis, job.encoded(), &scores).ok_or_else(none)
    }

    fn scored(&self, scores: Vec<f64>) -> RawAttribution {
        let only = matches!(self.axis, Axis::FieldContent(_))
            .then(|| "attention weighs one of the two texts; words of the other have no score".to_owned());
        RawAttribution { site: Some(self.words), ..RawAttribution::of(RawScores::Tokens(scores)) }.note(only)
    }
}
