//! Recorded cases whose random numbers are given, for the tests inside this crate.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use crate::registry::Method;
use crate::{Baseline, ConfiguredMethod, Question, RawAttribution, Settings};
use exegete_core::{Array, Driver, Example, Model, Row, Target};
use exegete_models::{LoadOptions, load};
use exegete_testkit::attributions::{Case, Source, attributions};
use exegete_testkit::golden::Texts;
use std::sync::Arc;

/// Four times what `docs/accuracy.md` says of attributions, relative to the largest score: other processors sum in another order.
pub(crate) const LIMIT: f64 = 4.0 * 2e-6;

/// A case with its model.
pub(crate) struct Recorded {
    pub(crate) case: RecordedCase,
    pub(crate) model: Opened,
}

pub(crate) struct RecordedCase(Case);

impl std::ops::Deref for RecordedCase {
    type Target = Case;

    fn deref(&self) -> &Case {
        &self.0
    }
}

impl RecordedCase {
    /// The parts of a given array along its first axis.
    pub(crate) fn slices(&self, name: &str) -> Vec<Array> {
        let all = &self.0.extra[name];
        let (shape, len) = (all.shape[1..].to_vec(), all.len() / all.shape[0]);
        all.data.chunks(len).map(|part| Array::new(shape.clone(), part.to_vec()).unwrap()).collect()
    }
}

pub(crate) struct Opened {
    model: Arc<dyn Model>,
    driver: Driver,
}

impl Opened {
    pub(crate) fn job(&self, case: &Case) -> Question<'_> {
        let open = self.model.open().unwrap();
        let example = match &case.input.text {
            Texts::Single(text) => Example::text(text),
            Texts::Pair(first, second) => Example::pair(first, second),
        };
        let row = Row::new(open.encode(&example).unwrap());
        let logits = self.driver.read_one(&*self.model, &row, &exegete_core::Outputs).unwrap();
        let target: Target = case.target.parse().unwrap();
        let target =
            target.resolve(self.model.card(), &row.encoded, &logits, None, &|p| open.token_id(p)).unwrap();
        let site = case.site.parse().unwrap();
        Question {
            site,
            baselines: vec![Baseline::Zero],
            ..Question::new(&*self.model, &self.driver, row, target)
        }
    }

    pub(crate) fn explained(&self, case: &Case, method: &str) -> (Question<'_>, RawAttribution) {
        let job = self.job(case);
        let explained = chosen(method).explain(&job).unwrap();
        (job, explained)
    }
}

pub(crate) fn chosen(method: &str) -> ConfiguredMethod {
    ConfiguredMethod::new(method, Settings::default()).unwrap()
}

/// Every case of one kind.
pub(crate) fn recorded(kind: &str) -> Vec<Recorded> {
    let cases = attributions()
        .unwrap()
        .into_iter()
        .filter(|case| case.method == kind && case.source != Source::CaptumOnly);
    let open = |case: Case| {
        let model = load(&case.folder, &LoadOptions { threads: 1, ..LoadOptions::default() }).unwrap();
        Recorded { case: RecordedCase(case), model: Opened { model, driver: Driver::default() } }
    };
    cases.map(open).collect()
}
