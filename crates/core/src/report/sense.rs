use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the scores of a method are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sense {
    /// Positive scores speak for what is explained, negative ones against it. Reports from before this was said hold it of
    /// every method.
    #[default]
    ForAndAgainst,
    /// They say how much, not which way.
    HowMuch,
    /// They say how much, not which way, and are the same whichever class is explained.
    SameForEveryClass,
}

impl Sense {
    /// Whether it need not be said.
    pub fn is_usual(&self) -> bool {
        *self == Self::ForAndAgainst
    }
}
