use super::words::FILLERS;
use crate::Stream;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Fillers are drawn with a frequency of 1/rank. Whole numbers, because a sum of floats is nothing to rest bytes on.
const CUMULATIVE: [u32; FILLERS.len()] = {
    let (mut sums, mut total, mut at) = ([0; FILLERS.len()], 0, 0);
    while at < FILLERS.len() {
        total += 1_000_000 / (at as u32 + 1);
        sums[at] = total;
        at += 1;
    }
    sums
};

/// Rows whose sides and quarters are balanced together: every side four times, and of each side every quarter once.
const BLOCK: u64 = 8;

/// The random numbers of one row, which depend on the seed and the row's number alone.
#[derive(Debug, Clone)]
pub struct RowDraws {
    random: ChaCha8Rng,
    /// Which of two labels the row has. Of rows 2k and 2k + 1 one has each, so that any file is balanced to within one.
    pub side: bool,
    /// Which of four equally frequent forms the row has, for every label alike.
    pub quarter: usize,
}

impl RowDraws {
    /// The draws of a row, from 0, under a seed.
    pub fn new(seed: u64, row: u64) -> Self {
        let random = Stream::Rows.random(seed, row);
        let mut order = Self { random: Stream::RowOrder.random(seed, row / BLOCK), side: false, quarter: 0 };
        let coins = [(); 4].map(|()| order.coin());
        let quarters = [(); 2].map(|()| order.permutation());
        let pair = (row % BLOCK / 2) as usize;
        let side = coins[pair] ^ (row % 2 == 1);
        Self { random, side, quarter: quarters[usize::from(side)][pair] }
    }

    fn permutation(&mut self) -> [usize; 4] {
        let mut order = [0, 1, 2, 3];
        (1..4).for_each(|i| order.swap(i, self.below(i + 1)));
        order
    }

    /// A number below another, which is above 0; each is equally likely.
    pub(super) fn below(&mut self, count: usize) -> usize {
        self.random.random_range(0..count as u32) as usize
    }

    /// A number from one to another, both included.
    pub(super) fn between(&mut self, (least, most): (usize, usize)) -> usize {
        least + self.below(most - least + 1)
    }

    /// Whether a fair coin shows heads.
    pub(super) fn coin(&mut self) -> bool {
        self.below(2) == 1
    }

    /// One of a list, which is not empty.
    pub(super) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// A neutral word, by its frequency.
    pub(super) fn filler(&mut self) -> &'static str {
        let at = self.below(CUMULATIVE[FILLERS.len() - 1] as usize) as u32;
        FILLERS[CUMULATIVE.partition_point(|&sum| sum <= at)]
    }

    /// So many neutral words.
    pub(super) fn fillers(&mut self, count: usize) -> Vec<&'static str> {
        (0..count).map(|_| self.filler()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_and_quarters_are_balanced_together() {
        let rows: Vec<RowDraws> = (0..800).map(|row| RowDraws::new(7, row)).collect();
        for side in [false, true] {
            for quarter in 0..4 {
                let of = |draws: &&RowDraws| draws.side == side && draws.quarter == quarter;
                assert_eq!(rows.iter().filter(of).count(), 100, "{side} {quarter}");
            }
        }
        // Shuffled: which comes first is a coin.
        let first = rows.iter().step_by(2).filter(|draws| draws.side).count();
        assert!((160..240).contains(&first), "{first}");
    }

    #[test]
    fn fillers_have_the_frequency_of_their_rank() {
        let harmonic: f64 = (1..=400).map(|rank| 1.0 / f64::from(rank)).sum();
        let mut draws = RowDraws::new(0, 0);
        let drawn = draws.fillers(100_000);
        for rank in [1, 2, 10, 100] {
            let count = drawn.iter().filter(|&&word| word == FILLERS[rank - 1]).count() as f64;
            let expected = 100_000.0 / (rank as f64 * harmonic);
            assert!((count - expected).abs() < 5.0 * expected.sqrt(), "{rank}: {count}, {expected}");
        }
        assert!(FILLERS.iter().all(|word| drawn.contains(word)));
    }
}
