use super::choose::Choice;
use super::picture::LocalLinearFit;
use super::rows::Rows;
use super::sample::{Sample, Sampling};
use crate::effort::more;
use crate::perturbation::Game;
use exegete_core::Result;
use rand_chacha::ChaCha8Rng;

/// As many samples as the original draws unless told; the penalty weighs as it does there.
pub(super) const USUAL: usize = 5000;
/// The first round has at least this many rows, and a few for each word.
const FIRST: usize = 64;
const FOR_EACH_WORD: usize = 3;

/// How many rows are asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Size {
    /// Exactly this many rows.
    Fixed(usize),
    /// Until the largest standard error is this share of the largest weight, and at most so many.
    Until(f64, usize),
}

/// How a picture is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct PictureSearch {
    pub(super) sampling: Sampling,
    pub(super) choice: Choice,
    pub(super) size: Size,
}

/// A picture and the rows that it is made of.
pub(super) struct FoundPicture {
    pub(super) picture: LocalLinearFit,
    /// How many, the whole text included.
    pub(super) samples: usize,
    /// F of the whole text.
    pub(super) whole: f64,
    /// Whether every set of words was hidden once, so that nothing is left to chance.
    pub(super) is_exact: bool,
}

impl PictureSearch {
    /// The picture of a game with at least one player.
    pub(super) fn run(&self, game: &mut dyn Game, random: ChaCha8Rng) -> Result<FoundPicture> {
        let words = game.players();
        let mut sample = Sample::new(words, self.sampling, random);
        let mut values = Vec::new();
        let (mut goal, most, tolerance) = match self.size {
            Size::Fixed(samples) => (samples, samples, 0.0),
            Size::Until(tolerance, most) => (most.min(FIRST.max(FOR_EACH_WORD * words)), most, tolerance),
        };
        loop {
            sample.grow(goal);
            values.extend(game.values(&sample.sets()[values.len()..])?);
            let picture = self.picture(&sample, &values);
            let imprecision = picture.imprecision();
            if imprecision <= tolerance || goal >= most || sample.is_complete() {
                let (samples, whole) = (values.len(), values[0]);
                return Ok(FoundPicture { picture, samples, whole, is_exact: sample.is_complete() });
            }
            goal = most.min(more(goal, imprecision, tolerance));
        }
    }

    fn picture(&self, sample: &Sample, values: &[f64]) -> LocalLinearFit {
        // A fixed number of the original's samples is fitted as the original does it.
        let samples = match (self.sampling, self.size) {
            (Sampling::Package, Size::Fixed(samples)) => samples,
            _ => USUAL,
        } as f64;
        let (weights, strata) = sample.weights(samples);
        let words = sample.words();
        let mut present = vec![1.0; words * values.len()];
        for (row, set) in present.chunks_exact_mut(words).zip(sample.sets()) {
            set.iter().for_each(|&word| row[word] = 0.0);
        }
        let rows = Rows { words, present, weights, values: values.to_vec() };
        LocalLinearFit::of(&rows, &strata, self.choice, samples, self.sampling == Sampling::Layers)
    }
}
