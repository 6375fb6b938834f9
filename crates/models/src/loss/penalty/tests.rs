use super::*;
use crate::run::{Kept, Part};
use exegete_core::{Example, Label, Row};
use exegete_engine::{Context, Gradient, Mode, Tape, Tensor};
use exegete_testkit::{NEXT_TOKEN, Of, close};
use std::collections::HashMap;

const SITE: Site = Site::named("attn.scores");

/// What a text brings: its weights, row after row, and which words are marked in each row.
type Case<'a> = (&'a [f64], &'a [&'a [bool]]);

/// R of each text, and its slope at every score.
fn penalties(over: PenaltyOver, cases: &[Case<'_>]) -> (Vec<f64>, Vec<f64>) {
    let text = |i: usize| Row::new(Encoded::of_words(&Example::text("w ".repeat(i + 1))));
    let rows: Vec<Row> = (0..cases.len()).map(text).collect();
    let table: Vec<Vec<(usize, Vec<bool>)>> = cases
        .iter()
        .map(|(weights, marked)| {
            let width = weights.len() / marked.len();
            marked.iter().enumerate().map(|(i, marked)| (i * width, marked.to_vec())).collect()
        })
        .collect();
    let penalty = AttentionPenalty {
        scores: SITE,
        marked: Box::new(move |encoded| table[encoded.len() - 1].clone()),
        over,
        weight: 1.0,
    };
    let mut tape = Tape::new(Context::new(1), Mode::Gradient);
    // A constant on all scores changes no weight.
    let scores: Vec<f64> =
        cases.iter().flat_map(|(weights, _)| weights.iter().map(|a| a.ln() + 0.7)).collect();
    let (mut parts, mut start) = (Vec::new(), 0);
    for (weights, _) in cases {
        parts.push(Part { start, shape: vec![weights.len()] });
        start += weights.len();
    }
    let scores = tape.watch(Tensor::new(scores.len(), 1, scores).into());
    let kept = HashMap::from([(SITE, Kept { var: scores.clone(), slope: None, parts })]);
    let labels = vec![Label::Class(0); rows.len()];
    let (counts, places) = (vec![1; rows.len()], vec![None; rows.len()]);
    let logits = Tensor::new(rows.len(), 1, vec![0.0; rows.len()]).into();
    let (task, rows, labels, kept) = (&NEXT_TOKEN, &rows[..], &labels[..], &kept);
    let forward =
        &mut Forward { tape: &mut tape, logits, rows, labels, task, kept, counts: &counts, places: &places };
    let Some(found) = penalty.penalties(forward).unwrap() else {
        return (vec![0.0; cases.len()], Vec::new());
    };
    let seed = Tensor::new(cases.len(), 1, vec![1.0; cases.len()]);
    let slopes =
        tape.backward(vec![(found.node.unwrap(), seed)], &[scores.node.unwrap()], &Gradient).unwrap();
    (found.value.data().to_vec(), slopes[0].as_ref().unwrap().data().to_vec())
}

fn check(over: PenaltyOver, cases: &[Case<'_>], expected: &[f64]) {
    close("penalty", &penalties(over, cases).0, expected, Of::Size(1.0), 5e-7);
}

const FIRST: &[bool] = &[true, false, false];
const HEADS: &[f64] = &[0.6, 0.3, 0.1, 0.2, 0.3, 0.5];

#[test]
fn of_one_attention_and_of_heads_by_hand() {
    check(PenaltyOver::Mean, &[(&[0.6, 0.3, 0.1], &[FIRST])], &[0.916291]);
    check(PenaltyOver::Mean, &[(HEADS, &[FIRST, FIRST])], &[0.569717]);
    check(PenaltyOver::Worst, &[(HEADS, &[FIRST, FIRST])], &[0.916291]);
    // Planted fault: the logarithm of the mean mass is another number.
    let of_mean_mass = -(1.0 - 0.5 * (0.6 + 0.2f64)).ln();
    assert!((of_mean_mass - 0.510826).abs() < 5e-7 && (of_mean_mass - 0.569717).abs() > 0.05);
}

/// Copying three words: each target word may not read its own source word.
#[test]
fn of_an_alignment_it_is_the_mean_over_target_words() {
    let weights = [0.9, 0.05, 0.05, 0.1, 0.8, 0.1, 0.2, 0.2, 0.6];
    let marked: [&[bool]; 3] = [FIRST, &[false, true, false], &[false, false, true]];
    check(PenaltyOver::Mean, &[(&weights, &marked)], &[1.609438]);
    // Planted fault: of the mean mass .766667 it would be 1.455287.
    assert!((-(1.0 - 2.3 / 3.0f64).ln() - 1.455287).abs() < 5e-7);
}

/// Texts of other lengths beside it move nothing, and a text with no or only marked words has none.
#[test]
fn a_row_depends_on_its_text_alone() {
    let short: Case<'_> = (&[0.6, 0.3, 0.1], &[FIRST]);
    let long: Case<'_> = (&[0.5, 0.1, 0.1, 0.1, 0.2], &[&[true, false, true, false, false]]);
    let none: Case<'_> = (&[0.5, 0.5], &[&[false, false]]);
    let all: Case<'_> = (&[0.5, 0.5], &[&[true, true]]);
    for over in [PenaltyOver::Mean, PenaltyOver::Worst] {
        check(over, &[short, none, long, all, short], &[0.916291, 0.0, 0.916291, 0.0, 0.916291]);
        check(over, &[none, all], &[0.0, 0.0]);
    }
}

/// ∂R/∂s_t = α_t − [t permissible]·α_t / (1 − αᵀm), which stays where 1 − αᵀm is too small for single precision.
#[test]
fn slopes_by_hand() {
    let (_, slopes) = penalties(PenaltyOver::Mean, &[(&[0.6, 0.3, 0.1], &[FIRST])]);
    close("slopes", &slopes, &[0.6, 0.3 - 0.75, 0.1 - 0.25], Of::Size(1.0), 1e-12);
    let (found, slopes) = penalties(PenaltyOver::Mean, &[(&[1.0, 3e-40, 1e-40], &[FIRST])]);
    close("far", &found, &[-(4e-40f64).ln()], Of::Size(1.0), 1e-9);
    close("far slopes", &slopes, &[1.0, -0.75, -0.25], Of::Size(1.0), 1e-12);
}

/// The same slopes against central differences in double precision, over several rows of several texts.
#[test]
fn slopes_are_those_of_differences() {
    let texts: [(Vec<f64>, Vec<Vec<bool>>); 2] = [
        (vec![0.2, 0.5, 0.3, 0.1, 0.1, 0.8], vec![vec![true, false, false], vec![true, false, false]]),
        (vec![0.4, 0.3, 0.2, 0.1], vec![vec![false, true, true, false]]),
    ];
    let at = |moved: Option<(usize, f64)>, over: PenaltyOver| {
        let mut weights: Vec<f64> = texts.iter().flat_map(|(weights, _)| weights.clone()).collect();
        if let Some((i, by)) = moved {
            weights[i] *= f64::exp(by);
        }
        let (first, second) = weights.split_at(6);
        let marked: Vec<Vec<&[bool]>> =
            texts.iter().map(|(_, marked)| marked.iter().map(Vec::as_slice).collect()).collect();
        penalties(over, &[(first, &marked[0]), (second, &marked[1])])
    };
    for over in [PenaltyOver::Mean, PenaltyOver::Worst] {
        let (_, slopes) = at(None, over);
        let step = 1e-5;
        let sum = |moved| at(Some(moved), over).0.iter().sum::<f64>();
        let differences: Vec<f64> =
            (0..10).map(|i| (sum((i, step)) - sum((i, -step))) / (2.0 * step)).collect();
        close("slopes", &slopes, &differences, Of::Size(1.0), 1e-8);
    }
}
