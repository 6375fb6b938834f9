//! One step of a decoder that attends to a source: D. Bahdanau and others, *Neural machine translation by jointly learning to
//! align and translate*, 2015, and T. Luong and others, *Effective approaches to attention-based neural machine translation*,
//! 2015 (their global attention with the general score, without input feeding).
//!
//! With the source's states h_j, the decoder's state s_t and the word y_{t−1} that was written last:
//!
//! - bahdanau: e_tj = v·tanh(W \[s_{t−1}; h_j\] + b), c_t = Σ_j α_tj h_j, s_t = GRU(\[y_{t−1}; c_t\], s_{t−1}), and what is written is
//!   read from \[s_t; c_t; y_{t−1}\]
//! - luong: s_t = GRU(y_{t−1}, s_{t−1}), e_tj = s_t·W_a h_j, and it is read from tanh(W_c \[c_t; s_t\] + b_c)
//! - uniform and none: as bahdanau, with α = 1/n, and with the last states of the source for every c_t
//!
//! n rows still run in a step; W words of their sources, d the width of word vectors, H that of the decoder's state, a that
//! inside the attention, V words of the target's vocabulary.

use super::pooling::{Content, uniform};
use super::stepped::Stepped;
use super::{SmallAttention, SmallConfig};
use crate::blocks::Linear;
use crate::run::Run;
use crate::weights::{Param, Weights};
use exegete_core::{ParameterGroup, Result, Site};
use exegete_engine::{
    CellLook, CellPart, Context, Mode, Op, RecurrentCell, RecurrentStepper, RecurrentWeights, Scalar,
    Segments, Tape, Tensor, Unary, Var,
};
use std::sync::Arc;

/// The scores of source words at each place of the target.
pub(super) const SCORES: Site = Site::named("decoder.attn.scores");
/// The weights of source words at each place of the target.
pub(super) const PROBS: Site = Site::named("decoder.attn.probs");
/// What was read of the source at each place of the target.
pub(super) const CONTEXT: Site = Site::named("decoder.context");
/// The places inside the decoder's cell, in the order of computation.
pub(super) const CELL: [(CellPart, Site); 4] = [
    (CellPart::Reset, Site::named("decoder.0.r")),
    (CellPart::Update, Site::named("decoder.0.z")),
    (CellPart::Candidate, Site::named("decoder.0.n")),
    (CellPart::Hidden, Site::named("decoder.0.hidden")),
];

/// What writes, with its weights.
pub(super) struct Decoder<T> {
    how: SmallAttention,
    bridge: Linear<T>,
    /// PyTorch's four tensors of a GRU.
    cell: [Param<T>; 4],
    /// W of the scores: \[a, H + 2·H\] and b, of luong W_a \[H, 2·H\].
    hidden: Option<Linear<T>>,
    /// v, of shape \[1, a\].
    score: Option<Linear<T>>,
    /// W_c: \[2·H + H\] → \[H\].
    mixed: Option<Linear<T>>,
    out: Linear<T>,
}

/// What the rows that still run know of their sources.
struct Source<T> {
    /// The states of their words \[W, 2·H\].
    states: Var<T>,
    /// What the source adds to every score: \[W, a\], of luong \[W, H\].
    keys: Option<Var<T>>,
    /// The last states \[n, 2·H\], where they are all that is read.
    ends: Option<Var<T>>,
    segments: Segments,
}

/// A decoder in the middle of its work.
pub(super) struct Writing<T> {
    source: Source<T>,
    /// The state before the step, s_{t−1} \[n, H\].
    state: Var<T>,
    /// The weight of s_{t−1} in scores \[a, H\].
    query: Option<Var<T>>,
    stepper: RecurrentStepper<T>,
    scores: Stepped<T>,
    probs: Stepped<T>,
    context: Stepped<T>,
    /// The places inside the cell that somebody looks at.
    looks: Vec<Site>,
}

/// Where a step lies in the values of all steps.
pub(super) struct StepPlace {
    /// Of each row that still runs, its place of the target among those of all rows.
    pub(super) tokens: Arc<[usize]>,
    /// Of each word of their sources, its weight among those of all rows.
    pub(super) weights: Arc<[usize]>,
}

impl<T: Scalar> Decoder<T> {
    pub(super) fn load(w: &mut Weights<'_, T>, c: &SmallConfig, vocabulary: usize) -> Result<Self> {
        let (d, h, m, a) = (c.embedding, c.hidden, c.width(), c.attention_hidden);
        let how = c.attention;
        let luong = how == SmallAttention::Luong;
        w.group("decoder");
        let bridge = Linear::load(w, "decoder.bridge", m, h)?;
        let input = if luong { d } else { d + m };
        let mut get = |name: &str, shape: &[usize]| w.get(&format!("decoder.rnn.{name}_l0"), shape);
        let cell = [
            get("weight_ih", &[3 * h, input])?,
            get("weight_hh", &[3 * h, h])?,
            get("bias_ih", &[3 * h])?,
            get("bias_hh", &[3 * h])?,
        ];
        let mut plain = |path: &str, shape: [usize; 2]| {
            let weight = w.get(&format!("decoder.attention.{path}.weight"), &shape)?;
            Ok::<_, exegete_core::Error>(Linear { weight, bias: None })
        };
        let (hidden, score) = match how {
            SmallAttention::Bahdanau => {
                let score = plain("score", [1, a])?;
                (Some(Linear::load(w, "decoder.attention.hidden", h + m, a)?), Some(score))
            }
            SmallAttention::Luong => (Some(plain("hidden", [h, m])?), None),
            _ => (None, None),
        };
        let mixed = luong.then(|| Linear::load(w, "decoder.attention.context", m + h, h)).transpose()?;
        w.group(ParameterGroup::HEAD);
        let read = if luong { h } else { h + m + d };
        let out = Linear::load(w, "decoder.out", read, vocabulary)?;
        Ok(Self { how, bridge, cell, hidden, score, mixed, out })
    }

    /// Before the first step, over targets of so many places and source words: the sources' states \[Ts, 2·H\], and the last of
    /// each \[B, 2·H\].
    pub(super) fn begin(
        &self,
        run: &mut Run<'_, T>,
        content: &Content,
        [states, ends]: [Var<T>; 2],
        (places, weights): (usize, usize),
    ) -> Result<Writing<T>> {
        let bridged = self.bridge.forward(run, ends.clone()); // [B, H]
        let state = run.tape.apply(Op::Unary(Unary::Tanh), [bridged]); // [B, H]
        let words = run.tape.apply(Op::Gather(content.index.clone()), [states]); // [W, 2H]
        let (keys, query) = self.keys(run, &words);
        let [input, hidden, input_bias, hidden_bias] = self.cell.each_ref().map(|param| run.param(param));
        let cell = RecurrentWeights { reverse: false, input, hidden, input_bias, hidden_bias, start: None };
        let (mut sites, mut looks) = (Vec::new(), Vec::new());
        for (part, site) in CELL {
            if let Some((patch, watch)) = run.look(site)? {
                sites.push(site);
                looks.push(CellLook { part, patch, watch });
            }
        }
        let wide = words.value.cols();
        Ok(Writing {
            source: Source {
                states: words,
                keys,
                ends: (self.how == SmallAttention::None).then_some(ends),
                segments: content.segments.clone(),
            },
            state,
            query,
            stepper: RecurrentStepper::new(&mut run.tape, RecurrentCell::Gru, cell, places, looks),
            scores: Stepped::new(run, SCORES, (weights, 1))?,
            probs: Stepped::new(run, PROBS, (weights, 1))?,
            context: Stepped::new(run, CONTEXT, (places, wide))?,
            looks: sites,
        })
    }

    /// What scores are made of and no step changes: the part of each source word, and the weight of the state.
    fn keys(&self, run: &mut Run<'_, T>, words: &Var<T>) -> (Option<Var<T>>, Option<Var<T>>) {
        let Some(hidden) = &self.hidden else { return (None, None) };
        let weight = run.param(&hidden.weight); // [a, H + 2H], of luong [H, 2H]
        let Some(bias) = &hidden.bias else {
            return (Some(run.tape.apply(Op::Linear, [words.clone(), weight])), None); // [W, H]
        };
        let (own, all) = (weight.value.cols() - words.value.cols(), weight.value.cols());
        let query = run.tape.apply(Op::Columns(0, own), [weight.clone()]); // [a, H]
        let weight = run.tape.apply(Op::Columns(own, all), [weight]); // [a, 2H]
        let bias = run.param(bias);
        (Some(run.tape.apply(Op::Linear, [words.clone(), weight, bias])), Some(query)) // [W, a]
    }

    /// One step: the vectors of the words written last \[n, d\] → what the next word is read from.
    pub(super) fn step(
        &self,
        run: &mut Run<'_, T>,
        writing: &mut Writing<T>,
        at: &StepPlace,
        word: Var<T>,
    ) -> Var<T> {
        if self.how == SmallAttention::Luong {
            let state = writing.stepper.step(&mut run.tape, &at.tokens, word, writing.state.clone()); // [n, H]
            writing.state = state.clone();
            let context = self.context(run, writing, at, state.clone()); // [n, 2H]
            let both = run.tape.apply(Op::JoinColumns, [context, state]); // [n, 2H + H]
            let Some(mixed) = &self.mixed else { return both };
            let mixed = mixed.forward(run, both); // [n, H]
            return run.tape.apply(Op::Unary(Unary::Tanh), [mixed]); // [n, H]
        }
        let context = self.context(run, writing, at, writing.state.clone()); // [n, 2H]
        let both = run.tape.apply(Op::JoinColumns, [word.clone(), context.clone()]); // [n, d + 2H]
        let state = writing.stepper.step(&mut run.tape, &at.tokens, both, writing.state.clone()); // [n, H]
        writing.state = state.clone();
        run.tape.apply(Op::JoinColumns, [state, context, word]) // [n, H + 2H + d]
    }

    /// What a state reads of its source: \[n, H\] → \[n, 2·H\].
    fn context(
        &self,
        run: &mut Run<'_, T>,
        writing: &mut Writing<T>,
        at: &StepPlace,
        state: Var<T>,
    ) -> Var<T> {
        let segments = writing.source.segments.clone();
        let read = match (&writing.source.ends, self.how) {
            (Some(ends), _) => ends.clone(), // [n, 2H]
            (None, how) => {
                let probs = if how == SmallAttention::Uniform {
                    uniform(&segments) // [W, 1]
                } else {
                    let scores = self.scores(run, writing, state); // [W, 1]
                    let scores = writing.scores.see(run, &at.weights, scores);
                    run.tape.segment_softmax(&segments, scores) // [W, 1]
                };
                let probs = writing.probs.see(run, &at.weights, probs);
                run.tape.segment_weighted_sum(&segments, probs, writing.source.states.clone()) // [n, 2H]
            }
        };
        writing.context.see(run, &at.tokens, read)
    }

    /// e_tj of every source word: \[n, H\] → \[W, 1\].
    fn scores(&self, run: &mut Run<'_, T>, writing: &Writing<T>, state: Var<T>) -> Var<T> {
        let Source { keys, states, segments, .. } = &writing.source;
        let keys = keys.clone().unwrap_or_else(|| states.clone());
        let (Some(query), Some(score)) = (&writing.query, &self.score) else {
            let spread = run.tape.apply(Op::Gather(segments.owners()), [state]); // [W, H]
            let product = run.tape.apply(Op::Mul, [keys, spread]); // [W, H]
            return run.tape.apply(Op::RowSum, [product]); // [W, 1]
        };
        let asked = run.tape.apply(Op::Linear, [state, query.clone()]); // [n, a]
        let spread = run.tape.apply(Op::Gather(segments.owners()), [asked]); // [W, a]
        let inner = run.tape.apply(Op::Add, [keys, spread]); // [W, a]
        let inner = run.tape.apply(Op::Unary(Unary::Tanh), [inner]); // [W, a]
        score.forward(run, inner) // [W, 1]
    }

    /// The likeliest next word of each row of what a step gave, of several the one of the lowest number; on no tape.
    pub(super) fn likeliest(&self, ctx: &Arc<Context<T>>, read: &Tensor<T>) -> Vec<usize> {
        let Linear { weight, bias } = &self.out;
        let values = [Some(weight), bias.as_ref()].into_iter().flatten().map(|param| param.value.clone());
        let inputs: Vec<Var<T>> = [read.clone()].into_iter().chain(values).map(Var::from).collect();
        let logits = Tape::new(ctx.clone(), Mode::Off).apply(Op::Linear, inputs).value; // [n, V]
        logits.data().chunks(logits.cols()).map(largest).collect()
    }

    /// What steps gave → logits over the target's vocabulary \[·, V\].
    pub(super) fn logits(&self, run: &mut Run<'_, T>, read: Var<T>) -> Var<T> {
        self.out.forward(run, read)
    }
}

impl<T: Scalar> Writing<T> {
    /// Goes on with some of the rows, by their places among those that ran so far.
    pub(super) fn keep(&mut self, run: &mut Run<'_, T>, rows: &Arc<[usize]>) {
        let Source { states, keys, ends, segments } = &mut self.source;
        let words: Arc<[usize]> = rows.iter().flat_map(|&row| segments.range(row)).collect();
        *segments = Segments::new(rows.iter().map(|&row| segments.len(row)));
        let mut gather = |value: &mut Var<T>, index: &Arc<[usize]>| {
            *value = run.tape.apply(Op::Gather(index.clone()), [value.clone()]);
        };
        gather(states, &words); // [W, 2H]
        keys.iter_mut().for_each(|keys| gather(keys, &words)); // [W, a]
        ends.iter_mut().for_each(|ends| gather(ends, rows)); // [n, 2H]
        gather(&mut self.state, rows); // [n, H]
    }

    /// Hands over what was seen in all steps.
    pub(super) fn finish(self, run: &mut Run<'_, T>) -> Result<()> {
        let seen = self.stepper.finish(&mut run.tape);
        self.looks.into_iter().zip(seen).try_for_each(|(site, seen)| run.looked(site, seen))?;
        self.scores.finish(run)?;
        self.probs.finish(run)?;
        self.context.finish(run)
    }
}

/// The place of the largest number, the first of several.
fn largest<T: Scalar>(values: &[T]) -> usize {
    let larger = |best: usize, at: usize| if values[at].value() > values[best].value() { at } else { best };
    (0..values.len()).reduce(larger).unwrap_or(0)
}
