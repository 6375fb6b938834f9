//! Losses of what a model says about tokens, \[K, C\], with the reductions of transformers for a batch of one row.

use super::{Forward, mixed};
use exegete_core::{Error, Label, Result};
use exegete_engine::{Op, Scalar, Tensor, Var};
use std::ops::Range;

/// The cross-entropy of each row's labelled tokens, their mean: \[B, 1\].
pub(super) fn token_losses<T: Scalar>(forward: &mut Forward<'_, T>) -> Result<Var<T>> {
    let (mut index, mut columns, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for (row, label) in forward.labels.iter().enumerate() {
        let Label::Tokens(classes) = label else { return Err(mixed()) };
        let found = right(forward, row, classes).map_err(|error| error.at(format!("row {row}")))?;
        counts.push(found.len());
        index.extend(found.iter().map(|(place, _)| place));
        columns.extend(found.iter().map(|(_, class)| class));
    }
    let tape = &mut forward.tape;
    let total = index.len();
    let labelled = tape.apply(Op::Gather(index.into()), [forward.logits.clone()]); // [K, C]
    let log_probs = tape.apply(Op::LogSoftmax, [labelled]); // [K, C]
    let right = tape.apply(Op::Pick(columns.into()), [log_probs]); // [K, 1]
    let right = tape.apply(Op::Reshape(1, total), [right]); // [1, K]
    Ok(tape.apply(Op::Linear, [means(&counts).into(), right])) // [B, 1]
}

/// The places of a row's labelled tokens in the packed logits, with their classes.
fn right<T: Scalar>(
    forward: &Forward<'_, T>,
    row: usize,
    classes: &[Option<usize>],
) -> Result<Vec<(usize, usize)>> {
    let (tokens, known) = (forward.counts[row], forward.logits.value.cols());
    if classes.len() != tokens {
        return Err(Error::Request(format!("labels for {} tokens of a text of {tokens}", classes.len())));
    }
    let outputs = outputs(forward, row);
    let place = |token: usize| match &forward.places[row] {
        Some(places) => places.iter().position(|&place| place == token),
        None => Some(token),
    };
    let one = |(token, class): (usize, usize)| match place(token) {
        _ if class >= known => {
            Err(Error::Request(format!("token {token}: class {class} of a model with {known}")))
        }
        Some(place) => Ok((outputs.start + place, class)),
        None => Err(Error::Request(format!("token {token} has a label but no output is asked of it"))),
    };
    let labelled = classes.iter().enumerate().filter_map(|(token, class)| Some((token, (*class)?)));
    let found = labelled.map(one).collect::<Result<Vec<_>>>()?;
    match found.is_empty() {
        true => Err(Error::Request("no token has a label, so there is no loss".into())),
        false => Ok(found),
    }
}

/// The rows of the packed logits that are one row's.
fn outputs<T>(forward: &Forward<'_, T>, row: usize) -> Range<usize> {
    let len = |row: usize| forward.places[row].as_ref().map_or(forward.counts[row], |places| places.len());
    let start = (0..row).map(len).sum();
    start..start + len(row)
}

/// What takes minus the mean of neighbouring columns, as many as each row has: \[B, K\].
fn means<T: Scalar>(counts: &[usize]) -> Tensor<T> {
    let total = counts.iter().sum();
    let mut shares = vec![T::default(); counts.len() * total];
    let mut start = 0;
    for (row, &count) in counts.iter().enumerate() {
        shares[row * total + start..][..count].fill(T::from_f64(-1.0 / count as f64));
        start += count;
    }
    Tensor::new(counts.len(), total, shares)
}

/// The cross-entropies of the first and of the last token of the answer, among all tokens of the row; their mean: \[B, 1\].
pub(super) fn span_losses<T: Scalar>(forward: &mut Forward<'_, T>) -> Result<Var<T>> {
    let mut ends = Vec::with_capacity(forward.rows.len());
    for (row, label) in forward.labels.iter().enumerate() {
        let &Label::Span(first, last) = label else { return Err(mixed()) };
        let tokens = forward.rows[row].encoded.len();
        if first > last || last >= tokens {
            let wrong = format!("row {row}: an answer from token {first} to {last} of a text of {tokens}");
            return Err(Error::Request(wrong));
        }
        ends.push([first, last]);
    }
    if forward.logits.value.cols() != 2 || forward.places.iter().any(Option::is_some) {
        return Err(Error::Request("the loss of a span needs a start and an end for every token".into()));
    }
    let mut found = Vec::with_capacity(ends.len());
    for (row, ends) in ends.into_iter().enumerate() {
        let own = outputs(forward, row).collect();
        let (tape, logits) = (&mut forward.tape, forward.logits.clone());
        let own = tape.apply(Op::Gather(own), [logits]); // [T, 2]
        // A product with the identity turns columns into rows, which a softmax runs over.
        let sides = tape.apply(Op::Linear, [identity().into(), own]); // [2, T]
        let log_probs = tape.apply(Op::LogSoftmax, [sides]); // [2, T]
        found.push(tape.apply(Op::Pick(ends.into()), [log_probs])); // [2, 1]
    }
    Ok(in_rows(forward, found))
}

fn identity<T: Scalar>() -> Tensor<T> {
    let (one, zero) = (T::from_f64(1.0), T::default());
    Tensor::new(2, 2, vec![one, zero, zero, one])
}

/// Minus the mean of each pair \[2, 1\] in its row of \[B, 1\].
fn in_rows<T: Scalar>(forward: &mut Forward<'_, T>, pairs: Vec<Var<T>>) -> Var<T> {
    let (tape, count) = (&mut forward.tape, pairs.len());
    let mut sum: Option<Var<T>> = None;
    for (row, pair) in pairs.into_iter().enumerate() {
        let mut shares = vec![T::default(); 2 * count];
        shares[2 * row..][..2].fill(T::from_f64(-0.5));
        let pair = tape.apply(Op::Reshape(1, 2), [pair]); // [1, 2]
        let placed = tape.apply(Op::Linear, [Tensor::new(count, 2, shares).into(), pair]); // [B, 1]
        sum = Some(match sum {
            Some(sum) => tape.apply(Op::Add, [sum, placed]), // [B, 1]
            None => placed,
        });
    }
    sum.unwrap_or_else(|| Tensor::new(0, 1, Vec::new()).into())
}
