use crate::Set;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// How many sets of a size there are, counted no further than needed.
pub(crate) fn combinations(units: usize, size: usize) -> usize {
    let size = size.min(units - size);
    (0..size).try_fold(1usize, |count, i| Some(count.checked_mul(units - i)? / (i + 1))).unwrap_or(usize::MAX)
}

/// All sets of a size, in order.
pub(crate) fn every(units: usize, size: usize) -> Vec<Set> {
    let mut sets: Vec<Set> = vec![Vec::new()];
    for chosen in 1..=size {
        let longer = |set: Set| {
            let next = set.last().map_or(0, |last| last + 1);
            // Units for the places after this one must be left over.
            (next..=units - 1 - (size - chosen)).map(move |unit| set.iter().copied().chain([unit]).collect())
        };
        sets = sets.into_iter().flat_map(longer).collect();
    }
    sets
}

/// Random sets of a size, or all of them where these are no more.
pub(crate) fn some(units: usize, size: usize, count: usize, random: &mut ChaCha8Rng) -> Vec<Set> {
    if combinations(units, size) <= count {
        return every(units, size);
    }
    let mut one = || {
        let mut order: Vec<usize> = (0..units).collect();
        for i in 0..size {
            order.swap(i, random.random_range(i..units));
        }
        order.truncate(size);
        order.sort_unstable();
        order
    };
    (0..count).map(|_| one()).collect()
}

/// The set with one unit more.
pub(crate) fn with(set: &[usize], unit: usize) -> Set {
    let mut larger = set.to_vec();
    larger.insert(larger.partition_point(|&other| other < unit), unit);
    larger
}

/// The set with one unit less.
pub(crate) fn without(set: &[usize], unit: usize) -> Set {
    set.iter().copied().filter(|&other| other != unit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn sets_are_counted_and_listed() {
        assert_eq!(every(4, 2).len(), combinations(4, 2));
        assert_eq!(every(3, 2), [[0, 1], [0, 2], [1, 2]]);
        assert_eq!((every(60, 60).len(), every(60, 59).len(), every(3, 0).len()), (1, 60, 1));
        assert_eq!(combinations(6, 3), 20);
        assert_eq!(combinations(500, 250), usize::MAX);
        let mut random = ChaCha8Rng::seed_from_u64(0);
        assert_eq!(some(3, 2, 3, &mut random), every(3, 2));
        let drawn = some(9, 4, 50, &mut random);
        assert_eq!(drawn.len(), 50);
        assert!(drawn.iter().all(|set| set.len() == 4 && set.is_sorted_by(|a, b| a < b)));
    }

    #[test]
    fn sets_grow_and_shrink_in_order() {
        assert_eq!(with(&[1, 4], 2), [1, 2, 4]);
        assert_eq!(with(&[], 2), [2]);
        assert_eq!(without(&[1, 2, 4], 2), [1, 4]);
    }
}
