//! What each method promises, whatever the model; and for every promise a method that breaks it.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::{Array, Driver, Target};
use exegete_engine::Unary;
use exegete_methods::{
    Axiom, Baseline, ConfiguredMethod, Info, METHODS, Masker, Method, Needs, New, Question, RawAttribution,
    RawScores, Settings, Words,
};
use exegete_testkit::{Comparison, Dense, Net, Of};
use std::sync::Arc;

/// A way to get scores: one of the methods, or one that is planted to fail.
type Scorer<'a> = &'a dyn Fn(&Question<'_>) -> RawAttribution;

/// What was found: scores, and by how much they miss what they claim.
fn ask(scorer: Scorer<'_>, net: &Net, x: &[f32]) -> (Vec<f32>, f64) {
    let driver = Driver::default();
    let job = Question {
        baselines: vec![Baseline::Zero],
        ..Question::new(net, &driver, Net::row(x), Target::class(0))
    };
    let explained = scorer(&job);
    let gap = explained.completeness(&job).unwrap().map_or(f64::INFINITY, |completeness| completeness.gap);
    let scores = match explained.scores {
        RawScores::Elements(Array { data, .. }, _) => data,
        RawScores::Units(values) => values.iter().map(|&value| value as f32).collect(),
        RawScores::Tokens(_) => panic!("scores by token"),
    };
    (scores, gap)
}

fn method(info: &'static Info) -> impl Fn(&Question<'_>) -> RawAttribution {
    let chosen = ConfiguredMethod::new(info.name, Settings::default()).unwrap();
    move |job| {
        // This one has to be told what to draw.
        let words = [("0.1".to_owned(), 1.0), ("-0.2".to_owned(), 2.0)];
        let sampled = || Masker::Sampled(Arc::new(Words::new(job.model, &words).unwrap()));
        let masker = (info.name == "feature_permutation").then(sampled);
        chosen.explain(&Question { masker, ..job.clone() }).unwrap()
    }
}

/// tanh(x₁ − 2x₂ + x₃) + 0.7·tanh(½x₁ + 0.3x₂ + ½x₃): smooth and curved; x₄ is not used, x₁ and x₃ count alike.
fn curved() -> Net {
    let inner = Dense::new(&[[1.0, -2.0, 1.0, 0.0], [0.5, 0.3, 0.5, 0.0]]).then(Unary::Tanh);
    Net::new(vec![inner, Dense::new(&[[1.0, 0.7]])])
}

/// The same function as [`curved`], with a layer more that changes nothing.
fn rebuilt() -> Net {
    let inner = Dense::new(&[[1.0, -2.0, 1.0, 0.0], [0.5, 0.3, 0.5, 0.0]]).then(Unary::Tanh);
    Net::new(vec![Dense::identity::<4>(), inner, Dense::new(&[[2.0, 1.4]]), Dense::new(&[[0.5]])])
}

/// Half of [`curved`]: its first or its second term alone.
fn part(which: usize) -> Net {
    let inner = Dense::new(&[[1.0, -2.0, 1.0, 0.0], [0.5, 0.3, 0.5, 0.0]]).then(Unary::Tanh);
    Net::new(vec![inner, Dense::new(&[if which == 0 { [1.0, 0.0] } else { [0.0, 0.7] }])])
}

const X: [f32; 4] = [0.8, 0.5, 0.8, 0.6];

/// By how much a promise is broken, relative to the largest score.
fn broken(axiom: Axiom, scorer: Scorer<'_>) -> Comparison {
    let (scores, gap) = ask(scorer, &curved(), &X);
    // Relative to nothing but zeros every promise would be kept.
    let largest = Array { shape: vec![scores.len()], data: scores.clone() }.max_abs();
    let of = Of::Size(if largest > 0.0 { largest } else { f64::NAN });
    let mut comparison = Comparison::default();
    let mut apart = |found: &[f32], expected: &[f32], of| comparison.compare("scores", found, expected, of);
    match axiom {
        Axiom::Completeness => comparison.compare("gap", &[gap], &[0.0], Of::Size(1.0)),
        // Only one number makes a difference, by saturating: it must have a score, of at least 1.
        Axiom::Sensitivity => {
            let (scores, _) = ask(scorer, &Net::saturating::<1>(), &[2.0]);
            let enough = scores[0].abs() > 1.0;
            apart(&[if enough { 1.0 } else { scores[0].abs() }], &[1.0], Of::Size(1.0))
        }
        Axiom::Dummy => apart(&scores[3..], &[0.0], of),
        Axiom::Symmetry => apart(&scores[..1], &scores[2..3], of),
        Axiom::Linearity => {
            let [first, second] = [0, 1].map(|which| ask(scorer, &part(which), &X).0);
            assert_eq!(first.len(), second.len());
            apart(&first.iter().zip(&second).map(|(a, b)| a + b).collect::<Vec<_>>(), &scores, of)
        }
        Axiom::ImplementationInvariance => apart(&ask(scorer, &rebuilt(), &X).0, &scores, of),
    };
    comparison
}

const ALL: [Axiom; 6] = [
    Axiom::Completeness,
    Axiom::Sensitivity,
    Axiom::Dummy,
    Axiom::Symmetry,
    Axiom::Linearity,
    Axiom::ImplementationInvariance,
];

/// Some methods estimate, so that a promise is kept within this share of the largest score.
const KEPT: f64 = 0.03;

#[test]
fn every_method_keeps_what_it_promises() {
    let with_numbers = METHODS.iter().filter(|info| !info.name.contains("attention"));
    for info in with_numbers {
        for &axiom in info.axioms {
            let by = broken(axiom, &method(info));
            println!("{} {axiom:?}: {:.1e}", info.name, by.worst().0);
            let kept = by.check(KEPT);
            let words = "for words that are numbers (scores that are all 0 keep nothing)";
            assert!(kept.is_ok(), "{} breaks {axiom:?} {words}: {kept:?}", info.name);
        }
    }
}

/// A report says how units were hidden, which the scores hang on.
#[test]
fn every_method_that_hides_units_says_how() {
    let (net, driver) = (curved(), Driver::default());
    let job = Question::new(&net, &driver, Net::row(&X), Target::class(0));
    for info in METHODS {
        if info.needs == Needs::Predictions && matches!(info.new, New::Scores(_)) {
            let says = method(info)(&job).found.contains_key("masker");
            assert!(says, "{} lacks .with(\"masker\", job.masker().to_string())", info.name);
        }
    }
}

/// One way a token keeps every promise but that of the sum F(x) − F(x′), which it does not make.
#[test]
fn one_way_a_token_keeps_what_it_promises() {
    let settings = Settings::parse(&["path=sequential"]).unwrap();
    let chosen = ConfiguredMethod::new("integrated_gradients", settings).unwrap();
    let sequential = |job: &Question<'_>| chosen.explain(job).unwrap();
    for axiom in [Axiom::Dummy, Axiom::Symmetry, Axiom::Linearity, Axiom::ImplementationInvariance] {
        assert!(broken(axiom, &sequential).check(KEPT).is_ok(), "{axiom:?}");
    }
    let straight = ConfiguredMethod::new("integrated_gradients", Settings::default()).unwrap();
    let sum = |scorer: Scorer<'_>| ask(scorer, &curved(), &X).0.iter().sum::<f32>();
    let (whole, parts) = (sum(&|job| straight.explain(job).unwrap()), sum(&sequential));
    assert!((whole - parts).abs() > 0.05 * whole.abs(), "{whole} {parts}");
}

/// For every promise a method that does not keep it, so that none of the checks can pass always.
#[test]
fn every_promise_can_be_broken() {
    let find = |name: &str| METHODS.iter().find(|info| info.name == name).copied().unwrap();
    let integrated = method(find("integrated_gradients"));
    let with = |change: fn(&mut Vec<f32>, &Question<'_>)| {
        let integrated = &integrated;
        move |job: &Question<'_>| {
            let mut explained = integrated(job);
            if let RawScores::Elements(values, _) = &mut explained.scores {
                change(&mut values.data, job);
            }
            explained
        }
    };
    let lost = with(|scores, _| scores[0] *= 0.5);
    let spread = with(|scores, _| {
        let mean = scores.iter().sum::<f32>() / scores.len() as f32;
        scores.iter_mut().for_each(|score| *score = 0.8 * *score + 0.2 * mean);
    });
    let first = with(|scores, _| scores[0] *= 1.2);
    let squared = with(|scores, _| scores.iter_mut().for_each(|score| *score *= score.abs()));
    let by_layers = with(|scores, job| {
        let layers = job.card().sizes.0[0].1 as f32;
        scores.iter_mut().enumerate().for_each(|(i, score)| *score *= 1.0 + 0.1 * layers * i as f32);
    });
    let faults: [(Axiom, Scorer<'_>); 6] = [
        (Axiom::Completeness, &lost),
        (Axiom::Sensitivity, &method(find("gradient_x_input"))),
        (Axiom::Dummy, &spread),
        (Axiom::Symmetry, &first),
        (Axiom::Linearity, &squared),
        (Axiom::ImplementationInvariance, &by_layers),
    ];
    assert_eq!(faults.each_ref().map(|(axiom, _)| *axiom), ALL);
    for (axiom, fault) in faults {
        println!("{axiom:?}");
        broken(axiom, fault).assert_beyond(0.05);
    }
    let nan = with(|scores, _| scores[0] = f32::NAN);
    let zero = with(|scores, _| scores.fill(0.0));
    for axiom in ALL {
        assert!(broken(axiom, &nan).check(KEPT).is_err(), "{axiom:?} is kept by NaN");
        assert!(broken(axiom, &zero).check(KEPT).is_err(), "{axiom:?} is kept by nothing");
    }
    // A score too many or too few for one of two nets.
    let longer = with(|scores, job| scores.extend((job.card().sizes.0[0].1 > 2).then_some(0.0)));
    assert!(broken(Axiom::ImplementationInvariance, &longer).check(KEPT).is_err());
}

/// The published pair of nets of one function on which rules that go by parts must differ.
#[test]
fn rules_that_go_by_parts_promise_no_invariance() {
    for info in METHODS.iter().filter(|info| ["deep_lift", "lrp"].contains(&info.name)) {
        assert!(!info.axioms.contains(&Axiom::ImplementationInvariance), "{}", info.name);
    }
    let deep_lift = METHODS.iter().find(|info| info.name == "deep_lift").unwrap();
    let [one, other] = Net::invariance().map(|net| ask(&method(deep_lift), &net, &[3.0, 1.0]).0);
    assert!((one[0] - other[0]).abs() > 0.4);
}

/// Every method has a page with the same sections, and the list misses none that lies in the folders.
#[test]
fn every_page_is_a_page_and_every_file_is_listed() {
    for info in METHODS {
        assert!(
            info.prose.starts_with(&format!("# {}\n", info.name)),
            "{}: page of another method",
            info.name
        );
        for section in
            ["## What it answers", "## How", "## Parameters", "## When not to trust it", "## Reference"]
        {
            assert!(info.prose.contains(section), "{}: no section '{section}'", info.name);
        }
    }
    for folder in ["gradient", "attention", "perturbation", "rules", "search", "attacks"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
        for entry in std::fs::read_dir(path).unwrap().flatten().filter(|entry| entry.path().is_file()) {
            let file = entry.path();
            // A page makes a method, and so does an entry for the list; other files are parts of methods.
            let page = file.extension().is_some_and(|extension| extension == "md");
            if !page && !std::fs::read_to_string(&file).unwrap().contains("pub const INFO") {
                continue;
            }
            let name = file.file_stem().unwrap().to_string_lossy().into_owned();
            let listed = METHODS.iter().any(|info| info.name == name);
            assert!(listed, "{} is in no list", file.display());
        }
    }
}
