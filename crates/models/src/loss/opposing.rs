//! The answers of another model from other weights: S. Wiegreffe and Y. Pinter, *Attention is not not explanation*, 2019.
//!
//! A model a is trained beside a fixed one b. Its loss of a text is TVD(p_a, p_b) − λ KL(α_a‖α_b), with
//! KL(α_a‖α_b) = Σ α_a ln(α_a / α_b); the logarithms are those of the scores' softmax, so that none is that of 0. The published
//! code takes half of this TVD, so that its λ are half of these.

use super::Forward;
use exegete_core::{Error, Result, Site};
use exegete_engine::{Op, Segments, Tensor, Unary, Var};

/// What the fixed model makes of one text.
#[derive(Debug, Clone, PartialEq)]
pub struct FixedAnswer {
    /// Its probabilities, one a class.
    pub probabilities: Vec<f64>,
    /// The logarithm of each of its attention weights.
    pub log_alpha: Vec<f64>,
}

/// Where a model in training has its attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttentionSites {
    /// The scores before the softmax.
    pub scores: Site,
    /// The weights after it.
    pub probs: Site,
}

/// The loss of each text: how far its answer is from the fixed one's, less λ times how far its weights are.
pub fn opposing(
    forward: &mut Forward<'_, f32>,
    sites: AttentionSites,
    lambda: f64,
    fixed: &[&FixedAnswer],
) -> Result<Var<f32>> {
    let classes = forward.logits.value.cols();
    if fixed.len() != forward.rows.len() || fixed.iter().any(|one| one.probabilities.len() != classes) {
        return Err(Error::Request("the fixed model's answers are of other texts or classes".into()));
    }
    let distance = total_variation(forward, fixed); // [B, 1]
    let divergence = divergence(forward, sites, fixed)?; // [B, 1]
    let away = forward.tape.apply(Op::Scale(lambda), [divergence]);
    Ok(forward.tape.apply(Op::Sub, [distance, away]))
}

/// ½ Σ |p_a − p_b| of each text: \[B, 1\].
fn total_variation(forward: &mut Forward<'_, f32>, fixed: &[&FixedAnswer]) -> Var<f32> {
    let (tape, logits) = (&mut forward.tape, forward.logits.clone());
    let own = fixed.iter().flat_map(|one| &one.probabilities).map(|&p| p as f32).collect();
    let fixed = Tensor::new(fixed.len(), logits.value.cols(), own); // [B, C]
    let logs = tape.apply(Op::LogSoftmax, [logits]);
    let probs = tape.apply(Op::Unary(Unary::Exp), [logs]);
    let apart = tape.apply(Op::Sub, [probs, fixed.into()]);
    // |x| = relu(x) + relu(−x)
    let back = tape.apply(Op::Scale(-1.0), [apart.clone()]);
    let above = tape.apply(Op::Unary(Unary::Relu), [apart]);
    let below = tape.apply(Op::Unary(Unary::Relu), [back]);
    let apart = tape.apply(Op::Add, [above, below]);
    let sum = tape.apply(Op::RowSum, [apart]);
    tape.apply(Op::Scale(0.5), [sum])
}

/// KL(α_a‖α_b) = Σ α_a (s_a − ln α_b) − ln Σ exp s_a of each text, s_a being the scores: \[B, 1\].
fn divergence(
    forward: &mut Forward<'_, f32>,
    sites: AttentionSites,
    fixed: &[&FixedAnswer],
) -> Result<Var<f32>> {
    let (scores, alpha) = (forward.value(sites.scores)?, forward.value(sites.probs)?); // [W, 1]
    let segments = Segments::new(fixed.iter().map(|one| one.log_alpha.len()));
    let words = scores.value.data().len();
    if segments.total() != words {
        let what = format!("the fixed model weighs {} words where this one weighs {words}", segments.total());
        return Err(Error::Request(format!("{what}; texts that are cut in training cannot be compared")));
    }
    // Scores are moved so that the largest of each text is 0, which changes no weight and keeps the sum finite.
    let largest = |range: std::ops::Range<usize>| {
        scores.value.data()[range].iter().copied().fold(f32::NEG_INFINITY, f32::max)
    };
    let largest =
        (0..fixed.len()).flat_map(|b| std::iter::repeat_n(largest(segments.range(b)), segments.len(b)));
    let largest = Tensor::new(words, 1, largest.collect());
    let logs = fixed.iter().flat_map(|one| &one.log_alpha).map(|&log| log as f32).collect();
    let logs = Tensor::new(words, 1, logs);
    let tape = &mut forward.tape;
    let column =
        |var: Var<f32>, tape: &mut exegete_engine::Tape<f32>| tape.apply(Op::Reshape(words, 1), [var]);
    let (scores, alpha) = (column(scores, tape), column(alpha, tape));
    let moved = tape.apply(Op::Sub, [scores, largest.into()]); // [W, 1]
    let shares = tape.apply(Op::Unary(Unary::Exp), [moved.clone()]);
    let sums = tape.apply(Op::SegmentSum(segments.clone()), [shares]); // [B, 1]
    let log_sums = tape.apply(Op::Unary(Unary::Ln), [sums]);
    let against = tape.apply(Op::Sub, [moved, logs.into()]); // [W, 1]
    let weighted = tape.apply(Op::Mul, [alpha, against]);
    let mean = tape.apply(Op::SegmentSum(segments), [weighted]); // [B, 1]
    Ok(tape.apply(Op::Sub, [mean, log_sums]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Kept;
    use exegete_core::{Encoded, Example, Label, Row, task};
    use exegete_engine::{Context, Mode, Tape};
    use exegete_testkit::{Of, check, close};
    use std::collections::HashMap;

    const SITES: AttentionSites =
        AttentionSites { scores: Site::named("attn.scores"), probs: Site::named("attn.probs") };

    /// The loss of one text, from the logarithms of both models' probabilities and weights.
    fn loss(own: [&[f64]; 2], fixed: [&[f64]; 2], lambda: f64) -> f64 {
        let logs = |values: &[f64]| -> Vec<f32> { values.iter().map(|p| p.ln() as f32).collect() };
        let mut tape = Tape::new(Context::new(1), Mode::Off);
        let rows = [Row::new(Encoded::of_words(&Example::text("a b c")))];
        let column = |data: Vec<f32>| Var::from(Tensor::new(data.len(), 1, data));
        let weights = own[1].iter().map(|&a| a as f32).collect();
        let kept: HashMap<Site, Kept<f32>> =
            [(SITES.scores, column(logs(own[1]))), (SITES.probs, column(weights))]
                .map(|(site, var)| (site, Kept { var, slope: None, parts: Vec::new() }))
                .into();
        let logits = Tensor::new(1, own[0].len(), logs(own[0])).into();
        let (labels, task) = (&[Label::Class(0)], &task::CLASSIFICATION);
        let (counts, places) = (&[1][..], &[None][..]);
        let mut forward =
            Forward { tape: &mut tape, logits, rows: &rows, labels, task, kept: &kept, counts, places };
        let log_alpha = fixed[1].iter().map(|a| a.ln()).collect();
        let fixed = FixedAnswer { probabilities: fixed[0].to_vec(), log_alpha };
        f64::from(opposing(&mut forward, SITES, lambda, &[&fixed]).unwrap().value.data()[0])
    }

    /// Worked by hand: TVD .1, KL(a‖b) .634897; with the divergence the wrong way round .675806.
    #[test]
    fn the_loss_by_hand() {
        let (a, b): ([&[f64]; 2], [&[f64]; 2]) =
            ([&[0.6, 0.4], &[0.7, 0.2, 0.1]], [&[0.7, 0.3], &[0.2, 0.3, 0.5]]);
        let found =
            [loss(a, b, 1e-3), loss(a, b, 1.0), loss([a[0], b[1]], [b[0], a[1]], 1.0), loss(a, a, 1.0)];
        close("losses", &found, &[0.099365, 0.1 - 0.634897, 0.1 - 0.675806, 0.0], Of::Size(1.0), 1e-6);
        let wrong = loss([a[0], b[1]], [b[0], a[1]], 1e-3);
        close("the wrong way round", &[wrong], &[0.099324], Of::Size(1.0), 1e-6);
        assert!(check("planted", &[wrong], &[0.099365], Of::Size(1.0), 1e-6).is_err());
    }
}
