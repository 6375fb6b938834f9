use crate::statistics::{compare, with_ties};
use crate::{Question, Stream};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// How many random rankings stand beside an explanation's own curves.
pub(super) const RANDOM: usize = 3;

/// Orders of the units of one text, best first.
pub(super) struct Rankings {
    pub(super) own: Vec<usize>,
    pub(super) reversed: Vec<usize>,
    pub(super) random: Vec<Vec<usize>>,
}

impl Rankings {
    /// What speaks for the target comes first where scores have a sign, else what is large; what is tied stands in one random
    /// order, never that of the text. The random ones depend on the job's seed alone, so that several explanations of a text
    /// are compared with the same.
    pub(super) fn new(job: &Question<'_>, values: &[f64], signed: bool) -> Self {
        let ties = shuffled(values.len(), &mut job.random_of_text(Stream::Ties));
        let own = best_first(values, signed, ties);
        let reversed = own.iter().rev().copied().collect();
        let mut random = job.random(Stream::Rankings);
        let random = (0..RANDOM).map(|_| shuffled(values.len(), &mut random)).collect();
        Self { own, reversed, random }
    }
}

/// Best first, and in the order given where scores are tied.
fn best_first(values: &[f64], signed: bool, mut order: Vec<usize>) -> Vec<usize> {
    let by = |&value: &f64| if signed { value } else { value.abs() };
    let keys = with_ties(&values.iter().map(by).collect::<Vec<f64>>());
    order.sort_by(|&a, &b| compare(&keys[b], &keys[a]));
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
        let order = |values: &[f64], signed: bool| best_first(values, signed, vec![1, 2, 0]);
        assert_eq!(order(&[0.1, -3.0, 2.0], true), [2, 0, 1]);
        assert_eq!(order(&[0.1, -3.0, 2.0], false), [1, 2, 0]);
        assert_eq!(order(&[0.0, -0.0, 0.0], true), [1, 2, 0]);
        assert_eq!(order(&[1.0, 1.0 + 1e-9, 2.0], true), [2, 1, 0], "rounding breaks no tie");
    }
}
