use crate::cholesky::Cholesky;
use exegete_core::dot;

/// Texts with words hidden: which words are present, the weight of the row and F. The first row is the whole text.
pub(super) struct Rows {
    /// How many words there are.
    pub(super) words: usize,
    /// 1 for a present word, 0 for a hidden one: [rows, words].
    pub(super) present: Vec<f64>,
    /// How much a row counts.
    pub(super) weights: Vec<f64>,
    /// The value F of each row.
    pub(super) values: Vec<f64>,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn present(&self, row: usize) -> &[f64] {
        &self.present[row * self.words..(row + 1) * self.words]
    }

    /// The weighted moments of presence and some values, about their means.
    pub(super) fn moments(&self, values: &[f64]) -> Moments {
        let n = self.words;
        let total: f64 = self.weights.iter().sum();
        let mut means = vec![0.0; n];
        for (row, weight) in self.present.chunks_exact(n.max(1)).zip(&self.weights) {
            means.iter_mut().zip(row).for_each(|(mean, x)| *mean += weight / total * x);
        }
        let mean = dot(&self.weights, values) / total;
        let (mut gram, mut cross, mut spread) = (vec![0.0; n * n], vec![0.0; n], 0.0);
        for (i, (weight, value)) in self.weights.iter().zip(values).enumerate() {
            let off: Vec<f64> = self.present(i).iter().zip(&means).map(|(x, mean)| x - mean).collect();
            for (j, x) in off.iter().enumerate() {
                let row = &mut gram[j * n..(j + 1) * n];
                row.iter_mut().zip(&off).for_each(|(sum, y)| *sum += weight * x * y);
                cross[j] += weight * x * (value - mean);
            }
            spread += weight * (value - mean).powi(2);
        }
        Moments { means, mean, gram, cross, spread }
    }
}

/// Weighted sums of products about the means.
pub(super) struct Moments {
    means: Vec<f64>,
    mean: f64,
    /// The products of words, of shape [words, words], last axis fastest.
    pub(super) gram: Vec<f64>,
    pub(super) cross: Vec<f64>,
    spread: f64,
}

/// A linear function of some words.
pub(super) struct Linear {
    /// The words that it has a coefficient for.
    pub(super) kept: Vec<usize>,
    /// The coefficient of each of these words.
    pub(super) coefficients: Vec<f64>,
    pub(super) intercept: f64,
}

impl Moments {
    pub(super) fn words(&self) -> usize {
        self.means.len()
    }

    /// The minimum of Σ weight · (value − prediction)² + penalty · |coefficients|² over some of the words; the intercept is
    /// free.
    pub(super) fn ridge(&self, kept: &[usize], penalty: f64) -> Linear {
        let mut gram = self.block(kept);
        (0..kept.len()).for_each(|i| gram[i * kept.len() + i] += penalty);
        let cross: Vec<f64> = kept.iter().map(|&i| self.cross[i]).collect();
        let coefficients = Cholesky::of(gram, kept.len()).solve(&cross);
        let shift: f64 = kept.iter().zip(&coefficients).map(|(&i, c)| self.means[i] * c).sum();
        Linear { kept: kept.to_vec(), coefficients, intercept: self.mean - shift }
    }

    /// The sums of products of some words alone.
    pub(super) fn block(&self, kept: &[usize]) -> Vec<f64> {
        let n = self.words();
        kept.iter().flat_map(|&i| kept.iter().map(move |&j| self.gram[i * n + j])).collect()
    }

    /// R²: the share of the spread that a linear function with the right mean explains; of no spread there is no share (NaN).
    pub(super) fn explained(&self, linear: &Linear) -> f64 {
        if self.spread == 0.0 {
            return f64::NAN;
        }
        let (n, mut left) = (self.words(), self.spread);
        for (&i, a) in linear.kept.iter().zip(&linear.coefficients) {
            left -= 2.0 * a * self.cross[i];
            for (&j, b) in linear.kept.iter().zip(&linear.coefficients) {
                left += a * b * self.gram[i * n + j];
            }
        }
        1.0 - left / self.spread
    }
}
