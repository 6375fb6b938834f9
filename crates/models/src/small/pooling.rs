//! From states to one vector: attention over the words of a text, markers left out.
//!
//! Additive attention: D. Bahdanau and others, *Neural machine translation by jointly learning to align and translate*, 2015;
//! as S. Jain and B. Wallace, *Attention is not explanation*, 2019, use both kinds for classifiers.

use super::states::site;
use super::{SmallAttention, SmallConfig};
use crate::blocks::Linear;
use crate::run::Run;
use crate::weights::Weights;
use exegete_core::{Result, Row, Site};
use exegete_engine::{Op, Scalar, Segments, Tensor, Unary, Var};
use std::sync::Arc;

/// The place of the scores before the softmax.
pub(super) const SCORES: Site = Site::named("attn.scores");
/// The place of the weights.
pub(super) const PROBS: Site = Site::named("attn.probs");

/// What weighs states, with its weights.
pub(super) struct Attention<T> {
    /// The places of its scores and of its weights.
    sites: [Site; 2],
    how: SmallAttention,
    /// W and b: \[m\] → \[a\].
    hidden: Option<Linear<T>>,
    /// U and c, where there is a query.
    query: Option<Linear<T>>,
    /// v, of shape \[1, a\], or \[1, m\] for dot attention without a query.
    score: Option<Linear<T>>,
}

/// Which rows of a field's packed states are words, and whose.
pub(super) struct Content {
    pub(super) index: Arc<[usize]>,
    pub(super) segments: Segments,
}

impl<T: Scalar> Attention<T> {
    /// The tensors below `attention`, after a prefix that its places have too.
    pub(super) fn load(w: &mut Weights<'_, T>, prefix: &str, c: &SmallConfig) -> Result<Self> {
        let sites = [SCORES, PROBS].map(|place| site(prefix, place.name()));
        let (m, a, asked) = (c.width(), c.attention_hidden, c.fields() == 2);
        let mut score = |width: usize| {
            let weight = w.get(&format!("{prefix}attention.score.weight"), &[1, width])?;
            Ok::<_, exegete_core::Error>(Some(Linear { weight, bias: None }))
        };
        Ok(match c.attention {
            SmallAttention::Additive => {
                let score = score(a)?;
                let mut linear = |name| Linear::load(w, &format!("{prefix}attention.{name}"), m, a);
                let hidden = Some(linear("hidden")?);
                let query = asked.then(|| linear("query")).transpose()?;
                Self { sites, how: c.attention, hidden, query, score }
            }
            SmallAttention::Dot => {
                let score = if asked { None } else { score(m)? };
                Self { sites, how: c.attention, hidden: None, query: None, score }
            }
            how => Self { sites, how, hidden: None, query: None, score: None },
        })
    }

    /// States \[T, m\] and perhaps a query \[B, m\] → one vector \[B, m\]; `ends` are the last states, where there are any.
    pub(super) fn forward(
        &self,
        run: &mut Run<'_, T>,
        content: &Content,
        states: Var<T>,
        query: Option<Var<T>>,
        ends: Option<Var<T>>,
    ) -> Result<Var<T>> {
        if let (SmallAttention::None, Some(ends)) = (self.how, ends) {
            return Ok(ends); // [B, m]
        }
        let segments = &content.segments;
        let words = run.tape.apply(Op::Gather(content.index.clone()), [states]); // [W, m]
        let probs = match self.how {
            SmallAttention::None => return Ok(run.tape.segment_mean(segments, words)), // [B, m]
            SmallAttention::Max => {
                let largest = run.tape.apply(Op::SegmentMax(segments.clone()), [words]); // [B, m]
                return Ok(run.tape.apply(Op::Unary(Unary::Relu), [largest])); // [B, m]
            }
            SmallAttention::Uniform => uniform(segments), // [W, 1]
            SmallAttention::Imposed => imposed(run.rows(), segments), // [W, 1]
            // The last two are a decoder's, and no config of a classifier names them.
            SmallAttention::Additive
            | SmallAttention::Dot
            | SmallAttention::Bahdanau
            | SmallAttention::Luong => {
                let scores = self.scores(run, segments, words.clone(), query); // [W, 1]
                let scores = run.site(self.sites[0], scores)?;
                run.tape.segment_softmax(segments, scores) // [W, 1]
            }
        };
        let probs = run.site(self.sites[1], probs)?;
        Ok(run.tape.segment_weighted_sum(segments, probs, words)) // [B, m]
    }

    fn scores(
        &self,
        run: &mut Run<'_, T>,
        segments: &Segments,
        words: Var<T>,
        query: Option<Var<T>>,
    ) -> Var<T> {
        let m = words.value.cols();
        let (Some(score), hidden) = (&self.score, &self.hidden) else {
            // Without v it is the query that states are compared with.
            let Some(query) = query else { return run.tape.apply(Op::RowSum, [words]) };
            let spread = run.tape.apply(Op::Gather(segments.owners()), [query]); // [W, m]
            let product = run.tape.apply(Op::Mul, [words, spread]); // [W, m]
            let sum = run.tape.apply(Op::RowSum, [product]); // [W, 1]
            return run.tape.apply(Op::Scale(1.0 / (m as f64).sqrt()), [sum]); // [W, 1]
        };
        let Some(hidden) = hidden else {
            let product = score.forward(run, words); // [W, 1]
            return run.tape.apply(Op::Scale(1.0 / (m as f64).sqrt()), [product]); // [W, 1]
        };
        let mut inner = hidden.forward(run, words); // [W, a]
        if let (Some(linear), Some(query)) = (&self.query, query) {
            let asked = linear.forward(run, query); // [B, a]
            let spread = run.tape.apply(Op::Gather(segments.owners()), [asked]); // [W, a]
            inner = run.tape.apply(Op::Add, [inner, spread]); // [W, a]
        }
        let inner = run.tape.apply(Op::Unary(Unary::Tanh), [inner]); // [W, a]
        score.forward(run, inner) // [W, 1]
    }
}

/// The weights that the texts bring along. Of a text that words were taken from, those of the others sum to one again.
fn imposed<T: Scalar>(rows: &[Row], segments: &Segments) -> Var<T> {
    let words = |row: &Row| {
        let words = row.encoded.tokens.iter().filter(|token| token.type_id == 0 && !token.special);
        let weights: Vec<f64> = words.map(|token| f64::from(token.weight.unwrap_or(0.0))).collect();
        let sum: f64 = weights.iter().sum();
        let even = 1.0 / weights.len().max(1) as f64;
        weights.into_iter().map(|w| T::from_f64(if sum > 0.0 { w / sum } else { even })).collect::<Vec<T>>()
    };
    let weights: Vec<T> = rows.iter().flat_map(words).collect();
    debug_assert_eq!(weights.len(), segments.total());
    Tensor::new(weights.len(), 1, weights).into()
}

/// 1/n for each of a text's n words.
pub(super) fn uniform<T: Scalar>(segments: &Segments) -> Var<T> {
    let share = |b: usize| {
        let n = segments.len(b);
        std::iter::repeat_n(T::from_f64(1.0 / n.max(1) as f64), n)
    };
    let shares: Vec<T> = (0..segments.count()).flat_map(share).collect();
    Tensor::new(shares.len(), 1, shares).into()
}
