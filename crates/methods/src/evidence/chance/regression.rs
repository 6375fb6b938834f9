//! What hiding each unit costs, the others being hidden or not at random: a ridge regression of drops of F on what was hidden.
//!
//! ```text
//! minimise Σ_A (d(A) − b − z_A·c)² + ‖c‖²          z_A marks the units of A; the intercept b is free
//! X = (Z, 1)   D = diag(1, …, 1, 0)   K = (XᵀX + D)⁻¹   r = d − X(c, b)
//! s² = Σ r² / (M − tr(X K Xᵀ))                    se_i = s √(K XᵀX K)_ii
//! ```
//!
//! Since XᵀX = K⁻¹ − D, the two traces are those of the identity and of K alone: tr(X K Xᵀ) = n + 1 − Σ_{i ≤ n} K_ii and
//! (K XᵀX K)_ii = K_ii − Σ_{j ≤ n} K_ij².

use crate::Set;
use crate::cholesky::Cholesky;

/// The weight of ‖c‖².
const RIDGE: f64 = 1.0;

/// The effect of each unit on F.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Effects {
    /// c, one a unit.
    pub(crate) values: Vec<f64>,
    /// The standard error of each effect.
    pub(crate) errors: Vec<f64>,
    /// The free intercept, b in the formula.
    pub(crate) intercept: f64,
}

impl Effects {
    /// Of drops of F, one a set of hidden units. Where a drop is no number, no effect is.
    pub(crate) fn of(units: usize, sets: &[&Set], drops: &[f64]) -> Self {
        let size = units + 1;
        // XᵀX + D, [n + 1, n + 1]; every row of X ends with the 1 of the intercept.
        let mut matrix = vec![0.0; size * size];
        let mut right = vec![0.0; size];
        for (set, drop) in sets.iter().zip(drops) {
            for &i in with_intercept(set, units).iter() {
                right[i] += drop;
                with_intercept(set, units).iter().for_each(|&j| matrix[i * size + j] += 1.0);
            }
        }
        (0..units).for_each(|i| matrix[i * size + i] += RIDGE);
        let triangle = Cholesky::of(matrix, size);
        let mut values = triangle.solve(&right);
        let intercept = values.pop().unwrap_or(0.0);
        let errors = errors(&triangle, units, rest(sets, drops, &values, intercept), sets.len());
        Self { values, errors, intercept }
    }

    /// Whether all of them are numbers.
    pub(crate) fn are_finite(&self) -> bool {
        self.values.iter().chain(&self.errors).all(|value| value.is_finite())
    }
}

fn with_intercept(set: &Set, units: usize) -> Vec<usize> {
    set.iter().copied().chain([units]).collect()
}

/// The sum of the squared residuals.
fn rest(sets: &[&Set], drops: &[f64], values: &[f64], intercept: f64) -> f64 {
    let foretold = |set: &Set| intercept + set.iter().map(|&unit| values[unit]).sum::<f64>();
    sets.iter().zip(drops).map(|(set, drop)| (drop - foretold(set)).powi(2)).sum()
}

fn errors(triangle: &Cholesky, units: usize, rest: f64, sets: usize) -> Vec<f64> {
    let size = units + 1;
    let Some(k) = triangle.inverse() else { return vec![f64::NAN; units] };
    let shrunk: f64 = (0..units).map(|i| k[i * size + i]).sum();
    let free = sets as f64 - (size as f64 - RIDGE * shrunk);
    let variance = rest / free;
    let spread = |i: usize| {
        let squares: f64 = k[i * size..i * size + units].iter().map(|x| x * x).sum();
        (variance * (k[i * size + i] - RIDGE * squares)).max(0.0).sqrt()
    };
    (0..units).map(spread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::sets::every;
    use exegete_testkit::{Of, close};

    const WEIGHTS: [f64; 6] = [2.0, 1.0, 0.5, 0.0, -1.0, -2.0];

    /// Drops of Σ w over visible units, with `bonus` added while units 1 and 2 are both visible.
    fn found(bonus: f64, marked: fn(&Set) -> Set) -> Effects {
        let sets: Vec<Set> = (2..=4).flat_map(|size| every(6, size)).collect();
        let drop = |set: &Set| {
            let broken = set.contains(&0) || set.contains(&1);
            set.iter().map(|&unit| WEIGHTS[unit]).sum::<f64>() + if broken { bonus } else { 0.0 }
        };
        let drops: Vec<f64> = sets.iter().map(drop).collect();
        let sets: Vec<Set> = sets.iter().map(marked).collect();
        Effects::of(6, &sets.iter().collect::<Vec<_>>(), &drops)
    }

    const ADDITIVE: [f64; 6] = [1.858333, 0.925, 0.458333, -0.008333, -0.941667, -1.875];

    #[test]
    fn planted_sums_come_back() {
        let check = |found: Effects, values: [f64; 6], intercept: f64| {
            close("effects", &found.values, &values, Of::Size(1.0), 1e-6);
            close("intercept", &[found.intercept], &[intercept], Of::Size(1.0), 1e-6);
        };
        check(found(0.0, Set::clone), ADDITIVE, 0.041667);
        check(found(1.0, Set::clone), [2.308333, 1.375, 0.441667, -0.025, -0.958333, -1.891667], 0.405);
    }

    /// The planted faults: units marked where they are visible, and an intercept that costs something.
    #[test]
    fn marking_what_is_visible_or_shrinking_the_intercept_gives_other_numbers() {
        let visible = found(0.0, |set| (0..6).filter(|unit| !set.contains(unit)).collect());
        let far = |values: &[f64]| values.iter().zip(ADDITIVE).any(|(a, b)| (a - b).abs() > 1e-3);
        assert!(far(&visible.values), "{visible:?}");
        // A seventh unit that is hidden in every set is an intercept that is penalised.
        let sets: Vec<Set> = (2..=4).flat_map(|size| every(6, size)).collect();
        let drop = |set: &Set| set.iter().map(|&unit| WEIGHTS[unit]).sum::<f64>();
        let drops: Vec<f64> = sets.iter().map(drop).collect();
        let size = 7;
        let mut matrix = vec![0.0; size * size];
        let mut right = vec![0.0; size];
        for (set, drop) in sets.iter().zip(&drops) {
            for &i in &with_intercept(set, 6) {
                right[i] += drop;
                with_intercept(set, 6).iter().for_each(|&j| matrix[i * size + j] += 1.0);
            }
        }
        (0..size).for_each(|i| matrix[i * size + i] += RIDGE);
        assert!(far(&Cholesky::of(matrix, size).solve(&right)[..6]));
    }

    /// The closed forms of the two traces against the products written out.
    #[test]
    fn errors_are_those_of_the_formula() {
        let sets: Vec<Set> = (2..=3).flat_map(|size| every(5, size)).collect();
        let drops: Vec<f64> = (0..sets.len()).map(|i| ((7 * i + 3) % 11) as f64).collect();
        let found = Effects::of(5, &sets.iter().collect::<Vec<_>>(), &drops);
        let x: Vec<Vec<f64>> = sets
            .iter()
            .map(|set| (0..6).map(|i| f64::from(u8::from(i == 5 || set.contains(&i)))).collect())
            .collect();
        let gram = |i: usize, j: usize| x.iter().map(|row| row[i] * row[j]).sum::<f64>();
        let ridge = |i: usize, j: usize| if i == j && i < 5 { 1.0 } else { 0.0 };
        let matrix = (0..36).map(|at| gram(at / 6, at % 6) + ridge(at / 6, at % 6)).collect();
        let k = Cholesky::of(matrix, 6).inverse().unwrap();
        let product = |i: usize| -> f64 {
            (0..36).map(|at| k[i * 6 + at / 6] * gram(at / 6, at % 6) * k[(at % 6) * 6 + i]).sum()
        };
        let hat: f64 = (0..36).map(|at| k[at] * gram(at % 6, at / 6)).sum();
        let foretold = |row: &Vec<f64>| -> f64 {
            row.iter().zip(found.values.iter().chain([&found.intercept])).map(|(x, c)| x * c).sum()
        };
        let rest: f64 = x.iter().zip(&drops).map(|(row, d)| (d - foretold(row)).powi(2)).sum();
        let s = (rest / (x.len() as f64 - hat)).sqrt();
        let expected: Vec<f64> = (0..5).map(|i| s * product(i).sqrt()).collect();
        close("errors", &found.errors, &expected, Of::Size(1.0), 1e-9);
    }

    #[test]
    fn what_is_no_number_stays_none() {
        let sets = every(5, 2);
        let drops: Vec<f64> = (0..sets.len()).map(|i| if i == 3 { f64::NAN } else { 1.0 }).collect();
        assert!(!Effects::of(5, &sets.iter().collect::<Vec<_>>(), &drops).are_finite());
        let longer: Vec<Set> = super::super::masks::masks(300, &mut crate::Stream::Masks.random(0, 0));
        let drops: Vec<f64> = (0..longer.len()).map(|i| (i % 7) as f64).collect();
        assert!(
            Effects::of(300, &longer.iter().collect::<Vec<_>>(), &drops).are_finite(),
            "more units than sets"
        );
    }
}
