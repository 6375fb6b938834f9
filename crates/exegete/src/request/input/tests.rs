use super::*;
use clap::Parser;
use std::io::Write;

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    texts: TextInput,
}

struct Case {
    file: &'static str,
    content: &'static [u8],
    options: &'static [&'static str],
    task: &'static dyn Task,
    /// Each example as `field=text` parts with its label, or the error after the folder's name.
    expected: Result<&'static [&'static str], &'static str>,
}

fn read(case: &Case) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(case.file);
    std::fs::File::create(&path).unwrap().write_all(case.content).unwrap();
    let path = path.to_string_lossy().into_owned();
    let options = ["predict", "--input", &path].into_iter().chain(case.options.iter().copied());
    let texts = Flags::try_parse_from(options).unwrap().texts;
    let place = format!("{}/", folder.path().display());
    let all = TextReader::open(&texts, case.task).and_then(|mut source| source.chunk(100));
    let all = all.map_err(|e| format!("{e:#}").replace(&place, ""))?;
    Ok(all.iter().map(show).collect())
}

fn show(example: &Example) -> String {
    let mut parts: Vec<_> = example.fields.iter().map(|f| format!("{}={}", f.name, f.text)).collect();
    parts.extend(example.label.clone());
    parts.join("|")
}

const CLASSES: &dyn Task = &crate::task::Classification;
const ANSWERS: &dyn Task = &crate::task::QuestionAnswering;

fn check(cases: &[Case]) {
    for case in cases {
        let expected =
            case.expected.map_err(str::to_owned).map(|rows| rows.iter().map(|&r| r.to_owned()).collect());
        assert_eq!(read(case), expected, "{} {:?}", case.file, String::from_utf8_lossy(case.content));
    }
}

fn case(
    file: &'static str,
    content: &'static [u8],
    options: &'static [&'static str],
    expected: Result<&'static [&'static str], &'static str>,
) -> Case {
    Case { file, content, options, task: CLASSES, expected }
}

#[test]
fn every_kind_of_file_is_read() {
    check(&[
        case("a.txt", b"one\r\ntwo \xc3\xa9\n", &[], Ok(&["text=one", "text=two é"])),
        case("a.txt", b"\xef\xbb\xbfone", &[], Ok(&["text=one"])),
        case("a.tsv", b"sentence\tlabel\n\"hm\t1\n", &["--label-column", "label"], Ok(&["text=\"hm|1"])),
        case("a.csv", b"id,content\n1,\"a, b\"\n", &[], Ok(&["text=a, b"])),
        case("a.csv", b"a,b\nx,y\n", &["--text-column", "a", "--pair-column", "b"], Ok(&["text=x|pair=y"])),
        case("A.JSONL", b"{\"text\":\"x\",\"y\":2}\n", &["--label-column", "y"], Ok(&["text=x|2"])),
        case("a.txt", b"x\ny\n", &["--pair", "z"], Ok(&["text=x|pair=z", "text=y|pair=z"])),
    ]);
}

#[test]
fn questions_have_contexts() {
    let qa = |file, content, options, expected| Case { file, content, options, task: ANSWERS, expected };
    check(&[
        qa("a.tsv", b"question\tcontext\nWho?\tMe.\n", &[], Ok(&["question=Who?|context=Me."])),
        qa("a.txt", b"Who?\n", &["--pair", "Me."], Ok(&["question=Who?|context=Me."])),
        qa("a.csv", b"text,x\nWho?,y\n", &["--pair", "Me."], Ok(&["question=Who?|context=Me."])),
        qa(
            "a.txt",
            b"Who?\n",
            &[],
            Err(
                "a question-answering model reads a question and its context; give the context with --pair or --pair-column",
            ),
        ),
    ]);
}

#[test]
fn bad_files_name_their_line() {
    let columns = "a.tsv: line 1: no column text, sentence, content; the columns are a, b; \
                   name another with --text-column, --pair-column or --label-column; \
                   for a table without a header give --no-header";
    check(&[
        case(
            "a.txt",
            b"fine\nnot \xff fine\n",
            &[],
            Err("a.txt: line 2: invalid UTF-8 at byte 5 of the line; convert the file to UTF-8"),
        ),
        case(
            "a.txt",
            b"x\n \ny\n",
            &[],
            Err("a.txt: line 2: the text is empty; remove the row or fill it in"),
        ),
        case("a.tsv", b"a\tb\nx\ty\n", &[], Err(columns)),
        case("a.tsv", b"text\tb\nx\n", &[], Err("a.tsv: line 2: the row has 1 fields, the header 2")),
        case("a.tsv", b"", &[], Err("a.tsv: is empty; a header with the column names was expected")),
        case(
            "a.csv",
            b"text,b\nx,1\n",
            &["--label-column", "c"],
            Err(
                "a.csv: line 1: no column 'c'; the columns are text, b; for a table without a header give --no-header",
            ),
        ),
        case(
            "a.csv",
            b"text\n\"x\n",
            &[],
            Err("a.csv: line 2: a quote is opened in this row and never closed"),
        ),
        case(
            "a.jsonl",
            b"{\"text\":\"x\"}\n{\"text\":\n",
            &[],
            Err("a.jsonl: line 2: not a JSON object: EOF while parsing a value at column 8"),
        ),
        case(
            "a.jsonl",
            b"{\"text\":\"a\"}\n{\"text\":\"a\",\"text\":\"b\"}\n",
            &[],
            Err("a.jsonl: line 2: two fields are called 'text'; give each a name of its own"),
        ),
        case(
            "a.csv",
            b"good film,1\n",
            &[],
            Err("a.csv: line 1: no column text, sentence, content; the columns are good film, 1; \
                 name another with --text-column, --pair-column or --label-column; \
                 if line 1 is a row already, --no-header reads it"),
        ),
        case("a.jsonl", b"{\"text\":3}\n", &[], Err("a.jsonl: line 1: 'text' is not a string")),
        case(
            "a.parquet",
            b"x",
            &[],
            Err("a.parquet: unknown kind of file; name it .txt, .tsv, .csv or .jsonl"),
        ),
        case(
            "a.txt",
            b"x\n",
            &["--text-column", "t"],
            Err(
                "a text per line has no columns; leave the column options out or give a .tsv, .csv or .jsonl file",
            ),
        ),
    ]);
}
