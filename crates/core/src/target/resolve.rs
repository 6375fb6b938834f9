use super::{Choice, Quantity, Scale, Target};
use crate::{Card, Encoded, Error, Label, Logits, Result, Task};

/// Finds a vocabulary entry's id.
type Vocabulary<'a> = &'a dyn Fn(&str) -> Option<u32>;

impl Target {
    /// Makes the target concrete for one prediction: `predicted` becomes a class, names become indices, spans tokens.
    ///
    /// Resolving again changes nothing, so that one target can serve many edited rows of the same text.
    pub fn resolve(
        &self,
        card: &Card,
        encoded: &Encoded,
        logits: &Logits,
        label: Option<&Label>,
        token_id: Vocabulary,
    ) -> Result<Self> {
        let found = Resolver { card, encoded, logits, label, token_id }.quantity(&self.quantity);
        match found {
            Ok(quantity) => Ok(Self { scale: self.scale_of(&quantity), quantity }),
            Err(error) => self.with_scale_as_name(card).ok_or_else(|| error.at(format!("target '{self}'"))),
        }
    }

    fn scale_of(&self, quantity: &Quantity) -> Option<Scale> {
        match quantity {
            Quantity::Loss(_) | Quantity::Unit(..) => None,
            _ => Some(self.scale.unwrap_or(Scale::Logit)),
        }
    }

    /// A class that is really called `x:prob` reads as the probability of `x` until the labels are known.
    fn with_scale_as_name(&self, card: &Card) -> Option<Self> {
        let (Quantity::Class(class), Some(scale)) = (&self.quantity, self.scale) else { return None };
        let name = format!("{}:{scale}", class.name);
        let index = card.labels.iter().position(|label| *label == name)?;
        let quantity = Quantity::Class(Choice { name, index: Some(index) });
        Some(Self { quantity, scale: Some(Scale::Logit) })
    }
}

struct Resolver<'a> {
    card: &'a Card,
    encoded: &'a Encoded,
    logits: &'a Logits,
    label: Option<&'a Label>,
    token_id: Vocabulary<'a>,
}

impl Resolver<'_> {
    fn quantity(&self, quantity: &Quantity) -> Result<Quantity> {
        Ok(match quantity {
            Quantity::Predicted => self.predicted()?,
            Quantity::Class(class) => {
                self.needs_whole_text()?;
                Quantity::Class(self.class(class)?)
            }
            Quantity::Margin(first, second) => {
                self.needs_whole_text()?;
                self.margin(first, second)?
            }
            Quantity::Loss(known) => Quantity::Loss(Some(self.loss(known.as_ref())?)),
            Quantity::Start(at) => Quantity::Start(Some(self.span(*at, |span| span.0)?)),
            Quantity::End(at) => Quantity::End(Some(self.span(*at, |span| span.1)?)),
            Quantity::Answer(at) => Quantity::Answer(Some(self.span(*at, |span| span)?)),
            Quantity::Tag(position, label) => {
                self.needs(Task::TokenClassification, "tag:POS=LABEL is for models that label tokens")?;
                Quantity::Tag(self.position(*position)?, self.class(label)?)
            }
            Quantity::Token(position, word) => {
                self.needs(Task::MaskedLanguageModel, "token:POS=WORD is for masked language models")?;
                Quantity::Token(self.position(*position)?, self.word(word)?)
            }
            Quantity::Unit(site, at) => Quantity::Unit(*site, at.clone()),
        })
    }

    fn predicted(&self) -> Result<Quantity> {
        match self.card.task {
            Task::QuestionAnswering => self.quantity(&Quantity::Answer(None)),
            Task::Encoder => Err(Error::Request(
                "a bare encoder predicts no class; explain one of its units, for example unit:pooled[0]"
                    .into(),
            )),
            _ => {
                self.needs_whole_text()?;
                Ok(Quantity::Class(self.named(self.best_class()?)))
            }
        }
    }

    /// Softmax and sigmoid keep the order, so the largest logit is the most probable class or label.
    fn best_class(&self) -> Result<usize> {
        let logits = &self.logits.data;
        let best = logits.iter().enumerate().reduce(|best, next| if next.1 > best.1 { next } else { best });
        best.map(|(index, _)| index).ok_or_else(|| Error::Request("the model gave no output".into()))
    }

    fn margin(&self, first: &Choice, second: &Choice) -> Result<Quantity> {
        // A label may hold a comma; the first cut with a label on either side is meant.
        let joined = format!("{},{}", first.name, second.name);
        let cut = |(at, _): (usize, &str)| {
            let side = |name: &str| self.class(&Choice { name: name.into(), index: None }).ok();
            Some(Quantity::Margin(side(&joined[..at])?, side(&joined[at + 1..])?))
        };
        match joined.match_indices(',').find_map(cut) {
            Some(margin) if first.index.is_none() => Ok(margin),
            _ => Ok(Quantity::Margin(self.class(first)?, self.class(second)?)),
        }
    }

    fn loss(&self, known: Option<&Label>) -> Result<Label> {
        self.needs_whole_text()?;
        match (known.or(self.label), self.card.task) {
            (Some(Label::Value(_)), task) if task != Task::Regression => {
                Err(Error::Request("only a regression has a number for a label".into()))
            }
            (Some(label), _) => Ok(label.clone()),
            (None, Task::Regression) => {
                Err(Error::Request("the loss of a regression needs the right value: give --label".into()))
            }
            (None, Task::Classification | Task::MultiLabel) => Ok(Label::Class(self.best_class()?)),
            (None, _) => {
                Err(Error::Request("this model has no loss without labels; explain a logit or a unit".into()))
            }
        }
    }

    fn span<T>(&self, known: Option<T>, part: impl Fn((usize, usize)) -> T) -> Result<T> {
        self.needs(Task::QuestionAnswering, "start, end and answer are for question-answering models")?;
        match known {
            Some(known) => Ok(known),
            None => best_span(self.encoded, self.logits).map(part),
        }
    }

    fn needs(&self, task: Task, otherwise: &str) -> Result<()> {
        if self.card.task == task { Ok(()) } else { Err(Error::Request(otherwise.into())) }
    }

    fn needs_whole_text(&self) -> Result<()> {
        Err(Error::Request(match self.card.task {
            Task::TokenClassification => "this model labels every token: say which, as tag:POS=LABEL".into(),
            Task::MaskedLanguageModel => {
                "this model guesses words at positions: say which, as token:POS=WORD".into()
            }
            Task::QuestionAnswering => "this model answers with a span: use answer, start or end".into(),
            _ => return Ok(()),
        }))
    }

    fn position(&self, position: usize) -> Result<usize> {
        let tokens = self.logits.shape.first().copied().unwrap_or(0);
        if position < tokens {
            return Ok(position);
        }
        Err(Error::Request(format!("there is no token {position}; the text has {tokens}, counted from 0")))
    }

    /// By name first, then by index: a label may itself be a number.
    fn class(&self, choice: &Choice) -> Result<Choice> {
        let classes = self.logits.shape.last().copied().unwrap_or(0);
        let by_name = || self.card.labels.iter().position(|label| *label == choice.name);
        let index = choice.index.or_else(by_name).or_else(|| choice.name.parse().ok());
        match index.filter(|&index| index < classes) {
            Some(index) => Ok(self.named(index)),
            None if self.card.labels.is_empty() => Err(Error::Request(format!(
                "there is no class '{}'; the classes are 0 to {}",
                choice.name,
                classes.saturating_sub(1)
            ))),
            None => Err(Error::Request(format!(
                "there is no class '{}'; the classes are {}",
                choice.name,
                self.card.labels.join(", ")
            ))),
        }
    }

    fn named(&self, index: usize) -> Choice {
        let name = self.card.labels.get(index).cloned().unwrap_or_else(|| index.to_string());
        Choice { name, index: Some(index) }
    }

    /// Byte-level and sentencepiece vocabularies store a word with its leading space.
    fn word(&self, choice: &Choice) -> Result<Choice> {
        let spelled = ["", "Ġ", "▁"].map(|space| format!("{space}{}", choice.name));
        let lookup = || spelled.iter().find_map(|piece| (self.token_id)(piece)).map(|id| id as usize);
        let words = self.logits.shape.last().copied().unwrap_or(0);
        match choice.index.or_else(lookup).filter(|&id| id < words) {
            Some(index) => Ok(Choice { name: choice.name.clone(), index: Some(index) }),
            None => Err(Error::Request(format!("'{}' is not one entry of the vocabulary", choice.name))),
        }
    }
}

/// The longest answer in tokens, as in the question-answering pipeline of transformers.
const LONGEST_ANSWER: usize = 15;

/// The first and last token of the best answer: the span of the context, at most fifteen tokens long, whose start logit plus
/// end logit is largest. Without any context the answer is the first token.
pub fn best_span(encoded: &Encoded, logits: &Logits) -> Result<(usize, usize)> {
    if logits.data.len() < 2 {
        return Err(Error::Request("the model gave no start and end".into()));
    }
    let context = encoded.fields.len().saturating_sub(1);
    let in_context = |i: &usize| {
        encoded.tokens.get(*i).is_some_and(|t| !t.special && t.span.is_none_or(|span| span.field == context))
    };
    let places: Vec<usize> = (0..logits.data.len() / 2).filter(in_context).collect();
    let mut best: Option<(usize, usize, f64)> = None;
    for (nth, &start) in places.iter().enumerate() {
        for &end in places[nth..].iter().take(LONGEST_ANSWER) {
            let score = logits.data[2 * start] + logits.data[2 * end + 1];
            if best.is_none_or(|(.., highest)| score > highest) {
                best = Some((start, end, score));
            }
        }
    }
    Ok(best.map_or((0, 0), |(start, end, _)| (start, end)))
}

#[cfg(test)]
mod tests;
