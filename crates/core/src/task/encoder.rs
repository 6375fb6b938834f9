use super::{HeadForm, Reading, Spelling, Task, Widths, whole_text};
use crate::target::{Resolving, Term};
use crate::{Axis, Card, Error, Logits, Quantity, Result, Scores, Target};

/// No head: a vector.
#[derive(Debug, Clone, Copy)]
pub struct BareEncoder;

/// No head: a vector.
pub static ENCODER: BareEncoder = BareEncoder;

impl Task for BareEncoder {
    fn name(&self) -> &'static str {
        "encoder"
    }

    fn title(&self) -> &'static str {
        "encoder"
    }

    fn spelling(&self) -> Option<Spelling> {
        Some(Spelling { head: None, problem: None, implied: true, outputs: None, form: HeadForm::Pooled })
    }

    fn axes(&self, widths: &Widths) -> Vec<Axis> {
        vec![Axis::Neuron(widths.hidden)]
    }

    fn labels(&self, _: &[String]) -> Vec<String> {
        Vec::new()
    }

    fn gives_probabilities(&self) -> bool {
        false
    }

    fn scores(&self, reading: &Reading<'_>) -> Result<Scores> {
        Ok(Scores::Vector { vector: reading.logits.data.iter().map(|&x| x as f32).collect() })
    }

    fn resolve(&self, at: &Resolving<'_>, quantity: &Quantity) -> Result<Quantity> {
        let nothing =
            "a bare encoder predicts no class; explain one of its units, for example unit:pooled[0]";
        let no_loss = "this model has no loss without labels; explain a logit or a unit";
        match quantity {
            Quantity::Predicted => Err(Error::Request(nothing.into())),
            _ => whole_text::resolve(at, quantity, |label| {
                label.map_or_else(|| Err(Error::Request(no_loss.into())), whole_text::no_number)
            }),
        }
    }

    fn terms(&self, card: &Card, target: &Target, logits: &Logits) -> Result<Vec<Term>> {
        whole_text::terms(card, target, logits, whole_text::over_all)
    }
}
