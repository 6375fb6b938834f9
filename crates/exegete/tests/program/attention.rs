//! `exegete attention test`: tables and rows of known shape, runs that go on, and what cannot be tested.

use crate::harness::{Run, assert_error, exegete, golden, killed_after, root};
use crate::snapshot::assert_snapshot;
use exegete_testkit::{write_small, write_toy_attention};
use serde_json::{Value, json};
use std::fs;

const TEXTS: &str = "a b c d e\ne d c b a a b\na a\nd d e e c a b c\nb\nc b a\n";

struct Folder(tempfile::TempDir);

impl Folder {
    /// A model whose numbers are known, `toy`, and texts of its words.
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        write_toy_attention(folder.0.path().join("toy").as_path()).unwrap();
        fs::write(folder.at("texts.txt"), TEXTS).unwrap();
        folder
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    fn write(&self, name: &str, content: &str) -> String {
        fs::write(self.at(name), content).unwrap();
        self.at(name)
    }

    fn test(&self, model: &str, args: &[&str]) -> Run {
        exegete(&[&["attention", "test", "--input", &self.at("texts.txt"), "--model", model], args].concat())
    }

    fn toy(&self, args: &[&str]) -> Run {
        self.test(&self.at("toy"), args)
    }

    fn report(&self, args: &[&str]) -> Value {
        let run = self.toy(&[args, &["--format", "json"]].concat());
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        serde_json::from_str(&run.stdout).unwrap()
    }
}

fn item<'a>(report: &'a Value, name: &str) -> &'a Value {
    let items = report["items"].as_array().unwrap();
    items.iter().find(|item| item["name"] == name).unwrap_or_else(|| panic!("{name} is missing"))
}

#[test]
fn a_model_worked_by_hand_is_reported_as_it_is() {
    let folder = Folder::new();
    for format in ["text", "json", "csv"] {
        let run = folder.toy(&["--min-words", "2", "--threads", "2", "--format", format]);
        assert_snapshot(&format!("attention-test.{format}"), &run, None);
    }
    for (format, opens) in [("html", "<html"), ("svg", "<svg")] {
        let run = folder.toy(&["--min-words", "2", "--format", format]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{format}");
        assert!(run.stdout.contains(opens), "{format}");
    }
}

#[test]
fn every_item_has_its_columns_and_what_was_left_out_is_counted() {
    let folder = Folder::new();
    let report = folder.report(&["--min-words", "3"]);
    for (name, columns) in [
        ("correlation", &["class", "with", "tau", "sd", "significant", "texts"][..]),
        ("permutation", &["bin", "class", "median_tvd", "texts"]),
        ("adversary", &["class", "jsd_mean", "share_above", "texts"]),
        ("concentration", &["words_90", "share", "texts"]),
        ("flips", &["top", "random", "share"]),
        (
            "removed",
            &["ranking", "median", "lower", "upper", "q1", "q3", "whisker_low", "whisker_high", "undecided"],
        ),
        ("published", &["statistic", "published", "ours", "lower", "upper", "data", "about"]),
        ("refused", &["experiment", "reason"]),
    ] {
        assert_eq!(item(&report, name)["columns"], json!(columns), "{name}");
    }
    let texts = item(&report, "texts");
    assert_eq!(texts["rows"].as_array().unwrap().len(), 4);
    assert_eq!(texts["notes"][0], "2 of 6 texts left out: fewer than 3 words");
    let first = &texts["rows"][0];
    let fields: Vec<&str> = first.as_object().unwrap().keys().map(String::as_str).collect();
    for field in [
        "tokens",
        "alpha",
        "predicted",
        "gradient",
        "leave_one_out",
        "tau_gradient",
        "tau_leave_one_out",
        "words_90",
        "permutation",
        "adversary",
        "erase",
        "share",
        "decisive",
    ] {
        assert!(fields.contains(&field), "{field} is not in {fields:?}");
    }
    assert_eq!((&first["predicted"], &first["words_90"]), (&json!("no"), &json!(4)));
    assert_eq!(first["share"]["attention"], 1.0);
    let flips = item(&report, "flips")["rows"].as_array().unwrap();
    let sum: f64 = flips.iter().map(|row| row[2]["value"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    let refused = item(&report, "refused")["rows"].as_array().unwrap();
    assert_eq!(refused.len(), 4, "{refused:?}");
}

/// The first text and those of the largest JSD are drawn by both weightings, and say why.
#[test]
fn an_adversarys_weights_are_drawn_beside_the_own_ones() {
    let folder = Folder::new();
    let report = folder.report(&["--min-words", "2"]);
    let texts = item(&report, "texts");
    let rows = texts["rows"].as_array().unwrap();
    let drawn: Vec<(f64, &str)> = rows
        .iter()
        .filter_map(|row| Some((row["adversary"]["jsd"].as_f64()?, row["adversary"]["drawn"].as_str()?)))
        .collect();
    assert!((2..=5).contains(&drawn.len()), "{drawn:?}");
    assert!(rows[0]["adversary"]["drawn"].as_str().unwrap().starts_with("the first text"), "{drawn:?}");
    let largest = drawn.iter().max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    assert!(largest.1.contains("the largest JSD: JSD 0."), "{drawn:?}");
    let far = rows.iter().filter_map(|row| row["adversary"]["jsd"].as_f64()).fold(0.0, f64::max);
    assert_eq!(largest.0, far);
    let pictures = texts["pictures"].as_array().unwrap();
    let words = pictures.iter().find(|picture| picture["shape"] == "words").unwrap();
    assert_eq!((&words["y"], &words["of"]), (&json!("alpha"), &json!("adversary.alpha")));
    for format in ["html", "svg"] {
        let run = folder.toy(&["--min-words", "2", "--format", format]);
        assert!(run.stdout.contains("the farthest weights with the same answer"), "{format}");
    }
    let other = folder.report(&["--min-words", "2", "--only", "share"]);
    let pictures = &item(&other, "texts")["pictures"];
    assert!(
        pictures.as_array().is_none_or(|all| all.iter().all(|own| own["shape"] != "words")),
        "{pictures}"
    );
}

#[test]
fn the_name_of_the_output_says_its_format() {
    let folder = Folder::new();
    for (name, opens) in [("page.html", "<!doctype html>"), ("table.csv", "tokens,"), ("page.txt", "")] {
        let path = folder.at(name);
        let run = folder.toy(&["--min-words", "2", "--only", "concentration", "-o", &path]);
        assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{name}: {}", run.stderr);
        let written = fs::read_to_string(path).unwrap();
        assert!(written.to_lowercase().starts_with(opens), "{name}: {written}");
        assert_eq!(written.contains('<'), name == "page.html", "{name}");
    }
}

#[test]
fn only_what_is_named_runs() {
    let folder = Folder::new();
    let report = folder.report(&["--min-words", "2", "--only", "concentration,erase"]);
    let names: Vec<&str> =
        report["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["texts", "concentration", "flips", "published"]);
    assert!(item(&report, "texts")["rows"][0].get("gradient").is_none());
    assert_error(&folder.toy(&["--only", "uniform"]), &["uniform cannot run", "give --train FILE"]);
    assert_error(&folder.toy(&["--only", "corelation"]), &["no experiment 'corelation'", "correlation,"]);
}

#[test]
fn a_transformer_is_tested_on_a_chosen_layer_and_heads() {
    let folder = Folder::new();
    folder.write("texts.txt", "A warm and honest film.\nBoring stuff, and the plot is thin!\n");
    let args = ["--only", "correlation,permutation,erase,share", "--format", "json"];
    let run = folder.test(&golden("bert-sequence"), &args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("rows for each of 2 texts"), "{}", run.stderr);
    let last: Value = serde_json::from_str(&run.stdout).unwrap();
    let texts = item(&last, "texts");
    assert!(texts["notes"].to_string().contains("layer.2.attn.probs, heads all"), "{}", texts["notes"]);
    for row in texts["rows"].as_array().unwrap() {
        let sum: f64 = row["alpha"].as_array().unwrap().iter().map(|alpha| alpha.as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
        assert!(row["permutation"]["median_tvd"].as_f64().unwrap() > 0.0);
    }
    let chosen = [&["--layer", "0", "--head", "0,1", "--row", "mean"], &args[..]].concat();
    let run = folder.test(&golden("bert-sequence"), &chosen);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let first: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_ne!(item(&first, "texts")["rows"][0]["alpha"], texts["rows"][0]["alpha"]);
    for (args, told) in [
        (["--layer", "9"], "layers 0 to 2"),
        (["--head", "0,99"], "heads 0 to"),
        (["--head", "first"], "'first' is no head"),
        (["--level", "word"], "no sentences"),
    ] {
        assert_error(&folder.test(&golden("bert-sequence"), &args), &[told]);
    }
}

#[test]
fn pairs_and_sentences_are_tested_as_well() {
    let folder = Folder::new();
    let small = root().join("golden/small");
    let model = |name: &str| small.join(name).to_string_lossy().into_owned();
    let described: Value =
        serde_json::from_slice(&fs::read(small.join("pair-lstm-additive/golden.json")).unwrap()).unwrap();
    let mut rows = String::from("text\tpair\n");
    for input in described["inputs"].as_array().unwrap() {
        rows += &format!("{}\t{}\n", input[0].as_str().unwrap(), input[1].as_str().unwrap());
    }
    let pairs = folder.write("pairs.tsv", &rows);
    let common = ["--min-words", "2", "--format", "json"];
    let run = exegete(
        &[
            &[
                "attention",
                "test",
                "--input",
                &pairs,
                "--pair-column",
                "pair",
                "--model",
                &model("pair-lstm-additive"),
            ],
            &common[..],
        ]
        .concat(),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let texts =
        "The film is good. A bad plot it was. One more sentence here.\nOnly one sentence in this text\n";
    let long = folder.write("sentences.txt", texts);
    let han = |args: &[&str]| {
        let model = model("han-gru");
        exegete(&[&["attention", "test", "--input", &long, "--model", &model], &common[..], args].concat())
    };
    let run = han(&[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let texts = item(&report, "texts");
    assert_eq!(texts["rows"][0]["tokens"].as_array().unwrap().len(), 3);
    assert!(texts["notes"].to_string().contains("one sentence only"), "{}", texts["notes"]);
    let run = han(&["--level", "word"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(item(&report, "refused").to_string().contains("only the correlation"));
}

#[test]
fn what_cannot_be_tested_is_said_in_a_line() {
    let folder = Folder::new();
    assert_error(&folder.toy(&["--min-words", "20"]), &["no text is left", "--min-words"]);
    let one = folder.write("one.txt", "a\nb\n");
    let toy = folder.at("toy");
    let args = ["attention", "test", "--input", &one, "--model", &toy, "--min-words", "1"];
    assert_error(&exegete(&args), &["no text is left", "one word"]);
    let config = json!({"kind": "none", "attention": "dot", "embedding": 2, "labels": ["only"]});
    let parameters: [exegete_testkit::Parameter<'_>; 4] = [
        ("embed.weight", &[5, 2], &[1.0; 10]),
        ("attention.score.weight", &[1, 2], &[1.0, 0.5]),
        ("head.weight", &[1, 2], &[1.0, 1.0]),
        ("head.bias", &[1], &[0.0]),
    ];
    write_small(folder.0.path().join("single").as_path(), &config, &["a"], &parameters).unwrap();
    assert_error(&folder.test(&folder.at("single"), &["--min-words", "2"]), &["class"]);
    let kim = root().join("golden/small/kim").to_string_lossy().into_owned();
    assert_error(&folder.test(&kim, &[]), &["no attention weights"]);
    for attention in ["bahdanau", "luong"] {
        let writes = root().join("golden/seq2seq").join(attention).to_string_lossy().into_owned();
        let told = ["is a seq2seq model", "decoder.attn.probs", "attention deceive --kind seq2seq"];
        assert_error(&folder.test(&writes, &[]), &told);
    }
    assert_error(&folder.toy(&["--layer", "0"]), &["without layers or heads"]);
    assert_error(&folder.toy(&["--level", "word"]), &["no sentences"]);
    assert_error(&folder.test(&golden("bert-regression"), &[]), &["does not decide"]);
}

#[test]
fn a_stopped_run_goes_on_and_gives_the_same() {
    let folder = Folder::new();
    let whole = folder.report(&["--min-words", "2"]);
    let out = folder.at("out.json");
    let common = ["--min-words", "2", "--format", "json", "-o", &out];
    assert_eq!(folder.toy(&common).code, 0);
    let complete: Value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
    assert_eq!(complete["items"], whole["items"]);
    assert!(!fs::exists(folder.at("out.json.unfinished")).unwrap());
}

/// A run that is killed among its texts goes on behind the last that it kept, and comes to the same.
#[test]
fn a_run_that_is_killed_among_its_texts_goes_on() {
    let folder = Folder::new();
    let texts = folder.write("many.txt", &TEXTS.repeat(128));
    let (whole, out, toy) = (folder.at("whole.json"), folder.at("out.json"), folder.at("toy"));
    let common =
        ["attention", "test", "--input", &texts, "--model", &toy, "--min-words", "2", "--threads", "1"];
    let to = |path: &str| [&common[..], &["--format", "json", "-o", path]].concat().join("\n");
    let run = |path: &str| exegete(&to(path).split('\n').collect::<Vec<_>>());
    let first = run(&whole);
    assert_eq!(first.code, 0, "{}", first.stderr);
    let kept = killed_after(&to(&out).split('\n').collect::<Vec<_>>(), &out, 128);
    assert!((128..640).contains(&kept), "{kept} of 640 texts");
    let second = run(&out);
    assert_eq!(second.code, 0, "{}", second.stderr);
    assert!(second.stderr.contains(&format!("going on after {kept} finished texts")), "{}", second.stderr);
    let items =
        |path: &str| serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap()["items"].clone();
    assert_eq!(items(&out), items(&whole));
    assert!(!fs::exists(folder.at("out.json.unfinished")).unwrap());
}

#[test]
fn tables_may_lack_a_header_and_be_cut_elsewhere() {
    let folder = Folder::new();
    let toy = folder.at("toy");
    let table = folder.write("texts.csv", "1;a b c d e\n2;e d c b a a b\n");
    let common = ["attention", "test", "--input", &table, "--model", &toy, "--min-words", "2"];
    let more = ["--no-header", "--delimiter", ";", "--text-column", "2", "--format", "json"];
    let run = exegete(&[&common[..], &more].concat());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(item(&report, "texts")["rows"][0]["tokens"], json!(["a", "b", "c", "d", "e"]));
    assert_error(&exegete(&[&common[..], &["--delimiter", ";;"]].concat()), &["--delimiter ';;'"]);
}
