//! How a product runs: by panels, or by the `gemm` crate where the machine has no tile.

use super::{Product, View};
use crate::kernels::machine::{self, Blocking};
use crate::kernels::pack::{Pack, Weight};
use crate::kernels::panel::{Columns, Elements, Panels};
use crate::scalar::{Real, Scalar};
use rayon::prelude::*;
use std::any::Any;

/// A plane of a matrix: element i of it lies at `i · width + plane` in units of R. Plain numbers have one plane.
struct Plane<'a, R> {
    data: &'a [R],
    row: usize,
    col: usize,
}

impl<'a, R> Plane<'a, R> {
    /// A plane of a side; T is R or a pair of it.
    fn new<T>(side: &'a [T], view: View, [width, plane]: [usize; 2]) -> Self {
        assert_eq!(size_of::<T>(), width * size_of::<R>(), "a number of other planes");
        // SAFETY: T is R or a repr(C) pair of it, so that the slice holds as many R.
        #[allow(unsafe_code, reason = "a dual number is a pair of plain ones")]
        let data = unsafe { std::slice::from_raw_parts(side.as_ptr().cast::<R>(), side.len() * width) };
        let first = (view.offset * width + plane).min(data.len());
        Self { data: &data[first..], row: view.row * width, col: view.col * width }
    }
}

/// Multiplications below which a second thread costs more than it brings.
const LEAST_PARALLEL_WORK: usize = 256 * 1024;

/// Lets threads compute columns of one product, each its own.
struct Shared<'a, R>(Panels<'a, R>);

// SAFETY: the threads read x and w and write different columns of y.
#[allow(unsafe_code, reason = "threads write disjoint columns")]
unsafe impl<R: Sync> Sync for Shared<'_, R> {}

impl<R: Real> Shared<'_, R> {
    /// Computes all columns, each on one thread.
    ///
    /// # Safety
    /// As for [`Columns::new`].
    #[allow(unsafe_code, reason = "threads write disjoint columns")]
    unsafe fn run_all(&self, n: usize, blocking: Blocking, threads: usize) {
        // Whole panels; a few parts a thread even out their pace.
        let parts = if threads > 1 { threads * 4 } else { 1 };
        let columns = blocking.columns::<R>();
        let step = n.div_ceil(parts * columns) * columns;
        let run = |part: usize| {
            // SAFETY: parts do not overlap, and the caller's promise.
            let columns = unsafe { Columns::new(self.0, part * step..((part + 1) * step).min(n)) };
            blocking.tile.run(columns);
        };
        match parts {
            1 => run(0),
            _ => (0..n.div_ceil(step)).into_par_iter().for_each(run),
        }
    }
}

/// The product of a plane of each side into a plane of the destination; `first` where nothing was added to it yet.
///
/// A dual number has two planes, and calls this once for each pair that matters.
pub(crate) fn product<T: Scalar, R: Real>(p: &Product<'_, T>, width: usize, planes: [usize; 3], first: bool) {
    product_by::<T, R>(machine::blocking(), p, width, planes, first);
}

/// The same, cut in a given way; by the `gemm` crate where there is none.
fn product_by<T: Scalar, R: Real>(
    blocking: Option<Blocking>,
    p: &Product<'_, T>,
    width: usize,
    planes: [usize; 3],
    first: bool,
) {
    let (m, n, k) = p.mnk;
    let start = p.start::<R>([width, planes[0]], first);
    match blocking.filter(|_| k > 0) {
        _ if m == 0 || n == 0 => {}
        Some(blocking) => by_panels(p, width, planes, start, blocking),
        None => general(p, width, planes, start),
    }
}

fn by_panels<T: Scalar, R: Real>(
    p: &Product<'_, T>,
    width: usize,
    [to, left, right]: [usize; 3],
    start: Option<Elements<R>>,
    blocking: Blocking,
) {
    let (m, n, k) = p.mnk;
    let x = Plane::<R>::new(p.lhs, p.lhs_view, [width, left]);
    let w = Plane::<R>::new(p.rhs, p.rhs_view, [width, right]);
    let w = Weight::new(w.data, (w.row, w.col), (k, n), blocking);
    let scale = (p.scale != 1.0).then(|| R::from_f64(p.scale));
    // Duals keep no panels, because theirs would be of pairs, and panels are kept without a factor.
    let pack =
        p.pack.filter(|_| scale.is_none()).and_then(|pack| (pack as &dyn Any).downcast_ref::<Pack<R>>());
    let product = Shared(Panels {
        rows: m,
        x: Elements { data: x.data.as_ptr().cast_mut(), row: x.row, col: x.col },
        w,
        kept: pack.and_then(|pack| pack.panels(m, w)),
        y: p.elements([width, to]),
        start,
        scale: R::from_f64(p.scale),
    });
    let threads = p.threads.max(p.helpers);
    // SAFETY: `Product` checked the views, or its maker promised so for the destination.
    #[allow(unsafe_code, reason = "threads write disjoint columns")]
    unsafe {
        product.run_all(n, blocking, if m * n * k > LEAST_PARALLEL_WORK { threads } else { 1 });
    }
}

/// The product of plain numbers by the `gemm` crate, for comparison.
pub(crate) fn by_gemm(p: &Product<'_, f32>) {
    product_by::<f32, f32>(None, p, 1, [0; 3], true);
}

/// The product by the `gemm` crate.
fn general<T, R: Real>(
    p: &Product<'_, T>,
    width: usize,
    [to, left, right]: [usize; 3],
    start: Option<Elements<R>>,
) {
    let (m, n, k) = p.mnk;
    let y = p.elements::<R>([width, to]);
    if let Some(start) = start.filter(|_| p.bias.is_some()) {
        // SAFETY: elements of the destination and of the bias, which are as the product says.
        #[allow(unsafe_code, reason = "the destination is a pointer")]
        unsafe {
            y.copy_from(start, (m, n));
        }
    }
    let x = Plane::<R>::new(p.lhs, p.lhs_view, [width, left]);
    let w = Plane::<R>::new(p.rhs, p.rhs_view, [width, right]);
    let threads = if p.threads > 1 { gemm::Parallelism::Rayon(p.threads) } else { gemm::Parallelism::None };
    // SAFETY: `Product` checked that every element of the three views lies in its slice (or its maker promised so for
    // the destination); R is T or a field of the repr(C) pair T, so that planes of T are strided arrays of R.
    #[allow(unsafe_code, reason = "the gemm crate takes pointers")]
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            y.data,
            y.col as isize,
            y.row as isize,
            start.is_some(),
            x.data.as_ptr(),
            x.col as isize,
            x.row as isize,
            w.data.as_ptr(),
            w.col as isize,
            w.row as isize,
            R::from_f64(1.0),
            R::from_f64(p.scale),
            false,
            false,
            false,
            threads,
        );
    }
}

#[cfg(test)]
mod tests;
