//! A small model before its training.

use super::{Small, SmallConfig, SmallHead, WordVectors, vectors};
use crate::random::uniforms;
use crate::tokenizer::{MARKERS, TARGET_VOCABULARY_FILE, VOCABULARY_FILE, WordVocabulary};
use crate::weights::matrix;
use exegete_core::{Error, Result, dot, normal};
use exegete_engine::Tensor;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What a small model starts from: its config, the words of its training texts, perhaps vectors for them.
#[derive(Debug, Clone, PartialEq)]
pub struct SmallStart {
    pub(crate) config: SmallConfig,
    pub(crate) vocabulary: Arc<WordVocabulary>,
    /// The words of what it writes, where it writes.
    pub(crate) target: Option<Arc<WordVocabulary>>,
    pub(crate) vectors: Option<WordVectors>,
}

impl SmallStart {
    /// Checks that the parts fit each other.
    pub fn new(
        config: SmallConfig,
        vocabulary: WordVocabulary,
        vectors: Option<WordVectors>,
    ) -> Result<Self> {
        if vocabulary.len() == MARKERS.len() {
            let what =
                "the vocabulary is empty: no word occurs often enough; lower --min-count or give more texts";
            return Err(Error::Request(what.into()));
        }
        match &vectors {
            Some(vectors) if vectors.width != config.embedding => {
                let (there, asked) = (vectors.width, config.embedding);
                Err(Error::Request(format!(
                    "the word vectors have {there} numbers, the model's embedding {asked}"
                )))
            }
            _ if config.writes() => {
                let what = "this kind writes words of a vocabulary of its own; start it with `writing`";
                Err(Error::Request(what.into()))
            }
            _ => Ok(Self { config, vocabulary: Arc::new(vocabulary), target: None, vectors }),
        }
    }

    /// The same for a kind that writes words of this vocabulary.
    pub fn writing(
        config: SmallConfig,
        vocabulary: WordVocabulary,
        target: WordVocabulary,
        vectors: Option<WordVectors>,
    ) -> Result<Self> {
        if !config.writes() {
            return Err(Error::Request(format!("the kind '{}' writes no words", config.kind)));
        }
        if target.len() == MARKERS.len() {
            let what =
                "the vocabulary of the targets is empty: no word occurs often enough; lower --min-count";
            return Err(Error::Request(what.into()));
        }
        let read = SmallConfig { head: SmallHead::Text, ..config.clone() };
        let start = Self::new(read, vocabulary, vectors)?;
        Ok(Self { config, target: Some(Arc::new(target)), ..start })
    }

    /// The files of its folder beside config and weights.
    pub(crate) fn companions(&self) -> Vec<(String, Vec<u8>)> {
        let target = self.target.iter().map(|words| (TARGET_VOCABULARY_FILE, words));
        let all = [(VOCABULARY_FILE, &self.vocabulary)].into_iter().chain(target);
        all.map(|(file, words)| (file.to_owned(), words.text().into_bytes())).collect()
    }

    /// The model, without its weights.
    pub(crate) fn small(&self) -> Small {
        Small {
            config: self.config.clone(),
            vocabulary: self.vocabulary.clone(),
            target: self.target.clone(),
        }
    }
}

/// Gives parameters their first values: PyTorch's own, and for `flan` and `han` those of S. Serrano and N. A. Smith, *Is attention
/// interpretable?*, 2019. A weight must be asked for before its bias.
pub(crate) struct FirstValues {
    small: Small,
    vectors: Option<WordVectors>,
    seed: u64,
    /// How many numbers each output of a layer reads, by the layer's name.
    fans: Mutex<HashMap<String, usize>>,
}

impl FirstValues {
    pub(crate) fn new(small: Small, vectors: Option<WordVectors>, seed: u64) -> Self {
        Self { small, vectors, seed, fans: Mutex::default() }
    }

    /// The first value of a parameter.
    pub(crate) fn of(&self, name: &str, shape: &[usize]) -> Tensor<f32> {
        let (rows, cols) = matrix(shape);
        let values = match name {
            "embed.weight" | "aspect.weight" => {
                vectors::matrix(name, &self.small.vocabulary, cols, self.vectors.as_ref(), self.seed)
            }
            "decoder.embed.weight" => vectors::matrix(name, self.small.written(), cols, None, self.seed),
            _ if ["flan", "han"].contains(&self.small.config.kind.as_str()) => self.xavier(name, shape),
            _ => self.uniform(name, shape, self.bound(name, shape)),
        };
        Tensor::new(rows, cols, values)
    }

    /// PyTorch's bound: 1/√H in recurrent layers, else 1/√fan-in, for biases that of their weight.
    fn bound(&self, name: &str, shape: &[usize]) -> f64 {
        // `weight_ih_l0`, `bias_hh_l1_reverse`: these folders hold PyTorch's modules under PyTorch's names, so that the spelling is
        // the contract. No parameter of another layer has `_l` in its name.
        if name.contains("_l") {
            return 1.0 / (self.small.config.hidden as f64).sqrt();
        }
        let (layer, _) = name.rsplit_once('.').unwrap_or((name, ""));
        let mut fans = self.fans.lock().unwrap_or_else(PoisonError::into_inner);
        let fan = match shape.len() {
            1 => fans.get(layer).copied().unwrap_or(shape[0]),
            _ => shape[1..].iter().product(),
        };
        fans.insert(layer.to_owned(), fan);
        1.0 / (fan as f64).sqrt()
    }

    fn uniform(&self, name: &str, shape: &[usize], bound: f64) -> Vec<f32> {
        let mut draw = uniforms(name, self.seed);
        (0..shape.iter().product()).map(|_| (bound * (2.0 * draw() - 1.0)) as f32).collect()
    }

    /// Xavier-uniform matrices, orthogonal recurrent ones, zero biases.
    fn xavier(&self, name: &str, shape: &[usize]) -> Vec<f32> {
        match shape {
            [n] => vec![0.0; *n],
            [rows, cols] if name.contains("weight_hh") => {
                let mut draw = uniforms(name, self.seed);
                orthogonal(*rows, *cols, || normal([draw(), draw()]))
            }
            [out, rest @ ..] => {
                let reads: usize = rest.iter().product();
                let writes = out * rest.get(1).copied().unwrap_or(1);
                self.uniform(name, shape, (6.0 / (reads + writes) as f64).sqrt())
            }
            [] => Vec::new(),
        }
    }
}

/// A matrix of at least as many rows as columns whose columns have length 1 and stand upright on each other, row by row.
fn orthogonal(rows: usize, cols: usize, mut draw: impl FnMut() -> f64) -> Vec<f32> {
    let mut columns: Vec<Vec<f64>> = Vec::with_capacity(cols);
    for _ in 0..cols {
        let mut column: Vec<f64> = (0..rows).map(|_| draw()).collect();
        // Twice, since once leaves what rounding brought back.
        for other in columns.iter().chain(&columns) {
            let along = dot(&column, other);
            column.iter_mut().zip(other).for_each(|(x, y)| *x -= along * y);
        }
        let length = dot(&column, &column).sqrt();
        column.iter_mut().for_each(|x| *x /= length);
        columns.push(column);
    }
    (0..rows).flat_map(|row| columns.iter().map(move |column| column[row] as f32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::Example;

    fn start(config: &str) -> FirstValues {
        let config = SmallConfig::parse("c", config).unwrap();
        let vocabulary = WordVocabulary::of(&[Example::text("good bad film")], true, 1);
        FirstValues::new(SmallStart::new(config, vocabulary, None).unwrap().small(), None, 3)
    }

    fn largest(tensor: &Tensor<f32>) -> f32 {
        tensor.data().iter().map(|x| x.abs()).max_by(f32::total_cmp).unwrap()
    }

    #[test]
    fn bounds_are_those_of_pytorch() {
        let values = start(r#"{"kind": "lstm", "hidden": 25, "labels": ["a", "b"]}"#);
        let check = |name: &str, shape: &[usize], bound: f32| {
            let found = largest(&values.of(name, shape));
            assert!(found <= bound && found > 0.9 * bound, "{name}: {found}, expected {bound}");
        };
        check("encoder.weight_ih_l0", &[100, 300], 0.2);
        check("encoder.bias_hh_l0_reverse", &[100], 0.2);
        check("attention.hidden.weight", &[25, 100], 0.1);
        check("attention.hidden.bias", &[250], 0.1);
        check("encoder.conv4.weight", &[50, 25, 4], 0.1);
        check("encoder.conv4.bias", &[500], 0.1);
    }

    #[test]
    fn aspects_start_like_words_with_numbers_of_their_own() {
        let values = start(r#"{"kind": "atae", "labels": ["a", "b"]}"#);
        let [words, aspects] = ["embed.weight", "aspect.weight"].map(|name| values.of(name, &[7, 300]));
        assert_ne!(words.data(), aspects.data());
        for table in [words, aspects] {
            let square = table.data().iter().map(|x| x * x).sum::<f32>() / 1_500.0;
            assert!((square - 1.0).abs() < 0.15, "{square}");
            assert_eq!(table.data()[..600], [0.0; 600]);
        }
    }

    #[test]
    fn flan_starts_from_xavier_and_orthogonal_matrices() {
        let values = start(r#"{"kind": "flan", "labels": ["a", "b"]}"#);
        let bound = largest(&values.of("attention.hidden.weight", &[50, 100]));
        assert!(bound <= 0.2 && bound > 0.19, "{bound}");
        assert_eq!(largest(&values.of("head.bias", &[2])), 0.0);
        let q = values.of("encoder.weight_hh_l0", &[30, 10]);
        let column = |j: usize| (0..30).map(|i| q.data()[10 * i + j]).collect::<Vec<f32>>();
        assert!((dot(&column(4), &column(4)) - 1.0).abs() < 1e-6 && dot(&column(4), &column(7)).abs() < 1e-6);
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let config = |text| SmallConfig::parse("c", text).unwrap();
        let lstm = config(r#"{"kind": "lstm", "embedding": 3, "labels": ["a", "b"]}"#);
        let vocabulary = WordVocabulary::of(&[Example::text("good")], true, 1);
        let vectors = WordVectors::parse("v", "good 1 2", &vocabulary).unwrap();
        let error = SmallStart::new(lstm.clone(), vocabulary, Some(vectors)).unwrap_err().to_string();
        assert!(error.contains("2 numbers") && error.contains("embedding 3"), "{error}");
        let empty = WordVocabulary::of(&[Example::text("good")], true, 2);
        assert!(SmallStart::new(lstm, empty, None).unwrap_err().to_string().contains("--min-count"));
    }
}
