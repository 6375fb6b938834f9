//! Bounds for the mean of yes-or-no draws by the Kullback–Leibler divergence.
//!
//! After n draws with mean p, Chernoff's inequality gives P(n·KL(p ‖ q) ≥ x and p above the truth q) ≤ e^(−x), and the same
//! below. So the q with n·KL(p ‖ q) ≤ ln(1/δ) hold the truth on either side with probability 1 − δ.

use exegete_core::report::Bounded;

/// Bounds are found to this.
pub const TOLERANCE: f64 = 1e-10;

/// Times that something was so, of the times that it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Times that it was so.
    pub hits: usize,
    /// Times that it was looked at.
    pub trials: usize,
}

impl Tally {
    /// Counts one more look, a hit or a miss.
    pub fn add(&mut self, hit: bool) {
        self.hits += usize::from(hit);
        self.trials += 1;
    }

    /// The share of hits; one half where nothing is known.
    pub fn mean(&self) -> f64 {
        if self.trials == 0 { 0.5 } else { self.hits as f64 / self.trials as f64 }
    }

    /// The mean as if one hit and one miss had been seen before, so that a few lucky draws do not count for certainty.
    pub fn smoothed(&self) -> f64 {
        (self.hits as f64 + 1.0) / (self.trials as f64 + 2.0)
    }

    /// The lowest mean that `nats` do not rule out.
    pub fn low(&self, nats: f64) -> f64 {
        if self.trials == 0 { 0.0 } else { lower(self.mean(), nats / self.trials as f64) }
    }

    /// The highest mean that `nats` do not rule out.
    pub fn high(&self, nats: f64) -> f64 {
        if self.trials == 0 { 1.0 } else { upper(self.mean(), nats / self.trials as f64) }
    }
}

/// Looks that count for more or less than one each.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Weighted {
    hits: f64,
    weight: f64,
    squares: f64,
}

impl Weighted {
    /// One more look that counts for so much.
    pub fn add(&mut self, hit: bool, weight: f64) {
        self.hits += if hit { weight } else { 0.0 };
        self.weight += weight;
        self.squares += weight * weight;
    }

    /// How many looks that count for one each say as much.
    pub fn trials(&self) -> f64 {
        if self.squares > 0.0 { self.weight * self.weight / self.squares } else { 0.0 }
    }

    /// The share of hits and what `nats` do not rule out, as if there had been [`Self::trials`] looks.
    pub fn bounded(&self, nats: f64) -> Bounded {
        match self.trials() {
            0.0 => Bounded { value: 0.5, low: 0.0, high: 1.0 },
            trials => {
                let value = (self.hits / self.weight).min(1.0);
                Bounded { value, low: lower(value, nats / trials), high: upper(value, nats / trials) }
            }
        }
    }
}

/// KL(p ‖ q) of two Bernoulli distributions in nats.
pub fn divergence(p: f64, q: f64) -> f64 {
    let part = |p: f64, q: f64| if p > 0.0 { p * (p / q).ln() } else { 0.0 };
    // Rounding can leave a hair below zero where p and q are close.
    (part(p, q) + part(1.0 - p, 1.0 - q)).max(0.0)
}

/// The largest q ≥ p with KL(p ‖ q) ≤ level, rounded outwards.
pub fn upper(p: f64, level: f64) -> f64 {
    bound(p, 1.0, level)
}

/// The smallest q ≤ p with KL(p ‖ q) ≤ level, rounded outwards.
pub fn lower(p: f64, level: f64) -> f64 {
    bound(p, 0.0, level)
}

/// Halves the stretch from p to the end, along which the divergence grows, until it is short enough.
fn bound(p: f64, end: f64, level: f64) -> f64 {
    let (mut inside, mut outside) = (p, end);
    if divergence(p, end) <= level {
        return end;
    }
    while (outside - inside).abs() > TOLERANCE {
        let middle = 0.5 * (inside + outside);
        *(if divergence(p, middle) > level { &mut outside } else { &mut inside }) = middle;
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 2.0 * TOLERANCE, "{found} is not {expected}");
    }

    #[test]
    fn divergence_by_hand() {
        near(divergence(0.5, 0.5), 0.0);
        near(divergence(0.5, 0.25), 0.5 * 2f64.ln() + 0.5 * (2.0f64 / 3.0).ln());
        near(divergence(1.0, 0.95), -(0.95f64.ln()));
        near(divergence(0.0, 0.95), -(0.05f64.ln()));
        assert_eq!(divergence(0.5, 1.0), f64::INFINITY);
        assert_eq!(divergence(0.5, 0.0), f64::INFINITY);
        assert_eq!(divergence(1.0, 1.0), 0.0);
    }

    /// Means of 0 and 1 have closed forms; in between the divergence at the bound is the level.
    fn check(lower: fn(f64, f64) -> f64, upper: fn(f64, f64) -> f64) -> Result<(), String> {
        let off = |found: f64, expected: f64| (found - expected).abs() > 1e-8;
        for level in [1e-4f64, 0.01, 0.3, 2.0] {
            let closed = [(lower(1.0, level), (-level).exp()), (upper(0.0, level), -(-level).exp_m1())];
            if let Some((found, expected)) = closed.into_iter().find(|(found, e)| off(*found, *e)) {
                return Err(format!("level {level}: {found} is not {expected}"));
            }
            for p in [0.05, 0.3, 0.5, 0.9, 0.99] {
                let (low, high) = (lower(p, level), upper(p, level));
                let crosses = |inside: f64, outside: f64| {
                    divergence(p, inside) <= level && divergence(p, outside.clamp(0.0, 1.0)) >= level
                };
                if !crosses(low + 1e-9, low - 1e-9) || !crosses(high - 1e-9, high + 1e-9) {
                    return Err(format!("p {p}, level {level}: {low} to {high}"));
                }
            }
        }
        Ok(())
    }

    #[test]
    fn bounds_are_solved() {
        check(lower, upper).unwrap();
        assert_eq!((lower(0.0, 0.3), upper(1.0, 0.3)), (0.0, 1.0));
        // Close to p the divergence is lost in rounding.
        assert!((lower(0.4, 0.0) - 0.4).abs() < 1e-7 && (upper(0.4, 0.0) - 0.4).abs() < 1e-7);
        assert_eq!((lower(0.4, 99.0), upper(0.4, 99.0)), (0.0, 1.0));
    }

    #[test]
    fn one_step_is_not_a_solution() {
        // As in a widely used package: Pinsker's bound, halved once.
        let up = |p: f64, level: f64| {
            let far = (p + (level / 2.0).sqrt()).min(1.0);
            let middle = 0.5 * (p + far);
            if divergence(p, middle) > level { middle } else { far }
        };
        let low = |p: f64, level: f64| {
            let far = (p - (level / 2.0).sqrt()).max(0.0);
            let middle = 0.5 * (p + far);
            if divergence(p, middle) > level { middle } else { far }
        };
        assert!(check(low, up).is_err());
    }

    #[test]
    fn a_tally_without_draws_excludes_nothing() {
        let none = Tally::default();
        assert_eq!((none.low(1.0), none.mean(), none.high(1.0)), (0.0, 0.5, 1.0));
        // 59 hits of 59 are just enough for 95 % at 95 %: 0.95^59 < 0.05 < 0.95^58.
        let nats = 20f64.ln();
        assert!(Tally { hits: 59, trials: 59 }.low(nats) >= 0.95);
        assert!(Tally { hits: 58, trials: 58 }.low(nats) < 0.95);
    }
}
