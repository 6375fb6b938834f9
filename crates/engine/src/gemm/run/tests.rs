//! Every tile against the plain loop, to the bit: each width, real and emulated, with every kind of edge.

use super::*;
use crate::Dual;
use crate::kernels::machine::{Caches, Fault, RUN, Tile};
use crate::kernels::pack::PanelBudget;

/// One product: rows, columns and inner length, and which sides are transposed.
#[derive(Debug, Clone, Copy)]
struct Case {
    mnk: (usize, usize, usize),
    turned: [bool; 2],
    bias: bool,
    accumulate: bool,
    scale: f64,
}

/// Numbers whose sums round, so that another order shows.
fn numbers<T: Scalar>(len: usize, seed: usize, tangent: impl Fn(T, f64) -> T) -> Vec<T> {
    let number = |i: usize| ((i * 7919 + seed * 104_729) % 2003) as f64 / 1001.0 - 1.0;
    (0..len).map(|i| tangent(T::from_f64(number(i)), number(i + 17))).collect()
}

/// A row-major or transposed matrix whose rows do not touch.
fn view((rows, cols): (usize, usize), turned: bool) -> (View, usize) {
    match turned {
        false => (View::rows(cols + 3).at(2), 2 + rows * (cols + 3)),
        true => (View::rows(rows + 3).t().at(2), 2 + cols * (rows + 3)),
    }
}

/// What a kind of number needs to be tried.
trait Tried: Scalar + PartialEq {
    /// Whether panels are kept of it.
    const KEPT: bool;
    fn with(self, _tangent: f64) -> Self {
        self
    }
    /// a · b + c as the planes take it: fused, and for a tangent in two chains.
    fn run(blocking: Blocking, p: &Product<'_, Self>);
    /// start + scale · Σ over pairs, in chains of a run each.
    fn chains(start: Self, scale: f64, pairs: &[(Self, Self)]) -> Self;
}

macro_rules! plain {
    ($kind:ty) => {
        impl Tried for $kind {
            const KEPT: bool = true;
            fn run(blocking: Blocking, p: &Product<'_, Self>) {
                product_by::<Self, Self>(Some(blocking), p, 1, [0; 3], true);
            }
            fn chains(start: Self, scale: f64, pairs: &[(Self, Self)]) -> Self {
                let chain =
                    |run: &[(Self, Self)]| run.iter().fold(0.0, |sum: Self, (a, b)| a.mul_add(*b, sum));
                pairs.chunks(RUN).fold(start, |total, run| (scale as Self).mul_add(chain(run), total))
            }
        }
    };
}
plain!(f32);
plain!(f64);

impl<R: Real + PartialEq> Tried for Dual<R> {
    const KEPT: bool = false;

    fn with(self, tangent: f64) -> Self {
        Self { t: R::from_f64(tangent), ..self }
    }
    fn run(blocking: Blocking, p: &Product<'_, Self>) {
        for (planes, first) in [([0, 0, 0], true), ([1, 0, 1], true), ([1, 1, 0], false)] {
            product_by::<Self, R>(Some(blocking), p, 2, planes, first);
        }
    }
    fn chains(start: Self, scale: f64, pairs: &[(Self, Self)]) -> Self {
        let fold = |from: R, a: fn(Self) -> R, b: fn(Self) -> R| {
            let chain =
                |run: &[(Self, Self)]| run.iter().fold(R::default(), |sum, &(l, r)| a(l).mul_add(b(r), sum));
            pairs.chunks(RUN).fold(from, |total, run| R::from_f64(scale).mul_add(chain(run), total))
        };
        let t = fold(start.t, |l| l.v, |r| r.t);
        Self { v: fold(start.v, |l| l.v, |r| r.v), t: fold(t, |l| l.t, |r| r.v) }
    }
}

/// Runs a case and compares every element with the plain loop.
#[track_caller]
fn check<T: Tried>(blocking: Blocking, case: Case, pack: Option<&Pack<T>>) {
    assert!(is_right(blocking, case, pack), "{case:?} by {blocking:?}");
}

/// Whether every element of a case is that of the plain loop, and nothing else was written.
fn is_right<T: Tried>(blocking: Blocking, case: Case, pack: Option<&Pack<T>>) -> bool {
    let Case { mnk: (m, n, k), turned, bias, accumulate, scale } = case;
    let ((l, l_len), (r, r_len)) = (view((m, k), turned[0]), view((k, n), turned[1]));
    let (d, d_len) = view((m, n), false);
    let [lhs, rhs, before, row] =
        [(l_len, 1), (r_len, 2), (d_len, 3), (n, 4)].map(|(len, seed)| numbers(len, seed, T::with));
    let mut found = before.clone();
    let product = Product::new((m, n, k), (&mut found, d), (&lhs, l), (&rhs, r));
    let product = product.bias(bias.then_some(&row[..])).accumulate(accumulate).scale(scale).kept(pack);
    T::run(blocking, &product);
    let mut expected = before.clone();
    let at = |view: View, row: usize, col: usize| view.offset + row * view.row + col * view.col;
    for i in 0..m {
        for j in 0..n {
            let pairs: Vec<_> = (0..k).map(|q| (lhs[at(l, i, q)], rhs[at(r, q, j)])).collect();
            let own = if accumulate { before[at(d, i, j)] } else { T::default() };
            expected[at(d, i, j)] = T::chains(if bias { row[j] } else { own }, scale, &pairs);
        }
    }
    found == expected
}

/// Every width that this machine has and every one that it can emulate, in several shapes of tiles.
fn blockings() -> Vec<Blocking> {
    let caches = Caches { first_bytes: 32 << 10, second_bytes: 1 << 20 };
    let tiles = Tile::all().into_iter().chain([128, 256, 512].map(Tile::Emulated));
    let shapes = |tile| {
        let usual = Blocking::new(tile, caches);
        // Panels and blocks so short that small products have several.
        let short = |tile_rows| Blocking { tile_rows, runs: 1, block_bytes: 2048, ..usual };
        [usual, short(6), short(8), short(12)]
    };
    tiles.flat_map(shapes).collect()
}

const PLAIN: Case =
    Case { mnk: (7, 37, 19), turned: [false, true], bias: false, accumulate: false, scale: 1.0 };

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = (1..=33).map(|m| Case { mnk: (m, 37, 19), ..PLAIN }).collect();
    let sizes = [(5, 1, 1), (3, 31, 8), (13, 33, 193), (2, 64, 192), (6, 70, 450), (14, 5, 33)];
    for mnk in sizes {
        for turned in [[false, false], [false, true], [true, false], [true, true]] {
            cases.push(Case { mnk, turned, ..PLAIN });
        }
        cases.push(Case { mnk, bias: true, ..PLAIN });
        cases.push(Case { mnk, accumulate: true, ..PLAIN });
        cases.push(Case { mnk, scale: 0.3, accumulate: true, ..PLAIN });
    }
    cases
}

fn check_all<T: Tried>() {
    for blocking in blockings() {
        for case in cases() {
            check::<T>(blocking, case, None);
        }
    }
}

#[test]
fn single_precision() {
    check_all::<f32>();
}

#[test]
fn double_precision() {
    check_all::<f64>();
}

#[test]
fn duals() {
    check_all::<Dual<f32>>();
    check_all::<Dual<f64>>();
}

#[test]
fn kept_panels_of_every_width() {
    for blocking in blockings() {
        for turned in [[false, false], [false, true]] {
            let pack = Pack::new(&PanelBudget::new(1 << 20));
            for m in [129, 1, 14, 33] {
                let case = Case { mnk: (m, 70, 450), turned, ..PLAIN };
                check::<f32>(blocking, case, Some(&pack));
            }
        }
    }
}

/// A fault of every kind in the tile itself, of one width and kind of number, turns the comparison red; without it the
/// same product is right.
fn sees_every_fault<T: Tried>(usual: Blocking) {
    use Fault::{DroppedColumn, InputStride, Nothing, OutputStride, PanelOffset};
    let case = Case { mnk: (13, 70, 450), ..PLAIN };
    for fault in [Nothing, DroppedColumn, InputStride, OutputStride] {
        let blocking = Blocking { fault, ..usual };
        assert_eq!(is_right::<T>(blocking, case, None), fault == Nothing, "{case:?} by {blocking:?}");
    }
    for fault in [Nothing, DroppedColumn, InputStride, OutputStride, PanelOffset] {
        let (blocking, pack) = (Blocking { fault, ..usual }, Pack::<T>::new(&PanelBudget::new(1 << 20)));
        let case = Case { mnk: (129, 70, 450), ..PLAIN };
        let right = fault == Nothing || (fault == PanelOffset && !T::KEPT);
        assert_eq!(is_right(blocking, case, Some(&pack)), right, "kept, {case:?} by {blocking:?}");
    }
}

#[test]
fn faults_in_the_tile_are_seen_at_every_width() {
    for blocking in blockings() {
        sees_every_fault::<f32>(blocking);
        sees_every_fault::<f64>(blocking);
        sees_every_fault::<Dual<f32>>(blocking);
        sees_every_fault::<Dual<f64>>(blocking);
    }
}
