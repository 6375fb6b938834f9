use crate::{
    Array, Encoded, Error, Example, Logits, ParameterGroup, Pass, Plan, Result, Row, Scores, Site, Sites,
    Tangents, Task,
};
use serde::Serialize;
use std::ops::Range;
use std::sync::Arc;

/// What a model is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Card {
    /// The folder's name, or what the user called it.
    pub name: String,
    /// The architecture, as the config spells it.
    pub family: String,
    /// A hash of the weights that were opened and everything that changes their meaning.
    pub fingerprint: String,
    /// What it answers, and what its output means.
    pub task: &'static dyn Task,
    /// Class names in the order of the logits.
    pub labels: Vec<String>,
    /// The number of parameters in use.
    pub parameters: usize,
    /// The longest input in tokens, special ones included.
    pub max_tokens: usize,
    /// The sizes that this architecture has, by name: layers, hidden, heads.
    #[serde(flatten)]
    pub sizes: Sizes,
    /// Things the user should know: unused tensors, a missing pooler.
    pub warnings: Vec<String>,
}

impl Card {
    /// The name of a class, which is its number where it has none.
    pub fn label(&self, index: usize) -> String {
        self.labels.get(index).cloned().unwrap_or_else(|| index.to_string())
    }
}

/// Sizes of a network by name, in the order in which they are shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sizes(pub Vec<(&'static str, usize)>);

impl Serialize for Sizes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

/// A model's answer for one example.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// What the model answers, by the shape of its task.
    pub scores: Scores,
    /// Whether text was cut off before the model saw it.
    pub truncated: bool,
    /// How many tokens of the text its vocabulary does not hold: see [`Encoded::unknown`](crate::Encoded::unknown).
    pub unknown: usize,
}

/// What a row should have been, for losses.
#[derive(Debug, Clone, PartialEq)]
pub enum Label {
    /// The index of the right class: cross-entropy.
    Class(usize),
    /// A target distribution over classes: cross-entropy against it.
    Soft(Vec<f32>),
    /// A 0/1 target for each label: binary cross-entropy, summed.
    Labels(Vec<f32>),
    /// The right value: half the squared error.
    Value(f32),
    /// The right class, or entry of the vocabulary, of each token that has an output, none where it does not count: cross-entropy, the mean
    /// over the tokens that count.
    Tokens(Vec<Option<usize>>),
    /// The first and the last token of the right answer: the mean of their two cross-entropies over all tokens.
    Span(usize, usize),
}

impl Label {
    /// The tokens that a loss reads the outputs of; none where it reads all there are.
    pub fn places(&self) -> Option<Vec<usize>> {
        match self {
            Self::Tokens(classes) => Some((0..classes.len()).filter(|&at| classes[at].is_some()).collect()),
            _ => None,
        }
    }
}

/// Which class a data set means: it writes a label by its name or, where the names are words, by its index.
///
/// Where names are numbers themselves, a number that is none of them is unknown: ratings from 1 to 5 have no 0.
pub fn class_index(labels: &[String], given: &str) -> Option<usize> {
    let named = labels.iter().position(|label| label == given);
    let numbers = labels.iter().any(|label| label.parse::<f64>().is_ok());
    let index = || given.parse::<usize>().ok().filter(|&index| !numbers && index < labels.len());
    named.or_else(index)
}

/// Anything that answers for texts.
pub trait Model: Send + Sync {
    /// Says what the model is: its name, task, labels and limits.
    fn card(&self) -> &Card;

    /// Gives one answer for each example, in their order.
    fn predict(&self, examples: &[Example]) -> Result<Vec<Prediction>>;

    /// Answers in pieces, as they come and in any order: `sink` gets the places of some examples and their answers.
    /// What it got before an error stays answered, so that a cache above loses nothing that was paid for.
    fn predict_each(
        &self,
        examples: &[Example],
        sink: &mut dyn FnMut(Range<usize>, Vec<Prediction>) -> Result<()>,
    ) -> Result<()> {
        sink(0..examples.len(), self.predict(examples)?)
    }

    /// What the reader of its answers must know: what its card warns of, and what happened since.
    fn warnings(&self) -> Vec<String> {
        self.card().warnings.clone()
    }

    /// Whether it answers the same text the same way each time, as far as anybody has seen.
    fn steady(&self) -> bool {
        true
    }

    /// Its inside, where it has one.
    fn open(&self) -> Option<&dyn Open> {
        None
    }

    /// Its parameters, where they can be differentiated.
    fn learner(&self) -> Option<&dyn Learner> {
        None
    }

    /// The tokens of an example: the model's own, or words for a model that reads plain text.
    fn encoded(&self, example: &Example) -> Result<Encoded> {
        if let Some(open) = self.open() {
            return open.encode(example);
        }
        example.check_unweighted()?;
        Ok(Encoded::of_words(example))
    }

    /// What an output of it means.
    fn scored(&self, encoded: &Encoded, output: &Logits) -> Result<Scores> {
        match self.open() {
            Some(open) => open.scores(encoded, output),
            None => Ok(self.card().task.plain_scores(self.card(), output)),
        }
    }

    /// Its inside, or an error that says what is missing.
    fn require_open(&self) -> Result<&dyn Open> {
        self.open().ok_or_else(|| {
            Error::Unsupported(format!(
                "{} gives predictions only; this needs a model whose inside is open, such as a Hugging Face folder",
                self.card().name
            ))
        })
    }
}

/// A model whose inside can be read, edited and differentiated.
pub trait Open: Send + Sync {
    /// The tokens of an example.
    fn encode(&self, example: &Example) -> Result<Encoded>;

    /// The id of a vocabulary string, where the model has a vocabulary.
    fn token_id(&self, _piece: &str) -> Option<u32> {
        None
    }

    /// The vocabulary string of an id, where the model has a vocabulary.
    fn piece(&self, _id: u32) -> Option<String> {
        None
    }

    /// The id of a word that the model may answer with; of its own vocabulary unless it writes in another.
    fn output_id(&self, piece: &str) -> Option<u32> {
        self.token_id(piece)
    }

    /// The word that the model may answer with under an id; of its own vocabulary unless it writes in another.
    fn output_piece(&self, id: u32) -> Option<String> {
        self.piece(id)
    }

    /// What a model that writes would write of each row by itself, the likeliest word in each step, in as many steps as the
    /// row's own target has; none for models that write nothing.
    fn writes(&self, _rows: &[Row]) -> Result<Option<Vec<Vec<usize>>>> {
        Ok(None)
    }

    /// The id of the mask, where the vocabulary has one.
    fn mask_id(&self) -> Option<u32> {
        None
    }

    /// A copy of its word vectors \[V, E\], where it has any.
    fn word_embeddings(&self) -> Option<Array> {
        None
    }

    /// Every named place with its axes, in the order of computation.
    fn sites(&self) -> &Sites;

    /// Runs rows forward together and keeps what the plan asks for.
    fn forward<'a>(&'a self, rows: &[Row], plan: &Plan) -> Result<Box<dyn Pass + 'a>>;

    /// The Jacobian-vector product: how the kept sites and the logits move when the value at `site` moves along one
    /// direction a row. Exact.
    fn jvp(&self, rows: &[Row], site: Site, directions: &[Array], keep: &[Site]) -> Result<Tangents>;

    /// What the logits of one row mean.
    fn scores(&self, encoded: &Encoded, logits: &Logits) -> Result<Scores>;

    /// Bytes of activations that one row needs under a plan: what the driver budgets with.
    fn bytes(&self, row: &Row, plan: &Plan) -> usize;

    /// The same model with some parameters replaced, by their Hugging Face names; the original is untouched.
    fn with_params(&self, overrides: Vec<(String, Array)>) -> Result<Arc<dyn Model>>;

    /// The same model with the softplus (1/β)·ln(1 + e^(βz)) for every ReLU, forward too, so that it has second
    /// derivatives everywhere; the original is untouched. A model without ReLU refuses here or when it first runs.
    fn softened(&self, _beta: f64) -> Result<Arc<dyn Model>> {
        Err(Error::Unsupported("this model has no ReLU that a softplus could replace".into()))
    }
}

/// A model whose parameters can be differentiated. Losses are summed over rows; L_r is the loss of row r.
pub trait Learner: Send + Sync {
    /// Every parameter by its Hugging Face name, with its shape.
    fn parameters(&self) -> Vec<(String, Vec<usize>)>;

    /// The parameters in groups that belong together, in the order of computation; each is in one group.
    fn groups(&self) -> Vec<ParameterGroup>;

    /// Bytes of activations that the gradient of one row's loss needs: what the driver budgets with.
    fn learning_bytes(&self, row: &Row) -> usize;

    /// The value of one parameter.
    fn parameter(&self, name: &str) -> Result<Array>;

    /// The loss of each row and ∂ΣL/∂θ for the selected parameters, in the order of `select`.
    fn gradient(&self, rows: &[Row], labels: &[Label], select: &[String]) -> Result<(Vec<f64>, Vec<Array>)>;

    /// ∂L_r/∂θ for each row, handed to `sink` in order, so that nothing holds more of them than there are threads.
    fn row_gradients(
        &self,
        rows: &[Row],
        labels: &[Label],
        select: &[String],
        sink: &mut dyn FnMut(usize, Vec<Array>) -> Result<()>,
    ) -> Result<()>;

    /// ∂L_r/∂θ · v for each row, exactly, without forming any gradient.
    fn directional(&self, rows: &[Row], labels: &[Label], select: &[String], v: &[Array])
    -> Result<Vec<f64>>;

    /// (∂²ΣL/∂θ²) v over the selected parameters, exactly.
    fn hvp(&self, rows: &[Row], labels: &[Label], select: &[String], v: &[Array]) -> Result<Vec<Array>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_meant_by_name_or_by_index_but_numbers_only_by_name() {
        let check = |labels: &[&str], given: &str, expected: Option<usize>| {
            let labels: Vec<String> = labels.iter().map(|&label| label.to_owned()).collect();
            assert_eq!(class_index(&labels, given), expected, "{labels:?} {given}");
        };
        check(&["no", "yes"], "yes", Some(1));
        check(&["no", "yes"], "1", Some(1));
        check(&["no", "yes"], "2", None);
        check(&["1", "2", "3"], "1", Some(0));
        check(&["1", "2", "3"], "0", None);
        check(&["10", "20"], "1", None);
    }
}
