//! What every open model must keep to, checked through the traits alone and so for any family or engine.
//!
//! The suite needs the same weights twice: as they are used, and computed in double precision, where central
//! differences say what a gradient must be. A check that found nothing to look at counts as failed.

mod backward;
mod batches;
mod edits;
mod gradients;
mod ground;
mod measure;
mod sites;
mod starts;

use crate::{Error, Example, Model, Result};
use ground::Ground;
use measure::Tally;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// The model under test.
pub struct ConformanceSubject<'a> {
    /// The model as it is used.
    pub fast: &'a dyn Model,
    /// The same weights, computed in double precision.
    pub exact: &'a dyn Model,
    /// A few texts that suit the model's task; short ones keep the suite fast.
    pub examples: &'a [Example],
}

/// How much work the suite does.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Rows in the large batch of the batch and order checks.
    pub batch_rows: usize,
    /// How many of the shortest texts are tried at every site.
    pub texts_per_site: usize,
}

impl Default for Extent {
    fn default() -> Self {
        Self { batch_rows: 64, texts_per_site: 3 }
    }
}

/// The outcome of one check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// The name of the promise that was checked.
    pub name: &'static str,
    /// Whether it held everywhere.
    pub passed: bool,
    /// The largest error that was seen.
    pub worst: f64,
    /// The largest that is allowed.
    pub limit: f64,
    /// Where the largest error was, or what went wrong.
    pub detail: String,
}

/// One check: its name, its limit, and the code that measures.
type Test = (&'static str, f64, fn(&Ground, &mut Tally) -> Result<()>);

const TESTS: [Test; 13] = [
    ("sites fire", 1e-6, sites::fire),
    // Values travel in single precision, and a deep model amplifies their rounding.
    ("edits take effect", 1e-4, edits::take_effect),
    ("edits stay in place", 1e-5, edits::stay_in_place),
    ("gradients match differences", 1e-5, gradients::match_differences),
    ("gradients pass through edits", 1e-5, gradients::pass_through_edits),
    ("tangents match gradients", 1e-5, gradients::match_tangents),
    ("single precision gradients", 1e-3, gradients::match_exact),
    ("backward can be repeated", 1e-5, backward::repeats),
    ("batch and order do not matter", 1e-5, batches::do_not_matter),
    ("same bits again", 0.0, batches::same_bits),
    ("runs start at any cut", 1e-5, starts::at_any_cut),
    ("fused equals lowered", 1e-5, starts::fused_equals_lowered),
    ("single precision logits", 1e-4, starts::match_exact),
];

/// Runs every check with the default extent. An error means that the suite could not start.
pub fn check(subject: &ConformanceSubject) -> Result<Vec<Check>> {
    check_with(subject, Extent::default())
}

/// Runs every check. An error means that the suite could not start.
pub fn check_with(subject: &ConformanceSubject, extent: Extent) -> Result<Vec<Check>> {
    check_until(subject, extent, &AtomicBool::new(false))
}

/// The same, ending with [`Error::Stopped`] after the check at hand once the flag is set.
pub fn check_until(subject: &ConformanceSubject, extent: Extent, stop: &AtomicBool) -> Result<Vec<Check>> {
    let ground = Ground::new(subject, extent)?;
    let test =
        |test: &Test| if stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(run(&ground, test)) };
    TESTS.iter().map(test).collect()
}

fn run(ground: &Ground, (name, limit, test): &Test) -> Check {
    let mut tally = Tally::default();
    let outcome = test(ground, &mut tally);
    let (worst, detail) = match outcome {
        Ok(()) => tally.finish(),
        Err(error) => (f64::INFINITY, error.to_string()),
    };
    Check { name, passed: worst <= *limit, worst, limit: *limit, detail }
}
