//! A model whose truth is known: every word carries its weight in its name (`p75` is 0.75, `n120` is −1.2, anything else
//! nothing), and F is their sum s.
//!
//! ```text
//! embed.word  x = (weight, 1)     [T, 2]
//! logits      z = (−a·s, a·s)     [2]      with s = Σ x₀ over all tokens but the first, which is special
//! ```

use exegete_core::{
    Array, Axis, Card, ClassScore, Driver, Encoded, Example, Logits, Model, Open, Pass, Plan, Prediction,
    Result, Role, Row, Rules, Scores, Seed, Site, SiteInfo, Sites, Sizes, Span, Tangents, Task, Token, Work,
};
use std::sync::Arc;

/// The model with its factor a.
pub(super) struct Bag {
    card: Card,
    factor: f64,
    sites: Sites,
}

const WORDS: Site = Site::named("embed.word");
const LOGITS: Site = Site::named("logits");

impl Bag {
    pub(super) fn new(task: &'static dyn Task, factor: f64) -> Self {
        let card = Card {
            name: "bag".into(),
            family: "bag".into(),
            fingerprint: "bag".into(),
            task,
            labels: vec!["negative".into(), "positive".into()],
            parameters: 1,
            max_tokens: 1000,
            sizes: Sizes::default(),
            warnings: Vec::new(),
        };
        let sites = Sites::new(vec![
            SiteInfo::new(WORDS, "embed", Role::Words, [Axis::Token, Axis::Neuron(2)]).cut(),
            SiteInfo::new(LOGITS, "head", Role::Outputs, [Axis::Class(2)]).carrying_all(),
        ]);
        Self { card, factor, sites }
    }
}

/// The weight in a word's name.
pub(super) fn weight(word: &str) -> f64 {
    let digits = |sign: char| word.strip_prefix(sign).and_then(|digits| digits.parse::<u32>().ok());
    let hundredths = digits('p').map(f64::from).or_else(|| digits('n').map(|n| -f64::from(n)));
    hundredths.unwrap_or(0.0) / 100.0
}

/// Ids carry the weight too, so that there is no vocabulary.
const ZERO: u32 = 1_000_000;

fn token(word: &str, span: Option<Span>) -> Token {
    let id = (f64::from(ZERO) + 100.0 * weight(word)).round() as u32;
    Token { id, type_id: 0, piece: word.into(), span, special: span.is_none(), weight: None }
}

impl Model for Bag {
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

impl Open for Bag {
    fn encode(&self, example: &Example) -> Result<Encoded> {
        let text = example.fields[0].text.as_str();
        let word = |word: &str| {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            token(word, Some(Span { field: 0, start, end: start + word.len() }))
        };
        let mut tokens = vec![token("[CLS]", None)];
        tokens.extend(text.split_whitespace().map(word));
        Ok(Encoded { fields: example.fields.clone(), tokens, truncated: false })
    }

    fn token_id(&self, piece: &str) -> Option<u32> {
        (piece == "[MASK]").then_some(ZERO)
    }

    fn sites(&self) -> &Sites {
        &self.sites
    }

    fn forward<'a>(&'a self, rows: &[Row], _: &Plan) -> Result<Box<dyn Pass + 'a>> {
        let words = rows.iter().map(words).collect::<Result<Vec<Array>>>()?;
        let output = |words: &Array| {
            let sum: f64 = words.data.iter().step_by(2).skip(1).map(|&x| f64::from(x)).sum();
            Logits::new(vec![2], vec![-self.factor * sum, self.factor * sum])
        };
        let logits = words.iter().map(output).collect();
        Ok(Box::new(BagPass { factor: self.factor, words, logits }))
    }

    fn jvp(&self, _: &[Row], _: Site, _: &[Array], _: &[Site]) -> Result<Tangents> {
        unreachable!("no check asks for tangents")
    }

    fn scores(&self, _: &Encoded, logits: &Logits) -> Result<Scores> {
        let score =
            |i: usize| ClassScore { label: self.card.labels[i].clone(), logit: None, prob: logits.data[i] };
        Ok(Scores::classes(vec![score(0), score(1)]))
    }

    fn bytes(&self, row: &Row, _: &Plan) -> usize {
        16 * row.encoded.len()
    }

    fn with_params(&self, _: Vec<(String, Array)>) -> Result<Arc<dyn Model>> {
        unreachable!("there is no learner to name parameters")
    }
}

/// A weight and a constant a token: [T, 2].
fn words(row: &Row) -> Result<Array> {
    let weight = |token: &Token| [((f64::from(token.id) - f64::from(ZERO)) / 100.0) as f32, 1.0];
    let data: Vec<f32> = row.encoded.tokens.iter().flat_map(weight).collect();
    let mut words = Array::new([row.encoded.len(), 2], data)?;
    row.edits.iter().try_for_each(|edit| edit.apply(&mut words))?;
    Ok(words)
}

struct BagPass {
    factor: f64,
    words: Vec<Array>,
    logits: Vec<Logits>,
}

impl Pass for BagPass {
    fn outputs(&self) -> Site {
        LOGITS
    }

    fn logits(&self) -> &[Logits] {
        &self.logits
    }

    fn value(&self, _: Site, row: usize) -> Result<Array> {
        Ok(self.words[row].clone())
    }

    fn backward(&self, seeds: &[Seed], _: &[Site], _: Rules) -> Result<Vec<Vec<Array>>> {
        let mut gradients: Vec<Array> =
            self.words.iter().map(|words| Array::zeros(words.shape.clone())).collect();
        for seed in seeds {
            let slope = self.factor as f32 * (seed.cotangent.data[1] - seed.cotangent.data[0]);
            gradients[seed.row].data.iter_mut().step_by(2).skip(1).for_each(|x| *x += slope);
        }
        Ok(vec![gradients])
    }

    fn work(&self) -> Work {
        Work::default()
    }
}
