//! Runs rows within a memory budget and counts what was spent. Every method reaches a model through this.

mod counted;
mod learn;
mod memory;
mod moved;
mod read;
mod resume;
mod watch;

use crate::{Array, Error, Open, Pass, Plan, Result, Row, Site, Tangents, Work};
use counted::Counted;
pub use learn::Supervised;
pub use memory::{CacheStore, Key, PredictionCache};
use moved::Moved;
use serde::Serialize;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
pub use watch::Advance;

/// Cuts rows into micro-batches, resumes edited rows from the last cut before their edits, and counts.
#[derive(Debug)]
pub struct Driver {
    /// The most bytes of activations alive at once; weights are apart.
    pub memory_bytes: usize,
    /// The most tokens in one micro-batch: enough to keep every thread busy, not so many that a corpus needs much memory.
    pub batch_tokens: usize,
    /// Set from anywhere, it stops the work before the next batch; what was read until then stays remembered.
    pub stop: Arc<AtomicBool>,
    spent: Mutex<Spent>,
    memory: Mutex<PredictionCache>,
    watcher: watch::Watcher,
    texts: AtomicUsize,
}

/// What a driver has spent so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Spent {
    /// How many rows were run forward.
    pub forward_rows: usize,
    /// Rows that were asked for again and not run again.
    pub remembered_rows: usize,
    /// Rows run backward, counted once a backward call.
    pub backward_rows: usize,
    /// Floating-point operations in matrix products.
    pub flops: u64,
    /// Operations of the engine.
    pub ops: usize,
    /// The most bytes of activations alive at once.
    pub peak_bytes: usize,
}

impl Spent {
    /// What was spent after an earlier time.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            forward_rows: self.forward_rows - before.forward_rows,
            remembered_rows: self.remembered_rows - before.remembered_rows,
            backward_rows: self.backward_rows - before.backward_rows,
            flops: self.flops - before.flops,
            ops: self.ops - before.ops,
            peak_bytes: self.peak_bytes,
        }
    }
}

/// Rows of a model under a plan.
#[derive(Clone, Copy)]
struct Planned<'a> {
    open: &'a dyn Open,
    rows: &'a [Row],
    plan: &'a Plan,
}

impl Planned<'_> {
    fn at(self, range: Range<usize>) -> Self {
        Self { rows: &self.rows[range], ..self }
    }
}

/// Runs the rows of one micro-batch.
type Batch<'a> = &'a mut dyn FnMut(Range<usize>) -> Result<()>;

/// What a run of micro-batches is handed to: the rows' places in the whole, and their pass.
type Visit<'a> = &'a mut dyn FnMut(Range<usize>, &dyn Pass) -> Result<()>;

/// Room for what models answered: enough for half a million rows of a classifier.
const MEMORY_BYTES: usize = 64 << 20;

impl Default for Driver {
    fn default() -> Self {
        Self::new(2 << 30)
    }
}

impl Driver {
    /// A driver with this budget for activations.
    pub fn new(memory_bytes: usize) -> Self {
        let memory = Mutex::new(PredictionCache::new(MEMORY_BYTES));
        Self {
            memory_bytes,
            batch_tokens: 2048,
            stop: Arc::default(),
            spent: Mutex::default(),
            memory,
            watcher: watch::Watcher::default(),
            texts: AtomicUsize::default(),
        }
    }

    /// The same with another memory of what was answered.
    #[must_use]
    pub fn remembering(self, memory: PredictionCache) -> Self {
        Self { memory: Mutex::new(memory), ..self }
    }

    /// What was spent since the driver was made.
    pub fn spent(&self) -> Spent {
        *self.counter()
    }

    /// Runs rows in order, in micro-batches within the budget, and hands each pass to `visit`.
    ///
    /// Rows that share a text and are edited late are resumed from the last cut before their edits, so that what
    /// comes before is computed once a text.
    fn passes(&self, open: &dyn Open, rows: &[Row], plan: &Plan, visit: Visit) -> Result<()> {
        plan.check_pairs(rows)?;
        let all = Planned { open, rows, plan };
        match resume::Resumption::find(open, rows, plan, self.memory_bytes / 4) {
            Some(resumption) => self.resumed(all, &resumption, visit),
            None => self.batches(all, self.memory_bytes, &mut |range| {
                self.one_pass(all.at(range.clone()), range, visit)
            }),
        }
    }

    /// The same with how the kept sites move where every row moves along one direction at a site: see [`Open::jvp`].
    fn moves(&self, all: Planned<'_>, (site, direction): (Site, &Array), visit: Visit) -> Result<()> {
        let Planned { open, rows, plan } = all;
        let outputs = open.sites().outputs()?;
        // Every number has a tangent beside it.
        self.batches(all, self.memory_bytes / 2, &mut |range| {
            self.check_stop()?;
            let directions = vec![direction.clone(); range.len()];
            let Tangents { moved, work } = open.jvp(&rows[range.clone()], site, &directions, &plan.keep)?;
            self.count(range.len(), 0, work);
            let outcome = visit(range, &Moved { outputs, sites: &plan.keep, moved });
            self.tell();
            outcome
        })
    }

    fn resumed(&self, all: Planned<'_>, resumption: &resume::Resumption, visit: Visit) -> Result<()> {
        let Planned { open, rows, plan } = all;
        let mut starts = Vec::with_capacity(resumption.bases.len());
        let keep = Plan::keep([resumption.cut]);
        let bases = Planned { open, rows: &resumption.bases, plan: &keep };
        let run = &mut |range: Range<usize>| {
            self.one_pass(bases.at(range.clone()), range, &mut |range, pass| {
                for row in 0..range.len() {
                    starts.push(pass.value(resumption.cut, row)?.into());
                }
                Ok(())
            })
        };
        self.batches(bases, self.memory_bytes, run)?;
        let plan = plan.clone().starting_at(resumption.cut);
        let left = self.memory_bytes - resumption.bytes;
        let run = &mut |range: Range<usize>| {
            let batch = resumption.rows(&rows[range.clone()], &starts);
            self.one_pass(Planned { open, rows: &batch, plan: &plan }, range, visit)
        };
        self.batches(Planned { open, rows, plan: &plan }, left, run)
    }

    /// Cuts rows, in order, into the largest batches that fit; rows that belong together stay together.
    fn batches(&self, all: Planned<'_>, memory_bytes: usize, run: Batch) -> Result<()> {
        let Planned { open, rows, plan } = all;
        self.pieces(rows, plan.group(), memory_bytes, &|row| open.bytes(row, plan), run)
    }

    /// The same where `bytes_of` says what a row needs and `group` rows belong together.
    fn pieces(
        &self,
        rows: &[Row],
        group: usize,
        memory_bytes: usize,
        bytes_of: &dyn Fn(&Row) -> usize,
        run: Batch,
    ) -> Result<()> {
        let (mut first, mut tokens, mut bytes) = (0, 0, 0);
        for (i, rows) in rows.chunks(group).enumerate() {
            let i = i * group;
            let more_tokens = rows.iter().map(|row| row.encoded.len()).sum::<usize>();
            let more_bytes = rows.iter().map(bytes_of).sum();
            if more_bytes > memory_bytes {
                return Err(too_large(rows, more_bytes, memory_bytes));
            }
            if i > first && (tokens + more_tokens > self.batch_tokens || bytes + more_bytes > memory_bytes) {
                run(first..i)?;
                (first, tokens, bytes) = (i, 0, 0);
            }
            tokens += more_tokens;
            bytes += more_bytes;
        }
        if first < rows.len() { run(first..rows.len()) } else { Ok(()) }
    }

    fn one_pass(&self, all: Planned<'_>, range: Range<usize>, visit: Visit) -> Result<()> {
        let Planned { open, rows, plan } = all;
        self.check_stop()?;
        let pass = Counted::new(open.forward(rows, plan)?);
        let outcome = visit(range, &pass);
        self.count(rows.len(), pass.backward_rows(), pass.work());
        self.tell();
        outcome
    }

    /// Books what a batch cost.
    fn count(&self, forward_rows: usize, backward_rows: usize, work: Work) {
        let mut spent = self.counter();
        spent.forward_rows += forward_rows;
        spent.backward_rows += backward_rows;
        spent.flops += work.flops;
        spent.ops += work.ops;
        spent.peak_bytes = spent.peak_bytes.max(work.peak_bytes);
    }

    /// A count stays a count, even where another thread panicked while it held the lock.
    fn counter(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_large(group: &[Row], needed: usize, allowed: usize) -> Error {
    let tokens = group.first().map_or(0, |row| row.encoded.len());
    let with = if group.len() > 1 { " and its baseline need" } else { " needs" };
    Error::Request(format!(
        "one text of {tokens} tokens{with} {needed} bytes of activations, {allowed} are allowed; raise --memory or shorten it"
    ))
}
