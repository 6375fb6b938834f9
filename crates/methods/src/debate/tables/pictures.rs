//! How texts and tables are drawn.

use super::Summary;
use crate::debate::Experiment;
use exegete_core::report::{Picture, Shape};

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
        _ => own,
    }
}
