//! `exegete attention heads`, `norms` and `words`: items of known shape, and what cannot be looked at.

use crate::harness::{assert_error, exegete, golden};
use exegete_testkit::write_toy_attention;
use serde_json::Value;
use std::fs;

const TEXTS: &str = "a b c d e\ne d c b a a b\nd d e e c a b c\nc b a a b\n";
const TREE: &str = "1\ta\t_\t_\t_\t_\t2\tdet\t_\t_\n2\twarm\t_\t_\t_\t_\t0\troot\t_\t_\n3\tand\t_\t_\t_\t_\t2\tcc\t_\t_\n\
4\tgood\t_\t_\t_\t_\t2\tconj\t_\t_\n5\tfilm\t_\t_\t_\t_\t2\tobj\t_\tSpaceAfter=No\n6\t.\t_\t_\t_\t_\t2\tpunct\t_\t_\n\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        write_toy_attention(folder.0.path().join("toy").as_path()).unwrap();
        folder
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    fn write(&self, name: &str, content: &str) -> String {
        fs::write(self.at(name), content).unwrap();
        self.at(name)
    }
}

fn report(args: &[&str]) -> Value {
    let run = exegete(&[args, &["--format", "json"]].concat());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{args:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

fn rows<'a>(report: &'a Value, name: &str) -> &'a Vec<Value> {
    let items = report["items"].as_array().unwrap();
    let item = items.iter().find(|item| item["name"] == name).unwrap_or_else(|| panic!("{name} is missing"));
    item["rows"].as_array().unwrap()
}

#[test]
fn heads_are_told_of_texts_and_trees() {
    let folder = Folder::new();
    let bert = golden("bert-sequence");
    let trees = folder.write("trees.conllu", &TREE.repeat(104));
    let found = report(&["attention", "heads", "--model", &bert, "--conllu", &trees, "--limit", "102"]);
    let heads = rows(&found, "heads").len();
    assert!(heads > 1 && rows(&found, "jsd").len() == heads && rows(&found, "disabled").len() == heads);
    let names: Vec<&Value> = rows(&found, "relations").iter().map(|row| &row[0]).collect();
    assert_eq!(names, ["cc", "conj", "det", "obj", "all"]);
    let texts = folder.write("texts.txt", "a warm and good film .\nshort one\n");
    let args =
        ["attention", "heads", "--model", &bert, "--input", &texts, "--disable", "none", "--importance"];
    let found = report(&args);
    assert!(rows(&found, "heads").iter().all(|row| row["importance"].is_number()));
    assert!(found["items"][0]["notes"].to_string().contains("1 of 2 texts left out"));
    assert_eq!(found["items"].as_array().unwrap().len(), 3);
}

#[test]
fn norms_are_told_by_layer_and_head() {
    let folder = Folder::new();
    let texts = folder.write("texts.txt", "a warm and good film .\nanother one , and another\n");
    let found = report(&["attention", "norms", "--model", &golden("bert-sequence"), "--input", &texts]);
    let layers = rows(&found, "layers");
    let of_first: Vec<&Value> = layers.iter().filter(|row| row[0] == 0.0).collect();
    for column in [2, 4, 5] {
        let sum: f64 = of_first.iter().map(|row| row[column].as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-4, "column {column}: {sum}");
    }
    assert_eq!(rows(&found, "pairs").len(), 2_000);
}

#[test]
fn words_are_told_with_their_polarity() {
    let folder = Folder::new();
    let texts = folder.write("texts.txt", TEXTS);
    let found = report(&["attention", "words", "--model", &folder.at("toy"), "--input", &texts]);
    let words: Vec<&Value> = rows(&found, "words").iter().map(|row| &row["word"]).collect();
    assert_eq!(words, ["a", "c", "b"]);
    let a = rows(&found, "words").iter().find(|row| row["word"] == "a").unwrap();
    assert!((a["polarity"].as_f64().unwrap() - 0.5).abs() < 1e-5 && a["count"] == 6, "{a}");
}

#[test]
fn what_cannot_be_looked_at_is_one_line() {
    let folder = Folder::new();
    let texts = folder.write("texts.txt", TEXTS);
    let broken = folder.write("broken.conllu", &format!("{TREE}1\ta\t_\n\n"));
    let (toy, bert) = (folder.at("toy"), golden("bert-sequence"));
    let cases: [(&[&str], &[&str]); 7] = [
        (&["heads", "--model", &toy, "--input", &texts], &["no self-attention"]),
        (&["norms", "--model", &toy, "--input", &texts], &["no self-attention"]),
        (&["words", "--model", &bert, "--input", &texts, "--label", "x"], &["transformer", "polarity"]),
        (&["words", "--model", &toy, "--input", &texts, "--label", "x"], &["--label 'x'"]),
        (&["words", "--model", &toy, "--input", &texts, "--min-count", "99"], &["--min-count"]),
        (&["heads", "--model", &bert, "--conllu", &broken], &["broken.conllu: line 8", "3 columns"]),
        (&["heads", "--model", &bert], &["--input FILE or --conllu FILE"]),
    ];
    for (args, words) in cases {
        assert_error(&exegete(&[&["attention"], args].concat()), words);
    }
}
