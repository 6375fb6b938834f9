//! The text with its scores, conditions or changes as a picture on white paper, for slides and articles.

mod attribution;
mod bars;
mod edits;
mod judgement;
mod map;
mod marked;
mod passage;
mod plot;
mod rule;
mod table;

use crate::RenderOptions;
use crate::figures::percent;
use crate::groups::{Group, groups};
use crate::headline::said;
use crate::markup::Escaped;
use crate::plot::Source;
use exegete_core::report::{Item, Report, Subject, Verdict};

/// Pixels a terminal column.
const COLUMN: f64 = 8.0;
const MARGIN: f64 = 16.0;
/// The height of a row of bars or cells, and of its letters.
const ROW: f64 = 20.0;
const SIZE: f64 = 12.0;
const FONT: &str = "Verdana, DejaVu Sans, Helvetica, Arial, sans-serif";
/// Blue is for, orange against; safe for the colour-blind.
const FOR: &str = "#0072bc";
const AGAINST: &str = "#e27800";
/// At full strength a ground still leaves black letters readable.
const MOST: f64 = 0.62;

/// A drawing as it grows downwards.
struct Sheet {
    width: f64,
    y: f64,
    out: String,
}

impl Sheet {
    /// Small text on as many lines as it needs.
    fn told(&mut self, text: &str, size: f64) {
        for line in crate::measure::broken(&crate::visible::visible(text), size, self.width - 2.0 * MARGIN) {
            self.caption(&line, size, "normal");
        }
    }

    /// A line of small text.
    fn caption(&mut self, text: &str, size: f64, weight: &str) {
        self.y += size * 1.5;
        let text = crate::measure::clipped(&crate::visible::visible(text), size, self.width - 2.0 * MARGIN);
        self.out += &format!(
            "<text x=\"{MARGIN}\" y=\"{:.1}\" font-size=\"{size}\" font-weight=\"{weight}\" fill=\"#333\">{}</text>\n",
            self.y,
            Escaped(&text)
        );
    }

    /// Text in the middle of a row that ends here.
    fn text(&mut self, x: f64, anchor: &str, text: &str) {
        let y = self.y - ROW / 2.0 + SIZE * 0.35;
        self.out += &format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{SIZE}\" text-anchor=\"{anchor}\" fill=\"#222\">{}</text>\n",
            Escaped(text)
        );
    }

    fn skip(&mut self, pixels: f64) {
        self.y += pixels;
    }
}

/// A report's texts and maps as one picture; tables have none.
pub(crate) fn render(report: &Report, options: &RenderOptions) -> String {
    let width = options.columns() as f64 * COLUMN;
    let mut sheet = Sheet { width, y: 0.0, out: String::new() };
    for Group { item, members } in groups(report) {
        match item {
            Item::Attribution(_) => attribution::attributions(&mut sheet, &members),
            Item::Map(map) => map::map(&mut sheet, map),
            Item::Rule(rule) => rule::rule(&mut sheet, rule),
            Item::Edits(edits) => edits::edits(&mut sheet, edits),
            Item::Table(table) => table::table(&mut sheet, table, Source::Table(table), &table.pictures),
            Item::Rows(rows) => {
                table::table(&mut sheet, &crate::rows::for_reading(rows), Source::Rows(rows), &rows.pictures);
            }
            Item::Verdict(judgement) => judgement::judgement(&mut sheet, judgement),
        }
        sheet.skip(8.0);
    }
    let (width, height, body) = (sheet.width, sheet.y + MARGIN, sheet.out);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"{FONT}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{body}</svg>\n"
    )
}

fn head(sheet: &mut Sheet, subject: &Subject, asked: &str) {
    let said = said(&subject.prediction);
    let probability = said.probability.map_or_else(String::new, |p| format!(" {}", percent(p)));
    sheet.caption(&format!("{}{probability}", said.decision), 16.0, "bold");
    sheet.caption(asked, 12.0, "normal");
}

/// What failed, before what it puts in doubt.
fn failures(sheet: &mut Sheet, verdict: &Verdict) {
    if verdict.failures.is_empty() {
        return;
    }
    sheet.skip(4.0);
    for failure in &verdict.failures {
        sheet.told(&format!("✗ {failure}"), 12.0);
    }
    sheet.told(&verdict.sentence, 12.0);
}

/// The fill of a cell by its strength.
fn fill(strength: f64) -> String {
    let colour = if strength < 0.0 { AGAINST } else { FOR };
    format!("fill=\"{colour}\" fill-opacity=\"{:.2}\"", strength.abs() * MOST)
}
