//! The toy model. T tokens, two units, three inner units, two classes:
//!
//! ```text
//! embed.word         x = E[id]                  [T, 2]
//! embed              e = x + (0, t/4)           [T, 2]
//! layer.0.ffn.inner  a = relu(e W₁ + b₁)        [T, 3]
//! layer.0.out        h = e + a W₂               [T, 2]
//! pooled             s = Σ h over tokens        [2]
//! logits             z = s U + c                [2]
//! ```

mod arithmetic;
mod pass;

use arithmetic::{LOGITS, Parameters};
use exegete_core::{
    Array, Card, ClassScore, Driver, Encoded, Error, Example, Logits, Model, Open, Pass, Plan, Prediction,
    Result, Row, Scores, Site, Sites, Sizes, Span, Token,
};
use pass::{ToyPass, Trace};
use std::sync::Arc;

const WORDS: [&str; 5] = ["?", "good", "bad", "not", "film"];

/// A small open model whose every number can be worked out by hand. It knows the words good, bad, not and film.
#[derive(Debug, Clone)]
pub struct Toy {
    card: Card,
    parameters: Parameters,
    sites: Sites,
}

impl Default for Toy {
    fn default() -> Self {
        let card = Card {
            name: "toy".into(),
            family: "toy".into(),
            fingerprint: "toy".into(),
            task: &exegete_core::task::CLASSIFICATION,
            labels: vec!["negative".into(), "positive".into()],
            parameters: Parameters::default().count(),
            max_tokens: 64,
            sizes: Sizes(vec![("layers", 1), ("hidden", 2)]),
            warnings: Vec::new(),
        };
        Self { card, parameters: Parameters::default(), sites: arithmetic::sites() }
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
}

impl Open for Toy {
    fn encode(&self, example: &Example) -> Result<Encoded> {
        let mut tokens: Vec<Token> = Vec::new();
        for (field, text) in example.fields.iter().map(|field| field.text.as_str()).enumerate() {
            for word in text.split_whitespace() {
                let start = word.as_ptr() as usize - text.as_ptr() as usize;
                let id = self.token_id(word).unwrap_or(0);
                let span = Some(Span { field, start, end: start + word.len() });
                tokens.push(Token { id, kind: 0, piece: word.into(), span, special: false });
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

    fn words(&self) -> Option<Array> {
        Some(self.parameters.words())
    }

    fn sites(&self) -> &Sites {
        &self.sites
    }

    fn forward<'a>(&'a self, rows: &[Row], plan: &Plan) -> Result<Box<dyn Pass + 'a>> {
        Ok(Box::new(ToyPass::run(&self.parameters, rows, plan)?))
    }

    fn jvp(&self, rows: &[Row], site: Site, directions: &[Array], keep: &[Site]) -> Result<Vec<Vec<Array>>> {
        let mut sites = keep.to_vec();
        sites.push(LOGITS);
        let mut moved = vec![Vec::new(); sites.len()];
        for (row, direction) in rows.iter().zip(directions) {
            let trace = Trace::run(&self.parameters, row, None)?;
            let tangents = trace.tangents(&self.parameters, pass::stage_of(site)?, direction);
            for (moved, site) in moved.iter_mut().zip(&sites) {
                moved.push(trace.array(pass::stage_of(*site)?, &tangents));
            }
        }
        Ok(moved)
    }

    fn scores(&self, _: &Encoded, logits: &Logits) -> Result<Scores> {
        let total: f64 = logits.data.iter().map(|z| z.exp()).sum();
        let score = |(label, &logit): (&String, &f64)| {
            let prob = logit.exp() / total;
            ClassScore { label: label.clone(), logit: Some(logit), prob }
        };
        Ok(Scores::Classes(self.card.labels.iter().zip(&logits.data).map(score).collect()))
    }

    fn bytes(&self, row: &Row, plan: &Plan) -> usize {
        let widths = [2, 2, 3, 2];
        let first = plan.start.and_then(|site| pass::stage_of(site).ok()).unwrap_or(0);
        let per_token: usize = widths.iter().skip(first).sum();
        (row.encoded.len() * per_token + 4) * size_of::<f64>()
    }

    fn with_params(&self, overrides: Vec<(String, Array)>) -> Result<Arc<dyn Model>> {
        let mut moved = self.clone();
        for (name, value) in overrides {
            moved.parameters.replace(&name, &value)?;
            moved.card.fingerprint = format!("{}+{name}={:?}", moved.card.fingerprint, value.data);
        }
        Ok(Arc::new(moved))
    }
}
