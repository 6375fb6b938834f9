//! Every family and task: the evidence must work whatever the model answers.

use crate::SiteChoice;
use crate::evidence::{Evidence, Level};
use crate::{Baseline, ConfiguredMethod, Method, Question, Request, explain};
use exegete_core::report::{Attribution, Checks, Item};
use exegete_core::task::Labelled;
use exegete_core::{Driver, Example, Model, Row, Site, Units};
use exegete_models::{LoadOptions, load};
use exegete_testkit::golden;
use std::path::Path;
use std::sync::Arc;

fn target(model: &dyn Model) -> &'static str {
    match model.card().task.name() {
        "token_classification" => "tag:2=0",
        "masked_language_model" => "token:the",
        "encoder" => "unit:layer.0.out[1,3]",
        _ => "predicted",
    }
}

/// The text with a mask for its second word, where the model guesses words.
fn masked(model: &dyn Model, text: &str) -> String {
    let mask = model.open().filter(|_| model.card().task.needs_mask());
    let mask = mask.and_then(|open| open.piece(open.mask_id()?));
    let (Some(mask), Some((first, rest))) = (mask, text.split_once(' ')) else { return text.to_owned() };
    let tail = rest.split_once(' ').map_or("", |(_, tail)| tail);
    format!("{first} {mask} {tail}").trim_end().to_owned()
}

pub(super) fn attribution(model: &dyn Model, text: &str, method: &str, check: Level) -> Attribution {
    let text = masked(model, text);
    let example = match model.card().task.needs_pair() {
        true => Example::pair("What is the film?", &text),
        false => Example::text(&text),
    };
    let request = Request {
        masker: None,
        methods: ConfiguredMethod::all(&[method], &[]).unwrap(),
        targets: vec![target(model).parse().unwrap()],
        top_labels: None,
        site: SiteChoice::Words,
        units: Units::Word,
        baselines: vec![Baseline::Zero],
        check,
        seed: 0,
    };
    let items = explain(model, &Driver::default(), &example, &request);
    match items.unwrap_or_else(|error| panic!("{}: {error}", model.card().name)).pop() {
        Some(Item::Attribution(attribution)) => *attribution,
        other => panic!("{}: {other:?}", model.card().name),
    }
}

/// The deep evidence for a method that is in no list.
pub(super) fn checked(model: &dyn Model, text: &str, method: &dyn Method) -> Checks {
    let open = model.require_open().unwrap();
    let (driver, row) = (Driver::default(), Row::new(open.encode(&Example::text(text)).unwrap()));
    let target = super::resolved(model, &row, "predicted").unwrap();
    let (site, baselines) = (Site::named("embed.word"), vec![Baseline::Zero]);
    let (kind, units) = (Units::Token, Units::Token.of(&row.encoded).into());
    let job = Question { site, baselines, kind, units, ..Question::new(model, &driver, row, target) };
    let explained = method.explain(&job).unwrap();
    Evidence::new(&job).check(Level::Deep, &explained, Some(method), Checks::default()).unwrap()
}

pub(super) fn models() -> Vec<Arc<dyn Model>> {
    let folders = golden::folders().unwrap();
    folders.iter().map(|folder| opened(folder)).collect()
}

pub(super) fn opened(folder: &Path) -> Arc<dyn Model> {
    load(folder, &LoadOptions { threads: 1, ..LoadOptions::default() }).unwrap()
}

#[test]
fn every_model_gets_its_evidence() {
    let mut maskers = std::collections::BTreeSet::new();
    for model in models() {
        let Attribution { checks, .. } =
            attribution(&*model, "a film that is not so bad", "gradient_x_input", Level::Default);
        let (name, task) = (&model.card().name, model.card().task);
        let hiding = checks.hiding.unwrap();
        let whole = task.labelled() == Labelled::Text;
        assert_eq!(hiding.masker == "delete", whole, "{name} hides by {}", hiding.masker);
        let numbers = !task.gives_probabilities();
        assert_eq!(hiding.target.ends_with(":prob"), !numbers, "{name} reads {}", hiding.target);
        assert!(!numbers || checks.flip.is_none(), "{name}");
        assert!(checks.comprehensiveness.is_some() && checks.sufficiency.is_some(), "{name}");
        let sentence = checks.verdict.unwrap().sentence;
        assert!(sentence.ends_with('.') && !sentence.contains("NaN"), "{name}: {sentence}");
        maskers.insert(hiding.masker);
    }
    assert!(maskers.contains("mask") && maskers.contains("delete"), "{maskers:?}");
}

#[test]
fn one_word_is_enough() {
    for model in models() {
        let text = if model.card().task.needs_mask() { "bad film" } else { "film" };
        let checks = attribution(&*model, text, "gradient_x_input", Level::Default).checks;
        assert!(checks.verdict.is_some(), "{}", model.card().name);
    }
}

#[test]
fn every_model_gets_deep_evidence() {
    for model in models() {
        let name = &model.card().name;
        let text = "a film that is not so bad";
        let checks = attribution(&*model, text, "gradient_x_input", Level::Deep).checks;
        assert!(checks.deletion.is_some() && checks.insertion.is_some(), "{name}");
        assert!(checks.sensitivity.is_some_and(|found| found.relative > 0.0), "{name}");
        assert!(checks.stability.is_some() && checks.infidelity.is_some(), "{name}");
        let parts: Vec<&str> = checks.randomisation.iter().map(|part| part.down_to.as_str()).collect();
        assert_eq!(parts.last(), Some(&"embeddings"), "{name}");
        let layers = parts.iter().filter(|part| part.starts_with("layer")).count();
        assert_eq!(
            layers,
            if model.card().family == "albert" { 1 } else { model.card().sizes.0[0].1 },
            "{name}: {parts:?}"
        );
    }
}
