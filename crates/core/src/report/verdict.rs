use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The evidence in plain words, and the numbers behind them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The most telling finding, in one sentence.
    pub sentence: String,
    /// What failed, worst first; empty where nothing did.
    pub failures: Vec<String>,
    /// What each check found, in the order of failures; empty in old reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// A verdict of words alone, without findings.
    pub fn new(sentence: String, failures: Vec<String>) -> Self {
        Self { sentence, failures, findings: Vec::new() }
    }

    /// Whether all scores are rounding.
    pub fn says_zero(&self) -> bool {
        self.findings.iter().any(|found| found.check == "zero_scores" && found.passed == Some(false))
    }
}

/// What one check measured, and how it was judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The name of the check.
    pub check: String,
    /// The number that is judged; null where none could be measured.
    pub measured: Option<f64>,
    /// What it is held against; null where nothing is.
    pub threshold: Option<f64>,
    /// Whether it is good enough; null where that is undecided, or never judged.
    pub passed: Option<bool>,
}
