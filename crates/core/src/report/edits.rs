use super::consistent::{fields, says, slice};
use super::{Subject, Verdict, number};
use crate::{Error, Field, Result, Scores, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Changes of the text and what the model says then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Edits {
    /// What it is about.
    #[serde(flatten)]
    pub subject: Subject,
    /// What was looked for, in words: "the fewest words whose removal changes the decision".
    pub goal: String,
    /// The texts that were found, best first; those that reach the goal come before the others.
    pub found: Vec<Edited>,
    /// Whether it is proven that nothing smaller would do: no smaller change, or nothing less left where as little as possible is to stay.
    pub smallest: bool,
    /// How often random changes of the same size reach the goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random: Option<Chance>,
    /// The evidence in plain words.
    pub verdict: Verdict,
}

/// A changed text, what was changed in it, and what the model says of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Edited {
    /// The text as it became.
    pub input: Vec<Field>,
    /// What was changed, in the order of the original text.
    pub swaps: Vec<Swap>,
    /// What the model says of it.
    pub prediction: Scores,
    /// The value F for the changed text.
    #[serde(serialize_with = "number::short")]
    pub value: f64,
    /// Whether it reaches the goal.
    pub reached: bool,
}

/// One change: bytes of the original text become something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Swap {
    /// Which field of the input it stands in, from 0.
    pub field: usize,
    /// Its first byte in the field.
    pub start: usize,
    /// One past the last; the start itself where something is put in.
    pub end: usize,
    /// The text that stood there before; nothing where something is put in.
    pub before: String,
    /// What stands there now; nothing where it was taken out.
    pub after: String,
}

/// How often something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Chance {
    /// Times that it did.
    pub hits: usize,
    /// Times that it was tried.
    pub trials: usize,
}

impl Edits {
    /// Changes lie within the original, say what stood there, and come in its order.
    pub(super) fn consistent(&self) -> Result<()> {
        for (index, edited) in self.found.iter().enumerate() {
            edited.consistent(&self.subject).map_err(|error| error.at(format!("found[{index}]")))?;
        }
        match self.random {
            Some(chance) if chance.hits > chance.trials => {
                Err(Error::Input(format!("random has {} hits in {} trials", chance.hits, chance.trials)))
            }
            _ => Ok(()),
        }
    }
}

impl Edited {
    fn consistent(&self, subject: &Subject) -> Result<()> {
        fields("input", &self.input, subject)?;
        let mut done = (0, 0);
        for (index, swap) in self.swaps.iter().enumerate() {
            swap.consistent(subject).map_err(|error| error.at(format!("swaps[{index}]")))?;
            if (swap.field, swap.start) < done {
                return Err(Error::Input(format!(
                    "swaps[{index}] begins before the one before it ends; they must be in the order of the original text"
                )));
            }
            done = (swap.field, swap.end);
        }
        Ok(())
    }
}

impl Swap {
    fn consistent(&self, subject: &Subject) -> Result<()> {
        let Self { field, start, end, before, .. } = self;
        let found = slice(subject, *field, *start, *end)?;
        let text = &subject.input[*field].text;
        if !text.is_char_boundary(*start) || !text.is_char_boundary(*end) {
            return Err(Error::Input(format!(
                "bytes {start} to {end} of field {field} cut a character; offsets count bytes, not characters"
            )));
        }
        says("'before'", before, found, Span { field: *field, start: *start, end: *end })
    }
}
