use super::{Choice, Quantity, Scale, Target};
use crate::task::Reading;
use crate::{Card, Encoded, Error, Label, Logits, Result, Unit, Units};

/// How many tokens or words an error lists.
const LISTED: usize = 20;

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
        token_id: &dyn Fn(&str) -> Option<u32>,
    ) -> Result<Self> {
        self.resolve_in(&Reading { card, encoded, logits, vocabulary: &token_id }, label)
    }

    /// The same with the whole vocabulary, so that a word which is predicted can be named.
    pub fn resolve_in(&self, reading: &Reading<'_>, label: Option<&Label>) -> Result<Self> {
        if self.is_neuron() {
            return Ok(self.clone());
        }
        let card = reading.card;
        match card.task.resolve(&Resolving { reading: *reading, label }, &self.quantity) {
            Ok(quantity) => Ok(Self { scale: self.scale_of(&quantity), quantity }),
            Err(error) => self.with_scale_as_name(card).ok_or_else(|| error.at(format!("target '{self}'"))),
        }
    }

    fn scale_of(&self, quantity: &Quantity) -> Option<Scale> {
        match quantity {
            Quantity::Loss(_) | Quantity::Neuron(..) => None,
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

/// The output that a quantity is made concrete for.
pub struct Resolving<'a> {
    /// The output that the target is resolved against.
    pub reading: Reading<'a>,
    /// What it should have been, where that is known.
    pub label: Option<&'a Label>,
}

impl Resolving<'_> {
    /// The predicted class. Softmax and sigmoid keep the order, so the largest logit is the most probable class or label.
    pub fn best_class(&self) -> Result<usize> {
        let logits = &self.reading.logits.data;
        let best = logits.iter().enumerate().reduce(|best, next| if next.1 > best.1 { next } else { best });
        best.map(|(index, _)| index).ok_or_else(|| Error::Request("the model gave no output".into()))
    }

    /// The first of two classes minus the second.
    pub fn margin(&self, first: &Choice, second: &Choice) -> Result<Quantity> {
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

    /// A token that there is.
    pub fn position(&self, position: usize) -> Result<usize> {
        let tokens = self.reading.logits.shape.first().copied().unwrap_or(0);
        if self.reading.logits.at(position).is_some() {
            return Ok(position);
        }
        let what = format!("there is no token {position}; the text has {tokens}, counted from 0");
        Err(Error::Request(listed(&what, &self.reading.tokens())))
    }

    /// That a position has to be said, with the tokens that there are.
    pub fn unplaced(&self, instead: &str) -> Error {
        Error::Request(listed(&format!("{instead}; the tokens are"), &self.reading.tokens()))
    }

    /// The same where masks are what can be asked about.
    pub fn unmasked(&self, instead: &str) -> Error {
        self.unplaced(&format!("{instead}; {}", self.where_masked(&self.masks())))
    }

    /// The first token of the only word that is written so.
    pub fn place(&self, word: &str) -> Result<usize> {
        let encoded = self.reading.encoded;
        let words = Units::Word.of(encoded);
        let same = words.iter().filter(|unit| *encoded.slice(unit.span) == *word);
        match same.filter_map(|unit| unit.tokens.first().copied()).collect::<Vec<_>>().as_slice() {
            [only] => self.position(*only),
            [] => {
                let named =
                    |unit: &Unit| Some(format!("{} {}", unit.tokens.first()?, encoded.slice(unit.span)));
                let named: Vec<String> = words.iter().filter_map(named).collect();
                Err(Error::Request(listed(&format!("the text has no word '{word}'"), &named)))
            }
            several => {
                let places: Vec<String> = several.iter().map(usize::to_string).collect();
                let what = format!("'{word}' occurs more than once, at tokens {}", places.join(", "));
                Err(Error::Request(format!("{what}; say which by its number")))
            }
        }
    }

    /// A token that is masked; where the vocabulary names no mask, any that there is.
    pub fn masked(&self, position: usize) -> Result<usize> {
        let position = self.position(position)?;
        let Reading { vocabulary, encoded, .. } = self.reading;
        if vocabulary.mask().is_none() || self.reading.is_masked(position) {
            return Ok(position);
        }
        let token = encoded.tokens.get(position).map_or("", |token| &*token.piece);
        let masks = self.masks();
        Err(Error::Request(format!(
            "token {position} is '{token}' and no mask; {}",
            self.where_masked(&masks)
        )))
    }

    /// The only token that is masked.
    pub fn only_mask(&self) -> Result<usize> {
        match self.masks().as_slice() {
            [only] => Ok(*only),
            masks => Err(Error::Request(format!(
                "token:WORD is for a text with one mask; {}",
                self.where_masked(masks)
            ))),
        }
    }

    fn masks(&self) -> Vec<usize> {
        (0..self.reading.encoded.len()).filter(|&at| self.reading.is_masked(at)).collect()
    }

    /// Where the masks are, or how one is written.
    fn where_masked(&self, masks: &[usize]) -> String {
        let Reading { vocabulary, .. } = self.reading;
        let mask = vocabulary.mask().and_then(|id| vocabulary.piece(id));
        let mask = mask.unwrap_or_else(|| "the mask".into());
        let places: Vec<String> = masks.iter().map(usize::to_string).collect();
        match masks {
            [] => format!("the text has none: write {mask} in the place of a word"),
            [_] => format!("{mask} is token {}", places[0]),
            _ => format!("{mask} is at tokens {}", places.join(", ")),
        }
    }

    /// A class by name first, then by index: a label may itself be a number.
    pub fn class(&self, choice: &Choice) -> Result<Choice> {
        let classes = self.reading.logits.shape.last().copied().unwrap_or(0);
        let by_name = || self.reading.card.labels.iter().position(|label| *label == choice.name);
        let index = choice.index.or_else(by_name).or_else(|| choice.name.parse().ok());
        match index.filter(|&index| index < classes) {
            Some(index) => Ok(self.named(index)),
            None if self.reading.card.labels.is_empty() => Err(Error::Request(format!(
                "there is no class '{}'; the classes are 0 to {}",
                choice.name,
                classes.saturating_sub(1)
            ))),
            None => {
                let labels = &self.reading.card.labels;
                let same = |label: &&String| label.to_lowercase() == choice.name.to_lowercase();
                let meant = labels.iter().find(same);
                let meant = meant.map_or_else(String::new, |label| format!("; did you mean '{label}'?"));
                let (name, known) = (&choice.name, labels.join(", "));
                Err(Error::Request(format!("there is no class '{name}'; the classes are {known}{meant}")))
            }
        }
    }

    /// The class with this index, by its name.
    pub fn named(&self, index: usize) -> Choice {
        Choice { name: self.reading.card.label(index), index: Some(index) }
    }

    /// One entry of the vocabulary. Byte-level and sentencepiece vocabularies store a word with its leading space.
    pub fn word(&self, choice: &Choice) -> Result<Choice> {
        let spelled = ["", "Ġ", "▁"].map(|space| format!("{space}{}", choice.name));
        let lookup =
            || spelled.iter().find_map(|piece| self.reading.vocabulary.id(piece)).map(|id| id as usize);
        let words = self.reading.logits.shape.last().copied().unwrap_or(0);
        match choice.index.or_else(lookup).filter(|&id| id < words) {
            Some(index) => Ok(Choice { name: choice.name.clone(), index: Some(index) }),
            None => Err(Error::Request(format!("'{}' is not one entry of the vocabulary", choice.name))),
        }
    }
}

/// A sentence and the first of what there is instead.
fn listed(what: &str, all: &[String]) -> String {
    let more = all.len().saturating_sub(LISTED);
    let told = all[..all.len() - more].join(", ");
    match (all.len(), more) {
        (0, _) => what.to_owned(),
        (_, 0) => format!("{what}: {told}"),
        _ => format!("{what}: {told} and {more} more"),
    }
}

#[cfg(test)]
mod tests;
