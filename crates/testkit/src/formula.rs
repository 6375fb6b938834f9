//! A model of one formula over given vectors, on the engine: products, maxima and windows that no chain of layers has.
//!
//! ```text
//! embed.word   the vector of each token     [T, W]
//! (a place)    what a function makes of it  as it says
//! logits       F                            [1]
//! ```

use crate::net::tokens_by;
use exegete_core::task::{REGRESSION, Reading};
use exegete_core::{
    Array, Axis, Card, Driver, Encoded, Error, Example, Logits, Model, Open, Pass, Plan, Prediction, Result,
    Role, Row, Scores, Site, SiteInfo, Sites, Sizes, Tangents,
};
use exegete_engine::{Context, Op, Tape, Tensor, Unary, Var};
use exegete_models::encoder::Network;
use exegete_models::run::Run;
use std::sync::Arc;

/// From the numbers of each text, side by side in one row \[B, n\], to some others \[B, m\].
pub type Function = fn(&mut Tape<f64>, Var<f64>) -> Var<f64>;

/// One number by a formula of the tokens' vectors. The words of its texts are indices into a table of vectors.
#[derive(Clone)]
pub struct Formula {
    card: Card,
    network: Steps,
    ctx: Arc<Context<f64>>,
}

#[derive(Clone)]
struct Steps {
    table: Tensor<f64>,
    inner: Option<(Site, usize, Function)>,
    last: Function,
    sites: Sites,
}

const WORDS: Site = Site::named("embed.word");
const LOGITS: Site = Site::named("logits");

impl Formula {
    /// F of texts over these vectors.
    pub fn new<const W: usize>(vectors: &[[f64; W]], last: Function) -> Self {
        let table = Tensor::new(vectors.len(), W, vectors.as_flattened().to_vec());
        let sites = Sites::new(vec![
            SiteInfo::new(WORDS, "embed", Role::Words, [Axis::Token, Axis::Neuron(W)]).cut(),
            SiteInfo::new(LOGITS, "head", Role::Outputs, [Axis::Class(1)]).carrying_all(),
        ]);
        let card = Card {
            name: "formula".into(),
            family: "formula".into(),
            fingerprint: "formula".into(),
            task: &REGRESSION,
            labels: vec!["out".into()],
            parameters: vectors.len() * W,
            max_tokens: vectors.len(),
            sizes: Sizes::default(),
            warnings: Vec::new(),
        };
        Self { card, network: Steps { table, inner: None, last, sites }, ctx: Context::new(1) }
    }

    /// The same with a place on the way, whose first axis is given and whose second one has so many units.
    #[must_use]
    pub fn through(mut self, name: &'static str, axis: Axis, units: usize, inner: Function) -> Self {
        let site = Site::named(name);
        self.network.inner = Some((site, units, inner));
        let role = if matches!(axis, Axis::Window(_)) { Role::Convolution } else { Role::Inner };
        let own = SiteInfo::new(site, "inner", role, [axis, Axis::Neuron(units)]).carrying_all();
        let mut sites: Vec<SiteInfo> = self.network.sites.iter().cloned().collect();
        sites.insert(1, own);
        self.network.sites = Sites::new(sites);
        self
    }

    /// The text of the first so many vectors.
    pub fn row(tokens: usize) -> Row {
        let words: Vec<String> = (0..tokens).map(|token| token.to_string()).collect();
        Row::new(encoded(&Example::text(words.join(" "))))
    }

    /// One column of a value: \[B, n\] → \[B, 1\].
    pub fn column(tape: &mut Tape<f64>, x: &Var<f64>, column: usize) -> Var<f64> {
        let width = x.value.cols();
        let weight = Tensor::new(1, width, (0..width).map(|i| f64::from(i == column)).collect());
        tape.apply(Op::Linear, [x.clone(), weight.into()])
    }

    /// The product of some columns.
    pub fn product(tape: &mut Tape<f64>, x: &Var<f64>, columns: impl IntoIterator<Item = usize>) -> Var<f64> {
        let mut columns = columns.into_iter();
        let first = Self::column(tape, x, columns.next().unwrap_or(0));
        columns.fold(first, |product, column| {
            let next = Self::column(tape, x, column);
            tape.apply(Op::Mul, [product, next])
        })
    }

    /// The largest of some columns; of equal ones the first has the gradient.
    pub fn largest(tape: &mut Tape<f64>, x: &Var<f64>, columns: impl IntoIterator<Item = usize>) -> Var<f64> {
        let mut columns = columns.into_iter();
        let first = Self::column(tape, x, columns.next().unwrap_or(0));
        columns.fold(first, |largest, column| {
            let next = Self::column(tape, x, column);
            let more = tape.apply(Op::Sub, [next, largest.clone()]);
            let more = tape.apply(Op::Unary(Unary::Relu), [more]);
            tape.apply(Op::Add, [largest, more])
        })
    }
}

fn encoded(example: &Example) -> Encoded {
    tokens_by(example, |word| word.parse().unwrap_or(0))
}

impl Network<f64> for Steps {
    fn sites(&self) -> &Sites {
        &self.sites
    }

    fn elements(&self, row: &Row, _: &Plan) -> usize {
        8 * self.sites.iter().map(|info| info.elements(&row.encoded)).sum::<usize>()
    }

    fn forward(&self, run: &mut Run<'_, f64>) -> Result<()> {
        let rows = run.segments().count();
        let x = run.cut(WORDS, |run| {
            let ids = run.ids();
            Ok(run.tape.apply(Op::Gather(ids), [Var::from(self.table.clone())])) // [T, W]
        })?;
        let mut x = beside(&mut run.tape, x, rows);
        if let Some((site, units, inner)) = self.inner {
            let value = inner(&mut run.tape, x);
            let places = rows * value.value.cols() / units.max(1);
            let value = run.tape.apply(Op::Reshape(places, units), [value]);
            let value = run.site(site, value)?;
            x = beside(&mut run.tape, value, rows);
        }
        let last = (self.last)(&mut run.tape, x);
        run.site(LOGITS, last).map(drop)
    }
}

/// All numbers of each text in one row.
fn beside(tape: &mut Tape<f64>, x: Var<f64>, rows: usize) -> Var<f64> {
    let numbers = x.value.rows() * x.value.cols();
    tape.apply(Op::Reshape(rows, numbers / rows.max(1)), [x])
}

impl Model for Formula {
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

impl Open for Formula {
    fn encode(&self, example: &Example) -> Result<Encoded> {
        Ok(encoded(example))
    }

    fn token_id(&self, piece: &str) -> Option<u32> {
        if piece == "[PAD]" { Some(0) } else { piece.parse().ok() }
    }

    fn sites(&self) -> &Sites {
        &self.network.sites
    }

    fn forward<'a>(&'a self, rows: &[Row], plan: &Plan) -> Result<Box<dyn Pass + 'a>> {
        let equal = rows.windows(2).all(|pair| pair[0].encoded.len() == pair[1].encoded.len());
        if !equal {
            return Err(Error::Request("the texts of a formula are equally long".into()));
        }
        exegete_models::forward(&self.ctx, &self.network, rows, plan)
    }

    fn jvp(&self, _: &[Row], site: Site, _: &[Array], _: &[Site]) -> Result<Tangents> {
        Err(Error::Unsupported(format!("a formula has no tangents, not at {site} either")))
    }

    fn scores(&self, encoded: &Encoded, logits: &Logits) -> Result<Scores> {
        let Self { card, .. } = self;
        card.task.scores(&Reading { card, encoded, logits, vocabulary: &Some(self as &dyn Open) })
    }

    fn bytes(&self, row: &Row, plan: &Plan) -> usize {
        self.network.elements(row, plan) * size_of::<f64>()
    }

    fn with_params(&self, _: Vec<(String, Array)>) -> Result<Arc<dyn Model>> {
        Err(Error::Unsupported("a formula has no parameters to replace".into()))
    }
}
