//! Tokens, types, offsets and fields of every golden folder against what Python's tokenizers say.
#![allow(clippy::unwrap_used, reason = "a test may panic; clippy knows only its test functions")]

use exegete_core::{Encoded, Example, Span};
use exegete_models::checkpoint::Checkpoint;
use exegete_models::config::Config;
use exegete_models::tokenizer::Tokenizer;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/models");
    let mut folders: Vec<PathBuf> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| folder.join("golden.json").exists());
    folders.sort();
    assert!(folders.len() >= 30, "golden folders are missing: {folders:?}");
    folders
}

fn example(text: &Value) -> Example {
    match text {
        Value::String(text) => Example::text(text.clone()),
        pair => Example::pair(pair[0].as_str().unwrap(), pair[1].as_str().unwrap()),
    }
}

/// The tokens in the shape of the golden file.
fn as_golden(encoded: &Encoded) -> Value {
    let tokens = &encoded.tokens;
    serde_json::json!({
        "ids": tokens.iter().map(|t| t.id).collect::<Vec<_>>(),
        "types": tokens.iter().map(|t| t.type_id).collect::<Vec<_>>(),
        "pieces": tokens.iter().map(|t| t.piece.clone()).collect::<Vec<_>>(),
        "offsets": tokens.iter().map(|t| t.span.map(|s| [s.start, s.end])).collect::<Vec<_>>(),
        "special": tokens.iter().map(|t| u8::from(t.special)).collect::<Vec<_>>(),
        "fields": tokens.iter().map(|t| t.span.map(|s| s.field)).collect::<Vec<_>>(),
    })
}

#[test]
fn every_golden_folder_gives_the_same_tokens() {
    let mut inputs = 0;
    for folder in folders() {
        let config = Config::read(&folder).unwrap();
        let tokenizer = Tokenizer::open(&folder, &config).unwrap();
        let golden: Value =
            serde_json::from_str(&fs::read_to_string(folder.join("golden.json")).unwrap()).unwrap();
        for input in golden["inputs"].as_array().unwrap() {
            let encoded = tokenizer.encode(&example(&input["text"])).unwrap();
            assert!(!encoded.truncated);
            for (key, value) in as_golden(&encoded).as_object().unwrap() {
                // DistilBERT has no token types; what its tokenizer says about them is not used.
                if key == "types" && config.type_vocab_size < 2 {
                    continue;
                }
                assert_eq!(value, &input[key], "{key} of {} in {}", input["text"], folder.display());
            }
            inputs += 1;
        }
    }
    assert!(inputs >= 60, "only {inputs} inputs");
}

/// The comparison above must be able to fail.
#[test]
fn a_moved_offset_is_seen() {
    let folder = &folders()[0];
    let tokenizer = Tokenizer::open(folder, &Config::read(folder).unwrap()).unwrap();
    let mut encoded = tokenizer.encode(&Example::text("A warm film.")).unwrap();
    let before = as_golden(&encoded);
    let token = encoded.tokens.iter_mut().find(|t| t.span.is_some()).unwrap();
    token.span = token.span.map(|span| Span { end: span.end + 1, ..span });
    assert_ne!(before, as_golden(&encoded));
}

#[test]
fn every_golden_folder_opens_with_readable_weights() {
    for folder in folders() {
        let config = Config::read(&folder).unwrap();
        config.task().unwrap();
        let checkpoint = Checkpoint::open(&folder).unwrap();
        for name in checkpoint.names().filter(|name| checkpoint.dtype(name) != Some("I64")) {
            let values = checkpoint.read(name).unwrap();
            let count: usize = checkpoint.shape(name).unwrap().iter().product();
            assert_eq!(values.as_ref().len(), count, "{name} of {}", folder.display());
            assert!(!name.contains(".gamma") && !name.contains(".beta"), "{name} is not canonical");
        }
    }
}

/// The same weights in one file, in shards and under TensorFlow's names are the same tensors.
#[test]
fn shards_and_legacy_names_hold_the_same_tensors() {
    let named = |name: &str| folders().into_iter().find(|f| f.ends_with(name)).unwrap();
    let whole = Checkpoint::open(&named("bert-sequence")).unwrap();
    for variant in ["bert-sequence-sharded", "bert-sequence-legacy"] {
        let other = Checkpoint::open(&named(variant)).unwrap();
        assert!(whole.names().all(|name| other.contains(name)), "{variant}");
        for name in whole.names() {
            let same = whole.read(name).unwrap().as_ref() == other.read(name).unwrap().as_ref();
            assert!(same, "{name} of {variant}");
        }
    }
}

fn tokenizers() -> Vec<(String, Tokenizer)> {
    let wanted = ["albert-sequence", "bert-sequence", "roberta-sequence", "xlm-roberta-sequence"];
    let wanted = |folder: &PathBuf| wanted.iter().any(|name| folder.ends_with(name));
    let open = |folder: PathBuf| {
        let tokenizer = Tokenizer::open(&folder, &Config::read(&folder).unwrap()).unwrap();
        (folder.display().to_string(), tokenizer)
    };
    folders().into_iter().filter(wanted).map(open).collect()
}

/// Nothing may take seconds, and what does not fit is cut.
#[test]
fn enormous_texts_are_cut_in_time() {
    let words = "terrible film ".repeat(50_000);
    let texts = [
        words.clone(),
        "a".repeat(1 << 20),
        "😀".repeat(1 << 18),
        "\u{301}".repeat(1 << 19),
        "\0".repeat(1 << 20),
    ];
    for (name, tokenizer) in tokenizers() {
        for text in &texts {
            let begun = std::time::Instant::now();
            let encoded = tokenizer.encode(&Example::text(text));
            let seconds = begun.elapsed().as_secs_f64();
            // About 0.4 s on an idle machine; the margin is for busy ones.
            assert!(seconds < 8.0, "{name}: {seconds} s for {:?}…", &text[..4]);
            assert!(encoded.is_ok_and(|e| e.len() <= tokenizer.max_tokens()) || !text.contains('f'));
        }
        let encoded = tokenizer.encode(&Example::pair(&words, &words)).unwrap();
        assert!(encoded.truncated && encoded.len() == tokenizer.max_tokens(), "{name}");
    }
}

fn check_spans(tokenizer: &Tokenizer, text: &str) {
    let Ok(encoded) = tokenizer.encode(&Example::text(text)) else { return };
    let mut reached = 0;
    for token in &encoded.tokens {
        assert_eq!(token.special, token.span.is_none());
        let Some(span) = token.span else { continue };
        assert!(text.get(span.range()).is_some(), "{span:?} cuts a character of {text:?}");
        assert!(span.start >= reached, "{span:?} runs backward in {text:?}");
        reached = span.start;
    }
}

proptest::proptest! {
    /// Whatever the text, every span is a whole slice of it and spans move forward.
    #[test]
    fn spans_are_slices_of_any_text(text in "(\\PC|[a-e \n\0\u{301}é漢😀']|\\[MASK\\]|<mask>|ﬁ|İ|ß){0,24}") {
        for (_, tokenizer) in tokenizers() {
            check_spans(&tokenizer, &text);
        }
    }
}
