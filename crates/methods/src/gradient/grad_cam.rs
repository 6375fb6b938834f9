//! w_c = mean over positions of ∂F/∂A_tc; score_t = ReLU(Σ_c w_c A_tc). R. R. Selvaraju and others, *Grad-CAM: visual
//! explanations from deep networks via gradient-based localization*, 2017, with text as the one spatial dimension.

use crate::parameter::{Parameter, name_of, names};
use crate::question::spread;
use crate::registry::{Info, Meaning, Method, Needs, New, params};
use crate::{Question, RawAttribution, RawScores};
use exegete_core::{Array, Axis, Error, Result, Role, Rules, Site, SiteInfo};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "grad_cam",
    summary: "where the channels that speak for the target are active, each by its mean gradient",
    prose: include_str!("grad_cam.md"),
    parameters: &[
        Parameter::choice("relu", &names(&RECTIFIES), "whether what speaks against the target becomes 0"),
        Parameter::choice(
            "place",
            &names(&PLACES),
            "where it looks without --site: convolutions or the last layer's output (deep), or the word vectors",
        ),
    ],
    axioms: &[],
    signed: true,
    meaning: Meaning::Other,
    needs: Needs::Inside,
    new: New::Scores(|arguments| {
        let (relu, deep) = (arguments.choice("relu", &RECTIFIES)?, arguments.choice("place", &PLACES)?);
        Ok(Box::new(GradCam { relu, deep }))
    }),
};

const RECTIFIES: [(&str, bool); 2] = [("yes", true), ("no", false)];
const PLACES: [(&str, bool); 2] = [("deep", true), ("words", false)];

struct GradCam {
    relu: bool,
    /// Whether the word vectors, where every question begins, stand for a place deeper in the model.
    deep: bool,
}

impl Method for GradCam {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        let place = name_of(&PLACES, &self.deep).into();
        params([("relu", name_of(&RECTIFIES, &self.relu).into()), ("place", place)])
    }

    fn places(&self, job: &Question<'_>) -> Result<Vec<Site>> {
        let sites = job.open()?.sites();
        if !self.deep || sites.words().ok() != Some(job.site) {
            return Ok(vec![job.site]);
        }
        let last = sites.order(job.target.last_site(sites)?);
        let before = |info: &&SiteInfo| sites.order(info.site) < last && positions(info).is_ok();
        let convolved: Vec<Site> =
            sites.with_role(Role::Convolution).filter(before).map(|info| info.site).collect();
        if !convolved.is_empty() {
            return Ok(convolved);
        }
        // Sentences are positions, too, but say less of where something is than words do.
        let of_words = |info: &&SiteInfo| !info.axes.contains(&Axis::Sentence);
        let layers = sites.with_role(Role::LayerOutput).filter(before).filter(of_words);
        let none = || {
            Error::Request(format!(
                "grad_cam looks at convolutions or at a layer's output, and none lies before {}; place=words looks at the \
                 word vectors, --site anywhere else",
                job.target
            ))
        };
        layers.last().map(|info| vec![info.site]).ok_or_else(none)
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let site = self.places(job)?.first().copied().unwrap_or(job.site);
        let info = job.info(site)?;
        let axis = positions(info)?;
        let found = job.read_own(&[site], &[site], Rules::Gradient)?;
        let mut scores = cam(&found.values[0], &found.gradients[0], axis);
        if self.relu {
            // What is no number stays none, which `f64::max` would make 0.
            scores.iter_mut().filter(|score| **score <= 0.0).for_each(|score| *score = 0.0);
        }
        let tokens = spread(info.axes[axis], job.encoded(), &scores).unwrap_or_default();
        let note = self.relu.then(|| "scores say how much, not which way".to_owned());
        let mut explained = RawAttribution::of(RawScores::Tokens(tokens)).note(note);
        explained = explained.note(elsewhere(info.axes[axis], site));
        (explained.site, explained.unsigned) = (Some(site), self.relu);
        Ok(explained)
    }
}

/// What the reader must know of a place that does not have every token.
fn elsewhere(axis: Axis, site: Site) -> Option<String> {
    match axis {
        Axis::FieldToken(field) | Axis::FieldContent(field) => {
            let field = ["first", "second"].get(field as usize).copied().unwrap_or("one");
            Some(format!("{site} has the {field} text only; words of the other have no score there"))
        }
        Axis::Sentence => Some(format!("{site} has sentences; the words of one share its score equally")),
        _ => None,
    }
}

/// The axis of positions, or why a place has no positions with channels.
fn positions(info: &SiteInfo) -> Result<usize> {
    let found: Vec<usize> = (0..info.axes.len()).filter(|&at| info.axes[at].is_position()).collect();
    let channels = |axis: &Axis| matches!(axis, Axis::Head(_) | Axis::Neuron(_));
    let why = match (&found[..], info.role) {
        (_, Role::Outputs) => "is the model's answer",
        ([], _) => "has no positions",
        ([_, _, ..], _) | (_, Role::Weights) => "relates positions to each other",
        ([axis], _) if info.axes.iter().any(channels) => return Ok(*axis),
        ([_], _) => "has no channels",
    };
    Err(Error::Request(format!(
        "grad_cam weighs the channels of positions, and {} {why}; choose a place such as layer.0.out",
        info.site
    )))
}

/// Σ over channels of the mean gradient times the activation, for each position.
fn cam(values: &Array, slopes: &Array, axis: usize) -> Vec<f64> {
    let count = values.shape[axis];
    let inner: usize = values.shape[axis + 1..].iter().product();
    // Heads stand before positions, so that an element's channel is all but its position.
    let place = |element: usize| (element / inner.max(1) % count.max(1), element / (inner * count).max(1));
    let channel = |element: usize| place(element).1 * inner + element % inner.max(1);
    let mut weights = vec![0.0; values.len() / count.max(1)];
    for (element, &slope) in slopes.data.iter().enumerate() {
        weights[channel(element)] += f64::from(slope) / count as f64;
    }
    let mut scores = vec![0.0; count];
    for (element, &value) in values.data.iter().enumerate() {
        scores[place(element).0] += weights[channel(element)] * f64::from(value);
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::Encoded;
    use exegete_testkit::{Of, close};

    #[test]
    fn windows_share_what_they_get() {
        let text = |count: u32| Encoded::from_ids(&(0..count).collect::<Vec<_>>());
        let near = |axis: Axis, tokens: u32, scores: &[f64], expected: &[f64]| {
            let found = spread(axis, &text(tokens), scores).unwrap();
            close(&axis.to_string(), &found, expected, Of::Size(1.0), 1e-12);
        };
        near(Axis::Window(2), 4, &[1.0, 0.0, 2.0], &[0.5, 0.5, 1.0, 1.0]);
        near(Axis::Token, 3, &[1.0, 0.0, 2.0], &[1.0, 0.0, 2.0]);
        near(Axis::Window(3), 3, &[3.0], &[1.0; 3]);
    }

    /// Two heads of one unit are two channels: w = (1, 2), and the positions have (1, 2) and (3, 4).
    #[test]
    fn heads_are_channels() {
        let values = Array::new([2, 2, 1], vec![1.0, 3.0, 2.0, 4.0]).unwrap();
        let slopes = Array::new([2, 2, 1], vec![0.5, 1.5, 2.0, 2.0]).unwrap();
        close("heads", &cam(&values, &slopes, 1), &[5.0, 11.0], Of::Size(1.0), 1e-12);
    }
}
