//! Explanations that know nothing of how the model reacts, tried on effects that were measured: they cost no row.

use super::Text;
use crate::Stream;
use crate::evidence::chance::Trial;
use crate::evidence::chance::regression::Effects;
use crate::evidence::chance::statistic::Orders;
use exegete_core::report::ChanceVerdict;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// What hiding each unit of a text does to F, as the evidence measures it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextEffects {
    /// The effect of each unit.
    pub values: Vec<f64>,
    /// The standard error of each effect.
    pub errors: Vec<f64>,
    /// Which random orders belong to the text.
    pub place: u64,
}

impl TextEffects {
    /// None where there is nothing to measure on, or what was measured is no number.
    pub(crate) fn of(effects: Effects, place: u64) -> Option<Self> {
        let finite = effects.are_finite() && !effects.values.is_empty();
        finite.then_some(Self { values: effects.values, errors: effects.errors, place })
    }
}

/// An explanation that knows nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    /// Scores that are drawn at random.
    Random,
    /// Random scores, read as sizes.
    RandomUnsigned,
    /// The scores of an explanation, upside down.
    Reversed(usize),
    /// One score for all.
    Constant,
    /// The scores of texts that follow, cut or repeated to length.
    Other,
}

/// What came of a card.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    /// No finding failed, and few random rankings do as well.
    pub(super) clean: bool,
    /// The text could not show it.
    pub(super) undecided: bool,
    /// The fit in standard deviations.
    pub(super) z: Option<f64>,
}

impl Outcome {
    /// Of a text that is too short to tell any ranking from chance.
    const UNDECIDED: Self = Self { clean: false, undecided: true, z: None };
}

/// Texts whose effects are known, with their random orders.
pub(super) struct Asked<'t> {
    texts: &'t [&'t Text],
    tests: Vec<Option<(Effects, Orders)>>,
    seed: u64,
}

impl<'t> Asked<'t> {
    pub(super) fn of(texts: &'t [&'t Text], seed: u64) -> Self {
        let test = |text: &&Text| {
            let TextEffects { values, errors, place } = text.effects.clone()?;
            let orders = Orders::new(values.len(), &mut Stream::Chance.random(seed, place));
            Some((Effects { values, errors, intercept: 0.0 }, orders))
        };
        Self { texts, tests: texts.iter().map(test).collect(), seed }
    }

    /// What the card says of so many draws of a control on one text; of one that is always the same, once. Where the text is
    /// too short to show anything, all are undecided, as the card of a method is.
    pub(super) fn outcomes(&self, control: Control, at: usize, draws: usize) -> Vec<Outcome> {
        let Some(units) = self.texts[at].units() else { return Vec::new() };
        let stream = |kind: u64| Stream::Controls.random(self.seed, 2 * at as u64 + kind);
        let even = |random: &mut ChaCha8Rng| (0..units).map(|_| random.random::<f64>()).collect::<Vec<f64>>();
        let (scores, signed): (Vec<Vec<f64>>, bool) = match control {
            Control::Random => {
                let mut random = stream(0);
                ((0..draws).map(|_| even(&mut random)).collect(), true)
            }
            Control::RandomUnsigned => {
                let mut random = stream(1);
                ((0..draws).map(|_| even(&mut random)).collect(), false)
            }
            Control::Constant => (vec![vec![1.0; units]], true),
            Control::Reversed(place) => {
                let own = self.texts[at].measured.get(place);
                let upside_down =
                    |v: &f64| if own.is_some_and(|own| own.signed) { -v } else { 1.0 / v.abs().max(1e-30) };
                (own.iter().map(|own| own.values.iter().map(upside_down).collect()).collect(), true)
            }
            Control::Other => {
                let count = draws.min(self.texts.len() - 1);
                let other = |step: usize| self.texts[(at + step) % self.texts.len()].measured.first();
                let fitted = |other: &crate::compare::Measured| {
                    other.values.iter().copied().cycle().take(units).collect()
                };
                ((1..=count).filter_map(other).filter(|o| !o.values.is_empty()).map(fitted).collect(), true)
            }
        };
        let own = match control {
            Control::Reversed(place) => self.texts[at].measured.get(place).is_none_or(|own| own.signed),
            Control::Other => self.texts[at].measured.first().is_none_or(|own| own.signed),
            _ => signed,
        };
        let Some((effects, orders)) = &self.tests[at] else { return vec![Outcome::UNDECIDED; scores.len()] };
        scores.iter().map(|values| outcome(values, own, effects, orders)).collect()
    }
}

fn outcome(values: &[f64], signed: bool, effects: &Effects, orders: &Orders) -> Outcome {
    let found = Trial::of(values, signed, effects, orders, &|_| String::new());
    Outcome {
        clean: found.verdict == ChanceVerdict::Passed,
        undecided: found.verdict == ChanceVerdict::Undecided,
        z: found.z,
    }
}
