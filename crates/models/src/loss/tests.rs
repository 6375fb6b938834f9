use super::*;
use exegete_core::{Encoded, Example};
use exegete_engine::{Context, Mode};
use exegete_testkit::{NEXT_TOKEN, Of, close};

/// Rows of this many words.
fn rows(words: &[usize]) -> Vec<Row> {
    words.iter().map(|&count| Row::new(Encoded::of_words(&Example::text("w ".repeat(count))))).collect()
}

/// The losses of labels under these logits, of which each token of a row has its own.
fn losses(words: &[usize], logits: (usize, &[f64]), labels: &[Label]) -> Result<Vec<f64>> {
    let (classes, data) = logits;
    let (rows, kept) = (rows(words), HashMap::new());
    let tape = &mut Tape::new(Context::new(1), Mode::Off);
    let logits = Tensor::new(data.len() / classes, classes, data.to_vec()).into();
    let places = &vec![None; rows.len()];
    let counts = words;
    let task = &NEXT_TOKEN;
    let forward = &mut Forward { tape, logits, rows: &rows, labels, task, kept: &kept, counts, places };
    supervised(forward).map(|losses| losses.value.data().to_vec())
}

/// The label of a token is the one that comes after it, and the last has none: 1/4 and 3/4 in a text of three, 1/2 in one
/// of two.
#[test]
fn next_tokens_by_hand() {
    let ln3 = 3f64.ln();
    let logits = [0.0, ln3, 0.0, ln3, 9.0, 9.0, 5.0, 5.0, -7.0, 8.0];
    let labels = [Label::Tokens(vec![Some(0), Some(1), None]), Label::Tokens(vec![Some(1), None])];
    let found = losses(&[3, 2], (2, &logits), &labels).unwrap();
    let expected = [-(0.25f64.ln() + 0.75f64.ln()) / 2.0, 2f64.ln()];
    close("next tokens", &found, &expected, Of::Size(1.0), 1e-15);
    let wrong = losses(&[3, 2], (2, &logits), &[labels[0].clone(), Label::Tokens(vec![None; 2])]);
    assert_eq!(wrong.unwrap_err().to_string(), "row 1: no token has a label, so there is no loss");
    let mixed = losses(&[3, 2], (2, &logits), &[labels[0].clone(), Label::Class(0)]);
    assert!(mixed.unwrap_err().to_string().contains("one class a token"));
}
