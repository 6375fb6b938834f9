//! Whatever a report holds, nothing panics, steers a terminal or becomes markup.

use super::samples::{self, HOSTILE, all_checks, attribution, edits, map, report, rule, verdict};
use exegete_core::Field;
use exegete_core::report::{
    Attribution, Bounded, Cell, Chance, Edited, Edits, Finding, Item, Judgement, Picture, Report, ReportRow,
    Rows, Rule, RuleStep, Shape, Swap, Table, UnitText,
};
use exegete_render::{Format, RenderOptions, read, render};
use proptest::prelude::*;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

/// Text that tries everything.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        Just(HOSTILE.to_owned()),
        "[<>&\"'a-z \n\r\t\u{0}-\u{1f}\u{7f}-\u{9f}\u{202a}-\u{202e}א-ת一-鿿]{0,60}",
    ]
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), Just(f64::NAN), Just(f64::INFINITY), Just(0.0), -2.0..2.0]
}

/// Units anywhere, also outside the text, and lists of any length.
fn attributed() -> impl Strategy<Value = Attribution> {
    let unit = (text(), 0..3usize, any::<u8>(), any::<u8>());
    let numbers = || prop::collection::vec(number(), 0..12);
    (text(), prop::collection::vec(unit, 0..12), numbers(), numbers(), any::<bool>()).prop_map(
        |(text, units, values, errors, checked)| {
            let checks = if checked { all_checks() } else { Default::default() };
            let mut item = attribution(&[("text", &text), (&text, "two")], &[], checks);
            let unit = |(text, field, start, end)| UnitText {
                text,
                field,
                start: usize::from(start),
                end: usize::from(end),
            };
            item.units = units.into_iter().map(unit).collect();
            item.subject.target = text.clone();
            item.subject.notes = vec![text];
            item.subject.value = values.first().copied().unwrap_or(f64::NAN);
            spoil(&mut item, &values);
            Attribution { values, errors, ..item }
        },
    )
}

/// Puts numbers into the evidence that no measurement gives.
fn spoil(item: &mut Attribution, values: &[f64]) {
    if let Some(erasure) = &mut item.checks.comprehensiveness {
        erasure.own.values = values.to_vec();
        erasure.random.truncate(values.len() % 3);
    }
    if let Some(curve) = &mut item.checks.deletion {
        curve.values = values.to_vec();
    }
    if let Some(flip) = &mut item.checks.flip {
        flip.units = vec![0, 99];
    }
    if let (Some(step), Some(value)) = (item.checks.randomisation.first_mut(), values.first()) {
        (step.correlation, step.down_to) = (*value, item.subject.target.clone());
    }
    // A check that this build does not know.
    let text = item.subject.target.clone();
    item.checks.add(&text, &[(text.clone(), values.to_vec())]).unwrap();
    item.checks.add("says", &std::collections::BTreeMap::from([("says", &text)])).unwrap();
}

fn bounded() -> impl Strategy<Value = Bounded> {
    (number(), number(), number()).prop_map(|(value, low, high)| Bounded { value, low, high })
}

/// Conditions that may be no units, and texts with any fields.
fn ruled() -> impl Strategy<Value = Rule> {
    let units = || prop::collection::vec(0..40usize, 0..6);
    let steps = prop::collection::vec((units(), bounded(), bounded()), 0..4);
    let texts = || prop::collection::vec(prop::collection::vec(text(), 0..3), 0..7);
    (units(), steps, texts(), texts(), bounded(), any::<bool>(), number()).prop_map(
        |(conditions, steps, keeps, breaks, share, met, threshold)| {
            let step = |(conditions, precision, coverage)| RuleStep { conditions, precision, coverage };
            let fields = |texts: Vec<Vec<String>>| {
                let field = |text: String| Field { name: text.clone(), text };
                texts.into_iter().map(|text| text.into_iter().map(field).collect()).collect()
            };
            let steps = steps.into_iter().map(step).collect();
            let (keeps, breaks) = (fields(keeps), fields(breaks));
            let (precision, random) = (share, Some(share));
            Rule { conditions, steps, keeps, breaks, precision, random, met, threshold, ..rule() }
        },
    )
}

/// Changes anywhere, also outside the text and over one another.
fn edited() -> impl Strategy<Value = Edits> {
    let swap = (0..3usize, 0..60usize, 0..60usize, text(), text())
        .prop_map(|(field, start, end, before, after)| Swap { field, start, end, before, after });
    let one = (prop::collection::vec(swap, 0..6), number(), any::<bool>());
    (text(), prop::collection::vec(one, 0..7), any::<bool>(), any::<usize>(), any::<usize>()).prop_map(
        |(text, found, smallest, hits, trials)| {
            let mut edits = edits();
            let sample = edits.found[0].clone();
            let one = |(swaps, value, reached)| Edited { swaps, value, reached, ..sample.clone() };
            edits.found = found.into_iter().map(one).collect();
            edits.subject.input.iter_mut().for_each(|field| field.text = text.clone());
            edits.verdict.failures = vec![text.clone()];
            Edits { goal: text, smallest, random: Some(Chance { hits, trials }), ..edits }
        },
    )
}

/// Any shape of any columns.
fn pictured() -> impl Strategy<Value = Picture> {
    let shape = prop_oneof![
        Just(Shape::Histogram),
        Just(Shape::Boxes),
        Just(Shape::Violins),
        Just(Shape::Scatter),
        Just(Shape::Lines),
        Just(Shape::Bars),
        Just(Shape::Grid),
        Just(Shape::Words),
    ];
    let column = || prop_oneof!["[a-d]", "[a-d]", text(), Just("a.value".to_owned())];
    let maybe = || prop::option::of(column());
    (shape, column(), maybe(), maybe(), maybe(), text()).prop_map(|(shape, x, y, series, of, title)| {
        Picture { shape, x, y, series, of, x_title: Some(title.clone()), y_title: None, title }
    })
}

/// Objects with any fields, in any order.
fn objects() -> impl Strategy<Value = Rows> {
    let value = prop_oneof![
        number().prop_map(Value::from),
        text().prop_map(Value::from),
        Just(Value::Null),
        Just(Value::from(true)),
        (number(), number(), number())
            .prop_map(|(value, lower, upper)| json!({"value": value, "lower": lower, "upper": upper})),
        (text(), number()).prop_map(|(key, value)| json!({key: [value]})),
    ];
    let row = prop::collection::vec((prop_oneof!["[a-d]", text()], value), 0..5).prop_map(ReportRow);
    let pictures = prop::collection::vec(pictured(), 0..3);
    (text(), text(), prop::collection::vec(row, 0..5), pictures).prop_map(|(name, title, rows, pictures)| {
        Rows { notes: vec![title.clone()], name, title, rows, pictures }
    })
}

fn judged() -> impl Strategy<Value = Judgement> {
    let threshold = prop::option::of(number());
    (text(), text(), prop::collection::vec((text(), threshold), 0..4)).prop_map(|(name, word, found)| {
        let sentences = found.iter().map(|(text, _)| text.clone()).collect();
        let finding = |(check, measured)| Finding { check, measured, ..verdict().findings[0].clone() };
        let findings = found.into_iter().map(finding).collect();
        Judgement { name, verdict: word, sentences, findings, ..verdict() }
    })
}

pub(crate) fn reports() -> impl Strategy<Value = Report> {
    let mapped = prop::collection::vec(number(), 0..12).prop_map(|values| {
        let mut map = map();
        map.tokens.truncate(values.len());
        map.layers.truncate(values.len() % 4);
        map.axes = values.len().is_multiple_of(2).then(|| super::samples::matrix().axes).flatten();
        map.layers.iter_mut().for_each(|layer| layer.token_values = values.clone());
        Item::Map(Box::new(map))
    });
    let cell = prop_oneof![
        (number(), number()).prop_map(|(mean, error)| Cell::Estimate { mean, error }),
        number().prop_map(Cell::Number),
        text().prop_map(Cell::Word),
        (number(), number(), number()).prop_map(|(value, lower, upper)| Cell::Interval {
            value,
            lower,
            upper
        }),
        Just(Cell::Empty),
    ];
    let rows = prop::collection::vec(prop::collection::vec(cell, 0..6), 0..4);
    let tabled = (text(), prop::collection::vec(text(), 0..6), rows)
        .prop_map(|(title, columns, rows)| Item::Table(Table { title, columns, rows, ..Table::default() }));
    let item = prop_oneof![
        attributed().prop_map(|a| Item::Attribution(Box::new(a))),
        ruled().prop_map(|r| Item::Rule(Box::new(r))),
        edited().prop_map(|e| Item::Edits(Box::new(e))),
        mapped,
        tabled,
        objects().prop_map(Item::Rows),
        judged().prop_map(Item::Verdict),
    ];
    prop::collection::vec(item, 0..4).prop_map(report)
}

/// Escape sequences of our own begin with ESC `[`, hold digits and semicolons and end with `m`.
fn without_colour(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| {
        let (code, rest) = part.split_once('m').unwrap();
        assert!(code.chars().all(|c| c.is_ascii_digit() || c == ';'), "{code:?}");
        rest
    });
    rest.fold(first, |all, part| all + part)
}

fn assert_safe(report: &Report, width: usize) {
    for format in Format::ALL {
        for colour in [false, true] {
            let out = render(report, format, &RenderOptions { colour, width, row: None });
            match format {
                Format::Text => assert_fits(&without_colour(&out), width),
                Format::Html => assert_inert(&out),
                Format::Svg => assert_inert(&out),
                Format::Json | Format::Jsonl | Format::Csv => {}
            }
        }
    }
}

fn assert_fits(text: &str, width: usize) {
    for line in text.lines() {
        assert!(!line.chars().any(|c| c.is_control()), "{line:?}");
        assert!(line.width() <= width.max(40), "{} columns: {line}", line.width());
    }
}

/// Every `<` opens a tag of ours.
fn assert_inert(markup: &str) {
    let ours = [
        "!doctype",
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "section",
        "header",
        "footer",
        "h1",
        "h2",
        "h3",
        "p",
        "b",
        "bdi",
        "code",
        "small",
        "span",
        "div",
        "i",
        "mark",
        "del",
        "ins",
        "ul",
        "li",
        "dl",
        "dt",
        "dd",
        "figure",
        "figcaption",
        "table",
        "thead",
        "tbody",
        "tfoot",
        "tr",
        "th",
        "td",
        "details",
        "summary",
        "svg",
        "text",
        "line",
        "rect",
        "circle",
        "polyline",
        "polygon",
        "g",
        "path",
    ];
    for tag in markup.split('<').skip(1) {
        let name = tag.trim_start_matches('/').split([' ', '>', '/']).next().unwrap_or_default();
        assert!(ours.contains(&name), "<{tag}");
    }
    assert!(!markup.chars().any(|c| c.is_control() && c != '\n'));
    assert_eq!(markup.matches("<title").count(), markup.matches("</title").count());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn nothing_panics_or_leaks(report in reports(), width in 0..140usize) {
        assert_safe(&report, width);
    }

    /// A damaged file is refused or shown, never a panic.
    #[test]
    fn damaged_files_are_refused_or_shown(sample in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), with in ".{0,3}", gone in 0..4usize) {
        let mut named = samples::named();
        let (_, report) = named.swap_remove(sample.index(named.len()));
        let mut json = render(&report, Format::Jsonl, &RenderOptions::default()).into_bytes();
        let at = at.index(json.len());
        let end = (at + gone).min(json.len());
        json.splice(at..end, with.into_bytes());
        if let Ok(report) = read(&json) {
            assert_safe(&report, 80);
        }
    }
}

#[test]
fn samples_are_safe_at_every_width() {
    for (_, report) in samples::named() {
        for width in [0, 40, 41, 59, 60, 77, 120, 400] {
            assert_safe(&report, width);
        }
    }
}

#[test]
fn long_texts_are_shown_whole_and_quickly() {
    let text: String = (0..5000).map(|n| format!("word{n} ")).collect();
    let names: Vec<String> = (0..5000).map(|n| format!("word{n}")).collect();
    let words: Vec<_> =
        names.iter().zip(0..).map(|(word, n)| (0, word.as_str(), f64::from(n % 7) - 3.0)).collect();
    let item = || Item::Attribution(Box::new(attribution(&[("text", &text)], &words, all_checks())));
    let report = report([item(), item()]);
    let begun = std::time::Instant::now();
    assert_safe(&report, 100);
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    let alone = Report { items: report.items[..1].to_vec(), ..report };
    for format in Format::ALL {
        assert!(render(&alone, format, &RenderOptions::default()).contains("word4999"), "{format:?}");
    }
}

/// Of long texts the best is shown whole, the others around their changes; every rule and every list has an end.
#[test]
fn long_rules_and_edits_are_shown_quickly() {
    let text: String = (0..5000).map(|n| format!("word{n} ")).collect();
    let (mut rule, mut edits) = (rule(), edits());
    rule.subject.input[0].text = text.clone();
    rule.units = vec![UnitText { text: "word0".to_owned(), field: 0, start: 0, end: 5 }];
    (rule.conditions, rule.steps) = (vec![0], Vec::new());
    let field = |text: &str| vec![Field { name: "text".to_owned(), text: text.to_owned() }];
    rule.keeps = vec![field(&text.replace("word7", "UNK")); 30];
    edits.subject.input[0].text = text.clone();
    let swap = Swap { field: 0, start: 0, end: 5, before: "word0".to_owned(), after: "x".to_owned() };
    edits.found[0].swaps = vec![swap];
    edits.found = vec![edits.found[0].clone(); 30];
    let report = report([Item::Rule(Box::new(rule)), Item::Edits(Box::new(edits))]);
    let begun = std::time::Instant::now();
    assert_safe(&report, 100);
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    for format in [Format::Text, Format::Html, Format::Svg] {
        let out = render(&report, format, &RenderOptions::default());
        // The text of the rule and the best of the edits.
        assert_eq!(out.matches("word4999").count(), 2, "{format:?}");
        assert!(out.contains("[word0]") || out.contains(">word0<"), "{format:?}");
    }
}

/// The check above would notice: a planted tag is found.
#[test]
#[should_panic(expected = "<script")]
fn a_planted_tag_is_found() {
    assert_inert("<p><script>x</script></p>");
}
