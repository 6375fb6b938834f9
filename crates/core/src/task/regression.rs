use super::{Labelled, Reading, Spelling, Task, Widths, whole_text};
use crate::target::{Resolving, Term};
use crate::{Axis, Card, Choice, Error, Label, Logits, Quantity, Result, Scores, Target};

/// One number for a text or a pair.
#[derive(Debug, Clone, Copy)]
pub struct Regression;

/// The one value of [`Regression`].
pub static REGRESSION: Regression = Regression;

impl Task for Regression {
    fn name(&self) -> &'static str {
        "regression"
    }

    fn title(&self) -> &'static str {
        "regression"
    }

    fn spelling(&self) -> Option<Spelling> {
        Some(Spelling { outputs: Some(1), ..Spelling::sequence("regression") })
    }

    fn axes(&self, widths: &Widths) -> Vec<Axis> {
        vec![Axis::Class(widths.labels)]
    }

    fn labelled(&self) -> Labelled {
        Labelled::Text
    }

    fn gives_probabilities(&self) -> bool {
        false
    }

    fn scores(&self, reading: &Reading<'_>) -> Result<Scores> {
        Ok(self.plain_scores(reading.card, reading.logits))
    }

    fn plain_scores(&self, _: &Card, logits: &Logits) -> Scores {
        Scores::Value { value: logits.data.first().copied().unwrap_or(f64::NAN) }
    }

    fn resolve(&self, at: &Resolving<'_>, quantity: &Quantity) -> Result<Quantity> {
        whole_text::resolve(at, quantity, |label| {
            label.cloned().ok_or_else(|| {
                Error::Request("the loss of a regression needs the right value: give --label".into())
            })
        })
    }

    fn terms(&self, card: &Card, target: &Target, logits: &Logits) -> Result<Vec<Term>> {
        whole_text::terms(card, target, logits, whole_text::over_all)
    }

    fn meant(&self, _: &Card, label: &str) -> Result<Label> {
        let value = label.parse().map_err(|_| Error::Request(format!("the label '{label}' is no number")));
        value.map(Label::Value)
    }

    fn called(&self, _: &Choice) -> String {
        "the value".into()
    }
}
