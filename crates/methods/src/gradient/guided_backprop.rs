//! ∂F/∂x with rectifiers open only where both their input and what comes back are positive. J. T. Springenberg,
//! A. Dosovitskiy, T. Brox, M. Riedmiller, *Striving for simplicity: the all convolutional net*, 2015.

use crate::registry::{Info, Meaning, Method, Needs, New, OwnReading, params};
use crate::{Question, RawAttribution, Reduce};
use exegete_core::{Result, Rules};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "guided_backprop",
    summary: "the gradient, with rectifiers passing back only what is positive both ways",
    prose: include_str!("guided_backprop.md"),
    parameters: &[],
    axioms: &[],
    signed: false,
    meaning: Meaning::Slope,
    needs: Needs::Inside,
    new: New::Scores(|_| Ok(Box::new(Guided { rules: Rules::GuidedBackprop }))),
};

/// A gradient by other rules at rectifiers; [`super::deconvolution`] is the same with its own.
pub(super) struct Guided {
    pub(super) rules: Rules,
}

impl Method for Guided {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        params([])
    }

    fn reads(&self) -> Option<OwnReading> {
        Some(OwnReading { value: false, rules: self.rules })
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let mut found = job.read_own(&[], &[job.site], self.rules)?;
        // The sum over a word vector is zero wherever a layer norm follows, so its length is what can be shown.
        let cells = job.open()?.sites().iter().any(|info| info.in_steps);
        let note = cells.then(|| {
            "recurrent cells have no rectifiers: their sigmoids and tanh pass back the plain gradient"
                .to_owned()
        });
        Ok(RawAttribution::new(found.gradients.swap_remove(0), Reduce::L2).note(note))
    }
}
