//! Verdicts go every way: on models that were trained, and on models that were written down.

use super::super::test::{self, AttentionTestRequest};
use super::{AttentionDebateRequest, run};
use crate::methods::debate::seeds::{Retrained, SeedStatistics};
use crate::methods::debate::verdict::{DebateStatistics, judge};
use crate::report::{Cell, Item, Judgement, Report, Table};
use exegete_testkit::{Parameter, write_small};
use serde_json::json;
use std::path::Path;

fn verdict(report: &Report) -> &Judgement {
    let found = report.items.iter().find_map(|item| match item {
        Item::Verdict(judgement) => Some(judgement),
        _ => None,
    });
    found.unwrap()
}

fn table<'a>(report: &'a Report, name: &str) -> &'a Table {
    let found = report.items.iter().find_map(|item| match item {
        Item::Table(table) if table.name == name => Some(table),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{name} is missing"))
}

/// Deciding words whose weight is `score`, among words that say nothing, with a head as steep as it is told.
fn write_model(folder: &Path, score: f32, steepness: f32) {
    let labels = ["left", "right"];
    let config = json!({"kind": "none", "attention": "dot", "embedding": 2, "labels": labels});
    let words = ["he", "she", "a", "b", "c"];
    let mut embed = vec![0.0; 4 * 2];
    embed.extend([-1.0, score, 1.0, score]);
    embed.extend([0.0; 3 * 2]);
    let parameters: [Parameter<'_>; 4] = [
        ("embed.weight", &[9, 2], &embed),
        ("attention.score.weight", &[1, 2], &[0.0, std::f32::consts::SQRT_2]),
        ("head.weight", &[2, 2], &[-steepness, 0.0, steepness, 0.0]),
        ("head.bias", &[2], &[0.0, 0.0]),
    ];
    write_small(folder, &config, &words, &parameters).unwrap();
}

/// The verdict on a model that is what training with every seed came to.
fn judged(score: f32, steepness: f32) -> Judgement {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_model(&at("model"), score, steepness);
    let texts = "a he b c a b\nb c a a she c b\na a a b he\nc she b b a a c\n";
    std::fs::write(at("texts.txt"), texts).unwrap();
    let of_seed = |seed: u64| {
        let (input, model) = (Some(at("texts.txt")), Some(at("model")));
        let request = AttentionTestRequest { input, model, seed, min_words: 2, ..Default::default() };
        let stop = Default::default();
        let test = test::open(&request, &stop, &mut |_| {}).unwrap();
        SeedStatistics::of(&test.measure(Vec::new(), &mut |_| {}, &mut |_| Ok(())).unwrap())
    };
    let seeds: Vec<SeedStatistics> = (0..3).map(of_seed).collect();
    let retrained = Retrained { gains: vec![0.1, 0.1, 0.1], ..Retrained::default() };
    judge(&DebateStatistics::over(&seeds, &retrained, "F1").unwrap())
}

#[test]
fn weights_that_move_nothing_are_idle() {
    let found = judged(0.0, 0.0);
    assert_eq!((found.rule, found.verdict.as_str()), (Some(2), "says_nothing"), "{:?}", found.sentences);
    assert!(found.sentences[0].contains("idle") && found.sentences[0].contains("0.000 (0.000 to 0.000)"));
}

#[test]
fn a_model_that_hides_what_decides_is_contradicted() {
    // The deciding word has hardly any weight, and so steep a head that the answer is sure wherever the weight lies.
    let found = judged(-4.0, 2000.0);
    assert_eq!((found.rule, found.verdict.as_str()), (Some(1), "contradicts"), "{:?}", found.sentences);
    let idle = found.findings.iter().find(|finding| finding.check == "weights_are_idle").unwrap();
    assert_eq!(idle.passed, Some(true), "rule 2 would hold as well");
    let honest = judged(4.0, 4.0);
    assert_eq!(honest.verdict, "supports", "{:?}", honest.sentences);
}

#[test]
fn trained_attention_finds_the_word_that_decides() {
    let request = AttentionDebateRequest {
        rows: Some(800),
        epochs: Some(16),
        kinds: Some(vec!["none".to_owned()]),
        seeds: 3,
        ..AttentionDebateRequest::default()
    };
    let report = run(&request, &Default::default(), &mut |_| {}).unwrap();
    let found = verdict(&report);
    assert_eq!((found.rule, found.verdict.as_str()), (Some(4), "supports"), "{:?}", found);
    let truth = table(&report, "truth");
    let first = |ranking: &str| {
        let row = truth.rows.iter().find(|row| row[1] == Cell::Word(ranking.to_owned())).unwrap();
        match row[2] {
            Cell::Interval { value, .. } => value,
            _ => panic!("{row:?}"),
        }
    };
    assert!(first("attention") > 0.8 && first("random") < 0.2, "{:?}", truth.rows);
    let correlation = table(&report, "correlation");
    assert_eq!(correlation.columns[..3], ["kind", "seed", "epoch"]);
    for epoch in ["best", "last"] {
        assert!(correlation.rows.iter().any(|row| row[2] == Cell::Word(epoch.to_owned())), "{epoch}");
    }
}

#[test]
fn kinds_are_told_apart_and_absurd_requests_refused() {
    let said = |kinds: &[&str]| {
        let kinds = Some(kinds.iter().map(|&kind| kind.to_owned()).collect());
        let request = AttentionDebateRequest { kinds, ..AttentionDebateRequest::default() };
        request
            .kinds()
            .map(|kinds| kinds.iter().map(ToString::to_string).collect::<Vec<_>>())
            .map_err(|e| e.to_string())
    };
    assert_eq!(said(&["lstm:additive", "lstm:dot", "none"]).unwrap(), ["lstm", "lstm:dot", "none"]);
    for (kinds, told) in [
        (&["lsmt"][..], "did you mean 'lstm'?"),
        (&["kim"], "no attention over the words"),
        (&["lstm:uniform"], "learns no weights"),
        (&["lstm:soft"], "no attention 'soft'"),
        (&["lstm", "lstm:additive"], "twice"),
    ] {
        let error = said(kinds).unwrap_err();
        assert!(error.contains(told) && !error.contains('\n'), "{error}");
    }
}
