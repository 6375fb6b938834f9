//! Several explanations over many texts: what was measured on each becomes tables of means with standard errors.
//!
//! Nothing is run here. A new metric is one entry in `metrics`.

mod agreement;
mod calibration;
mod clean;
mod controls;
mod metrics;

pub use controls::TextEffects;
pub use metrics::{Better, METRICS, MeasuredText, QualityMetric};

use exegete_core::Units;
use exegete_core::report::{Cell, Checks, Item, Table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the row of random scores is called.
pub const RANDOM: &str = "random";

/// What an explanation, or all of the work on a text, cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Cost {
    /// Seconds on the clock, from 0 up.
    pub seconds: f64,
    /// How many rows were asked for: what it takes by itself, whatever was run before it.
    #[serde(default)]
    pub asked_rows: usize,
    /// How many of these were run forward; the others were remembered.
    pub forward_rows: usize,
    /// How many rows were run backward.
    pub backward_rows: usize,
}

/// What was measured on one explanation of one text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Whether positive and negative scores mean for and against.
    pub signed: bool,
    /// One score a unit.
    pub values: Vec<f64>,
    /// By the metric's name; what does not exist is absent.
    pub metrics: BTreeMap<String, f64>,
}

impl Measured {
    /// Reads every metric off the evidence.
    pub fn new(signed: bool, values: Vec<f64>, checks: &Checks, cost: Option<Cost>) -> Self {
        let seen = MeasuredText { checks, units: values.len(), cost };
        let read = |metric: &QualityMetric| Some((metric.name.to_owned(), (metric.read)(&seen)?));
        let finite = |(_, value): &(String, f64)| value.is_finite();
        let metrics = METRICS.iter().filter_map(read).filter(finite).collect();
        Self { signed, values, metrics }
    }
}

/// What was measured on one text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Text {
    /// Whether it was cut to fit the model.
    pub truncated: bool,
    /// All of it, the evidence included.
    pub cost: Cost,
    /// One an explanation, in the order of their names; none where the text has nothing to hide.
    pub measured: Vec<Measured>,
    /// What random scores reach on the same text.
    pub random: Option<Measured>,
    /// What hiding its units does; none where there are too few to tell a ranking from chance.
    #[serde(default)]
    pub effects: Option<TextEffects>,
}

impl Text {
    /// How many units have scores; none where there was nothing to hide.
    fn units(&self) -> Option<usize> {
        self.measured.first().or(self.random.as_ref()).map(|measured| measured.values.len())
    }
}

/// What is compared: explanations of the same texts, by name.
#[derive(Debug, Clone)]
pub struct MethodComparison<'a> {
    /// The names of the explanations, one each.
    pub names: &'a [String],
    /// What is explained, as the user asked for it.
    pub target: &'a str,
    /// What scores are given to.
    pub units: Units,
    /// What every random choice is derived from.
    pub seed: u64,
    /// Whether error rate and power are measured on these texts.
    pub calibrate: bool,
}

/// One table of metrics, a row an explanation; where there are several, one of how far they agree; how many cards are clean,
/// beside explanations that know nothing; where it is asked for, how often these get one; and at last what it comes to.
pub fn items(contest: &MethodComparison<'_>, texts: &[Text]) -> Vec<Item> {
    let judged: Vec<&Text> = texts.iter().filter(|text| !text.measured.is_empty()).collect();
    let mut tables = vec![scores(contest, texts, &judged)];
    if contest.names.len() > 1 {
        tables.push(agreement::table(contest, &judged));
    }
    let (clean, conclusion) = clean::table(contest, &judged).unzip();
    tables.extend(clean);
    if contest.calibrate {
        tables.push(calibration::table(contest, &judged));
    }
    tables.into_iter().map(Item::Table).chain(conclusion.map(Item::Verdict)).collect()
}

fn scores(contest: &MethodComparison<'_>, texts: &[Text], judged: &[&Text]) -> Table {
    let names: Vec<&str> = contest.names.iter().map(String::as_str).chain([RANDOM]).collect();
    let found = |row: usize, metric: &QualityMetric| -> Vec<f64> {
        let measured = judged.iter().filter_map(|text| text.measured.get(row).or(text.random.as_ref()));
        measured.filter_map(|measured| measured.metrics.get(metric.name).copied()).collect()
    };
    let exists = |metric: &&QualityMetric| (0..names.len()).any(|row| !found(row, metric).is_empty());
    let shown: Vec<&QualityMetric> = METRICS.iter().filter(exists).collect();
    let mut notes = vec![counted(texts, judged.len(), contest.units)];
    notes.extend(directions(&shown));
    notes.extend(shown.iter().filter(|metric| !metric.note.is_empty()).map(|metric| metric.note.to_owned()));
    let mut rows = Vec::new();
    for (row, name) in names.iter().enumerate() {
        let columns: Vec<Vec<f64>> = shown.iter().map(|metric| found(row, metric)).collect();
        notes.extend(shown.iter().zip(&columns).filter_map(|(metric, values)| {
            let some = !metric.conditional && (1..judged.len()).contains(&values.len());
            some.then(|| format!("{} of {name} exists for {} texts", metric.name, values.len()))
        }));
        rows.push(
            [Cell::Word((*name).to_owned())].into_iter().chain(columns.iter().map(|c| estimate(c))).collect(),
        );
    }
    let columns =
        ["method"].into_iter().chain(shown.iter().map(|metric| metric.name)).map(str::to_owned).collect();
    let title = format!(
        "{} on {}, target {}, by {}",
        many(contest.names.len(), "explanation"),
        many(texts.len(), "text"),
        contest.target,
        contest.units
    );
    Table { title, columns, rows, notes, ..Table::default() }
}

/// The mean with its standard error; alone where there is one value only.
fn estimate(values: &[f64]) -> Cell {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    match values.len() {
        0 => Cell::Empty,
        1 => Cell::Number(mean),
        _ => {
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
            Cell::Estimate { mean, error: (variance / count).sqrt() }
        }
    }
}

/// How many texts there were, and what became of those that were not read whole.
fn counted(texts: &[Text], judged: usize, units: Units) -> String {
    let truncated = texts.iter().filter(|text| text.truncated).count();
    let skipped = texts.len() - judged;
    let mut note = format!("means over {} with their standard errors", many(judged, "text"));
    if truncated > 0 {
        note += &format!("; {truncated} cut to the tokens that the model reads");
    }
    if skipped > 0 {
        note += &format!("; {skipped} skipped because no {units} in it can be hidden");
    }
    note
}

/// Which way each column is good.
fn directions(shown: &[&QualityMetric]) -> Option<String> {
    let those = |better: Better| -> Option<String> {
        let names: Vec<&str> = shown.iter().filter(|m| m.better == better).map(|m| m.name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let sides = [("high is good", Better::High), ("low is good", Better::Low)];
    let told = sides.into_iter().filter_map(|(word, better)| Some(format!("{word}: {}", those(better)?)));
    Some(told.collect::<Vec<_>>().join("; ")).filter(|told| !told.is_empty())
}

fn many(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
