//! The mean of F(x) − F(x without a window) over the windows that a unit lies in. M. Zeiler, R. Fergus, *Visualizing and
//! understanding convolutional networks*, 2014; Captum's `Occlusion`.

use super::groups::{Groups, ablated};
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Explained, Job, Set, Settings};
use exegete_core::{Error, Result};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "occlusion",
    summary: "how far the target falls when a window of neighbouring units is hidden",
    page: include_str!("occlusion.md"),
    axioms: &[Axiom::Sensitivity, Axiom::Linearity, Axiom::ImplementationInvariance],
    signed: true,
    meaning: Meaning::Other,
    needs: Needs::Predictions,
    new: New::Scores(|settings| Ok(Box::new(Occlusion::new(settings)?))),
};

struct Occlusion {
    window: usize,
    stride: usize,
}

impl Occlusion {
    fn new(settings: &mut Settings) -> Result<Self> {
        let window = settings.count("window")?.unwrap_or(3);
        let stride = settings.count("stride")?.unwrap_or(1);
        if stride <= window {
            return Ok(Self { window, stride });
        }
        Err(Error::Request(format!("stride={stride} steps over units that no window of {window} hides")))
    }

    /// Windows of each field, none over two fields; the last may be cut short.
    fn windows(&self, job: &Job<'_>) -> Vec<Set> {
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

    fn explain(&self, job: &Job<'_>) -> Result<Explained> {
        ablated(job, &Groups(self.windows(job)))
    }

    fn own_site(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::{Driver, Example, Model, Row, Target};
    use exegete_testkit::Toy;

    #[test]
    fn windows_reach_every_unit_and_stay_in_their_field() {
        let (toy, driver) = (Toy::default(), Driver::default());
        let check = |example: &Example, window, stride, expected: &[&[usize]]| {
            let row = Row::new(toy.encoded(example).unwrap());
            let job = Job::new(&toy, &driver, row, Target::class(0));
            assert_eq!(Occlusion { window, stride }.windows(&job), expected);
        };
        let text = Example::text("not a good film today");
        check(&text, 3, 1, &[&[0, 1, 2], &[1, 2, 3], &[2, 3, 4]]);
        check(&text, 3, 2, &[&[0, 1, 2], &[2, 3, 4]]);
        check(&text, 2, 2, &[&[0, 1], &[2, 3], &[4]]);
        check(&text, 9, 1, &[&[0, 1, 2, 3, 4]]);
        check(&Example::pair("good film", "bad film"), 2, 1, &[&[0, 1], &[2, 3]]);
        assert!(Occlusion::new(&mut Settings::parse(&["window=2", "stride=3"]).unwrap()).is_err());
    }
}
