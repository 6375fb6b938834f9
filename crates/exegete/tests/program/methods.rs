//! `exegete methods`, and what `--set` says.

use crate::harness::{assert_error, exegete, golden};
use serde_json::Value;

fn explain(model: &str, args: &[&str]) -> crate::harness::Run {
    let model = golden(model);
    exegete(&[&["explain", "--model", &model, "--check", "none"], args].concat())
}

#[test]
fn a_page_holds_the_table_of_its_parameters() {
    let page = exegete(&["methods", "integrated_gradients"]);
    assert_eq!((page.code, page.stderr.as_str()), (0, ""));
    let parameters = page.stdout.split("## Parameters\n\n").nth(1).unwrap();
    let names = |line: &str| line.split('`').nth(1).unwrap().to_owned();
    let table: Vec<String> =
        parameters.lines().skip(2).take_while(|line| line.starts_with('|')).map(names).collect();
    let own = ["tolerance", "steps", "rule", "path"];
    let common = ["normalise", "reduce", "noise", "noise_samples", "sigma", "sigma_absolute", "softplus"];
    assert_eq!(table, [&own[..], &common].concat());
    assert!(parameters.starts_with("| parameter "), "{parameters}");
    let unknown = exegete(&["methods", "limes", "--format", "json"]);
    assert_error(&unknown, &["'limes' is no method; did you mean lime?"]);
    assert_error(&exegete(&["methods", "limes"]), &["did you mean lime?"]);
}

#[test]
fn a_method_as_data() {
    let run = exegete(&["methods", "occlusion", "--format", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let one: Value = serde_json::from_str(&run.stdout).unwrap();
    let window = &one["parameters"]["properties"]["window"];
    assert_eq!((&window["type"], &window["default"]), (&"integer".into(), &3.into()));
    assert_eq!((&window["minimum"], &window["maximum"]), (&1.into(), &100_000.into()));
    assert_eq!(one["promises"][0], "sensitivity");
    let list: Value = serde_json::from_str(&exegete(&["methods", "--format", "json"]).stdout).unwrap();
    assert_eq!(list["schema"], "exegete.methods/1");
    let methods = list["methods"].as_array().unwrap();
    assert_eq!(methods.iter().find(|method| method["name"] == "occlusion").unwrap(), &one);
    let lines = exegete(&["methods"]).stdout.lines().count();
    assert_eq!(methods.len(), lines - 1, "as many as the table has");
}

/// What would fill the memory or run for ever is refused in one line, before anything is opened.
#[test]
fn absurd_counts_are_refused() {
    for (method, setting, told) in [
        ("integrated_gradients", "steps=999999999999", "from 1 to 10,000"),
        ("saliency", "noise_samples=999999999999", "from 1 to 100,000"),
        ("conductance", "steps=999999999999", "from 1 to 10,000"),
        ("internal_influence", "steps=999999999999", "from 1 to 10,000"),
        ("permutation_shap", "samples=999999999999", "from 1 to 1,000,000"),
        ("gradient_shap", "samples=999999999999", "from 1 to 1,000,000"),
        ("kernel_shap", "samples=999999999999", "from 1 to 1,000,000"),
        ("lime", "budget=999999999999", "from 1 to 1,000,000"),
        ("lime", "keep=999999999999", "from 1 to 100,000"),
        ("anchors", "batch=999999999999", "from 1 to 10,000"),
        ("anchors", "budget=18446744073709551616", "from 1 to 1,000,000"),
        ("input_reduction", "beam=999999999999", "from 1 to 1,000"),
        ("hotflip", "candidates=999999999999", "from 1 to 10,000"),
        ("hotflip", "random=999999999999", "from 0 to 100,000"),
        ("triggers", "length=999999999999", "from 1 to 100"),
        ("triggers", "rounds=999999999999", "from 1 to 10,000"),
        ("occlusion", "window=999999999999", "from 1 to 100,000"),
        ("attention", "layer=999999999999", "from 0 to 9,999"),
    ] {
        let noise: &[&str] = if method == "saliency" { &["--set", "noise=smooth"] } else { &[] };
        let run = explain("bert-sequence", &[&["x", "--method", method, "--set", setting], noise].concat());
        assert_error(&run, &[&format!("{setting}: must be a whole number {told}")]);
    }
}

/// Numbers at the ends of what can be written: a search that they would send on for ever is refused, and another one ends.
#[test]
fn absurd_numbers_are_refused() {
    for (method, setting, told) in [
        ("anchors", "threshold=1e-308", "from 0.01 to 0.9999"),
        ("anchors", "threshold=0.99999999999", "from 0.01 to 0.9999"),
        ("anchors", "delta=1e-308", "from 0.000001 to 0.9999"),
        ("gradient_shap", "sigma=1e-308", "from 0.000001 to 1000"),
        ("saliency", "sigma=1e308", "from 0.000001 to 1000"),
        ("saliency", "sigma_absolute=1e308", "from 0.000001 to 1000000"),
    ] {
        let noise: &[&str] = if method == "anchors" { &[] } else { &["--set", "noise=smooth"] };
        let run = explain("bert-sequence", &[&["x", "--method", method, "--set", setting], noise].concat());
        assert_error(&run, &[&format!("{setting}: must be a number {told}")]);
    }
    let legal = explain("bert-sequence", &["a warm film", "--method", "anchors", "--set", "threshold=0.01"]);
    assert_eq!(legal.code, 0, "{}", legal.stderr);
}

/// The largest counts that are legal do not fill the memory either: they run, or say what they would need.
#[test]
fn what_does_not_fit_is_refused_with_a_figure() {
    let text = vec!["film"; 20].join(" ");
    for (method, setting, told) in [
        (
            "permutation_shap",
            "samples=1000000",
            "permutation_shap: up to 1,048,576 rows of 20 units need about",
        ),
        ("kernel_shap", "samples=1000000", "kernel_shap: up to 1,000,002 rows of 20 units need about"),
        ("lime", "samples=1000000", "lime: up to 1,000,000 rows of 20 units need about"),
        ("flipping_set", "budget=1000000", "flipping_set: up to 1,000,000 rows of 20 units need about"),
    ] {
        let run =
            explain("bert-sequence", &[&text, "--method", method, "--set", setting, "--memory", "256MB"]);
        assert_error(&run, &[told, "MiB are allowed"]);
    }
    let many = ["--set", "steps=10000", "--set", "rule=middle", "--memory", "64MB", "--format", "json"];
    let run = explain("bert-sequence", &[&["x", "--method", "integrated_gradients"], &many[..]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn long_work_says_what_it_costs() {
    let text = "a b c d e f g h i j k l m n o p q r s t";
    let lime = |budget: &str| explain("bert-sequence", &[text, "--method", "lime", "--set", budget]);
    let long = lime("budget=50000");
    assert_eq!(long.code, 0, "{}", long.stderr);
    assert!(
        long.stderr.starts_with("lime: up to 50,000 rows of the model; a row takes about "),
        "{}",
        long.stderr
    );
    assert!(long.stderr.contains(" here, so up to "), "{}", long.stderr);
    let orders = |samples: &str| {
        let args = ["a b c d e", "--method", "permutation_shap", "--set", samples];
        explain("bert-sequence", &args).stderr
    };
    let told =
        "permutation_shap: 2,500,000 steps of arithmetic beside the rows of the model, which may take ";
    assert!(orders("samples=250000").starts_with(told), "{}", orders("samples=250000"));
    assert_eq!(orders("samples=1000"), "");
    let short = lime("budget=19999");
    assert_eq!((short.code, short.stderr.as_str()), (0, ""));
}

/// An attack on a model with a large output reads what it needs and keeps nothing else.
#[test]
fn hotflip_reads_one_place_of_a_vocabulary() {
    let args = ["a [MASK] film", "--target", "token:2=year", "--method", "hotflip", "--format", "json"];
    let run = explain("bert-mlm", &args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(report["items"][0]["verdict"]["sentence"].as_str().unwrap().len() > 20);
}
