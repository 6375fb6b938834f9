use super::contest::softmax;
use super::{Classes, Contest, Labelled, Reading, Spelling, Task, Widths, whole_text};
use crate::target::{Resolving, Term};
use crate::{Axis, Card, Logits, Quantity, Result, Scores, Target};

/// One of several classes.
#[derive(Debug, Clone, Copy)]
pub struct Classification;

/// One of several classes.
pub static CLASSIFICATION: Classification = Classification;

impl Task for Classification {
    fn name(&self) -> &'static str {
        "classification"
    }

    fn title(&self) -> &'static str {
        "classification"
    }

    fn spelling(&self) -> Option<Spelling> {
        Some(Spelling::sequence("single_label_classification"))
    }

    fn axes(&self, widths: &Widths) -> Vec<Axis> {
        vec![Axis::Class(widths.labels)]
    }

    fn least_labels(&self) -> usize {
        2
    }

    fn classes(&self) -> Classes {
        Classes::One
    }

    fn labelled(&self) -> Labelled {
        Labelled::Text
    }

    fn scores(&self, reading: &Reading<'_>) -> Result<Scores> {
        let logits = &reading.logits.data;
        Ok(Scores::classes(whole_text::classes(reading.card, logits, &softmax(logits))))
    }

    fn resolve(&self, at: &Resolving<'_>, quantity: &Quantity) -> Result<Quantity> {
        whole_text::resolve(at, quantity, |label| whole_text::given_or_predicted(at, label))
    }

    fn terms(&self, card: &Card, target: &Target, logits: &Logits) -> Result<Vec<Term>> {
        whole_text::terms(card, target, logits, whole_text::over_all)
    }

    fn contest(&self, _: &Quantity) -> Option<Contest> {
        Some(Contest::Largest(None))
    }
}
