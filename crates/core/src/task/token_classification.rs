use super::contest::softmax;
use super::{Contest, HeadForm, Labelled, Reading, Spelling, Task, Widths, by_token};
use crate::target::{Resolving, Term};
use crate::{Axis, Card, Logits, Quantity, Result, Scores, Tag, Target, Unit, Units};

/// A label for every word.
#[derive(Debug, Clone, Copy)]
pub struct TokenClassification;

/// A label for every word.
pub static TOKEN_CLASSIFICATION: TokenClassification = TokenClassification;

/// What is asked of such a model where a class would be asked of another.
const INSTEAD: &str = "this model labels every token: say which, as tag:POS=LABEL";

impl Task for TokenClassification {
    fn name(&self) -> &'static str {
        "token_classification"
    }

    fn title(&self) -> &'static str {
        "token classification"
    }

    fn spelling(&self) -> Option<Spelling> {
        Some(Spelling::own("TokenClassification", HeadForm::Tokens("classifier")))
    }

    fn axes(&self, widths: &Widths) -> Vec<Axis> {
        vec![Axis::Token, Axis::Class(widths.labels)]
    }

    fn labelled(&self) -> Labelled {
        Labelled::Tokens
    }

    fn scores(&self, reading: &Reading<'_>) -> Result<Scores> {
        let tag = |unit: Unit| tag(reading, &unit);
        Ok(Scores::Tags { tags: Units::Word.of(reading.encoded).into_iter().filter_map(tag).collect() })
    }

    fn resolve(&self, at: &Resolving<'_>, quantity: &Quantity) -> Result<Quantity> {
        match quantity {
            Quantity::Tag(position, label) => Ok(Quantity::Tag(at.position(*position)?, at.class(label)?)),
            Quantity::TagOf(word, label) => Ok(Quantity::Tag(at.place(word)?, at.class(label)?)),
            Quantity::Predicted => Err(at.unplaced(INSTEAD)),
            other => by_token::loss(at, other, INSTEAD),
        }
    }

    fn terms(&self, _: &Card, target: &Target, logits: &Logits) -> Result<Vec<Term>> {
        by_token::terms(target, logits)
    }

    fn contest(&self, quantity: &Quantity) -> Option<Contest> {
        match quantity {
            Quantity::Tag(position, _) => Some(Contest::Largest(Some(*position))),
            _ => None,
        }
    }
}

/// The label of a word: that of its first token.
fn tag(reading: &Reading<'_>, unit: &Unit) -> Option<Tag> {
    let width = reading.card.labels.len();
    let first = *unit.tokens.first()?;
    let probs = softmax(&reading.logits.data[first * width..][..width]);
    let best = (0..width).reduce(|best, i| if probs[i] > probs[best] { i } else { best })?;
    let text = reading.encoded.slice(unit.span).to_owned();
    Some(Tag { text, span: unit.span, label: reading.card.labels[best].clone(), prob: probs[best] })
}
