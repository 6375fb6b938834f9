//! `exegete model …`, `exegete bench` and the help.

use crate::harness::{exegete, golden};
use crate::snapshot::assert_snapshot;
use serde_json::Value;

#[test]
fn what_a_model_is() {
    let model = golden("bert-sequence");
    for (name, args) in [
        ("model-info", ["model", "info", &model, "--format", "text"]),
        ("model-info-json", ["model", "info", &model, "--format", "json"]),
        ("model-sites", ["model", "sites", &model, "--format", "text"]),
    ] {
        assert_snapshot(name, &exegete(&args), None);
    }
}

#[test]
fn sites_as_data() {
    let run = exegete(&["model", "sites", &golden("bert-sequence"), "--format", "json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["schema"], "exegete.sites/1");
    let sites = document["sites"].as_array().unwrap();
    // Two embeddings, eleven places in each of three layers, pooled and logits.
    assert_eq!(sites.len(), 2 + 3 * 11 + 2);
    assert_eq!(sites[0].to_string(), r#"{"axes":["token",{"unit":18}],"cut":true,"site":"embed.word"}"#);
}

#[test]
fn a_sound_model_passes_its_check() {
    for name in ["bert-sequence", "bert-qa", "bert-mlm", "bert-bare", "roberta-mlm", "electra-token"] {
        let run = exegete(&["model", "check", &golden(name)]);
        assert_eq!(run.code, 0, "{name}\n{}{}", run.stdout, run.stderr);
        assert!(
            run.stdout.contains("1 and 2 threads agree") && !run.stdout.contains("FAIL"),
            "{}",
            run.stdout
        );
    }
    let run = exegete(&["model", "check", &golden("bert-sequence"), "--format", "json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&document["schema"], &document["passed"]), (&"exegete.check/1".into(), &true.into()));
    assert!(document["checks"].as_array().unwrap().len() > 4);
}

#[test]
fn a_bench_reports_every_figure() {
    let run = exegete(&["bench", "--quick", "--model", &golden("bert-sequence"), "--format", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    let figures = document["figures"].as_array().unwrap();
    let names: Vec<_> = figures.iter().map(|figure| figure["name"].as_str().unwrap()).collect();
    let all = [
        "forward_batch",
        "forward_mixed",
        "forward_single",
        "gradient",
        "integrated_gradients",
        "ablations",
        "load",
        "start",
    ];
    assert_eq!(names, all);
    assert!(document["peak"]["gflops"].as_f64().unwrap() > 0.0);
    assert!(!document["machine"]["cpu"].as_str().unwrap().is_empty());
    describes_the_machine(&document);
    let shares: Vec<_> = figures.iter().map(|figure| figure["share_of_bandwidth"].as_f64()).collect();
    assert!(shares[2].is_some_and(|share| share > 0.0), "{}", figures[2]);
    assert_eq!(shares.iter().flatten().count(), 1, "only one text is held against memory: {shares:?}");
    assert_eq!(document["self_check"]["passed"], true, "{}", document["self_check"]);
    for figure in &figures[..5] {
        assert!(
            figure["flops"].as_u64().unwrap() > 0 && figure["seconds"].as_f64().unwrap() > 0.0,
            "{figure}"
        );
    }
    let budget = document["memory_bytes"].as_u64().unwrap();
    assert!(figures[3]["peak_bytes"].as_u64().unwrap() <= budget);
}

#[test]
fn a_bench_says_what_memory_gives() {
    let run = exegete(&["bench", "--quick", "--only", "single", "--model", &golden("bert-sequence")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for part in ["memory is read at ", " GB/s", "weights read at 0.", "of memory's rate"] {
        assert!(run.stdout.contains(part), "{part} is not in:\n{}", run.stdout);
    }
}

/// The machine in plain fields: what it is, what its products, its registers and its memory reach.
fn describes_the_machine(document: &Value) {
    let number = |field: &str| document[field].as_f64().unwrap_or_else(|| panic!("{field}: {document}"));
    assert_eq!(document["cpu"], document["machine"]["cpu"]);
    assert_eq!(number("peak_product"), document["peak"]["gflops"].as_f64().unwrap());
    assert_eq!(number("peak_fma"), document["peak"]["register_gflops"].as_f64().unwrap());
    assert!((0.1..1e4).contains(&number("bandwidth")), "{}", document["bandwidth"]);
    let tile = &document["machine"]["tile"];
    assert_eq!(document["width"], tile["width_bits"]);
    match tile["rows"].as_u64() {
        Some(rows) => assert_eq!(document["tile"], format!("{rows} × 2")),
        None => assert_eq!(document["tile"], Value::Null),
    }
}

/// Every x86 machine that has a tile at all has the narrowest; ARM servers have no other.
#[test]
fn a_bench_takes_the_width_it_is_told() {
    let model = golden("bert-sequence");
    let args =
        ["bench", "--quick", "--only", "single", "--width", "128", "--model", &model, "--format", "json"];
    let run = exegete(&args);
    if run.stderr.contains("has no tile of 128 bits") {
        return println!("{}", run.stderr);
    }
    assert_eq!(run.code, 0, "{}", run.stderr);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["machine"]["tile"]["width_bits"], 128);
    describes_the_machine(&document);
    assert!(document["peak"]["register_gflops"].as_f64().unwrap() > 0.0);
    assert_eq!(document["self_check"]["passed"], true, "{}", document["self_check"]);
    assert_ne!(exegete(&["bench", "--quick", "--width", "96"]).code, 0);
}

#[test]
fn help_is_help() {
    for args in
        [&["--help"][..], &["predict", "--help"], &["model", "--help"], &["bench", "--help"], &["--version"]]
    {
        let run = exegete(args);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{args:?}");
        assert!(run.stdout.len() > 10, "{args:?}");
    }
}
