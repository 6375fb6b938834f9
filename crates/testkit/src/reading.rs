//! Short ways to read a model in tests; they panic where a test should fail.
#![allow(clippy::expect_used, reason = "a test may fail by panicking")]

use exegete_core::{
    Array, Driver, Explaining, Logits, Model, Outputs, Pass, Plan, Readout, Result, Row, Rules, Site, Target,
};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// The output of each row.
pub fn outputs(driver: &Driver, model: &dyn Model, rows: &[Row]) -> Vec<Logits> {
    driver.read_all(model, rows, &Outputs).expect("rows that run")
}

/// ∂F/∂value at one site, for each row.
pub fn slopes(driver: &Driver, model: &dyn Model, rows: &[Row], target: &Target, site: Site) -> Vec<Array> {
    let wrt = &[site];
    let readout = explaining(model, target, &[], wrt);
    let found = driver.read_all(model, rows, &readout).expect("rows that run");
    found.into_iter().flat_map(|found| found.gradients).collect()
}

/// A readout of F with values and plain derivatives.
pub fn explaining<'a>(
    model: &'a dyn Model,
    target: &'a Target,
    values: &'a [Site],
    wrt: &'a [Site],
) -> Explaining<'a> {
    let open = model.open().expect("an open model");
    Explaining { open, card: model.card(), target, values, wrt, rules: Rules::Gradient }
}

/// Runs every row, also equal ones, and hands each pass to `visit` with the rows' places in the whole.
pub fn passes(
    driver: &Driver,
    model: &dyn Model,
    rows: &[Row],
    plan: &Plan,
    visit: impl FnMut(Range<usize>, &dyn Pass) -> Result<()> + Send,
) -> Result<()> {
    let visiting = Visiting { plan, seen: Mutex::new((0, visit)) };
    driver.read_all(model, rows, &visiting).map(drop)
}

/// Reads nothing, and shows somebody the passes.
struct Visiting<'a, V> {
    plan: &'a Plan,
    /// How many rows were run so far, and who sees them.
    seen: Mutex<(usize, V)>,
}

impl<V: FnMut(Range<usize>, &dyn Pass) -> Result<()> + Send> Readout for Visiting<'_, V> {
    type Value = ();

    fn plan(&self) -> Plan {
        self.plan.clone()
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<()>> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, visit) = &mut *seen;
        let range = *first..*first + rows.len();
        *first = range.end;
        visit(range, pass).map(|()| vec![(); rows.len()])
    }
}
