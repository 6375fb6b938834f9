use super::{AnswerPart, AnswerShape, Brief, NumberWords};
use crate::report::number::Number;

/// One number, as regression gives it.
pub(super) struct OneValue(pub(super) f64);

impl AnswerShape for OneValue {
    fn brief(&self, wording: NumberWords) -> Brief {
        Brief { decision: (wording.number)(self.0), ..Brief::default() }
    }

    fn lines(&self) -> Vec<Vec<AnswerPart>> {
        vec![vec![AnswerPart::Plain(format!("value {:.4}", self.0))]]
    }

    fn cell(&self) -> String {
        Number(self.0).to_string()
    }
}
