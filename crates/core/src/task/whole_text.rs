//! What the tasks share whose output is about the whole text, \[C\].

use super::Labelled;
use crate::target::{Norm, Resolving, Term};
use crate::{Card, ClassScore, Error, Label, Logits, Quantity, Result, Scores, Target};

/// Classes, margins and losses; `loss` says what a label is worth, or what stands for one that is not given.
pub(super) fn resolve(
    at: &Resolving<'_>,
    quantity: &Quantity,
    loss: impl Fn(Option<&Label>) -> Result<Label>,
) -> Result<Quantity> {
    Ok(match quantity {
        Quantity::Predicted => Quantity::Class(at.named(at.best_class()?)),
        Quantity::Class(class) => Quantity::Class(at.class(class)?),
        Quantity::Margin(first, second) => at.margin(first, second)?,
        Quantity::Loss(known) => Quantity::Loss(Some(loss(known.as_ref().or(at.label))?)),
        other => return Err(other.misplaced("this model answers for the whole text")),
    })
}

/// A label that is no number.
pub(super) fn no_number(label: &Label) -> Result<Label> {
    Labelled::Text.check(label)?;
    match label {
        Label::Value(_) => Err(Error::Request("only a regression has a number for a label".into())),
        label => Ok(label.clone()),
    }
}

/// The label that is given, or the class that is predicted.
pub(super) fn given_or_predicted(at: &Resolving<'_>, label: Option<&Label>) -> Result<Label> {
    label.map_or_else(|| at.best_class().map(Label::Class), no_number)
}

/// The outputs that a target is made of, each normalised in the same way.
pub(super) fn terms(
    card: &Card,
    target: &Target,
    logits: &Logits,
    norm: impl Fn(usize) -> Norm,
) -> Result<Vec<Term>> {
    let classes = logits.shape.last().copied().unwrap_or(0);
    let norm = norm(classes);
    match &target.quantity {
        Quantity::Class(class) => Ok(vec![Term::new(target.index(class)?, 1.0, norm)]),
        Quantity::Margin(one, other) => {
            Ok(vec![Term::new(target.index(one)?, 1.0, norm), Term::new(target.index(other)?, -1.0, norm)])
        }
        Quantity::Loss(Some(label)) => loss_terms(label, card, classes, norm),
        _ => Err(target.unresolved()),
    }
}

fn loss_terms(label: &Label, card: &Card, classes: usize, norm: Norm) -> Result<Vec<Term>> {
    let misfit =
        |given: usize| Error::Request(format!("the label gives {given} numbers for {classes} classes"));
    match label {
        Label::Class(index) => Ok(vec![Term::new(*index, 1.0, norm)]),
        Label::Soft(shares) if shares.len() == classes => {
            Ok(shares.iter().enumerate().map(|(i, &share)| Term::new(i, f64::from(share), norm)).collect())
        }
        Label::Labels(on) if on.len() == classes => {
            let pair = |(i, &on): (usize, &f32)| {
                [Term::new(i, f64::from(on), Norm::On), Term::new(i, 1.0 - f64::from(on), Norm::Off)]
            };
            Ok(on.iter().enumerate().flat_map(pair).collect())
        }
        Label::Soft(given) | Label::Labels(given) => Err(misfit(given.len())),
        Label::Value(_) => Err(Error::Request(format!("{} has no numeric labels", card.name))),
        Label::Tokens(_) | Label::Span(..) => Err(Labelled::Text.misfit()),
    }
}

/// A softmax over all classes.
pub(super) fn over_all(classes: usize) -> Norm {
    Norm::Over { first: 0, stride: 1, count: classes }
}

/// Classes with their logits and probabilities.
pub(super) fn classes(card: &Card, logits: &[f64], probs: &[f64]) -> Vec<ClassScore> {
    let score = |((label, &logit), &prob): ((&String, &f64), &f64)| ClassScore {
        label: label.clone(),
        logit: Some(logit),
        prob,
    };
    card.labels.iter().zip(logits).zip(probs).map(score).collect()
}

/// Classes of a black box, whose logits are not its own.
pub(super) fn plain(card: &Card, logits: &Logits) -> Scores {
    let total: f64 = logits.data.iter().map(|z| z.exp()).sum();
    Scores::classes(named(card, logits.data.iter().map(|z| z.exp() / total)))
}

/// Probabilities with their labels and no logits.
pub(super) fn named(card: &Card, probs: impl Iterator<Item = f64>) -> Vec<ClassScore> {
    let score = |(index, prob): (usize, f64)| ClassScore { label: card.label(index), logit: None, prob };
    probs.enumerate().map(score).collect()
}
