/// The inverse of a symmetric positive matrix of n rows, by its Cholesky factor; none where it is singular.
pub(super) fn inverse(matrix: &[f64], n: usize) -> Option<Vec<f64>> {
    let factor = factor(matrix, n)?;
    let mut inverse = vec![0.0; n * n];
    let mut column = vec![0.0; n];
    for j in 0..n {
        column.fill(0.0);
        column[j] = 1.0;
        for i in j..n {
            let known: f64 = (j..i).map(|k| factor[i * n + k] * column[k]).sum();
            column[i] = (column[i] - known) / factor[i * n + i];
        }
        // The inverse is symmetric: only what lies below the diagonal is solved for.
        for i in (j..n).rev() {
            let known: f64 = (i + 1..n).map(|k| factor[k * n + i] * column[k]).sum();
            column[i] = (column[i] - known) / factor[i * n + i];
            (inverse[i * n + j], inverse[j * n + i]) = (column[i], column[i]);
        }
    }
    Some(inverse)
}

/// Lower L with L·Lᵀ the matrix.
fn factor(matrix: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut factor = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let (above, row) = factor.split_at(i * n);
            let done = if j == i { &row[..j] } else { &above[j * n..j * n + j] };
            let known: f64 = row[..j].iter().zip(done).map(|(a, b)| a * b).sum();
            let rest = matrix[i * n + j] - known;
            if i == j && (rest.is_nan() || rest <= 1e-12 * matrix[i * n + i]) {
                return None;
            }
            factor[i * n + j] = if i == j { rest.sqrt() } else { rest / factor[j * n + j] };
        }
    }
    Some(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_times_its_inverse() {
        let matrix = [4.0, 1.0, 2.0, 1.0, 3.0, 0.5, 2.0, 0.5, 5.0];
        let inverse = inverse(&matrix, 3).unwrap();
        for i in 0..3 {
            for j in 0..3 {
                let found: f64 = (0..3).map(|k| matrix[i * 3 + k] * inverse[k * 3 + j]).sum();
                assert!((found - f64::from(u8::from(i == j))).abs() < 1e-14);
            }
        }
        assert_eq!(super::inverse(&[1.0, 1.0, 1.0, 1.0], 2), None);
        assert_eq!(super::inverse(&[f64::NAN], 1), None);
        assert_eq!(super::inverse(&[], 0), Some(Vec::new()));
    }
}
