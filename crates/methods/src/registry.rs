//! The one list of methods. A new method is a file, its page, a `mod` line and an entry here.

use crate::{
    Baseline, Explained, Job, Request, Settings, attacks, attention, gradient, perturbation, rules, search,
};
use exegete_core::report::{Item, Subject};
use exegete_core::{Driver, Error, Example, Model, Result};
use std::collections::BTreeMap;

/// What a method's scores promise, whatever the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axiom {
    /// They sum to F(x) − F(x′), or to F.
    Completeness,
    /// What alone makes a difference gets a score.
    Sensitivity,
    /// What F does not depend on gets none.
    Dummy,
    /// What F treats alike gets alike scores.
    Symmetry,
    /// The scores of a sum of functions are the sums of the scores.
    Linearity,
    /// Networks that compute the same function get the same scores.
    ImplementationInvariance,
}

/// What an element's score says of a small change I at its site: what infidelity may hold it to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// F changes by score · I.
    Slope,
    /// F changes by score / x · I.
    TimesInput,
    /// F changes by score / (x − x′) · I, with x′ the baseline.
    TimesDifference,
    /// Nothing of that kind.
    Other,
}

/// What is said about a method.
#[derive(Debug)]
pub struct Info {
    /// The field's own name in snake case.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// The whole page, in Markdown.
    pub page: &'static str,
    /// What it promises.
    pub axioms: &'static [Axiom],
    /// Whether positive and negative scores mean for and against.
    pub signed: bool,
    /// What an element's score says of a small change there.
    pub meaning: Meaning,
    /// What it needs of a model.
    pub needs: Needs,
    /// Reads and checks the parameters, for what it answers with.
    pub new: New,
}

/// What a method needs of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Predictions: a black box will do.
    Predictions,
    /// Its inside, and gradients.
    Inside,
}

/// How a method is made from its parameters, by what it answers with.
#[derive(Debug, Clone, Copy)]
pub enum New {
    /// Scores for the pieces of a text.
    Scores(fn(&mut Settings) -> Result<Box<dyn Method>>),
    /// A rule or edits of a text.
    Finds(fn(&mut Settings) -> Result<Box<dyn Finder>>),
    /// Something about many texts.
    Surveys(fn(&mut Settings) -> Result<Box<dyn Survey>>),
}

/// A method with its parameters.
pub trait Method: Send + Sync {
    /// Its parameters as they are used.
    fn params(&self) -> BTreeMap<String, serde_json::Value>;

    /// Scores for one question.
    fn explain(&self, job: &Job<'_>) -> Result<Explained>;

    /// What it compares a text with where the user does not say; none for methods that compare with nothing.
    fn baselines(&self) -> &'static [Baseline] {
        &[]
    }

    /// Whether it has a place of its own, so that asking for a site makes no sense.
    fn own_site(&self) -> bool {
        false
    }
}

/// A method with its parameters that looks for a rule or for edits of a text.
pub trait Finder: Send + Sync {
    /// Its parameters as they are used.
    fn params(&self) -> BTreeMap<String, serde_json::Value>;

    /// An item with this subject, to which parameters and notes may be added.
    fn find(&self, job: &Job<'_>, subject: Subject) -> Result<Item>;
}

/// A method with its parameters that looks at many texts together.
pub trait Survey: Send + Sync {
    /// Its parameters as they are used.
    fn params(&self) -> BTreeMap<String, serde_json::Value>;

    /// What it finds.
    fn survey(&self, corpus: &Corpus<'_>) -> Result<Vec<Item>>;
}

/// Many texts and what is asked of them.
#[derive(Clone, Copy)]
pub struct Corpus<'a> {
    /// Whom.
    pub model: &'a dyn Model,
    /// Runs and counts.
    pub driver: &'a Driver,
    /// The texts, with labels where they are known.
    pub examples: &'a [Example],
    /// Texts that nothing is learned from; none where the user gave no file of them.
    pub held_out: Option<&'a [Example]>,
    /// What is asked: units, targets, the masker, the seed.
    pub request: &'a Request,
}

/// Every method.
pub const METHODS: &[&Info] = &[
    &gradient::saliency::INFO,
    &gradient::gradient_x_input::INFO,
    &gradient::integrated_gradients::INFO,
    &gradient::gradient_shap::INFO,
    &gradient::deep_lift::INFO,
    &gradient::deep_lift_shap::INFO,
    &gradient::lrp::INFO,
    &gradient::guided_backprop::INFO,
    &gradient::deconvolution::INFO,
    &gradient::conductance::INFO,
    &gradient::internal_influence::INFO,
    &attention::attention::INFO,
    &attention::attention_mean::INFO,
    &attention::attention_rollout::INFO,
    &attention::gradient_x_attention::INFO,
    &attention::attention_norm::INFO,
    &perturbation::leave_one_out::INFO,
    &perturbation::occlusion::INFO,
    &perturbation::feature_ablation::INFO,
    &perturbation::feature_permutation::INFO,
    &perturbation::exact_shap::INFO,
    &perturbation::permutation_shap::INFO,
    &perturbation::kernel_shap::INFO,
    &perturbation::partition_shap::INFO,
    &perturbation::lime::INFO,
    &perturbation::sp_lime::INFO,
    &rules::anchors::INFO,
    &search::input_reduction::INFO,
    &search::flipping_set::INFO,
    &attacks::hotflip::INFO,
    &attacks::triggers::INFO,
    &attacks::artifacts::INFO,
];

/// The method of this name.
pub fn find(name: &str) -> Result<&'static Info> {
    METHODS.iter().copied().find(|info| info.name == name).ok_or_else(|| {
        let near = METHODS.iter().map(|info| info.name).min_by_key(|known| distance(name, known));
        Error::Request(format!(
            "'{name}' is no method; did you mean {}? `exegete methods` lists them",
            near.unwrap_or_default()
        ))
    })
}

/// Letters to change, add or leave out between two words.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = changed.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Builds a parameter list for [`Method::params`].
pub(crate) fn params<const N: usize>(
    list: [(&str, serde_json::Value); N],
) -> BTreeMap<String, serde_json::Value> {
    list.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
