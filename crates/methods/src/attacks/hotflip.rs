//! Words replaced so that the decision changes. J. Ebrahimi, A. Rao, D. Lowd, D. Dou, *HotFlip: white-box adversarial
//! examples for text classification*, 2018.
//!
//! Every replacement of the word x by v is estimated to move F by (e_v − x)·∂F/∂x; the most promising are run, and a beam
//! of the best goes on with one more word.

use super::first_order::{Estimate, lowest};
use super::flips::{Flipped, Flips, apply, swaps, with, written};
use super::goal::{Aiming, AttackGoal, Outcome, Toward};
use super::{Constraints, ReplacementWords, constraints};
use crate::evidence::{Judged, verdict_of};
use crate::masker::writes;
use crate::registry::{Info, Meaning, Needs, New, SearchMethod, Unread};
use crate::{Arguments, Parameter, Question, Stream};
use exegete_core::report::{Chance, Edited, Edits, Item, Subject, Verdict};
use exegete_core::{Array, Encoded, Example, Open, Predictions, Result, Row, Unit, Units, dot};
use rand::RngExt;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "hotflip",
    summary: "the fewest words to replace so that the decision changes, found by gradients",
    prose: include_str!("hotflip.md"),
    parameters: &[
        Parameter::count("words", 1..=100, Some(3), "the most words that change"),
        Parameter::count("beam", 1..=100, Some(4), "how many texts go on from one word to the next"),
        Parameter::count(
            "candidates",
            1..=10_000,
            Some(32),
            "replacements run for each of them; at most a quarter share a place, where there are places enough",
        ),
        Parameter::count("random", 0..=100_000, Some(100), "random changes that are run to compare with"),
        Parameter::text(
            "toward",
            "negative",
            None,
            "the class that the decision must become; without it any other will do",
        ),
        constraints::PARAMETERS[0],
        constraints::PARAMETERS[1],
        constraints::PARAMETERS[2],
        constraints::PARAMETERS[3],
        constraints::PARAMETERS[4],
    ],
    axioms: &[],
    signed: false,
    meaning: Meaning::Other,
    needs: Needs::Inside,
    new: New::Finds(|arguments| Ok(Box::new(HotFlip::new(arguments)?))),
};

/// Of the words that may change, so many with the longest gradients are looked at.
const POSITIONS: usize = 64;
/// So many texts are reported.
const SHOWN: usize = 3;

#[derive(Debug, Clone)]
struct HotFlip {
    /// The most words that change.
    words: usize,
    /// How many texts go on from one word to the next.
    beam: usize,
    /// How many replacements are run for each of them.
    candidates: usize,
    /// How many random changes are run to compare with.
    random: usize,
    /// The class to reach; any other where there is none.
    toward: Option<String>,
    /// Which words may be replaced, and by which.
    constraints: Constraints,
}

impl HotFlip {
    fn new(arguments: &mut Arguments) -> Result<Self> {
        Ok(Self {
            words: arguments.count("words")?,
            beam: arguments.count("beam")?,
            candidates: arguments.count("candidates")?,
            random: arguments.count("random")?,
            toward: arguments.text("toward")?,
            constraints: Constraints::new(arguments)?,
        })
    }
}

impl SearchMethod for HotFlip {
    fn params(&self) -> BTreeMap<String, Value> {
        let mut params = self.constraints.params();
        let counts = [
            ("words", self.words),
            ("beam", self.beam),
            ("candidates", self.candidates),
            ("random", self.random),
        ];
        params.extend(counts.map(|(key, count)| (key.to_owned(), count.into())));
        params.extend(self.toward.iter().map(|label| ("toward".to_owned(), label.clone().into())));
        params
    }

    fn most_rows(&self, _units: usize) -> Option<usize> {
        let later = (self.words - 1).saturating_mul(self.beam).saturating_add(1);
        Some(later.saturating_mul(self.candidates).saturating_add(self.random))
    }

    fn find(&self, job: &Question<'_>, mut subject: Subject) -> Result<Item> {
        // Words are replaced, whatever the units of the request.
        let units = Units::Word.of(job.encoded());
        let search = Search::new(self, job, &units)?;
        let (found, flipped) = search.run()?;
        let random = search.random(flipped)?;
        let best: Vec<&State> = found.iter().take(SHOWN).collect();
        let edited = best.iter().map(|state| search.edited(state)).collect::<Result<Vec<Edited>>>()?;
        let lost = search.lost(&best, &edited)?;
        if lost > 0 {
            subject.notes.push(format!(
                "written out and read again, {lost} of the {} texts come as other tokens and do not reach the goal",
                edited.len()
            ));
        }
        let reached = best.first().is_some_and(|state| state.outcome.reached);
        Ok(Item::Edits(Box::new(Edits {
            goal: format!("the fewest words to replace so that {}", search.goal.words()),
            smallest: reached && flipped == 1,
            verdict: search.verdict(&best, &edited, flipped, random),
            found: edited,
            random: (random.trials > 0).then_some(random),
            subject,
        })))
    }

    fn unread(&self) -> &'static [Unread] {
        // Words are replaced, whatever the units.
        &[Unread::Units, Unread::Hiding, Unread::Evidence]
    }
}

/// A text on the way.
struct State {
    flips: Flips,
    text: Flipped,
    outcome: Outcome,
}

/// One beam search over the flips of one text.
struct Search<'s, 'a> {
    own: &'s HotFlip,
    job: &'s Question<'a>,
    open: &'a dyn Open,
    units: &'s [Unit],
    vocabulary: ReplacementWords,
    /// What may take the place of each unit.
    allowed: Vec<Vec<u32>>,
    goal: AttackGoal,
    start: State,
}

impl<'s, 'a> Search<'s, 'a> {
    fn new(own: &'s HotFlip, job: &'s Question<'a>, units: &'s [Unit]) -> Result<Self> {
        let open = job.open()?;
        let vocabulary = ReplacementWords::of(open)?;
        let aiming = Aiming { job, open, toward: own.toward.as_deref() };
        let (goal, outcome) = job.driver.read_one(job.model, &job.row, &aiming)?;
        let may = |unit: &Unit| match may_move(job, unit) {
            true => own.constraints.allowed(&vocabulary, job.encoded(), unit),
            false => Vec::new(),
        };
        let allowed = units.iter().map(may).collect();
        let text = apply(job.encoded(), units, &Flips::new(), &vocabulary);
        let start = State { flips: Flips::new(), text, outcome };
        Ok(Self { own, job, open, units, vocabulary, allowed, goal, start })
    }

    /// The texts that reach the goal, or the best that do not, and how many of their words changed.
    fn run(&self) -> Result<(Vec<State>, usize)> {
        let mut beam = Vec::new();
        for count in 1..=self.own.words {
            let from = if count == 1 { std::slice::from_ref(&self.start) } else { &beam[..] };
            let next = self.step(from)?;
            if next.is_empty() {
                return Ok((beam, count - 1));
            }
            if next.iter().any(|state| state.outcome.reached) {
                return Ok((next.into_iter().filter(|state| state.outcome.reached).collect(), count));
            }
            beam = next;
            beam.truncate(self.own.beam);
        }
        Ok((beam, self.own.words))
    }

    /// One word more: of what is most promising and was run, the best.
    fn step(&self, from: &[State]) -> Result<Vec<State>> {
        let rows: Vec<Row> = from.iter().map(|state| Row::new(state.text.encoded.clone())).collect();
        let objective = Question { target: self.goal.objective.clone(), ..self.job.clone() };
        let gradients = objective.slopes(&rows, self.job.words()?)?;
        let mut tried = BTreeSet::new();
        for (state, gradient) in from.iter().zip(&gradients) {
            for (unit, estimate) in self.promising(state, gradient) {
                tried.insert(with(&state.flips, unit, estimate.id));
            }
        }
        let tried: Vec<Flips> = tried.into_iter().collect();
        let best = self.best(&tried)?;
        let state = |(flips, outcome): (&Flips, Outcome)| {
            let text = apply(self.job.encoded(), self.units, flips, &self.vocabulary);
            State { flips: flips.clone(), text, outcome }
        };
        Ok(best.into_iter().map(state).collect())
    }

    /// Runs changed texts and keeps as many as go on or are shown: those that reach the goal first, then by score.
    fn best<'f>(&self, tried: &'f [Flips]) -> Result<Vec<(&'f Flips, Outcome)>> {
        let most = self.own.beam.max(SHOWN);
        let (mut best, mut next): (Vec<(&Flips, Outcome)>, _) = (Vec::new(), tried.iter());
        let rank = |best: &mut Vec<(&Flips, Outcome)>| {
            let key = |(_, outcome): &(&Flips, Outcome)| (!outcome.reached, outcome.score);
            best.sort_by(|a, b| {
                let ((a, x), (b, y)) = (key(a), key(b));
                a.cmp(&b).then(x.total_cmp(&y))
            });
            best.truncate(most);
        };
        self.each(tried.iter().cloned(), &mut |outcome| {
            best.extend(next.next().map(|flips| (flips, outcome)));
            if best.len() > 2 * most {
                rank(&mut best);
            }
        })?;
        rank(&mut best);
        Ok(best)
    }

    /// The replacements that are estimated to lower the score most. A quarter of them at most share a place: many
    /// words do alike at one place, and the estimate is off for all of them or for none.
    fn promising(&self, state: &State, gradient: &Array) -> Vec<(usize, Estimate)> {
        let width = gradient.shape.last().copied().unwrap_or(0);
        let at = |token: usize| gradient.data.get(token * width..(token + 1) * width).unwrap_or_default();
        let free = |unit: &usize| {
            !self.allowed[*unit].is_empty() && state.flips.iter().all(|(flipped, _)| flipped != unit)
        };
        let mut units: Vec<(f64, usize)> = (0..self.units.len())
            .filter(free)
            .filter_map(|unit| {
                state.text.places[unit].first().map(|&token| (dot(at(token), at(token)), unit))
            })
            .collect();
        units.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let sign = self.goal.sign;
        let share = self.own.candidates.div_ceil(4).max(self.own.candidates.div_ceil(units.len().max(1)));
        let best = |&(_, unit): &(f64, usize)| {
            let tokens = &state.text.places[unit];
            let held =
                tokens.iter().map(|&t| dot(self.vocabulary.vector(state.text.encoded.tokens[t].id), at(t)));
            let slope: Vec<f32> = at(tokens[0]).iter().map(|g| sign as f32 * g).collect();
            let found =
                lowest(&self.vocabulary, &slope, sign * held.sum::<f64>(), &self.allowed[unit], share);
            found.into_iter().map(move |estimate| (unit, estimate)).collect::<Vec<_>>()
        };
        let mut all: Vec<(usize, Estimate)> = units.iter().take(POSITIONS).flat_map(best).collect();
        all.sort_by(|a, b| a.1.change.total_cmp(&b.1.change));
        all.truncate(self.own.candidates);
        all
    }

    /// Hands on what each changed text gives, in order; nobody holds an output.
    fn each(&self, flips: impl Iterator<Item = Flips>, sink: &mut dyn FnMut(Outcome)) -> Result<()> {
        let changed = |flips: Flips| apply(self.job.encoded(), self.units, &flips, &self.vocabulary).encoded;
        let rows = flips.map(|flips| Ok(Row::new(changed(flips))));
        self.job.driver.read(self.job.model, rows, &self.toward(), &mut |outcome| {
            sink(outcome);
            Ok(())
        })
    }

    fn toward(&self) -> Toward<'_, 'a> {
        Toward { goal: &self.goal, job: self.job, open: self.open }
    }

    /// How often random changes of as many words reach the goal, under the same rules.
    fn random(&self, words: usize) -> Result<Chance> {
        let mut random = self.job.random(Stream::Hotflip);
        let free: Vec<usize> = (0..self.units.len()).filter(|&unit| !self.allowed[unit].is_empty()).collect();
        let draw = |_| {
            let (mut left, mut flips) = (free.clone(), Flips::new());
            while flips.len() < words && !left.is_empty() {
                let unit = left.swap_remove(random.random_range(0..left.len()));
                let allowed = &self.allowed[unit];
                flips = with(&flips, unit, allowed[random.random_range(0..allowed.len())]);
            }
            flips
        };
        let mut chance = Chance { hits: 0, trials: 0 };
        let trials = if words > 0 { self.own.random } else { 0 };
        self.each((0..trials).map(draw), &mut |outcome| {
            chance.hits += usize::from(outcome.reached);
            chance.trials += 1;
        })?;
        Ok(chance)
    }

    fn edited(&self, state: &State) -> Result<Edited> {
        let swaps = swaps(self.job.encoded(), self.units, &state.flips, &self.vocabulary);
        let (model, row) = (self.job.model, Row::new(state.text.encoded.clone()));
        let answer = self.job.driver.read_one(model, &row, &Predictions(model))?;
        Ok(Edited {
            input: written(&self.job.encoded().fields, &swaps),
            swaps,
            prediction: answer.scores,
            value: state.outcome.value,
            reached: state.outcome.reached,
        })
    }

    /// How many of the texts no longer reach the goal when they are written out and read again.
    fn lost(&self, states: &[&State], edited: &[Edited]) -> Result<usize> {
        let mut lost = 0;
        for (state, edited) in states.iter().zip(edited).filter(|(state, _)| state.outcome.reached) {
            let again =
                self.open.encode(&Example { fields: edited.input.clone(), label: None, weights: None })?;
            let ids = |encoded: &Encoded| encoded.tokens.iter().map(|token| token.id).collect::<Vec<_>>();
            // Where the tokens move, a target at one of them is about another.
            if ids(&again) == ids(&state.text.encoded) || is_bound(self.job) {
                continue;
            }
            let read = self.job.driver.read_all(self.job.model, &[Row::new(again)], &self.toward())?;
            lost += read.iter().filter(|outcome| !outcome.reached).count();
        }
        Ok(lost)
    }

    fn verdict(&self, best: &[&State], edited: &[Edited], words: usize, random: Chance) -> Verdict {
        let (Some(state), Some(edited)) = (best.first(), edited.first()) else {
            let sentence = "No word of this text may be replaced under these rules.".to_owned();
            return verdict_of(sentence, [("goal_reached", Judged::holds(false, "nothing could be tried"))]);
        };
        let noun = if words == 1 { "word" } else { "words" };
        let reached = ("goal_reached", Judged::holds(state.outcome.reached, "the goal was not reached"));
        if !state.outcome.reached {
            let goal = self.goal.words();
            let sentence = format!(
                "No replacement of up to {words} {noun} that was tried leads there ({goal}); that does not prove that none does."
            );
            return verdict_of(sentence, [reached]);
        }
        let swap = |swap: &exegete_core::report::Swap| format!("\"{}\" by \"{}\"", swap.before, swap.after);
        let swaps: Vec<String> = edited.swaps.iter().map(swap).collect();
        let (before, after) = (&self.goal.before, &state.outcome.decision);
        let mut sentence = format!(
            "Replacing {} turns {} ({:.2}) into {} ({:.2})",
            swaps.join(" and "),
            before.label,
            before.prob,
            after.label,
            after.prob
        );
        let (hits, trials) = (random.hits, random.trials);
        if trials > 0 {
            let do_so = if hits == 1 { "does so" } else { "do so" };
            sentence += &format!("; of {trials} random replacements of {words} {noun}, {hits} {do_so}");
        }
        let easy = || "random replacements change the decision as well".to_owned();
        let beside = (trials > 0).then(|| ("random_edits", Judged::beside_random(random, easy)));
        verdict_of(sentence + ".", std::iter::once(reached).chain(beside))
    }
}

/// Whether the target is about certain tokens, so that none may come or go before them.
fn is_bound(job: &Question<'_>) -> bool {
    job.target.is_neuron() || (job.target.position().is_some() && !writes(job.model))
}

/// Whether a unit can be replaced at all: where tokens are counted, only one token by another, and never the one that is
/// asked about.
fn may_move(job: &Question<'_>, unit: &Unit) -> bool {
    !is_bound(job) || (unit.tokens.len() == 1 && Some(unit.tokens[0]) != job.target.named_token())
}

#[cfg(test)]
mod tests;
