#![allow(unsafe_code, reason = "heads write disjoint maps and disjoint columns of one buffer")]

use super::softmax;
use crate::context::Context;
use crate::gemm::{Product, View};
use crate::heads::Heads;
use crate::scalar::Scalar;
use crate::segments::Segments;
use crate::tensor::Tensor;
use std::marker::PhantomData;

/// A buffer that tasks write in parallel, each its own elements.
struct Shared<'a, T>(*mut T, usize, PhantomData<&'a mut [T]>);

// SAFETY: elements are reached through unsafe functions only, whose callers promise that no two threads touch the same.
unsafe impl<T: Send> Send for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T: Scalar> Shared<'a, T> {
    fn new(data: &'a mut [T]) -> Self {
        Self(data.as_mut_ptr(), data.len(), PhantomData)
    }

    /// The task's own map.
    ///
    /// # Safety
    /// Nobody else touches that map while the result is used.
    #[allow(clippy::mut_from_ref, reason = "maps of different tasks are disjoint")]
    unsafe fn map(&self, t: &Task) -> &mut [T] {
        let len = t.queries * t.keys;
        assert!(t.map.saturating_add(len) <= self.1, "attention: a map leaves its buffer");
        // SAFETY: in bounds, and the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(t.map), len) }
    }

    /// A product into one head's columns of one sequence's rows.
    ///
    /// # Safety
    /// Nobody else touches the elements of the view while the product is used.
    unsafe fn product<'b>(
        &'b self,
        mnk: (usize, usize, usize),
        view: View,
        lhs: (&'b [T], View),
        rhs: (&'b [T], View),
    ) -> Product<'b, T> {
        assert!(view.fits(mnk.0, mnk.1, self.1), "attention: a head leaves its buffer");
        // SAFETY: in bounds, rows are at least as far apart as a head is wide, and the caller's promise.
        unsafe { Product::from_raw(mnk, (self.0, view), lhs, rhs) }
    }
}

/// One sequence and one head: the shapes and where its parts lie.
///
/// [`Heads::each`] makes each task once and gives it to one thread. Maps of different tasks do not overlap, nor do their
/// columns of their rows: whoever holds a task is alone with them.
struct Task {
    queries: usize,
    keys: usize,
    width: usize,
    /// q and context \[Tq, D\] inside \[T, N·D\]
    q: View,
    /// k and v \[Tk, D\] inside \[T, N·D\]
    k: View,
    /// The map \[Tq, Tk\] inside the ragged buffer
    map: usize,
}

impl Heads {
    fn task(&self, index: usize) -> Task {
        let (b, h) = (index / self.count(), index % self.count());
        let hidden = self.count() * self.width();
        let head = |first: usize| View::rows(hidden).at(first * hidden + h * self.width());
        Task {
            queries: self.queries().len(b),
            keys: self.keys().len(b),
            width: self.width(),
            q: head(self.queries().range(b).start),
            k: head(self.keys().range(b).start),
            map: self.map(b, h),
        }
    }

    fn each<T: Scalar>(&self, ctx: &Context<T>, work: impl Fn(Task) + Sync) {
        let tasks = self.queries().count() * self.count();
        let parallel = self.total() * self.width() > 64 * 1024;
        ctx.tasks(tasks, parallel, |i| work(self.task(i)));
    }

    /// Panics where q, k or v is not as these heads say, which is a defect of the caller.
    fn check<T: Scalar>(&self, segments: &Segments, x: &Tensor<T>) {
        let expected = (segments.total(), self.count() * self.width());
        assert_eq!(expected, (x.rows(), x.cols()), "attention: an input of another shape than the heads");
    }

    fn flops<T: Scalar>(&self, ctx: &Context<T>, products: usize) {
        ctx.count((self.total(), self.width(), products));
    }
}

/// scale·q·kᵀ for every sequence and head.
pub(crate) fn scores<T: Scalar>(ctx: &Context<T>, heads: &Heads, q: &Tensor<T>, k: &Tensor<T>) -> Tensor<T> {
    heads.check(heads.queries(), q);
    heads.check(heads.keys(), k);
    heads.flops(ctx, 1);
    Tensor::fill(ctx, 1, heads.total(), |out| {
        let out = Shared::new(out);
        heads.each(ctx, |t| {
            // SAFETY: the task's own map.
            scores_of(&t, heads.scale, q, k, unsafe { out.map(&t) });
        });
    })
}

fn scores_of<T: Scalar>(t: &Task, scale: f64, q: &Tensor<T>, k: &Tensor<T>, map: &mut [T]) {
    let mnk = (t.queries, t.keys, t.width);
    let product = Product::new(mnk, (map, View::rows(t.keys)), (q.data(), t.q), (k.data(), t.k.t()));
    T::product(&product.scale(scale));
}

/// p·v for every sequence and head.
pub(crate) fn context<T: Scalar>(ctx: &Context<T>, heads: &Heads, p: &Tensor<T>, v: &Tensor<T>) -> Tensor<T> {
    heads.check(heads.keys(), v);
    heads.flops(ctx, 1);
    let hidden = heads.count() * heads.width();
    Tensor::fill(ctx, heads.queries().total(), hidden, |out| {
        let out = Shared::new(out);
        heads.each(ctx, |t| context_of(&t, &p.data()[t.map..][..t.queries * t.keys], v, &out));
    })
}

fn context_of<T: Scalar>(t: &Task, map: &[T], v: &Tensor<T>, out: &Shared<'_, T>) {
    let mnk = (t.queries, t.width, t.keys);
    // SAFETY: the task's own columns.
    let product = unsafe { out.product(mnk, t.q, (map, View::rows(t.keys)), (v.data(), t.k)) };
    T::product(&product);
}

/// Scores, softmax and context in one go; keeps the probabilities where asked.
pub(crate) fn attention<T: Scalar>(
    ctx: &Context<T>,
    heads: &Heads,
    [q, k, v]: [&Tensor<T>; 3],
    keep: bool,
) -> (Tensor<T>, Option<Tensor<T>>) {
    heads.check(heads.queries(), q);
    heads.check(heads.keys(), k);
    heads.check(heads.keys(), v);
    heads.flops(ctx, 2);
    let mut probs = keep.then(|| ctx.buffer(heads.total()));
    let kept = probs.as_mut().map(|buffer| Shared::new(buffer.slice_mut()));
    let out = Tensor::fill(ctx, heads.queries().total(), heads.count() * heads.width(), |out| {
        let out = Shared::new(out);
        heads.each(ctx, |t| {
            let mut scratch = kept.is_none().then(|| ctx.buffer(t.queries * t.keys));
            let map = match (&kept, &mut scratch) {
                // SAFETY: the task's own map.
                (Some(kept), _) => unsafe { kept.map(&t) },
                (None, Some(scratch)) => scratch.slice_mut(),
                (None, None) => return,
            };
            scores_of(&t, heads.scale, q, k, map);
            map.chunks_exact_mut(t.keys.max(1)).for_each(softmax::row);
            context_of(&t, map, v, &out);
        });
    });
    (out, probs.map(|buffer| Tensor::from_buffer(1, heads.total(), buffer)))
}

/// The pulls of the scores: scale·g·k to q and scale·gᵀ·q to k.
pub(crate) fn scores_pull<T: Scalar>(
    ctx: &Context<T>,
    heads: &Heads,
    cotangent: &Tensor<T>,
    (q, k): (Option<&Tensor<T>>, Option<&Tensor<T>>),
) -> (Option<Tensor<T>>, Option<Tensor<T>>) {
    let hidden = heads.count() * heads.width();
    let to_q = k.map(|k| {
        heads.flops(ctx, 1);
        Tensor::fill(ctx, heads.queries().total(), hidden, |out| {
            let out = Shared::new(out);
            heads.each(ctx, |t| scores_pull_q(&t, heads.scale, of(&t, cotangent), k, &out));
        })
    });
    let to_k = q.map(|q| {
        heads.flops(ctx, 1);
        Tensor::fill(ctx, heads.keys().total(), hidden, |out| {
            let out = Shared::new(out);
            heads.each(ctx, |t| scores_pull_k(&t, heads.scale, of(&t, cotangent), q, &out));
        })
    });
    (to_q, to_k)
}

fn of<'a, T: Scalar>(t: &Task, maps: &'a Tensor<T>) -> &'a [T] {
    &maps.data()[t.map..][..t.queries * t.keys]
}

fn scores_pull_q<T: Scalar>(t: &Task, scale: f64, g: &[T], k: &Tensor<T>, out: &Shared<'_, T>) {
    let mnk = (t.queries, t.width, t.keys);
    // SAFETY: the task's own columns.
    let product = unsafe { out.product(mnk, t.q, (g, View::rows(t.keys)), (k.data(), t.k)) };
    T::product(&product.scale(scale));
}

fn scores_pull_k<T: Scalar>(t: &Task, scale: f64, g: &[T], q: &Tensor<T>, out: &Shared<'_, T>) {
    let mnk = (t.keys, t.width, t.queries);
    // SAFETY: the task's own columns.
    let product = unsafe { out.product(mnk, t.k, (g, View::rows(t.keys).t()), (q.data(), t.q)) };
    T::product(&product.scale(scale));
}

/// The pulls of the context: g·vᵀ to the probabilities and pᵀ·g to v.
pub(crate) fn context_pull<T: Scalar>(
    ctx: &Context<T>,
    heads: &Heads,
    cotangent: &Tensor<T>,
    (p, v): (Option<&Tensor<T>>, Option<&Tensor<T>>),
) -> (Option<Tensor<T>>, Option<Tensor<T>>) {
    let to_p = v.map(|v| {
        heads.flops(ctx, 1);
        Tensor::fill(ctx, 1, heads.total(), |out| {
            let out = Shared::new(out);
            heads.each(ctx, |t| {
                // SAFETY: the task's own map.
                context_pull_p(&t, cotangent, v, unsafe { out.map(&t) });
            });
        })
    });
    let to_v = p.map(|p| {
        heads.flops(ctx, 1);
        Tensor::fill(ctx, heads.keys().total(), heads.count() * heads.width(), |out| {
            let out = Shared::new(out);
            heads.each(ctx, |t| context_pull_v(&t, of(&t, p), cotangent, &out));
        })
    });
    (to_p, to_v)
}

fn context_pull_p<T: Scalar>(t: &Task, g: &Tensor<T>, v: &Tensor<T>, map: &mut [T]) {
    let mnk = (t.queries, t.keys, t.width);
    T::product(&Product::new(mnk, (map, View::rows(t.keys)), (g.data(), t.q), (v.data(), t.k.t())));
}

fn context_pull_v<T: Scalar>(t: &Task, p: &[T], g: &Tensor<T>, out: &Shared<'_, T>) {
    let mnk = (t.keys, t.width, t.queries);
    // SAFETY: the task's own columns.
    let product = unsafe { out.product(mnk, t.k, (p, View::rows(t.keys).t()), (g.data(), t.q)) };
    T::product(&product);
}

/// The pulls of fused attention to q, k and v, from the kept probabilities.
pub(crate) fn attention_pull<T: Scalar>(
    ctx: &Context<T>,
    heads: &Heads,
    cotangent: &Tensor<T>,
    [q, k, v]: [&Tensor<T>; 3],
    probs: &Tensor<T>,
) -> [Tensor<T>; 3] {
    heads.flops(ctx, 4);
    let hidden = heads.count() * heads.width();
    let mut buffers = [heads.queries().total(), heads.keys().total(), heads.keys().total()]
        .map(|rows| (rows, ctx.buffer(rows * hidden)));
    {
        let [to_q, to_k, to_v] = &mut buffers;
        let [to_q, to_k, to_v] = [to_q, to_k, to_v].map(|(_, b)| Shared::new(b.slice_mut()));
        heads.each(ctx, |t| {
            let p = of(&t, probs);
            let mut scratch = ctx.buffer(p.len());
            let map = scratch.slice_mut();
            context_pull_p(&t, cotangent, v, map);
            context_pull_v(&t, p, cotangent, &to_v);
            let width = t.keys.max(1);
            map.chunks_exact_mut(width).zip(p.chunks_exact(width)).for_each(|(g, p)| softmax::row_pull(g, p));
            scores_pull_q(&t, heads.scale, map, k, &to_q);
            scores_pull_k(&t, heads.scale, map, q, &to_k);
        });
    }
    buffers.map(|(rows, buffer)| Tensor::from_buffer(rows, hidden, buffer))
}
