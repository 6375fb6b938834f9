//! The arithmetic of one step of one sequence, for rows of H numbers.

use crate::kernels::elementwise::sigmoid;
use crate::scalar::Scalar;

/// What one step of one sequence reads and writes.
pub(super) struct Row<'a, T> {
    /// Products with the state on the way in, activated gates on the way out.
    pub(super) gates: &'a mut [T],
    /// What the input adds to the gates.
    pub(super) input: &'a [T],
    pub(super) hidden_before: &'a [T],
    pub(super) cell_before: &'a [T],
    pub(super) cell: &'a mut [T],
    pub(super) hidden: &'a mut [T],
}

#[inline(always)]
pub(super) fn tanh<T: Scalar>(row: Row<'_, T>) {
    activate(row.gates, row.input, T::tanh);
    row.hidden.copy_from_slice(row.gates);
}

#[inline(always)]
pub(super) fn lstm<T: Scalar>(row: Row<'_, T>) {
    let n = row.hidden.len();
    let ([i, f, g, o], [xi, xf, xg, xo]) = (four_mut(row.gates, n), four(row.input, n));
    activate(i, xi, sigmoid);
    activate(f, xf, sigmoid);
    activate(g, xg, T::tanh);
    activate(o, xo, sigmoid);
    let (before, cell, hidden) = (&row.cell_before[..n], &mut row.cell[..n], &mut row.hidden[..n]);
    for j in 0..n {
        cell[j] = f[j] * before[j] + i[j] * g[j];
    }
    for j in 0..n {
        hidden[j] = o[j] * cell[j].tanh();
    }
}

/// The fourth part of the gates keeps u, the recurrent product that the reset gate multiplies.
#[inline(always)]
pub(super) fn gru<T: Scalar>(row: Row<'_, T>) {
    let (n, one) = (row.hidden.len(), T::from_f64(1.0));
    let [r, z, new, u] = four_mut(row.gates, n);
    let (xr, xz, xn) = (&row.input[..n], &row.input[n..][..n], &row.input[2 * n..][..n]);
    let (before, hidden) = (&row.hidden_before[..n], &mut row.hidden[..n]);
    activate(r, xr, sigmoid);
    activate(z, xz, sigmoid);
    u.copy_from_slice(new);
    for j in 0..n {
        new[j] = (xn[j] + r[j] * u[j]).tanh();
    }
    for j in 0..n {
        hidden[j] = (one - z[j]) * new[j] + z[j] * before[j];
    }
}

/// A gate from its two sums.
///
/// Here and below each loop writes one slice: with more, the compiler would have to ask too often whether slices overlap,
/// and would not vectorise.
#[inline(always)]
fn activate<T: Scalar>(gate: &mut [T], input: &[T], f: impl Fn(T) -> T) {
    for (gate, &x) in gate.iter_mut().zip(input) {
        *gate = f(*gate + x);
    }
}

/// What the pull of one step of one sequence reads and writes.
pub(super) struct Pull<'a, T> {
    pub(super) gates: &'a [T],
    pub(super) hidden_before: &'a [T],
    pub(super) cell_before: &'a [T],
    pub(super) cell: &'a [T],
    /// The cotangent of the hidden state from outside.
    pub(super) outside: &'a [T],
    /// The cotangent of the hidden state from the later step; then what does not pass through the product.
    pub(super) hidden: &'a mut [T],
    /// The cotangent of the cell from the later step, then that for the earlier one.
    pub(super) carry: &'a mut [T],
    /// The cotangents of the products with the state.
    pub(super) out: &'a mut [T],
}

#[inline(always)]
pub(super) fn tanh_pull<T: Scalar>(row: Pull<'_, T>) {
    let (n, one) = (row.out.len(), T::from_f64(1.0));
    let (h, outside, later) = (&row.gates[..n], &row.outside[..n], &row.hidden[..n]);
    for j in 0..n {
        row.out[j] = (outside[j] + later[j]) * (one - h[j] * h[j]);
    }
}

#[inline(always)]
pub(super) fn lstm_pull<T: Scalar>(row: Pull<'_, T>) {
    let (n, one) = (row.hidden.len(), T::from_f64(1.0));
    let ([i, f, g, o], [di, df, dg, d_o]) = (four(row.gates, n), four_mut(row.out, n));
    let (outside, h, c) = (&row.outside[..n], &mut row.hidden[..n], &mut row.carry[..n]);
    let (cell, before) = (&row.cell[..n], &row.cell_before[..n]);
    for j in 0..n {
        h[j] += outside[j];
    }
    for j in 0..n {
        d_o[j] = cell[j].tanh();
    }
    for j in 0..n {
        c[j] += h[j] * o[j] * (one - d_o[j] * d_o[j]);
    }
    for j in 0..n {
        d_o[j] = h[j] * d_o[j] * o[j] * (one - o[j]);
    }
    for j in 0..n {
        di[j] = c[j] * g[j] * i[j] * (one - i[j]);
    }
    for j in 0..n {
        df[j] = c[j] * before[j] * f[j] * (one - f[j]);
    }
    for j in 0..n {
        dg[j] = c[j] * i[j] * (one - g[j] * g[j]);
    }
    for j in 0..n {
        c[j] = c[j] * f[j];
    }
}

/// The third part is the cotangent of u, the fourth that of the sum inside n.
#[inline(always)]
pub(super) fn gru_pull<T: Scalar>(row: Pull<'_, T>) {
    let (n, one) = (row.hidden.len(), T::from_f64(1.0));
    let ([r, z, new, u], [dr, dz, du, dn]) = (four(row.gates, n), four_mut(row.out, n));
    let (outside, h, before) = (&row.outside[..n], &mut row.hidden[..n], &row.hidden_before[..n]);
    for j in 0..n {
        h[j] += outside[j];
    }
    for j in 0..n {
        dn[j] = h[j] * (one - z[j]) * (one - new[j] * new[j]);
    }
    for j in 0..n {
        dz[j] = h[j] * (before[j] - new[j]) * z[j] * (one - z[j]);
    }
    for j in 0..n {
        dr[j] = dn[j] * u[j] * r[j] * (one - r[j]);
    }
    for j in 0..n {
        du[j] = dn[j] * r[j];
    }
    for j in 0..n {
        h[j] = h[j] * z[j];
    }
}

#[inline(always)]
fn four<T>(x: &[T], n: usize) -> [&[T]; 4] {
    [&x[..n], &x[n..][..n], &x[2 * n..][..n], &x[3 * n..][..n]]
}

#[inline(always)]
fn four_mut<T>(x: &mut [T], n: usize) -> [&mut [T]; 4] {
    let (a, rest) = x.split_at_mut(n);
    let (b, rest) = rest.split_at_mut(n);
    let (c, d) = rest.split_at_mut(n);
    [a, b, c, &mut d[..n]]
}
