//! What `exegete model info`, `sites`, `check` and `export` print.

use crate::cli::{ModelArgs, TableFormat};
use crate::{progress, table};
use anyhow::Result;
use exegete::conformance::Check;
use exegete::render::columns;
use exegete::request::Stop;
use exegete::request::model::{self, check, check::ModelCheck};
use exegete::{Card, SiteInfo, Sites};
use serde::Serialize;

/// Prints what `exegete model info` says of a model.
pub(crate) fn info(args: &ModelArgs) -> Result<()> {
    let card = model::info(&args.request)?;
    match args.format {
        TableFormat::Text => table::print(&columns(&[], &describe(&card), &[])),
        TableFormat::Json if card.parameters == 0 => {
            table::print_json("exegete.model/1", &without_sizes(&card)?)
        }
        TableFormat::Json => table::print_json("exegete.model/1", &card),
    }
}

/// Nobody knows the sizes of a black box, and a zero would be taken for one.
fn without_sizes(card: &Card) -> Result<serde_json::Value> {
    let mut document = serde_json::to_value(card)?;
    if let Some(fields) = document.as_object_mut() {
        fields.retain(|name, _| !["parameters", "max_tokens"].contains(&name.as_str()));
    }
    Ok(document)
}

fn describe(card: &Card) -> Vec<Vec<String>> {
    let mut rows = vec![
        ("name", card.name.clone()),
        ("family", card.family.clone()),
        ("task", card.task.title().to_owned()),
        ("labels", if card.labels.is_empty() { "none".to_owned() } else { card.labels.join(", ") }),
    ];
    rows.extend(card.sizes.0.iter().map(|(name, size)| (*name, size.to_string())));
    if card.parameters > 0 {
        rows.extend([
            ("parameters", thousands(card.parameters)),
            ("max tokens", card.max_tokens.to_string()),
        ]);
    }
    rows.push(("fingerprint", card.fingerprint.clone()));
    rows.extend(card.warnings.iter().map(|warning| ("warning", warning.clone())));
    rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect()
}

/// Digits in groups of three.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let grouped = digits.char_indices().flat_map(|(index, digit)| {
        let comma = index > 0 && (digits.len() - index).is_multiple_of(3);
        comma.then_some(',').into_iter().chain([digit])
    });
    grouped.collect()
}

#[derive(Serialize)]
struct Listed<'a> {
    sites: &'a Sites,
}

/// Prints the places that `exegete model sites` lists.
pub(crate) fn sites(args: &ModelArgs) -> Result<()> {
    let sites = &model::sites(&args.request)?;
    if args.format == TableFormat::Json {
        return table::print_json("exegete.sites/1", &Listed { sites });
    }
    let row = |info: &SiteInfo| {
        let axes = info.axes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" × ");
        vec![info.site.to_string(), axes, if info.cut { "cut" } else { "" }.to_owned()]
    };
    let rows: Vec<_> = sites.iter().map(row).collect();
    table::print(&columns(&["site", "axes", "can start"], &rows, &[]))
}

/// `exegete model check`; whether all checks passed.
pub(crate) fn check(args: &ModelArgs, stop: &Stop) -> Result<bool> {
    let outcome = check::run(&args.request, stop, &mut progress::say)?;
    match args.format {
        TableFormat::Json => table::print_json("exegete.check/1", &outcome)?,
        TableFormat::Text => table::print(&text(&outcome))?,
    }
    Ok(outcome.passed)
}

fn text(outcome: &ModelCheck) -> String {
    let row = |check: &Check| {
        let result = if check.passed { "pass" } else { "FAIL" };
        let number = |value: f64| if value == 0.0 { "0".to_owned() } else { format!("{value:.1e}") };
        let name = check.name.to_owned();
        vec![name, result.to_owned(), number(check.worst), number(check.limit), check.detail.clone()]
    };
    let header = ["check", "result", "worst", "limit", "detail"];
    let table = columns(&header, &outcome.checks.iter().map(row).collect::<Vec<_>>(), &[2, 3]);
    let failed = outcome.checks.iter().filter(|check| !check.passed).count();
    let verdict = match failed {
        0 => format!("all {} checks passed", outcome.checks.len()),
        n => format!("{n} of {} checks failed", outcome.checks.len()),
    };
    format!("{table}\n{verdict}")
}

#[cfg(test)]
mod tests {
    use super::thousands;

    #[test]
    fn digits_are_grouped() {
        for (number, expected) in [(0, "0"), (999, "999"), (1000, "1,000"), (22_713_216, "22,713,216")] {
            assert_eq!(thousands(number), expected);
        }
    }
}
