use exegete_core::{Encoded, Error, Example, Model, Result, Token};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Words with their shares: what a unit of the text is replaced by where it is hidden by another word.
#[derive(Debug, Clone, PartialEq)]
pub struct Words {
    words: Vec<Word>,
    /// Running sums of the shares.
    sums: Vec<f64>,
}

/// A word as one model reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct Word {
    /// The word as it is written.
    pub text: String,
    /// The word as it stands within a text.
    pub tokens: Vec<Token>,
}

/// Something to stand before a word, because many tokenizers read the first word of a text unlike the others.
const BEFORE: &str = "a ";

impl Words {
    /// Words with counts or shares, of which some must be above zero.
    pub fn new(model: &dyn Model, counts: &[(String, f64)]) -> Result<Self> {
        let (mut words, mut sums, mut sum) = (Vec::new(), Vec::new(), 0.0);
        for (text, count) in counts {
            if !(count.is_finite() && *count >= 0.0) {
                return Err(Error::Request(format!("the word '{text}' has the count {count}")));
            }
            let word = Word { text: text.clone(), tokens: tokens(model, text)? };
            if *count > 0.0 && !word.tokens.is_empty() {
                sum += count;
                words.push(word);
                sums.push(sum);
            }
        }
        if words.is_empty() {
            return Err(Error::Request("there are no words to put in place of others".into()));
        }
        Ok(Self { words, sums })
    }

    /// One of them, by its share.
    pub fn draw(&self, random: &mut ChaCha8Rng) -> &Word {
        let at = random.random::<f64>() * self.sums.last().copied().unwrap_or(0.0);
        let index = self.sums.partition_point(|&sum| sum <= at);
        &self.words[index.min(self.words.len() - 1)]
    }
}

/// The tokens of a word within a text.
fn tokens(model: &dyn Model, word: &str) -> Result<Vec<Token>> {
    let Encoded { tokens, .. } = model.encoded(&Example::text(format!("{BEFORE}{word}")))?;
    let inside = |token: &Token| token.span.is_some_and(|span| span.end > BEFORE.len());
    Ok(tokens.into_iter().filter(|token| !token.special && inside(token)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_testkit::Toy;
    use rand::SeedableRng;

    #[test]
    fn words_come_by_their_shares() {
        let counts = [("good".to_owned(), 3.0), ("film".to_owned(), 1.0), ("not".to_owned(), 0.0)];
        let words = Words::new(&Toy::default(), &counts).unwrap();
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let good = (0..4000).filter(|_| words.draw(&mut random).text == "good").count();
        assert!((2900..3100).contains(&good), "{good} of 4000 are the word with three of four shares");
        assert_eq!(words.draw(&mut random).tokens.len(), 1);
        assert!(Words::new(&Toy::default(), &[("good".into(), f64::NAN)]).is_err());
        assert!(Words::new(&Toy::default(), &[("good".into(), 0.0)]).is_err());
    }
}
