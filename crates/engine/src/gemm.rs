//! Matrix products over the `gemm` crate, with every view checked against its slice.

use crate::kernels::pack::{COLUMNS, Pack, Weight};
use crate::kernels::panel::{self, Panels, Start};
use crate::scalar::Real;
use rayon::prelude::*;
use std::marker::PhantomData;

/// A strided view of a matrix inside a slice: element (r, c) is at `offset + r·row + c·col`.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// The first element.
    pub offset: usize,
    /// Elements between rows.
    pub row: usize,
    /// Elements between columns.
    pub col: usize,
}

impl View {
    /// A row-major matrix of `cols` columns at the start of its slice.
    pub fn rows(cols: usize) -> Self {
        Self { offset: 0, row: cols, col: 1 }
    }

    /// The same matrix, transposed.
    pub fn t(self) -> Self {
        Self { row: self.col, col: self.row, ..self }
    }

    /// The same matrix, starting at another element.
    pub fn at(self, offset: usize) -> Self {
        Self { offset, ..self }
    }

    pub(crate) fn fits(self, rows: usize, cols: usize, len: usize) -> bool {
        let step = |count: usize, stride: usize| (count - 1).saturating_mul(stride);
        let last = || self.offset.saturating_add(step(rows, self.row)).saturating_add(step(cols, self.col));
        rows == 0 || cols == 0 || last() < len
    }

    /// Whether no two elements share a place; for a destination that threads write.
    fn distinct(self, rows: usize, cols: usize) -> bool {
        let nested = |inner: usize, small: usize, outer: usize, large: usize| {
            (inner <= 1 || small > 0) && (outer <= 1 || large > (inner - 1).saturating_mul(small))
        };
        let within = || nested(cols, self.col, rows, self.row) || nested(rows, self.row, cols, self.col);
        rows == 0 || cols == 0 || within()
    }
}

/// dst\[m, n\] (+)= scale · lhs\[m, k\] · rhs\[k, n\].
///
/// Its sizes cannot be changed, because the views were checked with them and are not checked again.
///
/// ```compile_fail,E0616
/// use exegete_engine::Scalar;
/// use exegete_engine::gemm::{Product, View};
/// let (mut dst, lhs, rhs, view) = ([0.0], [1.0], [1.0], View::rows(1));
/// let mut product = Product::new((1, 1, 1), (&mut dst, view), (&lhs, view), (&rhs, view));
/// product.mnk = (9, 1, 1); // Nine rows would be written where there is one.
/// f64::product(&product);
/// ```
pub struct Product<'a, T> {
    /// Rows, columns, inner length.
    mnk: (usize, usize, usize),
    dst: *mut T,
    dst_view: View,
    lhs: &'a [T],
    lhs_view: View,
    rhs: &'a [T],
    rhs_view: View,
    /// Whether to add to what `dst` holds.
    pub accumulate: bool,
    /// The factor.
    pub scale: f64,
    /// Threads to use.
    pub threads: usize,
    /// Threads that may take over a part where they have nothing else to do.
    helpers: usize,
    /// A row that is added to each of the product's.
    bias: Option<&'a [T]>,
    /// Where panels of the right side are kept.
    pack: Option<&'a Pack>,
    borrow: PhantomData<&'a mut [T]>,
}

impl<'a, T> Product<'a, T> {
    /// A product into a slice; panics where a view leaves its slice, which is a defect of the caller.
    pub fn new(
        mnk: (usize, usize, usize),
        (dst, dst_view): (&'a mut [T], View),
        lhs: (&'a [T], View),
        rhs: (&'a [T], View),
    ) -> Self {
        assert!(dst_view.fits(mnk.0, mnk.1, dst.len()), "product: the destination leaves its slice");
        assert!(dst_view.distinct(mnk.0, mnk.1), "product: the destination overlaps itself");
        // SAFETY: the destination was checked and is borrowed for 'a.
        #[allow(unsafe_code, reason = "the bounds are asserted above")]
        unsafe {
            Self::from_raw(mnk, (dst.as_mut_ptr(), dst_view), lhs, rhs)
        }
    }

    /// A product into raw memory, for kernels whose tasks write disjoint strided parts of one buffer.
    ///
    /// # Safety
    /// The destination view must name no element twice, and each must be valid for writes during 'a and touched by
    /// nobody else.
    #[allow(unsafe_code, reason = "heads write disjoint columns of one buffer")]
    pub unsafe fn from_raw(
        mnk: (usize, usize, usize),
        (dst, dst_view): (*mut T, View),
        (lhs, lhs_view): (&'a [T], View),
        (rhs, rhs_view): (&'a [T], View),
    ) -> Self {
        let (m, n, k) = mnk;
        assert!(lhs_view.fits(m, k, lhs.len()), "product: the left side leaves its slice");
        assert!(rhs_view.fits(k, n, rhs.len()), "product: the right side leaves its slice");
        Self {
            mnk,
            dst,
            dst_view,
            lhs,
            lhs_view,
            rhs,
            rhs_view,
            accumulate: false,
            scale: 1.0,
            threads: 1,
            helpers: 1,
            bias: None,
            pack: None,
            borrow: PhantomData,
        }
    }

    /// Rows, columns and inner length.
    pub(crate) fn mnk(&self) -> (usize, usize, usize) {
        self.mnk
    }

    /// Adds to the destination instead of replacing it.
    pub fn accumulate(mut self, yes: bool) -> Self {
        self.accumulate = yes;
        self
    }

    /// Multiplies the product by a factor.
    pub fn scale(mut self, scale: f64) -> Self {
        self.scale = scale;
        self
    }

    /// Adds a row to each of the product's, in place of what the destination holds.
    pub(crate) fn bias(mut self, bias: Option<&'a [T]>) -> Self {
        assert!(bias.is_none_or(|bias| bias.len() == self.mnk.1), "product: a bias of another width");
        self.bias = bias;
        self
    }

    /// Says where panels of the right side are kept.
    pub(crate) fn kept(mut self, pack: Option<&'a Pack>) -> Self {
        self.pack = pack;
        self
    }

    /// Uses this many threads of the current pool.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Lets this many threads of the current pool take over parts where they have nothing else to do.
    pub(crate) fn helpers(mut self, helpers: usize) -> Self {
        self.helpers = helpers;
        self
    }

    /// Writes the bias, where there is one, and says whether the product must then be added to the destination.
    pub(crate) fn begin(&self) -> bool
    where
        T: Copy,
    {
        let Some(bias) = self.bias else { return self.accumulate };
        for row in 0..self.mnk.0 {
            for (col, &value) in bias.iter().enumerate() {
                let at = self.dst_view.offset + row * self.dst_view.row + col * self.dst_view.col;
                // SAFETY: an element of the destination's view, which was checked or promised.
                #[allow(unsafe_code, reason = "the destination is a pointer")]
                unsafe {
                    *self.dst.add(at) = value;
                }
            }
        }
        true
    }
}

impl Product<'_, f32> {
    /// Runs a product with a weight by panels, where its layout allows; otherwise says no.
    pub(crate) fn by_panels(&self) -> bool {
        let (m, n, k) = self.mnk;
        let by_rows = (self.dst_view.col, self.lhs_view.col) == (1, 1);
        let contiguous = self.rhs_view.row == 1 || self.rhs_view.col == 1;
        let large = k >= panel::LEAST_INNER && n >= panel::LEAST_COLUMNS;
        let few = m <= panel::MOST_ROWS || self.pack.is_some();
        if m == 0 || !by_rows || !contiguous || !large || !few || !panel::available() {
            return false;
        }
        let w = Weight {
            data: &self.rhs[self.rhs_view.offset..],
            row: self.rhs_view.row,
            col: self.rhs_view.col,
            size: (k, n),
        };
        let panels = Columns(Panels {
            rows: m,
            x: &self.lhs[self.lhs_view.offset..],
            x_row: self.lhs_view.row,
            w,
            kept: self.pack.and_then(|pack| pack.panels(m, w)),
            y: self.dst.wrapping_add(self.dst_view.offset),
            y_row: self.dst_view.row,
            start: match (self.bias, self.accumulate) {
                (Some(bias), _) => Start::Row(bias),
                (None, true) => Start::Own,
                (None, false) => Start::Nothing,
            },
            scale: self.scale as f32,
        });
        // Whole panels; a few parts a thread even out their pace.
        let threads = self.threads.max(self.helpers);
        let parts = if threads > 1 && m * n * k > LEAST_PARALLEL_WORK { threads * 4 } else { 1 };
        let width = n.div_ceil(parts * COLUMNS) * COLUMNS;
        let run = |part: usize| {
            // SAFETY: `new` or `from_raw` checked the views, `available` holds, and parts do not overlap.
            #[allow(unsafe_code, reason = "threads write disjoint columns")]
            unsafe {
                panels.run(part * width, ((part + 1) * width).min(n));
            }
        };
        if parts == 1 {
            run(0);
        } else {
            (0..n.div_ceil(width)).into_par_iter().for_each(run);
        }
        true
    }
}

/// Multiplications below which a second thread costs more than it brings.
const LEAST_PARALLEL_WORK: usize = 256 * 1024;

/// Lets threads compute columns of one product, each its own.
struct Columns<'a>(Panels<'a>);

// SAFETY: the threads read x and w and write different columns of y.
#[allow(unsafe_code, reason = "threads write disjoint columns")]
unsafe impl Sync for Columns<'_> {}

impl Columns<'_> {
    /// Computes some columns.
    ///
    /// # Safety
    /// As for [`Panels::columns`].
    #[allow(unsafe_code, reason = "threads write disjoint columns")]
    unsafe fn run(&self, first: usize, last: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.0.columns(first, last) }
    }
}

/// Runs the product on planes of the elements: element i of plane p lies at `i · width + p` in units of R.
/// Plain numbers have one plane; a dual number has two, and calls this once for each pair that matters.
pub(crate) fn product<T, R>(
    p: &Product<'_, T>,
    width: usize,
    dst_plane: usize,
    lhs_plane: usize,
    rhs_plane: usize,
    accumulate: bool,
) where
    R: Real,
{
    let (m, n, k) = p.mnk;
    if m == 0 || n == 0 {
        return;
    }
    let stride = |s: usize| (s * width) as isize;
    let threads = if p.threads > 1 { gemm::Parallelism::Rayon(p.threads) } else { gemm::Parallelism::None };
    // SAFETY: `Product` checked that every element of the three views lies in its slice (or its maker promised so for
    // the destination); R is T or a field of the repr(C) pair T, so that planes of T are strided arrays of R.
    #[allow(unsafe_code, reason = "the gemm crate takes pointers")]
    unsafe {
        let dst = p.dst.add(p.dst_view.offset).cast::<R>().add(dst_plane);
        // Wrapping, because a side without elements (k = 0) may begin beyond its slice.
        let lhs = p.lhs.as_ptr().wrapping_add(p.lhs_view.offset).cast::<R>().wrapping_add(lhs_plane);
        let rhs = p.rhs.as_ptr().wrapping_add(p.rhs_view.offset).cast::<R>().wrapping_add(rhs_plane);
        gemm::gemm(
            m,
            n,
            k,
            dst,
            stride(p.dst_view.col),
            stride(p.dst_view.row),
            accumulate,
            lhs,
            stride(p.lhs_view.col),
            stride(p.lhs_view.row),
            rhs,
            stride(p.rhs_view.col),
            stride(p.rhs_view.row),
            R::from_f64(1.0),
            R::from_f64(p.scale),
            false,
            false,
            false,
            threads,
        );
    }
}
