//! `exegete attention test --train`: models trained beside the tested one, what is refused, and runs that go on.

use crate::harness::{assert_error, exegete, golden};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

struct Folder(tempfile::TempDir);

impl Folder {
    /// Generated rows `train.tsv` and `dev.tsv`, and a small model of them, `lstm`.
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, rows, seed) in [("train.tsv", "96", "0"), ("dev.tsv", "40", "1")] {
            let args = ["data", "make", "keyword", "--rows", rows, "--seed", seed, "-o", &folder.at(name)];
            assert_eq!(exegete(&args).code, 0);
        }
        folder.train("lstm", &["--kind", "lstm"]);
        folder
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    fn train(&self, name: &str, more: &[&str]) {
        let (train, dev, out) = (self.at("train.tsv"), self.at("dev.tsv"), self.at(name));
        let args = ["train", "--train", &train, "--dev", &dev, "-o", &out, "--epochs", "6", "--rate", "0.01"];
        let sizes = ["--embedding", "8", "--hidden", "4", "--seed", "3", "--threads", "1"];
        let run = exegete(&[&args[..], &sizes, more].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
    }

    fn args(&self, model: &str) -> Vec<String> {
        let (train, dev) = (self.at("train.tsv"), self.at("dev.tsv"));
        let model = if Path::new(model).is_absolute() { model.to_owned() } else { self.at(model) };
        ["attention", "test", "--input", &dev, "--model", &model, "--train", &train, "--dev", &dev]
            .map(str::to_owned)
            .to_vec()
    }

    fn test(&self, model: &str, more: &[&str]) -> crate::harness::Run {
        let args = self.args(model);
        let args: Vec<&str> = args.iter().map(String::as_str).chain(more.iter().copied()).collect();
        exegete(&args)
    }
}

fn item<'a>(report: &'a Value, name: &str) -> &'a Value {
    let items = report["items"].as_array().unwrap();
    items.iter().find(|item| item["name"] == name).unwrap_or_else(|| panic!("{name} is missing"))
}

const ALL: [&str; 2] = ["--only", "concentration,uniform,seeds,guide,adversarial_training"];

#[test]
fn models_are_trained_beside_a_small_one() {
    let folder = Folder::new();
    let run = folder.test("lstm", &[&ALL[..], &["--seeds", "2", "--format", "json"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let training = item(&report, "training");
    assert_eq!(training["columns"], json!(["arm", "seed", "f1", "accuracy", "tvd", "jsd", "lambda"]));
    let rows = training["rows"].as_array().unwrap();
    let of = |arm: &str| rows.iter().filter(|row| row[0] == arm).collect::<Vec<_>>();
    let counts = ["base", "uniform", "guide_uniform", "guide_trained", "guide_base", "guide_adversary"];
    assert!(counts.iter().all(|arm| of(arm).len() == 2), "{rows:?}");
    assert_eq!(of("adversarial").len(), 9 + 1, "every lambda once, the chosen one again");
    let of_itself = [&rows[0][1], &rows[0][4], &rows[0][5]].map(|cell| cell.as_f64().unwrap());
    assert_eq!((of_itself, &rows[0][6]), ([3.0, 0.0, 0.0], &Value::Null));
    assert_eq!(of("base")[1][1], 4.0, "the other seed");
    let number = |row: &Value, column: usize| row[column].as_f64().unwrap();
    for row in rows {
        assert!((0.0..=1.0).contains(&number(row, 2)) && (0.0..=1.0).contains(&number(row, 4)), "{row}");
        assert!((0.0..=std::f64::consts::LN_2 + 1e-9).contains(&number(row, 5)), "{row}");
    }
    // Weights that are given are the ones that are there; those that a model learned are others.
    let jsd = |arm: &str| of(arm).iter().map(|row| number(row, 5)).collect::<Vec<_>>();
    assert!(jsd("guide_base").iter().all(|&jsd| jsd < 1e-6), "{:?}", jsd("guide_base"));
    let (uniform, guided) = (jsd("uniform"), jsd("guide_uniform"));
    assert!(
        uniform.iter().chain(&guided).all(|jsd| (jsd - uniform[0]).abs() < 1e-6),
        "{uniform:?} {guided:?}"
    );
    // The more the divergence counts, the farther the weights go.
    let swept: Vec<f64> = of("adversarial")[..9].iter().map(|row| number(row, 5)).collect();
    assert!(swept[8] > 10.0 * swept[0], "{swept:?}");
    let curve = item(&report, "curve")["rows"].as_array().unwrap();
    assert_eq!(curve.len(), 1 + 2 + 10, "other seeds, equal weights, adversaries");
    assert_eq!(item(&report, "training_differences")["rows"].as_array().unwrap().len(), 4);
    assert_eq!(item(&report, "seeds")["rows"].as_array().unwrap().len(), 40);
    let published = item(&report, "published")["rows"].as_array().unwrap();
    assert_eq!((published.len(), &published[0][1]), (7 + 3, &json!(0.831)));
    assert_eq!((&published[0][5], &published[0][6]), (&json!("SST, lstm, additive attention"), &json!("≈")));
    // The adversary that is told of is the chosen one; the paper's TVD is half of ours.
    let far = of("adversarial")[9];
    let told: Vec<f64> = published[7..].iter().map(|row| row[2].as_f64().unwrap()).collect();
    assert!((2.0 * told[0] - far[6].as_f64().unwrap()).abs() < 1e-9, "{told:?} {far:?}");
    assert!(
        run.stderr.contains("training model 21 of 21: guide by adversary, seed 4, about "),
        "{}",
        run.stderr
    );
}

/// A transformer is fine-tuned again from its own start, also with equal weights in the rows that are tested, and its word
/// weights guide a small model.
#[test]
fn a_transformer_is_trained_again_and_guides() {
    let folder = Folder::new();
    let (train, dev, out) = (folder.at("train.tsv"), folder.at("dev.tsv"), folder.at("bert"));
    let start = golden("bert-sequence");
    let args = ["train", "--model", &start, "--train", &train, "--dev", &dev, "-o", &out, "--epochs", "1"];
    let run = exegete(&[&args[..], &["--rate", "0.003"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let only = ["--only", "uniform,seeds,guide,adversarial_training", "--seeds", "2", "--format", "json"];
    let run = folder.test("bert", &only);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let rows = item(&report, "training")["rows"].as_array().unwrap();
    let arms: Vec<&str> = rows.iter().map(|row| row[0].as_str().unwrap()).collect();
    let twice = ["base", "uniform", "guide_uniform", "guide_trained", "guide_base"];
    assert_eq!(arms, twice.iter().flat_map(|&arm| [arm; 2]).collect::<Vec<_>>());
    assert!(rows[1][5].as_f64().unwrap() > 1e-6, "another seed has other weights: {}", rows[1]);
    let guided = rows[8][5].as_f64().unwrap();
    assert!(guided < 1e-6, "the guide has the weights of the words: {guided}");
    // Equal weights are the same ones whatever was learned. The guide reads whole texts, of which this transformer reads 48 tokens.
    let even: Vec<f64> = rows[2..6].iter().map(|row| row[5].as_f64().unwrap()).collect();
    let same = |a: f64, b: f64| a > 1e-6 && (a - b).abs() < 1e-6;
    assert!(same(even[0], even[1]) && same(even[2], even[3]), "{even:?}");
    assert_ne!(rows[2][4], rows[3][4], "two seeds answer differently");
    let differences = item(&report, "training_differences")["rows"].to_string();
    assert!(differences.contains("learned weights above equal ones"), "{differences}");
    let refused = item(&report, "refused")["rows"].as_array().unwrap();
    assert_eq!((refused.len(), &refused[0][0]), (1, &json!("adversarial_training")));
    // Other heads and rows have other equal weights; what is tested is made equal there.
    let run = folder.test(
        "bert",
        &[
            "--only", "uniform", "--seeds", "1", "--layer", "1", "--head", "0", "--row", "mean", "--format",
            "json",
        ],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let rows = item(&report, "training")["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| &row[0]).collect::<Vec<_>>(), ["base", "uniform"]);
}

/// A run that is killed goes on after the last model that was done, and comes to the same.
#[test]
fn a_killed_run_goes_on_with_the_next_model() {
    let folder = Folder::new();
    let (whole, out) = (folder.at("whole.json"), folder.at("out.json"));
    let common = ["--seeds", "2", "--format", "json", "--threads", "1", "-o"];
    let first = folder.test("lstm", &[&ALL[..], &common, &[&whole]].concat());
    assert_eq!(first.code, 0, "{}", first.stderr);
    let args = folder
        .args("lstm")
        .into_iter()
        .chain([&ALL[..], &common, &[&out]].concat().into_iter().map(str::to_owned));
    let mut program = Command::new(env!("CARGO_BIN_EXE_exegete"));
    let mut child = program.args(args).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (work, begun) = (folder.at("out.json.unfinished.models"), Instant::now());
    let done = || {
        fs::read_dir(&work).map_or(0, |found| {
            found
                .flatten()
                .filter(|entry| entry.path().extension().is_some_and(|kind| kind == "json"))
                .count()
        })
    };
    while done() < 2 && child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is trained");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = done();
    assert!((2..21).contains(&kept) && !Path::new(&out).exists(), "{kept} models");
    let second = folder.test("lstm", &[&ALL[..], &common, &[&out]].concat());
    assert_eq!(second.code, 0, "{}", second.stderr);
    let trained = second.stderr.matches("training model ").count();
    assert_eq!(trained, 21 - kept, "{}", second.stderr);
    let items =
        |path: &str| serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap()["items"].clone();
    assert_eq!(items(&out), items(&whole));
    assert!(!Path::new(&work).exists() && !Path::new(&folder.at("out.json.unfinished")).exists());
}

#[test]
fn what_cannot_be_trained_is_said_by_name() {
    let folder = Folder::new();
    let dev = folder.at("dev.tsv");
    let bare = |more: &[&str]| {
        exegete(&[&["attention", "test", "--input", &dev, "--model", &folder.at("lstm")], more].concat())
    };
    assert_error(&bare(&["--only", "guide"]), &["guide cannot run", "--train FILE and --dev FILE"]);
    assert_eq!(bare(&["--seeds", "2"]).code, 2);
    assert_eq!(bare(&["--train", &dev]).code, 2);
    assert_error(&folder.test("lstm", &["--only", "erase"]), &["--train is for uniform, seeds"]);
    assert_error(&folder.test("lstm", &["--seeds", "0"]), &["--seeds 0", "from 1 to"]);
    let golden = golden("bert-sequence");
    let told = |model: &str, only: &str, said: &[&str]| {
        assert_error(
            &folder.test(model, &["--only", only]),
            &[&[&*format!("{only} cannot run")], said].concat(),
        );
    };
    told(&golden, "seeds", &["holds no training.json"]);
    folder.train("equal", &["--kind", "lstm", "--attention", "uniform"]);
    told("equal", "adversarial_training", &["not learned"]);
    told("equal", "uniform", &["not learned"]);
    folder.train("han", &["--kind", "han"]);
    told("han", "guide", &["sentences"]);
    // Rows of one class say nothing of a classifier.
    let rows = fs::read_to_string(folder.at("train.tsv")).unwrap();
    let header = rows.lines().next().unwrap();
    let label = |line: &str| line.split('\t').nth(1).unwrap().to_owned();
    let first = label(rows.lines().nth(1).unwrap());
    let same = rows.lines().skip(1).filter(|line| label(line) == first).collect::<Vec<_>>().join("\n");
    fs::write(folder.at("train.tsv"), format!("{header}\n{same}\n")).unwrap();
    assert_error(
        &folder.test("lstm", &["--only", "uniform"]),
        &["train.tsv", &format!("every row has the label '{first}'")],
    );
}

/// An adversary whose loss is no number says in which step, and with which lambda.
#[test]
fn an_adversary_that_diverges_names_its_step_and_lambda() {
    let folder = Folder::new();
    let path = folder.at("lstm/training.json");
    let mut report: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    report["request"]["rate"] = json!(1e39);
    fs::write(&path, report.to_string()).unwrap();
    let run = folder.test("lstm", &["--only", "adversarial_training"]);
    assert_error(&run, &["diverged", "step", "lambda 0.0001"]);
    report["request"] = Value::Null;
    fs::write(&path, report.to_string()).unwrap();
    assert_error(&folder.test("lstm", &["--only", "seeds"]), &["seeds cannot run", "says not how"]);
}
