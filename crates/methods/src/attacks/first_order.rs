//! The first-order estimate of what a replacement does: with g = ∂F/∂x at a token of vector x, putting the word v there
//! moves F by about (e_v − x)·g. J. Ebrahimi and others, *HotFlip*, 2018.

use super::ReplacementWords;
use exegete_core::dot;

/// A replacement and how much it is estimated to move F.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    /// e_v·g minus what stood there.
    pub(super) change: f64,
    /// The token v that would stand there.
    pub(super) id: u32,
}

/// The `count` words that are estimated to lower F most, lowest first; of equal ones the first in the vocabulary.
/// `held` is what the tokens that go give now: Σ x·g.
pub(super) fn lowest(
    vocabulary: &ReplacementWords,
    gradient: &[f32],
    held: f64,
    allowed: &[u32],
    count: usize,
) -> Vec<Estimate> {
    let estimate = |&id: &u32| Estimate { change: dot(vocabulary.vector(id), gradient) - held, id };
    let mut all: Vec<Estimate> = allowed.iter().map(estimate).collect();
    let by = |a: &Estimate, b: &Estimate| a.change.total_cmp(&b.change).then(a.id.cmp(&b.id));
    if count < all.len() {
        all.select_nth_unstable_by(count, by);
        all.truncate(count);
    }
    all.sort_by(by);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::Model;
    use exegete_testkit::Toy;

    #[test]
    fn the_lowest_come_first() {
        let toy = Toy::default();
        let vocabulary = ReplacementWords::of(toy.open().unwrap()).unwrap();
        // E·(1, 0): good 1, bad −1, not 0.25, film −0.5; minus what stood there, good.
        let found = lowest(&vocabulary, &[1.0, 0.0], 1.0, &[1, 2, 3, 4], 2);
        assert_eq!(found, [Estimate { change: -2.0, id: 2 }, Estimate { change: -1.5, id: 4 }]);
        assert_eq!(lowest(&vocabulary, &[1.0, 0.0], 1.0, &[3], 9), [Estimate { change: -0.75, id: 3 }]);
    }
}
