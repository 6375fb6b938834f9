//! On the toy without its inner layer, the margin of positive over negative is the sum of −2x₀ + 1.5x₁ over the words,
//! bad 3.125, film −0.125, good −1.25 and not −2.75, plus 0.375 for each place but the first and minus 0.25.

use super::*;
use crate::Settings;
use crate::evidence::agrees;
use exegete_core::{Driver, Model, Scores, Target, Units};
use exegete_testkit::{Fault, Faulty, Toy};
use std::sync::Arc;

fn linear() -> Arc<dyn Model> {
    let toy = Toy::default();
    toy.open().unwrap().with_params(vec![("outer.weight".into(), Array::zeros([3, 2]))]).unwrap()
}

struct Ask<'a> {
    model: &'a dyn Model,
    driver: &'a Driver,
}

impl<'a> Ask<'a> {
    fn job(&self, text: &str, target: &str) -> Question<'a> {
        let open = self.model.open().unwrap();
        let row = Row::new(open.encode(&Example::text(text)).unwrap());
        let logits = self.driver.read_one(self.model, &row, &exegete_core::Outputs).unwrap();
        let target: Target = target.parse().unwrap();
        let target = target.resolve(self.model.card(), &row.encoded, &logits, None, &|_| None).unwrap();
        Question::new(self.model, self.driver, row, target)
    }

    fn edits(&self, text: &str, target: &str, settings: &[&str]) -> Result<Edits> {
        let job = self.job(text, target);
        let mut arguments = Arguments::new(&INFO, Settings::parse(settings)?)?;
        let hotflip = HotFlip::new(&mut arguments)?;
        arguments.finish()?;
        match hotflip.find(&job, subject(&job, &hotflip))? {
            Item::Edits(edits) => Ok(*edits),
            other => panic!("{other:?}"),
        }
    }
}

fn subject(job: &Question<'_>, hotflip: &HotFlip) -> Subject {
    Subject {
        method: "hotflip".into(),
        params: hotflip.params(),
        input: job.encoded().fields.clone(),
        prediction: Scores::classes(Vec::new()),
        target: job.target.to_string(),
        value: 0.0,
        sense: Default::default(),
        notes: Vec::new(),
    }
}

/// The texts that are found, best first, and whether they reach the goal.
fn check(model: &dyn Model, text: &str, settings: &[&str], expected: &[&str], reached: bool) {
    let driver = Driver::default();
    let edits = Ask { model, driver: &driver }.edits(text, "predicted", settings).unwrap();
    let found: Vec<&str> = edits.found.iter().map(|edited| edited.input[0].text.as_str()).collect();
    assert_eq!(found[..expected.len().min(found.len())], *expected, "{text} {settings:?}");
    assert!(edits.found.iter().all(|edited| edited.reached == reached), "{edits:?}");
}

#[test]
fn the_fewest_words_by_hand() {
    let model = linear();
    // 3.125 · 2 − 0.125 − 0.25 + 1.125 = 7: one flip takes at most 5.875 of it, two take 11.75.
    check(&*model, "bad bad film", &[], &["not not film"], true);
    check(&*model, "bad bad film", &["words=1"], &["not bad film", "bad not film"], false);
    // 3.125 − 0.25 = 2.875: every other word will do.
    check(&*model, "bad", &[], &["not", "good", "film"], true);
    // −0.125 − 2.75 − 0.25 + 0.375 = −2.75: the other way round.
    check(&*model, "film not", &[], &["film bad"], true);
}

#[test]
fn rules_are_kept() {
    let model = linear();
    check(&*model, "bad bad film", &["forbid=not"], &["good good film"], true);
    check(&*model, "bad bad film", &["keep=bad"], &["bad bad not"], false);
    check(&*model, "bad film", &["keep=bad,film"], &[], false);
    check(&*model, "bad", &["same=bad good; not film"], &["good"], true);
}

#[test]
fn what_is_found_is_described() {
    let (model, driver) = (linear(), Driver::default());
    let ask = Ask { model: &*model, driver: &driver };
    let edits = ask.edits("bad", "predicted", &["random=30"]).unwrap();
    assert!(edits.smallest);
    assert_eq!(edits.random, Some(Chance { hits: 30, trials: 30 }));
    assert_eq!(edits.verdict.failures, ["random replacements change the decision as well"]);
    agrees(&edits.verdict, &[("goal_reached", true), ("random_edits", false)]);
    let best = &edits.found[0];
    assert_eq!((best.swaps[0].before.as_str(), best.swaps[0].after.as_str()), ("bad", "not"));
    // z₁ = −0.25 − 3 − 0.125
    assert!((best.value + 3.375).abs() < 1e-6, "{}", best.value);
    assert!(matches!(&best.prediction, Scores::Classes { label, .. } if label == "negative"));
    let edits = ask.edits("bad bad film", "predicted", &["random=0"]).unwrap();
    assert_eq!((edits.smallest, edits.random), (false, None));
    agrees(&edits.verdict, &[("goal_reached", true)]);
}

#[test]
fn goals_that_make_no_sense_are_refused() {
    let (model, driver) = (linear(), Driver::default());
    let ask = Ask { model: &*model, driver: &driver };
    let refused = |target: &str, settings: &[&str], part: &str| {
        let error = ask.edits("bad film", target, settings).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused("class:negative", &[], "does not speak for");
    refused("unit:pooled[0]", &[], "does not speak for");
    refused("predicted", &["toward=positive"], "already");
    refused("predicted", &["toward=neutral"], "negative, positive");
    refused("predicted", &["beam=0"], "beam=0: must be a whole number from 1 to 100");
    refused("predicted", &["worlds=3"], "knows no 'worlds'");
    let edits = ask.edits("bad film", "class:negative", &["toward=negative"]).unwrap();
    assert!(edits.found[0].reached);
    assert_eq!(edits.found[0].input[0].text, "not film");
}

/// The estimated and the real change of the margin by each replacement that is tried first.
fn estimates(model: &dyn Model) -> Vec<(f64, f64)> {
    let driver = Driver::default();
    let job = Ask { model, driver: &driver }.job("bad not film", "margin:1,0");
    let hotflip = HotFlip::new(&mut Arguments::new(&INFO, Settings::default()).unwrap()).unwrap();
    let units = Units::Word.of(job.encoded());
    let search = Search::new(&hotflip, &job, &units).unwrap();
    let gradients = [job.slopes(std::slice::from_ref(&job.row), job.words().unwrap()).unwrap()];
    let promising = search.promising(&search.start, &gradients[0][0]);
    let flips = promising.iter().map(|(unit, estimate)| vec![(*unit, estimate.id)]);
    let mut real = Vec::new();
    search.each(flips, &mut |outcome| real.push(outcome.score - search.start.outcome.score)).unwrap();
    promising.iter().zip(real).map(|((_, estimate), real)| (estimate.change, real)).collect()
}

#[test]
fn the_estimate_is_exact_for_a_linear_model() {
    let wrong =
        |estimates: Vec<(f64, f64)>| estimates.iter().any(|(guess, real)| (guess - real).abs() > 1e-5);
    let sound = estimates(&*linear());
    assert_eq!(sound.len(), 9);
    assert!(!wrong(sound));
    assert!(wrong(estimates(&Toy::default())), "with its inner layer the toy is not linear");
    assert!(wrong(estimates(&Faulty::new(linear(), Fault::SignFlip))));
}

/// However many texts are tried, the best of them are those of a full sort.
#[test]
fn the_best_are_kept_while_others_run() {
    let (model, driver) = (linear(), Driver::default());
    let job = Ask { model: &*model, driver: &driver }.job("bad not film", "margin:1,0");
    let settings = Settings::parse(&["beam=1"]).unwrap();
    let hotflip = HotFlip::new(&mut Arguments::new(&INFO, settings).unwrap()).unwrap();
    let units = Units::Word.of(job.encoded());
    let search = Search::new(&hotflip, &job, &units).unwrap();
    let all = |unit: usize| search.allowed[unit].iter().map(move |&id| vec![(unit, id)]);
    let tried: Vec<Flips> = (0..3).flat_map(all).collect();
    assert!(tried.len() > 2 * SHOWN);
    let mut sorted = Vec::new();
    search
        .each(tried.iter().cloned(), &mut |outcome| sorted.push((!outcome.reached, outcome.score)))
        .unwrap();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let best: Vec<(bool, f64)> =
        search.best(&tried).unwrap().iter().map(|(_, outcome)| (!outcome.reached, outcome.score)).collect();
    assert_eq!(best, sorted[..SHOWN]);
    assert_ne!(best[0], best[SHOWN - 1], "ties would hide a wrong order");
}

#[test]
fn without_true_gradients_the_search_goes_astray() {
    // One word in each place: the right one by the gradient, the wrong one against it.
    let settings = ["candidates=1", "beam=1"];
    check(&*linear(), "bad bad film", &settings, &["not not film"], true);
    // Against it: film becomes bad, and then the rest whatever costs least.
    let faulty = Faulty::new(linear(), Fault::SignFlip);
    check(&faulty, "bad bad film", &settings, &["film film bad"], false);
}
