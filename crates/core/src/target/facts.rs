//! What is asked of a target without knowing its form.

use super::{Choice, Quantity, Target};
use crate::task::Decided;
use crate::{Error, Label, Site};

impl Target {
    /// The token whose output F is read at; none where it is about the whole text, or lies inside the model.
    pub fn position(&self) -> Option<usize> {
        match self.quantity {
            Quantity::Tag(position, _) | Quantity::Token(position, _) => Some(position),
            Quantity::Start(position) | Quantity::End(position) => position,
            Quantity::Answer(span) => span.map(|(first, _)| first),
            _ => None,
        }
    }

    /// The token that the user named; a span's tokens are the model's choice.
    pub fn named_token(&self) -> Option<usize> {
        match self.quantity {
            Quantity::Tag(position, _) | Quantity::Token(position, _) => Some(position),
            _ => None,
        }
    }

    /// The class, label or word that it is about, where it is about one.
    pub fn choice(&self) -> Option<&Choice> {
        self.quantity.choice()
    }

    /// The same place of the output with another class, label or word.
    #[must_use]
    pub fn with_choice(&self, choice: Choice) -> Self {
        let quantity = match self.quantity {
            Quantity::Tag(position, _) => Quantity::Tag(position, choice),
            Quantity::Token(position, _) => Quantity::Token(position, choice),
            _ => Quantity::Class(choice),
        };
        Self { quantity, scale: self.scale }
    }

    /// Whether it is minus a loss.
    pub fn is_loss(&self) -> bool {
        matches!(self.quantity, Quantity::Loss(_))
    }

    /// Whether it is a difference of two outputs.
    pub fn is_margin(&self) -> bool {
        matches!(self.quantity, Quantity::Margin(..))
    }

    /// Whether it is a value at a site.
    pub fn is_neuron(&self) -> bool {
        matches!(self.quantity, Quantity::Neuron(..))
    }

    /// The site of a unit and one index an axis; none is a sum over that axis.
    pub fn unit(&self) -> Option<(Site, &[Option<usize>])> {
        match &self.quantity {
            Quantity::Neuron(site, at) => Some((*site, at)),
            _ => None,
        }
    }

    /// What a target without a choice is called in a sentence.
    pub fn in_words(&self) -> String {
        match &self.quantity {
            Quantity::Margin(first, second) => format!("the margin of {} over {}", first.name, second.name),
            Quantity::Loss(_) => "minus the loss".into(),
            Quantity::Start(_) => "the start of the answer".into(),
            Quantity::End(_) => "the end of the answer".into(),
            Quantity::Answer(_) => "the answer".into(),
            _ => self.to_string(),
        }
    }
}

impl Quantity {
    /// The class, label or word that it is about, where it is about one.
    pub fn choice(&self) -> Option<&Choice> {
        match self {
            Self::Class(choice)
            | Self::Tag(_, choice)
            | Self::Token(_, choice)
            | Self::TagOf(_, choice)
            | Self::TokenOf(_, choice) => Some(choice),
            _ => None,
        }
    }

    /// Whether it grows as this decision becomes more probable.
    pub fn is_for(&self, decided: Decided) -> bool {
        let (first, last) = decided;
        match self {
            Self::Class(choice) | Self::Tag(_, choice) | Self::Token(_, choice) | Self::Margin(choice, _) => {
                choice.index == Some(first)
            }
            Self::Loss(Some(Label::Class(index))) => *index == first,
            Self::Loss(Some(Label::Span(start, end))) => (*start, *end) == decided,
            Self::Start(Some(start)) => *start == first,
            Self::End(Some(end)) => *end == last,
            Self::Answer(Some(span)) => *span == decided,
            _ => false,
        }
    }

    /// That a model has nothing of this form: which models have, or what this one has instead of classes.
    pub fn misplaced(&self, instead: &str) -> Error {
        let what = match self {
            Self::Start(_) | Self::End(_) | Self::Answer(_) => {
                "start, end and answer are for question-answering models"
            }
            Self::Tag(..) | Self::TagOf(..) => "tag:POS=LABEL is for models that label tokens",
            Self::Token(..) | Self::TokenOf(..) => "token:POS=WORD is for masked language models",
            _ => instead,
        };
        Error::Request(what.into())
    }
}
