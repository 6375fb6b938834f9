//! Where the attention that is tested lies in a model, what of it is read, and what its words are.

use super::spread::WordSpread;
use exegete_core::{
    Array, Axis, Change, Edit, Encoded, Error, Model, Pick, Result, Role, Site, SiteInfo, Span, Units,
};

/// Which attention of a model is tested, where it has more than one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlaceChoice {
    /// Of a transformer: which layer, from 0; the last unless said.
    pub layer: Option<usize>,
    /// Of a transformer: these heads, from 0; all unless said.
    pub heads: Option<Vec<usize>>,
    /// Of a transformer: every word's row in place of the first token's.
    pub mean_row: bool,
    /// Of attention over sentences: the weights of words, each times that of its sentence.
    pub words_of_sentences: bool,
}

/// The attention that is tested.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The site of its weights.
    pub site: Site,
    kind: PlaceKind,
}

#[derive(Debug, Clone, PartialEq)]
enum PlaceKind {
    /// One weight a word, of the first field or of everything.
    Words { field: Option<usize> },
    /// One weight a sentence.
    Sentences,
    /// One weight a word within its sentence, beside those of sentences.
    WordsOfSentences { sentences: Site },
    /// A row of weights over all tokens, for each head and token.
    Heads { heads: Vec<usize>, mean_row: bool },
}

/// What weights are given to in one text: words, or sentences.
#[derive(Debug, Clone, PartialEq)]
pub struct Parts {
    /// What is written there.
    pub names: Vec<String>,
    /// The tokens of each.
    pub tokens: Vec<Vec<usize>>,
    /// The tokens that go where it is left out: its own and the markers that are its own.
    pub removed: Vec<Vec<usize>>,
    /// Its places along the axis of weights.
    pub places: Vec<Vec<usize>>,
    /// How many words the text has, whatever the weights are given to.
    pub words: usize,
}

impl Place {
    /// The attention of a model that a choice means, or what is wrong with either.
    pub fn find(model: &dyn Model, choice: &PlaceChoice) -> Result<Self> {
        let name = &model.card().name;
        let sites = model.require_open()?.sites();
        let weights: Vec<&SiteInfo> = sites.with_role(Role::Weights).collect();
        let Some(last) = weights.last() else {
            return Err(Error::Unsupported(format!(
                "{name} has no attention weights, so there is nothing to test; it needs a transformer or a small model with attention"
            )));
        };
        match (&last.axes[..], choice) {
            (
                [Axis::Head(count), Axis::Token, Axis::Token],
                PlaceChoice { words_of_sentences: false, .. },
            ) => heads(&weights, *count, choice),
            (_, PlaceChoice { layer: Some(_), .. } | PlaceChoice { heads: Some(_), .. }) => {
                refused(name, "has one attention without layers or heads; leave --layer and --head out")
            }
            (_, PlaceChoice { mean_row: true, .. }) => {
                refused(name, "has one row of attention; leave --row out")
            }
            ([Axis::Sentence], PlaceChoice { words_of_sentences: true, .. }) => {
                let words = weights.iter().find(|info| info.axes[..] == [Axis::Content]);
                let words = words.map(|info| info.site).ok_or_else(|| not_tested(name, last.site))?;
                Ok(Self { site: words, kind: PlaceKind::WordsOfSentences { sentences: last.site } })
            }
            ([Axis::Sentence], _) => Ok(Self { site: last.site, kind: PlaceKind::Sentences }),
            (_, PlaceChoice { words_of_sentences: true, .. }) => {
                refused(name, "has no sentences; leave --level out")
            }
            ([Axis::Content], _) => Ok(Self { site: last.site, kind: PlaceKind::Words { field: None } }),
            ([Axis::FieldContent(field)], _) => {
                let field = Some(*field as usize);
                Ok(Self { site: last.site, kind: PlaceKind::Words { field } })
            }
            _ => Err(not_tested(name, last.site)),
        }
    }

    /// The sites whose weights are read; they are held fixed where gradients are taken.
    pub fn sites(&self) -> Vec<Site> {
        match self.kind {
            PlaceKind::WordsOfSentences { sentences } => vec![self.site, sentences],
            _ => vec![self.site],
        }
    }

    /// The site of the scores before the softmax, where the weights are one row that is learned.
    pub fn scores(&self, model: &dyn Model) -> Option<Site> {
        model.open()?.sites().scores_of(self.site).filter(|_| !self.is_transformer())
    }

    /// Whether other weights can be put in the place of its own.
    pub fn can_be_replaced(&self) -> bool {
        !matches!(self.kind, PlaceKind::WordsOfSentences { .. })
    }

    /// What the parts are called, in the plural.
    pub fn noun(&self) -> &'static str {
        if self.kind == PlaceKind::Sentences { "sentences" } else { "words" }
    }

    /// Whether it is one of several layers with heads.
    pub fn is_transformer(&self) -> bool {
        matches!(self.kind, PlaceKind::Heads { .. })
    }

    /// What weights are given to in a text.
    pub fn parts(&self, encoded: &Encoded) -> Parts {
        match self.kind {
            PlaceKind::Words { field } => words(encoded, field, true),
            PlaceKind::WordsOfSentences { .. } => words(encoded, None, true),
            PlaceKind::Heads { .. } => words(encoded, None, false),
            PlaceKind::Sentences => sentences(encoded),
        }
    }

    /// The rows that are read, from the values at [`Self::sites`].
    pub fn spread(&self, values: &[Array], encoded: &Encoded, parts: &Parts) -> WordSpread {
        let wide = |data: &[f32]| data.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
        let rows = match &self.kind {
            PlaceKind::Words { .. } | PlaceKind::Sentences => vec![wide(&values[0].data)],
            PlaceKind::WordsOfSentences { .. } => {
                vec![times_sentences(&values[0].data, &values[1].data, encoded)]
            }
            PlaceKind::Heads { heads, .. } => {
                let tokens = encoded.len();
                let row =
                    |head: usize, i: usize| wide(&values[0].data[(head * tokens + i) * tokens..][..tokens]);
                let read = self.rows_read(encoded);
                heads
                    .iter()
                    .flat_map(|&head| read.iter().map(move |&i| (head, i)))
                    .map(|(h, i)| row(h, i))
                    .collect()
            }
        };
        WordSpread { rows, words: parts.places.clone() }
    }

    /// The edit that puts these rows, in the order of [`Self::spread`], in the place of the model's own.
    pub fn edit(&self, rows: &[Vec<f64>], encoded: &Encoded) -> Edit {
        let data: Vec<f32> = rows.iter().flatten().map(|&x| x as f32).collect();
        let (at, shape) = match &self.kind {
            PlaceKind::Heads { heads, .. } => {
                let read = self.rows_read(encoded);
                let shape = vec![heads.len(), read.len(), encoded.len()];
                (vec![Pick::Only(heads.clone()), Pick::Only(read)], shape)
            }
            _ => (Vec::new(), vec![data.len()]),
        };
        Edit { site: self.site, at, change: Change::Set(Array { shape, data }) }
    }

    /// The slopes at the rows that are read, from those at the whole site.
    pub fn slopes_of_rows(&self, slopes: &Array, encoded: &Encoded, parts: &Parts) -> Vec<Vec<f64>> {
        self.spread(std::slice::from_ref(slopes), encoded, parts).rows
    }

    /// The tokens whose rows are read.
    fn rows_read(&self, encoded: &Encoded) -> Vec<usize> {
        match self.kind {
            PlaceKind::Heads { mean_row: true, .. } => {
                let tokens = encoded.tokens.iter().enumerate();
                tokens.filter(|(_, token)| !token.special).map(|(i, _)| i).collect()
            }
            _ => vec![0],
        }
    }
}

fn heads(weights: &[&SiteInfo], count: usize, choice: &PlaceChoice) -> Result<Place> {
    let layers: Vec<Site> = weights.iter().map(|info| info.site).collect();
    let layer = choice.layer.unwrap_or(layers.len() - 1);
    let Some(&site) = layers.get(layer) else {
        let last = layers.len() - 1;
        return Err(Error::Request(format!("--layer {layer}: the model has layers 0 to {last}")));
    };
    let heads = choice.heads.clone().unwrap_or_else(|| (0..count).collect());
    if let Some(head) = heads.iter().find(|&&head| head >= count) {
        return Err(Error::Request(format!("--head {head}: the model has heads 0 to {}", count - 1)));
    }
    Ok(Place { site, kind: PlaceKind::Heads { heads, mean_row: choice.mean_row } })
}

fn refused(name: &str, what: &str) -> Result<Place> {
    Err(Error::Request(format!("{name} {what}")))
}

fn not_tested(name: &str, site: Site) -> Error {
    Error::Unsupported(format!(
        "the attention of {name} ({site}) is not over the words of a text that is classified; `attention test` cannot test it"
    ))
}

/// Each word's own weight within its sentence times that of the sentence.
fn times_sentences(words: &[f32], sentences: &[f32], encoded: &Encoded) -> Vec<f64> {
    let lengths = encoded.sentences().into_iter().map(|range| range.len());
    let of_word = lengths.zip(sentences).flat_map(|(len, &weight)| std::iter::repeat_n(weight, len));
    words.iter().zip(of_word).map(|(&word, sentence)| f64::from(word) * f64::from(sentence)).collect()
}

/// The words of a field, or of all; their places among its content tokens, or among all tokens.
fn words(encoded: &Encoded, field: Option<usize>, among_content: bool) -> Parts {
    let weighed = |i: usize| {
        let token = &encoded.tokens[i];
        !token.special && field.is_none_or(|field| token.type_id as usize == field)
    };
    let mut place_of = vec![0; encoded.len()];
    let mut next = 0;
    for (i, place) in place_of.iter_mut().enumerate() {
        *place = if among_content { next } else { i };
        next += usize::from(weighed(i));
    }
    let units = Units::Word.of(encoded).into_iter().filter(|unit| unit.tokens.iter().all(|&t| weighed(t)));
    let (mut names, mut tokens) = (Vec::new(), Vec::new());
    for unit in units {
        names.push(encoded.slice(unit.span).to_owned());
        tokens.push(unit.tokens);
    }
    let places = tokens.iter().map(|tokens| tokens.iter().map(|&t| place_of[t]).collect()).collect();
    Parts { words: names.len(), names, removed: tokens.clone(), tokens, places }
}

fn sentences(encoded: &Encoded) -> Parts {
    let ranges = encoded.sentences();
    let special = |at: usize| encoded.tokens.get(at).is_some_and(|token| token.special);
    let (mut names, mut removed, mut end) = (Vec::new(), Vec::new(), 0);
    for range in &ranges {
        let spans = range.clone().filter_map(|at| encoded.tokens[at].span);
        let span = spans.reduce(|a, b| Span { end: b.end, ..a });
        names.push(span.map_or(String::new(), |span| encoded.slice(span).to_owned()));
        // Its marker before it, where no other sentence has that, and the one after it.
        let first = range.start - usize::from(range.start > end && special(range.start.wrapping_sub(1)));
        end = range.end + usize::from(special(range.end));
        removed.push((first..end).collect());
    }
    let words = Units::Word.of(encoded).len();
    let places = (0..ranges.len()).map(|s| vec![s]).collect();
    let tokens = ranges.into_iter().map(Iterator::collect).collect();
    Parts { names, tokens, removed, places, words }
}
