use super::{sum, vectorised};
use crate::context::Context;
use crate::scalar::Scalar;
use crate::tensor::Tensor;

/// Rows of a table.
pub(crate) fn gather<T: Scalar>(ctx: &Context<T>, table: &Tensor<T>, index: &[usize]) -> Tensor<T> {
    let cols = table.cols();
    Tensor::fill(ctx, index.len(), cols, |out| {
        for (row, &i) in out.chunks_exact_mut(cols).zip(index) {
            row.copy_from_slice(&table.data()[i * cols..(i + 1) * cols]);
        }
    })
}

/// Adds each row of the cotangent to the row it was gathered from.
pub(crate) fn scatter<T: Scalar>(dst: &mut [T], cotangent: &Tensor<T>, index: &[usize]) {
    let cols = cotangent.cols();
    for (row, &i) in cotangent.data().chunks_exact(cols).zip(index) {
        dst[i * cols..(i + 1) * cols].iter_mut().zip(row).for_each(|(d, &g)| *d += g);
    }
}

/// f(x, r) with one element of `r` a column.
pub(crate) fn with_row<T: Scalar>(
    ctx: &Context<T>,
    x: &Tensor<T>,
    r: &Tensor<T>,
    f: impl Fn(T, T) -> T + Sync,
) -> Tensor<T> {
    assert_eq!((1, x.cols()), (r.rows(), r.cols()), "a row of another width");
    by_rows(ctx, x, |_, x, out| {
        out.iter_mut().zip(x.iter().zip(r.data())).for_each(|(o, (&x, &r))| *o = f(x, r));
    })
}

/// f(x, c) with one element of `c` a row.
pub(crate) fn with_column<T: Scalar>(
    ctx: &Context<T>,
    x: &Tensor<T>,
    c: &Tensor<T>,
    f: impl Fn(T, T) -> T + Sync,
) -> Tensor<T> {
    assert_eq!((x.rows(), 1), (c.rows(), c.cols()), "a column of another height");
    by_rows(ctx, x, |row, x, out| {
        let c = c.data()[row];
        out.iter_mut().zip(x).for_each(|(o, &x)| *o = f(x, c));
    })
}

fn by_rows<T: Scalar>(
    ctx: &Context<T>,
    x: &Tensor<T>,
    work: impl Fn(usize, &[T], &mut [T]) + Sync,
) -> Tensor<T> {
    let cols = x.cols();
    Tensor::fill(ctx, x.rows(), cols, |out| {
        ctx.rows(out, cols, |first, part| {
            for (i, out) in part.chunks_exact_mut(cols).enumerate() {
                let row = first + i;
                work(row, &x.data()[row * cols..(row + 1) * cols], out);
            }
        });
    })
}

/// Σ_c f(x\[t, c\], y\[t, c\]) for each row.
pub(crate) fn sum_rows<T: Scalar>(
    ctx: &Context<T>,
    x: &Tensor<T>,
    y: &Tensor<T>,
    f: impl Fn(T, T) -> T + Sync,
) -> Tensor<T> {
    let cols = x.cols();
    Tensor::fill(ctx, x.rows(), 1, |out| {
        for (row, out) in out.iter_mut().enumerate() {
            let (x, y) = (&x.data()[row * cols..][..cols], &y.data()[row * cols..][..cols]);
            *out = vectorised(
                #[inline(always)]
                || sum(cols, |i| f(x[i], y[i])),
            );
        }
    })
}

/// Σ_t f(x\[t, c\], y\[t, c\]) for each column, added to `dst`. Always in the order of the rows.
pub(crate) fn add_column_sums<T: Scalar>(
    dst: &mut [T],
    x: &Tensor<T>,
    y: &Tensor<T>,
    f: impl Fn(T, T) -> T + Sync,
) {
    let cols = x.cols();
    vectorised(
        #[inline(always)]
        || {
            for (x, y) in x.data().chunks_exact(cols).zip(y.data().chunks_exact(cols)) {
                dst.iter_mut().zip(x.iter().zip(y)).for_each(|(d, (&x, &y))| *d += f(x, y));
            }
        },
    );
}

/// Every column of `[T, H]` set to the column `[T, 1]`.
pub(crate) fn spread_column<T: Scalar>(ctx: &Context<T>, column: &Tensor<T>, cols: usize) -> Tensor<T> {
    Tensor::fill(ctx, column.rows(), cols, |out| {
        out.chunks_exact_mut(cols).zip(column.data()).for_each(|(row, &c)| row.fill(c));
    })
}

/// One element of each row.
pub(crate) fn pick<T: Scalar>(ctx: &Context<T>, x: &Tensor<T>, columns: &[usize]) -> Tensor<T> {
    assert_eq!(x.rows(), columns.len(), "pick: one column a row");
    assert!(columns.iter().all(|&column| column < x.cols()), "pick: a column outside the row");
    Tensor::fill(ctx, x.rows(), 1, |out| {
        for (row, (out, &column)) in out.iter_mut().zip(columns).enumerate() {
            *out = x.data()[row * x.cols() + column];
        }
    })
}
