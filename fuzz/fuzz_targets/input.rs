//! Bytes as a file of texts: every row becomes an example or an error, and nothing is passed over.
//!
//! Input: a byte of options, then the file. Its lowest two bits say which kind of file, the others in turn whether the
//! task is question answering, a second text is given, and columns are named for the text, its pair and the label.
#![no_main]

use exegete::request::{TextInput, TextReader};
use exegete::task::{CLASSIFICATION, QUESTION_ANSWERING};
use exegete::{Example, Task};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|data: &[u8]| {
    let Some((&options, content)) = data.split_first() else { return };
    let kind = ["txt", "tsv", "csv", "jsonl"][usize::from(options & 3)];
    let path = std::env::temp_dir().join(format!("exegete-fuzz-{}.{kind}", std::process::id()));
    std::fs::write(&path, content).expect("a temporary file can be written");
    check(&path, content.len(), options);
});

fn check(path: &Path, size: usize, options: u8) {
    let given = |bit: u8, name: &'static str| (options >> bit & 1 == 1).then(|| name.to_owned());
    let texts = TextInput {
        input: Some(path.to_owned()),
        pair: given(3, "a pair"),
        text_column: given(4, "a"),
        pair_column: given(5, "b"),
        label_column: given(6, "y"),
        ..TextInput::default()
    };
    let task: &'static dyn Task = if options >> 2 & 1 == 1 { &QUESTION_ANSWERING } else { &CLASSIFICATION };
    let mut source = match TextReader::open(&texts, task) {
        Err(error) => return assert!(!error.to_string().is_empty()),
        Ok(source) => source,
    };
    let (mut length, mut line) = (0, 0);
    loop {
        match source.read() {
            Err(error) => return assert!(!error.to_string().is_empty()),
            Ok(None) => break,
            Ok(Some(example)) => length += checked(&example),
        }
        assert!(source.line() > line, "rows are in order");
        line = source.line();
    }
    assert!(
        length <= size && source.bytes() == size as u64,
        "{length} and {} of {size} bytes",
        source.bytes()
    );
}

/// The length of an example's text, none of whose fields may be blank.
fn checked(example: &Example) -> usize {
    assert!(matches!(example.fields.len(), 1 | 2));
    assert!(example.fields.iter().all(|field| !field.text.trim().is_empty()));
    example.fields[0].text.len()
}
