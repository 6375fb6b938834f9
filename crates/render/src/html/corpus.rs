//! One page about many texts: a list with each text's heat map in brief, filters, and a click that opens the whole explanation.
//!
//! Only here does a page hold a script. It is `corpus.js` and nothing else: the policy names its hash, and forbids that any string
//! becomes markup or script. The whole explanation of a text lies beside its row as the markup of a page about that text alone,
//! in a block that browsers do not read; the script makes elements of it one by one, and only of kinds that it knows. Without
//! the script the list is read as it is.

use super::{STYLE, heat, marked, section, title};
use crate::evidence::undecided;
use crate::figures::percent;
use crate::groups::groups;
use crate::headline::{cost, said};
use crate::markup::Escaped;
use crate::passage::passages;
use crate::scale::Scale;
use crate::sense::SharedSense;
use exegete_core::report::{Attribution, Item, Report, Sense, Subject, Verdict};
use exegete_core::{Field, sha256_hex};
use std::collections::BTreeSet;

const SCRIPT: &str = include_str!("corpus.js");
const LIST_STYLE: &str = include_str!("corpus.css");
/// Stands between the names of one attribute; no name of a class or check that we know holds it.
const BETWEEN: &str = "|";

/// Texts of one list: a page of many is a row of lists, so that browsers leave out the lists that nobody sees.
const LISTED: usize = 50;

/// A page that is written text by text. Nothing of a text is held once its row is made.
#[derive(Debug, Default)]
pub struct CorpusPage {
    rows: usize,
    made_by: BTreeSet<String>,
}

impl CorpusPage {
    /// A page without texts.
    pub fn new() -> Self {
        Self::default()
    }

    /// The row of the next text; the first brings the head of the page along.
    pub fn row(&mut self, report: &Report) -> String {
        let head = match self.rows {
            0 => head(Some(report)),
            rows if rows.is_multiple_of(LISTED) => "</ol>\n<ol class=\"rows\">\n".to_owned(),
            _ => String::new(),
        };
        self.rows += 1;
        let made = &report.provenance;
        self.made_by.insert(format!(
            "model {} ({}, {}), exegete {}, seed {}",
            made.model.name, made.model.family, made.model.fingerprint, made.version, made.seed
        ));
        head + &row(report, self.rows)
    }

    /// What closes the page; of a page without texts this is all.
    pub fn end(&self) -> String {
        let head = if self.rows == 0 { head(None) } else { String::new() };
        let made: String = self.made_by.iter().map(|made| format!("<p>{}</p>\n", Escaped(made))).collect();
        let texts = crate::figures::count(self.rows, "text");
        format!(
            "{head}</ol>\n</main>\n<footer>\n<p>{texts}</p>\n{made}</footer>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
        )
    }
}

/// Everything above the first row.
fn head(first: Option<&Report>) -> String {
    let title = first.map_or_else(|| "no texts".to_owned(), title);
    let subject = first.and_then(|report| report.items.iter().find_map(Item::subject));
    let sense = subject.map_or_else(Sense::default, |subject| subject.sense);
    // Only scores have grounds in the list.
    let heated = first
        .and_then(|report| report.items.first())
        .is_some_and(|item| matches!(item, Item::Attribution(_)));
    let legend = heated.then(|| heat::legend("what is explained", &SharedSense::Alike(sense), heat::LINES));
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        base64_of_hex(&sha256_hex(SCRIPT.as_bytes()))
    );
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}{LIST_STYLE}</style>\n\
         </head>\n<body>\n<main>\n<header>\n<h1>{title}</h1>\n</header>\n{FILTERS}{}<ol class=\"rows\">\n",
        legend.unwrap_or_default()
    )
}

/// They do nothing without the script, which shows those that the list has something for.
const FILTERS: &str = "<noscript><p class=\"note\">The page's own script is not allowed to run: this is the list alone, without \
    filters and whole explanations.</p></noscript>\n\
    <div class=\"filters\" hidden>\n\
    <label>text <input id=\"words\" type=\"search\" autocomplete=\"off\"></label>\n\
    <label>label <select id=\"label\"><option value=\"\">all</option></select></label>\n\
    <span id=\"confidence\"><label>confidence from <input id=\"low\" type=\"number\" min=\"0\" max=\"100\"></label> \
    <label>to <input id=\"high\" type=\"number\" min=\"0\" max=\"100\"></label>&nbsp;%</span>\n\
    <label>checks <select id=\"failed\"><option value=\"\">all</option></select></label>\n\
    <output id=\"count\"></output>\n</div>\n";

/// A text of the list, and its whole explanation for the script.
fn row(report: &Report, number: usize) -> String {
    let subject = report.items.iter().find_map(Item::subject);
    let (about, decision) = subject.map_or_else(Default::default, decision);
    let (attributes, checks) = checks(report);
    let brief = report.items.first().map_or_else(String::new, brief);
    let whole: String = groups(report).iter().map(|group| section(group, report)).collect();
    let cost = Escaped(&cost(&report.provenance)).to_string();
    format!(
        "<li id=\"text-{number}\"{about}{attributes}><details><summary><span class=\"said\"><small>{number}</small> \
         {decision}{checks}</span>{brief}</summary>\n<script type=\"text/plain\">{whole}<p class=\"soft\">{cost}</p></script>\
         </details></li>\n"
    )
}

/// What the model says, for the script and for the reader.
fn decision(subject: &Subject) -> (String, String) {
    let said = said(&subject.prediction);
    let labels = subject.prediction.chosen();
    let mut about = String::new();
    if !labels.is_empty() {
        about += &format!(" data-label=\"{}\"", Escaped(&labels.join(BETWEEN)));
    }
    let mut shown = format!("<b><bdi>{}</bdi></b>", Escaped(&said.decision));
    if let Some(probability) = said.probability {
        about += &format!(" data-confidence=\"{probability:.4}\"");
        shown += &format!(" {}", super::tied(&percent(probability)));
    }
    (about, shown)
}

/// Which checks failed, and whether the test against chance could not decide, for the script and for the reader; nothing of a
/// text without checks.
fn checks(report: &Report) -> (String, String) {
    let verdicts: Vec<&Verdict> = report.items.iter().filter_map(verdict).collect();
    let failed: BTreeSet<&str> = verdicts.iter().flat_map(|verdict| failed(verdict)).collect();
    let mut attributes = String::new();
    if !verdicts.is_empty() {
        let names = failed.iter().copied().collect::<Vec<_>>().join(BETWEEN);
        attributes += &format!(" data-failed=\"{}\"", Escaped(&names));
    }
    let names = failed.iter().map(|name| name.replace('_', " ")).collect::<Vec<_>>().join(", ");
    let mut shown = match failed.is_empty() {
        true => String::new(),
        false => format!(" <span class=\"missed\">✗&nbsp;{}</span>", Escaped(&names)),
    };
    if report.items.iter().any(is_undecided) {
        attributes += " data-undecided";
        shown += " <span class=\"soft\">?&nbsp;undecided</span>";
    }
    (attributes, shown)
}

fn is_undecided(item: &Item) -> bool {
    matches!(item, Item::Attribution(attribution) if undecided(&attribution.checks).is_some())
}

fn verdict(item: &Item) -> Option<&Verdict> {
    match item {
        Item::Attribution(attribution) => attribution.checks.verdict.as_ref(),
        Item::Rule(rule) => Some(&rule.verdict),
        Item::Edits(edits) => Some(&edits.verdict),
        Item::Map(_) | Item::Table(_) | Item::Rows(_) | Item::Verdict(_) => None,
    }
}

/// The names of the checks that failed. Old reports have the words alone.
fn failed(verdict: &Verdict) -> Vec<&str> {
    let named = verdict.findings.iter().filter(|found| found.passed == Some(false));
    let named: Vec<&str> = named.map(|found| found.check.as_str()).collect();
    if named.is_empty() && !verdict.failures.is_empty() { vec!["its verdict"] } else { named }
}

/// The text with what the explanation says of it, without its numbers.
fn brief(item: &Item) -> String {
    match item {
        Item::Attribution(attribution) => fields(heated(attribution)),
        Item::Rule(rule) => {
            fields(crate::marked::held(rule).iter().map(|field| marked::text(&field.stretches)))
        }
        Item::Edits(edits) => fields(plain(&edits.subject.input)),
        Item::Map(map) => fields(plain(&map.subject.input)),
        Item::Table(table) => fields([Escaped(&table.title).to_string()]),
        Item::Rows(rows) => fields([Escaped(&rows.title).to_string()]),
        Item::Verdict(judgement) => fields([Escaped(&crate::judgement::word(judgement)).to_string()]),
    }
}

fn fields(fields: impl IntoIterator<Item = String>) -> String {
    fields.into_iter().map(|field| format!("<span class=\"brief\" dir=\"auto\">{field}</span>")).collect()
}

fn plain(input: &[Field]) -> impl Iterator<Item = String> {
    input.iter().map(|field| Escaped(&field.text).to_string())
}

/// Each field with the strong units on their ground; the others are text, which keeps the page small.
fn heated(attribution: &Attribution) -> impl Iterator<Item = String> {
    let scale = Scale::new(&attribution.values);
    passages(&attribution.subject.input, &attribution.units).into_iter().map(move |passage| {
        let piece = |piece: &crate::passage::PassagePiece<'_>| {
            let value = piece.unit.and_then(|unit| attribution.values.get(unit)).copied();
            let text = Escaped(piece.text);
            match value.and_then(|value| heat::ground(scale.strength(value))) {
                Some(ground) => format!("<span {ground}>{text}</span>"),
                None => text.to_string(),
            }
        };
        passage.pieces.iter().map(piece).collect()
    })
}

/// The same bytes in the letters that a policy wants.
fn base64_of_hex(hex: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    // Six digits of four bits are four letters of six.
    let letters = |six: &[u32]| {
        let bits = six.iter().fold(0, |bits, digit| bits << 4 | digit) << (4 * (6 - six.len()));
        let count = (4 * six.len()).div_ceil(6);
        let letter = |at: usize| match at < count {
            true => char::from(LETTERS[(bits >> (18 - 6 * at) & 63) as usize]),
            false => '=',
        };
        (0..4).map(letter).collect::<String>()
    };
    digits.chunks(6).map(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_become_the_letters_of_the_standard() {
        for (text, expected) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob\u{7f}", "Zm9vYn8=")]
        {
            let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(base64_of_hex(&hex), expected);
        }
    }
}
