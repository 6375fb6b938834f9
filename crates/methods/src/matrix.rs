//! Matrices of words by words as items of a report: what reads by rows, what is read by columns.

use crate::layers::entropy;
use exegete_core::report::{Item, Map, MapLayer, MatrixAxes, Subject, TokenText};
use exegete_core::{Array, Axis, Encoded, Scores};

/// A matrix with a name for each row, and what rows and columns are.
pub(crate) fn matrix(
    subject: Subject,
    tokens: Vec<TokenText>,
    rows: Vec<(String, Vec<f64>)>,
    [reads, read]: [&str; 2],
) -> Item {
    let layer = |(site, token_values): (String, Vec<f64>)| {
        let entropy = entropy(&token_values);
        MapLayer { site, token_values, spread: Vec::new(), entropy, completeness: None }
    };
    let axes = Some(MatrixAxes { rows: reads.to_owned(), columns: read.to_owned() });
    Item::Map(Box::new(Map { subject, tokens, layers: rows.into_iter().map(layer).collect(), axes }))
}

/// What every token takes from every other, \[T, T\].
pub(crate) fn between_tokens(subject: Subject, encoded: &Encoded, values: &[Vec<f64>]) -> Item {
    let tokens = TokenText::of(encoded);
    let name = |(token, values): (&TokenText, &Vec<f64>)| (token.piece.clone(), values.clone());
    let rows = tokens.iter().zip(values).map(name).collect();
    matrix(subject, tokens, rows, ["token that reads", "token that is read"])
}

/// What every place of a target takes from every word of the source, \[places, words\]. The subject's prediction is of the same target.
pub(crate) fn of_target(subject: Subject, encoded: &Encoded, values: &Array) -> Item {
    let tokens = TokenText::of(encoded);
    let tokens_at = |axis: Axis| -> Vec<TokenText> {
        let places = axis.places(encoded).unwrap_or_default();
        places.into_iter().flatten().map(|at| tokens[at].clone()).collect()
    };
    let (source, target) = (tokens_at(Axis::FieldContent(0)), tokens_at(Axis::Target));
    // A text that the model wrote by itself has its words in the prediction alone.
    let written = match &subject.prediction {
        Scores::Written { words, .. } => words.iter().map(|word| word.word.clone()).collect(),
        _ => Vec::new(),
    };
    let name = |place: usize| written.get(place).unwrap_or(&target[place].piece).clone();
    let row = |(place, row): (usize, &[f32])| (name(place), row.iter().map(|&x| f64::from(x)).collect());
    let rows = values.data.chunks(source.len().max(1)).take(target.len()).enumerate().map(row).collect();
    matrix(subject, source, rows, ["target word", "source word"])
}
