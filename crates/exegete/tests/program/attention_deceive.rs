//! `exegete attention deceive`: what models trained to hide words come to, runs that go on, and what cannot be asked.

use crate::harness::{Run, assert_error, exegete, golden};
use serde_json::{Value, json};
use std::fs;

const TREE: &str = "1\ta\t_\t_\t_\t_\t2\tdet\t_\t_\n2\twarm\t_\t_\t_\t_\t0\troot\t_\t_\n3\tand\t_\t_\t_\t_\t2\tcc\t_\t_\n\
4\tgood\t_\t_\t_\t_\t2\tconj\t_\t_\n5\tfilm\t_\t_\t_\t_\t2\tobj\t_\tSpaceAfter=No\n6\t.\t_\t_\t_\t_\t2\tpunct\t_\t_\n\n";
/// Texts of a few words, one of which says the label.
const SHORT: [&str; 4] = ["--set", "min=6", "--set", "max=9"];
/// Sizes that are trained in a second.
const SMALL: [&str; 8] = ["--embedding", "32", "--hidden", "16", "--rate", "0.01", "--epochs", "30"];

struct Folder(tempfile::TempDir);

impl Folder {
    /// A folder with generated rows to learn from and others to measure on.
    fn of(set: &str, more: &[&str]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, rows, seed) in [("train.tsv", "400", "1"), ("dev.tsv", "60", "2")] {
            let made = ["data", "make", set, "--rows", rows, "--seed", seed, "-o", &folder.at(name)];
            let made = exegete(&[&made, more].concat());
            assert_eq!(made.code, 0, "{}", made.stderr);
        }
        folder
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    fn write(&self, name: &str, content: &str) -> String {
        fs::write(self.at(name), content).unwrap();
        self.at(name)
    }

    fn run(&self, args: &[&str]) -> Run {
        let (train, dev) = (self.at("train.tsv"), self.at("dev.tsv"));
        exegete(&[&["attention", "deceive", "--train", &train, "--dev", &dev], args].concat())
    }

    fn report(&self, args: &[&str]) -> Value {
        let run = self.run(&[args, &["--format", "json"]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        serde_json::from_str(&run.stdout).unwrap()
    }
}

fn item<'a>(report: &'a Value, name: &str) -> &'a Value {
    let items = report["items"].as_array().unwrap();
    items.iter().find(|item| item["name"] == name).unwrap_or_else(|| panic!("{name} is missing"))
}

/// Accuracy and mass of an arm with this λ, first seed.
fn arm(report: &Value, name: &str, lambda: Value) -> [Option<f64>; 2] {
    let rows = item(report, "arms")["rows"].as_array().unwrap();
    let row = rows
        .iter()
        .find(|row| row[0] == name && row[1] == lambda)
        .unwrap_or_else(|| panic!("{name} {lambda}"));
    [row[3].as_f64(), row[4].as_f64()]
}

/// `none` reads the pronoun alone: attention shows it, and with the penalty shows it no more while the answer stays.
#[test]
fn attention_hides_the_word_that_decides() {
    let folder = Folder::of("pronoun", &SHORT);
    let args =
        ["--kind", "none", "--impermissible", "truth", "--lambda", "0,0.4", "--seeds", "1", "--texts", "20"];
    let report = folder.report(&[&args[..], &SMALL].concat());
    let arms = item(&report, "arms");
    assert_eq!(arms["columns"], json!(["arm", "lambda", "seed", "accuracy", "mass"]));
    let names: Vec<&Value> = arms["rows"].as_array().unwrap().iter().map(|row| &row[0]).collect();
    assert_eq!(names, ["trained", "zeroed", "trained", "zeroed", "removed", "uniform", "none"]);
    let [honest, deceiving] =
        [0.0, 0.4].map(|lambda| arm(&report, "trained", json!(lambda)).map(Option::unwrap));
    assert!(honest[0] > 0.95 && honest[1] > 0.7, "{honest:?}");
    assert!(deceiving[0] > 0.95 && deceiving[1] < 0.2, "{deceiving:?}");
    let [accuracy, mass] = arm(&report, "removed", Value::Null);
    assert!(accuracy.unwrap() < 0.75 && mass.is_none(), "{accuracy:?} {mass:?}");
    for lambda in [0.0, 0.4] {
        let [accuracy, mass] = arm(&report, "zeroed", json!(lambda)).map(Option::unwrap);
        assert!(accuracy < 0.75 && mass == 0.0, "{lambda}: {accuracy} {mass}");
    }
    // One word of six to nine.
    let mass = arm(&report, "uniform", Value::Null)[1].unwrap();
    assert!((1.0 / 9.0..1.0 / 6.0).contains(&mass), "{mass}");
    assert!(arm(&report, "none", Value::Null)[1].is_none());

    let notices = item(&report, "notices");
    assert_eq!(notices["columns"], json!(["check", "honest", "deceived", "notices"]));
    let told = |check: &str| {
        let rows = notices["rows"].as_array().unwrap();
        rows.iter().find(|row| row[0] == check).unwrap_or_else(|| panic!("{check}: {rows:?}"))[3].clone()
    };
    assert_eq!(told("card: tau"), "yes");
    assert_eq!(told("correlation: weight of the decisive word over an equal share"), "yes");
    let maps: Vec<&Value> =
        report["items"].as_array().unwrap().iter().filter(|item| item["kind"] == "map").collect();
    assert_eq!(maps.len(), 4);
    let names: Vec<&Value> =
        maps[0]["layers"].as_array().unwrap().iter().map(|layer| &layer["site"]).collect();
    assert_eq!(names, ["lambda 0", "lambda 0.4"]);
    let listed = ["--impermissible", "he,him,his,himself,she,her,hers,herself"];
    let args = [&args[..2], &listed, &args[4..], &SMALL].concat();
    assert_eq!(item(&folder.report(&args), "arms")["rows"], arms["rows"], "a list of words says the same");
}

/// What an earlier run trained is not trained again, and belongs to that run.
#[test]
fn a_run_goes_on_in_its_folder() {
    let folder = Folder::of("pronoun", &SHORT);
    let work = folder.at("work");
    let args =
        ["--kind", "none", "--impermissible", "truth", "--lambda", "0,1", "--seeds", "1", "--texts", "0"];
    let args = [&args[..], &SMALL, &["--work", &work]].concat();
    let first = folder.report(&args);
    let model =
        |name: &str| fs::metadata(folder.0.path().join("work").join(name).join("model.safetensors")).unwrap();
    let before = model("lambda-1-seed-0").modified().unwrap();
    // As if it had been killed while it trained the third model.
    fs::remove_dir_all(folder.0.path().join("work/removed-seed-0")).unwrap();
    let again = folder.report(&args);
    assert_eq!(item(&again, "arms"), item(&first, "arms"));
    assert_eq!(model("lambda-1-seed-0").modified().unwrap(), before, "was trained twice");
    assert!(model("removed-seed-0").is_file());
    let other = [&args[..], &["--seed", "5"]].concat();
    assert_error(
        &folder.run(&other),
        &["work: holds the models of another run", "differs in: seed (then 0, now 5);", "--work"],
    );
    // The same bytes under other names are the same run.
    let named = |args: &[&str]| exegete(&[&["attention", "deceive", "--format", "json"], args].concat());
    fs::copy(folder.at("dev.tsv"), folder.at("copy.tsv")).unwrap();
    let (train, copy) = (folder.at("train.tsv"), folder.at("copy.tsv"));
    let args_named = [&args[..], &["--train", &train, "--dev", &copy]].concat();
    let run = named(&args_named);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let rows = fs::read_to_string(&copy).unwrap();
    fs::write(&copy, rows.lines().take(30).map(|row| format!("{row}\n")).collect::<String>()).unwrap();
    assert_error(&named(&args_named), &["differs in: dev;"]);
    let foreign = folder.at("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(folder.0.path().join("foreign/notes.txt"), "mine").unwrap();
    let other = [&args[..args.len() - 1], &[foreign.as_str()]].concat();
    assert_error(&folder.run(&other), &["foreign: holds something else"]);
}

#[test]
fn a_transformer_hides_words_in_its_heads() {
    let folder = Folder::of("pronoun", &SHORT);
    let args =
        ["--impermissible", "truth", "--lambda", "0,1", "--seeds", "1", "--epochs", "1", "--texts", "2"];
    let bert = golden("bert-sequence");
    let more = ["--model", &bert, "--restricted", "--penalty", "worst", "--rate", "0.001"];
    let report = folder.report(&[&args[..], &more].concat());
    let arms = item(&report, "arms");
    assert_eq!(arms["columns"], json!(["arm", "lambda", "seed", "accuracy", "mass", "largest"]));
    let names: Vec<&Value> = arms["rows"].as_array().unwrap().iter().map(|row| &row[0]).collect();
    assert_eq!(names, ["trained", "zeroed", "trained", "zeroed", "removed", "uniform"]);
    let [honest, deceiving] = [0.0, 1.0].map(|lambda| arm(&report, "trained", json!(lambda))[1].unwrap());
    assert!(deceiving < honest, "{honest} {deceiving}");
    assert_eq!(arm(&report, "zeroed", json!(1.0))[1], Some(0.0));
    for row in arms["rows"].as_array().unwrap().iter().filter(|row| row[4].is_number()) {
        assert!(row[5].as_f64() >= row[4].as_f64(), "{row}");
    }
    assert!(arms["notes"].to_string().contains("restricted: in every layer"), "{}", arms["notes"]);
    item(&report, "notices");
}

#[test]
fn a_model_that_writes_hides_what_it_copies() {
    let folder = Folder::of("copy", &["--vocabulary", "5"]);
    let args = ["--kind", "seq2seq", "--impermissible", "truth", "--lambda", "0,1", "--seeds", "1"];
    let sizes = ["--embedding", "8", "--hidden", "8", "--epochs", "16", "--batch", "16", "--rate", "0.02"];
    let report = folder.report(&[&args[..], &sizes].concat());
    let arms = item(&report, "arms");
    let names: Vec<&Value> = arms["rows"].as_array().unwrap().iter().map(|row| &row[0]).collect();
    assert_eq!(names, ["trained", "zeroed", "trained", "zeroed", "uniform", "none"]);
    let [honest, deceiving] = [0.0, 1.0].map(|lambda| arm(&report, "trained", json!(lambda))[1].unwrap());
    assert!(deceiving < 0.7 * honest, "{honest} {deceiving}");
    assert_eq!(arm(&report, "zeroed", json!(0.0))[1], Some(0.0));
    assert!(report["items"].as_array().unwrap().iter().all(|item| item["name"] != "notices"));
    let published = item(&report, "published")["rows"].as_array().unwrap();
    assert_eq!(published[0][5], "copy, GRU that writes");
    assert!(published.iter().all(|row| row[2].is_number() && row[6] == "≈"), "{published:?}");
    let items = report["items"].as_array().unwrap();
    let maps: Vec<&Value> = items.iter().filter(|item| item["kind"] == "map").collect();
    assert_eq!(maps.len(), 4 * 2, "a grid for each text and lambda");
    for map in maps {
        assert_eq!(map["axes"], json!({"rows": "target word", "columns": "source word"}));
        let words: Vec<&str> = map["input"][1]["text"].as_str().unwrap().split(' ').collect();
        let rows = map["layers"].as_array().unwrap();
        let written: Vec<&str> = rows.iter().map(|row| row["site"].as_str().unwrap()).collect();
        assert_eq!(written, [&words[..], &["</s>"]].concat());
        let source: Vec<&str> =
            map["tokens"].as_array().unwrap().iter().map(|token| token["text"].as_str().unwrap()).collect();
        assert_eq!(source, words, "what is copied, without markers");
        for row in rows {
            let sum: f64 = row["token_values"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).sum();
            assert!((sum - 1.0).abs() < 1e-5, "{row}");
        }
    }
}

#[test]
fn the_words_of_a_joined_sentence_are_impermissible() {
    let folder = Folder::of("pronoun", &SHORT);
    let trees = folder.write("trees.conllu", &TREE.repeat(3));
    let args = [
        "--kind", "none", "--join", &trees, "--lambda", "0", "--seeds", "1", "--epochs", "1", "--texts", "1",
    ];
    let report = folder.report(&args);
    let map = report["items"].as_array().unwrap().iter().find(|item| item["kind"] == "map").unwrap();
    let text = map["input"][0]["text"].as_str().unwrap();
    let (own, joined) = text.split_once(" a warm").unwrap();
    assert_eq!(joined, " and good film.");
    let told = map["notes"].to_string();
    assert!(told.contains(&format!("impermissible: {own}\"")), "{told}");
    assert!(
        report["items"].as_array().unwrap().iter().all(|item| item["name"] != "notices"),
        "one lambda only"
    );
}

#[test]
fn what_cannot_be_asked_is_one_line() {
    let folder = Folder::of("pronoun", &SHORT);
    let empty = folder.write("empty.txt", "\n \n");
    let short = folder.write("short.conllu", "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n");
    let quick = ["--seeds", "1", "--lambda", "0,1", "--epochs", "1", "--embedding", "8"];
    let asked = |args: &[&str]| folder.run(&[args, &quick[..]].concat());
    for (args, told) in [
        (&["--kind", "none"][..], &["nothing is impermissible", "--impermissible"][..]),
        (&["--kind", "none", "--impermissible", ""], &["names no word"]),
        (&["--kind", "none", "--impermissible", &empty], &["empty.txt", "names no word"]),
        (
            &["--kind", "none", "--impermissible", "xyzzy"],
            &["lambda 0, seed 0", "no row to learn from has both"],
        ),
        (&["--kind", "none", "--impermissible", "truth", "--label-column", "class"], &["no column 'class'"]),
        (&["--kind", "kim", "--impermissible", "truth"], &["no attention that could be deceptive"]),
        (
            &["--kind", "none", "--attention", "uniform", "--impermissible", "truth"],
            &["given and not learned"],
        ),
        (&["--kind", "han", "--impermissible", "truth"], &["does not read words"]),
        (&["--kind", "seq2seq", "--impermissible", "he"], &["--impermissible truth"]),
        (&["--kind", "none", "--restricted", "--impermissible", "he"], &["--restricted is for transformers"]),
        (&["--kind", "none", "--penalty", "worst", "--impermissible", "he"], &["--penalty worst"]),
        (&["--kind", "none", "--join", &short], &["short.conllu", "no sentence has 5 to 40 words"]),
    ] {
        assert_error(&asked(args), told);
    }
    let run = |more: &[&str]| folder.run(&[&["--kind", "none", "--impermissible", "truth"], more].concat());
    assert_error(&run(&["--no-header"]), &["--impermissible truth", "--no-header"]);
    assert_error(&run(&["--lambda", "0,x"]), &["--lambda 'x' is no number"]);
    assert_error(&run(&["--lambda", "1,1"]), &["--lambda names 1 twice"]);
    assert_error(&run(&["--seeds", "0"]), &["--seeds 0"]);
    assert_error(
        &run(&["--lambda", "1e39", "--seeds", "1"]),
        &["diverged in step 1 of lambda 1e39", "lower the rate"],
    );
    let truths = fs::read_to_string(folder.at("train.tsv")).unwrap().replacen("-", "-9", 1);
    fs::write(folder.at("train.tsv"), truths).unwrap();
    assert_error(&run(&[]), &["train.tsv: line 2", "names no bytes of the text"]);
    let no_column = fs::read_to_string(folder.at("train.tsv")).unwrap().replacen("truth", "evidence", 1);
    fs::write(folder.at("train.tsv"), no_column).unwrap();
    assert_error(&run(&[]), &["no column 'truth'"]);
}

/// The same rows in a table without a header, cut elsewhere, come to the same.
#[test]
fn tables_may_lack_a_header_and_be_cut_elsewhere() {
    let folder = Folder::of("pronoun", &SHORT);
    let words = ["--kind", "none", "--impermissible", "he,him,his,himself,she,her,hers,herself"];
    let quick = ["--lambda", "1", "--seeds", "1", "--texts", "0", "--epochs", "2", "--embedding", "8"];
    let args = [&words[..], &quick].concat();
    let usual = folder.report(&args);
    for name in ["train.tsv", "dev.tsv"] {
        let rows = fs::read_to_string(folder.at(name)).unwrap();
        let cells = |line: &str| line.split('\t').take(2).collect::<Vec<_>>().join("|");
        let bare: Vec<String> = rows.lines().skip(1).map(cells).collect();
        fs::write(folder.at(name), bare.join("\n") + "\n").unwrap();
    }
    let found = folder.report(&[&args[..], &["--no-header", "--delimiter", "|"]].concat());
    assert_eq!(item(&found, "arms")["rows"], item(&usual, "arms")["rows"]);
}
