//! Sets of units that every explanation of a text is tried on. They depend on the text and the seed alone, never on scores: a
//! ranking that chose its own tests would pass them.

use crate::Set;
use crate::evidence::ranking::shuffled;
use crate::search::sets::every;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use std::collections::HashSet;

/// M: how many sets there are at most.
pub(crate) const MASKS: usize = 96;
/// Up to so many units all sets are few: 6, 20 and 50 of 4, 5 and 6 units.
const ALL_UP_TO: usize = 6;
/// Of fewer units there are no sets that are neither one unit nor all but one: those belong to leave-one-out.
const FEWEST_UNITS: usize = 4;

/// Pairs of a set and its complement, of an even choice of the sizes 2 … n − 2, no set twice; all of them where they are few.
pub(crate) fn masks(units: usize, random: &mut ChaCha8Rng) -> Vec<Set> {
    match units {
        0..FEWEST_UNITS => Vec::new(),
        FEWEST_UNITS..=ALL_UP_TO => (2..=units - 2).flat_map(|size| every(units, size)).collect(),
        _ => drawn(units, random),
    }
}

fn drawn(units: usize, random: &mut ChaCha8Rng) -> Vec<Set> {
    let mut seen: HashSet<Set> = HashSet::new();
    let mut sets = Vec::with_capacity(MASKS);
    while sets.len() < MASKS {
        let size = random.random_range(2..=units - 2);
        let mut order = shuffled(units, random);
        let mut rest = order.split_off(size);
        order.sort_unstable();
        rest.sort_unstable();
        if !seen.contains(&order) {
            seen.extend([order.clone(), rest.clone()]);
            sets.extend([order, rest]);
        }
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    #[test]
    fn few_sets_are_all_there_and_many_come_in_pairs() {
        let sets = |units: usize| masks(units, &mut Stream::Masks.random(0, 1));
        for (units, count) in [(0, 0), (3, 0), (4, 6), (5, 20), (6, 50), (7, 96), (20, 96), (500, 96)] {
            let found = sets(units);
            assert_eq!(found.len(), count, "{units} units");
            assert_eq!(found.iter().collect::<HashSet<_>>().len(), count, "no set twice");
            for set in &found {
                assert!((2..=units - 2).contains(&set.len()) && set.is_sorted());
                let rest: Set = (0..units).filter(|unit| !set.contains(unit)).collect();
                assert!(found.contains(&rest), "the complement of {set:?}");
            }
        }
        assert_ne!(sets(20), masks(20, &mut Stream::Masks.random(0, 2)), "another text, other sets");
    }

    /// Every size comes as often as any other.
    #[test]
    fn sizes_are_drawn_evenly() {
        let mut counts = [0usize; 13];
        for text in 0..400 {
            let found = masks(12, &mut Stream::Masks.random(0, text));
            found.iter().for_each(|set| counts[set.len()] += 1);
        }
        let expected = 400.0 * MASKS as f64 / 9.0;
        for (size, &count) in counts.iter().enumerate().skip(2).take(9) {
            assert!((count as f64 / expected - 1.0).abs() < 0.1, "{count} of size {size}, not {expected}");
        }
    }
}
