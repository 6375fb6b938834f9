/// Running means of vectors and their standard errors. B. P. Welford, *Note on a method for calculating corrected sums of
/// squares and products*, 1962: no digits are lost where a spread is small beside its mean.
#[derive(Debug, Clone, Default)]
pub(super) struct Moments {
    pub(super) count: usize,
    pub(super) means: Vec<f64>,
    squares: Vec<f64>,
}

impl Moments {
    /// Adds a vector; all have the same length.
    pub(super) fn add(&mut self, vector: &[f64]) {
        self.count += 1;
        self.means.resize(vector.len(), 0.0);
        self.squares.resize(vector.len(), 0.0);
        for ((mean, square), value) in self.means.iter_mut().zip(&mut self.squares).zip(vector) {
            let before = value - *mean;
            *mean += before / self.count as f64;
            *square += before * (value - *mean);
        }
    }

    /// The standard errors of the means; one vector says nothing of them.
    pub(super) fn errors(&self) -> Vec<f64> {
        let n = self.count as f64;
        let error =
            |square: &f64| if self.count < 2 { f64::INFINITY } else { (square / (n - 1.0) / n).sqrt() };
        self.squares.iter().map(error).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let mut moments = Moments::default();
        [[1.0, 1e9], [2.0, 1e9], [6.0, 1e9 + 3.0]].iter().for_each(|vector| moments.add(vector));
        assert_eq!(moments.means, [3.0, 1e9 + 1.0]);
        // Squared distances 4 + 1 + 9 and 1 + 1 + 4, over two, over three.
        let expected = [(14.0f64 / 6.0).sqrt(), 1.0];
        exegete_testkit::close("errors", &moments.errors(), &expected, exegete_testkit::Of::Size(1.0), 1e-6);
        let mut one = Moments::default();
        one.add(&[1.0]);
        assert_eq!(one.errors(), [f64::INFINITY]);
    }
}
