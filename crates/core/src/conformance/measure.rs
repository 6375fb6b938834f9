use crate::{Array, Logits};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The largest error seen so far and where it was.
#[derive(Default)]
pub(super) struct Tally {
    worst: Option<(f64, String)>,
}

impl Tally {
    pub(super) fn see(&mut self, error: f64, place: impl FnOnce() -> String) {
        // NaN is the worst error there is, and would compare as none.
        let error = if error.is_nan() { f64::INFINITY } else { error };
        if self.worst.as_ref().is_none_or(|(worst, _)| error > *worst) {
            self.worst = Some((error, place()));
        }
    }

    /// A condition without a size.
    pub(super) fn demand(&mut self, held: bool, otherwise: impl FnOnce() -> String) {
        let error = if held { 0.0 } else { f64::INFINITY };
        self.see(error, || if held { String::new() } else { otherwise() });
    }

    pub(super) fn finish(self) -> (f64, String) {
        self.worst.unwrap_or_else(|| (f64::INFINITY, "nothing was checked".into()))
    }
}

/// How far two outputs are apart, relative to the larger of 1 and the value.
pub(super) fn logits_gap(one: &Logits, other: &Logits) -> f64 {
    if one.shape != other.shape {
        return f64::INFINITY;
    }
    let worst = |acc: f64, (a, b): (&f64, &f64)| {
        let gap = (a - b).abs() / a.abs().max(1.0);
        if gap.is_nan() { f64::INFINITY } else { acc.max(gap) }
    };
    one.data.iter().zip(&other.data).fold(0.0, worst)
}

/// How far two values are apart, relative to the larger of 1 and the largest element.
///
/// Where everything is small that would see nothing, so a tenth of the gap relative to the largest element counts too.
pub(super) fn array_gap(one: &Array, other: &Array) -> f64 {
    let gap = one.max_abs_diff(other);
    let size = one.max_abs().max(other.max_abs());
    if gap == 0.0 { 0.0 } else { (gap / size.max(1.0)).max(0.1 * gap / size.max(1e-6)) }
}

/// Noise in −1..1 with few digits, times a power of two, so that sums with it are exact in double precision.
pub(super) fn noise(seed: u64, shape: &[usize], scale: f32) -> Array {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut array = Array::zeros(shape);
    for element in &mut array.data {
        let digits = (random.next_u32() >> 20) as f32; // 12 bits
        *element = ((digits + 0.5) / 2048.0 - 1.0) * scale;
    }
    array
}

/// The power of two nearest to the size of the elements, for noise that is neither lost nor overwhelming.
pub(super) fn scale_of(value: &Array) -> f32 {
    let mean_square = value.dot(value) / value.len().max(1) as f64;
    let exponent =
        if mean_square > 0.0 { (mean_square.log2() / 2.0).round().clamp(-20.0, 20.0) } else { -4.0 };
    2f32.powi(exponent as i32)
}

/// A fixed random reading of an output: F = Σ uᵢ zᵢ.
pub(super) fn reading(weights: &Array, logits: &Logits) -> f64 {
    weights.data.iter().zip(&logits.data).map(|(u, z)| f64::from(*u) * z).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_seen_and_nan_both_fail() {
        assert_eq!(Tally::default().finish().0, f64::INFINITY);
        let mut tally = Tally::default();
        tally.see(f64::NAN, String::new);
        assert_eq!(tally.finish().0, f64::INFINITY);
    }

    #[test]
    fn gaps() {
        let array = |data: &[f32]| Array::new([data.len()], data.to_vec()).unwrap();
        assert_eq!(array_gap(&array(&[4.0, 1.0]), &array(&[4.0, 2.0])), 0.25);
        assert_eq!(array_gap(&array(&[0.0]), &array(&[0.0])), 0.0);
        assert!((array_gap(&array(&[1e-3]), &array(&[2e-3])) - 0.05).abs() < 1e-6);
        let logits = |data: &[f64]| Logits::new(vec![data.len()], data.to_vec());
        assert_eq!(logits_gap(&logits(&[8.0, 0.0]), &logits(&[4.0, 0.25])), 0.5);
        assert_eq!(logits_gap(&logits(&[f64::NAN]), &logits(&[1.0])), f64::INFINITY);
    }

    #[test]
    fn noise_is_the_same_everywhere() {
        let one = noise(3, &[2, 2], 0.5);
        assert_eq!(one, noise(3, &[2, 2], 0.5));
        assert_ne!(one, noise(4, &[2, 2], 0.5));
        assert!(one.data.iter().all(|x| x.abs() <= 0.5 && *x != 0.0));
    }
}
