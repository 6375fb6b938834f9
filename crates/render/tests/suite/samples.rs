//! Reports made by hand, one for each thing that renderers must show.

mod evidence;
mod experiment;
mod found;
mod maps;
mod pictures;

pub(crate) use evidence::{all_checks, failing, few_checks, undecided};
use exegete_core::report::{
    Attribution, Cell, Checks, Item, ModelName, Provenance, Report, SCHEMA, Subject, Table, TokenText,
    UnitText,
};
use exegete_core::{ClassScore, Field, Scores};
pub(crate) use experiment::verdict;
pub(crate) use found::{edits, rule};
pub(crate) use maps::{map, matrix};
use std::collections::BTreeMap;

/// The reports that have snapshots, by name.
pub(crate) fn named() -> Vec<(&'static str, Report)> {
    vec![
        ("full", full()),
        ("failing", report([failing_item()])),
        ("pair", pair()),
        ("methods", methods()),
        ("map", report([Item::Map(Box::new(map()))])),
        ("matrix", report([Item::Map(Box::new(matrix()))])),
        ("table", report([Item::Table(table())])),
        ("wide", report([Item::Table(wide())])),
        ("sampled", sampled()),
        ("rule", report([Item::Rule(Box::new(rule()))])),
        ("weak_rule", report([Item::Rule(Box::new(found::weak_rule()))])),
        ("edits", report([Item::Edits(Box::new(edits()))])),
        ("reduction", report([Item::Edits(Box::new(found::reduction()))])),
        ("no_edits", report([found::missed(), found::nothing()].map(|edits| Item::Edits(Box::new(edits))))),
        ("experiment", report(experiment::items())),
        ("pictures", report(pictures::items())),
        ("empty", empty()),
        ("hostile", hostile()),
    ]
}

pub(crate) fn report(items: impl IntoIterator<Item = Item>) -> Report {
    let model = ModelName {
        name: "default".to_owned(),
        family: "bert".to_owned(),
        fingerprint: "5c1f0e9ab2d47786".to_owned(),
    };
    let provenance = Provenance {
        version: "0.1.0".to_owned(),
        model,
        seed: 0,
        threads: 2,
        seconds: 0.8437,
        forward_rows: 132,
        asked_rows: 150,
        backward_rows: 24,
    };
    Report { schema: SCHEMA.to_owned(), provenance, request: None, items: items.into_iter().collect() }
}

/// Scores for words of some fields; words are looked for in order, field after field.
pub(crate) fn attribution(
    fields: &[(&str, &str)],
    words: &[(usize, &str, f64)],
    checks: Checks,
) -> Attribution {
    let mut units: Vec<UnitText> = Vec::new();
    for &(field, word, _) in words {
        let from = units.last().filter(|last| last.field == field).map_or(0, |last| last.end);
        let start = from + fields[field].1[from..].find(word).unwrap();
        units.push(UnitText { text: word.to_owned(), field, start, end: start + word.len() });
    }
    let values: Vec<f64> = words.iter().map(|(.., value)| *value).collect();
    let token = |unit: &UnitText| TokenText {
        piece: unit.text.to_lowercase(),
        text: Some(unit.text.clone()),
        field: Some(unit.field),
        start: Some(unit.start),
        end: Some(unit.end),
        special: false,
    };
    let tokens = std::iter::once(special("[CLS]")).chain(units.iter().map(token)).collect();
    let token_values = std::iter::once(0.011).chain(values.iter().copied()).collect();
    let subject = subject(fields, "integrated_gradients");
    let site = "embed.word".to_owned();
    Attribution {
        subject,
        site,
        tokens,
        token_values,
        units,
        values,
        errors: Vec::new(),
        baseline_value: Some(-0.31),
        checks,
    }
}

pub(crate) fn special(piece: &str) -> TokenText {
    TokenText { piece: piece.to_owned(), text: None, field: None, start: None, end: None, special: true }
}

pub(crate) fn subject(fields: &[(&str, &str)], method: &str) -> Subject {
    let score = |label: &str, logit, prob| ClassScore { label: label.to_owned(), logit: Some(logit), prob };
    let scores = vec![score("negative", 2.1, 0.987), score("positive", -2.2, 0.013)];
    let field = |(name, text): &(&str, &str)| Field { name: (*name).to_owned(), text: (*text).to_owned() };
    Subject {
        method: method.to_owned(),
        params: BTreeMap::from([("baseline".to_owned(), "zero".into()), ("points".to_owned(), 21.into())]),
        input: fields.iter().map(field).collect(),
        prediction: Scores::Classes { label: "negative".to_owned(), scores },
        target: "class:negative:logit".to_owned(),
        value: 2.1,
        sense: Default::default(),
        notes: Vec::new(),
    }
}

pub(crate) const REVIEW: &str = "I expected to like it, but the plot is a terrible mess and the jokes don't land. \
    A few good songs cannot save it; I left before the end.";

fn review_words() -> Vec<(usize, &'static str, f64)> {
    let scores: [(&str, f64); 30] = [
        ("I", 0.021),
        ("expected", 0.187),
        ("to", 0.034),
        ("like", -0.412),
        ("it", -0.011),
        (",", 0.002),
        ("but", 0.305),
        ("the", 0.018),
        ("plot", 0.142),
        ("is", -0.007),
        ("a", 0.009),
        ("terrible", 1.314),
        ("mess", 0.871),
        ("and", -0.013),
        ("the", 0.004),
        ("jokes", 0.061),
        ("don't", 0.466),
        ("land", 0.052),
        (".", 0.0),
        ("A", 0.012),
        ("few", -0.093),
        ("good", -0.688),
        ("songs", -0.151),
        ("cannot", 0.377),
        ("save", 0.029),
        ("it", 0.008),
        (";", -0.001),
        ("I", 0.017),
        ("left", 0.243),
        ("end", 0.117),
    ];
    scores.iter().map(|(word, value)| (0, *word, *value)).collect()
}

fn full() -> Report {
    let mut full = attribution(&[("text", REVIEW)], &review_words(), all_checks());
    full.errors = full.values.iter().map(|value| 0.02 + 0.1 * value.abs()).collect();
    report([Item::Attribution(Box::new(full))])
}

pub(crate) fn failing_item() -> Item {
    let mut item = attribution(&[("text", REVIEW)], &review_words(), failing());
    item.subject.notes = vec!["the text was cut off after 512 tokens".to_owned()];
    Item::Attribution(Box::new(item))
}

fn pair() -> Report {
    let fields = [("premise", "Two dogs run across a field."), ("hypothesis", "Animals are outdoors.")];
    let words = [
        (0, "Two", 0.05),
        (0, "dogs", 0.61),
        (0, "run", -0.08),
        (0, "across", 0.02),
        (0, "a", 0.0),
        (0, "field", 0.44),
        (0, ".", 0.01),
        (1, "Animals", 0.72),
        (1, "are", -0.03),
        (1, "outdoors", -0.39),
        (1, ".", 0.02),
    ];
    report([Item::Attribution(Box::new(attribution(&fields, &words, few_checks())))])
}

fn methods() -> Report {
    let words = review_words();
    let with = |method: &str, change: fn(f64) -> f64, checks| {
        let words: Vec<_> =
            words.iter().map(|(field, word, value)| (*field, *word, change(*value))).collect();
        let mut item = attribution(&[("text", REVIEW)], &words, checks);
        item.subject.method = method.to_owned();
        if method == "kernel_shap" {
            item.subject.notes = vec!["stopped at 4096 samples".to_owned()];
            item.subject.params.insert("samples".to_owned(), 4096.into());
            item.errors = item.values.iter().map(|value| 0.002 + 0.05 * value.abs()).collect();
        }
        Item::Attribution(Box::new(item))
    };
    report([
        with("integrated_gradients", |value| value, few_checks()),
        with("saliency", |value| 10.0 * value.abs().sqrt(), failing()),
        with("kernel_shap", |value| 0.1 * value - 0.004, few_checks()),
    ])
}

fn table() -> Table {
    let row = |name: &str, mean, error, rows: f64| {
        vec![
            Cell::Word(name.to_owned()),
            Cell::Estimate { mean, error },
            Cell::Number(-mean / 3.0),
            Cell::Number(rows),
        ]
    };
    let mut rows = vec![
        row("integrated_gradients", 0.512, 0.021, 132.0),
        row("saliency", 0.204, 0.019, 4.0),
        row("=HYPERLINK(\"x\")", 0.0871, 0.0204, 1204.0),
    ];
    rows.push(vec![
        Cell::Word("random".to_owned()),
        Cell::Number(0.1),
        Cell::Empty,
        Cell::Number(f64::from(0.1f32)),
    ]);
    Table {
        title: "Methods on 200 reviews".to_owned(),
        columns: ["method", "comprehensiveness", "sufficiency", "rows"].map(str::to_owned).to_vec(),
        rows,
        notes: vec!["means over texts, with the standard error".to_owned()],
        ..Table::default()
    }
}

/// Text cells beside numbers.
fn wide() -> Table {
    let row = |trigger: &str, text: &str, before, after, hits| {
        let words = [trigger, text].map(|word| Cell::Word(word.to_owned()));
        words.into_iter().chain([before, after, hits].map(Cell::Number)).collect::<Vec<_>>()
    };
    let hebrew = "הסרט היה נהדר, ממש נהדר, והמשחק של השחקנים היה יוצא מן הכלל לאורך כל הסרט";
    let rows = vec![
        row("zoning tapping fiennes", REVIEW, 0.912, 0.031, 871.0),
        row("blutarsky", "Two dogs run across a field.", 0.912, 0.402, 44.0),
        row("ממש נהדר", hebrew, 0.5, 0.25, 3.0),
    ];
    let columns = ["trigger", "an example", "accuracy", "with trigger", "texts flipped"];
    Table {
        title: "Triggers that force negative".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
        ..Table::default()
    }
}

/// A sampled method on a black box: no logits, no site inside the model, scores with errors that tie some ranks.
fn sampled() -> Report {
    let mut item = attribution(&[("text", REVIEW)], &review_words(), few_checks());
    item.errors = item.values.iter().map(|value| 0.06 + 0.05 * value.abs()).collect();
    item.site = "input".to_owned();
    let subject = &mut item.subject;
    subject.method = "lime".to_owned();
    (subject.target, subject.value) = ("class:negative:prob".to_owned(), 0.987);
    subject.params = BTreeMap::from([("samples".to_owned(), 512.into()), ("r2".to_owned(), 0.873.into())]);
    if let Scores::Classes { scores, .. } = &mut subject.prediction {
        scores.iter_mut().for_each(|score| score.logit = None);
    }
    let mut report = report([Item::Attribution(Box::new(item))]);
    (report.provenance.asked_rows, report.provenance.forward_rows) = (612, 488);
    report.provenance.backward_rows = 0;
    report
}

fn empty() -> Report {
    let nothing = attribution(&[("text", "")], &[], Checks::default());
    let nowhere = attribution(&[], &[], Checks::default());
    report([Item::Attribution(Box::new(nothing)), Item::Attribution(Box::new(nowhere))])
}

/// Markup, quotes, controls, formulas, right-to-left and wide text.
pub(crate) const HOSTILE: &str = "<script>alert('x')</script> =1+1 \"quoted\" & \u{1b}[31mred\0\u{7} \u{9b}2J \
    \u{202e}evil\u{202c}\nהסרט היה נהדר, ממש 很好的电影 👩‍👩‍👧‍👦🎬 Pneumonoultramicroscopicsilicovolcanoconiosis-Pneumonoultramicroscopicsilicovolcanoconiosis";

fn hostile() -> Report {
    let words = [
        (0, "<script>alert('x')</script>", 1.0),
        (0, "=1+1", -0.9),
        (0, "\"quoted\"", 0.5),
        (0, "&", 0.2),
        (0, "\u{1b}[31mred\0\u{7}", -0.4),
        (0, "\u{202e}evil\u{202c}", 0.3),
        (0, "הסרט", 0.7),
        (0, "היה", 0.01),
        (0, "נהדר", -0.8),
        (0, "很好", 0.6),
        (0, "的", 0.0),
        (0, "电影", -0.3),
        (0, "👩‍👩‍👧‍👦", 0.9),
        (0, "🎬", -0.2),
        (
            0,
            "Pneumonoultramicroscopicsilicovolcanoconiosis-Pneumonoultramicroscopicsilicovolcanoconiosis",
            0.4,
        ),
    ];
    let mut item = attribution(&[("<b>name", HOSTILE)], &words, failing());
    item.subject.target = "class:<img src=x onerror=alert(1)>\u{1b}]0;x\u{7}:logit".to_owned();
    item.subject.notes = vec!["<script>note</script>".to_owned()];
    let [rule, edits] = found::hostile();
    let [verdict, rows] = experiment::hostile();
    report([Item::Attribution(Box::new(item)), rule, edits, verdict, rows, pictures::hostile()])
}
