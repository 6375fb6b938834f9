use super::*;
use crate::compare::{Cost, Measured, Text};
use crate::debate::TextRecord;
use exegete_core::report::Cell;
use exegete_core::{Array, Encoded, Example, Site, Span};
use exegete_testkit::{Of, close};
use std::collections::{BTreeMap, HashSet};

/// Tokens [CLS] a b c [SEP], b impermissible: who may read whom.
#[test]
fn the_restriction_by_hand() {
    let edits = restrictions(&[Site::named("layer.0.attn.scores")], &[false, false, true, false, false]);
    let mut scores = Array::zeros([2, 5, 5]);
    edits.iter().for_each(|edit| edit.apply(&mut scores).unwrap());
    let row = |row: &[f32]| row.iter().map(|&x| if x == 0.0 { '1' } else { '0' }).collect::<String>();
    let rows: Vec<String> = scores.data.chunks(5).map(row).collect();
    let expected = ["11111", "01011", "00100", "01011", "01011"];
    assert_eq!(rows, [expected, expected].concat());
    // Without impermissible words only the first token's column is cut, and of a text of two tokens nothing else is left.
    let edits = restrictions(&[Site::named("layer.0.attn.scores")], &[false, false]);
    assert_eq!(edits.len(), 1);
}

fn span(field: usize, start: usize, end: usize) -> Span {
    Span { field, start, end }
}

#[test]
fn impermissible_words_are_listed_or_named_by_their_bytes() {
    let example = Example::text("He said she saw HIM, himself");
    let listed: HashSet<String> = ["he", "him"].map(str::to_owned).into();
    assert_eq!(spelled(&example, &listed), [span(0, 0, 2), span(0, 16, 19)]);
    let pair = Example::pair("a man", "was she");
    assert_eq!(truth("1:4-7 0-1", &pair.fields).unwrap(), [span(1, 4, 7), span(0, 0, 1)]);
    assert_eq!(truth("", &pair.fields).unwrap(), []);
    for wrong in ["a-b", "3", "2-9", "3-3", "2:0-1", "0-1,2-3"] {
        let error = truth(wrong, &pair.fields).unwrap_err();
        assert!(error.contains(&format!("'{wrong}' names no bytes")), "{error}");
    }
    assert_eq!(aligned("0-1 1-0").unwrap(), [(0, 1), (1, 0)]);
    assert!(aligned("0:1").unwrap_err().contains("'0:1' is no pair of words"));
}

#[test]
fn a_text_has_one_set_of_impermissible_words() {
    let encoded = Encoded::of_words(&Example::text("she saw him"));
    let mut words = Impermissible::default();
    words.add(&encoded.fields, vec![span(0, 0, 3)]).unwrap();
    words.add(&encoded.fields, vec![span(0, 0, 3)]).unwrap();
    assert_eq!(words.tokens(&encoded), [true, false, false]);
    assert!(words.add(&encoded.fields, vec![span(0, 8, 11)]).unwrap_err().contains("another row"));
    // A token that reaches into such a word is of it; a text that nobody marked has none.
    let mut joined = encoded.clone();
    joined.tokens[1].span = Some(span(0, 2, 7));
    assert_eq!(words.tokens(&joined), [true, true, false]);
    assert_eq!(words.tokens(&Encoded::of_words(&Example::text("he saw her"))), [false; 3]);
}

/// A card with one figure, and a text whose τ is this.
fn measured(figure: f64, tau: f64) -> (Text, TextRecord) {
    let metrics = BTreeMap::from([("comprehensiveness".to_owned(), figure)]);
    let own = Measured { signed: false, values: vec![1.0], metrics };
    let card =
        Text { truncated: false, cost: Cost::default(), measured: vec![own], random: None, effects: None };
    let tau = Some(crate::debate::Tau { tau, p: 1.0 });
    (card, TextRecord { alpha: vec![1.0], tau_gradient: tau, ..TextRecord::default() })
}

fn model(figures: &[f64], taus: &[f64]) -> Measurements {
    let (cards, records): (Vec<Text>, Vec<TextRecord>) =
        figures.iter().zip(taus).map(|(&figure, &tau)| measured(figure, tau)).unzip();
    Measurements::of(&cards, &records)
}

#[test]
fn what_notices_is_what_lies_apart() {
    let honest: Vec<Measurements> =
        [0.8, 0.82, 0.78].map(|own| model(&[own, own + 0.01], &[own - 0.3, -0.5])).into();
    let deceiving: Vec<Measurements> =
        [0.1, 0.12, 0.08].map(|own| model(&[own, own + 0.01], &[own + 0.38, -0.5])).into();
    let rows = |honest: &[Measurements], deceiving: &[Measurements]| {
        let table = notices(honest, deceiving, 0);
        assert_eq!(table.columns, ["check", "honest", "deceived", "notices"]);
        let word = |cell: &Cell| match cell {
            Cell::Word(word) => word.clone(),
            other => format!("{other:?}"),
        };
        table.rows.iter().map(|row| (word(&row[0]), word(&row[3]), row[1].clone())).collect::<Vec<_>>()
    };
    for seeds in [1, 3] {
        let found = rows(&honest[..seeds], &deceiving[..seeds]);
        let names: Vec<(&str, &str)> = found.iter().map(|(name, told, _)| (&**name, &**told)).collect();
        assert_eq!(
            names,
            [("card: comprehensiveness", "yes"), ("correlation: tau with gradients", "no")],
            "{seeds}"
        );
    }
    let Cell::Interval { value, lower, upper } = rows(&honest, &deceiving)[0].2 else {
        panic!("no interval")
    };
    // Seeds .805, .825, .785: their mean ± 4.30265 · .02/√3.
    close("over seeds", &[value, lower, upper], &[0.805, 0.755317, 0.854683], Of::Size(1.0), 1e-6);
    // Nothing is noticed where a model is held against itself.
    assert!(rows(&honest, &honest).iter().all(|(_, told, _)| told == "no"));
}
