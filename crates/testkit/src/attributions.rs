//! Attributions recorded from PyTorch and Captum; `golden/README.md` describes the files.

use crate::golden::{Golden, Input, read_json, root, tensors};
use exegete_core::{Array, Error, Result};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One attribution, or one number about an attribution, of one text under one golden model.
#[derive(Debug)]
pub struct Case {
    /// Its name: folder, input, method and variant.
    pub name: String,
    /// The model's folder.
    pub folder: PathBuf,
    /// The text with its tokens.
    pub input: Input,
    /// The method, by exegete's name.
    pub method: String,
    /// Its parameters, by exegete's names.
    pub params: Map<String, Value>,
    /// The target, in exegete's notation.
    pub target: String,
    /// The site, in exegete's notation.
    pub site: String,
    /// Who says so.
    pub source: Source,
    /// F of the text, where it was recorded.
    pub score: Option<f64>,
    /// What the attribution would sum to with all points; none where it is not complete.
    pub difference: Option<f64>,
    /// The attribution at every token and unit of the site, unless `params` say otherwise.
    pub expected: Array,
    /// What the method was given, such as `noise`, or gives besides.
    pub extra: BTreeMap<String, Array>,
}

/// Who says that a value is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Source {
    /// A formula, and Captum agrees with it.
    #[serde(rename = "captum")]
    Captum,
    /// A formula; Captum has no such method or cannot reach the place.
    #[serde(rename = "torch")]
    Formula,
    /// Captum alone, against the definition: nothing to compare with, only to show the difference.
    #[serde(rename = "captum only")]
    CaptumOnly,
}

/// A feed-forward net with attributions under rules other than the gradient.
#[derive(Debug)]
pub struct Net {
    /// Its name.
    pub name: String,
    /// Its layers, in order.
    pub layers: Vec<Layer>,
    /// What is expected of it.
    pub cases: Vec<NetCase>,
}

/// act(x Wᵀ + b)
#[derive(Debug)]
pub struct Layer {
    /// W, `[out, in]`
    pub weight: Array,
    /// b, `[out]`
    pub bias: Option<Array>,
    /// relu, tanh or sigmoid; none after the last layer.
    pub activation: Option<String>,
}

/// One attribution of each of several rows.
#[derive(Debug)]
pub struct NetCase {
    /// Its name: net, method and variant.
    pub name: String,
    /// The method, by exegete's name.
    pub method: String,
    /// Its parameters.
    pub params: Map<String, Value>,
    /// Which output is explained.
    pub target: usize,
    /// `[rows, in]`
    pub inputs: Array,
    /// One a row, except that `deep_lift_shap` takes them all for every row.
    pub baselines: Option<Array>,
    /// `[rows, in]`
    pub expected: Array,
}

/// Every case of the golden models, those of [`Source::CaptumOnly`] included.
pub fn attributions() -> Result<Vec<Case>> {
    let (document, tensors) = read()?;
    document.cases.into_iter().map(|stored| case(stored, &tensors)).collect()
}

/// Every feed-forward net.
pub fn nets() -> Result<Vec<Net>> {
    let (document, tensors) = read()?;
    document.nets.into_iter().map(|stored| net(stored, &tensors)).collect()
}

/// `attribution.json`
#[derive(Deserialize)]
struct Document {
    cases: Vec<StoredCase>,
    nets: Vec<StoredNet>,
}

#[derive(Deserialize)]
struct StoredCase {
    name: String,
    folder: String,
    input: usize,
    method: String,
    params: Map<String, Value>,
    target: String,
    site: String,
    source: Source,
    score: Option<f64>,
    difference: Option<f64>,
    key: String,
    extra: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct StoredNet {
    name: String,
    layers: Vec<StoredLayer>,
    cases: Vec<StoredNetCase>,
}

#[derive(Deserialize)]
struct StoredLayer {
    weight: String,
    bias: Option<String>,
    activation: Option<String>,
}

#[derive(Deserialize)]
struct StoredNetCase {
    name: String,
    method: String,
    params: Map<String, Value>,
    target: usize,
    inputs: String,
    baselines: Option<String>,
    key: String,
}

type Tensors = BTreeMap<String, Array>;

fn path(name: &str) -> PathBuf {
    root().join("..").join(name)
}

fn read() -> Result<(Document, Tensors)> {
    Ok((read_json(&path("attribution.json"))?, tensors(&path("attribution.safetensors"))?))
}

fn tensor(tensors: &Tensors, key: &str) -> Result<Array> {
    let missing = || Error::Input(format!("attribution.safetensors: there is no tensor '{key}'"));
    tensors.get(key).cloned().ok_or_else(missing)
}

fn case(stored: StoredCase, tensors: &Tensors) -> Result<Case> {
    let folder = root().join(&stored.folder);
    let extra = stored.extra.into_iter().map(|(name, key)| Ok((name, tensor(tensors, &key)?)));
    Ok(Case {
        input: input(&folder, stored.input)?,
        folder,
        expected: tensor(tensors, &stored.key)?,
        extra: extra.collect::<Result<_>>()?,
        name: stored.name,
        method: stored.method,
        params: stored.params,
        target: stored.target,
        site: stored.site,
        source: stored.source,
        score: stored.score,
        difference: stored.difference,
    })
}

fn input(folder: &Path, number: usize) -> Result<Input> {
    let missing = || Error::Input(format!("{}: there is no input {number}", folder.display()));
    Golden::open(folder)?.described.inputs.into_iter().nth(number).ok_or_else(missing)
}

fn net(stored: StoredNet, tensors: &Tensors) -> Result<Net> {
    let optional = |key: Option<String>| key.map(|key| tensor(tensors, &key)).transpose();
    let layer = |layer: StoredLayer| {
        let StoredLayer { weight, bias, activation } = layer;
        Ok(Layer { weight: tensor(tensors, &weight)?, bias: optional(bias)?, activation })
    };
    let case = |case: StoredNetCase| {
        Ok(NetCase {
            inputs: tensor(tensors, &case.inputs)?,
            baselines: optional(case.baselines)?,
            expected: tensor(tensors, &case.key)?,
            name: case.name,
            method: case.method,
            params: case.params,
            target: case.target,
        })
    };
    Ok(Net {
        name: stored.name,
        layers: stored.layers.into_iter().map(layer).collect::<Result<_>>()?,
        cases: stored.cases.into_iter().map(case).collect::<Result<_>>()?,
    })
}

#[cfg(test)]
mod tests;
