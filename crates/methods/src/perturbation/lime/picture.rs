use super::choose::Choice;
use super::guess::ControlVariate;
use super::rows::{Linear, Rows};
use super::sample::Stratum;
use crate::cholesky::Cholesky;
use crate::effort::imprecision;
use exegete_core::dot;

/// The penalty on squared weights, on the scale where a row that is the whole text weighs one.
pub(super) const PENALTY: f64 = 1.0;

/// The linear picture of F near a text.
#[derive(Debug, Clone)]
pub(super) struct LocalLinearFit {
    /// A weight for each word; zero for words that were not kept.
    pub(super) weights: Vec<f64>,
    /// The standard error of each by the chance of sampling.
    pub(super) errors: Vec<f64>,
    pub(super) intercept: f64,
    /// R² of the rows.
    pub(super) explained: f64,
    /// What the picture says of the whole text.
    pub(super) prediction: f64,
}

impl LocalLinearFit {
    /// The picture of rows that weigh as so many samples of the original; with a guess at the remainder or without.
    pub(super) fn of(rows: &Rows, strata: &[Stratum], choice: Choice, samples: f64, guess: bool) -> Self {
        let moments = rows.moments(&rows.values);
        let kept = choice.of(&moments, samples);
        let mut linear = moments.ridge(&kept, PENALTY);
        let mut left = residuals(rows, &rows.values, &linear);
        let guess = guess && strata.iter().any(|stratum| stratum.share < 1.0);
        if guess {
            let guess = ControlVariate::of(rows);
            let fit = rows.moments(&guess.standing(strata)).ridge(&kept, PENALTY);
            linear = sum(&fit, &guess.projection(rows, &kept, PENALTY, samples));
            left = residuals(rows, &guess.missed, &rows.moments(&guess.missed).ridge(&kept, PENALTY));
            left.iter_mut().for_each(|left| *left *= guess.doubt);
        }
        let errors = errors(rows, strata, &kept, &left);
        let spread = |list: &[f64]| {
            let mut all = vec![0.0; rows.words];
            kept.iter().zip(list).for_each(|(&word, value)| all[word] = *value);
            all
        };
        Self {
            weights: spread(&linear.coefficients),
            errors: spread(&errors),
            intercept: linear.intercept,
            explained: moments.explained(&linear),
            prediction: linear.intercept + linear.coefficients.iter().sum::<f64>(),
        }
    }

    /// The largest standard error as a share of the largest weight.
    pub(super) fn imprecision(&self) -> f64 {
        imprecision(&self.weights, &self.errors)
    }
}

fn sum(a: &Linear, b: &Linear) -> Linear {
    let coefficients = a.coefficients.iter().zip(&b.coefficients).map(|(a, b)| a + b).collect();
    Linear { kept: a.kept.clone(), coefficients, intercept: a.intercept + b.intercept }
}

fn residuals(rows: &Rows, values: &[f64], linear: &Linear) -> Vec<f64> {
    let left = |(row, value): (usize, &f64)| {
        let present = rows.present(row);
        let sum: f64 = linear.kept.iter().zip(&linear.coefficients).map(|(&i, c)| c * present[i]).sum();
        value - linear.intercept - sum
    };
    values.iter().enumerate().map(left).collect()
}

/// The standard errors of the weights of the kept words.
///
/// The fit is A⁻¹ Σ w x (x·β + u), so its chance is that of Σ tᵢ with tᵢ = A⁻¹ wᵢ xᵢ uᵢ, a sum over rows that are drawn in
/// strata: the variances within each add up, less where the rows are a good part of all sets there are (W. Cochran,
/// *Sampling techniques*, 1977, section 5.4). A residual is as it would be without its own row, with hᵢ the
/// leverage: uᵢ/(1 − hᵢ) (J. MacKinnon, H. White, 1985, HC3).
fn errors(rows: &Rows, strata: &[Stratum], kept: &[usize], left: &[f64]) -> Vec<f64> {
    let size = kept.len() + 1;
    let design = |row: usize| -> Vec<f64> {
        let present = rows.present(row);
        [1.0].into_iter().chain(kept.iter().map(|&word| present[word])).collect()
    };
    let mut matrix = vec![0.0; size * size];
    for row in 0..rows.len() {
        let x = design(row);
        for (i, xi) in x.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            let line = &mut matrix[i * size..(i + 1) * size];
            line.iter_mut().zip(&x).for_each(|(sum, xj)| *sum += rows.weights[row] * xi * xj);
        }
    }
    (1..size).for_each(|i| matrix[i * size + i] += PENALTY);
    let solver = Cholesky::of(matrix, size);
    let mut variances = vec![0.0; kept.len()];
    for stratum in strata.iter().filter(|stratum| stratum.share < 1.0) {
        let part = |&row: &usize| {
            let x = design(row);
            let mut part = solver.solve(&x);
            let leverage = (rows.weights[row] * dot(&part, &x)).min(1.0 - 1e-9);
            let factor = rows.weights[row] * left[row] / (1.0 - leverage);
            part.iter_mut().for_each(|t| *t *= factor);
            part.split_off(1)
        };
        let parts: Vec<Vec<f64>> = stratum.rows.iter().map(part).collect();
        let n = parts.len() as f64;
        for (word, variance) in variances.iter_mut().enumerate() {
            // One row says nothing of how rows differ; all of it counts as chance.
            let mean = if n > 1.0 { parts.iter().map(|part| part[word]).sum::<f64>() / n } else { 0.0 };
            let spread: f64 = parts.iter().map(|part| (part[word] - mean).powi(2)).sum();
            *variance += (1.0 - stratum.share) * spread * n / (n - 1.0).max(1.0);
        }
    }
    variances.iter().map(|variance| variance.sqrt()).collect()
}
