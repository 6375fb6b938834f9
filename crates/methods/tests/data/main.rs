//! Generated data against a reader of its own: label and truth are read off the text, by code that shares no line with what
//! writes it, held first against rows that were worked out by hand and then against two thousand of every set.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod by_hand;
mod reader;
mod stories;

use exegete_methods::Settings;
use exegete_methods::data::{GeneratedRow, Generator, SETS, find_set};
use reader::expected;
use std::collections::{BTreeMap, BTreeSet};

const ROWS: u64 = 2000;

fn made(name: &str, words: &[&str], seed: u64) -> Generator {
    Generator::new(find_set(name).unwrap(), Settings::parse(words).unwrap(), seed).unwrap()
}

fn cells(row: &GeneratedRow) -> Vec<String> {
    row.cells().into_iter().map(|(_, cell)| cell).collect()
}

/// What is wrong with a row, if anything: its text tells what the last two cells must be.
fn fault(set: &str, cells: &[String]) -> Option<String> {
    let given = cells.len() - 2;
    let fields: Vec<&str> = cells[..given].iter().map(String::as_str).collect();
    match expected(set, &fields) {
        Ok(answer) if answer[..] == cells[given..] => None,
        Ok(answer) => Some(format!("{set}: {cells:?} should end in {answer:?}")),
        Err(error) => Some(format!("{set}: {cells:?}: {error}")),
    }
}

#[test]
fn every_row_of_every_set_is_right() {
    for set in SETS {
        for seed in [0, 1] {
            let generator = made(set.name, &[], seed);
            let wrong = (0..ROWS).find_map(|number| fault(set.name, &cells(&generator.row(number))));
            assert_eq!(wrong, None, "seed {seed}");
        }
    }
}

/// A wrong label or a wrong truth, in any row of any set, is seen.
#[test]
fn a_planted_fault_is_caught() {
    for set in SETS {
        let generator = made(set.name, &[], 0);
        for number in 0..200 {
            let right = cells(&generator.row(number));
            let other = (0..).map(|at| cells(&generator.row(number + 1 + at)));
            for place in [right.len() - 2, right.len() - 1] {
                let mut wrong = right.clone();
                wrong[place] =
                    other.clone().map(|row| row[place].clone()).find(|cell| *cell != right[place]).unwrap();
                assert!(fault(set.name, &wrong).is_some(), "{}: {wrong:?}", set.name);
            }
        }
    }
}

/// Counts of labels: two differ by one at most, many come near to equal.
#[test]
fn labels_are_balanced() {
    for (set, labels) in [
        ("keyword", 2),
        ("negation", 2),
        ("conflict", 2),
        ("first_last", 2),
        ("pronoun", 2),
        ("aspect", 2),
        ("brackets", 2),
        ("agreement", 2),
        ("babi1", 6),
        ("babi2", 6),
        ("babi3", 6),
        ("name_copy", 20),
        ("key_value", 16),
    ] {
        let generator = made(set, &[], 5);
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for number in 0..ROWS {
            let cells = cells(&generator.row(number));
            *counts.entry(cells[cells.len() - 2].clone()).or_default() += 1;
            let spread = counts.values().max().unwrap() - counts.values().min().unwrap();
            assert!(labels > 2 || counts.len() == 1 && number == 0 || spread <= 1, "{set}: {counts:?}");
        }
        assert_eq!(counts.len(), labels, "{set}");
        let mean = ROWS as f64 / labels as f64;
        assert!(
            counts.values().all(|&count| (count as f64 - mean).abs() < 5.0 * mean.sqrt()),
            "{set}: {counts:?}"
        );
    }
}

/// Of the words that could decide and do not, none says anything about the label.
#[test]
fn what_does_not_decide_is_drawn_independently() {
    let share = |set: &str, is: fn(&[String]) -> bool| {
        let generator = made(set, &[], 2);
        (0..ROWS).filter(|&number| is(&cells(&generator.row(number)))).count() as f64 / ROWS as f64
    };
    let near = |share: f64, expected: f64| assert!((share - expected).abs() < 0.06, "{share}, {expected}");
    let first_agrees: fn(&[String]) -> bool = |cells| {
        let positive = reader::POS
            .iter()
            .any(|word| cells[0].split(" but ").next().unwrap().split(' ').any(|w| w == *word));
        positive == (cells[1] == "positive")
    };
    near(share("conflict", first_agrees), 0.5);
    near(share("negation", |cells| cells[2].contains(' ')), 0.5);
    near(share("negation", |cells| !cells[0].split(' ').any(|word| word == "not")), 0.25);
}

#[test]
fn the_same_request_gives_the_same_rows_and_another_seed_others() {
    for set in SETS {
        let [a, b, c] = [0, 0, 1].map(|seed| made(set.name, &[], seed));
        let rows = |generator: &Generator| (0..100).map(|number| generator.row(number)).collect::<Vec<_>>();
        assert_eq!(rows(&a), rows(&b), "{}", set.name);
        assert_ne!(rows(&a), rows(&c), "{}", set.name);
        // In whatever order they are asked for.
        assert_eq!(a.row(99), rows(&b)[99], "{}", set.name);
    }
}

#[test]
fn settings_do_what_they_say() {
    let all = |name: &str, words: &[&str]| {
        let generator = made(name, words, 0);
        (0..200).map(|number| generator.row(number)).collect::<Vec<_>>()
    };
    for row in all("keyword", &["min=3", "max=4"]) {
        assert!((3..=4).contains(&cells(&row)[0].split(' ').count()));
    }
    let one_kind = all("brackets", &["kinds=1", "depth=1"]);
    assert!(one_kind.iter().all(|row| cells(row)[1] == "1" && !cells(row)[0].contains("( (")));
    assert!(all("brackets", &["kinds=3"]).iter().any(|row| cells(row)[0].contains('{')));
    assert!(all("agreement", &["attractors=0"]).iter().all(|row| cells(row)[0].split(' ').count() == 2));
    let one_query = |row: &GeneratedRow| cells(row)[0].split(" ? ").nth(1).unwrap().len() == 3;
    assert!(all("key_value", &["queries=1"]).iter().all(one_query));
    let words = all("copy", &["vocabulary=1000"]);
    assert!(words.iter().all(|row| cells(row)[0].split(' ').all(|word| word.len() == 4)));
}

/// The reader takes rows by hand that are shorter than generated ones; these have every length there may be, and no other.
#[test]
fn lengths_are_those_of_the_set() {
    for (set, mark, least, most, step) in [
        ("keyword", " ", 9, 29, 1),
        ("pronoun", " ", 5, 19, 1),
        ("babi1", " .", 2, 10, 1),
        ("babi2", " .", 4, 14, 1),
        ("babi3", " .", 6, 20, 1),
        ("copy", " ", 1, 9, 1),
        ("bigram_flip", " ", 1, 9, 2),
        ("brackets", " ", 3, 29, 2),
        ("key_value", "v", 2 + 11, 6 + 11, 1),
        ("agreement", "the ", 1, 3, 1),
    ] {
        let generator = made(set, &[], 0);
        let count = |number| cells(&generator.row(number))[0].matches(mark).count();
        let found: BTreeSet<usize> = (0..ROWS).map(count).collect();
        assert_eq!(found, (least..=most).step_by(step).collect(), "{set}");
    }
}

/// Lines for language models: the text and its label; of brackets those that match, without blanks.
#[test]
fn lines_are_what_language_models_learn_from() {
    for set in SETS.iter().filter(|set| set.has_lines) {
        let generator = made(set.name, &[], 0);
        for row in (0..200).map(|number| generator.row(number)) {
            let (line, cells) = (row.line().unwrap(), cells(&row));
            if set.name != "brackets" {
                assert_eq!(line, format!("{} {}", cells[0], cells[1]));
                continue;
            }
            let spaced = line.chars().map(String::from).collect::<Vec<_>>().join(" ");
            assert_eq!(expected("brackets", &[&spaced]).unwrap(), ["1", ""]);
            assert_eq!(spaced == cells[0], cells[1] == "1");
        }
    }
}
