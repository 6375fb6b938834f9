//! The search for one trigger. Each round takes some rows, and at each place of the trigger the words whose first-order
//! estimate, averaged over the rows, promises most; they are run on a few rows, the best of them on all.

use super::Triggers;
use super::place::SiteChoice;
use crate::attacks::ReplacementWords;
use crate::attacks::first_order::lowest;
use exegete_core::{
    Card, Driver, Encoded, Explaining, Logits, Model, OfOutput, Open, Pass, Readout, Result, Row, Rules,
    Scale, Target, by_outputs,
};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// Rounds that bring nothing before a search ends.
const PATIENCE: usize = 2;
/// Candidates are first run on one of so many rows, and one of so many goes on.
const SCREEN: usize = 4;

/// What a trigger is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aim {
    /// Rows of this class get another answer.
    Away(usize),
    /// Rows of other classes get this one.
    To(usize),
}

impl Aim {
    fn class(self) -> usize {
        match self {
            Self::Away(class) | Self::To(class) => class,
        }
    }

    /// Whether rows of a class are attacked.
    pub(super) fn concerns(self, class: usize) -> bool {
        match self {
            Self::Away(attacked) => class == attacked,
            Self::To(forced) => class != forced,
        }
    }

    /// The probability that the row keeps an answer which the trigger is to take from it.
    fn kept(self, prob: f64) -> f64 {
        match self {
            Self::Away(_) => prob,
            Self::To(_) => 1.0 - prob,
        }
    }

    /// ∂ log(1 − kept) of a row is so many times ∂ log p.
    fn weight(self, log_prob: f64) -> f64 {
        match self {
            // −p / (1 − p), with 1 − p kept from vanishing.
            Self::Away(_) => log_prob.exp() / log_prob.exp_m1().min(-1e-9),
            Self::To(_) => 1.0,
        }
    }
}

/// Where and how a trigger is looked for.
pub(super) struct TriggerSearch<'s> {
    pub(super) model: &'s dyn Model,
    pub(super) open: &'s dyn Open,
    pub(super) driver: &'s Driver,
    pub(super) vocabulary: &'s ReplacementWords,
    /// The words that a trigger may be made of.
    pub(super) words: &'s [u32],
    pub(super) place: SiteChoice,
    pub(super) aim: Aim,
    pub(super) beam: usize,
    pub(super) candidates: usize,
    /// Rows in a round.
    pub(super) batch: usize,
    /// The most rounds that a search takes.
    pub(super) rounds: usize,
}

/// The most rows that one search runs over so many.
pub(super) fn most_rows(own: &Triggers, rows: usize) -> usize {
    let batch = own.batch.min(rows);
    let tried = own.beam.saturating_mul(own.candidates);
    let kept = tried.div_ceil(SCREEN).max(2 * own.beam);
    // At each place slopes on the batch, every candidate on a few of its rows and the best on all.
    let place = tried.saturating_mul(batch.div_ceil(SCREEN)).saturating_add((kept + 1).saturating_mul(batch));
    let round = place.saturating_mul(own.length).saturating_add(batch + rows);
    round.saturating_mul(own.rounds).saturating_add(rows)
}

/// A trigger with the mean probability that rows keep their answer; low is good.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scored {
    pub(super) trigger: Vec<u32>,
    pub(super) kept: f64,
}

/// What rows give under a trigger.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Effect {
    /// The mean probability that they keep their answer.
    pub(super) kept: f64,
    /// How many rows keep their answer.
    pub(super) keep: usize,
}

impl TriggerSearch<'_> {
    /// Goes on from a trigger until rounds bring nothing more.
    pub(super) fn run(
        &self,
        start: Vec<u32>,
        rows: &[Arc<Encoded>],
        random: &mut ChaCha8Rng,
    ) -> Result<Scored> {
        let kept = self.effects(std::slice::from_ref(&start), rows)?[0].kept;
        let mut best = Scored { trigger: start, kept };
        let mut stale = 0;
        for _ in 0..self.rounds {
            let batch = sample(rows, self.batch, random);
            let trigger = self.round(best.trigger.clone(), &batch)?;
            let kept = self.effects(std::slice::from_ref(&trigger), rows)?[0].kept;
            stale = if kept < best.kept - 1e-3 { 0 } else { stale + 1 };
            if kept < best.kept {
                best = Scored { trigger, kept };
            }
            if stale == PATIENCE {
                break;
            }
        }
        Ok(best)
    }

    /// Every place of the trigger once, from left to right, with a beam.
    fn round(&self, start: Vec<u32>, batch: &[Arc<Encoded>]) -> Result<Vec<u32>> {
        let kept = self.effects(std::slice::from_ref(&start), batch)?[0].kept;
        let mut beam = vec![Scored { trigger: start, kept }];
        for place in 0..beam[0].trigger.len() {
            let words = self.promising(&beam[0].trigger, place, batch)?;
            let changed = |Scored { trigger, .. }: &Scored| -> Vec<Vec<u32>> {
                let others = words.iter().filter(|&&id| id != trigger[place]);
                others.map(|&id| replaced(trigger, place, id)).collect()
            };
            let mut tried: Vec<Vec<u32>> = beam.iter().flat_map(changed).collect();
            tried.sort();
            tried.dedup();
            beam.extend(self.screened(tried, batch)?);
            beam.sort_by(|a, b| a.kept.total_cmp(&b.kept));
            beam.dedup_by(|a, b| a.trigger == b.trigger);
            beam.truncate(self.beam);
        }
        Ok(beam.swap_remove(0).trigger)
    }

    /// Runs all triggers on a few rows and the best of them on all.
    fn screened(&self, mut tried: Vec<Vec<u32>>, batch: &[Arc<Encoded>]) -> Result<Vec<Scored>> {
        let few = &batch[..batch.len().div_ceil(SCREEN)];
        let most = tried.len().div_ceil(SCREEN).max(2 * self.beam);
        if tried.len() > most {
            let mut scored = self.scored(tried, few)?;
            scored.sort_by(|a, b| a.kept.total_cmp(&b.kept));
            tried = scored.into_iter().take(most).map(|scored| scored.trigger).collect();
        }
        self.scored(tried, batch)
    }

    fn scored(&self, triggers: Vec<Vec<u32>>, rows: &[Arc<Encoded>]) -> Result<Vec<Scored>> {
        let effects = self.effects(&triggers, rows)?;
        Ok(triggers
            .into_iter()
            .zip(effects)
            .map(|(trigger, Effect { kept, .. })| Scored { trigger, kept })
            .collect())
    }

    /// The words that are estimated to take most answers away at one place of a trigger.
    fn promising(&self, trigger: &[u32], place: usize, batch: &[Arc<Encoded>]) -> Result<Vec<u32>> {
        let slope = self.slope(trigger, place, batch)?;
        let found = lowest(self.vocabulary, &slope, 0.0, self.words, self.candidates);
        Ok(found.into_iter().map(|estimate| estimate.id).collect())
    }

    /// −∂/∂x of the mean log(1 − kept) over rows, at one place of a trigger.
    pub(super) fn slope(&self, trigger: &[u32], place: usize, batch: &[Arc<Encoded>]) -> Result<Vec<f32>> {
        let (mut rows, mut at) = (Vec::new(), Vec::new());
        for encoded in batch {
            let (encoded, range) = self.put(encoded, trigger)?;
            rows.push(Row::new(encoded));
            at.push(range.start + place);
        }
        let readout = Explaining {
            open: self.open,
            card: self.model.card(),
            target: &self.target(),
            values: &[],
            wrt: &[self.open.sites().words()?],
            rules: Rules::Gradient,
        };
        let (mut sum, mut at): (Vec<f64>, _) = (Vec::new(), at.into_iter());
        self.driver.read(self.model, rows.into_iter().map(Ok), &readout, &mut |found| {
            let (log_prob, gradient) = (found.value, &found.gradients[0]);
            let width = gradient.shape.last().copied().unwrap_or(0);
            sum.resize(width, 0.0);
            let weight = -self.aim.weight(log_prob);
            let own = gradient.data.iter().skip(at.next().unwrap_or(0) * width);
            sum.iter_mut().zip(own).for_each(|(sum, &g)| *sum += weight * f64::from(g));
            Ok(())
        })?;
        Ok(sum.into_iter().map(|x| (x / batch.len().max(1) as f64) as f32).collect())
    }

    /// What rows give under each trigger.
    pub(super) fn effects(&self, triggers: &[Vec<u32>], rows: &[Arc<Encoded>]) -> Result<Vec<Effect>> {
        let put = |trigger: &'_ Vec<u32>, row: &Arc<Encoded>| Ok(Row::new(self.put(row, trigger)?.0));
        let all = triggers.iter().flat_map(|trigger| rows.iter().map(move |row| put(trigger, row)));
        let (card, target) = (self.model.card(), self.target());
        let mut effects = vec![Effect { kept: 0.0, keep: 0 }; triggers.len()];
        let (mut done, count) = (0, rows.len().max(1));
        self.driver.read(self.model, all, &Answering { card, target: &target }, &mut |(
            log_prob,
            class,
        )| {
            let effect = &mut effects[done / count];
            effect.kept += self.aim.kept(log_prob.exp());
            let decided = class == self.aim.class();
            effect.keep += usize::from(decided == matches!(self.aim, Aim::Away(_)));
            done += 1;
            Ok(())
        })?;
        effects.iter_mut().for_each(|effect| effect.kept /= count as f64);
        Ok(effects)
    }

    pub(super) fn put(
        &self,
        encoded: &Encoded,
        trigger: &[u32],
    ) -> Result<(Arc<Encoded>, std::ops::Range<usize>)> {
        self.place.put(encoded, trigger, self.vocabulary, self.model.card().max_tokens)
    }

    fn target(&self) -> Target {
        Target { scale: Some(Scale::LogProb), ..Target::class(self.aim.class()) }
    }
}

/// Reads the value of a target and which class has the largest output, the first of equals.
pub(super) struct Answering<'t> {
    pub(super) card: &'t Card,
    pub(super) target: &'t Target,
}

impl OfOutput<(f64, usize)> for Answering<'_> {
    fn of(&self, _: &Row, output: &Logits) -> Result<(f64, usize)> {
        Ok((self.target.value_of(self.card, output)?, largest(&output.data)))
    }
}

impl Readout for Answering<'_> {
    type Value = (f64, usize);

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<(f64, usize)>> {
        by_outputs(self, rows, pass)
    }

    fn of_output(&self) -> Option<&dyn OfOutput<(f64, usize)>> {
        Some(self)
    }
}

/// Where the largest number stands, the first of equals.
pub(super) fn largest(numbers: &[f64]) -> usize {
    (0..numbers.len()).reduce(|best, i| if numbers[i] > numbers[best] { i } else { best }).unwrap_or(0)
}

fn replaced(trigger: &[u32], place: usize, id: u32) -> Vec<u32> {
    let mut trigger = trigger.to_vec();
    trigger[place] = id;
    trigger
}

/// Some of many, each once, in random order.
pub(super) fn sample<T: Clone>(all: &[T], count: usize, random: &mut ChaCha8Rng) -> Vec<T> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    let count = count.min(all.len());
    for i in 0..count {
        order.swap(i, random.random_range(i..all.len()));
    }
    order[..count].iter().map(|&i| all[i].clone()).collect()
}
