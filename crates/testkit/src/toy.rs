//! The toy classifier. T tokens, two units, three inner units, two classes:
//!
//! ```text
//! embed.word         x = E[id]                  [T, 2]
//! embed              e = x + (0, t/4)           [T, 2]
//! layer.0.ffn.inner  a = relu(e W₁ + b₁)        [T, 3]
//! layer.0.out        h = e + a W₂               [T, 2]
//! pooled             s = Σ h over tokens        [2]
//! logits             z = s U + c                [2]
//! ```
//!
//! And the toy language model, which goes on with one of its five words after every token:
//!
//! ```text
//! embed.word         x = E[id]                  [T, 2]
//! layer.0.out        m = mean of x up to t      [T, 2]
//! logits             z = m U + c                [T, 5]
//! ```
//!
//! And a classifier by a gated recurrent cell, whose places no transformer has:
//!
//! ```text
//! embed.word         x = E[id]                             [T, 2]
//! enc.0.z            z = σ(x Wz)                           [T, 2]
//! enc.0.n            n = tanh(x Wn)                        [T, 2]
//! enc.out            hₜ = zₜ ⊙ hₜ₋₁ + (1 − zₜ) ⊙ nₜ        [T, 2]
//! logits             y = h_T U + c                         [2]
//! ```

mod arithmetic;
mod language;
mod learner;
mod parameters;
mod pass;
mod recurrent;
mod stages;

use crate::next_token::NEXT_TOKEN;
use arithmetic::Classifier;
use exegete_core::task::{CLASSIFICATION, Reading};
use exegete_core::{
    Array, Card, Driver, Encoded, Error, Example, Learner, Logits, Model, Open, Pass, Plan, Prediction,
    Result, Row, Scores, Site, Sites, Sizes, Span, Tangents, Task, Token, Work,
};
use language::Language;
use parameters::Parameters;
use pass::{ToyPass, Trace};
use recurrent::Recurrent;
use stages::Stages;
use std::sync::Arc;

const WORDS: [&str; 5] = ["?", "good", "bad", "not", "film"];

/// A small open model whose every number can be worked out by hand. It knows the words good, bad, not and film.
#[derive(Debug, Clone)]
pub struct Toy {
    card: Card,
    stages: Arc<dyn Stages>,
}

/// The classifier.
impl Default for Toy {
    fn default() -> Self {
        let labels = vec!["negative".into(), "positive".into()];
        Self::new("toy", &CLASSIFICATION, labels, Arc::new(Classifier::default()))
    }
}

impl Toy {
    /// The language model, whose task is known to nothing but this crate.
    pub fn language_model() -> Self {
        Self::new("toy language model", &NEXT_TOKEN, Vec::new(), Arc::new(Language::default()))
    }

    /// A classifier of two classes by a gated recurrent cell: other places than any transformer has, and no heads.
    pub fn recurrent() -> Self {
        let labels = vec!["negative".into(), "positive".into()];
        Self::new("toy recurrent cell", &CLASSIFICATION, labels, Arc::new(Recurrent::default()))
    }

    fn new(name: &str, task: &'static dyn Task, labels: Vec<String>, stages: Arc<dyn Stages>) -> Self {
        let card = Card {
            name: name.into(),
            family: "toy".into(),
            fingerprint: name.into(),
            task,
            labels,
            parameters: stages.parameters().count(),
            max_tokens: 64,
            sizes: Sizes(vec![("layers", 1), ("hidden", 2)]),
            warnings: Vec::new(),
        };
        Self { card, stages }
    }
}

impl Model for Toy {
    fn card(&self) -> &Card {
        &self.card
    }

    fn predict(&self, examples: &[Example]) -> Result<Vec<Prediction>> {
        exegete_core::predict(&Driver::default(), self, examples)
    }

    fn open(&self) -> Option<&dyn Open> {
        Some(self)
    }

    fn learner(&self) -> Option<&dyn Learner> {
        Some(self)
    }
}

impl Open for Toy {
    fn encode(&self, example: &Example) -> Result<Encoded> {
        let mut tokens: Vec<Token> = Vec::new();
        for (field, text) in example.fields.iter().map(|field| field.text.as_str()).enumerate() {
            for word in text.split_whitespace() {
                let start = word.as_ptr() as usize - text.as_ptr() as usize;
                let id = self.token_id(word).unwrap_or(0);
                let span = Some(Span { field, start, end: start + word.len() });
                tokens.push(Token { id, type_id: 0, piece: word.into(), span, special: false, weight: None });
            }
        }
        if tokens.is_empty() {
            return Err(Error::Input("the text is empty".into()));
        }
        let truncated = tokens.len() > self.card.max_tokens;
        tokens.truncate(self.card.max_tokens);
        Ok(Encoded { fields: example.fields.clone(), tokens, truncated })
    }

    fn token_id(&self, piece: &str) -> Option<u32> {
        WORDS.iter().position(|word| *word == piece).map(|id| id as u32)
    }

    fn piece(&self, id: u32) -> Option<String> {
        WORDS.get(id as usize).map(|word| (*word).to_owned())
    }

    fn word_embeddings(&self) -> Option<Array> {
        self.stages.parameters().array("word.weight").ok()
    }

    fn sites(&self) -> &Sites {
        self.stages.sites()
    }

    fn forward<'a>(&'a self, rows: &[Row], plan: &Plan) -> Result<Box<dyn Pass + 'a>> {
        Ok(Box::new(ToyPass::run(&*self.stages, rows, plan)?))
    }

    fn jvp(&self, rows: &[Row], site: Site, directions: &[Array], keep: &[Site]) -> Result<Tangents> {
        let stages = &*self.stages;
        let mut sites = keep.to_vec();
        sites.push(pass::output(stages));
        let (mut moved, mut work) = (vec![Vec::new(); sites.len()], Work::default());
        for (row, direction) in rows.iter().zip(directions) {
            let trace = Trace::run(stages, row, None)?;
            let tangents = trace.tangents(stages, pass::stage_of(stages, site)?, direction);
            // Every stage once for its value and once for how it moves.
            work.ops += 2 * stages.sites().len();
            work.peak_bytes += 2 * tangents.iter().map(Vec::len).sum::<usize>() * size_of::<f64>();
            for (moved, site) in moved.iter_mut().zip(&sites) {
                moved.push(trace.array(stages, pass::stage_of(stages, *site)?, &tangents));
            }
        }
        Ok(Tangents { moved, work })
    }

    fn scores(&self, encoded: &Encoded, logits: &Logits) -> Result<Scores> {
        let Self { card, .. } = self;
        card.task.scores(&Reading { card, encoded, logits, vocabulary: &Some(self as &dyn Open) })
    }

    fn bytes(&self, row: &Row, plan: &Plan) -> usize {
        let first = plan.start.and_then(|site| pass::stage_of(&*self.stages, site).ok()).unwrap_or(0);
        let computed = self.sites().iter().skip(first);
        computed.map(|info| info.elements(&row.encoded)).sum::<usize>() * size_of::<f64>()
    }

    fn with_params(&self, overrides: Vec<(String, Array)>) -> Result<Arc<dyn Model>> {
        let replace = |own: Parameters, (name, value): &(String, Array)| own.changed(name, value, |_, x| x);
        let parameters = overrides.iter().try_fold(self.stages.parameters().clone(), replace)?;
        let mut moved = Self { stages: self.stages.with(parameters), ..self.clone() };
        moved.card.fingerprint = format!("{}{overrides:?}", self.card.fingerprint);
        Ok(Arc::new(moved))
    }
}
