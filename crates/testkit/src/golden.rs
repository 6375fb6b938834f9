//! Expected values recorded from PyTorch and transformers; `golden/README.md` describes the files.

use exegete_core::{Array, Error, Example, Label, Result};
use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the golden models are.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/models")
}

/// Every golden model's folder, by name.
pub fn folders() -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(root()).map_err(|error| unreadable(&root(), &error))?;
    let mut folders: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.retain(|folder| folder.join("golden.json").exists());
    folders.sort();
    Ok(folders)
}

/// What a golden folder says its model computes.
#[derive(Debug)]
pub struct Golden {
    /// `golden.json`.
    pub described: Described,
    tensors: BTreeMap<String, Array>,
}

/// `golden.json`.
#[derive(Debug, Deserialize)]
pub struct Described {
    /// The class that computed the values.
    pub architecture: String,
    /// sequence, token, qa, mlm or bare.
    pub head: String,
    /// The texts with their tokens.
    pub inputs: Vec<Input>,
    /// What the parameter gradients belong to, where there are any.
    pub learning: Option<Learning>,
}

/// One text as the tokenizer reads it.
#[derive(Debug, Deserialize)]
pub struct Input {
    /// The text, or a pair.
    pub text: Texts,
    /// Ids.
    pub ids: Vec<u32>,
    /// Segments.
    pub types: Vec<u32>,
    /// The vocabulary's strings.
    pub pieces: Vec<String>,
    /// Bytes of the field; none for special tokens.
    pub offsets: Vec<Option<(usize, usize)>>,
    /// 1 for tokens that the template added.
    pub special: Vec<u8>,
    /// The field of each token; none for special ones.
    pub fields: Vec<Option<usize>>,
    /// Whose gradient is stored.
    pub target: Scalar,
}

/// One text or two.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Texts {
    /// One.
    Single(String),
    /// Two.
    Pair(String, String),
}

/// One element of a site's flattened value.
#[derive(Debug, Deserialize)]
pub struct Scalar {
    /// The site's name.
    pub site: String,
    /// Which element.
    pub flat_index: usize,
}

/// What the parameter gradients belong to: the summed cross-entropy of these labels.
#[derive(Debug, Deserialize)]
pub struct Learning {
    /// One label an input.
    pub labels: Vec<usize>,
    /// Their loss.
    pub loss: f64,
}

impl Input {
    /// The text or pair as an example.
    pub fn example(&self) -> Example {
        match &self.text {
            Texts::Single(text) => Example::text(text),
            Texts::Pair(first, second) => Example::pair(first, second),
        }
    }
}

impl Golden {
    /// Reads `golden.json` and `golden.safetensors`.
    pub fn open(folder: &Path) -> Result<Self> {
        let described = read_json(&folder.join("golden.json"))?;
        Ok(Self { described, tensors: tensors(&folder.join("golden.safetensors"))? })
    }

    /// A value of one input, such as `logits`, `hidden.1` or `grad.embed_word`; not every input has every value.
    pub fn value(&self, input: usize, name: &str) -> Option<&Array> {
        self.tensors.get(&format!("{input}.{name}"))
    }
}

/// A JSON document.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
    serde_json::from_str(&text).map_err(|error| unreadable(path, &error))
}

/// Every tensor of a safetensors file of single precision, by name.
pub fn tensors(path: &Path) -> Result<BTreeMap<String, Array>> {
    let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
    let file = SafeTensors::deserialize(&bytes).map_err(|error| unreadable(path, &error))?;
    let mut tensors = BTreeMap::new();
    for (name, view) in file.tensors() {
        if view.dtype() != Dtype::F32 {
            return Err(unreadable(path, &format!("'{name}' is {:?}, not F32", view.dtype())));
        }
        let number = |bytes: &[u8]| bytes.try_into().map_or(f32::NAN, f32::from_le_bytes);
        tensors.insert(name, Array::new(view.shape(), view.data().chunks_exact(4).map(number).collect())?);
    }
    Ok(tensors)
}

/// What PyTorch's optimisers made of a golden model.
#[derive(Debug, Deserialize)]
pub struct Training {
    /// The model's folder.
    pub folder: String,
    /// Of AdamW.
    pub adamw: AdamW,
    /// Of SGD.
    pub sgd: Sgd,
    /// Parameters whose true gradient is zero, so that AdamW follows rounding errors.
    pub skip: Vec<String>,
    /// Texts with their classes.
    pub batches: Vec<Vec<Labelled>>,
    /// `one/loss`, `three/after/NAME` and so on.
    #[serde(skip)]
    pub values: BTreeMap<String, Array>,
}

/// The constants of AdamW.
#[derive(Debug, Deserialize)]
pub struct AdamW {
    /// η
    pub rate: f64,
    /// λ
    pub decay: f64,
    /// The longest gradient.
    pub clip: f64,
}

/// The constants of SGD.
#[derive(Debug, Deserialize)]
pub struct Sgd {
    /// η
    pub rate: f64,
    /// μ
    pub momentum: f64,
    /// λ
    pub decay: f64,
}

/// A text with its class.
#[derive(Debug, Deserialize)]
pub struct Labelled {
    /// The text.
    pub text: String,
    /// Its class.
    pub label: usize,
}

/// Every case of `golden/training.safetensors`.
pub fn training() -> Result<Vec<Training>> {
    let path = root().join("../training.safetensors");
    let all = tensors(&path)?;
    let bytes = fs::read(&path).map_err(|error| unreadable(&path, &error))?;
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|error| unreadable(&path, &error))?;
    let mut cases = Vec::new();
    for (name, text) in header.metadata().iter().flatten() {
        let Ok(mut case) = serde_json::from_str::<Training>(text) else { continue };
        let own = |(key, value): (&String, &Array)| {
            Some((key.strip_prefix(&format!("{name}/"))?.to_owned(), value.clone()))
        };
        case.values = all.iter().filter_map(own).collect();
        cases.push(case);
    }
    Ok(cases)
}

/// Labels of a golden model's inputs, and what transformers makes of them.
#[derive(Debug, Deserialize)]
pub struct Losses {
    /// The model's folder.
    pub folder: String,
    /// One an input.
    pub labels: Vec<Right>,
    /// The loss of each input by itself.
    pub losses: Vec<f64>,
    /// The parameters whose gradients are stored.
    pub parameters: Vec<String>,
    /// The gradient of the losses' sum, by parameter.
    #[serde(skip)]
    pub gradients: Vec<Array>,
}

/// A label as the file writes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Of the whole text.
    Class(usize),
    /// Of each token, where it has one.
    Tokens(Vec<Option<usize>>),
    /// The first and the last token of the answer.
    Span(usize, usize),
}

impl From<&Right> for Label {
    fn from(right: &Right) -> Self {
        match right {
            Right::Class(class) => Self::Class(*class),
            Right::Tokens(classes) => Self::Tokens(classes.clone()),
            Right::Span(first, last) => Self::Span(*first, *last),
        }
    }
}

/// Every case of `golden/losses.json`.
pub fn losses() -> Result<Vec<Losses>> {
    #[derive(Deserialize)]
    struct File {
        cases: Vec<Losses>,
    }
    let File { mut cases } = read_json(&root().join("../losses.json"))?;
    let path = root().join("../losses.safetensors");
    let mut stored = tensors(&path)?;
    for case in &mut cases {
        for name in &case.parameters {
            let key = format!("{}/{name}", case.folder);
            let found = stored.remove(&key).ok_or_else(|| unreadable(&path, &format!("no '{key}'")))?;
            case.gradients.push(found);
        }
    }
    Ok(cases)
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::Input(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_golden_folder_can_be_read() {
        let folders = folders().unwrap();
        assert!(folders.len() >= 30, "{} folders", folders.len());
        for folder in folders {
            let golden = Golden::open(&folder).unwrap();
            for (i, input) in golden.described.inputs.iter().enumerate() {
                let tokens = [input.types.len(), input.pieces.len(), input.offsets.len(), input.fields.len()];
                assert_eq!(tokens, [input.ids.len(); 4], "{}", folder.display());
                assert_eq!(golden.value(i, "logits").is_none(), golden.described.head == "bare");
            }
            assert!(golden.value(0, "grad.embed_word").unwrap().max_abs() > 0.0, "{}", folder.display());
            assert!(golden.value(0, "nothing").is_none());
        }
    }
}
