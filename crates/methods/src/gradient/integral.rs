//! ∫₀¹ f(α) dα of gradients along a path, by a fixed rule or by more and more points until it is good enough.

use super::path::weighted;
use crate::quadrature::{LejaQuadrature, QuadratureRule};
use exegete_core::{Array, Result};

/// How an integral is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Effort {
    /// More and more points until the result is good to a tolerance.
    Tolerance(f64),
    /// As many points as asked.
    Fixed(QuadratureRule, usize),
}

/// What a path, or all paths from one baseline, brought.
pub(super) struct Integral {
    pub(super) scores: Array,
    /// What the scores claim to sum to.
    pub(super) difference: f64,
    pub(super) points: usize,
    /// The largest change of any token in the last refinement, relative to the largest token.
    pub(super) change: Option<f64>,
    /// What the reader must know of a tolerance that was not reached.
    pub(super) note: Option<String>,
}

/// Two levels of refinement differ by one point in so many.
const LEVEL: usize = 10;

/// The integral along one path while it gets more points.
pub(super) struct Growing {
    ladder: LejaQuadrature,
    /// (x − x′) ⊙ gradient at every point so far.
    products: Vec<Array>,
    next: Vec<f64>,
}

impl Growing {
    pub(super) fn new() -> Self {
        let ladder = LejaQuadrature::new();
        Self { next: ladder.alphas().to_vec(), ladder, products: Vec::new() }
    }

    /// The points that are to be run next; both ends are among the first.
    pub(super) fn next(&self) -> &[f64] {
        &self.next
    }

    /// How many points there are.
    pub(super) fn points(&self) -> usize {
        self.products.len()
    }

    /// Takes what those points gave. The first ones say where the path bends, by what each token gets.
    pub(super) fn add(
        &mut self,
        products: impl IntoIterator<Item = Array>,
        tokens: impl Fn(&Array) -> Vec<f64>,
    ) {
        let first = self.products.is_empty();
        self.products.extend(products);
        if first {
            let sums: Vec<Vec<f64>> = self.products.iter().map(tokens).collect();
            self.ladder.centre_on(|a, b| largest_change(&sums[a], &sums[b]));
        }
        self.next.clear();
    }

    /// The integral by all points, and what it was some points ago.
    pub(super) fn levels(&self) -> Result<[Array; 2]> {
        let earlier = self.products.len() - self.products.len().div_ceil(LEVEL);
        let before = weighted(&self.products[..earlier], &self.ladder.weights_of(earlier))?;
        Ok([weighted(&self.products, &self.ladder.weights())?, before])
    }

    /// Asks for more points, unless there are enough for any path or they would take more than so many bytes.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        let held: usize = self.products.iter().map(|product| size_of::<f32>() * product.len()).sum();
        if 2 * held <= bytes {
            self.next = self.ladder.grow();
        }
        !self.next.is_empty()
    }

    /// Why there are no more points.
    pub(super) fn end(&self) -> &'static str {
        if self.points() < LejaQuadrature::MOST { ", all that the memory holds" } else { "" }
    }
}

/// The largest difference between two lists.
pub(super) fn largest_change(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |top: f64, (a, b)| top.max((a - b).abs()))
}

/// A size as a share of another; nothing is no share of nothing.
pub(super) fn share(size: f64, of: f64) -> f64 {
    if size == 0.0 { 0.0 } else { size / of }
}
