use super::{AnswerPart, AnswerShape, Brief, NumberWords, SHOWN, brief, percent};
use crate::report::number;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One candidate for a masked position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TokenScore {
    /// The token as the vocabulary writes it.
    pub piece: String,
    /// The number itself, null where it is not finite.
    #[serde(serialize_with = "number::short")]
    pub logit: f64,
    /// The number itself, null where it is not finite.
    #[serde(serialize_with = "number::short")]
    pub prob: f64,
}

/// The best candidates for one masked position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fill {
    /// Index into the tokens.
    pub position: usize,
    /// The most probable tokens, best first.
    pub top: Vec<TokenScore>,
}

impl AnswerShape for &[Fill] {
    fn brief(&self, wording: NumberWords) -> Brief {
        let best = |fill: &Fill| {
            let best = fill.top.first();
            let best = best.map(|top| format!("{} {}", top.piece, (wording.share)(top.prob)));
            format!("token {}: {}", fill.position, best.unwrap_or_default())
        };
        Brief { decision: brief(self.iter().map(best)), ..Brief::default() }
    }

    fn lines(&self) -> Vec<Vec<AnswerPart>> {
        let word = |top: &TokenScore| format!("{} {}", top.piece, percent(top.prob).trim_start());
        let line = |fill: &Fill| {
            let words: Vec<String> = fill.top.iter().take(SHOWN).map(word).collect();
            vec![AnswerPart::Plain(format!("mask at token {}: {}", fill.position, words.join(", ")))]
        };
        self.iter().map(line).collect()
    }

    fn cell(&self) -> String {
        let words = self.iter().filter_map(|fill| Some(fill.top.first()?.piece.as_str()));
        words.collect::<Vec<_>>().join(" ")
    }

    fn prob(&self) -> Option<f64> {
        match self {
            [fill] => Some(fill.top.first()?.prob),
            _ => None,
        }
    }
}
