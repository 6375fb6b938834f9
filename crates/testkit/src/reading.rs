//! Short ways to read a model in tests; they panic where a test should fail.
#![allow(clippy::expect_used, reason = "a test may fail by panicking")]

use exegete_core::{Array, Driver, Explaining, Logits, Model, Outputs, Row, Rules, Site, Target};

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
