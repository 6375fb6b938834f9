//! 95 % intervals: of one sample by resampling, of a few runs by Student's t.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// An estimate with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// What is estimated, from all values.
    pub value: f64,
    /// Where the interval begins.
    pub lower: f64,
    /// Where the interval ends.
    pub upper: f64,
}

impl Interval {
    /// Whether all of it is smaller.
    pub fn lies_below(&self, x: f64) -> bool {
        self.upper < x
    }

    /// Whether all of it is larger.
    pub fn lies_above(&self, x: f64) -> bool {
        self.lower > x
    }
}

/// How often a sample is drawn again.
const RESAMPLES: usize = 2_000;

/// A statistic of a sample with the percentile interval of 2,000 resamples (B. Efron, *Bootstrap methods: another look at
/// the jackknife*, 1979). None for an empty sample.
pub fn bootstrap(
    sample: &[f64],
    statistic: impl Fn(&mut [f64]) -> f64,
    random: &mut ChaCha8Rng,
) -> Option<Interval> {
    if sample.is_empty() {
        return None;
    }
    let mut drawn = sample.to_vec();
    let value = statistic(&mut drawn);
    let mut found: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            drawn.clear();
            drawn.extend(
                (0..sample.len()).map(|_| sample[random.random_range(0..sample.len() as u32) as usize]),
            );
            statistic(&mut drawn)
        })
        .collect();
    found.sort_by(f64::total_cmp);
    Some(Interval { value, lower: sorted_quantile(&found, 0.025), upper: sorted_quantile(&found, 0.975) })
}

/// The mean of a few runs ± t₀.₉₇₅ · s/√S, s with S − 1 in the denominator; none for fewer than two.
pub fn over_seeds(values: &[f64]) -> Option<Interval> {
    let count = values.len();
    if count < 2 {
        return None;
    }
    let value = mean(values);
    let variance = values.iter().map(|v| (v - value).powi(2)).sum::<f64>() / (count - 1) as f64;
    let half = student_975(count - 1) * (variance / count as f64).sqrt();
    Some(Interval { value, lower: value - half, upper: value + half })
}

/// The mean; NaN of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The population's standard deviation.
pub fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

/// The median, which sorts the values; of an even number the mean of the middle two.
pub fn median(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}

/// A quantile by straight lines between the ordered values, which are sorted.
pub fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    sorted_quantile(values, share)
}

fn sorted_quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = share * last as f64;
    let (below, above) = (at.floor() as usize, at.ceil() as usize);
    sorted[below] + (at - at.floor()) * (sorted[above] - sorted[below])
}

/// The 97.5 % point of Student's t with so many degrees of freedom, from 1.
fn student_975(freedom: usize) -> f64 {
    let (mut low, mut high) = (1.9, 12.8);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if student_inside(middle, freedom) < 0.95 { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The probability of |T| < t, by the finite sums for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4).
fn student_inside(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    let (mut term, mut sum) = if odd { (cosine, cosine) } else { (1.0, 1.0) };
    let mut k = if odd { 3 } else { 2 };
    while k < freedom {
        term *= cosine * cosine * (k - 1) as f64 / k as f64;
        sum += term;
        k += 2;
    }
    match (odd, freedom) {
        (true, 1) => angle * std::f64::consts::FRAC_2_PI,
        (true, _) => (angle + sine * sum) * std::f64::consts::FRAC_2_PI,
        (false, _) => sine * sum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_testkit::{Of, close};
    use rand::SeedableRng;

    #[test]
    fn points_of_students_t_are_those_of_the_tables() {
        let found = [1, 2, 3, 4, 5, 9, 10, 30].map(student_975);
        let expected = [12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.26216, 2.22814, 2.04227];
        close("t", &found, &expected, Of::Size(1.0), 1e-4);
        let interval = over_seeds(&[0.1, 0.2, 0.3]).unwrap();
        close(
            "seeds",
            &[interval.value, interval.upper],
            &[0.2, 0.2 + 4.30265 * 0.1 / 3f64.sqrt()],
            Of::Size(1.0),
            1e-4,
        );
        assert_eq!(over_seeds(&[1.0]), None);
    }

    #[test]
    fn resampling_meets_the_normal_interval_of_a_mean() {
        let sample: Vec<f64> = (0..400).map(|i| f64::from(i % 2)).collect();
        let found = bootstrap(&sample, |values| mean(values), &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
        close("mean", &[found.value, found.lower, found.upper], &[0.5, 0.451, 0.549], Of::Size(1.0), 0.005);
        assert_eq!(bootstrap(&[], |values| mean(values), &mut ChaCha8Rng::seed_from_u64(1)), None);
    }

    #[test]
    fn quantiles_by_hand() {
        let mut values = vec![4.0, 1.0, 2.0, 3.0];
        let found = [median(&mut values), quantile(&mut values, 0.25), deviation(&values)];
        close("quantiles", &found, &[2.5, 1.75, 1.25f64.sqrt()], Of::Size(1.0), 1e-12);
    }
}
