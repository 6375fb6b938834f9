use super::contest::sigmoid;
use super::{Classes, Contest, Decided, Labelled, Reading, Spelling, Task, Widths, whole_text};
use crate::target::{Norm, Resolving, Term};
use crate::{Axis, Card, Logits, Quantity, Result, Scores, Target};

/// Any number of labels at once; each one is a decision of its own, whether it applies.
#[derive(Debug, Clone, Copy)]
pub struct MultiLabel;

/// Any number of labels at once.
pub static MULTI_LABEL: MultiLabel = MultiLabel;

impl Task for MultiLabel {
    fn name(&self) -> &'static str {
        "multi_label"
    }

    fn title(&self) -> &'static str {
        "multi-label classification"
    }

    fn spelling(&self) -> Option<Spelling> {
        Some(Spelling { implied: false, ..Spelling::sequence("multi_label_classification") })
    }

    fn axes(&self, widths: &Widths) -> Vec<Axis> {
        vec![Axis::Class(widths.labels)]
    }

    fn classes(&self) -> Classes {
        Classes::Any
    }

    fn labelled(&self) -> Labelled {
        Labelled::Text
    }

    fn scores(&self, reading: &Reading<'_>) -> Result<Scores> {
        let logits = &reading.logits.data;
        let probs: Vec<f64> = logits.iter().copied().map(sigmoid).collect();
        Ok(Scores::labels(whole_text::classes(reading.card, logits, &probs)))
    }

    fn plain_scores(&self, card: &Card, logits: &Logits) -> Scores {
        Scores::labels(whole_text::named(card, logits.data.iter().copied().map(sigmoid)))
    }

    fn resolve(&self, at: &Resolving<'_>, quantity: &Quantity) -> Result<Quantity> {
        whole_text::resolve(at, quantity, |label| whole_text::given_or_predicted(at, label))
    }

    fn terms(&self, card: &Card, target: &Target, logits: &Logits) -> Result<Vec<Term>> {
        whole_text::terms(card, target, logits, |_| Norm::On)
    }

    fn contest(&self, quantity: &Quantity) -> Option<Contest> {
        match quantity {
            Quantity::Class(label) => label.index.map(Contest::Alone),
            _ => None,
        }
    }

    fn decided(&self, _: &Reading<'_>, quantity: &Quantity, decided: Decided) -> String {
        let name = quantity.choice().map_or("", |choice| &choice.name);
        if decided.0 == 1 { name.to_owned() } else { format!("not {name}") }
    }

    fn speaks_for(&self, _: &Quantity, decided: Decided) -> bool {
        decided.0 == 1
    }
}
