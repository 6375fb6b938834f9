//! How much weight each word of a text has, in one row of attention or in several, and what other weights put in its place
//! mean for every row.
//!
//! Of head h: a_w = the sum over the tokens of word w, S = the sum over all words. The weights of the text are α_w = the mean
//! over heads of a_w, divided by their sum. What belongs to no word keeps its weight, whatever is put in place of α.

/// The rows of attention that a text is read by, and the places of its words in them.
#[derive(Debug, Clone, PartialEq)]
pub struct WordSpread {
    /// One list a head and row that is read, over everything that is attended to.
    pub rows: Vec<Vec<f64>>,
    /// The places of each word in a row.
    pub words: Vec<Vec<usize>>,
}

/// What is put in the place of a text's own weights.
#[derive(Debug, Clone, PartialEq)]
pub enum Imposed {
    /// These shares of the words, in every head.
    Replaced(Vec<f64>),
    /// Each word gets the weight of this one, head by head.
    Permuted(Vec<usize>),
    /// Nothing for these words; the others take over what they had.
    Erased(Vec<usize>),
}

impl WordSpread {
    /// α, one share a word.
    pub fn alpha(&self) -> Vec<f64> {
        let mut alpha = vec![0.0; self.words.len()];
        for row in &self.rows {
            alpha.iter_mut().zip(self.sums(row)).for_each(|(alpha, own)| *alpha += own);
        }
        let sum: f64 = alpha.iter().sum();
        alpha.iter_mut().for_each(|alpha| *alpha /= sum);
        alpha
    }

    /// The rows under other weights.
    pub fn with(&self, imposed: &Imposed) -> Vec<Vec<f64>> {
        self.rows.iter().map(|row| self.row_with(row, imposed)).collect()
    }

    /// ∂F/∂α′ of weights α′ that replace the own ones, from ∂F/∂A of every row.
    pub fn pulled(&self, slopes: &[Vec<f64>]) -> Vec<f64> {
        let mut pulled = vec![0.0; self.words.len()];
        for (row, slopes) in self.rows.iter().zip(slopes) {
            let sums = self.sums(row);
            let mass: f64 = sums.iter().sum();
            for (w, places) in self.words.iter().enumerate() {
                pulled[w] += mass
                    * places.iter().map(|&t| share(row[t], sums[w], places.len()) * slopes[t]).sum::<f64>();
            }
        }
        pulled
    }

    fn sums(&self, row: &[f64]) -> Vec<f64> {
        self.words.iter().map(|places| places.iter().map(|&t| row[t]).sum()).collect()
    }

    fn row_with(&self, row: &[f64], imposed: &Imposed) -> Vec<f64> {
        let own = self.sums(row);
        let mass: f64 = own.iter().sum();
        let new: Vec<f64> = match imposed {
            Imposed::Replaced(alpha) => alpha.iter().map(|alpha| mass * alpha).collect(),
            Imposed::Permuted(order) => order.iter().map(|&w| own[w]).collect(),
            Imposed::Erased(gone) => {
                let mut left = own.clone();
                gone.iter().for_each(|&w| left[w] = 0.0);
                let rest: f64 = left.iter().sum();
                let scale = if rest > 0.0 { mass / rest } else { 0.0 };
                left.iter().map(|own| scale * own).collect()
            }
        };
        let mut changed = row.to_vec();
        for (w, places) in self.words.iter().enumerate() {
            places.iter().for_each(|&t| changed[t] = new[w] * share(row[t], own[w], places.len()));
        }
        changed
    }
}

/// The part of a word's weight that one of its tokens has; equal parts where it has none.
fn share(token: f64, word: f64, tokens: usize) -> f64 {
    if word > 0.0 { token / word } else { 1.0 / tokens as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_testkit::{Of, close};

    /// \[CLS\] x ##y z \[SEP\], two heads.
    fn spread() -> WordSpread {
        let rows = vec![vec![0.2, 0.3, 0.1, 0.2, 0.2], vec![0.1, 0.1, 0.1, 0.6, 0.1]];
        WordSpread { rows, words: vec![vec![1, 2], vec![3]] }
    }

    fn check(imposed: Imposed, expected: [[f64; 5]; 2]) {
        let found = spread().with(&imposed).concat();
        close(&format!("{imposed:?}"), &found, &expected.concat(), Of::Size(1.0), 1e-9);
    }

    #[test]
    fn subwords_are_summed_and_markers_keep_their_weight() {
        close("α", &spread().alpha(), &[0.428571, 0.571429], Of::Size(1.0), 1e-6);
        check(Imposed::Permuted(vec![1, 0]), [[0.2, 0.15, 0.05, 0.4, 0.2], [0.1, 0.3, 0.3, 0.2, 0.1]]);
        check(Imposed::Replaced(vec![0.5, 0.5]), [[0.2, 0.225, 0.075, 0.3, 0.2], [0.1, 0.2, 0.2, 0.4, 0.1]]);
        check(Imposed::Erased(vec![0]), [[0.2, 0.0, 0.0, 0.6, 0.2], [0.1, 0.0, 0.0, 0.8, 0.1]]);
        check(Imposed::Erased(vec![0, 1]), [[0.2, 0.0, 0.0, 0.0, 0.2], [0.1, 0.0, 0.0, 0.0, 0.1]]);
    }

    #[test]
    fn a_word_without_weight_is_shared_equally_by_its_tokens() {
        let spread = WordSpread { rows: vec![vec![0.0, 0.0, 1.0]], words: vec![vec![0, 1], vec![2]] };
        let found = spread.with(&Imposed::Replaced(vec![0.4, 0.6])).concat();
        close("equal parts", &found, &[0.2, 0.2, 0.6], Of::Size(1.0), 1e-12);
    }

    #[test]
    fn slopes_are_those_of_the_replaced_weights() {
        let (spread, slopes) = (spread(), [vec![9.0, 1.0, 2.0, 3.0, 9.0], vec![9.0, 4.0, 5.0, 6.0, 9.0]]);
        let value = |alpha: &[f64]| {
            let rows = spread.with(&Imposed::Replaced(alpha.to_vec()));
            rows.iter().flatten().zip(slopes.iter().flatten()).map(|(a, g)| a * g).sum::<f64>()
        };
        let found = spread.pulled(&slopes);
        let base = value(&[0.3, 0.7]);
        let expected = [value(&[1.3, 0.7]) - base, value(&[0.3, 1.7]) - base];
        close("slopes", &found, &expected, Of::Size(1.0), 1e-9);
    }
}
