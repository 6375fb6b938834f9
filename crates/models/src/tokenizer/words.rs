//! A tokenizer of whole words: words as the units `word` cut them, each a line of `vocab.txt`.

use super::Tokenize;
use super::length::Cut;
use crate::fault::{fault, read_text};
use exegete_core::{Encoded, Error, Example, Result, Token, Units};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The file that a vocabulary is stored in.
pub const VOCABULARY_FILE: &str = "vocab.txt";
/// The file of the words that a model writes, where it writes.
pub const TARGET_VOCABULARY_FILE: &str = "vocab.target.txt";
/// The first ids of every vocabulary: padding, unknown words, and the markers around each field.
pub const MARKERS: [&str; 4] = ["<pad>", "<unk>", "<s>", "</s>"];
const UNKNOWN: u32 = 1;
/// Where every field begins.
pub(crate) const START: u32 = 2;
/// Where every field ends.
pub(crate) const END: u32 = 3;
/// How far imposed weights may be from summing to 1, which rounding in a file explains.
const WEIGHTS_SUM: f32 = 1e-3;

/// Words by number. The first four are the [`MARKERS`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordVocabulary {
    words: Vec<String>,
    ids: HashMap<String, u32>,
}

impl WordVocabulary {
    /// The words that occur at least `min_count` times in these examples, most frequent first, ties by their bytes.
    pub fn of<'a>(
        examples: impl IntoIterator<Item = &'a Example>,
        lowercase: bool,
        min_count: usize,
    ) -> Self {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for example in examples {
            for Token { piece, .. } in Encoded::of_words(example).tokens {
                *counts.entry(spelled(piece, lowercase)).or_default() += 1;
            }
        }
        let mut counted: Vec<(String, usize)> =
            counts.into_iter().filter(|(_, count)| *count >= min_count).collect();
        counted.sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.as_bytes().cmp(b.as_bytes())));
        let markers = MARKERS.iter().map(|&marker| marker.to_owned());
        let words: Vec<String> = markers.chain(counted.into_iter().map(|(word, _)| word)).collect();
        let ids = words.iter().cloned().zip(0..).collect();
        Self { words, ids }
    }

    /// Reads the `vocab.txt` of a folder, or the other of its lists.
    pub fn read(dir: &Path, file: &str) -> Result<Self> {
        let path = dir.join(file);
        if !path.exists() {
            let what = format!("holds no {file}, the list of its words, one a line");
            return Err(fault(dir.display(), what));
        }
        Self::parse(&path.display().to_string(), &read_text(&path)?)
    }

    /// Reads a list of words, one a line, which messages call `place`.
    pub fn parse(place: &str, text: &str) -> Result<Self> {
        let words: Vec<String> = text.trim_end_matches(['\n', '\r']).lines().map(str::to_owned).collect();
        for (at, marker) in MARKERS.iter().enumerate() {
            if words.get(at).map(String::as_str) != Some(marker) {
                let all = MARKERS.join(", ");
                return Err(fault(
                    place,
                    format!("line {} is not {marker}; the first four are {all}", at + 1),
                ));
            }
        }
        let mut ids = HashMap::with_capacity(words.len());
        for (word, id) in words.iter().zip(0..) {
            if ids.insert(word.clone(), id).is_some() {
                return Err(fault(place, format!("line {}: '{word}' is there a second time", id + 1)));
            }
        }
        Ok(Self { words, ids })
    }

    /// The list as it is stored, one word a line.
    pub fn text(&self) -> String {
        self.words.iter().flat_map(|word| [word.as_str(), "\n"]).collect()
    }

    /// V, how many words there are, markers included.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there is no word at all; a vocabulary always has its markers.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Every word in the order of ids.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The number of a word.
    pub fn id(&self, word: &str) -> Option<u32> {
        self.ids.get(word).copied()
    }

    /// The share of an example's words that it does not know, and how many words there are.
    pub fn unknown_share(&self, example: &Example, lowercase: bool) -> (f64, usize) {
        let tokens = Encoded::of_words(example).tokens;
        let unknown =
            tokens.iter().filter(|token| self.id(&spelled(token.piece.clone(), lowercase)).is_none());
        (unknown.count() as f64 / tokens.len().max(1) as f64, tokens.len())
    }
}

fn spelled(word: String, lowercase: bool) -> String {
    if lowercase { word.to_lowercase() } else { word }
}

/// The tokenizer over a [`WordVocabulary`]: a start marker, words and an end marker for each field, the field as the type.
#[derive(Debug, Clone)]
pub struct WordTokenizer {
    /// The words that it knows.
    pub vocabulary: Arc<WordVocabulary>,
    /// The words that the model writes, where it writes: the second field, if there is one, is then what it should write.
    pub target: Option<Arc<WordVocabulary>>,
    /// Whether words are looked up in lower case.
    pub lowercase: bool,
    /// How many fields the model reads: one text, or a pair.
    pub fields: usize,
    /// Whether every sentence stands between markers of its own, and not the field as a whole.
    pub sentences: bool,
    /// Whether every text brings along the attention of its words.
    pub imposed: bool,
    /// The longest input in tokens, markers included.
    pub max_tokens: usize,
}

impl WordTokenizer {
    /// The ids of a text's words, in order.
    pub fn ids(&self, text: &str) -> Vec<u32> {
        let words = Encoded::of_words(&Example::text(text)).tokens;
        words.into_iter().map(|token| self.id(token.piece)).collect()
    }

    fn id(&self, word: String) -> u32 {
        self.vocabulary.id(&spelled(word, self.lowercase)).unwrap_or(UNKNOWN)
    }

    fn marker(&self, id: u32, field: usize) -> Token {
        let piece = MARKERS[id as usize].to_owned();
        Token { id, type_id: field as u32, piece, span: None, special: true, weight: None }
    }

    fn known(&self, token: Token) -> Token {
        let id = self.id(token.piece);
        Token { id, piece: self.vocabulary.words[id as usize].clone(), ..token }
    }

    /// Markers around each sentence of the only field; the last words give way.
    fn by_sentence(&self, words: Encoded, max_tokens: usize) -> Result<Encoded> {
        if max_tokens < 3 {
            return Err(Error::Request(format!("{max_tokens} tokens leave no room for a word")));
        }
        let (mut tokens, mut truncated) = (Vec::new(), false);
        for sentence in Units::Sentence.of(&words) {
            let room = max_tokens.saturating_sub(tokens.len() + 2);
            truncated |= sentence.tokens.len() > room;
            if room == 0 {
                break;
            }
            let kept = sentence.tokens.iter().take(room);
            tokens.push(self.marker(START, 0));
            tokens.extend(kept.map(|&at| self.known(words.tokens[at].clone())));
            tokens.push(self.marker(END, 0));
        }
        Ok(Encoded { tokens, fields: words.fields, truncated })
    }

    /// A source between its markers, and the words of the target, if any, with the end after them.
    fn source_and_target(
        &self,
        example: &Example,
        words: &WordVocabulary,
        max_tokens: usize,
    ) -> Result<Encoded> {
        let (source, target): (Vec<Token>, Vec<Token>) =
            Encoded::of_words(example).tokens.into_iter().partition(|token| token.type_id == 0);
        let told = example.fields.len() == 2;
        for (part, field) in [(&source, 0), (&target, 1)].into_iter().take(1 + usize::from(told)) {
            if part.is_empty() {
                let name = if told { ["source", "target"][field] } else { "text" };
                return Err(Error::Input(format!("the {name} is empty")));
            }
        }
        // The markers of the source, and the end of the target.
        let room = max_tokens.min(self.max_tokens).saturating_sub(2 + usize::from(told));
        if room < example.fields.len() {
            return Err(Error::Request(format!("{max_tokens} tokens leave no room for a word")));
        }
        let lengths = [source.len(), target.len()];
        let kept = Cut::Longest.lengths(&lengths[..example.fields.len()], room)?;
        let mut tokens = vec![self.marker(START, 0)];
        tokens.extend(source.into_iter().take(kept[0]).map(|token| self.known(token)));
        tokens.push(self.marker(END, 0));
        if told {
            let id = |token: Token| words.id(&spelled(token.piece, self.lowercase)).unwrap_or(UNKNOWN);
            let ids = target.into_iter().take(kept[1]).map(id).chain([END]);
            // What is written is the answer, and no part of the text that an explanation could point at.
            let token = |id: u32| Token {
                id,
                type_id: 1,
                piece: words.words[id as usize].clone(),
                span: None,
                special: true,
                weight: None,
            };
            tokens.extend(ids.map(token));
        }
        let truncated = kept[..] != lengths[..kept.len()];
        Ok(Encoded { tokens, fields: example.fields.clone(), truncated })
    }

    /// Gives the words of the first field the weights that the example brings along.
    fn weigh(&self, example: &Example, words: &mut [Token]) -> Result<()> {
        let weights = match (&example.weights, self.imposed) {
            (None, false) => return Ok(()),
            (Some(weights), true) => weights,
            (None, true) => {
                let what = "this model takes its attention from outside; give a weight for each word (--weights FILE)";
                return Err(Error::Input(what.into()));
            }
            (Some(_), false) => return example.check_unweighted(),
        };
        let (given, own, sum) = (weights.len(), words.len(), weights.iter().sum::<f32>());
        if given != own {
            return Err(Error::Input(format!("{given} weights for a text of {own} words")));
        }
        if weights.iter().any(|weight| weight.is_nan() || *weight < 0.0) || (sum - 1.0).abs() > WEIGHTS_SUM {
            return Err(Error::Input(format!(
                "weights must be numbers from 0 up that sum to 1, not to {sum}"
            )));
        }
        words.iter_mut().zip(weights).for_each(|(word, &weight)| word.weight = Some(weight / sum));
        Ok(())
    }

    fn check_fields(&self, example: &Example) -> Result<()> {
        match (example.fields.len(), self.fields) {
            (1 | 2, _) if self.target.is_some() => Ok(()),
            (given, own) if given == own => Ok(()),
            (0, _) => Err(Error::Input("there is no text".into())),
            (1, _) => Err(Error::Input("this model reads a pair of texts; give the second one too".into())),
            (2, 1) => Err(super::one_text()),
            (given, own) => {
                Err(Error::Input(format!("an example of {given} fields; this model reads {own}")))
            }
        }
    }
}

impl Tokenize for WordTokenizer {
    fn encode_within(&self, example: &Example, max_tokens: usize) -> Result<Encoded> {
        self.check_fields(example)?;
        if let Some(words) = &self.target {
            example.check_unweighted()?;
            return self.source_and_target(example, words, max_tokens);
        }
        let all = Encoded::of_words(example);
        if self.sentences && !all.is_empty() {
            return self.by_sentence(all, max_tokens.min(self.max_tokens));
        }
        let all = all.tokens;
        let mut parts: Vec<Vec<Token>> = vec![Vec::new(); self.fields];
        all.into_iter().for_each(|token| parts[token.type_id as usize].push(token));
        for (part, field) in parts.iter().zip(&example.fields) {
            if part.is_empty() {
                let name = if self.fields == 1 { "text" } else { &field.name };
                return Err(Error::Input(format!("the {name} is empty")));
            }
        }
        let room = max_tokens.min(self.max_tokens).saturating_sub(2 * self.fields);
        if room < self.fields {
            return Err(Error::Request(format!("{max_tokens} tokens leave no room for a word")));
        }
        self.weigh(example, &mut parts[0])?;
        let lengths: Vec<usize> = parts.iter().map(Vec::len).collect();
        let kept = Cut::Longest.lengths(&lengths, room)?;
        let mut tokens = Vec::with_capacity(room.min(lengths.iter().sum()) + 2 * self.fields);
        for (field, (part, &length)) in parts.into_iter().zip(&kept).enumerate() {
            tokens.push(self.marker(START, field));
            tokens.extend(part.into_iter().take(length).map(|token| self.known(token)));
            tokens.push(self.marker(END, field));
        }
        Ok(Encoded { tokens, fields: example.fields.clone(), truncated: kept != lengths })
    }

    fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    fn token_id(&self, piece: &str) -> Option<u32> {
        self.vocabulary.id(piece)
    }

    fn piece(&self, id: u32) -> Option<String> {
        self.vocabulary.words.get(id as usize).cloned()
    }

    fn output_id(&self, piece: &str) -> Option<u32> {
        let words = self.target.as_ref().unwrap_or(&self.vocabulary);
        words.id(&spelled(piece.to_owned(), self.lowercase))
    }

    fn output_piece(&self, id: u32) -> Option<String> {
        self.target.as_ref().unwrap_or(&self.vocabulary).words.get(id as usize).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokenizer(lowercase: bool, fields: usize, max_tokens: usize) -> WordTokenizer {
        let train = [Example::text("It is good, it IS"), Example::text("bad it")];
        let vocabulary = Arc::new(WordVocabulary::of(&train, lowercase, 1));
        WordTokenizer {
            vocabulary,
            target: None,
            lowercase,
            fields,
            sentences: false,
            imposed: false,
            max_tokens,
        }
    }

    #[test]
    fn words_are_ordered_by_count_and_then_by_bytes() {
        let words = |lowercase, min| {
            let train = [Example::text("It is good, it IS"), Example::text("bad it")];
            WordVocabulary::of(&train, lowercase, min).words()[4..].join(" ")
        };
        assert_eq!(words(true, 1), "it is , bad good");
        assert_eq!(words(true, 2), "it is");
        assert_eq!(words(false, 1), "it , IS It bad good is");
    }

    #[test]
    fn tokens_point_at_the_text_between_markers() {
        let encoded = tokenizer(true, 1, 99).encode_within(&Example::text(" IS né good"), 99).unwrap();
        let pieces: Vec<&str> = encoded.tokens.iter().map(|token| token.piece.as_str()).collect();
        assert_eq!(pieces, ["<s>", "is", "<unk>", "good", "</s>"]);
        let texts: Vec<&str> = encoded.tokens.iter().filter_map(|t| Some(encoded.slice(t.span?))).collect();
        assert_eq!(texts, ["IS", "né", "good"]);
        let special: Vec<bool> = encoded.tokens.iter().map(|token| token.special).collect();
        assert_eq!(special, [true, false, false, false, true]);
        let known = tokenizer(true, 1, 99);
        assert_eq!(known.vocabulary.unknown_share(&Example::text("IS né good nothing"), true), (0.5, 4));
        let exact = tokenizer(false, 1, 99);
        assert_eq!(exact.ids("IS Is"), [exact.vocabulary.id("IS").unwrap(), 1]);
    }

    #[test]
    fn pairs_have_markers_around_each_field_and_the_longer_gives_way() {
        let pair = Example::pair("it is good", "bad");
        let encoded = tokenizer(true, 2, 7).encode_within(&pair, 99).unwrap();
        let kinds: Vec<u32> = encoded.tokens.iter().map(|token| token.type_id).collect();
        assert_eq!((kinds, encoded.truncated), (vec![0, 0, 0, 0, 1, 1, 1], true));
        let error = |fields, example: &Example| {
            tokenizer(true, fields, 9).encode_within(example, 9).unwrap_err().to_string()
        };
        assert!(error(1, &pair).contains("reads one text"));
        assert!(error(2, &Example::text("it")).contains("reads a pair"));
        assert!(error(1, &Example::text(" ")).contains("text is empty"));
        assert!(error(2, &Example::pair("it", "")).contains("pair is empty"));
    }

    #[test]
    fn targets_are_no_part_of_the_text_and_end_with_a_marker() {
        let target = Arc::new(WordVocabulary::of(&[Example::text("gut ist")], true, 1));
        let own = WordTokenizer { target: Some(target), ..tokenizer(true, 2, 99) };
        let encoded = own.encode_within(&Example::pair("it is good", "Gut unbekannt"), 99).unwrap();
        let pieces: Vec<&str> = encoded.tokens.iter().map(|token| token.piece.as_str()).collect();
        assert_eq!(pieces, ["<s>", "it", "is", "good", "</s>", "gut", "<unk>", "</s>"]);
        assert!(encoded.tokens[5..].iter().all(|t| t.special && t.type_id == 1 && t.span.is_none()));
        assert_eq!((own.output_id("GUT"), own.output_piece(4)), (Some(4), Some("gut".into())));
        assert_ne!(own.token_id("good"), own.output_id("good"));
        let alone = own.encode_within(&Example::text("it is good"), 4).unwrap();
        assert_eq!((alone.len(), alone.truncated), (4, true));
        let both = own.encode_within(&Example::pair("it is good", "gut ist"), 6).unwrap();
        assert_eq!((both.len(), both.truncated, both.tokens[5].piece.as_str()), (6, true, "</s>"));
    }

    #[test]
    fn sentences_have_markers_of_their_own_and_the_last_words_give_way() {
        let check = |text: &str, max_tokens: usize, expected: &str, cut: bool| {
            let own = WordTokenizer { sentences: true, ..tokenizer(true, 1, 99) };
            let encoded = own.encode_within(&Example::text(text), max_tokens).unwrap();
            let pieces: Vec<&str> = encoded.tokens.iter().map(|token| token.piece.as_str()).collect();
            assert_eq!((pieces.join(" ").as_str(), encoded.truncated), (expected, cut), "{text:?}");
        };
        check("It is good! Bad", 99, "<s> it is good <unk> </s> <s> bad </s>", false);
        check("It is good! Bad", 9, "<s> it is good <unk> </s> <s> bad </s>", false);
        check("It is good! Bad", 8, "<s> it is good <unk> </s>", true);
        check("It is good! Bad it", 9, "<s> it is good <unk> </s> <s> bad </s>", true);
        check("It is good! Bad", 4, "<s> it is </s>", true);
        let own = WordTokenizer { sentences: true, ..tokenizer(true, 1, 99) };
        let error = |text: &str, max| own.encode_within(&Example::text(text), max).unwrap_err().to_string();
        assert!(error("it", 2).contains("no room") && error(" ", 99).contains("text is empty"));
    }

    #[test]
    fn files_round_trip_and_broken_ones_name_the_line() {
        let own = tokenizer(true, 1, 9).vocabulary;
        assert_eq!(WordVocabulary::parse("v", &own.text()).unwrap(), *own);
        let error = |text: &str| WordVocabulary::parse("v", text).unwrap_err().to_string();
        assert!(error("<pad>\n<unk>\n</s>\n").contains("line 3 is not <s>"));
        assert!(error("<pad>\n<unk>\n<s>\n</s>\na\nb\na\n").contains("line 7: 'a'"));
    }
}
