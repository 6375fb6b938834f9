use std::sync::LazyLock;

/// A rule that grows point by point and keeps all it has: Leja points of a stretched variable.
///
/// α = c + w·sinh(…s…) puts the points where the integrand changes: with word vectors going to zero that is a short stretch
/// around α = 0.2, where they become as small as the position vectors beside them, and the rest of the way is almost
/// straight. In s each new point is the one farthest from all others (the largest product of distances), and the weights
/// integrate the polynomial through all points.
#[derive(Debug, Clone)]
pub struct LejaQuadrature {
    /// Where the points lie densest, and how widely.
    centre: f64,
    width: f64,
    alphas: Vec<f64>,
    /// How far each place is from all points: the product of its distances, each four times as large, so that it
    /// neither vanishes nor overflows.
    far: Vec<f64>,
}

/// Points to begin with, both ends among them.
const FIRST: usize = 10;
/// The least points a step adds; later steps add a quarter, so that slow convergence is not taken for none.
const STEP: usize = 4;
/// Where transformers change most on the way from nothing to a text.
const CENTRE: f64 = 0.22;
const WIDTH: f64 = 0.1;
/// Places that a new point is chosen from, in 0..=1.
const PLACES: usize = 4000;
static PLACE: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let place = |i: usize| 0.5 - 0.5 * (std::f64::consts::PI * i as f64 / PLACES as f64).cos();
    (0..=PLACES).map(place).collect()
});

impl LejaQuadrature {
    /// The most points it ever takes.
    pub const MOST: usize = 256;

    /// The points that every integral starts with.
    pub fn new() -> Self {
        let far = vec![1.0; PLACES + 1];
        let mut ladder = Self { centre: CENTRE, width: WIDTH, alphas: Vec::new(), far };
        ladder.add(FIRST);
        ladder
    }

    /// All points so far, in the order in which they were added.
    pub fn alphas(&self) -> &[f64] {
        &self.alphas
    }

    /// Adds more points and gives them.
    pub fn grow(&mut self) -> Vec<f64> {
        let before = self.alphas.len();
        // An even number, as threads often are.
        self.add((before / 8 * 2).max(STEP).min(Self::MOST.saturating_sub(before)));
        self.alphas[before..].to_vec()
    }

    /// Moves the dense part to where `change` between neighbouring points (sorted) is largest.
    pub fn centre_on(&mut self, change: impl Fn(usize, usize) -> f64) {
        let mut order: Vec<usize> = (0..self.alphas.len()).collect();
        order.sort_by(|&a, &b| self.alphas[a].total_cmp(&self.alphas[b]));
        let gaps: Vec<(f64, f64)> = order
            .windows(2)
            .map(|pair| ((self.alphas[pair[0]] + self.alphas[pair[1]]) / 2.0, change(pair[0], pair[1])))
            .collect();
        let total: f64 = gaps.iter().map(|gap| gap.1).sum();
        if !(total > 0.0 && total.is_finite()) {
            return;
        }
        let mean = gaps.iter().map(|(at, share)| at * share).sum::<f64>() / total;
        let variance = gaps.iter().map(|(at, share)| share * (at - mean).powi(2)).sum::<f64>() / total;
        (self.centre, self.width) = (mean, (0.4 * variance.sqrt()).max(0.03));
        self.far.fill(1.0);
        for i in 0..self.alphas.len() {
            self.take(self.stretched(self.alphas[i]));
        }
    }

    /// The weight of each point.
    pub fn weights(&self) -> Vec<f64> {
        self.weights_of(self.alphas.len())
    }

    /// The weight of each of the first points, as if there were no others: what the rule gave some points ago.
    pub fn weights_of(&self, count: usize) -> Vec<f64> {
        let alphas = &self.alphas[..count.min(self.alphas.len())];
        let (low, high) = self.ends();
        let weights = interpolating(&alphas.iter().map(|&alpha| self.stretched(alpha)).collect::<Vec<_>>());
        let slope = |alpha: &f64| (high - low) * ((alpha - self.centre).powi(2) + self.width.powi(2)).sqrt();
        weights.iter().zip(alphas).map(|(weight, alpha)| weight * slope(alpha)).collect()
    }

    fn ends(&self) -> (f64, f64) {
        ((-self.centre / self.width).asinh(), ((1.0 - self.centre) / self.width).asinh())
    }

    /// s in 0..1 of a point α.
    fn stretched(&self, alpha: f64) -> f64 {
        let (low, high) = self.ends();
        (((alpha - self.centre) / self.width).asinh() - low) / (high - low)
    }

    fn add(&mut self, count: usize) {
        let (low, high) = self.ends();
        for _ in 0..count {
            let farthest = (0..=PLACES).max_by(|&a, &b| self.far[a].total_cmp(&self.far[b]));
            let s = if self.alphas.is_empty() { 0.5 } else { farthest.map_or(0.5, |i| PLACE[i]) };
            self.take(s);
            // The ends are to be met exactly.
            let inside = |s: f64| self.centre + self.width * (low + (high - low) * s).sinh();
            self.alphas.push(if s == 0.0 || s == 1.0 { s } else { inside(s).clamp(0.0, 1.0) });
        }
    }

    /// Every place is this far from one more point.
    fn take(&mut self, s: f64) {
        let places = PLACE.iter().zip(&mut self.far);
        places.for_each(|(place, far)| *far *= 4.0 * ((place - s).abs() + 1e-12));
    }
}

impl Default for LejaQuadrature {
    fn default() -> Self {
        Self::new()
    }
}

/// Weights on 0..1 that integrate every polynomial through these points: Σ w·T_k = ∫ T_k for each Chebyshev polynomial.
fn interpolating(points: &[f64]) -> Vec<f64> {
    let n = points.len();
    let mut rows: Vec<Vec<f64>> = vec![Vec::with_capacity(n + 1); n];
    for (k, row) in rows.iter_mut().enumerate() {
        row.extend(points.iter().map(|&s| (k as f64 * (2.0 * s - 1.0).clamp(-1.0, 1.0).acos()).cos()));
        row.push(if k % 2 == 1 { 0.0 } else { 1.0 / (1.0 - (k * k) as f64) });
    }
    solve(rows)
}

/// Gaussian elimination with row exchange; each row ends with its right-hand side.
fn solve(mut rows: Vec<Vec<f64>>) -> Vec<f64> {
    let n = rows.len();
    for column in 0..n {
        let best = (column..n).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()));
        rows.swap(column, best.unwrap_or(column));
        let (above, below) = rows.split_at_mut(column + 1);
        let pivot = &above[column];
        for row in below {
            let factor = row[column] / pivot[column];
            row[column..].iter_mut().zip(&pivot[column..]).for_each(|(x, p)| *x -= factor * p);
        }
    }
    let mut found = vec![0.0; n];
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|i| rows[row][i] * found[i]).sum();
        found[row] = (rows[row][n] - known) / rows[row][row];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integral(ladder: &LejaQuadrature, f: impl Fn(f64) -> f64) -> f64 {
        ladder.alphas().iter().zip(ladder.weights()).map(|(&alpha, weight)| weight * f(alpha)).sum()
    }

    #[test]
    fn smooth_functions_are_integrated_and_nothing_is_asked_twice() {
        let mut ladder = LejaQuadrature::new();
        assert!([0.0, 1.0].iter().all(|end| ladder.alphas().contains(end)), "an end is missing");
        // A steep step at 0.2, as on the way from nothing to a text: ∫ of its slope is known.
        let steep = |x: f64| 1.0 / (1.0 + ((x - 0.2) / 0.05).powi(2));
        let exact = 0.05 * ((0.8f64 / 0.05).atan() + (0.2f64 / 0.05).atan());
        let alphas = ladder.alphas().to_vec();
        ladder.centre_on(|a, b| (steep(alphas[a]) - steep(alphas[b])).abs());
        while ladder.alphas().len() < 30 {
            ladder.grow();
        }
        assert!((integral(&ladder, |_| 1.0) - 1.0).abs() < 1e-9);
        assert!((integral(&ladder, |x| x * x) - 1.0 / 3.0).abs() < 1e-5);
        let error = (integral(&ladder, steep) / exact - 1.0).abs();
        assert!(error < 1e-3, "{error:e} with {} points", ladder.alphas().len());
        let gauss: f64 = crate::quadrature::QuadratureRule::GaussLegendre
            .points(30)
            .iter()
            .map(|(x, w)| w * steep(*x))
            .sum();
        assert!((gauss / exact - 1.0).abs() > 3.0 * error, "stretching brings nothing");
        while !ladder.grow().is_empty() {}
        assert_eq!(ladder.alphas().len(), LejaQuadrature::MOST);
        let mut sorted = ladder.alphas().to_vec();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[0] < pair[1]), "a point was taken twice");
        assert!((integral(&ladder, |_| 1.0) - 1.0).abs() < 1e-6);
    }
}
