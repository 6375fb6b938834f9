//! What a model's output means, one file a task: how it is read, named, decided, and turned into a target, a loss and a
//! sentence. A model brings its task along in its [`Card`]; nothing else asks which task it is, only what it says here.

mod by_token;
mod classification;
mod contest;
mod encoder;
mod masked_language_model;
mod multi_label;
mod question_answering;
mod reading;
mod regression;
mod token_classification;
mod whole_text;

pub use classification::{CLASSIFICATION, Classification};
pub use contest::{Contest, Decided};
pub use encoder::{BareEncoder, ENCODER};
pub use masked_language_model::{MASKED_LANGUAGE_MODEL, MaskedLanguageModel};
pub use multi_label::{MULTI_LABEL, MultiLabel};
pub use question_answering::{QUESTION_ANSWERING, QuestionAnswering, best_span};
pub use reading::{Reading, Vocabulary};
pub use regression::{REGRESSION, Regression};
pub use token_classification::{TOKEN_CLASSIFICATION, TokenClassification};

use crate::target::{Resolving, Term};
use crate::{Axis, Card, Choice, Error, Label, Logits, Quantity, Result, Scores, Target, class_index};
use serde::{Serialize, Serializer};
use std::fmt;

/// Every task that a config can name; of several that one class name fits, the first that fits in full is meant.
pub static TASKS: &[&dyn Task] = &[
    &REGRESSION,
    &CLASSIFICATION,
    &MULTI_LABEL,
    &TOKEN_CLASSIFICATION,
    &QUESTION_ANSWERING,
    &MASKED_LANGUAGE_MODEL,
    &ENCODER,
];

/// What a model answers, and what its output means.
pub trait Task: fmt::Debug + Send + Sync {
    /// The name, spelled as in documents.
    fn name(&self) -> &'static str;

    /// The name as people say it.
    fn title(&self) -> &'static str;

    /// How a Hugging Face config says it; none for a task that no config names.
    fn spelling(&self) -> Option<Spelling> {
        None
    }

    /// What the fields of an example are called.
    fn fields(&self) -> [&'static str; 2] {
        ["text", "pair"]
    }

    /// Whether an example without a second field means nothing.
    fn needs_pair(&self) -> bool {
        false
    }

    /// Whether a text without a mask gets no answer.
    fn needs_mask(&self) -> bool {
        false
    }

    /// The axes of the output.
    fn axes(&self, widths: &Widths) -> Vec<Axis>;

    /// The names of the classes, from those that the config lists.
    fn labels(&self, listed: &[String]) -> Vec<String> {
        listed.to_vec()
    }

    /// The fewest labels that make sense.
    fn least_labels(&self) -> usize {
        1
    }

    /// How many classes a whole text has.
    fn classes(&self) -> Classes {
        Classes::None
    }

    /// What of an example a label is about, from which a loss can be computed.
    fn labelled(&self) -> Labelled {
        Labelled::Nothing
    }

    /// Whether its outputs become probabilities; else they are plain numbers, and nothing is decided.
    fn gives_probabilities(&self) -> bool {
        true
    }

    /// Whether what it decides is a piece of text, which sentences quote.
    fn answers_in_text(&self) -> bool {
        false
    }

    /// What the output of one row means.
    fn scores(&self, reading: &Reading<'_>) -> Result<Scores>;

    /// The same where logarithms of a black box's probabilities stand for its logits.
    fn plain_scores(&self, card: &Card, logits: &Logits) -> Scores {
        whole_text::plain(card, logits)
    }

    /// A quantity made concrete for one output, or why this task has none such. Units never come here.
    fn resolve(&self, at: &Resolving<'_>, quantity: &Quantity) -> Result<Quantity>;

    /// The tokens whose outputs a resolved quantity and its decision are read from; none for all of them.
    fn places(&self, _quantity: &Quantity) -> Option<Vec<usize>> {
        None
    }

    /// The outputs that a resolved target is made of.
    fn terms(&self, card: &Card, target: &Target, logits: &Logits) -> Result<Vec<Term>>;

    /// The decision that a resolved quantity belongs to; none where nothing is decided.
    fn contest(&self, _quantity: &Quantity) -> Option<Contest> {
        None
    }

    /// What was decided, in words; `quantity` is the one that is explained.
    fn decided(&self, reading: &Reading<'_>, _quantity: &Quantity, decided: Decided) -> String {
        reading.card.label(decided.0)
    }

    /// Whether a resolved quantity speaks for a decision, so that hiding what it rests on should change it.
    fn speaks_for(&self, quantity: &Quantity, decided: Decided) -> bool {
        quantity.is_for(decided)
    }

    /// What the user's label means.
    fn meant(&self, card: &Card, label: &str) -> Result<Label> {
        let known = || card.labels.join(", ");
        let unknown =
            || Error::Request(format!("'{label}' is no label of {}; one of {}", card.name, known()));
        class_index(&card.labels, label).map(Label::Class).ok_or_else(unknown)
    }

    /// What a choice is called in a sentence.
    fn called(&self, choice: &Choice) -> String {
        choice.name.clone()
    }
}

/// How a Hugging Face config says a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spelling {
    /// What stands behind `For` in the name of the class that saved a model; none where the class is a bare `Model`.
    pub head: Option<&'static str>,
    /// Its `problem_type`, where several tasks share a head.
    pub problem: Option<&'static str>,
    /// Whether a config that leaves the problem out can mean it.
    pub implied: bool,
    /// The number of outputs that it must have, where there is one.
    pub outputs: Option<usize>,
    /// What stands on top of the encoder.
    pub form: HeadForm,
}

/// What stands on top of an encoder for a task, in Hugging Face models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadForm {
    /// Classes of the whole text, by the layers that the family names.
    Text,
    /// Classes of every token, by one layer of this name.
    Tokens(&'static str),
    /// The vocabulary at every token, by the layers that the family names.
    Vocabulary,
    /// No more than the encoder's own pooled vector.
    Pooled,
}

impl Spelling {
    /// The spelling of a task that has a head of its own.
    pub fn own(head: &'static str, form: HeadForm) -> Self {
        Self { head: Some(head), problem: None, implied: true, outputs: None, form }
    }

    /// One of the tasks that classifiers of sequences are trained for.
    fn sequence(problem: &'static str) -> Self {
        Self { problem: Some(problem), ..Self::own("SequenceClassification", HeadForm::Text) }
    }
}

/// The sizes that an output's width can follow from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Widths {
    /// C: labels that the config lists.
    pub labels: usize,
    /// H: the hidden width.
    pub hidden: usize,
    /// V: entries of the vocabulary.
    pub vocabulary: usize,
}

/// How many classes a whole text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Classes {
    /// A whole text has no class.
    None,
    /// Exactly one label for a text.
    One,
    /// Any number of labels for a text.
    Any,
}

/// What of an example a label is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Labelled {
    /// There are no labels.
    Nothing,
    /// The whole text: any label but those of tokens and spans.
    Text,
    /// Each token by itself: [`Label::Tokens`].
    Tokens,
    /// A run of tokens: [`Label::Span`].
    Span,
}

impl Labelled {
    /// Whether a label is of this kind, or an error that says which is.
    pub fn check(self, label: &Label) -> Result<()> {
        let given = match label {
            Label::Tokens(_) => Self::Tokens,
            Label::Span(..) => Self::Span,
            Label::Class(_) | Label::Soft(_) | Label::Labels(_) | Label::Value(_) => Self::Text,
        };
        if given == self { Ok(()) } else { Err(self.misfit()) }
    }

    /// That a label is of another kind, and which is meant.
    pub(crate) fn misfit(self) -> Error {
        Error::Request(
            match self {
                Self::Nothing => "this model answers nothing that could be labelled, so it has no loss",
                Self::Text => "this model answers for the whole text: its label is a class or a number",
                Self::Tokens => "this model answers for every token: its label is one class a token",
                Self::Span => "this model answers with a span: its label is a first and a last token",
            }
            .into(),
        )
    }
}

/// Names are unique, so they tell tasks apart.
impl PartialEq for dyn Task {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Task {}

impl Serialize for dyn Task {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_spellings_tell_tasks_apart() {
        let names: BTreeSet<&str> = TASKS.iter().map(|task| task.name()).collect();
        let titles: BTreeSet<&str> = TASKS.iter().map(|task| task.title()).collect();
        let spelled = TASKS.iter().map(|task| task.spelling().expect("a config names it"));
        let spelled: BTreeSet<_> = spelled.map(|spelled| (spelled.head, spelled.problem)).collect();
        assert_eq!((names.len(), titles.len(), spelled.len()), (TASKS.len(), TASKS.len(), TASKS.len()));
    }

    /// A task is a file here and a line in the list.
    #[test]
    fn every_file_with_a_task_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/task");
        let mut files = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            if text.contains("impl Task for") {
                files += 1;
                let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap();
                assert!(TASKS.iter().any(|task| task.name() == name), "{name} is in no list");
            }
        }
        assert_eq!(files, TASKS.len());
    }
}
