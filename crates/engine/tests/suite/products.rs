//! Matrix products over strided views, against three loops.

use crate::cases::{self, Random};
use exegete_engine::gemm::{Product, View};
use exegete_engine::{Context, Dual, Scalar};
use exegete_testkit::{Comparison, Of};

/// A view of `[rows, cols]` with random gaps, perhaps transposed, and the length of slice that it needs.
fn view(r: &mut Random, rows: usize, cols: usize) -> (View, usize) {
    let transposed = r.below(2) == 1;
    let (outer, inner) = if transposed { (cols, rows) } else { (rows, cols) };
    let col = 1 + r.below(3);
    let row = (inner * col).max(1) + r.below(4);
    let plain = View { offset: r.below(6), row, col };
    let len = plain.offset + outer * row + inner * col + r.below(3);
    (if transposed { plain.t() } else { plain }, len)
}

fn numbers<T: Scalar>(r: &mut Random, len: usize, number: fn(f64, f64) -> T) -> Vec<T> {
    (0..len).map(|_| number(r.number(-1.0, 1.0), r.number(-1.0, 1.0))).collect()
}

/// One product: its shape and its views with the lengths of slice that they need.
struct Shape {
    mnk: (usize, usize, usize),
    views: [(View, usize); 3],
}

impl Shape {
    fn any(r: &mut Random) -> Self {
        let [m, n, k] = std::array::from_fn(|_| r.below(40));
        Self { mnk: (m, n, k), views: [view(r, m, n), view(r, m, k), view(r, k, n)] }
    }

    /// Few rows times a wide transposed weight, for which there is a kernel of its own.
    fn flat(r: &mut Random) -> Self {
        let (m, n, k) = (1 + r.below(52), 1 + r.below(150), 1 + r.below(2500));
        let mut rows = |rows: usize, cols: usize| {
            let view = View { offset: r.below(6), row: cols + r.below(4), col: 1 };
            (view, view.offset + rows * view.row)
        };
        let (dst, lhs, rhs) = (rows(m, n), rows(m, k), rows(n, k));
        Self { mnk: (m, n, k), views: [dst, lhs, (rhs.0.t(), rhs.1)] }
    }
}

/// The worst difference over `count` products, relative to the root of the inner length.
fn worst<T: Scalar>(number: fn(f64, f64) -> T, count: usize, shape: fn(&mut Random) -> Shape) -> f64 {
    let r = &mut Random::new(21);
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let Shape { mnk, views: [(dst_view, dst_len), (lhs_view, lhs_len), (rhs_view, rhs_len)] } = shape(r);
        let (m, n, k) = mnk;
        let before = numbers(r, dst_len, number);
        let (lhs, rhs) = (numbers(r, lhs_len, number), numbers(r, rhs_len, number));
        let (accumulate, scale) = (r.below(2) == 1, r.number(-2.0, 2.0));
        let at = |v: View, row: usize, col: usize| v.offset + row * v.row + col * v.col;

        let mut truth: Vec<_> = before.iter().map(|x| Dual { v: x.value(), t: x.tangent() }).collect();
        let exact = |x: T| Dual { v: x.value(), t: x.tangent() };
        for i in 0..m {
            for j in 0..n {
                let product = |l| exact(lhs[at(lhs_view, i, l)]) * exact(rhs[at(rhs_view, l, j)]);
                let sum = (0..k).fold(Dual::default(), |sum, l| sum + product(l)) * Dual::from_f64(scale);
                let place = &mut truth[at(dst_view, i, j)];
                *place = if accumulate { *place + sum } else { sum };
            }
        }
        let mut dst = before;
        let sides = ((&lhs[..], lhs_view), (&rhs[..], rhs_view));
        let product = Product::new(mnk, (&mut dst, dst_view), sides.0, sides.1);
        T::product(&product.accumulate(accumulate).scale(scale).threads(1 + r.below(3)));
        let size = (k as f64).sqrt().max(1.0);
        found.extend(dst.iter().flat_map(|x| [x.value() / size, x.tangent() / size]));
        expected.extend(truth.iter().flat_map(|x| [x.v / size, x.t / size]));
    }
    Comparison::default().compare("products", &found, &expected, Of::Size(1.0))
}

/// A destination of one NaN, in the value or in the tangent alone.
#[test]
fn a_planted_nan_is_infinitely_far() {
    let one = |r: &mut Random| Shape { mnk: (1, 1, 1), ..Shape::flat(r) };
    assert!(worst::<f64>(|v, _| v, 3, one) <= 5e-14);
    assert_eq!(worst::<f64>(|_, _| f64::NAN, 3, one), f64::INFINITY);
    assert_eq!(worst::<Dual<f64>>(|v, _| Dual { v, t: f64::NAN }, 3, one), f64::INFINITY);
    assert_eq!(worst::<f64>(|v, _| v, 0, one), f64::INFINITY, "no products");
}

#[test]
fn products_of_any_view_match_three_loops() {
    for (count, shape) in [(400, Shape::any as fn(&mut Random) -> Shape), (25, Shape::flat)] {
        let double =
            [worst::<f64>(|v, _| v, count, shape), worst::<Dual<f64>>(|v, t| Dual { v, t }, count, shape)];
        let single = [
            worst::<f32>(|v, _| v as f32, count, shape),
            worst::<Dual<f32>>(|v, t| Dual { v: v as f32, t: t as f32 }, count, shape),
        ];
        println!("worst: f64 {double:?}, f32 {single:?}");
        assert!(double.iter().all(|&far| far <= 5e-14), "{double:?}");
        assert!(single.iter().all(|&far| far <= 5e-6), "{single:?}");
    }
}

/// Old numbers in the destination must not show, not even NaN.
#[test]
fn without_accumulation_the_destination_is_not_read() {
    for (m, n, k) in [(1, 1, 0), (3, 5, 0), (1, 7, 3), (40, 1, 17), (9, 20, 33)] {
        let mut dst = vec![f64::NAN; m * n];
        let (lhs, rhs) = (vec![1.0; m * k], vec![1.0; k * n]);
        let sides = ((&lhs[..], View::rows(k)), (&rhs[..], View::rows(n)));
        Scalar::product(&Product::new((m, n, k), (&mut dst, View::rows(n)), sides.0, sides.1));
        assert_eq!(dst, vec![k as f64; m * n]);
    }
}

/// What lies outside a slice, or would be written twice, is refused before anything is touched.
#[test]
fn views_that_do_not_fit_are_refused() {
    let refused = |dst: View, lhs: View, rhs: View| {
        let (mut out, a, b) = (vec![0.0f64; 6], vec![0.0; 6], vec![0.0; 4]);
        let run = std::panic::AssertUnwindSafe(|| {
            Scalar::product(&Product::new((3, 2, 2), (&mut out, dst), (&a, lhs), (&b, rhs)));
        });
        std::panic::catch_unwind(run).is_err()
    };
    let rows = View::rows(2);
    assert!(!refused(rows, rows, rows));
    assert!(!refused(View { offset: 0, row: 1, col: 3 }, rows, rows));
    assert!(refused(rows.at(1), rows, rows), "destination");
    assert!(refused(rows, rows.at(1), rows), "left");
    assert!(refused(rows, rows, View::rows(3)), "right");
    assert!(refused(View { offset: 0, row: usize::MAX / 2 + 1, col: 1 }, rows, rows), "overflow");
    assert!(refused(rows, View { offset: 2, row: usize::MAX, col: 1 }, rows), "overflow");
    assert!(refused(View { offset: 0, row: 1, col: 1 }, rows, rows), "a destination that overlaps itself");
    assert!(refused(View { offset: 0, row: 0, col: 1 }, rows, rows), "a destination that overlaps itself");
    // Reading an element twice is fine: a broadcast.
    assert!(!refused(rows, View { offset: 0, row: 0, col: 1 }, rows));
}

#[test]
fn work_is_counted() {
    use exegete_engine::{Mode, Op, Tape, Tensor};
    let ctx = Context::<f64>::new(1);
    let mut tape = Tape::new(ctx.clone(), Mode::Off);
    let [x, w] = [(3, 5), (7, 5)].map(|(rows, cols)| Tensor::new(rows, cols, vec![0.0; rows * cols]).into());
    tape.apply(Op::Linear, [x, w]);
    assert_eq!(ctx.counts().flops, 2 * 3 * 5 * 7);
    let heads = cases::heads(2, 4, &[3, 1], &[2, 5]);
    let [q, k] = [4, 7].map(|rows| Tensor::new(rows, 8, vec![0.0; rows * 8]).into());
    tape.attention(&heads, q, k.clone(), k);
    // Two products for each sequence and head.
    assert_eq!(ctx.counts().flops, 2 * 3 * 5 * 7 + 2 * 2 * 2 * 4 * (3 * 2 + 5));
}
