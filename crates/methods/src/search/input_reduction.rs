//! Removes the least important unit while the answer stays. S. Feng and others, *Pathologies of neural models make
//! interpretations difficult*, 2018. Importance is what leaving the unit out of the text, as it is by then, takes from
//! the probability of the answer: I(u) = p(answer | text) − p(answer | text without u).

use super::asking::Asking;
use super::sets::{some, with};
use super::wording::Wording;
use super::{Hidden, Look, SHOWN, seen, surest_first};
use crate::effort::MOST_ROWS;
use crate::evidence::{Judged, verdict_of};
use crate::registry::{Info, Meaning, Needs, New, SearchMethod, params};
use crate::{Arguments, Decision, Parameter, Question, Set, Stream};
use exegete_core::report::number::percent;
use exegete_core::report::{Chance, Edits, Item, Subject, Verdict};
use exegete_core::task::Classes;
use exegete_core::{Error, Result};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "input_reduction",
    summary: "what is left when the least important word is removed again and again while the decision stays",
    prose: include_str!("input_reduction.md"),
    parameters: &[
        Parameter::count(
            "budget",
            1..=MOST_ROWS,
            Some(OWN.budget),
            "the most rows, those for the evidence not included",
        ),
        Parameter::count("beam", 1..=1_000, Some(OWN.beam), "texts that are reduced side by side"),
    ],
    axioms: &[],
    signed: false,
    meaning: Meaning::Other,
    needs: Needs::Predictions,
    new: New::Finds(|arguments| Ok(Box::new(ReductionSearch::new(arguments)?))),
};

/// How a text is reduced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReductionSearch {
    /// The most texts to look at.
    pub budget: usize,
    /// Texts that are reduced side by side.
    pub beam: usize,
}

/// Where nothing is said.
const OWN: ReductionSearch = ReductionSearch { budget: 2000, beam: 5 };

impl Default for ReductionSearch {
    fn default() -> Self {
        OWN
    }
}

/// What is left of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Reduced {
    /// What is hidden in the shortest texts that keep the answer, the surest first. Nothing where no unit can go.
    pub texts: Vec<Hidden>,
    /// Whether it was seen that no single unit more can go.
    pub complete: bool,
    /// How often random texts of the same length keep the answer; none where nothing went.
    pub random: Option<Chance>,
    /// How many texts were looked at.
    pub rows: usize,
}

/// How many random texts are tried.
const RANDOM: usize = 50;

/// The shortest texts along a beam. One unit always stays: an empty text says nothing about units.
pub fn reduce(
    search: &ReductionSearch,
    units: usize,
    random: &mut ChaCha8Rng,
    look: &mut Look<'_>,
) -> Result<Reduced> {
    let mut reduction = Reduction { search, units, look, rows: 0 };
    let whole = reduction.see(vec![Set::new()])?;
    let mut beam = vec![State { hidden: whole[0].clone(), left: vec![f64::NAN; units] }];
    let mut complete = units <= 1;
    for _ in 1..units {
        let (next, all) = reduction.shorter(&mut beam)?;
        if next.is_empty() {
            complete = all;
            break;
        }
        beam = next;
        complete = beam[0].hidden.0.len() + 1 == units;
    }
    let texts: Vec<Hidden> = beam.into_iter().map(|state| state.hidden).collect();
    let size = texts[0].0.len();
    let chance = match size {
        0 => None,
        _ => {
            let seen = reduction.see(some(units, size, RANDOM, random))?;
            let hits = seen.iter().filter(|(_, seen)| seen.stays).count();
            Some(Chance { hits, trials: seen.len() })
        }
    };
    Ok(Reduced { texts, complete, random: chance, rows: reduction.rows })
}

impl ReductionSearch {
    fn new(arguments: &mut Arguments) -> Result<Self> {
        Ok(Self { budget: arguments.count("budget")?, beam: arguments.count("beam")? })
    }
}

impl SearchMethod for ReductionSearch {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        params([("budget", self.budget.into()), ("beam", self.beam.into())])
    }

    fn most_rows(&self, _units: usize) -> Option<usize> {
        Some(self.budget)
    }

    fn find(&self, job: &Question<'_>, subject: Subject) -> Result<Item> {
        if job.card().task.classes() == Classes::None {
            return Err(Error::Unsupported(format!(
                "input_reduction shortens a text while its class stays, and {} gives no class; one reduction for each \
                 entity of a tagger is not there yet",
                job.card().name
            )));
        }
        let mut asking = Asking::new(job, INFO.name)?;
        let look = &mut |sets: &[Set]| asking.see(sets);
        let mut reduced = reduce(self, job.units.len(), &mut job.random(Stream::InputReduction), look)?;
        reduced.texts.truncate(SHOWN);
        let wording = Wording::new(job);
        let verdict = verdict(&wording, &reduced, asking.decision());
        let shorter = reduced.texts.iter().filter(|(set, _)| !set.is_empty());
        let left = job.units.len() - reduced.texts[0].0.len();
        Ok(Item::Edits(Box::new(Edits {
            goal: format!("the fewest {} that keep the decision", wording.noun(2)),
            found: shorter.map(|hidden| asking.edited(hidden, true)).collect::<Result<_>>()?,
            smallest: left <= 1,
            random: reduced.random,
            verdict,
            subject: asking.complete(subject)?,
        })))
    }
}

fn verdict(wording: &Wording<'_>, reduced: &Reduced, decision: &Decision) -> Verdict {
    let (set, seen) = &reduced.texts[0];
    let unclear = "the budget ended before it was clear whether more can go";
    let complete = ("search_complete", Judged::holds(reduced.complete, unclear));
    let all = wording.others(&Set::new()).len();
    if set.is_empty() {
        let sentence = match (all, reduced.complete) {
            (0 | 1, _) => "The text has no more than one piece to keep.".to_owned(),
            (_, true) => {
                format!("No {} can go without changing {}.", wording.noun(1), wording.decision(decision))
            }
            (_, false) => "The budget ended before anything could go.".to_owned(),
        };
        return verdict_of(sentence, [complete]);
    }
    let left = wording.others(set);
    let random = reduced.random.unwrap_or(Chance { hits: 0, trials: 1 });
    let share = random.hits as f64 / random.trials as f64;
    let beside = if random.trials > 1 {
        Judged::beside_random(random, || {
            let (Chance { hits, trials }, texts) = (random, wording.count(left.len()));
            format!("{hits} of {trials} random texts of {texts} keep the decision: these are nothing special")
        })
    } else {
        Judged::undecided(reduced.random.map(|_| share), 0.5)
    };
    let (is, of) = (if left.len() == 1 { "is" } else { "are" }, wording.count(all));
    let sentence = format!(
        "The model still says {} ({:.2}, before {:.2}) when only {} {is} left of {of}; random texts of {} keep it in {} of cases.",
        wording.label(decision),
        seen.kept,
        decision.prob,
        wording.list(&left),
        wording.count(left.len()),
        percent(share, 0)
    );
    verdict_of(sentence, [complete, ("random_edits", beside)])
}

/// A text on the way.
#[derive(Clone)]
struct State {
    hidden: Hidden,
    /// What was left of the answer when each unit was last left out: of this text or of a longer one.
    left: Vec<f64>,
}

impl State {
    /// The units that are there, the least important first.
    fn order(&self) -> Vec<usize> {
        let (hidden, left) = (&self.hidden.0, &self.left);
        let mut order: Vec<usize> = (0..left.len()).filter(|unit| !hidden.contains(unit)).collect();
        order.sort_by(|&a, &b| left[b].total_cmp(&left[a]));
        order
    }
}

struct Reduction<'s, 'l, 'f> {
    search: &'s ReductionSearch,
    units: usize,
    look: &'l mut Look<'f>,
    rows: usize,
}

impl Reduction<'_, '_, '_> {
    /// The surest texts with one unit less that keep the answer, and whether every unit was tried.
    fn shorter(&mut self, beam: &mut [State]) -> Result<(Vec<State>, bool)> {
        let reach = self.reach(beam[0].hidden.0.len());
        let orders: Vec<Vec<usize>> = beam.iter().map(State::order).collect();
        let part = |range: fn(&[usize], usize) -> &[usize]| -> Vec<(usize, usize)> {
            let pairs = orders.iter().enumerate();
            pairs.flat_map(|(s, order)| range(order, reach).iter().map(move |&unit| (s, unit))).collect()
        };
        let first = part(|order, reach| &order[..reach.min(order.len())]);
        let rest = part(|order, reach| &order[reach.min(order.len())..]);
        if self.rows + first.len() > self.search.budget {
            return Ok((Vec::new(), false));
        }
        let found = self.leave_out(beam, &first)?;
        if !found.is_empty() || rest.is_empty() {
            return Ok((found, true));
        }
        // The least important units of longer texts have become important: ask for the others.
        if self.rows + rest.len() > self.search.budget {
            return Ok((Vec::new(), false));
        }
        Ok((self.leave_out(beam, &rest)?, true))
    }

    /// How many units of each text are tried: all, unless that would not end within the budget.
    fn reach(&self, hidden: usize) -> usize {
        let left = self.units - hidden;
        let rows = left.saturating_mul(left) / 2 * self.search.beam;
        if hidden == 0 || rows <= self.search.budget.saturating_sub(self.rows) {
            return left;
        }
        (self.search.budget.saturating_sub(self.rows) / (left * self.search.beam)).max(2)
    }

    fn leave_out(&mut self, beam: &mut [State], pairs: &[(usize, usize)]) -> Result<Vec<State>> {
        let mut parents: BTreeMap<Set, (usize, usize)> = BTreeMap::new();
        for &(state, unit) in pairs {
            parents.entry(with(&beam[state].hidden.0, unit)).or_insert((state, unit));
        }
        let mut seen = self.see(parents.keys().cloned().collect())?;
        for (set, seen) in &seen {
            let (state, unit) = parents[set];
            beam[state].left[unit] = seen.kept;
        }
        seen.retain(|(_, seen)| seen.stays);
        surest_first(&mut seen);
        seen.truncate(self.search.beam);
        let state = |hidden: Hidden| State { left: beam[parents[&hidden.0].0].left.clone(), hidden };
        Ok(seen.into_iter().map(state).collect())
    }

    fn see(&mut self, sets: Vec<Set>) -> Result<Vec<Hidden>> {
        self.rows += sets.len();
        seen(self.look, sets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::agrees;
    use crate::search::SeenHidden;
    use crate::search::planted::Planted;
    use rand::SeedableRng;

    fn run(units: usize, search: &ReductionSearch, sum: &dyn Fn(&[bool]) -> f64) -> Reduced {
        let mut look = |sets: &[Set]| -> Result<Vec<SeenHidden>> {
            let one = |set: &Set| {
                let kept: Vec<bool> = (0..units).map(|unit| !set.contains(&unit)).collect();
                let sum = sum(&kept);
                SeenHidden { stays: sum > 0.0, kept: 1.0 / (1.0 + (-sum).exp()) }
            };
            Ok(sets.iter().map(one).collect())
        };
        reduce(search, units, &mut ChaCha8Rng::seed_from_u64(0), &mut look).unwrap()
    }

    fn kept(units: usize, reduced: &Reduced) -> Vec<Vec<usize>> {
        let kept = |(set, _): &Hidden| (0..units).filter(|unit| !set.contains(unit)).collect();
        reduced.texts.iter().map(kept).collect()
    }

    fn linear(weights: &[f64], bias: f64) -> impl Fn(&[bool]) -> f64 {
        move |kept| bias + weights.iter().zip(kept).filter(|(_, kept)| **kept).map(|(w, _)| w).sum::<f64>()
    }

    #[test]
    fn the_shortest_text_of_a_linear_model() {
        let weights = [0.1, 2.0, -1.0, 0.2, 1.5];
        let reduced = run(5, &ReductionSearch::default(), &linear(&weights, -1.0));
        assert_eq!(kept(5, &reduced), [[1], [4]]);
        assert!(reduced.complete);
        let random = reduced.random.unwrap();
        assert_eq!((random.hits, random.trials), (2, 5));
        let both = run(5, &ReductionSearch::default(), &linear(&weights, -3.0));
        assert_eq!(kept(5, &both), [[1, 4]]);
        assert!(both.complete);
    }

    #[test]
    fn nothing_goes_where_everything_is_needed() {
        let all =
            run(4, &ReductionSearch::default(), &|kept| if kept.iter().all(|k| *k) { 1.0 } else { -1.0 });
        assert_eq!(kept(4, &all), [[0, 1, 2, 3]]);
        assert!(all.complete && all.random.is_none());
        let lone = run(1, &ReductionSearch::default(), &|_| 1.0);
        assert_eq!((kept(1, &lone), lone.complete), (vec![vec![0]], true));
    }

    #[test]
    fn one_unit_always_stays() {
        let always = run(6, &ReductionSearch::default(), &|_| 1.0);
        assert_eq!(kept(6, &always).iter().map(Vec::len).max(), Some(1));
        assert_eq!(always.random.unwrap(), Chance { hits: 6, trials: 6 });
    }

    #[test]
    fn a_beam_escapes_where_one_path_ends() {
        // Units 0 and 1 hold the answer together, unit 2 alone but less surely: the surest path keeps the pair.
        let sum = |kept: &[bool]| match (kept[0] && kept[1], kept[2]) {
            (true, _) => 3.0,
            (false, true) => 1.0,
            (false, false) => -1.0,
        };
        assert_eq!(kept(3, &run(3, &ReductionSearch { beam: 1, budget: 2000 }, &sum)), [[0, 1]]);
        assert_eq!(kept(3, &run(3, &ReductionSearch::default(), &sum)), [[2]]);
    }

    #[test]
    fn long_texts_end_in_time() {
        let weights: Vec<f64> =
            (0..200).map(|i| if i % 50 == 7 { 1.0 } else { 0.001 * (i % 3) as f64 }).collect();
        let reduced = run(200, &ReductionSearch::default(), &linear(&weights, -3.5));
        assert!(reduced.rows <= 2050, "{}", reduced.rows);
        assert_eq!(kept(200, &reduced)[0], [7, 57, 107, 157]);
        let short = run(200, &ReductionSearch { beam: 5, budget: 300 }, &linear(&weights, -3.5));
        assert!(!short.complete && short.rows <= 350, "{}", short.rows);
    }

    #[test]
    fn a_report_shows_what_is_left() {
        let odds = |words: &[&str]| if words.contains(&"great") { 2.0 } else { -0.1 * words.len() as f64 };
        let edits = Planted::new(odds).edits("input_reduction", "a great and long film");
        assert_eq!(edits.goal, "the fewest words that keep the decision");
        assert!(edits.smallest && edits.found.iter().all(|edited| edited.reached));
        assert_eq!((edits.found.len(), edits.found[0].input[0].text.as_str()), (1, "great"));
        assert_eq!(edits.found[0].swaps.len(), 4);
        assert_eq!(edits.found[0].prediction.decision().unwrap().0, "positive");
        assert_eq!(
            edits.verdict.sentence,
            "The model still says positive (0.88, before 0.88) when only \"great\" is left of 5 words; random texts of \
             1 word keep it in 20 % of cases."
        );
        agrees(&edits.verdict, &[("search_complete", true), ("random_edits", true)]);
        let stuck = Planted::new(|words| words.len() as f64 - 2.5).edits("input_reduction", "a great film");
        assert!(stuck.found.is_empty());
        assert_eq!(stuck.verdict.sentence, "No word can go without changing positive (0.62).");
        agrees(&stuck.verdict, &[("search_complete", true)]);
        let any = Planted::new(|words| if words.is_empty() { -1.0 } else { 1.0 });
        let any = any.edits("input_reduction", "a great film");
        agrees(&any.verdict, &[("search_complete", true), ("random_edits", false)]);
    }

    #[test]
    fn only_classes_are_reduced() {
        let planted = Planted::new(|_| 1.0).with_task(&exegete_core::task::REGRESSION);
        let error = planted.find("input_reduction", &[], "a film", None).unwrap_err().to_string();
        assert!(error.contains("no class"), "{error}");
    }
}
