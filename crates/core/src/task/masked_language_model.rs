use super::{Contest, Decided, HeadForm, Labelled, Reading, Spelling, Task, Widths, by_token};
use crate::target::{Resolving, Term};
use crate::{Axis, Card, Choice, Logits, Quantity, Result, Scores, Target};

/// The word behind each mask.
#[derive(Debug, Clone, Copy)]
pub struct MaskedLanguageModel;

/// The word behind each mask.
pub static MASKED_LANGUAGE_MODEL: MaskedLanguageModel = MaskedLanguageModel;

/// What is asked of such a model where a class would be asked of another.
const INSTEAD: &str = "this model guesses words at positions: say which, as token:POS=WORD";

impl Task for MaskedLanguageModel {
    fn name(&self) -> &'static str {
        "masked_language_model"
    }

    fn title(&self) -> &'static str {
        "masked language model"
    }

    fn spelling(&self) -> Option<Spelling> {
        Some(Spelling::own("MaskedLM", HeadForm::Vocabulary))
    }

    fn needs_mask(&self) -> bool {
        true
    }

    fn axes(&self, widths: &Widths) -> Vec<Axis> {
        vec![Axis::Token, Axis::Class(widths.vocabulary)]
    }

    fn labels(&self, _: &[String]) -> Vec<String> {
        Vec::new()
    }

    fn answers_in_text(&self) -> bool {
        true
    }

    fn labelled(&self) -> Labelled {
        Labelled::Tokens
    }

    fn scores(&self, reading: &Reading<'_>) -> Result<Scores> {
        let masked = (0..reading.encoded.len()).filter(|&position| reading.is_masked(position));
        Ok(Scores::Fills { masks: masked.map(|position| reading.words_at(position)).collect() })
    }

    fn resolve(&self, at: &Resolving<'_>, quantity: &Quantity) -> Result<Quantity> {
        match quantity {
            // One that is resolved stays, wherever a row was edited since.
            Quantity::Token(position, word) if word.index.is_some() => {
                Ok(Quantity::Token(at.position(*position)?, at.word(word)?))
            }
            Quantity::Token(position, word) => Ok(Quantity::Token(at.masked(*position)?, at.word(word)?)),
            Quantity::TokenOf(Some(place), word) => {
                Ok(Quantity::Token(at.masked(at.place(place)?)?, at.word(word)?))
            }
            Quantity::TokenOf(None, word) => Ok(Quantity::Token(at.only_mask()?, at.word(word)?)),
            other => match (other, at.only_mask()) {
                (Quantity::Predicted, Ok(position)) => predicted(&at.reading, position),
                (Quantity::Predicted, Err(_)) => Err(at.unmasked(INSTEAD)),
                _ => by_token::loss(at, other, INSTEAD),
            },
        }
    }

    fn places(&self, quantity: &Quantity) -> Option<Vec<usize>> {
        match quantity {
            Quantity::Token(position, _) => Some(vec![*position]),
            Quantity::Loss(Some(label)) => label.places(),
            _ => None,
        }
    }

    fn terms(&self, _: &Card, target: &Target, logits: &Logits) -> Result<Vec<Term>> {
        by_token::terms(target, logits)
    }

    fn contest(&self, quantity: &Quantity) -> Option<Contest> {
        match quantity {
            Quantity::Token(position, _) => Some(Contest::Largest(Some(*position))),
            _ => None,
        }
    }

    /// The word that is explained as the user wrote it, any other as the vocabulary has it; a token that is no mask has a
    /// number only.
    fn decided(&self, reading: &Reading<'_>, quantity: &Quantity, decided: Decided) -> String {
        match quantity {
            Quantity::Token(_, word) if word.index == Some(decided.0) => word.name.clone(),
            Quantity::Token(position, _) if reading.is_masked(*position) => reading.word(decided.0),
            _ => format!("#{}", decided.0),
        }
    }
}

/// The most probable word at a mask.
fn predicted(reading: &Reading<'_>, position: usize) -> Result<Quantity> {
    let (best, _) = Contest::Largest(Some(position)).winner(reading.encoded, reading.logits)?;
    Ok(Quantity::Token(position, Choice { name: reading.word(best), index: Some(best) }))
}
