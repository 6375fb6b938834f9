//! What the papers report, to stand beside what was found. Their data and settings are not the user's: the numbers say what
//! to compare with, and are met by nobody exactly.

use super::seeds::over;
use super::tables::cell;
use super::training::{Arm, ArmRecord, scores};
use super::{Experiment, KindSummary, Summary, Tau, TextRecord};
use crate::statistics::interval::{mean, over_seeds};
use exegete_core::report::{Cell, Table};

/// Mean τ on SST by encoder and attention, from the result files that S. Jain and B. C. Wallace, *Attention is not
/// explanation*, 2019, published: with gradients, with leaving one out.
const CORRELATIONS: [([&str; 2], f64, f64); 6] = [
    (["lstm", "additive"], 0.351, 0.291),
    (["lstm", "dot"], 0.073, 0.064),
    (["cnn", "additive"], 0.477, 0.352),
    (["cnn", "dot"], 0.240, 0.215),
    (["average", "additive"], 0.606, 0.623),
    (["average", "dot"], 0.347, 0.314),
];

/// Shares of texts by what flips the answer, for HAN on IMDB: S. Serrano and N. A. Smith, *Is attention interpretable?*, 2019.
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
        let own = CORRELATIONS.iter().find(|(spelled, ..)| *spelled == [summary.family, "additive"]);
        let (spelled, gradient, loo) = *own.unwrap_or(&CORRELATIONS[0]);
        let taus = |of: fn(&TextRecord) -> Option<Tau>| -> Vec<f64> {
            summary.records.iter().filter_map(of).map(|found| found.tau).collect()
        };
        rows.push((mean_tau("gradients", spelled), gradient, taus(|record| record.tau_gradient)));
        rows.push((mean_tau("leave-one-out", spelled), loo, taus(|record| record.tau_leave_one_out)));
    }
    if summary.ran(Experiment::Erase) {
        for (what, published, cell) in FLIPS {
            let pairs = summary.records.iter().filter_map(|record| record.erase);
            let own = pairs.map(|pair| f64::from([pair.top.flip, pair.random.flip] == cell)).collect();
            rows.push((share_of_texts(what), published, own));
        }
    }
    let trained = trained(summary.training);
    if rows.is_empty() && trained.is_empty() {
        return None;
    }
    let cells = |(place, (statistic, published, values)): (u64, (String, f64, Vec<f64>))| {
        beside(statistic, published, summary.mean(&values, 600 + place))
    };
    Some(made((0..).zip(rows).map(cells).chain(trained).collect()))
}

/// The rows of the models that were trained beside the tested one.
fn trained(training: &[ArmRecord]) -> Vec<Vec<Cell>> {
    let scores = ARMS.into_iter().map(|(what, arm, published)| (what, published, scores(training, arm)));
    scores.filter(|(.., ours)| !ours.is_empty()).map(trained_cells).collect()
}

/// The same over seeds: τ of every kind that has a published number, flips of the first, and what was trained beside it.
pub fn over_kinds(kinds: &[KindSummary], training: &[ArmRecord]) -> Table {
    let mut rows = Vec::new();
    for KindSummary { spelled, seeds, .. } in kinds {
        for (published, gradient, loo) in CORRELATIONS.iter().filter(|(published, ..)| published == spelled) {
            let ours = over(seeds, |seed| seed.tau_gradient);
            rows.push(beside(mean_tau("gradients", *published), *gradient, cell(ours)));
            let ours = over(seeds, |seed| seed.tau_leave_one_out);
            rows.push(beside(mean_tau("leave-one-out", *published), *loo, cell(ours)));
        }
    }
    for KindSummary { name, seeds, .. } in kinds.iter().take(1) {
        for (at, (what, published, _)) in FLIPS.into_iter().enumerate() {
            let ours = over(seeds, |seed| Some(seed.flips[at]));
            rows.push(beside(format!("{}, here {name}", share_of_texts(what)), published, cell(ours)));
        }
    }
    made(rows.into_iter().chain(trained(training)).collect())
}

fn mean_tau(with: &str, [kind, attention]: [&str; 2]) -> String {
    format!("mean tau with {with} (SST, {kind}, {attention} attention)")
}

fn share_of_texts(what: &str) -> String {
    format!("share of texts where {what} (IMDB, HAN)")
}

fn beside(statistic: String, published: f64, ours: Cell) -> Vec<Cell> {
    let ours = match ours {
        Cell::Interval { value, lower, upper } => [value, lower, upper].map(Cell::Number),
        _ => [Cell::Empty, Cell::Empty, Cell::Empty],
    };
    [Cell::Word(statistic), Cell::Number(published)].into_iter().chain(ours).collect()
}

fn made(rows: Vec<Vec<Cell>>) -> Table {
    Table {
        name: "published".to_owned(),
        title: "Published numbers beside these".to_owned(),
        columns: ["statistic", "published", "ours", "lower", "upper"].map(str::to_owned).to_vec(),
        rows,
        notes: vec![
            "the papers' data and models are in brackets: a difference may be one of data".to_owned(),
        ],
        ..Table::default()
    }
}
