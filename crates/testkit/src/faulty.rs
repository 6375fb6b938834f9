//! Planted faults: a suite that stays green on one of these proves nothing.

use exegete_core::{
    Array, Card, Change, Edit, Encoded, Example, Logits, Model, Open, Pass, Plan, Prediction, Record, Result,
    Row, Rules, Scores, Seed, Site, Sites, Tangents, Work,
};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One way for a model to be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Gradients have the wrong sign.
    SignFlip,
    /// The last row of a batch is lost and answers as the first.
    DroppedRow,
    /// The gradient at the last cut is zero.
    ZeroedGradient,
    /// Each row's output gets a share of its neighbour's, as when padding is attended to.
    Leak,
    /// Edits at the last cut are not made.
    IgnoredEdit,
    /// Edits of some indices are made at all of them.
    SpilledEdit,
    /// Kept values are those of the text without edits.
    StaleKeep,
    /// Gradients are those of the text without edits.
    StaleGradient,
    /// Every row starts from the first row's value, cut or repeated to fit.
    StaleStart,
    /// A run from a cut does all the work anyway.
    LazyStart,
    /// A kept value is not finite.
    NotFinite,
    /// An output is not a number.
    NanOutput,
    /// An element of the gradient at the last cut is not a number.
    NanGradient,
    /// An element of every tangent is not a number.
    NanTangent,
    /// Every call to backward adds to what came before.
    Accumulating,
    /// The lowered operations are not the fused ones.
    Unlike,
    /// Tangents are too long.
    LongTangent,
    /// No two runs are the same.
    Jitter,
    /// Outputs are a little off.
    Drift,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 19] = [
        Self::SignFlip,
        Self::DroppedRow,
        Self::ZeroedGradient,
        Self::Leak,
        Self::IgnoredEdit,
        Self::SpilledEdit,
        Self::StaleKeep,
        Self::StaleGradient,
        Self::StaleStart,
        Self::LazyStart,
        Self::NotFinite,
        Self::NanOutput,
        Self::NanGradient,
        Self::NanTangent,
        Self::Accumulating,
        Self::Unlike,
        Self::LongTangent,
        Self::Jitter,
        Self::Drift,
    ];
}

/// A model with one fault.
pub struct Faulty {
    inner: Arc<dyn Model>,
    fault: Fault,
    runs: AtomicUsize,
}

impl Faulty {
    /// Plants a fault.
    pub fn new(inner: Arc<dyn Model>, fault: Fault) -> Self {
        Self { inner, fault, runs: AtomicUsize::new(0) }
    }

    fn sound(&self) -> Result<&dyn Open> {
        self.inner.require_open()
    }

    fn last_cut(&self) -> Option<Site> {
        self.inner.open()?.sites().cuts().last()
    }

    /// What the inner model is asked for instead.
    fn rows(&self, rows: &[Row]) -> Vec<Row> {
        let mut rows = rows.to_vec();
        let first_start = rows.first().and_then(|row| row.start.clone());
        for row in &mut rows {
            match self.fault {
                Fault::IgnoredEdit => row.edits.retain(|edit| Some(edit.site) != self.last_cut()),
                Fault::SpilledEdit => row.edits.iter_mut().for_each(spill),
                Fault::StaleStart => row.start = refit(row, first_start.as_deref()),
                _ => {}
            }
        }
        rows
    }

    fn outputs(&self, pass: &dyn Pass, plan: &Plan) -> Vec<Logits> {
        let mut logits = pass.logits().to_vec();
        match self.fault {
            Fault::DroppedRow => {
                let first = logits.first().cloned();
                logits
                    .iter_mut()
                    .last()
                    .into_iter()
                    .zip(first)
                    .for_each(|(last, first)| last.data = first.data);
            }
            Fault::Leak => {
                for (i, neighbour) in (1..logits.len()).zip(pass.logits()) {
                    nudge(&mut logits[i], |k, _| 1e-3 * neighbour.data.get(k).copied().unwrap_or(0.0));
                }
            }
            Fault::Jitter => {
                let run = self.runs.fetch_add(1, Ordering::Relaxed) as f64;
                logits.iter_mut().for_each(|logits| nudge(logits, |_, _| run * 1e-15));
            }
            Fault::NanOutput => logits.iter_mut().for_each(|logits| logits.data[0] = f64::NAN),
            Fault::Drift => logits.iter_mut().for_each(|logits| nudge(logits, |_, z| 1e-3 * z)),
            Fault::Unlike if plan.record == Record::Lowered => {
                logits.iter_mut().for_each(|logits| nudge(logits, |_, z| 1e-3 * z));
            }
            _ => {}
        }
        logits
    }
}

fn spill(edit: &mut Edit) {
    let values = match &mut edit.change {
        Change::Set(values) | Change::Add(values) => Some(values),
        Change::Mix { toward, .. } => Some(toward),
        Change::Scale(_) | Change::Zero => None,
    };
    if let Some(values) = values
        && !edit.at.is_empty()
    {
        *values = Array::full([1], values.data[0]);
    }
    edit.at.clear();
}

fn refit(row: &Row, first: Option<&Array>) -> Option<Arc<Array>> {
    let (own, first) = (row.start.as_ref()?, first?);
    let data = first.data.iter().cycle().take(own.len()).copied().collect();
    Some(Arc::new(Array { shape: own.shape.clone(), data }))
}

fn nudge(logits: &mut Logits, by: impl Fn(usize, f64) -> f64) {
    logits.data.iter_mut().enumerate().for_each(|(k, z)| *z += by(k, *z));
}

impl Model for Faulty {
    fn card(&self) -> &Card {
        self.inner.card()
    }

    fn predict(&self, examples: &[Example]) -> Result<Vec<Prediction>> {
        self.inner.predict(examples)
    }

    fn open(&self) -> Option<&dyn Open> {
        self.inner.open().map(|_| self as &dyn Open)
    }
}

impl Open for Faulty {
    fn encode(&self, example: &Example) -> Result<Encoded> {
        self.sound()?.encode(example)
    }

    fn token_id(&self, piece: &str) -> Option<u32> {
        self.inner.open()?.token_id(piece)
    }

    fn mask_id(&self) -> Option<u32> {
        self.inner.open()?.mask_id()
    }

    fn piece(&self, id: u32) -> Option<String> {
        self.inner.open()?.piece(id)
    }

    fn output_id(&self, piece: &str) -> Option<u32> {
        self.inner.open()?.output_id(piece)
    }

    fn output_piece(&self, id: u32) -> Option<String> {
        self.inner.open()?.output_piece(id)
    }

    fn writes(&self, rows: &[Row]) -> Result<Option<Vec<Vec<usize>>>> {
        self.sound()?.writes(&self.rows(rows))
    }

    fn word_embeddings(&self) -> Option<Array> {
        self.inner.open()?.word_embeddings()
    }

    fn sites(&self) -> &Sites {
        static NONE: Sites = Sites::new(Vec::new());
        self.inner.open().map_or(&NONE, Open::sites)
    }

    fn forward<'a>(&'a self, rows: &[Row], plan: &Plan) -> Result<Box<dyn Pass + 'a>> {
        let sound = self.sound()?;
        let inner = sound.forward(&self.rows(rows), plan)?;
        let unedited: Vec<Row> = rows.iter().map(|row| Row { edits: Vec::new(), ..row.clone() }).collect();
        let is_stale = matches!(self.fault, Fault::StaleKeep | Fault::StaleGradient);
        let stale = if is_stale { Some(sound.forward(&unedited, plan)?) } else { None };
        let logits = self.outputs(&*inner, plan);
        let pulled = Cell::new(0);
        Ok(Box::new(FaultyPass {
            inner,
            stale,
            logits,
            pulled,
            fault: self.fault,
            site: self.last_cut(),
            plan: plan.clone(),
        }))
    }

    fn jvp(&self, rows: &[Row], site: Site, directions: &[Array], keep: &[Site]) -> Result<Tangents> {
        let mut found = self.sound()?.jvp(rows, site, directions, keep)?;
        match self.fault {
            Fault::LongTangent => found.moved.iter_mut().flatten().for_each(|array| scale(array, 1.001)),
            Fault::NanTangent => found.moved.iter_mut().flatten().for_each(|array| array.data[0] = f32::NAN),
            _ => {}
        }
        Ok(found)
    }

    fn scores(&self, encoded: &Encoded, logits: &Logits) -> Result<Scores> {
        self.sound()?.scores(encoded, logits)
    }

    fn bytes(&self, row: &Row, plan: &Plan) -> usize {
        self.inner.open().map_or(0, |open| open.bytes(row, plan))
    }

    fn with_params(&self, overrides: Vec<(String, Array)>) -> Result<Arc<dyn Model>> {
        Ok(Arc::new(Self::new(self.sound()?.with_params(overrides)?, self.fault)))
    }
}

struct FaultyPass<'a> {
    inner: Box<dyn Pass + 'a>,
    stale: Option<Box<dyn Pass + 'a>>,
    logits: Vec<Logits>,
    pulled: Cell<usize>,
    fault: Fault,
    site: Option<Site>,
    plan: Plan,
}

impl FaultyPass<'_> {
    /// The right pass, or the stale one where that is the fault.
    fn unless(&self, fault: Fault) -> &dyn Pass {
        let stale = self.stale.as_ref().filter(|_| self.fault == fault);
        &**stale.unwrap_or(&self.inner)
    }
}

impl Pass for FaultyPass<'_> {
    fn outputs(&self) -> Site {
        self.inner.outputs()
    }

    fn logits(&self) -> &[Logits] {
        &self.logits
    }

    fn value(&self, site: Site, row: usize) -> Result<Array> {
        let mut value = self.unless(Fault::StaleKeep).value(site, row)?;
        if self.fault == Fault::NotFinite && Some(site) == self.site {
            value.data[0] = f32::NAN;
        }
        Ok(value)
    }

    fn backward(&self, seeds: &[Seed], wrt: &[Site], rules: Rules) -> Result<Vec<Vec<Array>>> {
        let mut found = self.unless(Fault::StaleGradient).backward(seeds, wrt, rules)?;
        self.pulled.set(self.pulled.get() + 1);
        for (site, rows) in wrt.iter().zip(&mut found) {
            let factor = match self.fault {
                Fault::SignFlip => -1.0,
                Fault::ZeroedGradient if Some(*site) == self.site => 0.0,
                Fault::Accumulating => self.pulled.get() as f32,
                _ => 1.0,
            };
            rows.iter_mut().for_each(|array| scale(array, factor));
            if self.fault == Fault::NanGradient && Some(*site) == self.site {
                rows.iter_mut().for_each(|array| array.data[0] = f32::NAN);
            }
        }
        Ok(found)
    }

    fn booked(&self, seeds: &[Seed], wrt: &[Site], rules: Rules) -> Result<Vec<f64>> {
        self.inner.booked(seeds, wrt, rules)
    }

    fn work(&self) -> Work {
        let work = self.inner.work();
        let lazy = self.fault == Fault::LazyStart && self.plan.start.is_some();
        if lazy { Work { ops: usize::MAX / 2, ..work } } else { work }
    }
}

fn scale(array: &mut Array, by: f32) {
    array.data.iter_mut().for_each(|x| *x *= by);
}
