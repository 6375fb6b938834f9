//! A penalty on attention that goes to some words: D. Pruthi and others, *Learning to deceive with attention-based
//! explanations*, 2020.
//!
//! For a row of attention α with scores s before its softmax, and m marking what it should not read,
//! R = −λ ln(1 − αᵀm) = λ·(ln Σ_t exp s_t − ln Σ_{t: m_t = 0} exp s_t). It is computed from the scores, since 1 − αᵀm itself rounds to zero
//! where all the weight is on marked words, which is where the penalty must have a slope.

use super::{Forward, supervised};
use crate::train::TrainingLoss;
use exegete_core::{Encoded, Result, Site};
use exegete_engine::{Op, Patch, Scalar, Segments, Var};
use std::sync::Arc;

/// The rows of one text's attention that are penalised: where each begins in the text's own value at the site of the
/// scores, and which of its elements are marked.
pub type MarkedRows = dyn Fn(&Encoded) -> Vec<(usize, Vec<bool>)> + Send + Sync;

/// The penalty on a text's rows of attention.
pub struct AttentionPenalty {
    /// Where the scores before the softmax are.
    pub scores: Site,
    /// Which rows, and what is marked in them.
    pub marked: Box<MarkedRows>,
    /// How a text's rows become one number.
    pub over: PenaltyOver,
    /// λ, from 0 up.
    pub weight: f64,
}

/// How the penalties of a text's rows of attention become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PenaltyOver {
    /// The mean over all rows.
    Mean,
    /// The largest of any row.
    Worst,
}

/// Stands in for the score of what a row leaves out: no weight in single precision, and no infinity to subtract.
const NOTHING: f64 = -1e30;

impl AttentionPenalty {
    /// The supervised loss with the penalty added, for training; the name tells it from others.
    pub fn training_loss(self, name: String) -> TrainingLoss {
        let reads = vec![self.scores];
        TrainingLoss { name, reads, losses: Box::new(move |forward| self.losses(forward)) }
    }

    /// The supervised loss of every row, with the penalty added: \[B, 1\].
    pub fn losses<T: Scalar>(&self, forward: &mut Forward<'_, T>) -> Result<Var<T>> {
        let task = supervised(forward)?;
        let penalties = if self.weight > 0.0 { self.penalties(forward)? } else { None };
        Ok(match penalties {
            Some(penalties) => forward.tape.apply(Op::Add, [task, penalties]), // [B, 1]
            None => task,
        })
    }

    /// R of every text, zero where none of its rows can be penalised: \[B, 1\]. None where that is so of all texts.
    fn penalties<T: Scalar>(&self, forward: &mut Forward<'_, T>) -> Result<Option<Var<T>>> {
        let rows = self.rows(forward);
        let segments = Segments::new(rows.iter().map(Vec::len));
        let rows: Vec<(usize, Vec<bool>)> = rows.into_iter().flatten().collect();
        let Some(longest) = rows.iter().map(|(_, marked)| marked.len()).max() else { return Ok(None) };
        let scores = forward.value(self.scores)?;
        let tape = &mut *forward.tape;
        let count = scores.value.rows() * scores.value.cols();
        let flat = tape.apply(Op::Reshape(count, 1), [scores]); // [S, 1]
        let index: Arc<[usize]> = rows
            .iter()
            .flat_map(|(start, marked)| (0..longest).map(move |t| start + t.min(marked.len() - 1)))
            .collect();
        let square = tape.apply(Op::Gather(index), [flat]); // [R·W, 1]
        let square = tape.apply(Op::Reshape(rows.len(), longest), [square]); // [R, W]
        let all = without(&rows, longest, |marked, t| t >= marked.len());
        let all = tape.apply(Op::Patch(Arc::new(all)), [square]); // [R, W]
        let allowed = without(&rows, longest, |marked, t| marked.get(t) == Some(&true));
        let allowed = tape.apply(Op::Patch(Arc::new(allowed)), [all.clone()]); // [R, W]
        // ln softmax is a score less its row's ln Σ exp, so that at one permissible place the difference is that of the sums.
        let free: Arc<[usize]> =
            rows.iter().map(|(_, marked)| marked.iter().position(|&m| !m).unwrap_or(0)).collect();
        let [all, allowed] = [all, allowed].map(|scores| {
            let log_probs = tape.apply(Op::LogSoftmax, [scores]); // [R, W]
            tape.apply(Op::Pick(free.clone()), [log_probs]) // [R, 1]
        });
        let each = tape.apply(Op::Sub, [allowed, all]); // [R, 1]
        let texts = match self.over {
            PenaltyOver::Mean => tape.segment_mean(&segments, each),
            PenaltyOver::Worst => tape.apply(Op::SegmentMax(segments), [each]),
        }; // [B, 1]
        Ok(Some(tape.apply(Op::Scale(self.weight), [texts])))
    }

    /// The rows of each text that hold both kinds of words, by where they begin in the packed scores.
    fn rows<T: Scalar>(&self, forward: &Forward<'_, T>) -> Vec<Vec<(usize, Vec<bool>)>> {
        let Some(kept) = forward.kept.get(&self.scores) else { return Vec::new() };
        let of_text = |(row, part): (&exegete_core::Row, &crate::run::Part)| {
            let found = (self.marked)(&row.encoded).into_iter();
            let mixed = found.filter(|(_, marked)| marked.contains(&true) && marked.contains(&false));
            mixed.map(|(start, marked)| (part.start + start, marked)).collect()
        };
        forward.rows.iter().zip(&kept.parts).map(of_text).collect()
    }
}

/// The change that takes elements out of rows of this width.
fn without<T: Scalar>(
    rows: &[(usize, Vec<bool>)],
    width: usize,
    gone: impl Fn(&[bool], usize) -> bool,
) -> Patch<T> {
    let mut patch = Patch::default();
    for (i, (_, marked)) in rows.iter().enumerate() {
        for t in (0..width).filter(|&t| gone(marked, t)) {
            patch.push(i * width + t, 1, T::from_f64(0.0), &[T::from_f64(NOTHING)]);
        }
    }
    patch
}

#[cfg(test)]
mod tests;
