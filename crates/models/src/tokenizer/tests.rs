use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;

const VOCAB: [&str; 12] =
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "film", "##s", "warm", ",", "é", "e"];

fn config(changes: Value) -> Config {
    let mut base = json!({
        "model_type": "bert", "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1,
        "intermediate_size": 4, "vocab_size": 12, "max_position_embeddings": 16
    });
    base.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    Config::parse(base.to_string()).unwrap()
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

fn open(files: &[(&str, &str)], changes: Value) -> Result<Tokenizer> {
    Tokenizer::open(folder(files).path(), &config(changes))
}

fn bert(changes: Value) -> Tokenizer {
    open(&[("vocab.txt", &VOCAB.join("\n"))], changes).unwrap()
}

/// The same tokenizer as a `tokenizer.json`, with padding and truncation that must not be used.
fn whole() -> Value {
    let vocab: serde_json::Map<String, Value> =
        (0..).zip(VOCAB).map(|(i, piece)| (piece.into(), json!(i))).collect();
    let added = |id: u32| {
        json!({"id": id, "content": VOCAB[id as usize], "single_word": false, "lstrip": false, "rstrip": false,
               "normalized": false, "special": true})
    };
    json!({
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
                    "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": [added(0), added(1), added(2), added(3), added(4)],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                       "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocab}
    })
}

fn pieces(encoded: &Encoded) -> String {
    encoded.tokens.iter().map(|token| token.piece.as_str()).collect::<Vec<_>>().join(" ")
}

/// Spans as `field:slice`, a dash for special tokens.
fn slices(encoded: &Encoded) -> String {
    let slice =
        |token: &Token| token.span.map_or("-".into(), |s| format!("{}:{}", s.field, encoded.slice(s)));
    encoded.tokens.iter().map(slice).collect::<Vec<_>>().join(" ")
}

#[test]
fn both_shapes_of_file_give_the_same_tokens() {
    let files = [("vocab.txt", VOCAB.join("\n")), ("tokenizer.json", whole().to_string())];
    for (name, text) in files {
        let tokenizer = open(&[(name, &text)], json!({})).unwrap();
        let encoded = tokenizer.encode(&Example::pair("A Warm\u{301} [MASK],", "films É zebra")).unwrap();
        assert_eq!(pieces(&encoded), "[CLS] a warm [MASK] , [SEP] film ##s e [UNK] [SEP]", "{name}");
        assert_eq!(slices(&encoded), "- 0:A 0:Warm 0:[MASK] 0:, - 1:film 1:s 1:É 1:zebra -", "{name}");
        let kinds: Vec<u32> = encoded.tokens.iter().map(|token| token.type_id).collect();
        assert!(!encoded.truncated);
        assert_eq!(kinds, [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1], "{name}");
        assert_eq!(
            (tokenizer.mask_id(), tokenizer.pad_id(), tokenizer.unk_id()),
            (Some(4), Some(0), Some(1))
        );
        assert_eq!((tokenizer.token_id("film"), tokenizer.piece(6)), (Some(6), Some("film".into())));
        assert_eq!((tokenizer.token_id("none"), tokenizer.piece(99)), (None, None));
    }
}

#[test]
fn older_settings_are_followed() {
    let vocab = VOCAB.join("\n");
    let check = |settings: Value, text: &str, expected: &str| {
        let files = [("vocab.txt", vocab.as_str()), ("tokenizer_config.json", &settings.to_string())];
        let encoded = open(&files, json!({})).unwrap().encode(&Example::text(text)).unwrap();
        assert_eq!(pieces(&encoded), format!("[CLS] {expected} [SEP]"), "{settings}");
    };
    check(json!({}), "Film é", "film e");
    check(json!({"do_lower_case": false}), "Film film é", "[UNK] film é");
    check(json!({"strip_accents": false}), "Film é", "film é");
    check(json!({"mask_token": {"content": "film"}}), "FILM film", "film film");
    check(json!({"model_max_length": 4}), "a a a a", "a a");
    check(json!({"model_max_length": 1e30}), "a a a a", "a a a a");
}

#[test]
fn byte_level_files_are_read() {
    let vocab = json!({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "a": 4, "b": 5, "Ġ": 6, "ab": 7, "Ġab": 8, "<mask>": 9});
    let files = [("vocab.json", &*vocab.to_string()), ("merges.txt", "#version: 0.2\na b\nĠ ab\n")];
    let roberta = json!({"model_type": "roberta", "type_vocab_size": 1});
    let tokenizer = open(&files, roberta.clone()).unwrap();
    let encoded = tokenizer.encode(&Example::pair("ab ab <mask>", "b")).unwrap();
    assert_eq!(pieces(&encoded), "<s> ab Ġab <mask> </s> </s> b </s>");
    assert_eq!(slices(&encoded), "- 0:ab 0:ab 0:<mask> - - 1:b -");
    assert!(encoded.tokens.iter().all(|token| token.type_id == 0));
    assert_eq!(tokenizer.max_tokens(), 14);
    let spaced = [files[0], files[1], ("tokenizer_config.json", r#"{"add_prefix_space":true}"#)];
    let encoded = open(&spaced, roberta).unwrap().encode(&Example::text("ab")).unwrap();
    assert_eq!((pieces(&encoded), slices(&encoded)), ("<s> Ġab </s>".into(), "- 0:ab -".into()));
}

#[test]
fn what_does_not_fit_is_cut_and_reported() {
    let tokenizer = bert(json!({"max_position_embeddings": 8}));
    let check = |tokenizer: &Tokenizer, example: Example, expected: &str| {
        let encoded = tokenizer.encode(&example).unwrap();
        assert!(encoded.truncated && encoded.len() <= 8);
        assert_eq!(pieces(&encoded), expected);
    };
    check(&tokenizer, Example::text("a ".repeat(9)), "[CLS] a a a a a a [SEP]");
    check(&tokenizer, Example::pair("a ".repeat(9), "e"), "[CLS] a a a a [SEP] e [SEP]");
    check(&tokenizer, Example::pair("a ".repeat(9), "e ".repeat(9)), "[CLS] a a [SEP] e e e [SEP]");
    let question = bert(json!({"max_position_embeddings": 8, "architectures": ["BertForQuestionAnswering"]}));
    check(&question, Example::pair("a a a", "e ".repeat(9)), "[CLS] a a a [SEP] e e [SEP]");
    let error = question.encode(&Example::pair("a ".repeat(9), "e")).unwrap_err();
    assert!(matches!(&error, Error::Input(m) if m.contains("the question alone has 9 tokens")), "{error}");
}

#[test]
fn bad_examples_are_named() {
    let tokenizer = bert(json!({}));
    let check = |example: &Example, expected: &str| {
        assert_eq!(tokenizer.encode(example).unwrap_err(), Error::Input(expected.into()));
    };
    for empty in ["", " \n\t", "\0\0", "\u{301}", "\u{fffd}"] {
        check(&Example::text(empty), "the text is empty");
    }
    check(&Example::pair("a", ""), "the pair is empty");
    let mut three = Example::pair("a", "a");
    three.fields.push(three.fields[0].clone());
    check(&three, "an example of 3 fields; a model reads one text or a pair");
    three.fields.clear();
    check(&three, "there is no text");
}

#[test]
fn every_broken_folder_is_named() {
    let check = |files: &[(&str, &str)], changes: Value, parts: &[&str]| {
        let error = open(files, changes).expect_err(parts[0]);
        let message = error.to_string();
        assert!(matches!(error, Error::Model(_)) && !message.contains('\n'), "{message}");
        parts.iter().for_each(|part| assert!(message.contains(part), "'{part}' is not in: {message}"));
    };
    let vocab = VOCAB.join("\n");
    let changed = |key: &str, value: Value| {
        let mut file = whole();
        file[key] = value;
        file.to_string()
    };
    check(&[], json!({}), &["holds no tokenizer: looked for tokenizer.json, vocab.txt"]);
    check(&[("vocab.json", "{}")], json!({}), &["holds no tokenizer"]);
    check(&[("spiece.model", "")], json!({}), &["'spiece.model', which is not read", "AutoTokenizer"]);
    check(&[("tokenizer.json", "{")], json!({}), &["tokenizer.json: is no valid tokenizer"]);
    check(&[("tokenizer.json", "{}")], json!({}), &["tokenizer.json: is no valid tokenizer", "model"]);
    check(
        &[("tokenizer.json", &changed("model", json!({"type": "New"})))],
        json!({}),
        &["is no valid tokenizer"],
    );
    check(&[("tokenizer.json", &changed("normalizer", json!(3)))], json!({}), &["is no valid tokenizer"]);
    let moved = json!([{"id": 7, "content": "[MASK]", "single_word": false, "lstrip": false, "rstrip": false,
                        "normalized": false, "special": true}]);
    let parts = ["added token '[MASK]' says number 7, which the vocabulary contradicts"];
    check(&[("tokenizer.json", &changed("added_tokens", moved))], json!({}), &parts);
    check(&[("vocab.txt", "a\nb")], json!({}), &["vocab.txt: lacks the special token '[CLS]'"]);
    check(
        &[("vocab.txt", &vocab), ("tokenizer_config.json", "{")],
        json!({}),
        &["tokenizer_config.json: is no valid"],
    );
    check(&[("vocab.txt", &vocab), ("added_tokens.json", r#"{"x":99}"#)], json!({}), &["'x' says number 99"]);
    check(
        &[("vocab.json", "{}"), ("merges.txt", "a b c")],
        json!({}),
        &["vocab.json: cannot be used with merges.txt"],
    );
    let size = json!({"vocab_size": 11});
    check(&[("vocab.txt", &vocab)], size, &["token number 11 is beyond the model's vocabulary of 11"]);
}

#[test]
fn a_number_beyond_the_vocabulary_is_seen_through_holes() {
    let mut file = whole();
    file["model"]["vocab"]["film"] = json!(40);
    let tokenizer = open(&[("tokenizer.json", &file.to_string())], json!({})).unwrap();
    assert!(tokenizer.encode(&Example::text("warm")).is_ok());
    let error = tokenizer.encode(&Example::text("warm film")).unwrap_err().to_string();
    assert!(error.contains("token number 40 is beyond the model's vocabulary of 12"), "{error}");
}

#[test]
fn a_model_too_short_for_any_text_says_so() {
    let error =
        bert(json!({"max_position_embeddings": 2})).encode(&Example::text("a")).unwrap_err().to_string();
    assert!(error.contains("2 of 2 tokens are special"), "{error}");
}

proptest! {
    /// A flipped byte or number in `tokenizer.json` gives a tokenizer or one line.
    #[test]
    fn a_damaged_tokenizer_never_panics(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        text in "\\PC{0,20}",
    ) {
        let mut bytes = whole().to_string().into_bytes();
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        match open(&[("tokenizer.json", &String::from_utf8_lossy(&bytes))], json!({})) {
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
            Ok(tokenizer) => {
                tokenizer.encode(&Example::text(text)).ok();
            }
        }
    }
}
