//! What the tasks share whose output is one choice a token, \[T, C\].

use super::Labelled;
use crate::target::{Resolving, Term};
use crate::{Error, Label, Logits, Quantity, Result, Target};

/// Minus the loss of the tokens' labels; nothing stands for them where they are not given, but `instead` says what to ask.
pub(super) fn loss(at: &Resolving<'_>, quantity: &Quantity, instead: &str) -> Result<Quantity> {
    let label = match quantity {
        Quantity::Loss(known) => known.as_ref().or(at.label),
        _ => None,
    };
    let Some(Label::Tokens(classes)) = label else { return Err(quantity.misplaced(instead)) };
    let tokens = at.reading.encoded.len();
    if classes.len() != tokens {
        return Err(Error::Request(format!("labels for {} tokens of a text of {tokens}", classes.len())));
    }
    Ok(Quantity::Loss(label.cloned()))
}

/// The outputs of one choice, or of the tokens' labels.
pub(super) fn terms(target: &Target, logits: &Logits) -> Result<Vec<Term>> {
    match &target.quantity {
        Quantity::Tag(position, choice) | Quantity::Token(position, choice) => {
            Ok(vec![Term::at(*position, target.index(choice)?, logits)])
        }
        Quantity::Loss(Some(Label::Tokens(classes))) => loss_terms(classes, logits),
        Quantity::Loss(Some(_)) => Err(Labelled::Tokens.misfit()),
        _ => Err(target.unresolved()),
    }
}

/// The mean logarithm of the right classes' probabilities, over the tokens that have one.
fn loss_terms(classes: &[Option<usize>], logits: &Logits) -> Result<Vec<Term>> {
    let known = logits.shape.last().copied().unwrap_or(0);
    let right = classes.iter().enumerate().filter_map(|(at, class)| Some((at, (*class)?)));
    let right: Vec<(usize, usize)> = right.collect();
    if right.is_empty() {
        return Err(Error::Request("no token has a label, so there is no loss".into()));
    }
    if let Some((at, class)) = right.iter().find(|(_, class)| *class >= known) {
        return Err(Error::Request(format!("token {at}: class {class} of a model with {known}")));
    }
    let share = 1.0 / right.len() as f64;
    Ok(right.iter().map(|&(at, class)| Term::at(at, class, logits).times(share)).collect())
}
