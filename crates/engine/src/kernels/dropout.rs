use super::elementwise::unshared;
use crate::context::Context;
use crate::op::Dropout;
use crate::scalar::Scalar;
use crate::tensor::Tensor;

/// Each element zeroed with the given probability and otherwise scaled so that its mean stays.
pub(crate) fn dropout<T: Scalar>(ctx: &Context<T>, choice: &Dropout, x: Tensor<T>) -> Tensor<T> {
    let covered: usize = choice.runs.iter().map(|&(len, _)| len).sum();
    assert_eq!(covered, x.data().len(), "dropout: runs over {covered} elements");
    // Sixteen random bits decide about an element; the scale is that of the rate they can express.
    let threshold = (choice.rate * 65536.0).round().clamp(0.0, 65535.0);
    let scale = T::from_f64(65536.0 / (65536.0 - threshold));
    let mut x = unshared(ctx, x);
    let Some(mut rest) = x.data_mut() else { return x };
    for &(len, key) in &choice.runs {
        let (run, after) = rest.split_at_mut(len);
        for (i, four) in run.chunks_mut(4).enumerate() {
            let mut bits = random_bits(key, i as u64);
            for value in four {
                *value = if (bits & 0xffff) < threshold as u64 { T::default() } else { *value * scale };
                bits >>= 16;
            }
        }
        rest = after;
    }
    x
}

/// The n-th random word of a key: the output function of SplitMix64 (Steele, Lea and Flood 2014) over a counter.
pub fn random_bits(key: u64, n: u64) -> u64 {
    let mut z = key.wrapping_add(n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_and_the_mean_are_right_and_runs_are_independent() {
        let ctx = Context::<f64>::new(1);
        let run = |runs: &[(usize, u64)], rate| {
            let len = runs.iter().map(|r| r.0).sum();
            let choice = Dropout { rate, runs: runs.to_vec() };
            dropout(&ctx, &choice, Tensor::new(1, len, vec![1.0; len])).data().to_vec()
        };
        let n = 40_000;
        for rate in [0.0, 0.1, 0.5] {
            let kept = run(&[(n, 7)], rate);
            let zeros = kept.iter().filter(|&&x| x == 0.0).count() as f64 / n as f64;
            assert!((zeros - rate).abs() < 0.01, "{zeros} of {rate}");
            assert!((kept.iter().sum::<f64>() / n as f64 - 1.0).abs() < 0.02);
        }
        let (one, other) = (run(&[(100, 1)], 0.5), run(&[(100, 2)], 0.5));
        assert_ne!(one, other);
        // A run's choice does not depend on what stands beside it.
        assert_eq!(run(&[(100, 2), (100, 1)], 0.5), [other, one].concat());
    }
}
