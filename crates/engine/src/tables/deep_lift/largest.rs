use super::halves::split;
use crate::kernels::segments::first_largest;
use crate::scalar::Real;
use crate::segments::Segments;
use crate::tensor::Tensor;

/// y = max over the rows of a sequence: m·Δy/Δx to the text's largest where y ≥ y′, else to where the baseline's largest
/// is. Either way 0 ≤ Δy/Δx ≤ 1.
pub(super) fn add_pull<T: Real>(dst: &mut [T], segments: &Segments, m: &Tensor<T>, x: &Tensor<T>) {
    let (cols, texts) = (x.cols(), segments.count() / 2);
    let (text, baseline) = split(x);
    let first_baseline = segments.range(texts).start;
    for s in (0..texts).filter(|&s| segments.len(s) > 0) {
        for c in 0..cols {
            let own = first_largest(segments, x, s, c) * cols + c;
            let other = (first_largest(segments, x, texts + s, c) - first_baseline) * cols + c;
            let (y, y0) = (text[own], baseline[other]);
            let at = if y0.above(y) { other } else { own };
            let (rise, run) = (y - y0, text[at] - baseline[at]);
            if run.value() != 0.0 {
                dst[at] += m.data()[s * cols + c] * rise / run;
            }
        }
    }
}
