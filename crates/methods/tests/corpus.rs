//! Methods over many texts read them as often as they need, hold none that they do not need, tell how far they are, and stop.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use exegete_core::{Driver, Error, Example, Model, Result};
use exegete_methods::evidence::Level;
use exegete_methods::{ConfiguredMethod, Corpus, Request, TextPass, TextSource, survey};
use exegete_testkit::Toy;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Texts that are made when they are read, so that nothing but a method can hold them.
struct Made {
    texts: usize,
    passes: AtomicUsize,
}

impl Made {
    fn new(texts: usize) -> Self {
        Self { texts, passes: AtomicUsize::new(0) }
    }

    fn text(index: usize) -> Example {
        let words = ["good", "bad", "not", "film"];
        let text = format!("{} {}", words[index % 4], words[index / 4 % 4]);
        Example { label: Some((index % 2).to_string()), ..Example::text(&text) }
    }

    fn held(&self) -> Vec<Example> {
        (0..self.texts).map(Self::text).collect()
    }
}

impl TextSource for Made {
    fn pass(&self) -> Result<TextPass<'_>> {
        self.passes.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new((0..self.texts).map(|index| Ok(Self::text(index)))))
    }
}

/// A method, its parameters, and how often it reads the texts.
const METHODS: [(&str, &[&str], usize); 3] = [
    ("artifacts", &["top=3"], 2),
    ("sp_lime", &["texts=2"], 2),
    // Classes, the most frequent word, rows to search and to try on for each of two classes, words of labels.
    ("triggers", &["length=1", "rounds=1", "rows=4", "held_out=4", "random=2", "restarts=1"], 7),
];

fn request(method: &str, settings: &[&str]) -> Request {
    Request {
        methods: ConfiguredMethod::all(&[method], settings).unwrap(),
        check: Level::None,
        ..Request::default()
    }
}

fn run(source: &dyn TextSource, driver: &Driver, method: &str, settings: &[&str]) -> Result<String> {
    let (model, request) = (Toy::default(), request(method, settings));
    let corpus =
        Corpus { model: &model as &dyn Model, driver, examples: source, held_out: None, request: &request };
    survey(&corpus).map(|items| format!("{items:?}"))
}

#[test]
fn a_source_gives_what_a_list_gives() {
    for (method, settings, passes) in METHODS {
        let made = Made::new(24);
        let streamed = run(&made, &Driver::default(), method, settings).unwrap();
        assert_eq!(streamed, run(&made.held(), &Driver::default(), method, settings).unwrap(), "{method}");
        assert_eq!(made.passes.load(Ordering::Relaxed), passes, "{method}");
    }
}

#[test]
fn work_on_a_corpus_is_told_of_and_stops() {
    for (method, settings, _) in METHODS {
        let (made, most) = (Made::new(24), Arc::new(AtomicUsize::new(0)));
        let driver = Driver::default();
        let (stop, seen) = (driver.stop.clone(), most.clone());
        let driver = driver.watched(move |advance| {
            seen.fetch_max(advance.texts, Ordering::Relaxed);
            stop.fetch_or(advance.texts == 7, Ordering::Relaxed);
        });
        assert_eq!(run(&made, &driver, method, settings), Err(Error::Stopped), "{method}");
        assert_eq!(most.load(Ordering::Relaxed), 7, "{method}");
        assert_eq!(made.passes.load(Ordering::Relaxed), 1, "{method}");
    }
}

/// A source that is shorter in its second pass is an error and not a wrong answer.
#[test]
fn texts_that_vanish_are_an_error() {
    struct Shrinking(AtomicUsize);
    impl TextSource for Shrinking {
        fn pass(&self) -> Result<TextPass<'_>> {
            let texts = [24, 1][self.0.fetch_add(1, Ordering::Relaxed).min(1)];
            Ok(Box::new((0..texts).map(|index| Ok(Made::text(index)))))
        }
    }
    let error =
        run(&Shrinking(AtomicUsize::new(0)), &Driver::default(), "sp_lime", &["texts=3"]).unwrap_err();
    assert!(error.to_string().contains("not there any more"), "{error}");
}
