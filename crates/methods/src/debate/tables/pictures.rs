//! How texts and tables are drawn.

use super::Summary;
use crate::debate::Experiment;
use exegete_core::report::{Picture, ReportRow, Shape};
use serde_json::Value;
use std::collections::BTreeMap;

/// How many texts are drawn with the weights of an adversary beside their own: the first, and those of the largest JSD.
const BESIDE: usize = 5;

/// The pictures beside the texts, of what was run.
pub(super) fn of_texts(summary: &Summary<'_>) -> Vec<Picture> {
    use Experiment as E;
    let all = [
        (E::Correlation, histogram("attention and gradients", "tau_gradient.tau", "tau")),
        (E::Correlation, histogram("attention and leaving words out", "tau_leave_one_out.tau", "tau")),
        (E::Permutation, moved_by_orders()),
        (
            E::Adversary,
            histogram("the farthest weights with the same answer", "adversary.jsd", "JSD in nats"),
        ),
        (E::Adversary, other_weights()),
        (E::Erase, erased_beyond_another()),
    ];
    all.into_iter().filter(|(experiment, _)| summary.ran(*experiment)).map(|(_, picture)| picture).collect()
}

/// How many texts have which value, by predicted class.
fn histogram(title: &str, x: &str, unit: &str) -> Picture {
    Picture {
        title: title.to_owned(),
        shape: Shape::Histogram,
        x: x.to_owned(),
        x_title: Some(unit.to_owned()),
        series: Some("predicted".to_owned()),
        ..Picture::default()
    }
}

/// Words by their weights and by those of the adversary, of the texts that [`draw_beside`] names.
fn other_weights() -> Picture {
    Picture {
        title: "the same answer from other weights: the first text, and those of the largest JSD".to_owned(),
        shape: Shape::Words,
        x: "tokens".to_owned(),
        y: Some("alpha".to_owned()),
        y_title: Some("own weights".to_owned()),
        of: Some("adversary.alpha".to_owned()),
        x_title: Some("the farthest weights with the same answer".to_owned()),
        series: Some("adversary.drawn".to_owned()),
    }
}

/// Says of the texts that [`other_weights`] draws why they are drawn, where the adversary was asked for.
pub(super) fn draw_beside(summary: &Summary<'_>, rows: &mut [ReportRow]) {
    let far = |(at, record): (usize, &crate::debate::TextRecord)| {
        let found = record.adversary.as_ref().filter(|found| found.alpha.is_some())?;
        Some((at, found.jsd, found.tvd))
    };
    let mut found: Vec<(usize, f64, Option<f64>)> =
        summary.records.iter().enumerate().filter_map(far).collect();
    let Some(&first) = found.first().filter(|_| summary.ran(Experiment::Adversary)) else { return };
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut drawn = BTreeMap::from([(first.0, (first, "the first text".to_owned()))]);
    for (rank, &text) in found.iter().enumerate().take(BESIDE) {
        let why = match rank {
            0 => "the largest JSD".to_owned(),
            rank => format!("the {} largest JSD", ordinal(rank + 1)),
        };
        if drawn.len() < BESIDE || drawn.contains_key(&text.0) {
            let own = drawn.entry(text.0).or_insert_with(|| (text, String::new()));
            own.1 = if own.1.is_empty() { why } else { format!("{}, {why}", own.1) };
        }
    }
    for (at, ((_, jsd, tvd), why)) in &drawn {
        let moved = tvd.map_or_else(String::new, |tvd| format!(", TVD {tvd:.4}"));
        let told = format!("{why}: JSD {jsd:.3}{moved}, {}", summary.label(summary.records[*at].predicted));
        if let Some((_, Value::Object(fields))) = rows[*at].0.iter_mut().find(|(name, _)| name == "adversary")
        {
            fields.insert("drawn".to_owned(), told.into());
        }
    }
}

/// A rank in words, such as 2nd.
fn ordinal(rank: usize) -> String {
    match rank {
        2 => "2nd".to_owned(),
        3 => "3rd".to_owned(),
        rank => format!("{rank}th"),
    }
}

fn moved_by_orders() -> Picture {
    Picture {
        title: "how far the answer moves when weights change places".to_owned(),
        shape: Shape::Violins,
        x: "permutation.bin".to_owned(),
        y: Some("permutation.median_tvd".to_owned()),
        x_title: Some("the largest weight of a text".to_owned()),
        y_title: Some("median TVD".to_owned()),
        series: Some("predicted".to_owned()),
        of: None,
    }
}

fn erased_beyond_another() -> Picture {
    Picture {
        title: "what erasing the top word does beyond another".to_owned(),
        shape: Shape::Scatter,
        x: "erase.delta_alpha".to_owned(),
        y: Some("erase.delta_js".to_owned()),
        x_title: Some("how much more weight it had".to_owned()),
        y_title: Some("JSD beyond the other's, in nats".to_owned()),
        series: Some("predicted".to_owned()),
        of: None,
    }
}

/// The shares of texts by what flips them.
pub(super) fn flip_table() -> Picture {
    Picture {
        title: "share of texts by what flips the answer".to_owned(),
        shape: Shape::Grid,
        x: "random".to_owned(),
        y: Some("top".to_owned()),
        of: Some("share".to_owned()),
        x_title: Some("another word flips it".to_owned()),
        y_title: Some("the top word flips it".to_owned()),
        ..Picture::default()
    }
}

/// Quartiles of the share removed, by ranking.
pub(super) fn boxes() -> Picture {
    Picture {
        title: "share removed before the first flip".to_owned(),
        shape: Shape::Boxes,
        x: "ranking".to_owned(),
        y_title: Some("share removed".to_owned()),
        ..Picture::default()
    }
}

/// How the rows of several models are drawn, from how those of one are.
pub(super) fn of_models(table: &str, own: Vec<Picture>) -> Vec<Picture> {
    match table {
        "removed" => {
            let title = "share removed before the first flip, a box over the models of a kind".to_owned();
            let [y, series] = ["median", "kind"].map(|column| Some(column.to_owned()));
            vec![Picture { title, y, series, ..boxes() }]
        }
        "flips" => {
            let title = "share of texts by what flips the answer, mean over all models".to_owned();
            vec![Picture { title, ..flip_table() }]
        }
        _ => own,
    }
}
