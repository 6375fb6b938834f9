use super::alphabet::Alphabet;
use exegete_core::{Array, Error, Open, Result};

/// The whole words of a model's vocabulary, with their vectors: what a word can be replaced by.
///
/// Whole words are entries of one script and of letters only, which leaves out special and unused tokens, numbers and
/// marks. Where the vocabulary marks word pieces (`##ing`), an entry must not be one; where it marks the beginning of
/// words (`Ġfilm`, `▁film`), it must be one.
#[derive(Debug)]
pub struct ReplacementWords {
    vectors: Array, // [V, E]
    entries: Vec<Option<Entry>>,
    cased: bool,
}

#[derive(Debug)]
struct Entry {
    piece: String,
    /// Bytes of the piece before the word itself.
    mark: usize,
    alphabet: Alphabet,
}

/// How a vocabulary tells words from pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marking {
    /// Nothing is marked: every entry is a word.
    Nothing,
    /// `##` before a piece that goes on.
    Pieces,
    /// `▁` before a piece that begins a word.
    Spaces,
    /// `Ġ` before a piece that begins a word; other letters than plain ones are written as bytes.
    Bytes,
}

impl ReplacementWords {
    /// The vocabulary of a model; an error where it has none that can be read.
    pub fn of(open: &dyn Open) -> Result<Self> {
        let missing = || Error::Unsupported("this model has no word vectors to choose words from".into());
        let vectors = open.word_embeddings().filter(|words| words.shape.len() == 2).ok_or_else(missing)?;
        let pieces: Vec<Option<String>> = (0..vectors.shape[0]).map(|id| open.piece(id as u32)).collect();
        let marking = Marking::of(pieces.iter().flatten());
        let entries: Vec<Option<Entry>> =
            pieces.into_iter().map(|piece| piece.and_then(|piece| marking.entry(piece))).collect();
        let cased = entries.iter().flatten().any(|entry| is_capital(entry.word()));
        match entries.iter().flatten().next() {
            Some(_) => Ok(Self { vectors, entries, cased }),
            None => Err(Error::Unsupported("this model's vocabulary holds no whole words".into())),
        }
    }

    /// The ids of all whole words.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().zip(0u32..).filter(|(entry, _)| entry.is_some()).map(|(_, id)| id)
    }

    /// Those that can stand for a word of the text: of its script, and capitalised as it is where the vocabulary knows
    /// capitals.
    pub fn ids_like<'v>(&'v self, word: &str) -> impl Iterator<Item = u32> + use<'v> {
        let (alphabet, capital) = (Alphabet::of(word), is_capital(word));
        self.ids().filter(move |&id| {
            let entry = &self.entries[id as usize];
            entry.as_ref().is_some_and(|entry| {
                Some(entry.alphabet) == alphabet && (!self.cased || is_capital(entry.word()) == capital)
            })
        })
    }

    /// A whole word by its id.
    pub fn word(&self, id: u32) -> Option<&str> {
        self.entries.get(id as usize)?.as_ref().map(Entry::word)
    }

    /// The vocabulary's own string of a whole word.
    pub fn piece(&self, id: u32) -> Option<&str> {
        self.entries.get(id as usize)?.as_ref().map(|entry| entry.piece.as_str())
    }

    /// The id of a whole word.
    pub fn id(&self, word: &str) -> Option<u32> {
        self.ids().find(|&id| self.word(id) == Some(word))
    }

    /// The vector of any token; nothing where there is no such id.
    pub fn vector(&self, id: u32) -> &[f32] {
        let width = self.vectors.shape[1];
        self.vectors.data.get(id as usize * width..(id as usize + 1) * width).unwrap_or_default()
    }
}

impl Entry {
    fn word(&self) -> &str {
        &self.piece[self.mark..]
    }
}

impl Marking {
    /// By what is most frequent: some vocabularies hold the others' marks as letters.
    fn of<'p>(pieces: impl Iterator<Item = &'p String>) -> Self {
        let mut counts = [(0, Self::Nothing), (0, Self::Pieces), (0, Self::Spaces), (0, Self::Bytes)];
        for piece in pieces {
            for (count, marking) in &mut counts {
                let mark = marking.mark();
                *count +=
                    usize::from(!mark.is_empty() && piece.len() > mark.len() && piece.starts_with(mark));
            }
        }
        counts
            .into_iter()
            .rev()
            .max_by_key(|(count, _)| *count)
            .filter(|(count, _)| *count > 0)
            .map_or(Self::Nothing, |(_, marking)| marking)
    }

    fn mark(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Pieces => "##",
            Self::Spaces => "▁",
            Self::Bytes => "Ġ",
        }
    }

    /// The piece as a whole word; none where it is none. A `##` is no letter, so that pieces need no rule of their own.
    fn entry(self, piece: String) -> Option<Entry> {
        let begins = matches!(self, Self::Spaces | Self::Bytes);
        let word = if begins { piece.strip_prefix(self.mark())? } else { piece.as_str() };
        let alphabet = Alphabet::of(word).filter(|_| self != Self::Bytes || word.is_ascii())?;
        let (long, mark) = (word.chars().count() >= alphabet.shortest(), piece.len() - word.len());
        long.then_some(Entry { piece, mark, alphabet })
    }
}

fn is_capital(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::Model;
    use exegete_testkit::Toy;

    fn words(pieces: &[&str]) -> Vec<String> {
        let pieces: Vec<String> = pieces.iter().map(|&piece| piece.to_owned()).collect();
        let marking = Marking::of(pieces.iter());
        let entries = pieces.into_iter().filter_map(|piece| marking.entry(piece));
        entries.map(|entry| entry.word().to_owned()).collect()
    }

    #[test]
    fn whole_words_by_the_marks_of_each_family() {
        let check = |pieces: &[&str], expected: &[&str]| assert_eq!(words(pieces), expected, "{pieces:?}");
        check(&["[PAD]", "[unused1]", "film", "##ing", "##s", "a", "!", "3d", "é", "映"], &["film", "映"]);
        check(&["<s>", "Ġfilm", "ing", "Ġa", "Ġ", "Ġ!", "ĠÃ©t"], &["film"]);
        check(&["<s>", "▁film", "▁фильм", "ing", "▁"], &["film", "фильм"]);
        check(&["?", "good", "film"], &["good", "film"]);
        // One stray mark of another family among many of the own.
        check(&["##a", "##b", "▁film", "film"], &["film"]);
    }

    #[test]
    fn the_toy_knows_four_words() {
        let toy = Toy::default();
        let vocabulary = ReplacementWords::of(toy.open().unwrap()).unwrap();
        assert_eq!(vocabulary.ids().collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(vocabulary.word(2), Some("bad"));
        assert_eq!(vocabulary.word(0), None);
        assert_eq!(vocabulary.id("film"), Some(4));
        assert_eq!(vocabulary.vector(1), [1.0, 0.5]);
        assert_eq!(vocabulary.ids_like("фильм").count(), 0);
        assert_eq!(
            vocabulary.ids_like("Film").count(),
            4,
            "a vocabulary without capitals serves capitals too"
        );
    }
}
