mod by_token;
mod opposing;

use crate::run::Kept;
use exegete_core::{Error, Label, Result, Row, Site, Task};
use exegete_engine::{Op, Scalar, Tape, Tensor, Unary, Var};
use std::collections::HashMap;
use std::sync::Arc;

pub use opposing::{AttentionSites, FixedAnswer, opposing};

/// What a forward run left for a loss to be computed from.
pub struct Forward<'a, T> {
    /// The tape that the run was recorded on; the loss continues it.
    pub tape: &'a mut Tape<T>,
    /// \[B, C\], or \[K, C\] where the K tokens that have an output have their own
    pub logits: Var<T>,
    /// The rows that ran.
    pub rows: &'a [Row],
    /// What each should have been.
    pub labels: &'a [Label],
    /// What the model answers.
    pub task: &'static dyn Task,
    pub(crate) kept: &'a HashMap<Site, Kept<T>>,
    /// How many places of each row have an output: its tokens, or the places of what it writes.
    pub(crate) counts: &'a [usize],
    /// The tokens of each row that have an output, where not all of them have one.
    pub(crate) places: &'a [Option<Arc<[usize]>>],
}

impl<T: Scalar> Forward<'_, T> {
    /// The packed value at a site that the objective asked for, on the tape.
    pub fn value(&self, site: Site) -> Result<Var<T>> {
        let kept = self.kept.get(&site).map(|kept| kept.var.clone());
        kept.ok_or_else(|| Error::Request(format!("the objective reads {site}, which it did not ask for")))
    }
}

/// A loss for every row, \[B, 1\]: what training makes small. Penalties are terms added on the same tape. The loss of a row
/// must depend on that row alone: a batch may be cut into pieces that know nothing of each other.
pub type Objective<T> = dyn Fn(&mut Forward<'_, T>) -> Result<Var<T>> + Send + Sync;

/// The loss that the labels' kind asks for: cross-entropy (classes, soft labels, the mean over tokens or over the ends of a
/// span), binary cross-entropy summed over labels, half the squared error. Labels must be of one kind, and fit the task.
pub fn supervised<T: Scalar>(forward: &mut Forward<'_, T>) -> Result<Var<T>> {
    let (rows, labels) = (forward.rows, forward.labels);
    if rows.len() != labels.len() || labels.is_empty() {
        return Err(Error::Request(format!("{} rows but {} labels", rows.len(), labels.len())));
    }
    let kind = forward.task.labelled();
    labels.iter().try_for_each(|label| kind.check(label))?;
    match &labels[0] {
        Label::Class(_) => class_losses(forward),
        Label::Soft(_) => soft_losses(forward),
        Label::Labels(_) => label_losses(forward),
        Label::Value(_) => value_losses(forward),
        Label::Tokens(_) => by_token::token_losses(forward),
        Label::Span(..) => by_token::span_losses(forward),
    }
}

fn class_losses<T: Scalar>(forward: &mut Forward<'_, T>) -> Result<Var<T>> {
    let Forward { tape, logits, labels, .. } = forward;
    let classes = logits.value.cols();
    let columns = labels.iter().map(|label| class(label, classes)).collect::<Result<_>>()?;
    let log_probs = tape.apply(Op::LogSoftmax, [logits.clone()]); // [B, C]
    let right = tape.apply(Op::Pick(columns), [log_probs]); // [B, 1]
    Ok(tape.apply(Op::Scale(-1.0), [right]))
}

fn soft_losses<T: Scalar>(forward: &mut Forward<'_, T>) -> Result<Var<T>> {
    let Forward { tape, logits, labels, .. } = forward;
    let shares = targets(labels, logits.value.cols(), |label| match label {
        Label::Soft(shares) => Some(&shares[..]),
        _ => None,
    })?;
    let log_probs = tape.apply(Op::LogSoftmax, [logits.clone()]); // [B, C]
    let weighted = tape.apply(Op::Mul, [log_probs, shares]); // [B, C]
    let total = tape.apply(Op::RowSum, [weighted]); // [B, 1]
    Ok(tape.apply(Op::Scale(-1.0), [total]))
}

fn label_losses<T: Scalar>(forward: &mut Forward<'_, T>) -> Result<Var<T>> {
    let Forward { tape, logits, labels, .. } = forward;
    let shares = targets(labels, logits.value.cols(), |label| match label {
        Label::Labels(shares) => Some(&shares[..]),
        _ => None,
    })?;
    // −y ln σ(x) − (1−y) ln(1−σ(x)) = softplus(x) − y·x
    let agree = tape.apply(Op::Mul, [logits.clone(), shares]); // [B, C]
    let both = tape.apply(Op::Unary(Unary::Softplus(1.0)), [logits.clone()]); // [B, C]
    let loss = tape.apply(Op::Sub, [both, agree]); // [B, C]
    Ok(tape.apply(Op::RowSum, [loss]))
}

fn value_losses<T: Scalar>(forward: &mut Forward<'_, T>) -> Result<Var<T>> {
    let Forward { tape, logits, labels, .. } = forward;
    let wanted = targets(labels, logits.value.cols(), |label| match label {
        Label::Value(value) => Some(std::slice::from_ref(value)),
        _ => None,
    })?;
    let error = tape.apply(Op::Sub, [logits.clone(), wanted]); // [B, 1]
    let square = tape.apply(Op::Unary(Unary::Square), [error]); // [B, 1]
    Ok(tape.apply(Op::Scale(0.5), [square]))
}

fn class(label: &Label, classes: usize) -> Result<usize> {
    match label {
        Label::Class(class) if *class < classes => Ok(*class),
        Label::Class(class) => Err(Error::Request(format!("class {class} of a model with {classes}"))),
        _ => Err(mixed()),
    }
}

fn targets<'a, T: Scalar>(
    labels: &'a [Label],
    classes: usize,
    read: impl Fn(&'a Label) -> Option<&'a [f32]>,
) -> Result<Var<T>> {
    let mut data = Vec::with_capacity(labels.len() * classes);
    for label in labels {
        let values = read(label).ok_or_else(mixed)?;
        if values.len() != classes {
            return Err(Error::Request(format!("{} targets for {classes} outputs", values.len())));
        }
        data.extend(values.iter().map(|&v| T::from_f64(v.into())));
    }
    Ok(Tensor::new(labels.len(), classes, data).into())
}

fn mixed() -> Error {
    Error::Request("labels of different kinds in one call".into())
}

#[cfg(test)]
mod tests;
