//! The fewest units whose removal changes the decision. J. Li, W. Monroe, D. Jurafsky, *Understanding neural networks
//! through representation erasure*, 2016, which learns a policy to find them; here all sets are tried by size while that
//! is possible, and a beam goes on from there.

use super::asking::Asking;
use super::sets::{combinations, every, some, with, without};
use super::wording::Wording;
use super::{Hidden, Look, SHOWN, least_sure_first, seen};
use crate::effort::MOST_ROWS;
use crate::evidence::{Judged, verdict_of};
use crate::registry::{Info, Meaning, Needs, New, SearchMethod, params};
use crate::{Arguments, Decision, Parameter, Question, Set, Stream};
use exegete_core::Result;
use exegete_core::report::number::percent;
use exegete_core::report::{Chance, Edits, Item, Subject, Verdict};
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, BTreeSet};

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "flipping_set",
    summary: "the fewest words whose removal changes the decision",
    prose: include_str!("flipping_set.md"),
    parameters: &[
        Parameter::count(
            "budget",
            1..=MOST_ROWS,
            Some(OWN.budget),
            "the most rows; trying all sets of a size takes at most half of them",
        ),
        Parameter::count("beam", 1..=1_000, Some(OWN.beam), "sets that are followed side by side"),
    ],
    axioms: &[],
    signed: false,
    meaning: Meaning::Other,
    needs: Needs::Predictions,
    new: New::Finds(|arguments| Ok(Box::new(FlippingSetSearch::new(arguments)?))),
};

/// How sets are looked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlippingSetSearch {
    /// The most texts to look at. Trying all sets of a size takes at most half of them.
    pub budget: usize,
    /// Sets that are followed side by side where there are too many to try them all.
    pub beam: usize,
}

/// Where nothing is said.
const OWN: FlippingSetSearch = FlippingSetSearch { budget: 1000, beam: 5 };

impl Default for FlippingSetSearch {
    fn default() -> Self {
        OWN
    }
}

/// What a search for flipping sets found.
#[derive(Debug, Clone, PartialEq)]
pub struct Flips {
    /// The sets that change the decision, the surest change first; where there is none, the one that came closest.
    pub sets: Vec<Hidden>,
    /// Whether they change it.
    pub reached: bool,
    /// Whether all smaller sets were tried.
    pub smallest: bool,
    /// Up to this size every set was tried.
    pub complete: usize,
    /// How often another set of the same size than the first changes the decision: of all such sets where they were all tried,
    /// else of some; none where there is no other.
    pub random: Option<Chance>,
    /// How many texts were looked at.
    pub rows: usize,
}

/// How many random sets are tried.
const RANDOM: usize = 50;

/// The smallest sets that can be found.
pub fn find(
    search: &FlippingSetSearch,
    units: usize,
    random: &mut ChaCha8Rng,
    look: &mut Look<'_>,
) -> Result<Flips> {
    let hunt = Hunt { search, units, look, rows: 0, singles: Vec::new() };
    hunt.find(random)
}

impl FlippingSetSearch {
    fn new(arguments: &mut Arguments) -> Result<Self> {
        Ok(Self { budget: arguments.count("budget")?, beam: arguments.count("beam")? })
    }
}

impl SearchMethod for FlippingSetSearch {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        params([("budget", self.budget.into()), ("beam", self.beam.into())])
    }

    fn most_rows(&self, _units: usize) -> Option<usize> {
        Some(self.budget)
    }

    fn find(&self, job: &Question<'_>, subject: Subject) -> Result<Item> {
        let mut asking = Asking::new(job, INFO.name)?;
        let look = &mut |sets: &[Set]| asking.see(sets);
        let mut flips = find(self, job.units.len(), &mut job.random(Stream::FlippingSet), look)?;
        flips.sets.truncate(SHOWN);
        let wording = Wording::new(job);
        let after = flips.sets.first().map(|(set, _)| asking.decided(set)).transpose()?;
        let verdict = verdict(&wording, &flips, asking.decision(), after.as_ref());
        let found = flips.sets.iter().map(|hidden| asking.edited(hidden, flips.reached));
        Ok(Item::Edits(Box::new(Edits {
            goal: format!("the fewest {} whose {} changes the decision", wording.noun(2), wording.removal()),
            found: found.collect::<Result<_>>()?,
            smallest: flips.smallest,
            random: flips.random,
            verdict,
            subject: asking.complete(subject)?,
        })))
    }
}

fn verdict(wording: &Wording<'_>, flips: &Flips, before: &Decision, after: Option<&Decision>) -> Verdict {
    let (Some((set, seen)), Some(after)) = (flips.sets.first(), after) else {
        return verdict_of("The text has nothing to take out.".to_owned(), []);
    };
    let (hiding, list) = (wording.hiding(), wording.list(set));
    let reached =
        ("goal_reached", Judged::holds(flips.reached, "nothing that was tried changes the decision"));
    if !flips.reached {
        let sentence = format!(
            "No set that was tried changes {}: {hiding} {} comes closest and leaves {:.2}.",
            wording.decision(before),
            if set.len() == 1 { list } else { wording.count(set.len()) },
            seen.kept
        );
        return verdict_of(sentence, [reached]);
    }
    let what = match set.len() {
        1 => format!("{list} alone"),
        count => format!("{} ({list})", wording.count(count)),
    };
    let turns = format!("turns {} into {}", wording.decision(before), wording.decision(after));
    let fewer = match (set.len(), flips.smallest) {
        (1, _) => "",
        (_, true) => ", and no fewer do",
        (_, false) => ", and fewer were not found to",
    };
    let random = flips.random.map_or_else(String::new, |random| {
        let share = percent(random.hits as f64 / random.trials as f64, 0);
        format!("; of other sets of {} {share} do", wording.count(set.len()))
    });
    let sets = wording.count(set.len());
    let others = flips.random.map(|random| {
        let Chance { hits, trials } = random;
        // Where most sets of the same size do it too, these units are nothing special.
        let common = || {
            format!("{hits} of {trials} other sets of {sets} change the decision: these are nothing special")
        };
        ("random_edits", Judged::beside_random(random, common))
    });
    verdict_of(format!("{hiding} {what} {turns}{fewer}{random}."), std::iter::once(reached).chain(others))
}

struct Hunt<'s, 'l, 'f> {
    search: &'s FlippingSetSearch,
    units: usize,
    look: &'l mut Look<'f>,
    rows: usize,
    /// Single units, the most telling first.
    singles: Vec<usize>,
}

impl Hunt<'_, '_, '_> {
    fn find(mut self, random: &mut ChaCha8Rng) -> Result<Flips> {
        let (mut complete, mut last) = (0, Vec::new());
        while complete < self.units && self.can_try_all(complete + 1) {
            complete += 1;
            last = self.see(every(self.units, complete))?;
            least_sure_first(&mut last);
            if complete == 1 {
                self.singles = last.iter().map(|(set, _)| set[0]).collect();
            }
            let flips = flipping(&last);
            if !flips.is_empty() {
                // The first is what is found, and the others are what it is held against.
                let chance = Chance { hits: flips.len() - 1, trials: last.len() - 1 };
                return Ok(self.found(flips, complete, chance));
            }
        }
        let found = if complete == self.units { Vec::new() } else { self.follow(&mut last)? };
        if found.is_empty() {
            let closest = last.into_iter().take(1).collect();
            let Self { rows, .. } = self;
            return Ok(Flips {
                sets: closest,
                reached: false,
                smallest: false,
                complete,
                random: None,
                rows,
            });
        }
        let mut sets = some(self.units, found[0].0.len(), RANDOM, random);
        sets.retain(|set| *set != found[0].0);
        let seen = self.see(sets)?;
        let chance = Chance { hits: flipping(&seen).len(), trials: seen.len() };
        Ok(self.found(found, complete, chance))
    }

    fn found(self, mut sets: Vec<Hidden>, complete: usize, others: Chance) -> Flips {
        least_sure_first(&mut sets);
        let random = Some(others).filter(|others| others.trials > 0);
        let smallest = sets.first().is_some_and(|(set, _)| set.len() <= complete + 1);
        Flips { sets, reached: true, smallest, complete, random, rows: self.rows }
    }

    fn can_try_all(&self, size: usize) -> bool {
        // Single units are always tried: everything after builds on them.
        size == 1 || combinations(self.units, size).saturating_add(self.rows) <= self.search.budget / 2
    }

    /// Grows the most promising sets, one unit at a time, until one changes the decision. `last` are the sets to start
    /// from, and at the end those that came closest.
    fn follow(&mut self, last: &mut Vec<Hidden>) -> Result<Vec<Hidden>> {
        while last[0].0.len() < self.units {
            let left = self.search.budget.saturating_sub(self.rows);
            // What is left is spread over ten more rounds, since nobody knows how many there will be.
            let reach = (left / (10 * self.search.beam)).max(2);
            let beam = last.iter().take(self.search.beam);
            let longer: BTreeSet<Set> = beam.flat_map(|(set, _)| self.longer(set, reach)).collect();
            if longer.len() > left {
                return self.shortest_prefix(last);
            }
            *last = self.see(longer.into_iter().collect())?;
            least_sure_first(last);
            let flips = flipping(last);
            if !flips.is_empty() {
                return Ok(flips);
            }
        }
        Ok(Vec::new())
    }

    /// The set with one more of the units that tell most.
    fn longer(&self, set: &Set, reach: usize) -> Vec<Set> {
        let others = self.singles.iter().filter(|unit| !set.contains(unit));
        others.take(reach).map(|&unit| with(set, unit)).collect()
    }

    /// Where texts are long and nothing is near: hides units in the order of what each does alone, and takes back what
    /// was not needed.
    fn shortest_prefix(&mut self, last: &mut Vec<Hidden>) -> Result<Vec<Hidden>> {
        let mut set = last[0].0.clone();
        let mut prefixes = Vec::new();
        for unit in self.singles.clone() {
            if !set.contains(&unit) {
                set = with(&set, unit);
                prefixes.push(set.clone());
            }
        }
        let mut tried = self.see(prefixes)?;
        let Some(mut found) = tried.iter().find(|(_, seen)| !seen.stays).cloned() else {
            least_sure_first(&mut tried);
            *last = tried;
            return Ok(Vec::new());
        };
        loop {
            let mut smaller = self.see(found.0.iter().map(|&unit| without(&found.0, unit)).collect())?;
            least_sure_first(&mut smaller);
            match flipping(&smaller).into_iter().next() {
                Some(next) if self.rows < 2 * self.search.budget => found = next,
                _ => return Ok(vec![found]),
            }
        }
    }

    fn see(&mut self, sets: Vec<Set>) -> Result<Vec<Hidden>> {
        self.rows += sets.len();
        seen(self.look, sets)
    }
}

fn flipping(sets: &[Hidden]) -> Vec<Hidden> {
    sets.iter().filter(|(_, seen)| !seen.stays).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::agrees;
    use crate::search::SeenHidden;
    use crate::search::planted::Planted;
    use exegete_core::task::REGRESSION;
    use rand::SeedableRng;

    /// A logistic model of these weights; the answer is "above zero".
    fn run(weights: &[f64], search: &FlippingSetSearch) -> Flips {
        let look = |sets: &[Set]| -> Result<Vec<SeenHidden>> {
            let one = |set: &Set| {
                let sum: f64 =
                    (0..weights.len()).filter(|unit| !set.contains(unit)).map(|u| weights[u]).sum();
                SeenHidden { stays: sum > 0.0, kept: 1.0 / (1.0 + (-sum).exp()) }
            };
            Ok(sets.iter().map(one).collect())
        };
        find(search, weights.len(), &mut ChaCha8Rng::seed_from_u64(0), &mut { look }).unwrap()
    }

    fn check(weights: &[f64], expected: &[usize], smallest: bool, trials: (usize, usize)) {
        let found = run(weights, &FlippingSetSearch::default());
        assert_eq!((found.sets[0].0.as_slice(), found.reached, found.smallest), (expected, true, smallest));
        let random = found.random.map_or((0, 0), |random| (random.hits, random.trials));
        assert_eq!(random, trials);
        assert!(found.rows <= 1100, "{}", found.rows);
    }

    #[test]
    fn the_optimum_of_a_linear_model_is_found() {
        check(&[0.1, 2.0, -1.0, 0.2], &[1], true, (0, 3));
        check(&[1.0], &[0], true, (0, 0));
        // Either of two: the other one is counted, the one that is shown is not.
        check(&[1.0, 1.0, -1.5], &[0], true, (1, 2));
        // Both, of six pairs, and none alone.
        check(&[1.0, 1.0, -0.5, -0.4], &[0, 1], true, (0, 5));
        // Three of twenty at once are too many to try them all, but the pairs were, so that three are proven fewest.
        let mut weights = vec![-0.1; 20];
        weights[3..7].fill(1.0);
        weights[9] = 0.3;
        check(&weights, &[3, 4, 5], true, (0, 50));
    }

    #[test]
    fn long_texts_end_in_time() {
        // 12 of 300 must go, and no set of fewer would do.
        let mut weights = vec![-0.01; 300];
        weights[100..120].fill(0.3);
        let found = run(&weights, &FlippingSetSearch::default());
        assert!(found.reached && !found.smallest);
        let lost: f64 = found.sets[0].0.iter().map(|&unit| weights[unit]).sum();
        assert!(lost >= weights.iter().sum::<f64>() - 1e-9);
        assert_eq!(found.sets[0].0.len(), 11);
        assert!(found.rows <= 2000, "{}", found.rows);
    }

    #[test]
    fn what_never_changes_is_said() {
        for units in [1, 4, 40] {
            let found = run(
                &vec![0.0; units].iter().map(|_: &f64| 1.0).collect::<Vec<_>>(),
                &FlippingSetSearch::default(),
            );
            // Hiding everything leaves 0, which is not above zero.
            assert_eq!((found.reached, found.sets[0].0.len()), (true, units));
        }
        let stuck = |sets: &[Set]| -> Result<Vec<SeenHidden>> {
            Ok(sets
                .iter()
                .map(|set| SeenHidden { stays: true, kept: 0.9 - 0.01 * set.len() as f64 })
                .collect())
        };
        for units in [1, 5, 30] {
            let mut random = ChaCha8Rng::seed_from_u64(0);
            let found = find(&FlippingSetSearch::default(), units, &mut random, &mut { stuck }).unwrap();
            assert!(!found.reached && !found.smallest && found.random.is_none());
            assert_eq!((found.sets.len(), found.sets[0].0.len()), (1, units));
        }
    }

    #[test]
    fn a_report_names_the_words_that_turn_the_decision() {
        let planted = Planted::new(|words| {
            let good = words.iter().filter(|word| ["great", "superb"].contains(word)).count();
            3.0 * good as f64 - 2.0
        });
        let edits = planted.edits("flipping_set", "a great and superb film");
        assert_eq!(edits.goal, "the fewest words whose removal changes the decision");
        assert!(edits.smallest && edits.found.iter().all(|edited| edited.reached));
        assert_eq!(edits.found[0].input[0].text, "a and film");
        let swaps: Vec<&str> = edits.found[0].swaps.iter().map(|swap| swap.before.as_str()).collect();
        assert_eq!((swaps, edits.found[0].swaps[0].after.as_str()), (vec!["great", "superb"], ""));
        assert_eq!(edits.random, Some(Chance { hits: 0, trials: 9 }));
        assert_eq!(
            edits.verdict.sentence,
            "Removing 2 words (\"great\", \"superb\") turns positive (0.98) into negative (0.88), and no fewer do; \
             of other sets of 2 words 0 % do."
        );
        agrees(&edits.verdict, &[("goal_reached", true), ("random_edits", true)]);
        // Five single words, ten pairs and the whole text.
        assert_eq!(edits.subject.params["rows"], 16);
    }

    #[test]
    fn a_decision_that_stands_is_said_to_stand() {
        let edits = Planted::new(|words| 1.0 + words.len() as f64).edits("flipping_set", "a great film");
        assert!(!edits.smallest && !edits.found[0].reached && edits.random.is_none());
        assert!(edits.verdict.sentence.starts_with("No set that was tried changes positive (0.98)"));
        agrees(&edits.verdict, &[("goal_reached", false)]);
        let either = Planted::new(|words| words.len() as f64 - 2.5).edits("flipping_set", "a great film");
        agrees(&either.verdict, &[("goal_reached", true), ("random_edits", false)]);
        let planted = Planted::new(|_| 1.0).with_task(&REGRESSION);
        assert!(planted.find("flipping_set", &[], "a film", None).is_err());
        assert!(planted.find("flipping_set", &["beam=0"], "a film", None).is_err());
        let nothing = Planted::new(|_| 1.0).edits("flipping_set", "");
        assert!(nothing.found.is_empty());
    }
}
