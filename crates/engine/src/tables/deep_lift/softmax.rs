use super::halves::{split, texts_only};
use crate::context::Context;
use crate::heads::Heads;
use crate::scalar::Real;
use crate::tensor::Tensor;

/// L⊙m − (L/ΣL)·Σ(L⊙m) over the keys of every attention row of the texts.
pub(super) fn ragged<T: Real>(
    ctx: &Context<T>,
    heads: &Heads,
    m: &Tensor<T>,
    scores: &Tensor<T>,
    probs: &Tensor<T>,
) -> Tensor<T> {
    let ((s, s0), (p, p0)) = (split(scores), split(probs));
    texts_only(ctx, 1, heads.total(), |out| {
        let mut at = 0;
        for sequence in 0..heads.queries().count() / 2 {
            let width = heads.keys().len(sequence);
            for _ in 0..heads.count() * heads.queries().len(sequence) {
                let own = at..at + width;
                let (s, s0, p, p0) = (&s[own.clone()], &s0[own.clone()], &p[own.clone()], &p0[own.clone()]);
                // Probabilities may be rounded to nothing, but the largest tells what was subtracted from the scores.
                let shift = total(s, p) - total(s0, p0);
                let ratio = |i: usize| s[i].value() - s0[i].value() - shift;
                let l = |i: usize| log_mean(p[i].value(), p0[i].value(), ratio(i));
                row(&mut out[own.clone()], &m.data()[own], l);
                at += width;
            }
        }
    })
}

fn row<T: Real>(out: &mut [T], m: &[T], l: impl Fn(usize) -> f64) {
    let means: Vec<f64> = (0..m.len()).map(l).collect();
    let all: f64 = means.iter().sum();
    let pulled: f64 = means.iter().zip(m).map(|(l, m)| l * m.value()).sum();
    for ((out, m), l) in out.iter_mut().zip(m).zip(&means) {
        *out = T::from_f64(l * (m.value() - pulled / all));
    }
}

/// m − (L/ΣL)·Σm over each row of the texts; `output` is ln p.
pub(super) fn logarithm<T: Real>(ctx: &Context<T>, m: &Tensor<T>, output: &Tensor<T>) -> Tensor<T> {
    let (cols, (ln, ln0)) = (m.cols(), split(output));
    texts_only(ctx, m.rows(), cols, |out| {
        for (r, out) in out.chunks_exact_mut(cols).enumerate() {
            let at = |ln: &[T], i: usize| ln[r * cols + i].value();
            let l = |i| log_mean(at(ln, i).exp(), at(ln0, i).exp(), at(ln, i) - at(ln0, i));
            let means: Vec<f64> = (0..cols).map(l).collect();
            let m = &m.data()[r * cols..][..cols];
            let share = m.iter().map(|m| m.value()).sum::<f64>() / means.iter().sum::<f64>();
            let all = out.iter_mut().zip(m).zip(&means);
            all.for_each(|((out, m), l)| *out = T::from_f64(m.value() - l * share));
        }
    })
}

/// ln Σ e^s, from the largest of the probabilities.
fn total<T: Real>(scores: &[T], probs: &[T]) -> f64 {
    let best = (0..probs.len()).reduce(|best, i| if probs[i].above(probs[best]) { i } else { best });
    best.map_or(0.0, |best| scores[best].value() - probs[best].value().ln())
}

/// (p − p′)/r with r = ln p − ln p′; by its series √(p·p′)·(1 + r²/24 + …) where the difference would lose digits.
fn log_mean(p: f64, p0: f64, r: f64) -> f64 {
    if r.abs() >= 0.5 {
        return (p - p0) / r;
    }
    let s = r * r;
    let series = s * (1.0 / 92_897_280.0) + 1.0 / 322_560.0;
    let series = s * series + 1.0 / 1_920.0;
    let series = s * series + 1.0 / 24.0;
    (p * p0).sqrt() * (s * series + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_is_the_quotient() {
        for r in [0.499_999f64, -0.3, 0.1, 1e-3, -1e-3] {
            let (p, p0) = (0.3 * r.exp(), 0.3);
            let quotient = 0.3 * r.exp_m1() / r;
            assert!((log_mean(p, p0, r) / quotient - 1.0).abs() < 1e-13, "{r}");
        }
        assert_eq!(log_mean(0.2, 0.2, 0.0), 0.2);
        assert!((log_mean(1.0, 0.0, 200.0) - 0.005).abs() < 1e-15);
    }
}
