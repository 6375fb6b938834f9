//! Texts with random units hidden, and what the model made of them.
//!
//! Every unit that is no condition is hidden with probability one half, independently of the others. So a draw that was
//! made under a rule S and happens to keep the units of a larger rule A ⊇ S is a draw under A: given that it keeps them,
//! the others are hidden with probability one half all the same. Earlier draws are counted for every rule they fit.

use super::kl::{Tally, Weighted};
use crate::Set;
use exegete_core::Result;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Hidden units, and the number of the draw of what stands in their place.
pub type Draw = (Set, u64);

/// Says of each draw how far the answer is from changing: above zero where it stays.
pub type Ask<'f> = dyn FnMut(&[Draw]) -> Result<Vec<f64>> + 'f;

/// Where the draws come from.
pub struct DrawSource<'f> {
    /// How many units there are to hide.
    pub units: usize,
    /// Whether what stands in place of a hidden unit is itself drawn, so that the same hidden units can end differently.
    pub numbered: bool,
    /// Where random numbers come from.
    pub random: ChaCha8Rng,
    /// What asks the model about draws.
    pub ask: &'f mut Ask<'f>,
}

/// All draws so far.
pub(super) struct Draws<'f> {
    source: DrawSource<'f>,
    drawn: Vec<Drawn>,
    asked: usize,
}

struct Drawn {
    /// The conditions it was made under.
    rule: Vec<usize>,
    hidden: Vec<bool>,
    number: u64,
    lead: f64,
}

impl Drawn {
    /// Whether it is a draw under this rule too.
    fn fits(&self, rule: &[usize]) -> bool {
        rule.iter().all(|&unit| !self.hidden[unit]) && self.rule.iter().all(|unit| rule.contains(unit))
    }

    fn stays(&self) -> bool {
        self.lead > 0.0
    }

    fn draw(&self) -> Draw {
        (hidden_units(&self.hidden), self.number)
    }
}

impl<'f> Draws<'f> {
    pub(super) fn new(source: DrawSource<'f>) -> Self {
        Self { source, drawn: Vec::new(), asked: 0 }
    }

    pub(super) fn units(&self) -> usize {
        self.source.units
    }

    /// How many were asked for.
    pub(super) fn asked(&self) -> usize {
        self.asked
    }

    /// Draws under each of these rules, all in one go; what came of them, in order, and from which draw on they are known.
    pub(super) fn draw(&mut self, rules: &[(&[usize], usize)]) -> Result<Vec<Tally>> {
        let each = rules.iter().flat_map(|(rule, count)| std::iter::repeat_n(*rule, *count));
        let mut new: Vec<Drawn> = each.map(|rule| self.one(rule)).collect();
        let leads = (self.source.ask)(&new.iter().map(Drawn::draw).collect::<Vec<_>>())?;
        new.iter_mut().zip(leads).for_each(|(drawn, lead)| drawn.lead = lead);
        let mut rest = new.as_slice();
        let mut tallies = Vec::with_capacity(rules.len());
        for (_, count) in rules {
            let (own, others) = rest.split_at(*count);
            rest = others;
            let mut tally = Tally::default();
            own.iter().for_each(|drawn| tally.add(drawn.stays()));
            tallies.push(tally);
        }
        self.drawn.append(&mut new);
        Ok(tallies)
    }

    fn one(&mut self, rule: &[usize]) -> Drawn {
        let random = &mut self.source.random;
        let mut hidden: Vec<bool> = (0..self.source.units).map(|_| random.random()).collect();
        rule.iter().for_each(|&unit| hidden[unit] = false);
        self.asked += 1;
        let number = if self.source.numbered { self.asked as u64 } else { 0 };
        Drawn { rule: rule.to_vec(), hidden, number, lead: 0.0 }
    }

    /// What is known of a rule from all draws that fit it.
    pub(super) fn tally(&self, rule: &[usize]) -> Tally {
        let mut tally = Tally::default();
        self.drawn.iter().filter(|drawn| drawn.fits(rule)).for_each(|drawn| tally.add(drawn.stays()));
        tally
    }

    /// What was hidden in each draw, and how far the answer then was from changing.
    pub(super) fn leads(&self) -> impl Iterator<Item = (&[bool], f64)> {
        self.drawn.iter().map(|drawn| (&drawn.hidden[..], drawn.lead))
    }

    /// The latest draws under a rule that keep the answer or lose it; each set of hidden units once.
    pub(super) fn examples(&self, rule: &[usize], stays: bool, most: usize) -> Vec<Draw> {
        let mut found: Vec<Draw> = Vec::new();
        for drawn in self.drawn.iter().rev().filter(|drawn| drawn.stays() == stays && drawn.fits(rule)) {
            let draw = drawn.draw();
            if found.len() < most && found.iter().all(|other| other.0 != draw.0) {
                found.push(draw);
            }
        }
        found
    }

    /// How often random rules with so many conditions keep the answer, from draws that are worth `worth` at least.
    ///
    /// The draws under no rule serve again: a text that keeps m of n units comes C(m, k)/C(n, k)·2ᵏ times as often under a
    /// random rule of k conditions as under none, and is counted so many times. Where that leaves too little, another
    /// rule is drawn for every draw that is missing.
    pub(super) fn random_rules(&mut self, conditions: usize, worth: usize) -> Result<Weighted> {
        let mut sum = Weighted::default();
        for drawn in self.drawn.iter().filter(|drawn| drawn.rule.is_empty()) {
            sum.add(drawn.stays(), frequency(&drawn.hidden, conditions));
        }
        let missing = (worth as f64 - sum.trials()).max(0.0).ceil() as usize;
        let draws: Vec<Draw> = (0..missing)
            .map(|_| {
                let rule = self.random_rule(conditions);
                self.one(&rule).draw()
            })
            .collect();
        (self.source.ask)(&draws)?.into_iter().for_each(|lead| sum.add(lead > 0.0, 1.0));
        Ok(sum)
    }

    fn random_rule(&mut self, conditions: usize) -> Vec<usize> {
        let mut units: Vec<usize> = (0..self.source.units).collect();
        for i in 0..conditions {
            let other = self.source.random.random_range(i..units.len());
            units.swap(i, other);
        }
        units.truncate(conditions);
        units
    }
}

/// How many times as often this text comes under a random rule of so many conditions as under none.
fn frequency(hidden: &[bool], conditions: usize) -> f64 {
    let (all, kept) = (hidden.len(), hidden.iter().filter(|hidden| !**hidden).count());
    (0..conditions).map(|i| 2.0 * kept.saturating_sub(i) as f64 / (all - i) as f64).product()
}

fn hidden_units(hidden: &[bool]) -> Set {
    hidden.iter().enumerate().filter(|(_, hidden)| **hidden).map(|(unit, _)| unit).collect()
}
