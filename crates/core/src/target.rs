//! What is explained: one number F of a model's output or inside, whatever the method that explains it.
//!
//! A target is parsed from the user's words, *resolved* once against a prediction (`predicted` becomes a class, a name
//! an index), and then gives F and its cotangents for any row.

mod effect;
mod facts;
mod parse;
mod resolve;
mod score;

use crate::{Label, Plan, Record, Result, Site, Sites};

pub use resolve::Resolving;
pub use score::{Norm, Term};

/// The number F to explain.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Which output of the model, or which neuron.
    pub quantity: Quantity,
    /// How it is measured; none means the logit for open models and the probability for black boxes.
    pub scale: Option<Scale>,
}

/// Which output of a model, or value inside it, a [`Target`] measures.
#[derive(Debug, Clone, PartialEq)]
pub enum Quantity {
    /// Whatever the model predicts.
    Predicted,
    /// One class, or the value of a regression.
    Class(Choice),
    /// The first class minus the second.
    Margin(Choice, Choice),
    /// Minus the loss of the label; the predicted one where none is given.
    Loss(Option<Label>),
    /// The start of the best answer span, at this token once resolved.
    Start(Option<usize>),
    /// The end of the best answer span, at this token once resolved.
    End(Option<usize>),
    /// Start plus end of the best answer span, at these tokens once resolved.
    Answer(Option<(usize, usize)>),
    /// A label of one token.
    Tag(usize, Choice),
    /// A vocabulary entry at one token.
    Token(usize, Choice),
    /// A label of the word that is written so; resolved, it is a label of the word's first token.
    TagOf(String, Choice),
    /// A vocabulary entry at the word that is written so, or at the only mask where no word is named; resolved, it is one at a token.
    TokenOf(Option<String>, Choice),
    /// A neuron: the value at a site, one index an axis; none is a sum over that axis.
    Neuron(Site, Vec<Option<usize>>),
}

/// A class, label or vocabulary entry as the user wrote it, and its index once resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The name, or the index in digits.
    pub name: String,
    /// Its place among the classes.
    pub index: Option<usize>,
}

/// How an output is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scale {
    /// Before softmax or sigmoid.
    Logit,
    /// Its probability after the normalisation.
    Prob,
    /// The natural logarithm of that probability.
    LogProb,
}

impl Target {
    /// Whatever the model predicts, by its logit.
    pub fn predicted() -> Self {
        Self { quantity: Quantity::Predicted, scale: None }
    }

    /// The logit of the class with this index.
    pub fn class(index: usize) -> Self {
        let choice = Choice { name: index.to_string(), index: Some(index) };
        Self { quantity: Quantity::Class(choice), scale: Some(Scale::Logit) }
    }

    /// The logit of a class by name and index.
    pub fn named_class(name: &str, index: usize) -> Self {
        let choice = Choice { name: name.to_owned(), index: Some(index) };
        Self { quantity: Quantity::Class(choice), scale: Some(Scale::Logit) }
    }

    /// The site inside the model that F is read at; none where the output says it.
    pub fn site(&self, sites: &Sites) -> Option<Site> {
        match self.quantity {
            Quantity::Neuron(site, _) if sites.outputs().ok() != Some(site) => Some(site),
            _ => None,
        }
    }

    /// What a pass must keep to read F and some sites: these and F's own, each once.
    pub fn plan<'s>(&self, sites: &Sites, keep: impl IntoIterator<Item = &'s Site>, record: Record) -> Plan {
        let mut all: Vec<Site> = Vec::new();
        for site in keep.into_iter().copied().chain(self.site(sites)) {
            if !all.contains(&site) {
                all.push(site);
            }
        }
        Plan { keep: all, start: None, record }
    }

    /// The last site that F can depend on.
    pub fn last_site(&self, sites: &Sites) -> Result<Site> {
        self.site(sites).map_or_else(|| sites.outputs(), Ok)
    }
}
