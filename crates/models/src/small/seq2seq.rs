//! Sequences from sequences: a GRU in both directions reads the source, another writes the target and attends to it
//! (`decoder.rs` has the equations).
//!
//! A row holds both: the source between its markers as tokens of type 0, what is written as tokens of type 1, its end marker
//! included where it was written. At every place of the target the decoder has read `<s>` and what stands before it.
//!
//! B rows, Ts tokens of sources, W words among them, Tt places of targets (packed totals), d the width of word vectors, H that
//! of a state in one direction, V words of the target's vocabulary.

use super::decoder::{CELL, CONTEXT, Decoder, PROBS, SCORES, StepPlace};
use super::network::{FieldTokens, elements};
use super::states::{self, States};
use super::stepped::in_order;
use super::{Small, SmallAttention, SmallConfig};
use crate::encoder::{LOGITS, Network};
use crate::run::{Request, Run};
use crate::tokenizer::{END, START};
use crate::weights::{Param, Weights};
use exegete_core::{
    Axis, Encoded, Error, GroupKind, Plan, Record, Result, Role, Row, Site, SiteInfo, Sites, Task, Token,
};
use exegete_engine::{Context, Op, Scalar, Segments, Var};
use std::sync::Arc;

/// The word vectors of the source.
const SOURCE_WORDS: Site = Site::named("encoder.embed.word");
/// The states of the source.
const STATES: Site = Site::named("encoder.enc.out");
/// The vectors of the words that the decoder has read at each place of the target.
const TARGET_WORDS: Site = Site::named("decoder.embed.word");
/// A model may write this many words for each of the source, and a few more.
const MOST_PER_WORD: usize = 2;
const MOST_BESIDE: usize = 10;
/// No source is written from whose attention weights alone could be more numbers than this.
const MOST_WEIGHTS: usize = 1 << 27;

/// A reader and a writer.
pub(super) struct Seq2seq<T> {
    /// The word vectors of sources, \[Vs, d\].
    pub(super) word: Param<T>,
    /// The word vectors of targets, \[V, d\].
    target: Param<T>,
    states: States<T>,
    decoder: Decoder<T>,
    sites: Sites,
    /// The width inside the attention, for the estimate of memory.
    inner: usize,
}

impl<T: Scalar> Seq2seq<T> {
    pub(super) fn load(w: &mut Weights<'_, T>, small: &Small, task: &dyn Task) -> Result<Self> {
        let c = &small.config;
        let words = small.written().len();
        w.group_of(GroupKind::WordVectors, "embed");
        let word = w.get("embed.weight", &[small.vocabulary.len(), c.embedding])?;
        let target = w.get("decoder.embed.weight", &[words, c.embedding])?;
        w.group("encoder");
        let states = States::load(w, "encoder", "encoder.", c)?;
        let decoder = Decoder::load(w, c, words)?;
        let sites = sites(c, task.axes(&c.widths(words)));
        Ok(Self { word, target, states, decoder, sites, inner: c.attention_hidden })
    }

    /// The sources' states \[Ts, 2·H\] and the last of each \[B, 2·H\].
    fn encode(&self, run: &mut Run<'_, T>, source: &FieldTokens) -> Result<[Var<T>; 2]> {
        let x = run.cut(SOURCE_WORDS, |run| {
            let ids = run.ids();
            let ids = source.index.iter().map(|&at| ids[at]).collect();
            let table = run.param(&self.word); // [Vs, d]
            Ok(run.tape.apply(Op::Gather(ids), [table])) // [Ts, d]
        })?;
        let states = run.cut(STATES, |run| {
            let x = run.dropout_over(&source.segments, x, |rates| rates.embedding); // [Ts, d]
            self.states.forward(run, &source.segments, x) // [Ts, 2H]
        })?;
        let ends = self.states.ends(run, &source.segments, &states); // [B, 2H]
        let ends = ends.ok_or_else(|| Error::Model("a source is read by a recurrent layer".into()))?;
        Ok([states, ends])
    }

    /// What the decoder reads at each place: `<s>` and the target, or in training, where chance says so, what the model itself
    /// would have written there.
    fn read(&self, run: &Run<'_, T>, target: &Target) -> Result<Vec<usize>> {
        let mut read = Vec::with_capacity(target.words.len());
        for range in (0..target.segments.count()).map(|row| target.segments.range(row)) {
            read.push(START as usize);
            read.extend_from_slice(&target.words[range.start..range.end - 1]);
        }
        let longest = target.segments.lengths().max().unwrap_or(0);
        let own: Vec<bool> = (1..longest).map(|step| run.reads_own(step)).collect();
        if !own.contains(&true) {
            return Ok(read);
        }
        // What it writes is chosen as in use, without dropout: nothing is learned from the choice itself.
        let told = |row: usize, step: usize, _: usize| {
            let range = target.segments.range(row);
            let after = range.start + step + 1;
            let more = after < range.end;
            more.then(|| (!own[step]).then(|| read[after]))
        };
        let plain: Vec<Row> = run.rows().iter().map(|row| Row::new(row.encoded.clone())).collect();
        let written = self.written(run.tape.context(), &plain, None, told)?;
        for (row, words) in written.iter().enumerate() {
            let range = target.segments.range(row);
            for step in (1..range.len()).filter(|&step| own[step - 1]) {
                read[range.start + step] = words[step - 1];
            }
        }
        Ok(read)
    }

    /// The likeliest word at each place of each row, of several the one of the lowest number. `next` says, by row, step and the
    /// word found there, whether the row goes on, and what is read next where it is not that word. Rows with edits bring the
    /// places that these are about: no row then goes on beyond its target.
    fn written(
        &self,
        ctx: &Arc<Context<T>>,
        rows: &[Row],
        target: Option<&Target>,
        next: impl Fn(usize, usize, usize) -> Option<Option<usize>>,
    ) -> Result<Vec<Vec<usize>>> {
        let plan = Plan::default();
        let run = &mut Run::new(ctx.clone(), &self.sites, Request::new(rows, &plan))?;
        let source = FieldTokens::of(run.rows(), 0)?;
        let states = self.encode(run, &source)?;
        let totals = target.map_or((0, 0), |target| (target.segments.total(), target.weights.total()));
        let mut writing = self.decoder.begin(run, &source.content, states, totals)?;
        let mut written = vec![Vec::new(); rows.len()];
        let mut running: Vec<usize> = (0..rows.len()).collect();
        let mut words = vec![START as usize; rows.len()];
        for step in 0.. {
            let table = run.param(&self.target); // [V, d]
            let y = run.tape.apply(Op::Gather(words.as_slice().into()), [table]); // [n, d]
            let place = match target {
                Some(target) => target.place(&running, step, &source.content.segments),
                None => StepPlace { tokens: (0..running.len()).collect(), weights: Arc::from([]) },
            };
            let read = self.decoder.step(run, &mut writing, &place, y);
            let logits = self.decoder.logits(run, read).value; // [n, V]
            let mut still = Vec::new();
            words.clear();
            for (at, (&row, logits)) in running.iter().zip(logits.data().chunks(logits.cols())).enumerate() {
                let best = largest(logits);
                written[row].push(best);
                if let Some(told) = next(row, step, best) {
                    still.push(at);
                    words.push(told.unwrap_or(best));
                }
            }
            if still.is_empty() {
                break;
            }
            if still.len() < running.len() {
                running = still.iter().map(|&at| running[at]).collect();
                writing.keep(run, &still.into());
            }
        }
        Ok(written)
    }
}

impl<T: Scalar> Network<T> for Seq2seq<T> {
    fn sites(&self) -> &Sites {
        &self.sites
    }

    fn forward(&self, run: &mut Run<'_, T>) -> Result<()> {
        let (source, target) = (FieldTokens::of(run.rows(), 0)?, Target::of(run.rows())?);
        for segments in [&source.segments, &source.content.segments, &target.segments, &target.weights] {
            run.lay_out(segments);
        }
        let states = self.encode(run, &source)?;
        let read = self.read(run, &target)?;
        let table = run.param(&self.target); // [V, d]
        let words = run.tape.apply(Op::Gather(read.into()), [table]); // [Tt, d]
        let words = run.site(TARGET_WORDS, words)?;
        let words = run.dropout_over(&target.segments, words, |rates| rates.embedding); // [Tt, d]

        let totals = (target.segments.total(), target.weights.total());
        let mut writing = self.decoder.begin(run, &source.content, states, totals)?;
        let (mut running, mut found): (Vec<usize>, _) = ((0..target.segments.count()).collect(), Vec::new());
        for step in 0..target.segments.lengths().max().unwrap_or(0) {
            let still: Vec<usize> =
                (0..running.len()).filter(|&at| target.segments.len(running[at]) > step).collect();
            if still.len() < running.len() {
                running = still.iter().map(|&at| running[at]).collect();
                writing.keep(run, &still.into());
            }
            let place = target.place(&running, step, &source.content.segments);
            let y = run.tape.apply(Op::Gather(place.tokens.clone()), [words.clone()]); // [n, d]
            found.push((self.decoder.step(run, &mut writing, &place, y), place.tokens));
        }
        writing.finish(run)?;
        let wide = found.first().map_or(0, |(read, _)| read.value.cols());
        let found = in_order(run, found, (totals.0, wide)); // [Tt, ·]
        let logits = self.decoder.logits(run, found); // [Tt, V]
        run.site(LOGITS, logits)?;
        Ok(())
    }

    fn reads_words(&self, token: &Token) -> bool {
        token.type_id == 0
    }

    fn elements(&self, row: &Row, plan: &Plan) -> usize {
        let words = Axis::FieldContent(0).len(&row.encoded);
        let places = Axis::Target.len(&row.encoded);
        // Inside the attention every place of the target has a vector for every word of the source, and a step has one.
        let inside = match plan.record {
            Record::Nothing => 4 * words,
            Record::Gradient => 4 * words * places,
            Record::Lowered | Record::Paired => 16 * words * places,
        };
        elements(&self.sites, row, plan).saturating_add(inside.saturating_mul(self.inner))
    }

    fn learning_elements(&self, row: &Row) -> usize {
        elements(&self.sites, row, &Plan::default())
    }

    fn complete(&self, ctx: &Arc<Context<T>>, encoded: Encoded) -> Result<Encoded> {
        if encoded.tokens.iter().any(|token| token.type_id == 1) {
            return Ok(encoded);
        }
        let words = Axis::FieldContent(0).len(&encoded);
        let most = MOST_PER_WORD * words + MOST_BESIDE;
        if words.saturating_mul(most) > MOST_WEIGHTS {
            let gigabytes = (words * most * size_of::<T>()) as f64 / (1u64 << 30) as f64;
            return Err(Error::Input(format!(
                "a source of {words} words may be written from in {most} steps, whose attention weights alone take \
                 {gigabytes:.1} GiB; give a shorter source, or the target beside it"
            )));
        }
        let row = Row::new(encoded.clone());
        let until =
            |_: usize, step: usize, best: usize| (best != END as usize && step + 1 < most).then_some(None);
        let written = ctx.install(|| self.written(ctx, &[row], None, until))?.swap_remove(0);
        let mut encoded = encoded;
        encoded.tokens.extend(written.into_iter().map(|id| written_token(id as u32)));
        Ok(encoded)
    }

    fn writes(&self, ctx: &Arc<Context<T>>, rows: &[Row]) -> Result<Option<Vec<Vec<usize>>>> {
        let lengths: Vec<usize> = rows.iter().map(|row| Axis::Target.len(&row.encoded)).collect();
        if let Some(row) = lengths.iter().position(|&places| places == 0) {
            return Err(no_target(row));
        }
        let until = |row: usize, step: usize, _: usize| (step + 1 < lengths[row]).then_some(None);
        let target = Target::of(rows)?;
        ctx.install(|| self.written(ctx, rows, Some(&target), until)).map(Some)
    }
}

/// A token that stands for a word of the target: no unit of the user's text, since it is the answer.
pub(super) fn written_token(id: u32) -> Token {
    Token { id, type_id: 1, piece: String::new(), span: None, special: true, weight: None }
}

/// The targets of all rows.
struct Target {
    /// The words at all places, \[Tt\].
    words: Vec<usize>,
    segments: Segments,
    /// The attention weights of each row: places of the target times words of the source.
    weights: Segments,
}

impl Target {
    fn of(rows: &[Row]) -> Result<Self> {
        let (mut words, mut lengths, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for (i, row) in rows.iter().enumerate() {
            let own = row.encoded.tokens.iter().filter(|token| token.type_id == 1);
            let before = words.len();
            words.extend(own.map(|token| token.id as usize));
            if words.len() == before {
                return Err(no_target(i));
            }
            lengths.push(words.len() - before);
            weights.push((words.len() - before) * Axis::FieldContent(0).len(&row.encoded));
        }
        Ok(Self { words, segments: Segments::new(lengths), weights: Segments::new(weights) })
    }

    /// Where one step of some rows lies, whose sources have so many words.
    fn place(&self, rows: &[usize], step: usize, sources: &Segments) -> StepPlace {
        let weights = |&row: &usize| {
            let (first, words) = (self.weights.range(row).start, sources.len(row));
            first + step * words..first + (step + 1) * words
        };
        StepPlace {
            tokens: rows.iter().map(|&row| self.segments.range(row).start + step).collect(),
            weights: rows.iter().flat_map(weights).collect(),
        }
    }
}

fn no_target(row: usize) -> Error {
    Error::Request(format!(
        "row {row}: there is no target to write; encode a source with the model, which writes one"
    ))
}

/// The place of the largest number, the first of several.
fn largest<T: Scalar>(values: &[T]) -> usize {
    let larger = |best: usize, at: usize| if values[at].value() > values[best].value() { at } else { best };
    (0..values.len()).reduce(larger).unwrap_or(0)
}

/// Every place, in the order of computation.
fn sites(c: &SmallConfig, logits: Vec<Axis>) -> Sites {
    let (d, h, m, unit) = (c.embedding, c.hidden, c.width(), Axis::Neuron);
    let [token, target, content] = [Axis::FieldToken(0), Axis::Target, Axis::FieldContent(0)];
    let inner = |site: Site, part: &str, axes: [Axis; 2]| SiteInfo::new(site, part, Role::Inner, axes);
    let mut sites = vec![SiteInfo::new(SOURCE_WORDS, "encoder.embed", Role::Words, [token, unit(d)]).cut()];
    sites.extend(states::sites(c, "encoder.", token));
    sites.push(SiteInfo::new(STATES, "encoder.enc", Role::LayerOutput, [token, unit(m)]).cut());
    sites.push(inner(TARGET_WORDS, "decoder.embed", [target, unit(d)]));
    let cell = CELL.map(|(_, site)| inner(site, "decoder.0", [target, unit(h)]).stepwise());
    // Luong's decoder looks at the source after its step, the others before.
    let luong = c.attention == SmallAttention::Luong;
    // What it read moves its next look in Bahdanau's alone.
    let read = |info: SiteInfo| if c.attention == SmallAttention::Bahdanau { info.stepwise() } else { info };
    sites.extend(cell.iter().filter(|_| luong).cloned());
    if matches!(c.attention, SmallAttention::Bahdanau | SmallAttention::Luong) {
        sites.push(read(SiteInfo::new(SCORES, "decoder.attn", Role::Scores, [target, content])));
    }
    if c.attention != SmallAttention::None {
        sites.push(read(SiteInfo::new(PROBS, "decoder.attn", Role::Weights, [target, content])));
    }
    sites.push(read(inner(CONTEXT, "decoder.attn", [target, unit(m)])));
    sites.extend(cell.into_iter().filter(|_| !luong));
    sites.push(SiteInfo::new(LOGITS, "head", Role::Outputs, logits).carrying_all());
    Sites::new(sites)
}
