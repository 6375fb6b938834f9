use exegete_core::dot;

/// The triangle L of a symmetric matrix LLᵀ that may lack rank.
///
/// A row that the rows before it make up gets an infinite pivot, so that its unknown is zero in every solution.
pub(crate) struct Cholesky {
    size: usize,
    lower: Vec<f64>,
}

/// A pivot this small beside its diagonal is rounding.
const VANISHED: f64 = 1e-12;

impl Cholesky {
    /// Of a matrix [size, size]; only its lower triangle is read.
    pub(crate) fn of(mut matrix: Vec<f64>, size: usize) -> Self {
        for i in 0..size {
            let (above, below) = matrix.split_at_mut(i * size);
            let row = &mut below[..=i];
            for j in 0..i {
                let other = &above[j * size..j * size + j + 1];
                row[j] = (row[j] - dot(&row[..j], other)) / other[j];
            }
            let pivot = row[i] - dot(&row[..i], &row[..i]);
            row[i] = if pivot > VANISHED * row[i] { pivot.sqrt() } else { f64::INFINITY };
        }
        Self { size, lower: matrix }
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.lower[i * self.size..=i * self.size + i]
    }

    /// x with LLᵀx = b.
    pub(crate) fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = self.half(b, 0);
        for i in (0..self.size).rev() {
            let row = self.row(i);
            x[i] /= row[i];
            let (known, value) = (x[i], &row[..i]);
            x[..i].iter_mut().zip(value).for_each(|(x, l)| *x -= known * l);
        }
        x
    }

    /// y with Ly = b, where b is zero before `from`.
    pub(crate) fn half(&self, b: &[f64], from: usize) -> Vec<f64> {
        let mut y = b.to_vec();
        for i in from..self.size {
            let row = self.row(i);
            y[i] = (y[i] - dot(&row[from..i], &y[from..i])) / row[i];
        }
        y
    }

    /// (LLᵀ)⁻¹; none where the matrix lacks rank or holds NaN.
    pub(crate) fn inverse(&self) -> Option<Vec<f64>> {
        let n = self.size;
        if !(0..n).all(|i| self.row(i)[i].is_finite()) {
            return None;
        }
        let mut inverse = vec![0.0; n * n];
        for j in 0..n {
            let mut unit = vec![0.0; n];
            unit[j] = 1.0;
            self.solve(&unit).iter().enumerate().for_each(|(i, &x)| inverse[i * n + j] = x);
        }
        Some(inverse)
    }

    /// The diagonal of (LLᵀ)⁻¹.
    pub(crate) fn inverse_diagonal(&self) -> Vec<f64> {
        let mut diagonal = vec![0.0; self.size];
        for j in 0..self.size {
            let mut unit = vec![0.0; self.size];
            unit[j] = 1.0;
            let column = &self.half(&unit, j)[j..];
            diagonal[j] = dot(column, column);
        }
        diagonal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(matrix: &[f64], b: &[f64], x: &[f64]) {
        let found = Cholesky::of(matrix.to_vec(), b.len()).solve(b);
        exegete_testkit::close("solution", &found, x, exegete_testkit::Of::Size(1.0), 1e-12);
    }

    #[test]
    fn small_systems() {
        check(&[4.0], &[2.0], &[0.5]);
        check(&[4.0, 0.0, 2.0, 3.0], &[8.0, 7.0], &[1.25, 1.5]);
        // The second row repeats the first: the first alone answers.
        check(&[1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 2.0], &[3.0, 3.0, 4.0], &[3.0, 0.0, 2.0]);
    }

    #[test]
    fn a_matrix_times_its_inverse() {
        let matrix = [4.0, 1.0, 2.0, 1.0, 3.0, 0.5, 2.0, 0.5, 5.0];
        let inverse = Cholesky::of(matrix.to_vec(), 3).inverse().unwrap();
        for i in 0..3 {
            for j in 0..3 {
                let found: f64 = (0..3).map(|k| matrix[i * 3 + k] * inverse[k * 3 + j]).sum();
                assert!((found - f64::from(u8::from(i == j))).abs() < 1e-14);
            }
        }
        assert_eq!(Cholesky::of(vec![1.0, 1.0, 1.0, 1.0], 2).inverse(), None);
        assert_eq!(Cholesky::of(vec![f64::NAN], 1).inverse(), None);
        assert_eq!(Cholesky::of(Vec::new(), 0).inverse(), Some(Vec::new()));
    }

    #[test]
    fn the_diagonal_of_the_inverse() {
        // The inverse of [[4, 2], [2, 3]] is [[3, −2], [−2, 4]] / 8.
        let found = Cholesky::of(vec![4.0, 0.0, 2.0, 3.0], 2).inverse_diagonal();
        assert!((found[0] - 0.375).abs() < 1e-12 && (found[1] - 0.5).abs() < 1e-12, "{found:?}");
    }
}
