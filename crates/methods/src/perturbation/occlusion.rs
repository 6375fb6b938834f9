//! The mean of F(x) − F(x without a window) over the windows that a unit lies in. M. Zeiler, R. Fergus, *Visualizing and
//! understanding convolutional networks*, 2014; Captum's `Occlusion`.

use super::groups::{Groups, ablated};
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Arguments, Parameter, Question, RawAttribution, Set};
use exegete_core::{Error, Result};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "occlusion",
    summary: "how far the target falls when a window of neighbouring units is hidden",
    prose: include_str!("occlusion.md"),
    parameters: &[
        Parameter::count("window", 1..=100_000, Some(3), "units in a window; with 1 this is `leave_one_out`"),
        Parameter::count(
            "stride",
            1..=100_000,
            Some(1),
            "units from one window to the next, at most `window`",
        ),
    ],
    axioms: &[Axiom::Sensitivity, Axiom::Linearity, Axiom::ImplementationInvariance],
    signed: true,
    meaning: Meaning::Other,
    needs: Needs::Predictions,
    new: New::Scores(|arguments| Ok(Box::new(Occlusion::new(arguments)?))),
};

struct Occlusion {
    window: usize,
    stride: usize,
}

impl Occlusion {
    fn new(arguments: &mut Arguments) -> Result<Self> {
        let (window, stride) = (arguments.count("window")?, arguments.count("stride")?);
        if stride <= window {
            return Ok(Self { window, stride });
        }
        Err(Error::Request(format!("stride={stride} steps over units that no window of {window} hides")))
    }

    /// Windows of each field, none over two fields; the last may be cut short.
    fn windows(&self, job: &Question<'_>) -> Vec<Set> {
        let units: Vec<usize> = (0..job.units.len()).collect();
        let field = |unit: usize| job.units[unit].span.field;
        let mut windows = Vec::new();
        for own in units.chunk_by(|&a, &b| field(a) == field(b)) {
            // The first window that reaches the end is the last.
            let steps = own.len().saturating_sub(self.window).div_ceil(self.stride);
            let window = |step: usize| {
                let start = step * self.stride;
                own[start..own.len().min(start + self.window)].to_vec()
            };
            windows.extend((0..=steps).map(window));
        }
        windows
    }
}

impl Method for Occlusion {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        params([("window", self.window.into()), ("stride", self.stride.into())])
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        ablated(job, &Groups(self.windows(job)))
    }

    fn own_site(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use exegete_core::{Driver, Example, Model, Row, Target};
    use exegete_testkit::Toy;

    #[test]
    fn windows_reach_every_unit_and_stay_in_their_field() {
        let (toy, driver) = (Toy::default(), Driver::default());
        let check = |example: &Example, window, stride, expected: &[&[usize]]| {
            let row = Row::new(toy.encoded(example).unwrap());
            let job = Question::new(&toy, &driver, row, Target::class(0));
            assert_eq!(Occlusion { window, stride }.windows(&job), expected);
        };
        let text = Example::text("not a good film today");
        check(&text, 3, 1, &[&[0, 1, 2], &[1, 2, 3], &[2, 3, 4]]);
        check(&text, 3, 2, &[&[0, 1, 2], &[2, 3, 4]]);
        check(&text, 2, 2, &[&[0, 1], &[2, 3], &[4]]);
        check(&text, 9, 1, &[&[0, 1, 2, 3, 4]]);
        check(&Example::pair("good film", "bad film"), 2, 1, &[&[0, 1], &[2, 3]]);
        let settings = Settings::parse(&["window=2", "stride=3"]).unwrap();
        assert!(Occlusion::new(&mut Arguments::new(&INFO, settings).unwrap()).is_err());
    }
}
