//! What the papers report, to stand beside what was found. Their data and settings are not the user's: the numbers say what
//! to compare with, and are met by nobody exactly.

use super::training::{Arm, scores};
use super::{Experiment, Summary, Tau, TextRecord};
use crate::statistics::interval::{mean, over_seeds};
use exegete_core::report::{Cell, Table};

/// Mean τ on SST by encoder with additive attention, from the result files that S. Jain and B. C. Wallace, *Attention is not
/// explanation*, 2019, published: with gradients, with leaving one out.
const CORRELATIONS: [(&str, f64, f64); 3] =
    [("lstm", 0.351, 0.291), ("cnn", 0.477, 0.352), ("average", 0.606, 0.623)];

/// ErasureShares of texts by what flips the answer, for HAN on IMDB: S. Serrano and N. A. Smith, *Is attention interpretable?*, 2019.
const FLIPS: [(&str, f64, [bool; 2]); 4] = [
    ("both flip", 0.022, [true, true]),
    ("only the top word flips", 0.122, [true, false]),
    ("only the random word flips", 0.014, [false, true]),
    ("neither flips", 0.842, [false, false]),
];

/// F1 on SST of the models that are trained beside the tested one: S. Wiegreffe and Y. Pinter, *Attention is not not
/// explanation*, 2019.
const ARMS: [(&str, Arm, f64); 7] = [
    ("F1 as trained (SST, lstm)", Arm::Base, 0.831),
    ("F1 with equal weights (SST, lstm)", Arm::Uniform, 0.822),
    ("F1 of the guide by equal weights (SST)", Arm::GuideUniform, 0.812),
    ("F1 of the guide by its own weights (SST)", Arm::GuideTrained, 0.817),
    ("F1 of the guide by the model's weights (SST, lstm)", Arm::GuideBase, 0.824),
    ("F1 of the guide by the adversary's weights (SST, lstm)", Arm::GuideAdversary, 0.592),
    ("F1 of the adversary far away (SST, lstm)", Arm::Adversarial, 0.823),
];

/// One row of it: the mean over seeds with its interval, where there are several.
fn trained_cells((statistic, published, ours): (&str, f64, Vec<f64>)) -> Vec<Cell> {
    let (value, interval) = (Cell::Number(mean(&ours)), over_seeds(&ours));
    let [lower, upper] =
        interval.map_or([Cell::Empty, Cell::Empty], |own| [own.lower, own.upper].map(Cell::Number));
    vec![Cell::Word(statistic.to_owned()), Cell::Number(published), value, lower, upper]
}

/// The table, where something was run that has a published number.
pub(super) fn table(summary: &Summary<'_>) -> Option<Table> {
    let mut rows = Vec::new();
    if summary.ran(Experiment::Correlation) {
        let own = CORRELATIONS.iter().find(|(kind, ..)| *kind == summary.family);
        let (kind, gradient, loo) = *own.unwrap_or(&CORRELATIONS[0]);
        let taus = |of: fn(&TextRecord) -> Option<Tau>| -> Vec<f64> {
            summary.records.iter().filter_map(of).map(|found| found.tau).collect()
        };
        let statistic = |with: &str| format!("mean tau with {with} (SST, {kind}, additive attention)");
        rows.push((statistic("gradients"), gradient, taus(|record| record.tau_gradient)));
        rows.push((statistic("leave-one-out"), loo, taus(|record| record.tau_leave_one_out)));
    }
    if summary.ran(Experiment::Erase) {
        for (what, published, cell) in FLIPS {
            let pairs = summary.records.iter().filter_map(|record| record.erase);
            let own = pairs.map(|pair| f64::from([pair.top.flip, pair.random.flip] == cell)).collect();
            rows.push((format!("share of texts where {what} (IMDB, HAN)"), published, own));
        }
    }
    let scores =
        ARMS.into_iter().map(|(what, arm, published)| (what, published, scores(summary.training, arm)));
    let trained: Vec<_> = scores.filter(|(.., ours)| !ours.is_empty()).collect();
    if rows.is_empty() && trained.is_empty() {
        return None;
    }
    let cells = |(place, (statistic, published, values)): (u64, (String, f64, Vec<f64>))| {
        let ours = match summary.mean(&values, 600 + place) {
            Cell::Interval { value, lower, upper } => [value, lower, upper].map(Cell::Number),
            _ => [Cell::Empty, Cell::Empty, Cell::Empty],
        };
        [Cell::Word(statistic), Cell::Number(published)].into_iter().chain(ours).collect()
    };
    Some(Table {
        name: "published".to_owned(),
        title: "Published numbers beside these".to_owned(),
        columns: ["statistic", "published", "ours", "lower", "upper"].map(str::to_owned).to_vec(),
        rows: (0..).zip(rows).map(cells).chain(trained.into_iter().map(trained_cells)).collect(),
        notes: vec![
            "the papers' data and models are in brackets: a difference may be one of data".to_owned(),
        ],
        ..Table::default()
    })
}
