use exegete_core::task::{Contest, Decided, Labelled, Reading, Widths};
use exegete_core::{Axis, Card, Choice, Logits, Quantity, Resolving, Result, Scores, Target, Task, Term};

/// The word that comes after each token: what a causal language model answers. What it predicts comes after the last.
#[derive(Debug, Clone, Copy)]
pub struct NextToken;

/// The word that comes after each token.
pub static NEXT_TOKEN: NextToken = NextToken;

impl Task for NextToken {
    fn name(&self) -> &'static str {
        "next_token"
    }

    fn title(&self) -> &'static str {
        "causal language model"
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
        Ok(Scores::Fills { masks: vec![reading.words_at(reading.encoded.len() - 1)] })
    }

    fn resolve(&self, at: &Resolving<'_>, quantity: &Quantity) -> Result<Quantity> {
        match quantity {
            Quantity::Predicted => {
                let Reading { encoded, logits, .. } = at.reading;
                let last = encoded.len() - 1;
                let (best, _) = Contest::Largest(Some(last)).winner(encoded, logits)?;
                Ok(Quantity::Token(last, Choice { name: at.reading.word(best), index: Some(best) }))
            }
            Quantity::Token(position, word) => Ok(Quantity::Token(at.position(*position)?, at.word(word)?)),
            other => Err(other.misplaced("this model goes on with words: say which, as token:POS=WORD")),
        }
    }

    fn terms(&self, _: &Card, target: &Target, logits: &Logits) -> Result<Vec<Term>> {
        match &target.quantity {
            Quantity::Token(position, word) => Ok(vec![Term::at(*position, target.index(word)?, logits)]),
            _ => Err(target.unresolved()),
        }
    }

    fn contest(&self, quantity: &Quantity) -> Option<Contest> {
        match quantity {
            Quantity::Token(position, _) => Some(Contest::Largest(Some(*position))),
            _ => None,
        }
    }

    fn decided(&self, reading: &Reading<'_>, quantity: &Quantity, (word, _): Decided) -> String {
        let explained = quantity.choice().filter(|choice| choice.index == Some(word));
        explained.map_or_else(|| reading.word(word), |choice| choice.name.clone())
    }
}
