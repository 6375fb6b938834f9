//! Verdicts go every way: on models that were trained, and on models that were written down.

use super::super::deceive::{self, AttentionDeceiveRequest};
use super::super::test::{self, AttentionTestRequest};
use super::{AttentionDebateRequest, run};
use crate::methods::Settings;
use crate::methods::data::{Generator, find_set};
use crate::methods::debate::seeds::{Retrained, SeedStatistics};
use crate::methods::debate::verdict::{DebateStatistics, judge};
use crate::report::{Cell, Item, Judgement, Report, Table};
use exegete_testkit::{Parameter, write_small};
use serde_json::json;
use std::ops::Range;
use std::path::{Path, PathBuf};

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

/// Writes rows of a generated set.
fn generated(path: PathBuf, set: &str, rows: Range<u64>) -> PathBuf {
    let generator = Generator::new(find_set(set).unwrap(), Settings::default(), 0).unwrap();
    let line = |number| {
        let cells = generator.row(number).cells().into_iter().map(|(_, cell)| cell);
        cells.collect::<Vec<_>>().join("\t")
    };
    let lines: Vec<String> =
        std::iter::once(generator.set.columns.join("\t")).chain(rows.map(line)).collect();
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

/// The statistics of a model of a folder on the texts of a file.
fn statistics(model: PathBuf, input: &Path, seed: u64) -> SeedStatistics {
    let (input, model) = (Some(input.to_owned()), Some(model));
    let request = AttentionTestRequest { input, model, seed, ..Default::default() };
    let test = test::open(&request, &Default::default(), &mut |_| {}).unwrap();
    SeedStatistics::of(&test.measure(Vec::new(), &mut |_| {}, &mut |_| Ok(())).unwrap())
}

/// Three models that were trained to hide the pronoun, and the same with equal weights.
#[test]
fn models_that_are_trained_to_deceive_are_contradicted() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (train, dev) =
        (generated(at("train.tsv"), "pronoun", 0..3000), generated(at("dev.tsv"), "pronoun", 3000..3100));
    let request = AttentionDeceiveRequest {
        train: Some(train),
        dev: Some(dev.clone()),
        kind: Some("none".to_owned()),
        impermissible: Some("truth".to_owned()),
        lambda: "1".to_owned(),
        seeds: 3,
        texts: Some(0),
        embedding: Some(64),
        hidden: Some(32),
        // With fewer steps some weight is left on the pronoun: about an equal share after a quarter of them.
        epochs: Some(30),
        patience: Some(30),
        ..AttentionDeceiveRequest::default()
    };
    let report = deceive::run(&request, &at("work"), &Default::default(), &mut |_| {}).unwrap();
    let arms = table(&report, "arms");
    let accuracy = |arm: &str| -> Vec<f64> {
        let own = arms.rows.iter().filter(|row| row[0] == Cell::Word(arm.to_owned()));
        own.map(|row| if let Cell::Number(accuracy) = row[3] { accuracy } else { f64::NAN }).collect()
    };
    let (deceiving, even) = (accuracy("trained"), accuracy("uniform"));
    assert!(deceiving.len() == 3 && deceiving.iter().all(|&accuracy| accuracy > 0.95), "{deceiving:?}");
    let seeds: Vec<SeedStatistics> =
        (0..3).map(|seed| statistics(at(&format!("work/lambda-1-seed-{seed}")), &dev, seed)).collect();
    let gains = deceiving.iter().zip(&even).map(|(own, even)| own - even).collect();
    let found = judge(
        &DebateStatistics::over(&seeds, &Retrained { gains, ..Retrained::default() }, "accuracy").unwrap(),
    );
    assert_eq!((found.rule, found.verdict.as_str()), (Some(1), "contradicts"), "{found:?}");
}

/// Few words, one of which decides: their mean says as much as any other weights of them.
#[test]
fn attention_is_not_needed_where_equal_weights_do_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |name: &str, rows: Range<usize>| {
        let fillers = ["the", "film", "was", "on", "for", "an", "hour", "again"];
        let row = |number: usize| {
            let mut words: Vec<&str> =
                (0..6 + number % 3).map(|word| fillers[(word * 3 + number / 2) % fillers.len()]).collect();
            let (word, label) = if number.is_multiple_of(2) { ("good", "yes") } else { ("bad", "no") };
            words.insert(number / 3 % words.len(), word);
            format!("{}\t{label}\n", words.join(" "))
        };
        let path = folder.path().join(name);
        std::fs::write(&path, rows.map(row).fold("text\tlabel\n".to_owned(), |text, row| text + &row))
            .unwrap();
        Some(path)
    };
    let request = AttentionDebateRequest {
        train: rows("train.tsv", 0..400),
        dev: rows("dev.tsv", 400..500),
        kinds: Some(vec!["none".to_owned()]),
        embedding: Some(20),
        epochs: Some(20),
        seeds: 3,
        ..AttentionDebateRequest::default()
    };
    let report = run(&request, &Default::default(), &mut |_| {}).unwrap();
    let found = verdict(&report);
    assert_eq!((found.rule, found.verdict.as_str()), (Some(3), "says_nothing"), "{found:?}");
    assert!(found.sentences[0].contains("uniform weights do as well"), "{:?}", found.sentences);
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
