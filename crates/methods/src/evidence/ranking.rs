use crate::statistics::compare;
use crate::{Question, Stream};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// How many random rankings stand beside an explanation's own.
const RANDOM: usize = 5;

/// Orders of the units of one text, best first.
pub(super) struct Rankings {
    pub(super) own: Vec<usize>,
    pub(super) reversed: Vec<usize>,
    pub(super) random: Vec<Vec<usize>>,
}

impl Rankings {
    /// What speaks for the target comes first where scores have a sign, else what is large. The random ones depend on the
    /// job's seed alone, so that several explanations of a text are compared with the same.
    pub(super) fn new(job: &Question<'_>, values: &[f64], signed: bool) -> Self {
        let own = best_first(values, signed);
        let reversed = own.iter().rev().copied().collect();
        let mut random = job.random(Stream::Rankings);
        let random = (0..RANDOM).map(|_| shuffled(values.len(), &mut random)).collect();
        Self { own, reversed, random }
    }
}

fn best_first(values: &[f64], signed: bool) -> Vec<usize> {
    let key = |unit: usize| if signed { values[unit] } else { values[unit].abs() };
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| compare(&key(b), &key(a)));
    order
}

/// 0 to `count` − 1 in random order.
pub(crate) fn shuffled(count: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for i in (1..count).rev() {
        order.swap(i, random.random_range(0..=i));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_count_only_where_they_mean_something() {
        assert_eq!(best_first(&[0.1, -3.0, 2.0], true), [2, 0, 1]);
        assert_eq!(best_first(&[0.1, -3.0, 2.0], false), [1, 2, 0]);
        assert_eq!(best_first(&[0.0, -0.0, 0.0], true), [0, 1, 2]);
    }
}
