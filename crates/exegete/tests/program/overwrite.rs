//! What `-o` may not destroy: files that are read, links, pipes, devices and files that nobody may write.

use crate::harness::{Run, assert_error, exegete, exegete_in, golden};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

const ROWS: &str = "text\tlabel\nA warm film.\tpositive\nA bad film.\tnegative\n";
const QUICK: [&str; 4] = ["--method", "saliency", "--check", "none"];

struct Folder(tempfile::TempDir);

impl Folder {
    /// With a file of texts in it.
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        fs::write(folder.at("rows.tsv"), ROWS).unwrap();
        folder
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    /// A copy of a golden model.
    fn model(&self) -> String {
        fs::create_dir(self.at("model")).unwrap();
        for entry in fs::read_dir(golden("bert-sequence")).unwrap().flatten() {
            let to = self.0.path().join("model").join(entry.file_name());
            fs::copy(entry.path(), to).unwrap();
        }
        self.at("model")
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The texts predicted, into some file.
    fn predict(&self, output: &str) -> Run {
        run(&["predict", "--input", &self.at("rows.tsv"), "--format", "csv", "-o", output])
    }
}

/// A run with a golden model.
fn run(args: &[&str]) -> Run {
    exegete(&[args, &["--model", &golden("bert-sequence")]].concat())
}

/// The command is refused, and the file is what it was.
fn assert_refused(args: &[&str], file: &str) {
    let before = fs::read(file).ok();
    let run = exegete(args);
    assert_eq!(fs::read(file).ok(), before, "{args:?} changed {file}");
    assert_error(&run, &["would be overwritten"]);
}

#[test]
fn a_file_that_is_read_is_not_written_whatever_it_is_called() {
    let folder = Folder::new();
    let rows = folder.at("rows.tsv");
    symlink(&rows, folder.at("link.tsv")).unwrap();
    symlink("link.tsv", folder.at("link-of-link.tsv")).unwrap();
    fs::hard_link(&rows, folder.at("hard.tsv")).unwrap();
    fs::create_dir(folder.at("sub")).unwrap();
    symlink(folder.0.path(), folder.at("sub/up")).unwrap();
    let spellings = [
        "rows.tsv",
        "./rows.tsv",
        "sub/../rows.tsv",
        "sub/up/rows.tsv",
        "link.tsv",
        "link-of-link.tsv",
        "hard.tsv",
    ];
    let model = golden("bert-sequence");
    for spelling in spellings {
        let output = folder.at(spelling);
        let to = ["--input", &rows, "--model", &model, "-o", &output];
        assert_refused(&[&["predict"], &to[..]].concat(), &rows);
        assert_refused(&[&["explain"], &QUICK[..], &to].concat(), &rows);
        assert_refused(&[&["explain", "--format", "csv"], &QUICK[..], &to].concat(), &rows);
        assert_refused(&[&["eval", "--methods", "saliency"], &to[..]].concat(), &rows);
    }
    assert!(fs::symlink_metadata(folder.at("link.tsv")).unwrap().is_symlink());
}

#[test]
fn every_file_that_is_named_is_safe() {
    let folder = Folder::new();
    let (rows, model) = (folder.at("rows.tsv"), folder.model());
    let write = |name: &str, content: &str| {
        fs::write(folder.at(name), content).unwrap();
        folder.at(name)
    };
    let words = write("words.tsv", "film\t3\ngood\t1\n");
    let steps = write("steps", "4");
    let held_out = write("held-out.tsv", ROWS);
    let texts = write("texts.txt", "A warm film.\n");
    let given = write("given.jsonl", "{\"tokens\":[\"a\"],\"scores\":[1]}\n");
    let one = ["explain", "A warm film.", "--no-check", "--model", &model, "-o"];
    assert_refused(
        &[&one[..], &[&words, "--masker", "sampled", "--words", &words, "--method", "lime"]].concat(),
        &words,
    );
    let set = format!("steps=@{steps}");
    assert_refused(&[&one[..], &[&steps, "--set", &set]].concat(), &steps);
    let cache = folder.at("answers");
    assert_refused(&[&one[..], &[&cache, "--cache", &cache, "--method", "leave_one_out"]].concat(), &cache);
    let kept = ["explain", "A warm film.", "--model", &model, "--cache", &cache, "--method", "leave_one_out"];
    assert_eq!(exegete(&kept).code, 0);
    assert_refused(&[&kept[..], &["-o", &cache]].concat(), &cache);
    for name in ["config.json", "model.safetensors"] {
        let part = format!("{model}/{name}");
        assert_refused(&[&one[..], &[&part]].concat(), &part);
        assert_refused(&["predict", "A warm film.", "--model", &model, "-o", &part], &part);
    }
    let triggers = ["explain", "--input", &rows, "--label-column", "label", "--model", &model, "--method"];
    let triggers = [&triggers[..], &["triggers", "--held-out", &held_out, "-o", &held_out]].concat();
    assert_refused(&triggers, &held_out);
    let from = format!("elsewhere={given}");
    let eval = ["eval", "--input", &texts, "--model", &model, "--explanations", &from, "-o", &given];
    assert_refused(&eval, &given);
    let report = folder.at("report.json");
    assert_eq!(exegete(&[&one[..], &[&report, "--format", "json"]].concat()).code, 0);
    assert_refused(&["show", &report, "--format", "html", "-o", &report], &report);
}

#[test]
fn a_model_is_not_written_onto_itself() {
    let folder = Folder::new();
    let (rows, model) = (folder.at("rows.tsv"), folder.model());
    let weights = format!("{model}/model.safetensors");
    assert_refused(&["model", "export", &model, "-o", &model, "--overwrite"], &weights);
    let out = folder.at("out");
    fs::create_dir(&out).unwrap();
    symlink(&weights, format!("{out}/model.safetensors")).unwrap();
    assert_refused(&["model", "export", &model, "-o", &out, "--overwrite"], &weights);
    let train = ["train", "--train", &rows, "--model", &model, "-o", &out, "--epochs", "1", "--overwrite"];
    assert_refused(&train, &weights);
    fs::remove_file(format!("{out}/model.safetensors")).unwrap();
    symlink(&rows, format!("{out}/training.json")).unwrap();
    assert_refused(&train, &rows);
    fs::remove_file(format!("{out}/training.json")).unwrap();
    assert_eq!(exegete(&["model", "export", &model, "-o", &out]).code, 0);
}

#[test]
fn links_stay_and_permissions_are_kept() {
    let folder = Folder::new();
    let (there, link) = (folder.at("there.csv"), folder.at("link.csv"));
    fs::write(&there, "old").unwrap();
    fs::set_permissions(&there, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("there.csv", &link).unwrap();
    let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let is_link = |path: &str| fs::symlink_metadata(path).unwrap().is_symlink();
    assert_eq!(folder.predict(&link).code, 0);
    assert!(is_link(&link) && fs::read_to_string(&there).unwrap().contains("A warm film."));
    assert_eq!(mode(&there), 0o640);
    // A run that can be taken up again replaces a file too.
    let rows = folder.at("rows.tsv");
    let corpus = run(&[&["explain", "--input", &rows, "-o", &link], &QUICK[..]].concat());
    assert_eq!(corpus.code, 0, "{}", corpus.stderr);
    assert!(is_link(&link) && fs::read_to_string(&there).unwrap().starts_with("{\"schema\""));
    assert_eq!(mode(&there), 0o640);
    // A link to nothing yet.
    symlink("new.csv", folder.at("dangling.csv")).unwrap();
    assert_eq!(folder.predict(&folder.at("dangling.csv")).code, 0);
    assert!(is_link(&folder.at("dangling.csv")) && Path::new(&folder.at("new.csv")).is_file());
    assert_eq!(folder.names(), ["dangling.csv", "link.csv", "new.csv", "rows.tsv", "there.csv"]);
}

#[test]
fn a_read_only_file_and_a_folder_are_left_alone() {
    let folder = Folder::new();
    let (rows, locked, report) = (folder.at("rows.tsv"), folder.at("locked"), folder.at("report.json"));
    fs::write(&locked, "mine").unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(run(&[&["explain", "x", "--format", "json", "-o", &report], &QUICK[..]].concat()).code, 0);
    for runs in [
        folder.predict(&locked),
        run(&[&["explain", "A warm film.", "-o", &locked], &QUICK[..]].concat()),
        run(&[&["explain", "--input", &rows, "-o", &locked], &QUICK[..]].concat()),
        run(&["eval", "--input", &rows, "--methods", "saliency", "-o", &locked]),
        exegete(&["show", &report, "-o", &locked]),
    ] {
        assert_error(&runs, &["locked", "read-only"]);
        assert_eq!(fs::read_to_string(&locked).unwrap(), "mine");
    }
    assert_error(&folder.predict(&folder.at(".")), &["it is a folder"]);
    assert_eq!(folder.names(), ["locked", "report.json", "rows.tsv"]);
}

/// What a run writes into a pipe that has a name, which must still be one afterwards.
fn through_a_pipe(folder: &Folder, args: &[&str]) -> String {
    let path = folder.at("pipe");
    if !Path::new(&path).exists() {
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    }
    // Open in both directions: neither end waits for the other, and the pipe holds more than is written.
    let mut pipe = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let done = run(&[args, &["-o", &path]].concat());
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{args:?}");
    assert!(fs::symlink_metadata(&path).unwrap().file_type().is_fifo(), "{args:?}");
    let mut bytes = vec![0; 1 << 16];
    let count = pipe.read(&mut bytes).unwrap();
    String::from_utf8(bytes[..count].to_vec()).unwrap()
}

#[test]
fn pipes_and_devices_are_written_through() {
    let folder = Folder::new();
    let rows = folder.at("rows.tsv");
    let predicted = through_a_pipe(&folder, &["predict", "--input", &rows, "--format", "csv"]);
    assert!(predicted.contains("A bad film."), "{predicted}");
    let explained = through_a_pipe(&folder, &[&["explain", "--input", &rows], &QUICK[..]].concat());
    assert_eq!(explained.lines().count(), 2, "{explained}");
    let compared = through_a_pipe(&folder, &["eval", "--input", &rows, "--methods", "saliency"]);
    assert!(compared.contains("saliency"), "{compared}");
    // By way of links: should this ever go wrong, it is not the machine's own device that is lost.
    symlink("/dev/null", folder.at("nothing")).unwrap();
    symlink("/dev/stdout", folder.at("out")).unwrap();
    let to_nothing = folder.predict(&folder.at("nothing"));
    assert_eq!((to_nothing.code, to_nothing.stdout.as_str()), (0, ""), "{}", to_nothing.stderr);
    assert!(fs::metadata(folder.at("nothing")).unwrap().file_type().is_char_device());
    let to_stdout = folder.predict(&folder.at("out"));
    assert!(to_stdout.code == 0 && to_stdout.stdout.contains("A warm film."), "{}", to_stdout.stderr);
    assert_eq!(folder.names(), ["nothing", "out", "pipe", "rows.tsv"]);
}

#[test]
fn a_folder_does_not_go_to_the_standard_output() {
    let folder = Folder::new();
    for args in [
        &["model", "export", "default", "-o", "-"][..],
        &["model", "export", "default", "-o", "-", "--overwrite"],
        &["train", "--train", "rows.tsv", "-o", "-"],
        &["train", "--train", "rows.tsv", "--kind", "gru", "-o", "-"],
    ] {
        assert_error(&exegete_in(folder.0.path(), args), &["-o -", "folder", "standard output"]);
        assert_eq!(folder.names(), ["rows.tsv"], "{args:?}");
    }
}

#[test]
fn a_hyphen_is_the_standard_output() {
    let folder = Folder::new();
    let model = golden("bert-sequence");
    for args in [
        &["predict", "--input", "rows.tsv", "--format", "csv"][..],
        &["explain", "--input", "rows.tsv", "--method", "saliency", "--check", "none"],
        &["explain", "A warm film.", "--method", "saliency", "--check", "none"],
        &["eval", "--input", "rows.tsv", "--methods", "saliency"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_exegete"));
        let done =
            command.args(args).args(["--model", &model, "-o", "-"]).current_dir(folder.0.path()).output();
        let done = done.unwrap();
        assert!(done.status.success() && !done.stdout.is_empty(), "{args:?}");
        assert_eq!(folder.names(), ["rows.tsv"], "{args:?}");
    }
}
