/// A number of mean 0 and deviation 1 from two that are uniform, the first in (0, 1], the second in \[0, 1\].
/// G. Box and M. Muller, 1958.
pub fn normal([radius, angle]: [f64; 2]) -> f64 {
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_are_those_of_a_normal_number() {
        let grid: Vec<f64> = (0..1000).map(|i| (f64::from(i) + 0.5) / 1000.0).collect();
        let drawn: Vec<f64> = grid.iter().flat_map(|&a| grid.iter().map(move |&b| normal([a, b]))).collect();
        let moment = |power: i32| drawn.iter().map(|x| x.powi(power)).sum::<f64>() / drawn.len() as f64;
        for (power, expected) in [(1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)] {
            assert!((moment(power) - expected).abs() < 0.02, "{power}: {}", moment(power));
        }
        assert_eq!(normal([1.0, 0.3]), 0.0);
    }
}
