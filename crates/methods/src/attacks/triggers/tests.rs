//! On the toy without its inner layer, as in the tests of hotflip: the margin of positive over negative is bad 3.125, film
//! −0.125, good −1.25 and not −2.75, plus 0.375 for each place but the first and minus 0.25.

use super::*;
use crate::Request;
use crate::Settings;
use crate::SiteChoice;
use crate::evidence::{Level, agrees};
use exegete_core::report::{Cell, Edits, Finding, Table};
use exegete_core::{Array, Driver};
use exegete_testkit::{Fault, Faulty, Toy};

fn linear() -> Arc<dyn Model> {
    let toy = Toy::default();
    toy.require_open().unwrap().with_params(vec![("outer.weight".into(), Array::zeros([3, 2]))]).unwrap()
}

/// Positive are "bad" (2.875), "bad film" (3.125) and "bad bad" (6.375); negative "not" (−3) and "film not" (−2.75).
fn examples() -> Vec<Example> {
    let rows = [("bad", 1), ("bad film", 1), ("bad bad", 1), ("not", 0), ("film not", 0)];
    let example =
        |(text, label): (&str, usize)| Example { label: Some(label.to_string()), ..Example::text(text) };
    rows.map(example).to_vec()
}

fn survey(model: &dyn Model, examples: &[Example], settings: &[&str]) -> Result<Vec<Item>> {
    let mut arguments = Arguments::new(&INFO, Settings::parse(settings)?)?;
    let triggers = Triggers::new(&mut arguments)?;
    arguments.finish()?;
    let driver = Driver::default();
    let request = Request {
        methods: Vec::new(),
        targets: Vec::new(),
        top_labels: None,
        site: SiteChoice::AllLayers,
        units: Units::Word,
        baselines: Vec::new(),
        masker: None,
        check: Level::None,
        seed: 0,
    };
    triggers.survey(&Corpus {
        model,
        driver: &driver,
        examples: &examples,
        held_out: Some(&examples),
        request: &request,
    })
}

fn tables(items: &[Item]) -> Vec<&Table> {
    items.iter().filter_map(|item| if let Item::Table(table) = item { Some(table) } else { None }).collect()
}

fn edits(items: &[Item]) -> Vec<&Edits> {
    items
        .iter()
        .filter_map(|item| if let Item::Edits(edits) = item { Some(&**edits) } else { None })
        .collect()
}

/// The triggers that are found, best first, and the share of held-out rows that keep their answer under the best.
fn check(model: &dyn Model, settings: &[&str], expected: &str, after: f64) {
    let items = survey(model, &examples(), settings).unwrap();
    let row = &tables(&items)[0].rows[0];
    assert_eq!(row[1], Cell::Word(expected.into()), "{settings:?}");
    let Cell::Number(found) = row[6] else { panic!("{row:?}") };
    assert!((found - after).abs() < 1e-9, "{settings:?}: {found}");
}

#[test]
fn the_strongest_words_by_hand() {
    let model = linear();
    // "not not bad" −1.5 and "not not bad film" −0.5; "not not bad bad" stays at 2.75.
    check(&*model, &["attack=positive", "length=2"], "not not", 1.0 / 3.0);
    check(&*model, &["attack=positive", "length=2", "where=after"], "not not", 1.0 / 3.0);
    check(&*model, &["force=negative", "length=2"], "not not", 1.0 / 3.0);
    // "good good bad" 1.5
    check(&*model, &["attack=positive", "length=2", "forbid=not"], "good good", 1.0);
    // "bad not" −0.125 + 0.375 and "bad film not" 0.875.
    check(&*model, &["attack=negative", "length=1"], "bad", 0.0);
}

#[test]
fn without_true_gradients_the_search_goes_astray() {
    let settings = ["attack=positive", "length=2", "candidates=1", "restarts=1"];
    check(&*linear(), &settings, "not not", 1.0 / 3.0);
    let faulty = Faulty::new(linear(), Fault::SignFlip);
    let items = survey(&faulty, &examples(), &settings).unwrap();
    assert_ne!(tables(&items)[0].rows[0][1], Cell::Word("not not".into()));
}

#[test]
fn every_class_is_attacked_and_told() {
    let items = survey(&*linear(), &examples(), &["length=2", "restarts=1"]).unwrap();
    let [effects, overlap] = tables(&items)[..] else { panic!("two tables") };
    let words: Vec<&Cell> = effects.rows.iter().map(|row| &row[1]).collect();
    assert_eq!(words, [&Cell::Word("bad bad".into()), &Cell::Word("not not".into())]);
    assert_eq!(overlap.rows.len(), 4);
    // "bad" is in all three positive texts and in no other.
    assert_eq!(overlap.rows[0][2..5], [Cell::Word("positive".into()), Cell::Number(3.0), Cell::Number(1.0)]);
    let edits = edits(&items);
    assert_eq!(edits.len(), 4);
    let swap = &edits[0].found[0].swaps[0];
    assert_eq!((swap.start, swap.end, swap.before.as_str(), swap.after.as_str()), (0, 0, "", "bad bad "));
    assert!(edits[0].found[0].input[0].text.starts_with("bad bad "));
    assert_ne!(edits[0].found[0].prediction, edits[0].subject.prediction);
    assert!(edits[0].verdict.sentence.starts_with("\"bad bad\" lowers"), "{}", edits[0].verdict.sentence);
    // Two held-out rows show little: what is judged is what the numbers say.
    let passed = |finding: &Finding| finding.passed.unwrap();
    let passed: Vec<bool> = edits[0].verdict.findings.iter().map(passed).collect();
    agrees(&edits[0].verdict, &[("random_triggers", passed[0]), ("held_out", passed[1])]);
}

#[test]
fn rows_without_labels_are_classed_by_the_model() {
    let unlabelled: Vec<Example> =
        examples().into_iter().map(|example| Example { label: None, ..example }).collect();
    let items = survey(&*linear(), &unlabelled, &["attack=positive", "length=2"]).unwrap();
    let tables = tables(&items);
    assert_eq!(tables.len(), 1, "without labels there is no word that goes with them");
    assert!(tables[0].notes.iter().any(|note| note.contains("no labels")));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |examples: &[Example], settings: &[&str], part: &str| {
        let error = survey(&*linear(), examples, settings).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(&examples(), &["attack=0", "force=1"], "two aims");
    refused(&examples(), &["attack=neutral"], "negative, positive");
    refused(&examples(), &["field=2"], "no such field");
    refused(&examples(), &["length=64"], "no room");
    refused(&examples(), &["forbid=good,bad,not,film"], "under these rules");
    refused(&examples()[..3], &["attack=negative"], "no rows");
    refused(&[], &[], "no words");
    let odd = Example { label: Some("maybe".into()), ..Example::text("bad") };
    refused(&[odd], &[], "row 1: 'maybe'");
}
