//! Matrix products over the `gemm` crate, with every view checked against its slice.

use crate::kernels::pack::Pack;
use crate::kernels::panel::Elements;
use std::marker::PhantomData;

mod run;

pub(crate) use run::{by_gemm, product};

/// A strided view of a matrix inside a slice: element (r, c) is at `offset + r·row + c·col`.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Where the first element stands in the buffer.
    pub offset: usize,
    /// How many elements lie from one row to the next.
    pub row: usize,
    /// How many elements lie from one column to the next.
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
    /// The factor of the whole product.
    pub scale: f64,
    /// How many threads share the product.
    pub threads: usize,
    /// Threads that may take over a part where they have nothing else to do.
    helpers: usize,
    /// A row that is added to each of the product's.
    bias: Option<&'a [T]>,
    /// Where panels of the right side are kept.
    pack: Option<&'a Pack<T>>,
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
    pub(crate) fn kept(mut self, pack: Option<&'a Pack<T>>) -> Self {
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

    /// What the product is added to: what stands in a plane of the destination, a row for all, or nothing.
    fn start<R>(&self, [width, plane]: [usize; 2], first: bool) -> Option<Elements<R>> {
        let bias = self.bias.filter(|_| first);
        match bias {
            Some(bias) => {
                let data = bias.as_ptr().cast::<R>().wrapping_add(plane).cast_mut();
                Some(Elements { data, row: 0, col: width })
            }
            None => (self.accumulate || !first).then(|| self.elements([width, plane])),
        }
    }

    /// A plane of the destination.
    fn elements<R>(&self, [width, plane]: [usize; 2]) -> Elements<R> {
        let View { offset, row, col } = self.dst_view;
        let data = self.dst.wrapping_add(offset).cast::<R>().wrapping_add(plane);
        Elements { data, row: row * width, col: col * width }
    }
}
