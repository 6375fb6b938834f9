//! Every use of random numbers, each with a stream of its own: two that share one would see the same numbers under the same seed.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// What random numbers are for. A number is part of every result drawn from it, so it stays once it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Stream {
    /// Baselines and places on the way from them, of `gradient_shap`.
    GradientShap = 1,
    /// Noise of the noise tunnel.
    Noise = 2,
    /// Orders of words, of `permutation_shap`.
    PermutationShap = 11,
    /// The coalitions that `kernel_shap` draws.
    KernelShap = 12,
    /// Orders within the tree of `partition_shap`.
    PartitionShap = 13,
    /// The rows that `lime` draws.
    Lime = 21,
    /// Rankings beside an explanation's own, of the deep checks.
    Rankings = 101,
    /// Noise of the check `sensitivity`.
    Sensitivity = 103,
    /// Noise of the check `infidelity`.
    Infidelity = 104,
    /// Noise of the check `stability`.
    Stability = 105,
    /// The draws that `anchors` makes.
    Anchors = 201,
    /// Sets of words of `input_reduction`.
    InputReduction = 202,
    /// Sets of words of `flipping_set`.
    FlippingSet = 203,
    /// Flips beside those of `hotflip`.
    Hotflip = 204,
    /// Texts, starts and triggers of `triggers`.
    Triggers = 205,
    /// Pairs of tokens that a picture shows.
    TokenPairs = 206,
    /// The order in which sentences are joined to texts, and which texts are looked at more closely.
    JoinedSentences = 208,
    /// Resamples of an experiment's texts, one stream a statistic from here on, of which there are 699.
    Resamples = 301,
    /// Parameters of a randomised model, one stream a part of the model from here on.
    Parameters = 1000,
    /// Random scores beside those of judged methods, one stream a text from here on.
    Scores = 1 << 40,
    /// Words in place of hidden ones, one stream a draw and unit from here on.
    Words = 1 << 41,
    /// Rows of generated data, one stream a row from here on.
    Rows = 1 << 42,
    /// The order of labels in generated data, one stream a few rows from here on.
    RowOrder = 1 << 43,
    /// Sets of words that all explanations of a text are tried on, one stream a text from here on.
    Masks = 1 << 44,
    /// Random orders beside an explanation's own in the test against chance, one stream a text from here on.
    Chance = 1 << 45,
    /// The order of units whose scores are tied, one stream a text from here on.
    Ties = 1 << 46,
    /// Scores that know nothing, tried on texts whose effects are known; two streams a text from here on.
    Controls = 1 << 47,
    /// Texts drawn again for an interval.
    Resampled = 1 << 48,
    /// Orders of a text's attention weights, one stream a text from here on.
    WeightOrders = 1 << 49,
    /// Where the search for other weights starts, one stream a text from here on.
    OtherWeights = 1 << 50,
    /// Which words lose their weight at random, one stream a text from here on.
    ErasedWords = 1 << 51,
    /// Random orders of erasing, one stream a text from here on.
    ErasureOrders = 1 << 52,
    /// Resamples of what is measured about each head, one stream a statistic from here on.
    HeadResamples = 1 << 53,
    /// Resamples of what notices a deception, two streams a statistic from here on.
    NoticeResamples = 1 << 56,
    /// Resamples of an experiment's texts for statistics beyond those of `Resamples`, one stream each from here on.
    FurtherResamples = 1 << 57,
}

impl Stream {
    /// All there are, by number.
    pub const ALL: [Self; 35] = [
        Self::GradientShap,
        Self::Noise,
        Self::PermutationShap,
        Self::KernelShap,
        Self::PartitionShap,
        Self::Lime,
        Self::Rankings,
        Self::Sensitivity,
        Self::Infidelity,
        Self::Stability,
        Self::Anchors,
        Self::InputReduction,
        Self::FlippingSet,
        Self::Hotflip,
        Self::Triggers,
        Self::TokenPairs,
        Self::JoinedSentences,
        Self::Resamples,
        Self::Parameters,
        Self::Scores,
        Self::Words,
        Self::Rows,
        Self::RowOrder,
        Self::Masks,
        Self::Chance,
        Self::Ties,
        Self::Controls,
        Self::Resampled,
        Self::WeightOrders,
        Self::OtherWeights,
        Self::ErasedWords,
        Self::ErasureOrders,
        Self::HeadResamples,
        Self::NoticeResamples,
        Self::FurtherResamples,
    ];

    /// Resamples for a statistic of an experiment. With very many classes there are more of them than numbers before the next
    /// stream's.
    pub(crate) fn resamples(seed: u64, place: u64) -> ChaCha8Rng {
        const PLACES: u64 = Stream::Parameters as u64 - Stream::Resamples as u64;
        let stream = if place < PLACES { Self::Resamples } else { Self::FurtherResamples };
        stream.random(seed, place)
    }

    /// Random numbers for one use under a seed; `place` tells apart what is drawn for many parts, texts or words.
    pub fn random(self, seed: u64, place: u64) -> ChaCha8Rng {
        debug_assert!(Self::ALL.contains(&self), "{self:?} is missing in Stream::ALL");
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream((self as u64).wrapping_add(place));
        random
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    /// The compiler refuses equal numbers; that streams with many places do not reach into others is left to check.
    #[test]
    fn all_streams_differ() {
        let numbers: Vec<u64> = Stream::ALL.iter().map(|&stream| stream as u64).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        // Stream 0 is that of what lies below: see ARCHITECTURE.md.
        assert!(!numbers.contains(&0));
        let many = [
            Stream::Resamples,
            Stream::Parameters,
            Stream::Scores,
            Stream::Words,
            Stream::Rows,
            Stream::RowOrder,
            Stream::Masks,
            Stream::Chance,
            Stream::Ties,
            Stream::Controls,
            Stream::Resampled,
            Stream::WeightOrders,
            Stream::OtherWeights,
            Stream::ErasedWords,
            Stream::ErasureOrders,
            Stream::HeadResamples,
            Stream::NoticeResamples,
            Stream::FurtherResamples,
        ];
        assert!(
            Stream::ALL.ends_with(&many),
            "places count upward, so nothing may follow but other such streams"
        );
        // Only these begin close below the next: see `Stream::resamples`.
        let close = many.windows(2).filter(|pair| pair[1] as u64 - (pair[0] as u64) < 1 << 30);
        assert_eq!(close.map(|pair| pair[0]).collect::<Vec<_>>(), [Stream::Resamples]);
        let drawn = |mut random: ChaCha8Rng| random.random::<u64>();
        for place in [0, 698] {
            assert_eq!(drawn(Stream::resamples(3, place)), drawn(Stream::Resamples.random(3, place)));
        }
        for place in [699, 700, 1 << 20] {
            let reached = Stream::Parameters.random(3, place - 699);
            assert_ne!(drawn(Stream::resamples(3, place)), drawn(reached), "{place} reaches the next stream");
        }
        let first = |stream: &Stream| stream.random(0, 0).random::<u64>();
        let mut drawn: Vec<u64> = Stream::ALL.iter().map(first).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), Stream::ALL.len());
        // A place further is the next stream, and a stream that another reaches is the same numbers.
        assert_eq!(first(&Stream::Noise), Stream::GradientShap.random(0, 1).random::<u64>());
    }
}
