//! The evidence card as HTML.

use super::chart::chart;
use crate::evidence::{Chart, Line, lines};
use crate::figures::{figure, percent};
use crate::markup::{Escaped, minus};
use exegete_core::report::{Attribution, Completeness};

/// Every check that was made, with its picture.
pub(super) fn card(attribution: &Attribution) -> String {
    let lines = lines(attribution);
    if lines.is_empty() {
        return String::new();
    }
    let checks: String = lines.iter().map(check).collect();
    let layers = attribution.checks.completeness.as_ref().map_or_else(String::new, layers);
    let ranked = lines.iter().any(|line| matches!(line.chart, Some(Chart::Erasure(_) | Chart::Curve(_))));
    let key = if ranked { KEY } else { "" };
    format!("<div class=\"card\">\n<h2>Evidence</h2>\n{checks}{layers}{key}</div>\n")
}

const KEY: &str = "<p class=\"legend keys\"><span><i class=\"key own\"></i>own ranking</span> \
    <span><i class=\"key random\"></i>random rankings, mean and range</span> \
    <span><i class=\"key reversed\"></i>reversed</span></p>\n";

fn check(line: &Line<'_>) -> String {
    let chart = line.chart.as_ref().map_or_else(String::new, chart);
    let hint = [line.meaning, line.good].join(if line.good.is_empty() { "" } else { "; " });
    let hint = if hint.is_empty() { hint } else { format!(" <small>{hint}</small>") };
    let (name, figures) = (Escaped(&line.name), super::tied(&line.figures));
    format!("<div class=\"check\">\n<h3>{name}</h3>\n<p>{figures}{hint}</p>\n{chart}</div>\n")
}

/// What the scores sum to at each layer.
fn layers(completeness: &Completeness) -> String {
    if completeness.layers.is_empty() {
        return String::new();
    }
    let row = |layer: &exegete_core::report::LayerSum| {
        let (sum, gap) = (minus(&figure(layer.sum)), percent(layer.gap));
        format!(
            "<tr><td>{}</td><td class=\"number\">{sum}</td><td class=\"number\">{gap}</td></tr>\n",
            Escaped(&layer.site)
        )
    };
    let rows: String = completeness.layers.iter().map(row).collect();
    format!(
        "<details>\n<summary>sums by layer</summary>\n<table>\n<thead><tr><th>site</th><th class=\"number\">sum</th>\
         <th class=\"number\">gap</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</details>\n"
    )
}
