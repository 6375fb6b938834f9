//! Texts that are read together are explained as each is by itself, and what was read of a text serves no other question.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::report::{Attribution, Item};
use exegete_core::{Driver, Example, Model, Rules};
use exegete_methods::evidence::Level;
use exegete_methods::{
    ConfiguredMethod, METHODS, Method, Request, Settings, explain, explain_foreseen, foresee, foresees,
};
use exegete_models::{LoadOptions, load};
use exegete_testkit::{Of, check, close, golden};
use std::sync::Arc;

const TEXTS: [&str; 4] = ["the film was very good", "bad", "not a good film and not bad", "the dog was bad"];

fn model(name: &str) -> Arc<dyn Model> {
    load(&golden::root().join(name), &LoadOptions { threads: 2, ..LoadOptions::default() }).unwrap()
}

fn request(methods: &[(&str, &[&str])], target: &str, check: Level) -> Request {
    let configured =
        |(name, set): &(&str, &[&str])| ConfiguredMethod::new(name, Settings::parse(set).unwrap()).unwrap();
    let targets = target.split(' ').map(|target| target.parse().unwrap()).collect();
    Request { methods: methods.iter().map(configured).collect(), targets, check, ..Request::default() }
}

fn attributions(items: Vec<Item>) -> Vec<Attribution> {
    let attribution = |item| match item {
        Item::Attribution(found) => *found,
        other => panic!("{other:?}"),
    };
    items.into_iter().map(attribution).collect()
}

/// Each text alone and as one of many, with the rows that the latter ran.
fn both(model: &dyn Model, request: &Request) -> Vec<(Vec<Attribution>, Vec<Attribution>, usize)> {
    let examples = TEXTS.map(Example::text);
    let foreseen = foresee(model, &Driver::default(), &examples, request).unwrap();
    let explained = |(example, foreseen): (&Example, _)| {
        let alone = attributions(explain(model, &Driver::default(), example, request).unwrap());
        let driver = Driver::default();
        let items = explain_foreseen(model, &driver, (example, foreseen), request).unwrap();
        (alone, attributions(items), driver.spent().forward_rows)
    };
    examples.iter().zip(foreseen).map(explained).collect()
}

fn compare(name: &str, alone: &[Attribution], together: &[Attribution]) {
    assert_eq!(alone.len(), together.len());
    for (alone, together) in alone.iter().zip(together) {
        let place = format!("{name}, {} of {}", alone.subject.method, alone.subject.target);
        assert_eq!(alone.subject.target, together.subject.target, "{place}");
        close(&place, &together.token_values, &alone.token_values, Of::Largest(0.0), 1e-5);
        close(&place, &together.values, &alone.values, Of::Largest(0.0), 1e-5);
        close(&place, &[together.subject.value], &[alone.subject.value], Of::Size(1.0), 1e-5);
    }
}

#[test]
fn many_texts_get_what_each_gets_by_itself() {
    let methods: [(&str, &[&str]); 3] =
        [("gradient_x_input", &[]), ("saliency", &[]), ("guided_backprop", &[])];
    for name in ["../small/lstm-additive", "../small/kim", "../small/han-gru", "bert-sequence"] {
        let model = model(name);
        let request = request(&methods, "predicted class:0:prob", Level::None);
        assert!(foresees(&*model, &request));
        for (alone, together, rows) in both(&*model, &request) {
            compare(name, &alone, &together);
            assert_eq!(rows, 2 * 3, "{name}: one row a target and method");
        }
    }
}

/// The deep card changes models and texts, the swap the model, the noise the text: what was read of the text is not theirs.
#[test]
fn what_was_read_serves_no_other_question() {
    let model = model("../small/kim");
    let methods: [(&str, &[&str]); 3] =
        [("saliency", &[]), ("saliency", &["softplus=2"]), ("gradient_x_input", &["noise=smooth"])];
    let asked = request(&methods, "predicted", Level::Deep);
    for (alone, together, _) in both(&*model, &asked) {
        compare("kim", &alone, &together);
        // The three differ, so that one answer for all of them would show.
        let [plain, softened, noisy] = &together[..] else { panic!("{together:?}") };
        let other = |other: &Attribution| {
            check("another", &other.values[..], &plain.values[..], Of::Largest(0.0), 1e-5).is_err()
        };
        assert!(other(softened) && other(noisy));
        let random = |found: &[Attribution]| format!("{:?}", found[0].checks.randomisation);
        assert_eq!(random(&alone), random(&together));
    }
}

/// A text that was read and another's question: nothing of it may be used.
#[test]
fn a_text_for_another_is_noticed() {
    let model = model("../small/lstm-additive");
    let request = request(&[("saliency", &[])], "predicted", Level::None);
    let examples = [Example::text(TEXTS[0]), Example::text(TEXTS[2])];
    let mut foreseen = foresee(&*model, &Driver::default(), &examples, &request).unwrap();
    let own = attributions(explain(&*model, &Driver::default(), &examples[0], &request).unwrap());
    foreseen.swap(0, 1);
    let wrong = explain_foreseen(&*model, &Driver::default(), (&examples[0], foreseen.remove(0)), &request);
    let wrong = attributions(wrong.unwrap());
    assert!(check("a fault", &wrong[0].values[..], &own[0].values[..], Of::Largest(0.0), 1e-5).is_err());
}

#[test]
fn only_what_one_run_of_the_text_gives_is_read_ahead() {
    let reads = METHODS.iter().filter(|info| {
        let method = ConfiguredMethod::new(info.name, Settings::default());
        method.is_ok_and(|method| method.reads().is_some())
    });
    let reads: Vec<&str> = reads.map(|info| info.name).collect();
    assert_eq!(reads, ["saliency", "gradient_x_input", "guided_backprop", "deconvolution"]);
    let value = ConfiguredMethod::new("gradient_x_input", Settings::default()).unwrap().reads().unwrap();
    assert!(value.value && value.rules == Rules::Gradient);
    let model = model("../small/lstm-additive");
    for (method, target) in [("integrated_gradients", "predicted"), ("saliency", "loss")] {
        assert!(!foresees(&*model, &request(&[(method, &[])], target, Level::None)));
    }
    // What cannot be read leaves the others as they are, and a text without room is left to itself.
    let texts = [Example::text(TEXTS[0]), Example::text(" "), Example::text("film ".repeat(2000))];
    let asked = request(&[("saliency", &[])], "predicted", Level::None);
    for (memory, third) in [(1 << 22, true), (1 << 20, false)] {
        let found = foresee(&*model, &Driver::new(memory), &texts, &asked).unwrap();
        assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, third]);
    }
    let found = foresee(&*model, &Driver::new(1 << 14), &texts[2..], &asked).unwrap();
    assert!(found[0].is_none());
}
