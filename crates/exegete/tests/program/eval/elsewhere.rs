//! Explanations made elsewhere, and what is refused.

use super::{Folder, mean};
use crate::harness::{assert_error, exegete, golden};
use serde_json::{Value, json};

/// Reports of one method, one a line, from which other files are made.
fn reports(folder: &Folder) -> Vec<Value> {
    let (input, model) = (folder.at("texts.txt"), golden("bert-sequence"));
    let run = exegete(&["explain", "--input", &input, "--model", &model, "--method", "gradient_x_input"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    folder.write("reports.jsonl", &run.stdout);
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn lines(reports: &[Value], line: impl Fn(&Value) -> Value) -> String {
    reports.iter().map(|report| format!("{}\n", line(&report["items"][0]))).collect()
}

#[test]
fn scores_from_elsewhere_are_judged_alike() {
    let folder = Folder::new();
    let reports = reports(&folder);
    // What leaving a word out does, and its opposite.
    let drops = |item: &Value, sign: f64| {
        let (units, drops) = (item["units"].as_array().unwrap(), &item["checks"]["leave_one_out"]["drops"]);
        let scored = |(i, unit): (usize, &Value)| json!({"text": unit["text"], "start": unit["start"], "end": unit["end"], "score": sign * drops[i].as_f64().unwrap()});
        json!({"units": units.iter().enumerate().map(scored).collect::<Vec<_>>()})
    };
    let tokens = |item: &Value, special: bool| {
        let kept = |i: &usize| special || item["tokens"][i]["special"] == false;
        let places: Vec<usize> = (0..item["tokens"].as_array().unwrap().len()).filter(kept).collect();
        let pieces: Vec<&Value> = places.iter().map(|&i| &item["tokens"][i]["piece"]).collect();
        let scores: Vec<&Value> = places.iter().map(|&i| &item["token_values"][i]).collect();
        json!({"tokens": pieces, "scores": scores})
    };
    folder.write("oracle.jsonl", &lines(&reports, |item| drops(item, 1.0)));
    folder.write("inverted.jsonl", &lines(&reports, |item| drops(item, -1.0)));
    folder.write("all.jsonl", &lines(&reports, |item| tokens(item, true)));
    folder.write("some.jsonl", &lines(&reports, |item| tokens(item, false)));
    let given = ["oracle", "inverted", "all", "some", "reports"]
        .map(|name| format!("{name}={}", folder.at(&format!("{name}.jsonl"))));
    let mut args = vec!["--methods", "gradient_x_input", "--check", "deep"];
    given.iter().for_each(|word| args.extend(["--explanations", word]));
    let report = folder.report(&args);
    let number = |method: &str, head: &str| mean(&report, method, head).as_f64().unwrap();
    for head in ["comprehensiveness", "comp minus random", "tau", "insertion area"] {
        assert!(number("oracle", head) > number("inverted", head), "{head}");
    }
    assert!(number("oracle", "deletion area") < number("inverted", "deletion area"));
    assert_eq!((number("oracle", "tau"), number("inverted", "tau")), (1.0, -1.0));
    // A perfect disagreement is as rare as a perfect agreement, and no good sign.
    let significant = ["oracle", "inverted"].map(|method| number(method, "tau significant"));
    assert_eq!(significant, [1.0, 0.0]);
    for same in ["all", "some", "reports"] {
        for head in ["comprehensiveness", "sufficiency", "tau", "deletion area"] {
            assert!((number(same, head) - number("gradient_x_input", head)).abs() < 1e-6, "{same}: {head}");
        }
    }
    for head in ["completeness gap", "stability", "randomised", "rows asked"] {
        if report["items"][0]["columns"].as_array().unwrap().iter().any(|column| column == head) {
            assert_eq!(mean(&report, "oracle", head), Value::Null, "{head}");
        }
    }
    let alone = folder.report(&["--explanations", &given[4], "--limit", "2"]);
    let titles = |report: &Value| -> Vec<String> {
        let items = report["items"].as_array().unwrap().iter();
        items.map(|item| item["title"].as_str().or(item["name"].as_str()).unwrap().to_owned()).collect()
    };
    assert_eq!(titles(&alone)[1..], ["Clean cards", "conclusion"], "one has none to agree with");
    let calibrated = folder.report(&["--explanations", &given[0], "--calibrate"]);
    assert_eq!(titles(&calibrated)[1..], ["Clean cards", "calibration", "conclusion"]);
    let table = &calibrated["items"][2];
    let row = |method: &str| {
        let rows = table["rows"].as_array().unwrap();
        rows.iter().find(|row| row[0] == method && row[1] == "all").unwrap().clone()
    };
    assert_eq!(table["columns"].as_array().unwrap().len(), 9);
    assert!(row("random")[2].as_f64().is_some() && row("random")[3].is_null());
    assert!(row("oracle")[3].as_f64().is_some() && row("oracle")[2].is_null());
    assert_eq!((&row("constant")[2], &row("reversed oracle")[2]), (&json!(0.0), &json!(0.0)));
}

#[test]
fn wrong_arguments_and_files() {
    let folder = Folder::new();
    let reports = reports(&folder);
    let good = lines(&reports, |item| json!({"units": [{"start": 0, "end": 1, "score": item["value"]}]}));
    let line = |index: usize, content: &str| {
        let mut all: Vec<&str> = good.lines().collect();
        all[index] = content;
        all.join("\n")
    };
    let mut swapped = reports.clone();
    swapped.swap(1, 2);
    let mut other = reports.clone();
    other[2]["items"][0]["target"] = json!("class:nobody:logit");
    let whole = |reports: &[Value]| reports.iter().map(|report| format!("{report}\n")).collect::<String>();
    for (content, told) in [
        (line(2, "{"), &["x.jsonl: line 3", "not a JSON object"][..]),
        (line(0, ""), &["x.jsonl: line 1", "not a JSON object"]),
        (
            line(1, "{\"tokens\":[\"a\"],\"scores\":[1]}"),
            &["x.jsonl: line 2", "1 tokens, but the model reads"],
        ),
        (
            line(3, "{\"units\":[{\"start\":0,\"end\":999,\"score\":1}]}"),
            &["x.jsonl: line 4", "bytes 0 to 999"],
        ),
        (format!("{good}{{\"units\":[]}}\n"), &["x.jsonl: line 5", "one too many", "4 texts", "5 lines"]),
        (good.lines().next().unwrap().to_owned(), &["x.jsonl: line 2", "is missing", "4 texts"]),
        (whole(&swapped), &["x.jsonl: line 2", "another text"]),
        (whole(&other), &["texts.txt: line 3", "x.jsonl: line 3 explains class:nobody:logit"]),
    ] {
        let file = folder.write("x.jsonl", &content);
        assert_error(&folder.eval(&["--explanations", &format!("theirs={file}")]), told);
    }
    let reports = format!("saliency={}", folder.at("reports.jsonl"));
    for (args, told) in [
        (&[][..], &["--methods"][..]),
        (&["--methods", "salience"], &["'salience' is no method", "saliency"]),
        (&["--methods", "saliency,saliency"], &["'saliency' would name two rows"]),
        (&["--methods", "saliency", "--explanations", &reports], &["'saliency' would name two rows"]),
        (&["--methods", "saliency", "--explanations", "x.jsonl"], &["NAME=FILE"]),
        (&["--explanations", "a=nowhere.jsonl"], &["nowhere.jsonl", "cannot be opened"]),
        (&["--methods", "saliency", "--limit", "0"], &["--limit 0"]),
        (&["--methods", "saliency", "--check", "none"], &["none", "default, deep"]),
        (&["--methods", "saliency", "--units", "letter"], &["'letter' is not a kind of unit"]),
        (&["--methods", "saliency", "--set", "stesp=3"], &["stesp"]),
        (&["--methods", "saliency", "--target", "class:nobody"], &["texts.txt: line 1", "nobody"]),
        (&["--methods", "saliency", "-o", "no/such/folder/f"], &["no/such/folder/f", "cannot be written"]),
    ] {
        assert_error(&folder.eval(args), told);
    }
    folder.write("texts.txt", "fine\n\nfine\n");
    assert_error(&folder.eval(&["--methods", "saliency"]), &["texts.txt: line 2", "empty"]);
    folder.write("texts.txt", "");
    assert_error(&folder.eval(&["--methods", "saliency"]), &["texts.txt", "holds no text"]);
}

/// A black box has words and no tokens: files of scores by place fit it, and without a file nothing of its inside is asked for.
#[test]
fn black_boxes_are_compared_and_calibrated() {
    let folder = Folder::new();
    folder.write(
        "texts.txt",
        "A warm and honest film about my city.\nNot one honest word in this thin plot.\n",
    );
    let model = r#"cmd: while IFS= read -r line; do case "$line" in *honest*) echo '{"scores":[[0.2,0.8]]}';; *) echo '{"scores":[[0.4,0.6]]}';; esac; done"#;
    let input = folder.at("texts.txt");
    let asked = ["eval", "--input", &input, "--model", model, "--batch", "1", "--methods", "leave_one_out"];
    let asked = [&asked[..], &["--calibrate"]].concat();
    let table = |report: &Value, name: &str| {
        let tables = report["items"].as_array().unwrap();
        tables.iter().find(|table| table["name"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
    };
    let run = exegete(&[&asked[..], &["--format", "json"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(mean(&report, "leave_one_out", "comprehensiveness").as_f64().unwrap() > 0.1);
    let random = table(&report, "calibration")["rows"][0].clone();
    assert_eq!((&random[0], &random[1], &random[7]), (&json!("random"), &json!("all"), &json!(2.0)));
    let word = json!({"units": [{"text": "honest", "start": 11, "end": 17, "score": 1.0}]});
    let other = json!({"units": [{"text": "honest", "start": 8, "end": 14, "score": 1.0}]});
    let given = format!("mine={}", folder.write("mine.jsonl", &format!("{word}\n{other}\n")));
    let run = exegete(&[&asked[..], &["--explanations", &given, "--format", "json"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(mean(&report, "mine", "comprehensiveness").as_f64().unwrap() > 0.1);
}
