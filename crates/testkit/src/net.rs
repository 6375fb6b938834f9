//! Feed-forward nets over numbers, on the engine's tape, so that every rule table runs on them.
//!
//! Tokens are the features: a token's id is the bits of its number, so that `"20 50 30"` is a text, `embed.word` is
//! `[T, 1]` and edits, masks and baselines mean what they mean elsewhere.
//!
//! ```text
//! embed.word, embed   x                        [T, 1]
//! layer.N.attn.out    W·x + b                  [O]
//! layer.N.out         its activation           [O]
//! logits              the last layer's output  [C]
//! ```

mod layer;

pub use layer::Dense;

use exegete_core::task::{CLASSIFICATION, REGRESSION, Reading};
use exegete_core::{
    Array, Card, Change, Driver, Edit, Encoded, Error, Example, Field, Logits, Model, Open, Pass, Plan,
    Prediction, Result, Row, Scores, Site, Sites, Sizes, Span, Tangents, Token,
};
use exegete_engine::{Context, Unary};
use exegete_models::Softened;
use exegete_models::encoder::Network;
use layer::{LOGITS, Layers, tensor};
use std::sync::Arc;

/// A chain of dense layers over as many tokens as the first one takes.
#[derive(Clone)]
pub struct Net {
    card: Card,
    layers: Layers,
    ctx: Arc<Context<f64>>,
    /// The β of the softplus that stands for every ReLU.
    softplus: Option<f64>,
}

/// The published toys.
impl Net {
    /// Captum's `BasicModel_MultiLayer`: out₀ = relu(s−10) + 3·relu(s+1) − 1 with s = Σx, and out₁ = out₀ + 2.
    pub fn captum() -> Self {
        let lin1 = Dense::new(&[[1.0; 3]; 4]).bias(&[-10.0, 1.0, 1.0, 1.0]).relu();
        Self::new(vec![Dense::identity::<3>(), lin1, Dense::new(&[[1.0; 4]; 2]).bias(&[-1.0, 1.0])])
    }

    /// Two nets of one function: relu(relu(x₁) − 1 − relu(x₂)) and relu(relu(x₁ − 1) − relu(x₂)).
    pub fn invariance() -> [Self; 2] {
        let difference = || Dense::new(&[[1.0, -1.0]]);
        let first = vec![Dense::identity::<2>().relu(), difference().bias(&[-1.0]).relu()];
        let second = vec![Dense::identity::<2>().bias(&[-1.0, 0.0]).relu(), difference().relu()];
        [Self::new(first), Self::new(second)]
    }

    /// 2·relu(x₁) + 2·relu(x₂ − 1.5).
    pub fn rescale() -> Self {
        Self::new(vec![Dense::identity::<2>().bias(&[0.0, -1.5]).relu(), Dense::new(&[[2.0, 2.0]])])
    }

    /// 1 − relu(1 − Σx): for one number the function whose gradient saturates, for two min(1, x₁ + x₂).
    pub fn saturating<const I: usize>() -> Self {
        let inner = Dense::new(&[[-1.0; I]]).bias(&[1.0]).relu();
        Self::new(vec![inner, Dense::new(&[[-1.0]]).bias(&[1.0])])
    }

    /// 3·Σ relu(2·Σx) over three units.
    pub fn relevance() -> Self {
        Self::new(vec![Dense::new(&[[2.0; 3]; 3]).relu(), Dense::new(&[[3.0; 3]])])
    }

    /// σ(x₁ + x₂).
    pub fn sigmoid() -> Self {
        Self::new(vec![Dense::new(&[[1.0; 2]]).then(Unary::Sigmoid)])
    }

    /// w·x.
    pub fn linear<const I: usize>(weights: [f64; I]) -> Self {
        Self::new(vec![Dense::new(&[weights])])
    }
}

impl Net {
    /// A net of these layers: a regression where it gives one number, else classes `out0`, `out1` and so on.
    pub fn new(layers: Vec<Dense>) -> Self {
        let (inputs, outputs) =
            (layers.first().map_or(0, Dense::inputs), layers.last().map_or(0, Dense::outputs));
        let card = Card {
            name: "net".into(),
            family: "net".into(),
            fingerprint: "net".into(),
            task: if outputs == 1 { &REGRESSION } else { &CLASSIFICATION },
            labels: (0..outputs).map(|i| format!("out{i}")).collect(),
            parameters: layers.iter().map(|layer| layer.outputs() * (layer.inputs() + 1)).sum(),
            max_tokens: inputs,
            sizes: Sizes(vec![("layers", layers.len())]),
            warnings: Vec::new(),
        };
        Self { card, layers: Layers::new(layers), ctx: Context::new(1), softplus: None }
    }

    /// The text that writes these numbers.
    pub fn example(values: &[f32]) -> Example {
        Example::text(values.iter().map(f32::to_string).collect::<Vec<_>>().join(" "))
    }

    /// One token a number.
    pub fn row(values: &[f32]) -> Row {
        Row::new(tokens(&Self::example(values)))
    }
}

fn tokens(example: &Example) -> Encoded {
    tokens_by(example, |word| id(word).unwrap_or(0))
}

/// One token a word, with the id that a function says.
pub(crate) fn tokens_by(example: &Example, id: impl Fn(&str) -> u32) -> Encoded {
    let of_field = |(field, Field { text, .. }): (usize, &Field)| {
        let token = |word: &str| {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            let span = Some(Span { field, start, end: start + word.len() });
            Token { id: id(word), type_id: 0, piece: word.into(), span, special: false, weight: None }
        };
        text.split_whitespace().map(token).collect::<Vec<_>>()
    };
    let tokens = example.fields.iter().enumerate().flat_map(of_field).collect();
    Encoded { fields: example.fields.clone(), tokens, truncated: false }
}

/// The bits of a number; what stands for an absent word is zero.
fn id(piece: &str) -> Option<u32> {
    match piece {
        "[PAD]" | "[MASK]" | "[UNK]" => Some(0),
        number => number.parse().ok().map(f32::to_bits),
    }
}

impl Model for Net {
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

impl Open for Net {
    fn encode(&self, example: &Example) -> Result<Encoded> {
        Ok(tokens(example))
    }

    fn token_id(&self, piece: &str) -> Option<u32> {
        id(piece)
    }

    fn sites(&self) -> &Sites {
        self.layers.sites()
    }

    fn forward<'a>(&'a self, rows: &[Row], plan: &Plan) -> Result<Box<dyn Pass + 'a>> {
        let expected = self.card.max_tokens;
        if let Some(i) = rows.iter().position(|row| row.encoded.len() != expected) {
            let given = rows[i].encoded.len();
            return Err(Error::Request(format!("row {i}: {given} tokens, the net takes {expected} numbers")));
        }
        match self.softplus {
            Some(beta) => {
                let layers = Softened::new(Arc::new(self.layers.clone()), beta, &self.card.name);
                exegete_models::forward(&self.ctx, &layers, rows, plan)
            }
            None => exegete_models::forward(&self.ctx, &self.layers, rows, plan),
        }
    }

    fn softened(&self, beta: f64) -> Result<Arc<dyn Model>> {
        let fingerprint = format!("{} softplus {beta}", self.card.fingerprint);
        let card = Card { fingerprint, ..self.card.clone() };
        Ok(Arc::new(Self { card, softplus: Some(beta), ..self.clone() }))
    }

    /// By central differences, which are exact between the kinks of the published nets.
    fn jvp(&self, rows: &[Row], site: Site, directions: &[Array], keep: &[Site]) -> Result<Tangents> {
        const STEP: f32 = 1.0 / 1024.0;
        let read = |step: f32| -> Result<Tangents> {
            let moved = |(row, direction): (&Row, &Array)| {
                let by = direction.data.iter().map(|d| step * d).collect();
                Ok(row.clone().edit(Edit::whole(site, Change::Add(Array::new(direction.shape.clone(), by)?))))
            };
            let rows = rows.iter().zip(directions).map(moved).collect::<Result<Vec<Row>>>()?;
            let pass = self.forward(&rows, &Plan::keep([keep, &[LOGITS]].concat()))?;
            let sites = keep.iter().chain(&[LOGITS]);
            let at = |&site: &Site| (0..rows.len()).map(|row| pass.value(site, row)).collect();
            Ok(Tangents { moved: sites.map(at).collect::<Result<_>>()?, work: pass.work() })
        };
        let (mut ahead, behind) = (read(STEP)?, read(-STEP)?);
        for (ahead, behind) in ahead.moved.iter_mut().flatten().zip(behind.moved.iter().flatten()) {
            let pairs = ahead.data.iter_mut().zip(&behind.data);
            pairs.for_each(|(ahead, behind)| *ahead = (*ahead - behind) / (2.0 * STEP));
        }
        ahead.work.ops += behind.work.ops;
        ahead.work.flops += behind.work.flops;
        Ok(ahead)
    }

    fn scores(&self, encoded: &Encoded, logits: &Logits) -> Result<Scores> {
        let Self { card, .. } = self;
        card.task.scores(&Reading { card, encoded, logits, vocabulary: &Some(self as &dyn Open) })
    }

    fn bytes(&self, row: &Row, plan: &Plan) -> usize {
        self.layers.elements(row, plan) * size_of::<f64>()
    }

    /// Parameters are called `0.weight`, `0.bias` and so on.
    fn with_params(&self, overrides: Vec<(String, Array)>) -> Result<Arc<dyn Model>> {
        let mut net = self.clone();
        for (name, value) in overrides {
            let found = name.split_once('.').and_then(|(n, part)| {
                net.layers.dense.get_mut(n.parse::<usize>().ok()?).and_then(|layer| layer.parameter(part))
            });
            let (_, parameter) = found
                .filter(|(shape, _)| *shape == value.shape)
                .ok_or_else(|| Error::Request(format!("the net has no parameter '{name}' of this shape")))?;
            *parameter = tensor(&value, parameter);
        }
        Ok(Arc::new(net))
    }
}
