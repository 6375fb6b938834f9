use crate::gemm::Product;
use crate::scalar::Scalar;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The threads and the memory that passes run on. Cheap to share; holds no result.
pub struct Context<T> {
    threads: usize,
    /// Threads that may take over parts of a matrix product where they have nothing else to do.
    helpers: usize,
    pool: Option<rayon::ThreadPool>,
    memory: Arc<Memory<T>>,
    flops: Arc<AtomicU64>,
}

/// Running totals of a context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Floating-point operations in matrix products since the context was made.
    pub flops: u64,
    /// Bytes of tensors alive now.
    pub live_bytes: usize,
    /// The most that were alive at once since [`Context::reset_peak`].
    pub peak_bytes: usize,
}

impl<T: Scalar> Context<T> {
    /// A context with this many threads; 0 means one for each core.
    pub fn new(threads: usize) -> Arc<Self> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        // Where no pool can be had the work runs on the caller's thread.
        let build = || rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok();
        let pool = if threads > 1 { build() } else { None };
        let threads = if pool.is_some() { threads } else { 1 };
        Arc::new(Self { threads, helpers: 1, pool, memory: Arc::default(), flops: Arc::default() })
    }

    /// How many threads operations may use, 1 or more.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs work inside the pool, so that everything below uses its threads.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// The same memory and counts with one thread, for work that is itself one of several parallel pieces. Where there
    /// are few pieces, a thread that has none left helps with the matrix products of the others.
    pub fn serial(&self, pieces: usize) -> Arc<Self> {
        let few = pieces <= 4 * self.threads;
        Arc::new(Self {
            threads: 1,
            helpers: if few { self.threads } else { 1 },
            pool: None,
            memory: self.memory.clone(),
            flops: self.flops.clone(),
        })
    }

    /// Runs pieces of work on the threads, each piece on one, and collects the results in order.
    pub fn map<I: Sync, R: Send>(&self, pieces: &[I], work: impl Fn(&I) -> R + Sync + Send) -> Vec<R> {
        match &self.pool {
            Some(pool) => pool.install(|| pieces.par_iter().with_max_len(1).map(work).collect()),
            None => pieces.iter().map(work).collect(),
        }
    }

    /// What was spent so far.
    pub fn counts(&self) -> Counts {
        Counts {
            flops: self.flops.load(Ordering::Relaxed),
            live_bytes: self.memory.live.load(Ordering::Relaxed),
            peak_bytes: self.memory.peak.load(Ordering::Relaxed),
        }
    }

    /// Starts measuring the peak anew.
    pub fn reset_peak(&self) {
        self.memory.peak.store(self.memory.live.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// A buffer of `len` elements that the caller overwrites; it may hold old numbers.
    pub(crate) fn buffer(&self, len: usize) -> Buffer<T> {
        Memory::take(&self.memory, len)
    }

    /// Runs one matrix product with all threads and counts its work.
    pub(crate) fn product(&self, product: Product<'_, T>) {
        self.count(product.mnk());
        T::product(&product.threads(self.threads).helpers(self.helpers));
    }

    /// Counts the work of one matrix product that a kernel runs by itself.
    pub(crate) fn count(&self, (m, n, k): (usize, usize, usize)) {
        self.flops.fetch_add(2 * (m * n * k) as u64, Ordering::Relaxed);
    }

    /// Runs `work(first_row, rows)` over the rows of a buffer, in parallel where that pays.
    pub(crate) fn rows(&self, data: &mut [T], cols: usize, work: impl Fn(usize, &mut [T]) + Sync) {
        match self.chunk(data.len(), cols) {
            None => work(0, data),
            Some(chunk) => {
                let parts = data.par_chunks_mut(chunk * cols).enumerate();
                parts.for_each(|(i, part)| work(i * chunk, part));
            }
        }
    }

    /// The same with one more number a row: `work(first_row, rows, numbers)`.
    pub(crate) fn rows_with(
        &self,
        data: &mut [T],
        cols: usize,
        side: &mut [T],
        work: impl Fn(usize, &mut [T], &mut [T]) + Sync,
    ) {
        match self.chunk(data.len(), cols) {
            None => work(0, data, side),
            Some(chunk) => {
                let parts = data.par_chunks_mut(chunk * cols).zip(side.par_chunks_mut(chunk)).enumerate();
                parts.for_each(|(i, (part, side))| work(i * chunk, part, side));
            }
        }
    }

    /// Runs `work(row, rows)` for every row of several buffers of one shape.
    pub(crate) fn rows_of<const N: usize>(
        &self,
        buffers: [&mut [T]; N],
        cols: usize,
        work: impl Fn(usize, [&mut [T]; N]) + Sync,
    ) {
        let len = buffers.first().map_or(0, |data| data.len());
        let each = |first: usize, mut part: [&mut [T]; N]| {
            crate::kernels::vectorised(
                #[inline(always)]
                || {
                    for i in 0..part[0].len() / cols {
                        work(first + i, part.each_mut().map(|data| &mut data[i * cols..][..cols]));
                    }
                },
            );
        };
        let Some(chunk) = self.chunk(len, cols) else { return each(0, buffers) };
        let mut parts = buffers.map(|data| data.chunks_mut(chunk * cols));
        let next = |i| (i * chunk, parts.each_mut().map(|part| part.next().unwrap_or_default()));
        let parts: Vec<_> = (0..(len / cols).div_ceil(chunk)).map(next).collect();
        parts.into_par_iter().for_each(|(first, part)| each(first, part));
    }

    /// Rows a task when `len` elements are split between the threads; none where one thread does it all.
    fn chunk(&self, len: usize, cols: usize) -> Option<usize> {
        let rows = len / cols.max(1);
        if self.threads == 1 || len < PARALLEL_ELEMENTS || rows < 2 {
            return None;
        }
        Some(rows.div_ceil(self.threads * 4).max((PARALLEL_ELEMENTS / 4).div_ceil(cols)))
    }

    /// Runs independent tasks, in parallel where there is more than one thread and enough work.
    pub(crate) fn tasks(&self, count: usize, parallel: bool, work: impl Fn(usize) + Sync) {
        if self.threads == 1 || count < 2 || !parallel {
            (0..count).for_each(work);
        } else {
            (0..count).into_par_iter().for_each(&work);
        }
    }
}

/// Below this many elements a second thread costs more than it brings.
const PARALLEL_ELEMENTS: usize = 16 * 1024;

/// Recycled buffers: a fresh page costs more than the arithmetic done on it.
///
/// What is free and what is alive together never exceed the most that was ever alive, so that recycling does not raise
/// the memory a process takes.
struct Memory<T> {
    free: Mutex<Free<T>>,
    live: AtomicUsize,
    peak: AtomicUsize,
    most: AtomicUsize,
}

/// Free buffers, shortest first, each with the time it came free.
struct Free<T> {
    buffers: Vec<(u64, Vec<T>)>,
    bytes: usize,
    clock: u64,
}

impl<T> Default for Memory<T> {
    fn default() -> Self {
        let free = Mutex::new(Free { buffers: Vec::new(), bytes: 0, clock: 0 });
        Self { free, live: AtomicUsize::new(0), peak: AtomicUsize::new(0), most: AtomicUsize::new(0) }
    }
}

impl<T: Scalar> Memory<T> {
    fn take(memory: &Arc<Self>, len: usize) -> Buffer<T> {
        let mut free = memory.free();
        let recycled = free.take(len);
        let bytes = recycled.as_ref().map_or(len, Vec::capacity) * size_of::<T>();
        let live = memory.live.fetch_add(bytes, Ordering::Relaxed) + bytes;
        memory.peak.fetch_max(live, Ordering::Relaxed);
        let most = memory.most.fetch_max(live, Ordering::Relaxed).max(live);
        free.shrink(most - live);
        drop(free);
        let vec = recycled.unwrap_or_else(|| vec![T::default(); len]);
        Buffer { vec, len, home: Arc::downgrade(memory) }
    }
}

impl<T> Memory<T> {
    fn give(&self, vec: Vec<T>) {
        let mut free = self.free();
        let bytes = vec.capacity() * size_of::<T>();
        self.live.fetch_sub(bytes, Ordering::Relaxed);
        free.clock += 1;
        let (at, now) = (free.buffers.partition_point(|(_, v)| v.len() < vec.len()), free.clock);
        free.buffers.insert(at, (now, vec));
        free.bytes += bytes;
    }

    fn free(&self) -> MutexGuard<'_, Free<T>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Free<T> {
    /// The smallest buffer that is large enough, unless it is wastefully large.
    fn take(&mut self, len: usize) -> Option<Vec<T>> {
        let at = self.buffers.partition_point(|(_, v)| v.len() < len);
        let fits = self.buffers.get(at).is_some_and(|(_, v)| v.len() <= len + len / 4 + 1024);
        let (_, vec) = fits.then(|| self.buffers.remove(at))?;
        self.bytes -= vec.capacity() * size_of::<T>();
        Some(vec)
    }

    /// Gives buffers back to the system, those first that lay unused longest, until no more than this is free.
    fn shrink(&mut self, allowed_bytes: usize) {
        while self.bytes > allowed_bytes
            && let Some(oldest) = (0..self.buffers.len()).min_by_key(|&i| self.buffers[i].0)
        {
            self.bytes -= self.buffers.remove(oldest).1.capacity() * size_of::<T>();
        }
    }
}

/// Memory of one tensor; goes back to its context when dropped.
pub(crate) struct Buffer<T> {
    vec: Vec<T>,
    len: usize,
    home: Weak<Memory<T>>,
}

impl<T> Buffer<T> {
    /// Memory that belongs to no context.
    pub(crate) fn owned(vec: Vec<T>) -> Self {
        Self { len: vec.len(), vec, home: Weak::new() }
    }

    pub(crate) fn slice(&self) -> &[T] {
        &self.vec[..self.len]
    }

    pub(crate) fn slice_mut(&mut self) -> &mut [T] {
        &mut self.vec[..self.len]
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade() {
            home.give(std::mem::take(&mut self.vec));
        }
    }
}
