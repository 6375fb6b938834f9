use super::{AnswerPart, AnswerShape, Brief, NumberWords, SHOWN, brief, percent, rest};
use crate::report::number;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One class with its logit and probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassScore {
    /// What the class is called.
    pub label: String,
    /// Its logit; black boxes may have none.
    #[serde(serialize_with = "number::short_or_null")]
    pub logit: Option<f64>,
    /// The number itself, null where it is not finite.
    #[serde(serialize_with = "number::short")]
    pub prob: f64,
}

/// One of several classes, or labels that may apply together, of which these were chosen.
pub(super) struct ChosenClasses<'a> {
    pub(super) chosen: &'a [String],
    pub(super) scores: &'a [ClassScore],
}

impl ChosenClasses<'_> {
    /// The most probable first.
    fn sorted(&self) -> Vec<&ClassScore> {
        let mut sorted: Vec<&ClassScore> = self.scores.iter().collect();
        sorted.sort_by(|a, b| b.prob.total_cmp(&a.prob));
        sorted
    }
}

impl AnswerShape for ChosenClasses<'_> {
    fn brief(&self, wording: NumberWords) -> Brief {
        let others = self.sorted().into_iter().filter(|score| !self.chosen.contains(&score.label));
        let others = others.map(|score| format!("{} {}", score.label, (wording.share)(score.prob)));
        let prob = self.prob().filter(|_| self.chosen.len() == 1);
        Brief { decision: self.chosen.join(", "), probability: prob, others: brief(others) }
    }

    fn lines(&self) -> Vec<Vec<AnswerPart>> {
        let sorted = self.sorted();
        let shown = &sorted[..sorted.len().min(SHOWN)];
        let width = shown.iter().map(|score| score.label.chars().count()).max().unwrap_or(0);
        let line = |(rank, score): (usize, &&ClassScore)| {
            let label = format!("{:<width$}", score.label);
            let label = if rank == 0 { AnswerPart::Strong(label) } else { AnswerPart::Plain(label) };
            vec![label, AnswerPart::Plain(format!("  {}", percent(score.prob))), AnswerPart::Bar(score.prob)]
        };
        let lines = shown.iter().enumerate().map(line);
        lines.chain(rest(sorted.len() - shown.len())).collect()
    }

    fn cell(&self) -> String {
        super::best(self.scores).map_or_else(String::new, |best| best.label.clone())
    }

    fn prob(&self) -> Option<f64> {
        super::best(self.scores).map(|best| best.prob)
    }

    fn columns(&self) -> Vec<String> {
        self.scores.iter().map(|score| format!("logit_{}", score.label)).collect()
    }

    fn numbers(&self) -> Vec<Option<f64>> {
        self.scores.iter().map(|score| score.logit).collect()
    }
}
