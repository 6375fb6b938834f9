//! How strong a score is beside the largest of its text: what colours and signs stand for.

/// Scores as shares of the largest absolute value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    largest: f64,
    total: f64,
}

impl Scale {
    /// The scale of some scores; those that are not numbers do not count.
    pub(crate) fn new<'a>(values: impl IntoIterator<Item = &'a f64>) -> Self {
        let finite = values.into_iter().filter(|v| v.is_finite());
        let (largest, total) =
            finite.fold((0.0, 0.0), |(largest, total), v| (f64::max(largest, v.abs()), total + v.abs()));
        Self { largest, total }
    }

    /// The largest absolute value.
    pub(crate) fn largest(&self) -> f64 {
        self.largest
    }

    /// From −1 to 1; 0 for what is not a number.
    pub(crate) fn strength(&self, value: f64) -> f64 {
        let strength = if self.largest > 0.0 { (value / self.largest).clamp(-1.0, 1.0) } else { 0.0 };
        if strength.is_nan() { 0.0 } else { strength }
    }

    /// |score| as a share of the sum of all.
    pub(crate) fn share(&self, value: f64) -> f64 {
        if self.total > 0.0 { value.abs() / self.total } else { 0.0 }
    }

    /// From −3 to 3: less than a twelfth, a third, two thirds of the largest, or more.
    pub(crate) fn level(&self, value: f64) -> i8 {
        let strength = self.strength(value);
        let level = match strength.abs() {
            size if size >= 2.0 / 3.0 => 3,
            size if size >= 1.0 / 3.0 => 2,
            size if size >= 1.0 / 12.0 => 1,
            _ => 0,
        };
        if strength < 0.0 { -level } else { level }
    }
}

/// The indices of scores, largest absolute value first; the first of equals first, what is not a number last.
pub(crate) fn ranked(values: &[f64]) -> Vec<usize> {
    let size = |i: &usize| if values[*i].is_nan() { -1.0 } else { values[*i].abs() };
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| size(b).total_cmp(&size(a)));
    order
}

/// At most `limit` indices below `count`, those with the largest strength, in their own order.
pub(crate) fn strongest(count: usize, limit: usize, strength: impl Fn(usize) -> f64) -> Vec<usize> {
    if count <= limit {
        return (0..count).collect();
    }
    let strengths: Vec<f64> = (0..count).map(strength).collect();
    let mut kept: Vec<usize> = ranked(&strengths).into_iter().take(limit).collect();
    kept.sort_unstable();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_shares_of_the_largest() {
        let scale = Scale::new(&[1.2, -0.4, f64::NAN, f64::INFINITY]);
        for (value, level) in
            [(1.2, 3), (-0.4, -2), (0.1, 1), (-0.09, 0), (0.0, 0), (f64::NAN, 0), (f64::NEG_INFINITY, -3)]
        {
            assert_eq!(scale.level(value), level, "{value}");
        }
        assert_eq!(Scale::new(&[]).level(1.0), 0);
    }

    #[test]
    fn ranks_put_what_is_no_number_last() {
        assert_eq!(ranked(&[0.5, f64::NAN, -2.0, 0.5, f64::INFINITY]), [4, 2, 0, 3, 1]);
    }
}
