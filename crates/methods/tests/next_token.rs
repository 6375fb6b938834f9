//! Methods and their evidence on a task that nothing here knows: the next word of a toy language model.

use exegete_core::report::{Attribution, Item};
use exegete_core::{Driver, Example, Units};
use exegete_methods::evidence::Level;
use exegete_methods::{Baseline, ConfiguredMethod, Request, SiteChoice, explain};
use exegete_testkit::Toy;

fn explained(method: &str, target: &str) -> Attribution {
    let request = Request {
        masker: None,
        methods: ConfiguredMethod::all(&[method], &[]).expect("a method"),
        targets: vec![target.parse().expect("a target")],
        top_labels: None,
        site: SiteChoice::Words,
        units: Units::Word,
        baselines: vec![Baseline::Zero],
        check: Level::Default,
        seed: 0,
    };
    let toy = Toy::language_model();
    let items = explain(&toy, &Driver::default(), &Example::text("not good"), &request);
    match items.expect("an explanation").pop() {
        Some(Item::Attribution(attribution)) => *attribution,
        other => panic!("{other:?}"),
    }
}

/// The logit of "film" after the last word is ½ Σ x·u + c with u = (2, 1): "not" gives −½ and "good" 1¼.
#[test]
fn words_are_scored_by_hand() {
    for (method, target) in [
        ("integrated_gradients", "predicted"),
        ("leave_one_out", "predicted"),
        ("leave_one_out", "token:1=film"),
    ] {
        let found = explained(method, target);
        assert_eq!(found.subject.target, "token:1=film:logit");
        let expected = [-0.5, 1.25];
        assert_eq!(found.values.len(), expected.len());
        for (value, expected) in found.values.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-6, "{method}: {:?}", found.values);
        }
    }
}

#[test]
fn evidence_reads_the_probability_and_the_decision() {
    let checks = explained("integrated_gradients", "predicted").checks;
    let hiding = checks.hiding.unwrap();
    // Positions must stay, and the toy has no mask to put in place.
    assert_eq!((hiding.target.as_str(), hiding.masker.as_str()), ("token:1=film:prob", "zero"));
    assert!(checks.completeness.is_some_and(|found| found.gap.abs() < 1e-6));
    let flip = checks.flip.unwrap();
    // Without "good" the mean is ("not" + 0) / 2, after which "good" is most probable.
    assert_eq!((flip.units, &flip.before.0[..], &flip.after.0[..]), (vec![1], "film", "good"));
    let sentence = checks.verdict.unwrap().sentence;
    assert!(sentence.contains("\"film\""), "{sentence}");
}
