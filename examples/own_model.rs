//! Explains a model of one's own: whatever answers for texts is a model. Here it counts words.
//!
//!     cargo run --release --example own_model
//!
//! Of such a model only the answers are known, so it is explained by Shapley values (`partition_shap`).
#![allow(clippy::print_stdout, reason = "an example speaks to whoever runs it")]

use exegete::render::{Format, render};
use exegete::task::CLASSIFICATION;
use exegete::{Card, ClassScore, Example, Model, Prediction, Result, Scores, Sizes};

/// Says how likely a message is spam, by the words in it.
struct SpamFilter(Card);

impl SpamFilter {
    fn new() -> Self {
        Self(Card {
            name: "spam filter".into(),
            family: "word count".into(),
            fingerprint: "1".into(), // another one for another model: answers are remembered by it
            task: &CLASSIFICATION,
            labels: vec!["ham".into(), "spam".into()],
            parameters: 0,
            max_tokens: usize::MAX,
            sizes: Sizes::default(),
            warnings: Vec::new(),
        })
    }

    /// The probability of spam. "not free" is fine, "free" alone is suspicious.
    fn spam(text: &str) -> f64 {
        let text = text.to_lowercase();
        let weight = |words: &str, weight: f64| weight * text.matches(words).count() as f64;
        let sum = weight("free", 2.0) + weight("winner", 1.5) + weight("not free", -2.5) - 1.0;
        1.0 / (1.0 + (-sum).exp())
    }
}

impl Model for SpamFilter {
    fn card(&self) -> &Card {
        &self.0
    }

    fn predict(&self, examples: &[Example]) -> Result<Vec<Prediction>> {
        let answer = |example: &Example| {
            let spam = Self::spam(&example.fields[0].text);
            let score = |label: &str, prob| ClassScore { label: label.into(), logit: None, prob };
            let scores = Scores::classes(vec![score("ham", 1.0 - spam), score("spam", spam)]);
            Prediction { scores, truncated: false, unknown: 0 }
        };
        Ok(examples.iter().map(answer).collect())
    }
}

fn main() -> Result<()> {
    let report = exegete::explain(&SpamFilter::new(), "You are a winner: claim your free phone now.")?;
    print!("{}", render(&report, Format::Text, &Default::default()));
    Ok(())
}
