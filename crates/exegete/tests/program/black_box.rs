//! What the card says of black boxes that no word moves, and of ones that answer the same text in several ways.

use crate::harness::{exegete, golden};
use serde_json::Value;

const TEXT: &str = "A warm and honest film about my city.";
const HIDING: [&str; 4] = ["lime", "kernel_shap", "partition_shap", "leave_one_out"];
/// Answers the same whatever it reads.
const CONSTANT: &str = r#"cmd: while IFS= read -r line; do echo '{"scores":[[0.3,0.7]]}'; done"#;
/// The same but for the rounding of a busy machine, which differs from text to text.
const ROUNDING: &str = r#"cmd: while IFS= read -r line; do case "$line" in *honest*) echo '{"scores":[[0.29999999999,0.70000000001]]}';; *) echo '{"scores":[[0.3,0.7]]}';; esac; done"#;
/// Looks for one word.
const HONEST: &str = r#"cmd: while IFS= read -r line; do case "$line" in *honest*) echo '{"scores":[[0.2,0.8]]}';; *) echo '{"scores":[[0.4,0.6]]}';; esac; done"#;
/// Looks for the same word, and answers a little otherwise every other time.
const WAVERING: &str = r#"cmd: n=0; while IFS= read -r line; do n=$((1-n)); case "$line" in *honest*) echo "{\"scores\":[[0.$((20+n)),0.$((80-n))]]}";; *) echo "{\"scores\":[[0.$((40+n)),0.$((60-n))]]}";; esac; done"#;

fn on(model: &str, args: &[&str]) -> String {
    let run = exegete(&[&["explain", TEXT, "--model", model, "--batch", "1"], args].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.stdout
}

fn explained(model: &str, args: &[&str]) -> Value {
    let report: Value = serde_json::from_str(&on(model, &[args, &["--format", "json"]].concat())).unwrap();
    report["items"][0].clone()
}

#[test]
fn what_no_word_moves_has_no_scores() {
    let zero = "all scores are 0: they rank nothing";
    let says = |model: &str, method: &str| {
        let item = explained(model, &["--method", method]);
        let failures = item["checks"]["verdict"]["failures"].clone();
        let all_zero = item["values"].as_array().unwrap().iter().all(|value| value == 0.0);
        let tau = item["checks"]["leave_one_out"]["tau"].is_null();
        assert_eq!(tau, all_zero, "{method}: the order of rounding agrees with nothing");
        let sure = !item["notes"].to_string().contains("words act together") || !all_zero;
        assert!(sure && (method != "lime" || item["params"]["r2"].is_null() == all_zero), "{item}");
        (failures.as_array().unwrap().iter().any(|failure| failure == zero), all_zero)
    };
    let says_alone = |model: &str, method: &str| {
        let item = explained(model, &["--method", method, "--no-check"]);
        let all_zero = item["values"].as_array().unwrap().iter().all(|value| value == 0.0);
        let notes = item["notes"].as_array().cloned().unwrap_or_default();
        let no_errors = item["errors"].as_array().is_none_or(Vec::is_empty);
        assert!(no_errors || !all_zero, "{method}: no errors of rounding");
        (notes.iter().any(|note| note == zero), all_zero)
    };
    for method in HIDING {
        for model in [CONSTANT, ROUNDING] {
            assert_eq!(says(model, method), (true, true), "{method} on {model}");
            assert_eq!(says_alone(model, method), (true, true), "{method} on {model} without a card");
        }
        assert_eq!(says(HONEST, method), (false, false), "{method}: a word that counts is named");
        assert_eq!(says_alone(HONEST, method), (false, false), "{method} without a card");
    }
}

#[test]
fn no_bar_is_drawn_of_rounding() {
    let card = ["default", "none"];
    for (model, drawn, card) in card.iter().flat_map(|card| [(ROUNDING, false, card), (HONEST, true, card)]) {
        let shown = |format: &str| on(model, &["--method", "lime", "--check", card, "--format", format]);
        let (text, page, picture) = (shown("text"), shown("html"), shown("svg"));
        for told in [&text, &page] {
            assert_eq!(told.contains("all scores are 0"), !drawn, "{told}");
        }
        assert_eq!(text.contains('█'), drawn, "{text}");
        let widths = picture.split("<rect ").filter(|rect| rect.contains("fill-opacity"));
        let widths = widths.filter_map(|rect| rect.split("width=\"").nth(1)?.split('"').next());
        let widths: Vec<f64> = widths.map(|width| width.parse().unwrap()).collect();
        assert!(widths.iter().all(|width| width.is_finite()), "{picture}");
        assert_eq!(widths.iter().any(|&width| width > 1.0), drawn, "{picture}");
    }
}

#[test]
fn a_model_that_wavers_is_no_independent_witness() {
    let doubt = "the model answers the same text in several ways";
    for method in HIDING {
        let chance = |model: &str| explained(model, &["--method", method])["checks"]["chance"].clone();
        let (steady, wavering) = (chance(HONEST), chance(WAVERING));
        assert!(!steady["says"].as_str().unwrap().contains(doubt), "{method}: {steady}");
        assert_eq!(wavering["independent"], false, "{method}: {wavering}");
        let says = wavering["says"].as_str().unwrap();
        assert!(says.ends_with(&format!("the evidence is not independent: {doubt}")), "{method}: {says}");
    }
    assert_eq!(explained(HONEST, &["--method", "leave_one_out"])["checks"]["chance"]["independent"], true);
    let card = on(WAVERING, &["--method", "leave_one_out"]);
    let card = card.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(card.contains(doubt) && card.contains("answered twice"), "{card}");
}

/// What the model gives without the text stands beside what it gives for it, in every format and under its own name.
#[test]
fn what_an_empty_text_gives_is_said() {
    let told = "an empty text already gives 0.60";
    let asked = ["--method", "leave_one_out", "--no-check"];
    for format in ["text", "html"] {
        let shown = on(HONEST, &[&asked[..], &["--format", format]].concat());
        assert!(shown.contains(told), "{format}: {shown}");
    }
    let found = explained(HONEST, &asked);
    assert!((found["baseline_value"].as_f64().unwrap() - 0.6).abs() < 1e-9, "{}", found["baseline_value"]);
    assert!((found["value"].as_f64().unwrap() - 0.8).abs() < 1e-9, "{}", found["value"]);
}

/// A method with a baseline of its own says what F is there, a loss keeps its turned sign, and what compares with nothing says
/// nothing.
#[test]
fn baselines_have_a_value_too() {
    let model = golden("bert-sequence");
    let shown = |args: &[&str]| {
        let run = exegete(&[&["explain", TEXT, "--no-check", "--model", &model], args].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stdout
    };
    let item = |args: &[&str]| -> Value {
        let report: Value = serde_json::from_str(&shown(&[args, &["--format", "json"]].concat())).unwrap();
        report["items"][0].clone()
    };
    let gradients = ["--method", "integrated_gradients"];
    let found = item(&gradients);
    let [value, baseline] = ["value", "baseline_value"].map(|name| found[name].as_f64().unwrap());
    let difference = found["checks"]["completeness"]["difference"].as_f64().unwrap();
    assert!((value - baseline - difference).abs() < 1e-6, "{value} - {baseline} is not {difference}");
    for format in ["text", "html"] {
        let page = shown(&[&gradients[..], &["--format", format]].concat());
        assert!(page.contains("its baseline (zero) gives "), "{format}: {page}");
    }
    let loss = item(&["--method", "leave_one_out", "--target", "loss", "--label", "positive"]);
    assert!(
        ["value", "baseline_value"].iter().all(|name| loss[*name].as_f64().unwrap() < 0.0),
        "minus the loss"
    );
    assert!(item(&["--method", "saliency"]).get("baseline_value").is_none());
    assert!(!shown(&["--method", "saliency"]).contains(" gives "), "nothing to compare with");
}
