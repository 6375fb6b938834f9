use super::contest::softmax;
use crate::{Card, Encoded, Fill, Logits, Open, TokenScore};

/// Candidates listed for each position.
const TOP_WORDS: usize = 5;

/// The output of one row with what is needed to say what it means.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// What the model is.
    pub card: &'a Card,
    /// The text as the model read it.
    pub encoded: &'a Encoded,
    /// The outputs that the model gave for it.
    pub logits: &'a Logits,
    /// The words that it knows.
    pub vocabulary: &'a dyn Vocabulary,
}

impl Reading<'_> {
    /// The best words at one token.
    pub fn words_at(&self, position: usize) -> Fill {
        let logits = self.logits.at(position).map_or(&[][..], |at| &self.logits.data[at]);
        let probs = softmax(logits);
        let mut order: Vec<usize> = (0..logits.len()).collect();
        order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
        let score = |id: usize| TokenScore { piece: self.word(id), logit: logits[id], prob: probs[id] };
        Fill { position, top: order.into_iter().take(TOP_WORDS).map(score).collect() }
    }

    /// A vocabulary entry by its string, or by its number where it has none.
    pub fn word(&self, id: usize) -> String {
        self.vocabulary.piece(id as u32).unwrap_or_else(|| format!("#{id}"))
    }

    /// Every token by its number and its string.
    pub fn tokens(&self) -> Vec<String> {
        let tokens = self.encoded.tokens.iter().enumerate();
        tokens.map(|(at, token)| format!("{at} {}", token.piece)).collect()
    }

    /// Whether a token is the mask.
    pub fn is_masked(&self, position: usize) -> bool {
        let id = self.encoded.tokens.get(position).map(|token| token.id);
        id.is_some() && id == self.vocabulary.mask()
    }
}

/// The words that a model knows.
pub trait Vocabulary {
    /// The id of an entry's string.
    fn id(&self, piece: &str) -> Option<u32>;

    /// The string of an id.
    fn piece(&self, _id: u32) -> Option<String> {
        None
    }

    /// The id of the mask.
    fn mask(&self) -> Option<u32> {
        None
    }
}

/// A function from a string to its id knows no more than that.
impl Vocabulary for &dyn Fn(&str) -> Option<u32> {
    fn id(&self, piece: &str) -> Option<u32> {
        self(piece)
    }
}

/// What an open model answers with; a black box has none.
impl Vocabulary for Option<&dyn Open> {
    fn id(&self, piece: &str) -> Option<u32> {
        self.and_then(|open| open.output_id(piece))
    }

    fn piece(&self, id: u32) -> Option<String> {
        self.and_then(|open| open.output_piece(id))
    }

    fn mask(&self) -> Option<u32> {
        self.and_then(|open| open.mask_id())
    }
}
