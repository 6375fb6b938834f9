//! Self-contained pages: nothing fetched, readable in light, dark and print; a page about one report holds no script.

mod attribution;
mod bars;
mod card;
mod chart;
mod compare;
mod corpus;
mod edits;
mod heat;
mod judgement;
mod map;
mod marked;
mod plot;
mod rule;
mod table;

use crate::evidence::undecided;
use crate::figures::percent;
use crate::groups::{Group, groups};
use crate::headline::{baseline, cost, said};
use crate::markup::Escaped;
use crate::plot::Source;
pub use corpus::CorpusPage;
use exegete_core::Brief;
use exegete_core::report::{Attribution, Item, Provenance, Report, Subject, Verdict};

const STYLE: &str = include_str!("html/style.css");

/// A report as a page. The policy in its head forbids scripts and resources, whatever a text may hold.
pub(crate) fn render(report: &Report) -> String {
    let sections: String = groups(report).iter().map(|group| section(group, report)).collect();
    let (title, footer) = (title(report), footer(&report.provenance));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<main>\n{sections}</main>\n{footer}</body>\n</html>\n"
    )
}

fn title(report: &Report) -> String {
    let method = report.items.iter().find_map(|item| item.subject()).map(|subject| &subject.method);
    let method = method.map_or_else(String::new, |method| format!("{method}: "));
    Escaped(&format!("{method}{}", report.provenance.model.name)).to_string().replace('\n', " ")
}

fn section(group: &Group<'_>, report: &Report) -> String {
    let made = &report.provenance;
    let body = match group.item {
        Item::Attribution(_) => attribution::attributions(&group.members, made),
        Item::Map(map) => map::map(map, made),
        Item::Rule(rule) => rule::rule(rule, made),
        Item::Edits(edits) => edits::edits(edits, made),
        Item::Table(table) => table::table(table, &plot::plots(&table.pictures, Source::Table(table))),
        Item::Rows(rows) => {
            let plots = plot::plots(&rows.pictures, Source::Rows(rows));
            table::table(&crate::rows::for_reading(rows), &plots)
        }
        Item::Verdict(judgement) => judgement::judgement(judgement),
    };
    format!("<section>\n{body}</section>\n")
}

/// What the model says, what is explained, and what the reader must know of it.
fn header(subject: &Subject, asked: &str, provenance: &Provenance) -> String {
    let Brief { decision, probability, others } = said(&subject.prediction);
    let probability = probability
        .map_or_else(String::new, |p| format!(" <span class=\"prob\">{}</span>", tied(&percent(p))));
    let others = if others.is_empty() { others } else { format!(" <small>{}</small>", tied(&others)) };
    format!(
        "<header>\n<h1><bdi>{}</bdi>{probability}{others}</h1>\n\
         <p class=\"asked\">{}, model <b>{}</b></p>\n{}</header>\n",
        Escaped(&decision),
        tied(asked),
        Escaped(&provenance.model.name),
        notes(&subject.notes)
    )
}

/// Figures in running text: true minus signs (the hyphens of words stay), and no line break before a per cent sign.
fn tied(text: &str) -> String {
    let mut out = String::new();
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let number =
            !before.is_alphanumeric() && text[at + c.len_utf8()..].starts_with(|c: char| c.is_ascii_digit());
        out.push(if c == '-' && number { '−' } else { c });
        before = c;
    }
    Escaped(&out.replace(" %", "\u{a0}%")).to_string()
}

fn notes(notes: &[String]) -> String {
    notes.iter().map(|note| format!("<p class=\"note\">{}</p>\n", Escaped(note))).collect()
}

/// Failures come before everything that they put in doubt.
fn verdict(verdict: Option<&Verdict>) -> String {
    let Some(Verdict { sentence, failures, .. }) = verdict else { return String::new() };
    let failed: String = failures.iter().map(|failure| format!("<li>{}</li>\n", Escaped(failure))).collect();
    let failed = if failed.is_empty() { failed } else { format!("<ul class=\"failures\">\n{failed}</ul>\n") };
    let sentence = if sentence.is_empty() {
        String::new()
    } else {
        format!("<p class=\"verdict\">{}</p>\n", Escaped(sentence))
    };
    failed + &sentence
}

/// What the evidence could not decide, and what the model says without the text.
fn doubts(attribution: &Attribution) -> String {
    let undecided = undecided(&attribution.checks)
        .map(|undecided| format!("<p class=\"undecided\">{}</p>\n", Escaped(undecided)));
    let baseline = baseline(attribution).map(|said| format!("<p class=\"soft\">{}</p>\n", Escaped(&said)));
    undecided.into_iter().chain(baseline).collect()
}

fn params(subject: &Subject) -> String {
    let row = |(key, value): (&String, &serde_json::Value)| {
        format!("<dt>{}</dt><dd>{}</dd>\n", Escaped(key), Escaped(&value.to_string()))
    };
    let rows: String = subject.params.iter().map(row).collect();
    if rows.is_empty() {
        return rows;
    }
    format!(
        "<details>\n<summary>parameters of {}</summary>\n<dl>\n{rows}</dl>\n</details>\n",
        Escaped(&subject.method)
    )
}

fn footer(provenance: &Provenance) -> String {
    let Provenance { version, model, seed, .. } = provenance;
    let rows = [
        ("model", format!("{} ({})", model.name, model.family)),
        ("fingerprint", model.fingerprint.clone()),
        ("cost", cost(provenance)),
        ("made by", format!("exegete {version}, seed {seed}")),
    ];
    let rows: String =
        rows.iter().map(|(key, value)| format!("<dt>{key}</dt><dd>{}</dd>\n", Escaped(value))).collect();
    format!("<footer>\n<dl>\n{rows}</dl>\n</footer>\n")
}
