//! What a model that writes answers: a text of its own words, place by place.

use exegete_core::task::{Contest, Decided, Labelled, Reading, Widths};
use exegete_core::{
    Axis, Card, Choice, Error, Label, Logits, Quantity, Resolving, Result, Scores, Target, Task, Term,
    WrittenWord,
};

/// A text made from a text.
#[derive(Debug, Clone, Copy)]
pub struct SequenceToSequence;

/// A text made from a text.
pub static SEQUENCE_TO_SEQUENCE: SequenceToSequence = SequenceToSequence;

/// What stands for a position that is left out.
const POSITION: &str =
    "this model writes a text: say which place and word, as token:POS=WORD, counted from 0";

impl Task for SequenceToSequence {
    fn name(&self) -> &'static str {
        "sequence_to_sequence"
    }

    fn title(&self) -> &'static str {
        "sequence to sequence"
    }

    fn fields(&self) -> [&'static str; 2] {
        ["source", "target"]
    }

    fn axes(&self, widths: &Widths) -> Vec<Axis> {
        vec![Axis::Target, Axis::Class(widths.vocabulary)]
    }

    fn labels(&self, _: &[String]) -> Vec<String> {
        Vec::new()
    }

    fn least_labels(&self) -> usize {
        0
    }

    fn labelled(&self) -> Labelled {
        Labelled::Tokens
    }

    fn answers_in_text(&self) -> bool {
        true
    }

    fn scores(&self, reading: &Reading<'_>) -> Result<Scores> {
        let mut words = Vec::new();
        let mut log_prob = 0.0;
        for (place, id) in target(reading).into_iter().enumerate() {
            let own = log_prob_at(reading.logits, place, id)
                .ok_or_else(|| Error::Request(format!("place {place} of the target has no output")))?;
            log_prob += own;
            words.push(WrittenWord { word: reading.word(id), prob: own.exp() });
        }
        Ok(Scores::Written { text: written(reading), log_prob, words })
    }

    fn resolve(&self, at: &Resolving<'_>, quantity: &Quantity) -> Result<Quantity> {
        let places = at.reading.logits.shape.first().copied().unwrap_or(0);
        match quantity {
            // Without another text to differ from, the first choice is where the text of the model parts from all others.
            Quantity::Predicted => {
                let id = *target(&at.reading).first().ok_or_else(|| Error::Request(POSITION.into()))?;
                Ok(Quantity::Token(0, Choice { name: at.reading.word(id), index: Some(id) }))
            }
            Quantity::Token(place, _) if *place >= places => Err(Error::Request(format!(
                "there is no place {place} in the target \"{}\", which has {places}, counted from 0 and with its end",
                written(&at.reading)
            ))),
            Quantity::Token(place, word) => Ok(Quantity::Token(*place, at.word(word)?)),
            Quantity::Loss(known) => {
                let label = match known.as_ref().or(at.label) {
                    Some(label) => label.clone(),
                    None => Label::Tokens(target(&at.reading).into_iter().map(Some).collect()),
                };
                check(&label, places)?;
                Ok(Quantity::Loss(Some(label)))
            }
            other => Err(other.misplaced(POSITION)),
        }
    }

    fn terms(&self, _: &Card, target: &Target, logits: &Logits) -> Result<Vec<Term>> {
        match &target.quantity {
            Quantity::Token(place, word) => Ok(vec![Term::at(*place, target.index(word)?, logits)]),
            Quantity::Loss(Some(label)) => {
                check(label, logits.shape.first().copied().unwrap_or(0))?;
                let Label::Tokens(words) = label else { return Err(target.unresolved()) };
                let right = words.iter().enumerate().filter_map(|(place, word)| Some((place, (*word)?)));
                let count = words.iter().flatten().count().max(1) as f64;
                Ok(right.map(|(place, word)| Term::at(place, word, logits).times(1.0 / count)).collect())
            }
            _ => Err(target.unresolved()),
        }
    }

    fn contest(&self, quantity: &Quantity) -> Option<Contest> {
        match quantity {
            Quantity::Token(place, _) => Some(Contest::Largest(Some(*place))),
            _ => None,
        }
    }

    fn decided(&self, reading: &Reading<'_>, quantity: &Quantity, (word, _): Decided) -> String {
        let explained = quantity.choice().filter(|choice| choice.index == Some(word));
        explained.map_or_else(|| reading.word(word), |choice| choice.name.clone())
    }

    fn meant(&self, _: &Card, label: &str) -> Result<Label> {
        Err(Error::Request(format!(
            "the label \"{label}\" is a text: give it as the second text, so that it is the target that is run, and ask for the \
             loss"
        )))
    }
}

/// The words at all places of the target that was run.
fn target(reading: &Reading<'_>) -> Vec<usize> {
    let words = reading.encoded.tokens.iter().filter(|token| token.type_id == 1);
    words.map(|token| token.id as usize).collect()
}

/// The target as a text, without its end.
fn written(reading: &Reading<'_>) -> String {
    let end = reading.vocabulary.id("</s>").map(|id| id as usize);
    let words = target(reading).into_iter().filter(|&id| Some(id) != end).map(|id| reading.word(id));
    words.collect::<Vec<_>>().join(" ")
}

/// The natural logarithm of one word's probability at one place.
fn log_prob_at(logits: &Logits, place: usize, id: usize) -> Option<f64> {
    let own = &logits.data[logits.at(place)?];
    let most = own.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(own.get(id)? - most - own.iter().map(|z| (z - most).exp()).sum::<f64>().ln())
}

/// Whether a label has one word for each place.
fn check(label: &Label, places: usize) -> Result<()> {
    match label {
        Label::Tokens(words) if words.len() == places && words.iter().any(Option::is_some) => Ok(()),
        Label::Tokens(words) => Err(Error::Request(format!(
            "a label of {} words for a target of {places}, its end included",
            words.len()
        ))),
        other => Labelled::Tokens.check(other),
    }
}
