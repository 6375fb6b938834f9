//! `exegete train`: what it refuses before it starts, what it leaves, and what a kill does not cost.

use crate::harness::{assert_error, exegete, golden};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Sixty rows whose class is the one word of three that they hold.
fn rows() -> String {
    let (words, marks) = (["the film", "a plot", "music", "it was", "and"], ["slow", "warm", "honest"]);
    let row = |i: usize| {
        let (a, b) = (words[i / 3 % 5], words[i / 15 % 5]);
        format!("{}\t{a} {} {b}\n", ["negative", "neutral", "positive"][i % 3], marks[i % 3])
    };
    "label\ttext\n".to_owned() + &(0..60).map(row).collect::<String>()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        Self(folder)
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }
}

#[test]
fn trains_and_leaves_a_folder_that_predicts() {
    let folder = Folder::new(&[("train.tsv", &rows())]);
    let (train, output, model) = (folder.at("train.tsv"), folder.at("out"), golden("bert-sequence"));
    let args = [
        "train", "--train", &train, "--dev", &train, "--model", &model, "-o", &output, "--epochs", "20",
        "--batch", "8", "--rate", "3e-3",
    ];
    let run = exegete(&args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.starts_with("epoch") && run.stdout.lines().count() == 21, "{}", run.stdout);
    assert!(run.stdout.contains("1.0000"), "{}", run.stdout);
    assert!(run.stderr.contains("60 of 60 rows"), "the leak goes unsaid: {}", run.stderr);
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.at("out/training.json")).unwrap()).unwrap();
    assert_eq!(report["data"]["train_rows"], 60);
    assert!(report["examples_per_second"].as_f64().unwrap() > 0.0);
    assert_eq!(report["labels"], serde_json::json!(["negative", "neutral", "positive"]));
    let mut names: Vec<_> = fs::read_dir(folder.at("out"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected =
        ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "training.json"];
    assert_eq!(names, expected);
    let run = exegete(&["predict", "--input", &train, "--model", &output, "--label-column", "label"]);
    assert!(run.stderr.contains("accuracy 1.0000 (60 of 60)"), "{}", run.stderr);
    // A finished model is not replaced by accident.
    assert_error(&exegete(&args), &["holds a model.safetensors already", "--overwrite"]);
}

#[test]
fn bad_rows_are_refused_before_anything_is_written() {
    let good = rows();
    let cases: &[(&str, &str, &[&str], &[&str])] = &[
        ("a.tsv", "label\ttext\nnegative\tfine\npositive\t \n", &[], &["a.tsv: line 3", "empty"]),
        ("a.tsv", "text\tb\nx\ty\n", &[], &["a.tsv: line 1", "no column 'label'"]),
        ("a.tsv", "label\tbody\n0\tx\n", &[], &["a.tsv: line 1", "no column text"]),
        (
            "a.tsv",
            "label\ttext\nnegative\tx\nangry\ty\n",
            &["--labels", "negative,positive"],
            &["a.tsv: line 3", "'angry'", "negative, positive"],
        ),
        (
            "a.tsv",
            "label\ttext\n\tx\n",
            &["--labels", "negative,positive"],
            &["a.tsv: line 2", "label is empty"],
        ),
        ("a.tsv", "label\ttext\nwarm\tx\nwarm\ty\n", &[], &["every row has the label 'warm'"]),
        ("a.tsv", "label\ttext\n", &[], &["a.tsv", "no rows"]),
        (
            "a.csv",
            "label,text\nabc,x\n",
            &["--loss", "regression"],
            &["a.csv: line 2", "'abc' is not a number"],
        ),
        ("a.csv", "label,text\n0.5|0.2,x\n", &["--loss", "soft"], &["a.csv: line 2", "sum to 0.7"]),
        (
            "a.csv",
            "label,text\n0.5|0.5,x\n1,y\n",
            &["--loss", "soft"],
            &["a.csv: line 3", "1 shares for the 2 classes"],
        ),
        (
            "a.jsonl",
            "{\"text\":\"x\",\"label\":[\"a\",\"b\"]}\n{\"text\":\"x\",\"label\":[\"c\"]}\n",
            &["--loss", "multi_label", "--labels", "a,b"],
            &["a.jsonl: line 2", "'c' is none of a, b"],
        ),
        ("a.jsonl", "{\"text\":\"x\"}\n", &[], &["a.jsonl: line 1", "no column 'label'"]),
        ("a.tsv", &good, &["--dev", "nowhere.tsv"], &["nowhere.tsv", "cannot be opened"]),
        ("a.jsonl", "{\"text\":\"x\",\"label\":null}\n", &[], &["a.jsonl: line 1", "'label' is null"]),
        (
            "a.tsv",
            "label\ttext\n1\tx\n2\ty\n0\tz\n",
            &["--labels", "1,2"],
            &["a.tsv: line 4", "'0' is none of 1, 2"],
        ),
        ("a.tsv", "label\ttext\na\tx\nb\t\u{200b}\n", &[], &["a.tsv: line 3", "empty"]),
        ("a.csv", "label,text\n1,x\n", &["--loss", "soft"], &["1 labels, at least 2"]),
        ("a.csv", "label,text\n1,x\n", &["--loss", "regression", "--labels", "a,b"], &["one output"]),
        ("a.txt", "x\n", &[], &["a.txt", "has no labels"]),
        ("a.tsv", &good, &["--momentum", "0.5"], &["--momentum", "sgd"]),
        ("a.tsv", &good, &["--optimiser", "sgd", "--momentum", "2"], &["momentum"]),
        ("a.tsv", &good, &["--amsgrad", "yes"], &["--amsgrad", "--optimiser adam"]),
        ("a.tsv", &good, &["--optimiser", "adam", "--amsgrad", "maybe"], &["'maybe' is neither yes nor no"]),
        ("a.tsv", &good, &["--schedule", "constant", "--warmup", "0.1"], &["--warmup", "linear"]),
        ("a.tsv", &good, &["--schedule", "halve"], &["--schedule halve", "--dev"]),
        ("a.tsv", &good, &["--patience", "2"], &["--dev"]),
        ("a.tsv", &good, &["--decay-attention", "0.1"], &["no parameters 'attention.*'"]),
        ("a.tsv", &good, &["--class-weights", "1,2"], &["2 class weights for 3 classes"]),
        ("a.tsv", &good, &["--class-weights", "1,many"], &["'many' is no number", "balanced"]),
        (
            "a.tsv",
            &good,
            &["--class-weights", "balanced", "--labels", "negative,neutral,positive,angry"],
            &["no training row has the class 'angry'"],
        ),
        ("a.tsv", &good, &["--positive", "angry"], &["--positive is the class of f1 and auc"]),
        (
            "a.csv",
            "label,text\n1,x\n",
            &["--loss", "regression", "--class-weights", "balanced"],
            &["--class-weights", "cross_entropy"],
        ),
        ("a.csv", "label,text\n1,x\n", &["--loss", "regression", "--positive", "a"], &["--positive"]),
        ("a.tsv", "fine\tgood\nbad\n", &["--no-header"], &["a.tsv: line 2", "1 fields, the first row 2"]),
        ("a.tsv", "fine\nbad\n", &["--no-header"], &["a.tsv: line 1", "both a text and the label"]),
        ("a.tsv", &good, &["--no-header", "--text-column", "text"], &["no column 'text'", "1 to 2"]),
        ("a.tsv", &good, &["--no-header", "--label-column", "3"], &["no column '3'", "1 to 2"]),
        ("a.jsonl", "{\"text\":\"x\",\"label\":1}\n", &["--no-header"], &["--no-header", ".jsonl"]),
        ("a.tsv", &good, &["--metric", "loss"], &["--dev"]),
        ("a.tsv", &good, &["--rate", "0"], &["rate"]),
        ("a.tsv", &good, &["--epochs", "0"], &["epochs"]),
        ("a.tsv", &good, &["--labels", "negative,negative"], &["named twice"]),
    ];
    for (name, content, options, told) in cases {
        let folder = Folder::new(&[(name, content)]);
        let (train, output, model) = (folder.at(name), folder.at("out"), golden("bert-bare"));
        let mut args = vec!["train", "--train", &train, "--model", &model, "--output", &output];
        args.extend(*options);
        assert_error(&exegete(&args), told);
        assert!(!Path::new(&output).exists(), "{told:?}: something was written");
    }
}

fn report(folder: &Folder, output: &str) -> serde_json::Value {
    let text = fs::read_to_string(folder.at(&format!("{output}/training.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Three rows of one class and two of the other, six times, as the recipe of small models weighs and measures them.
#[test]
fn adam_with_balanced_classes_is_measured_by_auc_and_can_keep_the_last_epoch() {
    let row = |i: usize| {
        ["bad\tslow a\n", "bad\tslow b\n", "bad\tslow c\n", "good\twarm a\n", "good\twarm b\n"][i % 5]
    };
    let rows = "label\ttext\n".to_owned() + &(0..30).map(row).collect::<String>();
    let folder = Folder::new(&[("train.tsv", &rows)]);
    let (train, model) = (folder.at("train.tsv"), golden("bert-sequence"));
    let run = |output: &str, extra: &[&str]| {
        let output = folder.at(output);
        let mut args = vec!["train", "--train", &train, "--dev", &train, "--model", &model, "-o", &output];
        args.extend(["--optimiser", "adam", "--amsgrad", "yes", "--schedule", "halve", "--rate", "1e-3"]);
        args.extend(["--class-weights", "balanced", "--metric", "auc", "--positive", "bad", "--epochs", "9"]);
        args.extend(["--decay", "1e-5", "--clip", "0", "--patience", "2"]);
        args.extend(extra);
        let run = exegete(&args);
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stdout
    };
    let told = run("best", &[]);
    assert!(told.lines().next().unwrap().contains("F1") && told.contains("AUC"), "{told}");
    let found = report(&folder, "best");
    let settings = &found["settings"];
    assert_eq!(settings["class_weights"], serde_json::json!([1.0, 1.5]));
    for (name, expected) in [
        ("optimiser", serde_json::json!("Adam")),
        ("amsgrad", true.into()),
        ("schedule", "Halve".into()),
        ("metric", "auc".into()),
        ("positive", "bad".into()),
        ("patience", 2.into()),
        ("keep", "Best".into()),
        ("clip", 0.0.into()),
        ("reduction", "mean".into()),
    ] {
        assert_eq!(settings[name], expected, "{name}");
    }
    // A separable toy has its best AUC soon, and two epochs later the run is over.
    let (epochs, best) = (found["epochs"].as_array().unwrap(), found["best_epoch"].as_u64().unwrap());
    assert_eq!(epochs[best as usize - 1]["dev"]["auc"], 1.0);
    assert!(epochs.len() < 9 && epochs.len() as u64 == best + 2, "{found}");
    run("last", &["--keep", "last"]);
    assert!(report(&folder, "last")["epochs"].as_array().unwrap().iter().all(|epoch| epoch["kept"] == true));
    let weights = |output: &str| fs::read(folder.at(&format!("{output}/model.safetensors"))).unwrap();
    assert!(weights("best") != weights("last"), "the best and the last epoch are one model");
}

/// The same rows with and without a header are the same run.
#[test]
fn a_file_without_a_header_is_read_by_numbers() {
    let with = "text\tlabel\nslow film\tbad\nwarm film\tgood\nslow\tbad\n";
    let without = with.split_once('\n').unwrap().1;
    let turned = "bad,slow film\ngood,warm film\nbad,slow\n";
    let folder = Folder::new(&[("with.tsv", with), ("without.tsv", without), ("turned.csv", turned)]);
    let model = golden("bert-bare");
    let weights = |file: &str, extra: &[&str]| {
        let (train, output) = (folder.at(file), folder.at(&format!("{file}.out")));
        let mut args = vec!["train", "--train", &train, "--dev", &train];
        args.extend(["--model", &model, "-o", &output, "--epochs", "1", "--threads", "1"]);
        args.extend(extra);
        let run = exegete(&args);
        assert_eq!(run.code, 0, "{}", run.stderr);
        fs::read(Path::new(&output).join("model.safetensors")).unwrap()
    };
    let expected = weights("with.tsv", &[]);
    assert!(weights("without.tsv", &["--no-header"]) == expected, "numbered columns are other rows");
    let named = ["--no-header", "--text-column", "last", "--label-column", "1"];
    assert!(weights("turned.csv", &named) == expected, "chosen columns are other rows");
}

/// A loss without end is an error that says where it happened and what helps.
#[test]
fn an_exploding_loss_is_named_with_step_and_rate() {
    let folder = Folder::new(&[("train.tsv", &rows())]);
    let (train, output, model) = (folder.at("train.tsv"), folder.at("out"), golden("bert-sequence"));
    let run = exegete(&[
        "train",
        "--train",
        &train,
        "--model",
        &model,
        "-o",
        &output,
        "--optimiser",
        "sgd",
        "--rate",
        "1e30",
        "--schedule",
        "constant",
        "--clip",
        "0",
    ]);
    assert_error(&run, &["diverged in step 2", "learning rate 1e30", "lower the rate"]);
}

/// Sizes in a config that no memory holds are refused before they are allocated.
#[test]
fn a_config_too_large_to_start_from_is_refused() {
    let folder = Folder::new(&[("train.tsv", &rows())]);
    let (train, output, model) = (folder.at("train.tsv"), folder.at("out"), golden("bert-sequence"));
    for file in fs::read_dir(&model).unwrap().map(|file| file.unwrap().path()) {
        if file.extension().is_some_and(|end| end == "txt" || end == "json") {
            fs::copy(&file, folder.at(file.file_name().unwrap().to_str().unwrap())).unwrap();
        }
    }
    let config = fs::read_to_string(folder.at("config.json")).unwrap();
    fs::write(folder.at("config.json"), config.replace("\"hidden_size\": 18", "\"hidden_size\": 120000"))
        .unwrap();
    let run =
        exegete(&["train", "--train", &train, "--model", &folder.at(""), "--from-scratch", "-o", &output]);
    assert_error(&run, &["14400000000 numbers", "1073741824 random ones at most"]);
}

/// Texts of the excluded files are not learned from, however they are written.
#[test]
fn excluded_texts_are_left_out() {
    let dev = "label\ttext\nnegative\tTHE film, slow the film!\npositive\tnever seen\n";
    let folder = Folder::new(&[("train.tsv", &rows()), ("dev.tsv", dev)]);
    let (train, held) = (folder.at("train.tsv"), folder.at("dev.tsv"));
    let model = golden("bert-sequence");
    let run = |extra: &[&str], output: &str| {
        let output = folder.at(output);
        let mut args = vec![
            "train", "--train", &train, "--dev", &held, "--model", &model, "--epochs", "1", "-o", &output,
        ];
        args.extend(extra);
        let run = exegete(&args);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let text = fs::read_to_string(Path::new(&output).join("training.json")).unwrap();
        (run.stderr, serde_json::from_str::<serde_json::Value>(&text).unwrap())
    };
    let (told, report) = run(&[], "leaky");
    assert!(told.contains("1 of 2 rows") && told.contains("--exclude"), "{told}");
    assert_eq!(report["data"]["train_rows"], 60);
    let (told, report) = run(&["--exclude", &held], "clean");
    assert!(told.contains("left out 1 of 60") && !told.contains("also training rows"), "{told}");
    assert_eq!(report["data"]["train_rows"], 59);
    assert_eq!(report["data"]["excluded_rows"], 1);
}

/// A run that is killed without warning, at several places, is taken up again and reaches the same weights.
#[test]
fn a_killed_run_reaches_the_same_weights() {
    let folder = Folder::new(&[("train.tsv", &rows())]);
    let (train, model) = (folder.at("train.tsv"), golden("bert-sequence"));
    let command = |output: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_exegete"));
        command
            .args(["train", "--train", &train, "--dev", &train, "--model", &model, "--from-scratch", "-o"])
            .args([output, "--epochs", "100", "--batch", "4", "--rate", "1e-3", "--save-every", "40"])
            .args(["--threads", "1"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    };
    let (whole, killed) = (folder.at("whole"), folder.at("killed"));
    assert!(command(&whole).status().unwrap().success());
    let state = Path::new(&killed).join("training_state.safetensors");
    let mut kills = 0;
    for _ in 0..3 {
        let before = fs::metadata(&state).and_then(|m| m.modified()).ok();
        let mut child = command(&killed).spawn().unwrap();
        let started = Instant::now();
        // Until another state was written, so that every kill comes later in the run than the one before.
        while fs::metadata(&state).and_then(|m| m.modified()).ok() == before
            && child.try_wait().unwrap().is_none()
            && started.elapsed() < Duration::from_secs(60)
        {
            std::thread::sleep(Duration::from_millis(2));
        }
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            kills += 1;
        }
        child.wait().unwrap();
    }
    assert!(kills > 0, "the runs were over before they could be killed");
    let last = command(&killed).output().unwrap();
    let told = String::from_utf8(last.stderr).unwrap();
    assert!(last.status.success() && told.contains("taking up the run again after"), "{told}");
    let read = |dir: &str| fs::read(Path::new(dir).join("model.safetensors")).unwrap();
    assert!(read(&whole) == read(&killed), "the killed run has other weights");
    assert!(!state.exists());
}

#[test]
fn a_folder_is_neither_its_own_start_nor_overwritten_nor_given_another_order() {
    let folder = Folder::new(&[("train.tsv", &rows()), ("config.json", "{}")]);
    let (train, model) = (folder.at("train.tsv"), golden("bert-sequence"));
    let own = folder.at("");
    assert_error(
        &exegete(&["train", "--train", &train, "--model", &model, "-o", &own]),
        &["config.json already"],
    );
    let same = format!("{model}/../bert-sequence");
    let args = ["train", "--train", &train, "--model", &model, "-o", &same, "--overwrite"];
    assert_error(&exegete(&args), &["the folder it starts from"]);
    let (out, turned) = (folder.at("out"), "positive,neutral,negative");
    let args = ["train", "--train", &train, "--model", &model, "-o", &out, "--labels", turned];
    assert_error(&exegete(&args), &["another order", "negative,neutral,positive"]);
    let nowhere = folder.at("train.tsv/out");
    assert_error(
        &exegete(&["train", "--train", &train, "--model", &model, "-o", &nowhere]),
        &["cannot be made"],
    );
}

/// The spaces around a label are no part of it, and a class may look like a list.
#[test]
fn labels_are_trimmed() {
    let folder = Folder::new(&[("train.csv", "text,label\nx, [a]\ny,[b] \nz,[a]\n")]);
    let (train, out, model) = (folder.at("train.csv"), folder.at("out"), golden("bert-bare"));
    let run = exegete(&["train", "--train", &train, "--model", &model, "-o", &out, "--epochs", "1"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report = fs::read_to_string(folder.at("out/training.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["labels"], serde_json::json!(["[a]", "[b]"]));
}
