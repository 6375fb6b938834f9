use crate::context::{Buffer, Context};
use crate::kernels::pack::{Pack, PanelBudget};
use crate::scalar::Scalar;
use std::fmt;
use std::sync::Arc;

/// A row-major matrix `[rows, cols]`. Immutable once made, and cheap to clone.
///
/// A vector is `[1, n]`; a ragged attention map is `[1, n]` with [`Segments`](crate::Segments) beside it.
#[derive(Clone)]
pub struct Tensor<T> {
    rows: usize,
    cols: usize,
    data: Arc<Storage<T>>,
    panels: Option<Arc<KeptPanels<T>>>,
}

/// Copies of a weight in panels, for the product with it and for the pull to its input.
#[derive(Debug)]
pub(crate) struct KeptPanels<T> {
    pub(crate) forward: Pack<T>,
    pub(crate) backward: Pack<T>,
}

enum Storage<T> {
    Own(Buffer<T>),
    /// Memory of somebody else, such as a mapped file.
    Borrowed(Box<dyn AsRef<[T]> + Send + Sync>),
}

impl<T: Scalar> Tensor<T> {
    /// A matrix of these elements.
    pub fn new(rows: usize, cols: usize, data: Vec<T>) -> Self {
        assert_eq!(rows * cols, data.len(), "a {rows} × {cols} matrix of {} elements", data.len());
        Self::from_buffer(rows, cols, Buffer::owned(data))
    }

    /// A matrix over memory that somebody else owns.
    pub fn borrowed(rows: usize, cols: usize, data: Box<dyn AsRef<[T]> + Send + Sync>) -> Self {
        assert_eq!(rows * cols, data.as_ref().as_ref().len(), "a {rows} × {cols} matrix over foreign memory");
        Self { rows, cols, data: Arc::new(Storage::Borrowed(data)), panels: None }
    }

    /// A matrix whose elements `fill` writes, every one of them.
    pub(crate) fn fill(ctx: &Context<T>, rows: usize, cols: usize, fill: impl FnOnce(&mut [T])) -> Self {
        let mut buffer = ctx.buffer(rows * cols);
        fill(buffer.slice_mut());
        Self::from_buffer(rows, cols, buffer)
    }

    /// A matrix of zeros.
    pub(crate) fn zeros(ctx: &Context<T>, rows: usize, cols: usize) -> Self {
        Self::fill(ctx, rows, cols, |out| out.fill(T::default()))
    }

    pub(crate) fn from_buffer(rows: usize, cols: usize, buffer: Buffer<T>) -> Self {
        Self { rows, cols, data: Arc::new(Storage::Own(buffer)), panels: None }
    }

    /// The same matrix, of which products may keep copies in a layout of their own, one forward and one for gradients, as
    /// far as the budget goes: faster, and to the bit the same.
    pub fn keeping_panels(self, budget: &Arc<PanelBudget>) -> Self {
        let kept = KeptPanels { forward: Pack::new(budget), backward: Pack::new(budget) };
        Self { panels: Some(Arc::new(kept)), ..self }
    }

    pub(crate) fn panels(&self) -> Option<&KeptPanels<T>> {
        self.panels.as_deref()
    }

    /// How many rows the matrix has.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns the matrix has.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Every element, row by row.
    pub fn data(&self) -> &[T] {
        self.elements()
    }

    /// The elements for writing, where nobody else holds this matrix.
    pub(crate) fn data_mut(&mut self) -> Option<&mut [T]> {
        match Arc::get_mut(&mut self.data)? {
            Storage::Own(buffer) => Some(buffer.slice_mut()),
            Storage::Borrowed(_) => None,
        }
    }

    /// The same elements in other rows and columns, without a copy.
    pub(crate) fn reshaped(self, rows: usize, cols: usize) -> Self {
        assert_eq!(rows * cols, self.rows * self.cols, "a reshape to {rows} × {cols}");
        Self { rows, cols, data: self.data, panels: None }
    }

    /// The same elements as another kind of number.
    pub fn map<U: Scalar>(&self, f: impl Fn(T) -> U) -> Tensor<U> {
        Tensor::new(self.rows, self.cols, self.data().iter().map(|&x| f(x)).collect())
    }
}

impl<T> Tensor<T> {
    fn elements(&self) -> &[T] {
        match &*self.data {
            Storage::Own(buffer) => buffer.slice(),
            Storage::Borrowed(owner) => (**owner).as_ref(),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data = self.elements();
        write!(f, "Tensor [{}, {}] {:?}", self.rows, self.cols, &data[..data.len().min(8)])
    }
}
