use super::{AnswerPart, AnswerShape, Brief, NumberWords, SHOWN};

/// The pooled vector of a text.
pub(super) struct TextVector<'a>(pub(super) &'a [f32]);

impl AnswerShape for TextVector<'_> {
    fn brief(&self, _: NumberWords) -> Brief {
        Brief { decision: format!("a vector of {}", self.0.len()), ..Brief::default() }
    }

    fn lines(&self) -> Vec<Vec<AnswerPart>> {
        let shown: Vec<String> = self.0.iter().take(SHOWN).map(|v| format!("{v:.4}")).collect();
        let more = if self.0.len() > SHOWN { " …" } else { "" };
        let line = format!("vector of {}: {}{more}", self.0.len(), shown.join(" "));
        vec![vec![AnswerPart::Plain(line)]]
    }

    /// A vector decides nothing.
    fn cell(&self) -> String {
        String::new()
    }

    fn columns(&self) -> Vec<String> {
        (0..self.0.len()).map(|i| format!("v{i}")).collect()
    }

    fn numbers(&self) -> Vec<Option<f64>> {
        self.0.iter().map(|&v| Some(f64::from(v))).collect()
    }
}
