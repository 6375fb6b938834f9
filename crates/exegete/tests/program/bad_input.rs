//! Texts, files and arguments that are wrong: one line on stderr that says where, exit 2.

use crate::harness::{assert_error, exegete, exegete_reading, file, golden};

#[test]
fn wrong_arguments() {
    let model = golden("bert-sequence");
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["requires a subcommand", "predict, model, train, data, bench"]),
        (&["predict"], &["there is no text", "--input FILE"]),
        (&["predict", "x", "--modle", &model], &["'--modle'", "'--model'"]),
        (&["predict", "x", "--model", &model, "--memory", "lots"], &["'lots' is not a size", "2GiB"]),
        (&["predict", "x", "--model", &model, "--format", "xml"], &["xml", "text, json, csv"]),
        (&["predict", "x", "--input", "y.txt", "--model", &model], &["cannot be used with"]),
        (&["predict", "", "--model", &model], &["the text is empty"]),
        (&["predict", " \t", "--model", &model], &["the text is empty"]),
        (&["predict", "x", "--pair", "", "--model", &model], &["the pair is empty"]),
        (&["predict", "--input", "nowhere.txt", "--model", &model], &["nowhere.txt", "cannot be opened"]),
        (
            &["predict", "x", "--model", &model, "-o", "no/such/folder/f"],
            &["no/such/folder/f", "cannot be written"],
        ),
        (&["bench", "--only", "nonsense"], &["forward_batch", "gradient"]),
    ];
    for (args, told) in cases {
        assert_error(&exegete(args), told);
    }
}

/// Names of other tools, slips, and capitals: what was meant, and nothing where nothing is near.
#[test]
fn names_that_are_nearly_right() {
    let text = "A warm film.";
    for (args, told) in [
        (&["PREDICT", text][..], "did you mean 'predict'?"),
        (&["exlpain", text], "did you mean 'explain'?"),
        (&["model", "INFO"], "did you mean 'info'?"),
        (&["explain", text, "--Method", "lime"], "did you mean '--method'?"),
        (&["explain", text, "--unit", "token"], "did you mean '--units'?"),
        (&["explain", text, "--method", "IntegratedGradients"], "did you mean integrated_gradients?"),
        (&["explain", text, "--method", "LimeTextExplainer"], "did you mean lime?"),
        (&["explain", text, "--method", "smoothgrad"], "saliency with --set noise=smooth"),
        (
            &["explain", text, "--method", "sequential_integrated_gradients"],
            "integrated_gradients with --set path=sequential",
        ),
        (&["eval", "--input", "a.txt", "--methods", "shap"], "did you mean partition_shap?"),
        (&["explain", text, "--set", "Steps=4"], "did you mean steps=4?"),
        (&["explain", text, "--target", "class:Positive"], "did you mean 'positive'?"),
    ] {
        assert_error(&exegete(args), &[told]);
    }
    for args in [
        &["explain", text, "--limit", "3"][..],
        &["colour", text],
        &["explain", text, "--method", "banana"],
        &["explain", text, "--set", "colour=3"],
        &["explain", text, "--target", "class:great"],
    ] {
        let run = exegete(args);
        assert_error(&run, &[]);
        assert!(!run.stderr.contains("did you mean") && !run.stderr.contains("similar"), "{}", run.stderr);
    }
}

#[test]
fn wrong_files() {
    let cases: &[(&str, &[u8], &[&str])] = &[
        ("a.txt", b"fine\nbad \xff\n", &["a.txt: line 2", "UTF-8"]),
        ("a.tsv", b"text\nfine\nbad \xc3\n", &["a.tsv: line 3", "UTF-8"]),
        ("a.txt", b"fine\n\nfine\n", &["a.txt: line 2", "empty"]),
        ("a.txt", b"", &["a.txt", "holds no text"]),
        (
            "a.tsv",
            b"title\tbody\nx\ty\n",
            &["no column text, sentence, content", "title, body", "--text-column"],
        ),
        ("a.tsv", b"text\tlabel\nx\n", &["a.tsv: line 2", "1 fields", "header 2"]),
        ("a.csv", b"text\n\"open\nx\n", &["a.csv: line 2", "never closed"]),
        ("a.csv", b"text\n\"\"\n", &["a.csv: line 2", "empty"]),
        ("a.jsonl", b"{\"text\":\"x\"}\n{\"text\"\n", &["a.jsonl: line 2", "not a JSON object"]),
        ("a.jsonl", b"{\"body\":\"x\"}\n", &["a.jsonl: line 1", "body"]),
        ("a.xlsx", b"x", &["a.xlsx", ".txt, .tsv, .csv or .jsonl"]),
    ];
    let model = golden("bert-sequence");
    for (name, content, told) in cases {
        for format in ["text", "json", "csv"] {
            let (_folder, path) = file(name, content);
            assert_error(
                &exegete(&["predict", "--input", &path, "--model", &model, "--format", format]),
                told,
            );
        }
    }
}

#[test]
fn a_failed_run_leaves_no_output_file() {
    let (folder, path) = file("a.txt", b"fine\n\xff\n");
    let out = folder.path().join("out.csv").to_string_lossy().into_owned();
    let model = golden("bert-sequence");
    assert_error(&exegete(&["predict", "--input", &path, "--model", &model, "-o", &out]), &["line 2"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn wrong_stdin() {
    let model = golden("bert-sequence");
    let run = exegete_reading(&["predict", "-", "--model", &model], b"fine\n\xfe\n");
    assert_error(&run, &["stdin: line 2", "UTF-8"]);
}

#[test]
fn a_question_needs_a_context() {
    let model = golden("bert-qa");
    assert_error(&exegete(&["predict", "Who?", "--model", &model]), &["--pair", "context"]);
    assert_error(&exegete(&["predict", "Who?", "--pair", " ", "--model", &model]), &["the context is empty"]);
}
