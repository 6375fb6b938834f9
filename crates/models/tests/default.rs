//! The default model: what it says about sentences of our own, how large it is, and that it never saw what it is measured on.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::{Example, Model, Scores};
use exegete_models::{LoadOptions, load_default};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../default")
}

/// The probability of "positive" for each text.
fn positive(model: &dyn Model, texts: &[&str]) -> Vec<f64> {
    let examples: Vec<Example> = texts.iter().map(|&text| Example::text(text)).collect();
    let share = |scores: &Scores| match scores {
        Scores::Classes { scores, .. } => scores.iter().find(|class| class.label == "positive").unwrap().prob,
        other => panic!("{other:?}"),
    };
    model.predict(&examples).unwrap().iter().map(|prediction| share(&prediction.scores)).collect()
}

const POSITIVE: &[&str] = &[
    "A warm and honest film.",
    "I loved every minute of it.",
    "The acting is superb and the story kept me guessing until the very end.",
    "WHAT A WONDERFUL SURPRISE!!!",
    "It's not bad at all; in fact, it's one of the best comedies of the year.",
    "She gives the performance of her life.",
    "Beautifully shot, tenderly written, and never boring.",
    "An absolute delight from start to finish.",
    "The hotel was clean, the staff were friendly and breakfast was delicious.",
    "You won't regret buying a ticket.",
    "Funny, clever and surprisingly moving.",
    "I can't recommend this book enough.",
    "A small masterpiece about growing up.",
    "The best phone I've ever owned.",
    "My kids adored it, and so did I.",
    "Great music, great cast, great fun.",
];

const NEGATIVE: &[&str] = &[
    "A cold and dishonest film.",
    "I hated every minute of it.",
    "The acting is wooden and the plot makes no sense.",
    "WHAT A TERRIBLE WASTE OF TIME!!!",
    "It's not good at all; in fact, it's one of the worst comedies of the year.",
    "She sleepwalks through the role.",
    "Badly shot, clumsily written, and always boring.",
    "An absolute mess from start to finish.",
    "The hotel was dirty, the staff were rude and breakfast was cold.",
    "You will regret buying a ticket.",
    "Dull, stupid and painfully long.",
    "I wouldn't recommend this book to anyone.",
    "A tedious and forgettable sequel.",
    "The worst phone I've ever owned.",
    "My kids fell asleep, and so did I.",
    "Awful music, awful cast, no fun.",
];

#[test]
fn ordinary_english_is_understood() {
    let model = load_default(&LoadOptions::default()).unwrap();
    assert_eq!(model.card().labels, ["negative", "positive"]);
    assert_eq!(model.card().warnings, Vec::<String>::new());
    let wrong: Vec<&str> = POSITIVE
        .iter()
        .zip(positive(&*model, POSITIVE))
        .filter(|(_, share)| *share <= 0.5)
        .chain(NEGATIVE.iter().zip(positive(&*model, NEGATIVE)).filter(|(_, share)| *share > 0.5))
        .map(|(text, _)| *text)
        .collect();
    let right = POSITIVE.len() + NEGATIVE.len() - wrong.len();
    assert!(right >= 30, "{right} of 32; wrong: {wrong:#?}");
}

#[test]
fn capitals_spaces_and_length_do_not_confuse_it() {
    let model = load_default(&LoadOptions::default()).unwrap();
    let shares = positive(&*model, &["a truly great film", "A TRULY GREAT FILM", "  A  Truly\tGreat Film "]);
    assert!(shares.iter().all(|share| (share - shares[0]).abs() < 1e-5), "{shares:?}");
    let long =
        format!("{} In the end it is a dreadful, boring disaster.", "The film runs two hours. ".repeat(30));
    let endless = "wonderful ".repeat(100_000);
    let shares = positive(&*model, &[&long, &endless, "🙂🙂", "zyzzyva qwertz", "…"]);
    assert!(shares[0] < 0.5 && shares[1] > 0.5, "{shares:?}");
    assert!(shares.iter().all(|share| share.is_finite()), "{shares:?}");
}

#[test]
fn it_is_small() {
    let size = |name: &str| std::fs::metadata(folder().join(name)).unwrap().len();
    let total: u64 = ["config.json", "tokenizer.json", "model.safetensors"].map(size).iter().sum();
    assert!(total <= 20_000_000, "{total} bytes");
}

/// Four bytes of a hash for every text that was learned from, and for every text that a figure of the card is measured on.
#[test]
fn no_measured_text_was_learned_from() {
    let read = |name: &str| -> HashSet<[u8; 4]> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/default/{name}.hashes"));
        std::fs::read(path).unwrap().as_chunks().0.iter().copied().collect()
    };
    let (mut learned, measured) = (read("learned"), read("measured"));
    assert!(learned.len() > 60_000 && measured.len() > 1_300, "{} and {}", learned.len(), measured.len());
    // Texts that differ share four bytes of their hash with a chance of 2 % for the two lists together; none does.
    assert_eq!(learned.intersection(&measured).count(), 0, "a training text occurs in a dev set");
    // And the comparison would show it.
    learned.insert(*measured.iter().next().unwrap());
    assert_eq!(learned.intersection(&measured).count(), 1);
}

/// The folder in the repository is the model in the program, and it can be written out whole.
#[test]
fn it_can_be_opened_as_a_folder_and_exported() {
    let built_in = load_default(&LoadOptions::default()).unwrap();
    let from_folder = exegete_models::load(&folder(), &LoadOptions::default()).unwrap();
    let output = tempfile::tempdir().unwrap();
    exegete_models::export(None, output.path()).unwrap();
    let exported = exegete_models::load(output.path(), &LoadOptions::default()).unwrap();
    let expected = positive(&*built_in, POSITIVE);
    assert_eq!(built_in.card().fingerprint, from_folder.card().fingerprint);
    assert_eq!(positive(&*from_folder, POSITIVE), expected);
    assert_eq!(positive(&*exported, POSITIVE), expected);
}
