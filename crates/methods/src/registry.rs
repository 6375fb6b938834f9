//! The one list of methods. A new method is a file, its page, a `mod` line and an entry here.

use crate::{
    Arguments, Baseline, Corpus, Parameter, Question, RawAttribution, SurveySize, attacks, attention,
    gradient, perturbation, rules, search,
};
use crate::{configured, noise, parameter, softplus, suggest_method};
use exegete_core::report::{Item, Subject};
use exegete_core::{Error, Result, Rules, Site};
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
    /// Nothing: it says where the model looked, whichever class is explained.
    Looked,
    /// Nothing of that kind.
    Other,
}

/// What is said about a method.
#[derive(Debug)]
pub struct Info {
    /// The field's own name in snake case.
    pub name: &'static str,
    /// What it says, in one line.
    pub summary: &'static str,
    /// The page in Markdown, without the table of parameters that [`Info::page`] adds.
    pub prose: &'static str,
    /// What can be set, beside what [`Info::all_parameters`] adds to every method of its kind.
    pub parameters: &'static [Parameter],
    /// The axioms that its scores promise to keep.
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

impl Info {
    /// Its own parameters and, for scores, those of every method that gives them.
    pub fn all_parameters(&self) -> Vec<&'static Parameter> {
        let scores = matches!(self.new, New::Scores(_));
        let own = self.parameters.iter();
        let any: &[Parameter] = if scores { &configured::OF_SCORES } else { &[] };
        // Scores of units have no elements to reduce, and noise on word vectors is no black box's business.
        let inside: [&[Parameter]; 3] = match self.needs {
            Needs::Inside if scores => {
                let elements: &[Parameter] =
                    if configured::scores_tokens(self) { &[] } else { &configured::OF_ELEMENTS };
                [elements, &noise::PARAMETERS, std::slice::from_ref(&softplus::PARAMETER)]
            }
            _ => [&[]; 3],
        };
        own.chain(any).chain(inside.into_iter().flatten()).collect()
    }

    /// The whole page in Markdown.
    pub fn page(&self) -> String {
        let table = parameter::table(&self.all_parameters());
        self.prose.replacen(PARAMETERS, &format!("{PARAMETERS}\n{table}"), 1)
    }

    /// The JSON schema of its parameters.
    pub fn schema(&self) -> serde_json::Value {
        parameter::schema(&self.all_parameters())
    }
}

/// The heading of a page under which the table of parameters stands.
const PARAMETERS: &str = "## Parameters\n";

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
    Scores(fn(&mut Arguments) -> Result<Box<dyn Method>>),
    /// A rule or edits of a text.
    Finds(fn(&mut Arguments) -> Result<Box<dyn SearchMethod>>),
    /// Something about many texts.
    Surveys(fn(&mut Arguments) -> Result<Box<dyn CorpusMethod>>),
}

/// What one run of a text gives beside F: ∂F/∂value at a site by these rules, and the value there where it is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OwnReading {
    /// Whether the value is read too.
    pub value: bool,
    /// How cotangents travel backward.
    pub rules: Rules,
}

/// A method with its parameters.
pub trait Method: Send + Sync {
    /// Its parameters as they are used.
    fn params(&self) -> BTreeMap<String, serde_json::Value>;

    /// Scores for one question.
    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution>;

    /// What stands behind its scores in a report, about the same question: what they are made of, or what else they say.
    fn beside(
        &self,
        _job: &Question<'_>,
        _explained: &RawAttribution,
        _subject: Subject,
    ) -> Result<Vec<Item>> {
        Ok(Vec::new())
    }

    /// What it compares a text with where the user does not say; none for methods that compare with nothing.
    fn baselines(&self) -> &'static [Baseline] {
        &[]
    }

    /// Whether it has a place of its own, so that asking for a site makes no sense.
    fn own_site(&self) -> bool {
        false
    }

    /// What it reads of the text itself in one run, at the site it is asked about; none where it reads more, or elsewhere. What is
    /// said here is read for many texts at once.
    fn reads(&self) -> Option<OwnReading> {
        None
    }

    /// The places that it looks at for this question; several give an item each. An error where the model has none.
    fn places(&self, job: &Question<'_>) -> Result<Vec<Site>> {
        Ok(vec![job.site])
    }

    /// The most rows of the model that one text of so many units takes, or of so many tokens for a method that looks inside a
    /// model; none where that is few or not known beforehand.
    fn most_rows(&self, _units: usize) -> Option<usize> {
        None
    }

    /// How many steps of arithmetic it takes beside the rows for so many units, where that may be what takes the time; 0 where
    /// the rows do.
    fn steps_beside_rows(&self, _units: usize) -> usize {
        0
    }
}

/// A part of a request that says nothing to some methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// What of an answer is explained.
    Target,
    /// What scores are summed to.
    Units,
    /// How units are hidden.
    Hiding,
    /// Evidence that goes further than the method's own.
    Evidence,
    /// Texts that nothing is learned from.
    HeldOut,
    /// The right labels, unless the loss is explained.
    Labels,
    /// What the model answers, which could be kept.
    Answers,
}

/// A method with its parameters that looks for a rule or for edits of a text.
pub trait SearchMethod: Send + Sync {
    /// Its parameters as they are used.
    fn params(&self) -> BTreeMap<String, serde_json::Value>;

    /// An item with this subject, to which parameters and notes may be added.
    fn find(&self, job: &Question<'_>, subject: Subject) -> Result<Item>;

    /// The most rows of the model that one text of so many units takes; none where that is few or not known beforehand.
    fn most_rows(&self, _units: usize) -> Option<usize> {
        None
    }

    /// The parts of a request that say nothing to it.
    fn unread(&self) -> &'static [Unread] {
        &[Unread::Evidence]
    }
}

/// A method with its parameters that looks at many texts together.
pub trait CorpusMethod: Send + Sync {
    /// Its parameters as they are used.
    fn params(&self) -> BTreeMap<String, serde_json::Value>;

    /// Finds what there is to find in a corpus, as items of a report.
    fn survey(&self, corpus: &Corpus<'_>) -> Result<Vec<Item>>;

    /// The most rows of the model that it runs, where it knows that beforehand.
    fn most_rows(&self, _size: &SurveySize) -> Option<usize> {
        None
    }

    /// The parts of a request that say nothing to it.
    fn unread(&self) -> &'static [Unread];
}

/// Every method, in the order of their groups.
pub const METHODS: &[&Info] = &[
    &gradient::saliency::INFO,
    &gradient::gradient_x_input::INFO,
    &gradient::integrated_gradients::INFO,
    &gradient::gradient_shap::INFO,
    &gradient::deep_lift::INFO,
    &gradient::deep_lift_shap::INFO,
    &gradient::grad_cam::INFO,
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
    &attention::attention_attribution::INFO,
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
        let meant = suggest_method(name).map(|near| format!("did you mean {near}? ")).unwrap_or_default();
        Error::Request(format!("'{name}' is no method; {meant}`exegete methods` lists them"))
    })
}

/// Builds a parameter list for [`Method::params`].
pub(crate) fn params<const N: usize>(
    list: [(&str, serde_json::Value); N],
) -> BTreeMap<String, serde_json::Value> {
    list.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
