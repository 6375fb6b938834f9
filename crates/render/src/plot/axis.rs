//! Axes with round ticks.

use crate::markup::minus;

/// About as many stretches lie between ticks.
const STRETCHES: f64 = 5.0;

/// Where numbers lie: `low` at the pixel `from`, `high` at `to`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    step: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// An axis from round number to round number that holds all values; none where there is no value.
    pub(super) fn over(values: impl IntoIterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let ends = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
        let (low, high) = values.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), ends);
        if low > high {
            return None;
        }
        let room = match low == high {
            true if low == 0.0 => 0.5,
            true => low.abs() / 6.0,
            false => 0.0,
        };
        let (low, high) = (low - room, high + room);
        let step = round((high - low) / STRETCHES);
        // A value that rounding puts a hair beyond a tick asks for no further stretch.
        let (low, high) = ((low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step);
        Some(Self { low, high, step, from, to })
    }

    /// The same numbers between other pixels.
    pub(super) fn between(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    /// The pixel of a number; numbers beyond the ends lie at the ends.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.from + (self.to - self.from) * if share.is_finite() { share } else { 0.0 }
    }

    /// Round numbers with what is written at them.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let first = (self.low / self.step).round();
        let count = ((self.high - self.low) / self.step).round().clamp(1.0, 20.0) as usize;
        let tick = |n: usize| {
            let value = (first + n as f64) * self.step;
            (value, minus(&written(value, self.step)))
        };
        (0..=count).map(tick).collect()
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below.
pub(super) fn round(size: f64) -> f64 {
    let power = 10f64.powf(size.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= size * (1.0 - 1e-9));
    let step = factor.unwrap_or(10.0) * power;
    if step.is_finite() && step > 0.0 { step } else { 1.0 }
}

/// With as many decimals as the step has.
fn written(value: f64, step: f64) -> String {
    let value = if value.abs() < step * 1e-6 { 0.0 } else { value };
    let size = value.abs().max(step);
    if size >= 1e6 || step < 1e-5 {
        return if value == 0.0 { "0".to_owned() } else { format!("{value:.1e}") };
    }
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_hold_all() {
        for (values, expected) in [
            (&[0.03, 0.97][..], "0.0 0.2 0.4 0.6 0.8 1.0"),
            (&[-0.31, 0.42], "−0.4 −0.2 0.0 0.2 0.4 0.6"),
            (&[0.0, 100.0], "0 20 40 60 80 100"),
            (&[3.0], "2.4 2.6 2.8 3.0 3.2 3.4 3.6"),
            (&[0.14], "0.11 0.12 0.13 0.14 0.15 0.16 0.17"),
            (&[0.1, 0.3], "0.10 0.15 0.20 0.25 0.30"),
            (&[0.0, 3e9], "0 1.0e9 2.0e9 3.0e9"),
            (&[-1e150, 1e150], "−1.0e150 −5.0e149 0 5.0e149 1.0e150"),
        ] {
            let axis = Axis::over(values.iter().copied(), 0.0, 100.0).unwrap();
            let ticks: Vec<String> = axis.ticks().into_iter().map(|(_, told)| told).collect();
            assert_eq!(ticks.join(" "), expected, "{values:?}");
            let (low, high) = (axis.at(axis.low), axis.at(axis.high));
            assert_eq!((low, high), (0.0, 100.0));
        }
        assert!(Axis::over([], 0.0, 1.0).is_none());
    }
}
