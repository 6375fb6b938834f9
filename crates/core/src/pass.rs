use crate::{Array, Edit, Encoded, Error, Result, Site};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// One run of a model: an encoded text and what is changed on the way.
#[derive(Debug, Clone)]
pub struct Row {
    /// The tokens that the model reads.
    pub encoded: Arc<Encoded>,
    /// The changes, applied in order at each site.
    pub edits: Vec<Edit>,
    /// The value at the plan's start, where the plan has one; shared between rows.
    pub start: Option<Arc<Array>>,
    /// The tokens whose outputs are asked for, in order; none for all. A model may give the others too.
    pub outputs: Option<Arc<[usize]>>,
}

impl Row {
    /// A text as it is.
    pub fn new(encoded: impl Into<Arc<Encoded>>) -> Self {
        Self { encoded: encoded.into(), edits: Vec::new(), start: None, outputs: None }
    }

    /// The same row with one more edit.
    #[must_use]
    pub fn edit(mut self, edit: Edit) -> Self {
        self.edits.push(edit);
        self
    }

    /// The same row, resuming from this value at the plan's start.
    #[must_use]
    pub fn starting_with(mut self, start: impl Into<Arc<Array>>) -> Self {
        self.start = Some(start.into());
        self
    }
}

/// What a pass must remember for [`Pass::backward`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// Nothing is remembered: the run is forward only.
    #[default]
    Nothing,
    /// What plain gradients need, with fused kernels, downstream of the kept sites.
    Gradient,
    /// Every plain operation with its inputs and output, for the other rule tables.
    Lowered,
    /// The same for rows in pairs of equal length, each text (an even row) followed by its baseline (the odd row after
    /// it), for rules that compare the two.
    Paired,
}

/// What to run, keep and remember. Serialisable.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Sites whose values are kept; gradients can be asked for at these.
    pub keep: Vec<Site>,
    /// The cut to start from; nothing upstream is computed and every row brings its value there. Keeping or editing a
    /// site before it is an error.
    pub start: Option<Site>,
    /// What to remember for going backward.
    pub record: Record,
}

impl Plan {
    /// Forward only, keeping these sites.
    pub fn keep(sites: impl Into<Vec<Site>>) -> Self {
        Self { keep: sites.into(), ..Self::default() }
    }

    /// Forward and gradients at these sites.
    pub fn gradient(sites: impl Into<Vec<Site>>) -> Self {
        Self { keep: sites.into(), record: Record::Gradient, start: None }
    }

    /// How many rows in a row belong together and must not be separated.
    pub fn group(&self) -> usize {
        if self.record == Record::Paired { 2 } else { 1 }
    }

    /// Whether the rows are in pairs where the plan says so: an even number, each text as long as its baseline.
    pub fn check_pairs(&self, rows: &[Row]) -> Result<()> {
        if self.record != Record::Paired {
            return Ok(());
        }
        let (pairs, rest) = rows.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(Error::Request(format!(
                "{} rows in pairs: each text needs a baseline after it",
                rows.len()
            )));
        }
        for (i, [text, baseline]) in pairs.iter().enumerate() {
            let (tokens, other) = (text.encoded.len(), baseline.encoded.len());
            if tokens != other {
                return Err(Error::Request(format!(
                    "row {}: a text of {tokens} tokens with a baseline of {other}; they must be equally long",
                    2 * i
                )));
            }
        }
        Ok(())
    }

    /// The same plan from a cut on.
    #[must_use]
    pub fn starting_at(mut self, start: Site) -> Self {
        self.start = Some(start);
        self
    }
}

/// How cotangents travel backward through an operation.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rules {
    /// The plain derivative, as in calculus.
    #[default]
    Gradient,
    /// DeepLIFT: differences of outputs over differences of inputs, between the rows of each pair. Needs
    /// [`Record::Paired`]; the multipliers come back for the even rows, the odd ones give zeros.
    DeepLift {
        /// Treat what pushes up and what pushes down apart (RevealCancel) instead of together (rescale).
        reveal_cancel: bool,
    },
    /// Layer-wise relevance propagation, as multipliers: relevance = value ⊙ multiplier. Needs [`Record::Lowered`].
    Lrp(LrpRule),
    /// The gradient, where both the input of a rectifier and what comes back are positive. Needs [`Record::Lowered`].
    GuidedBackprop,
    /// What comes back to a rectifier, where that is positive; elsewhere the gradient. Needs [`Record::Lowered`].
    Deconvolution,
}

/// How relevance is shared between the inputs of a linear layer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LrpRule {
    /// By contribution, with ε·sign added to the sum.
    Epsilon(f64),
    /// The same, but biases take no share: the inputs share everything.
    Spread(f64),
    /// By contribution; those of the output's own sign count (1 + γ) times.
    Gamma(f64),
    /// α times the positive shares minus β = α − 1 times the negative ones.
    AlphaBeta(f64),
    /// Positive contributions only (x⁺w⁺ + x⁻w⁻).
    ZPlus,
}

/// A cotangent for one row at one kept site (or the logits).
#[derive(Debug, Clone, PartialEq)]
pub struct Seed {
    /// Which row of the pass.
    pub row: usize,
    /// The place that the cotangent belongs to.
    pub site: Site,
    /// ∂F/∂value, of the value's shape.
    pub cotangent: Array,
}

/// The output of one row before any softmax, in full precision.
#[derive(Debug, Clone, PartialEq)]
pub struct Logits {
    /// `[C]`, or `[T, C]` where every token has its own.
    pub shape: Vec<usize>,
    /// The values, last axis fastest.
    pub data: Vec<f64>,
    /// The tokens that have an output, in order, where not all of them have one.
    pub places: Option<Arc<[usize]>>,
}

impl Logits {
    /// The whole output of a row.
    pub fn new(shape: impl Into<Vec<usize>>, data: Vec<f64>) -> Self {
        Self { shape: shape.into(), data, places: None }
    }

    /// Where the outputs of one token lie, where it has any.
    pub fn at(&self, token: usize) -> Option<Range<usize>> {
        let place = match &self.places {
            Some(places) => places.iter().position(|&place| place == token)?,
            None => token,
        };
        let width = self.shape.last().copied().unwrap_or(0);
        let range = place * width..(place + 1) * width;
        (range.end <= self.data.len()).then_some(range)
    }
}

/// What a pass cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Operations of the engine.
    pub ops: usize,
    /// Floating-point operations in matrix products.
    pub flops: u64,
    /// The most bytes of activations alive at once.
    pub peak_bytes: usize,
}

/// How values move where the value at one site moves along a direction: see [`Open::jvp`](crate::Open::jvp).
#[derive(Debug, Clone, PartialEq)]
pub struct Tangents {
    /// How each site moves, indexed `[site][row]`, with the logits after the kept sites.
    pub moved: Vec<Vec<Array>>,
    /// What this run of the rows cost.
    pub work: Work,
}

/// The outcome of one forward run over some rows. Values are per row, never padded.
pub trait Pass {
    /// The site that holds the outputs.
    fn outputs(&self) -> Site;

    /// The output of each row.
    fn logits(&self) -> &[Logits];

    /// The value of a kept site for one row, after edits.
    fn value(&self, site: Site, row: usize) -> Result<Array>;

    /// Pulls the seeds back to the sites of `wrt`: the result is indexed `[site][row]`.
    ///
    /// Can be called again with other seeds. The sites must have been kept and the plan must have recorded.
    fn backward(&self, seeds: &[Seed], wrt: &[Site], rules: Rules) -> Result<Vec<Vec<Array>>>;

    /// What biases, constants and stabilisers took of each row's relevance on the way from the seeds to `wrt`, so that
    /// the relevance at `wrt` and this add up to F = Σ seed ⊙ value. What does not lead from `wrt` is a constant. Ask for one
    /// site at a time: of sites behind each other, the relevance at the first and this add up.
    fn booked(&self, _seeds: &[Seed], _wrt: &[Site], _rules: Rules) -> Result<Vec<f64>> {
        Err(Error::Unsupported("this model books no bias shares".into()))
    }

    /// What was spent so far, backward runs included.
    fn work(&self) -> Work;
}
