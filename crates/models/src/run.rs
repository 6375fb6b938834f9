use crate::config::Rates;
use crate::weights::Param;
use exegete_core::{Array, Axis, Change, Edit, Error, Pick, Plan, Record, Result, Row, Site, Sites};
use exegete_engine::{
    CellSite, Context, Dropout, Heads, Mode, NodeId, Op, Patch, Scalar, Segments, Tape, Tensor, Var,
    random_bits,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What one forward run works on: the rows, the plan, the tape, and what was kept on the way.
///
/// A network calls [`Run::cut`] and [`Run::site`] at its named places; edits, keeping and watching happen there.
pub struct Run<'a, T> {
    /// The tape that everything runs on.
    pub tape: Tape<T>,
    rows: &'a [Row],
    plan: &'a Plan,
    segments: Segments,
    /// Other layouts of the rows' tokens that the network computed in, such as those of one field.
    layouts: Vec<Segments>,
    sites: &'a Sites,
    outputs: Site,
    /// Whether only the outputs that the rows ask for are computed.
    selected: bool,
    /// The place of the start in the order of computation.
    start: Option<usize>,
    touched: HashSet<Site>,
    /// Exact shifts at one site, one a row: tangents travel here.
    shifts: Option<(Site, Vec<Vec<T>>)>,
    learn: &'a [String],
    noise: Option<Noise<'a>>,
    /// How many values were dropped from so far, so that each place draws numbers of its own.
    drops: u64,
    watched: HashMap<Arc<str>, Var<T>>,
    kept: HashMap<Site, Kept<T>>,
}

/// What one forward run is asked for.
pub(crate) struct Request<'a, T> {
    pub(crate) rows: &'a [Row],
    pub(crate) plan: &'a Plan,
    /// Parameters whose gradient will be asked for.
    pub(crate) learn: &'a [String],
    pub(crate) shifts: Option<(Site, Vec<Vec<T>>)>,
    pub(crate) noise: Option<Noise<'a>>,
}

impl<'a, T> Request<'a, T> {
    /// Rows under a plan, and nothing else.
    pub(crate) fn new(rows: &'a [Row], plan: &'a Plan) -> Self {
        Self { rows, plan, learn: &[], shifts: None, noise: None }
    }
}

/// The dropout of a training run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noise<'a> {
    pub(crate) rates: Rates,
    /// The key of each row's random masks.
    pub(crate) keys: &'a [u64],
    /// The share of steps in which a model that writes reads what it should have written.
    pub(crate) forcing: f64,
    /// The key of what is drawn once for the whole batch.
    pub(crate) batch: u64,
}

/// A kept value and where each row's part of it lies.
#[derive(Debug, Clone)]
pub(crate) struct Kept<T> {
    pub(crate) var: Var<T>,
    /// Where its cotangent is found, if not at the value itself.
    pub(crate) slope: Option<NodeId>,
    pub(crate) parts: Vec<Part>,
}

/// One row's part of a packed value.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) start: usize,
    pub(crate) shape: Vec<usize>,
}

impl Part {
    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product()
    }
}

impl<'a, T: Scalar> Run<'a, T> {
    pub(crate) fn new(ctx: Arc<Context<T>>, sites: &'a Sites, request: Request<'a, T>) -> Result<Self> {
        let Request { rows, plan, learn, shifts, noise } = request;
        let mode = match plan.record {
            Record::Nothing if learn.is_empty() => Mode::Off,
            Record::Nothing | Record::Gradient => Mode::Gradient,
            Record::Lowered | Record::Paired => Mode::Lowered,
        };
        let edited = rows.iter().flat_map(|row| row.edits.iter().map(|edit| edit.site));
        let shifted = shifts.iter().map(|(site, _)| *site);
        let run = Self {
            tape: Tape::new(ctx, mode),
            rows,
            plan,
            segments: Segments::new(rows.iter().map(|row| row.encoded.len())),
            layouts: Vec::new(),
            sites,
            outputs: sites.outputs()?,
            selected: false,
            start: plan.start.map(|site| sites.order(site)),
            touched: edited.chain(shifted).chain(plan.keep.iter().copied()).collect(),
            shifts,
            learn,
            noise,
            drops: 0,
            watched: HashMap::new(),
            kept: HashMap::new(),
        };
        run.check()?;
        Ok(run)
    }

    fn check(&self) -> Result<()> {
        for &site in self.touched.iter().chain(&self.plan.start) {
            self.sites.get(site)?;
        }
        for (i, row) in self.rows.iter().enumerate() {
            if let Some(at) =
                row.outputs.iter().flat_map(|asked| asked.iter()).find(|at| **at >= row.encoded.len())
            {
                let tokens = row.encoded.len();
                return Err(Error::Request(format!("row {i}: the output of token {at} of {tokens}")));
            }
        }
        let Some(start) = self.plan.start else { return Ok(()) };
        if !self.sites.get(start)?.cut {
            return Err(Error::Request(format!(
                "a run cannot start at {start}, only at a cut such as layer.0.out"
            )));
        }
        match self.sites.first_of(self.touched.iter().copied()) {
            Some(site) if Some(self.sites.order(site)) < self.start => {
                Err(Error::Request(format!("{site} lies before the start {start} and is not computed")))
            }
            _ => Ok(()),
        }
    }

    /// The sequences of the batch.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// The token ids of all rows, laid end to end.
    pub fn ids(&self) -> Arc<[usize]> {
        self.rows.iter().flat_map(|row| row.encoded.tokens.iter().map(|token| token.id as usize)).collect()
    }

    /// The token types of all rows.
    pub fn kinds(&self) -> Arc<[usize]> {
        self.rows
            .iter()
            .flat_map(|row| row.encoded.tokens.iter().map(|token| token.type_id as usize))
            .collect()
    }

    /// The positions of all tokens within their rows, counted from `first`.
    pub fn positions(&self, first: usize) -> Arc<[usize]> {
        self.rows.iter().flat_map(|row| first..first + row.encoded.len()).collect()
    }

    /// Whether the run starts at a place inside, with what the rows bring.
    pub fn is_resumed(&self) -> bool {
        self.start.is_some()
    }

    /// Whether anybody keeps or edits this site.
    pub fn touches(&self, site: Site) -> bool {
        self.touched.contains(&site)
    }

    /// A parameter as a value, watched where its gradient was asked for.
    pub fn param(&mut self, param: &Param<T>) -> Var<T> {
        if !self.learn.iter().any(|name| **name == *param.name) {
            return param.value.clone().into();
        }
        if let Some(var) = self.watched.get(&param.name) {
            return var.clone();
        }
        let var = self.tape.watch(param.value.clone().into());
        self.watched.insert(param.name.clone(), var.clone());
        var
    }

    /// A place where a run can start: computes the value, takes it from the rows, or skips it as upstream of the start.
    pub fn cut(&mut self, site: Site, compute: impl FnOnce(&mut Self) -> Result<Var<T>>) -> Result<Var<T>> {
        let value = match self.start {
            Some(_) if self.skips(site) => return Ok(Tensor::new(0, 0, Vec::new()).into()),
            Some(_) if self.plan.start == Some(site) => self.start_value(site)?,
            _ => compute(self)?,
        };
        self.site(site, value)
    }

    /// Whether a place lies before the start, so that its value is not there.
    pub fn skips(&self, site: Site) -> bool {
        self.start.is_some_and(|start| self.sites.order(site) < start)
    }

    /// The rows' own values at the start; their shapes were checked before.
    fn start_value(&self, site: Site) -> Result<Var<T>> {
        let given = self.rows.iter().filter_map(|row| row.start.as_ref());
        let data: Vec<T> =
            given.flat_map(|start| start.data.iter().map(|&x| T::from_f64(x.into()))).collect();
        // Values that have a row for each token, or sentence, or only one for the text.
        let first = self
            .sites
            .get(site)?
            .axes
            .first()
            .filter(|axis| !matches!(axis, Axis::Neuron(_) | Axis::Class(_)));
        let lens = |axis: &Axis| self.rows.iter().map(|row| axis.len(&row.encoded)).sum();
        let rows = first.map_or(self.rows.len(), lens);
        Ok(Tensor::new(rows, data.len() / rows.max(1), data).into())
    }

    /// A named place: applies the rows' edits to the value and keeps it where the plan says.
    pub fn site(&mut self, site: Site, value: Var<T>) -> Result<Var<T>> {
        if !self.touches(site) && site != self.outputs {
            return Ok(value);
        }
        let parts = self.parts(site)?;
        let patch = self.patch(site, &parts)?;
        let mut value = value;
        if !patch.is_empty() {
            value = self.tape.apply(Op::Patch(Arc::new(patch)), [value]);
        }
        if self.plan.keep.contains(&site) && self.plan.record != Record::Nothing {
            value = self.tape.watch(value);
        }
        self.kept.insert(site, Kept { var: value.clone(), slope: None, parts });
        Ok(value)
    }

    /// What somebody changes at a place that is computed in steps, and whether gradients at it will be asked for; none
    /// where nobody looks. The value then goes to [`Run::looked`].
    pub fn look(&self, site: Site) -> Result<Option<(Patch<T>, bool)>> {
        if !self.touches(site) {
            return Ok(None);
        }
        let watch = self.plan.keep.contains(&site) && self.plan.record != Record::Nothing;
        Ok(Some((self.patch(site, &self.parts(site)?)?, watch)))
    }

    /// Keeps a value whose edits were applied, and which was watched, while it was computed in steps.
    pub fn looked(&mut self, site: Site, seen: CellSite<T>) -> Result<()> {
        let parts = self.parts(site)?;
        self.kept.insert(site, Kept { var: seen.var, slope: seen.slope, parts });
        Ok(())
    }

    /// The rows of the batch.
    pub fn rows(&self) -> &[Row] {
        self.rows
    }

    /// Multi-head attention with the sites of its scores and its weights; fused where nobody looks at either.
    pub fn attention(
        &mut self,
        [scores_at, weights_at]: [Site; 2],
        heads: &Heads,
        q: Var<T>,
        k: Var<T>,
        v: Var<T>,
    ) -> Result<Var<T>> {
        let rate = self.noise.map_or(0.0, |noise| noise.rates.attention);
        let plain = rate > 0.0 || self.touches(scores_at) || self.touches(weights_at);
        Ok(if plain {
            let scores = self.tape.apply(Op::Scores(heads.clone()), [q, k]); // ragged [N, T, T]
            let scores = self.site(scores_at, scores)?;
            let probs = self.tape.apply(Op::Softmax(heads.clone()), [scores]); // ragged [N, T, T]
            let probs = self.site(weights_at, probs)?;
            let lens =
                (0..heads.queries().count()).map(|row| heads.map(row, heads.count()) - heads.map(row, 0));
            let probs = self.drop_runs(probs, rate, lens.collect());
            self.tape.apply(Op::Context(heads.clone()), [probs, v]) // [T, H]
        } else {
            self.tape.attention(heads, q, k, v) // [T, H]
        })
    }

    /// Whether a model that writes reads its own word in this step: in training, one draw a batch and step.
    pub(crate) fn reads_own(&self, step: usize) -> bool {
        self.noise.is_some_and(|noise| {
            // 53 bits are a number from 0 up to 1.
            let draw = (random_bits(noise.batch, step as u64) >> 11) as f64 / (1u64 << 53) as f64;
            draw >= noise.forcing
        })
    }

    /// Whether anything is dropped anywhere.
    pub(crate) fn drops(&self) -> bool {
        self.noise.is_some_and(|noise| noise.rates != Rates::default())
    }

    /// Dropout at one of the places of [`Rates`]; nothing outside training.
    pub fn dropout(&mut self, x: Var<T>, rate: impl Fn(&Rates) -> f64) -> Var<T> {
        let ones = Segments::new(std::iter::repeat_n(1, self.segments.count()));
        let whole = x.value.rows() == self.segments.total();
        let segments = if whole { self.segments.clone() } else { ones };
        self.dropout_over(&segments, x, rate)
    }

    /// Dropout of a value with a segment of rows for each text.
    pub fn dropout_over(&mut self, segments: &Segments, x: Var<T>, rate: impl Fn(&Rates) -> f64) -> Var<T> {
        let Some(noise) = self.noise else { return x };
        let lens = segments.lengths().map(|len| len * x.value.cols()).collect();
        self.drop_runs(x, rate(&noise.rates), lens)
    }

    /// Says in what layout the network computes, beside that of all tokens, so that shares find their texts.
    pub fn lay_out(&mut self, segments: &Segments) {
        self.layouts.push(segments.clone());
    }

    /// Dropout with one run of elements a row.
    fn drop_runs(&mut self, x: Var<T>, rate: f64, lens: Vec<usize>) -> Var<T> {
        let Some(noise) = self.noise.filter(|_| rate > 0.0) else { return x };
        self.drops += 1;
        // The multiplier spreads the place over all bits, so that no two places of a row share a key.
        let place = self.drops.wrapping_mul(0xd6e8_feb8_6659_fd93);
        let runs = lens.into_iter().zip(noise.keys).map(|(len, key)| (len, key ^ place)).collect();
        self.tape.apply(Op::Dropout(Arc::new(Dropout { rate, runs })), [x])
    }

    /// The first token of every row: \[T, H\] → \[B, H\]. A value that has only those already stays as it is.
    pub fn firsts(&mut self, x: Var<T>) -> Var<T> {
        if x.value.rows() == self.segments.count() {
            return x;
        }
        let index = (0..self.segments.count()).map(|row| self.segments.range(row).start).collect();
        self.tape.apply(Op::Gather(index), [x])
    }

    /// The tokens whose outputs the rows ask for: \[T, H\] → \[K, H\]. All of them where a row asks for all, or where somebody
    /// looks at the output as a site.
    pub fn wanted(&mut self, x: Var<T>) -> Var<T> {
        let asked: Option<Vec<&[usize]>> = self.rows.iter().map(|row| row.outputs.as_deref()).collect();
        let Some(asked) = asked.filter(|_| !self.touches(self.outputs)) else { return x };
        self.selected = true;
        let start = |row: usize| self.segments.range(row).start;
        let index =
            asked.iter().enumerate().flat_map(|(row, asked)| asked.iter().map(move |at| start(row) + at));
        let index = index.collect();
        self.tape.apply(Op::Gather(index), [x])
    }

    /// Where each row's part of a packed value lies: one after the other.
    fn parts(&self, site: Site) -> Result<Vec<Part>> {
        let info = self.sites.get(site)?;
        let mut end = 0;
        let part = |row: &Row| {
            let (start, mut shape) = (end, info.shape(&row.encoded));
            if let Some(asked) = row.outputs.as_ref().filter(|_| self.selected && site == self.outputs) {
                shape[0] = asked.len();
            }
            end += shape.iter().product::<usize>();
            Part { start, shape }
        };
        Ok(self.rows.iter().map(part).collect())
    }

    fn patch(&self, site: Site, parts: &[Part]) -> Result<Patch<T>> {
        let mut patch = Patch::default();
        for (i, (row, part)) in self.rows.iter().zip(parts).enumerate() {
            for edit in row.edits.iter().filter(|edit| edit.site == site) {
                push_edit(&mut patch, part, edit)?;
            }
            if let Some((_, shifts)) = self.shifts.as_ref().filter(|(at, _)| *at == site) {
                patch.push(part.start, part.len(), T::from_f64(1.0), &shifts[i]);
            }
        }
        Ok(patch)
    }

    /// What is left of the run once the network has gone through.
    pub(crate) fn finish(self) -> Finished<T> {
        let nodes = self.learn.iter().map(|name| self.watched.get(name.as_str()).and_then(|var| var.node));
        let order = (0..self.rows.len()).collect();
        let mut layouts = self.layouts;
        layouts.push(self.segments);
        let places = self.rows.iter().map(|row| row.outputs.clone().filter(|_| self.selected)).collect();
        Finished {
            learned: nodes.collect(),
            tape: self.tape,
            kept: self.kept,
            outputs: self.outputs,
            places,
            layouts,
            order,
        }
    }
}

/// The outcome of a run.
pub(crate) struct Finished<T> {
    /// How values have rows for the texts, as they were packed; the last has one for every token.
    pub(crate) layouts: Vec<Segments>,
    /// Where each row of the caller was packed.
    pub(crate) order: Vec<usize>,
    pub(crate) tape: Tape<T>,
    pub(crate) kept: HashMap<Site, Kept<T>>,
    /// Where the output is.
    pub(crate) outputs: Site,
    /// The tokens of each row that have an output, where not all of them have one.
    pub(crate) places: Vec<Option<Arc<[usize]>>>,
    /// The node of each learned parameter, in the order asked; none where it was not used.
    pub(crate) learned: Vec<Option<NodeId>>,
}

/// Adds one edit of one row to a patch: runs of neighbouring elements, found from the trailing axes that are whole.
fn push_edit<T: Scalar>(patch: &mut Patch<T>, part: &Part, edit: &Edit) -> Result<()> {
    let shape = &part.shape;
    let selected = edit.selection_shape(shape)?;
    let outer = edit.at.iter().rposition(|pick| *pick != Pick::All).map_or(0, |axis| axis + 1);
    let run: usize = shape[outer..].iter().product();
    let count: usize = selected[..outer].iter().product();
    let (keep, factor, values) = match &edit.change {
        Change::Set(values) => (0.0, 1.0, Some(values)),
        Change::Add(values) => (1.0, 1.0, Some(values)),
        Change::Scale(factor) => (*factor, 0.0, None),
        Change::Zero => (0.0, 0.0, None),
        Change::Mix { share, toward } => (1.0 - share, *share, Some(toward)),
    };
    let shift = shifts(values, factor);
    for k in 0..count {
        let offset = offset_of(k, &selected[..outer], shape, &edit.at);
        let shift = if shift.len() == 1 { &shift[..] } else { &shift[k * run..(k + 1) * run] };
        patch.push(part.start + offset, run, T::from_f64(keep.into()), shift);
    }
    Ok(())
}

fn shifts<T: Scalar>(values: Option<&Array>, factor: f32) -> Vec<T> {
    match values {
        Some(values) => values.data.iter().map(|&v| T::from_f64(f64::from(factor) * f64::from(v))).collect(),
        None => vec![T::default()],
    }
}

/// The flat offset of the k-th selected run.
fn offset_of(mut k: usize, selected: &[usize], shape: &[usize], at: &[Pick]) -> usize {
    let mut offset = 0;
    for axis in (0..selected.len()).rev() {
        let nth = k % selected[axis];
        k /= selected[axis];
        let index = match &at[axis] {
            Pick::All => nth,
            Pick::Only(indices) => indices[nth],
        };
        offset += index * shape[axis + 1..].iter().product::<usize>();
    }
    offset
}
