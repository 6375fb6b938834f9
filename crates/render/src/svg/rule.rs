//! A rule: if … then …, how sure it is, and texts under it.

use super::bars::{Bar, bars};
use super::{Sheet, failures, head, marked, passage};
use crate::figures::interval;
use crate::marked::{Mark, example, held};
use crate::rule::{Measure, Words, examples, measures, sentence, step};
use exegete_core::report::Rule;

/// How many texts of each kind are shown.
const LISTED: usize = 3;

pub(super) fn rule(sheet: &mut Sheet, rule: &Rule) {
    head(sheet, &rule.subject, &crate::headline::asked_of(&rule.subject));
    failures(sheet, &rule.verdict);
    let said = sentence(rule);
    let mark = |words| if words == Words::Condition { Mark::Held } else { Mark::Plain };
    passage::text(sheet, said.iter().map(|part| (part.text.as_str(), marked::look(mark(part.words)))));
    sheet.skip(10.0);
    sheet.caption("the text, with what the rule holds on to", 11.0, "normal");
    marked::passages(sheet, &held(rule), true);
    sheet.skip(10.0);
    let bar = |Measure { name, share, told, .. }: Measure| Bar {
        name: name.to_owned(),
        value: share.value,
        ends: Some((share.low, share.high)),
        figures: interval(share),
        told,
    };
    bars(sheet, measures(rule).into_iter().map(bar).collect(), (0.0, 1.0), Some(rule.threshold));
    grown(sheet, rule);
    for kind in examples(rule) {
        sheet.skip(6.0);
        sheet.caption(kind.title, 12.0, "bold");
        for text in kind.texts.iter().take(LISTED) {
            marked::passages(sheet, &example(rule, text), false);
        }
        let more = kind.texts.len().saturating_sub(LISTED);
        if more > 0 {
            sheet.skip(6.0);
            sheet.caption(&format!("and {}", crate::figures::count(more, "more text")), 10.0, "normal");
        }
    }
}

fn grown(sheet: &mut Sheet, rule: &Rule) {
    if rule.steps.is_empty() {
        return;
    }
    sheet.skip(4.0);
    sheet.caption("how it grew", 12.0, "bold");
    for at in &rule.steps {
        let [conditions, precision, coverage] = step(rule, at);
        sheet.caption(&format!("{conditions}: precision {precision}, coverage {coverage}"), 11.0, "normal");
    }
}
