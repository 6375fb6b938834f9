//! A black box whose answers are planted, and what search methods make of it.

use crate::SiteChoice;
use crate::evidence::Level;
use crate::{ConfiguredMethod, Masker, Request, explain};
use exegete_core::report::{Edits, Item, Rule};
use exegete_core::{
    Card, ClassScore, Driver, Example, Model, Prediction, Result, Scores, Sizes, Target, Task, Units,
};

/// Says "positive" with the log-odds that a function gives to the words of a text.
pub(crate) struct Planted {
    card: Card,
    odds: fn(&[&str]) -> f64,
}

impl Planted {
    pub(crate) fn new(odds: fn(&[&str]) -> f64) -> Self {
        let card = Card {
            name: "planted".into(),
            family: "planted".into(),
            fingerprint: format!("planted {:p}", odds),
            task: &exegete_core::task::CLASSIFICATION,
            labels: vec!["negative".into(), "positive".into()],
            parameters: 0,
            max_tokens: 0,
            sizes: Sizes::default(),
            warnings: Vec::new(),
        };
        Self { card, odds }
    }

    pub(crate) fn with_task(mut self, task: &'static dyn Task) -> Self {
        self.card.task = task;
        self
    }

    /// What a method finds in a text, hidden by this masker.
    pub(crate) fn find(
        &self,
        method: &str,
        set: &[&str],
        text: &str,
        masker: Option<Masker>,
    ) -> Result<Item> {
        let request = Request {
            methods: ConfiguredMethod::all(&[method], set)?,
            targets: vec![Target::predicted()],
            top_labels: None,
            site: SiteChoice::Words,
            units: Units::Word,
            baselines: Vec::new(),
            masker,
            check: Level::None,
            seed: 0,
        };
        Ok(explain(self, &Driver::default(), &Example::text(text), &request)?.swap_remove(0))
    }

    pub(crate) fn edits(&self, method: &str, text: &str) -> Edits {
        match self.find(method, &[], text, None).unwrap() {
            Item::Edits(edits) => *edits,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn rule(&self, set: &[&str], text: &str, masker: Option<Masker>) -> Rule {
        match self.find("anchors", set, text, masker).unwrap() {
            Item::Rule(rule) => *rule,
            other => panic!("{other:?}"),
        }
    }
}

impl Model for Planted {
    fn card(&self) -> &Card {
        &self.card
    }

    fn predict(&self, examples: &[Example]) -> Result<Vec<Prediction>> {
        let one = |example: &Example| {
            let words: Vec<&str> = example.fields[0].text.split_whitespace().collect();
            let prob = 1.0 / (1.0 + (-(self.odds)(&words)).exp());
            let class = |label: &str, prob: f64| ClassScore { label: label.into(), logit: None, prob };
            let scores = Scores::classes(vec![class("negative", 1.0 - prob), class("positive", prob)]);
            Prediction { scores, truncated: false, unknown: 0 }
        };
        Ok(examples.iter().map(one).collect())
    }
}
