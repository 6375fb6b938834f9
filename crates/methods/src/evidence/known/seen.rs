//! What a method has seen is no evidence for it, and what it compares a text with is reported.

use super::families::{attribution, opened};
use crate::evidence::Level;
use crate::{ConfiguredMethod, Request, explain};
use exegete_core::report::{AgainstChance, Attribution, Item};
use exegete_core::{Card, ClassScore, Driver, Example, Model, Prediction, Result, Scores, Sizes, task};
use exegete_testkit::golden;

fn explained(text: &str, method: &str) -> Attribution {
    attribution(&*opened(&golden::root().join("bert-sequence")), text, method, Level::Default)
}

fn chance(found: Attribution) -> AgainstChance {
    found.checks.chance.unwrap()
}

#[test]
fn sets_that_a_method_asked_for_are_left_out() {
    let short = "a film that is not so bad";
    for method in ["gradient_x_input", "leave_one_out"] {
        let found = chance(explained(short, method));
        assert_eq!((found.masks, found.independent), (96, Some(true)), "{method}");
    }
    let windows = chance(explained(short, "occlusion"));
    assert!(windows.masks < 96 && windows.independent == Some(true), "it hides words in a row: {windows:?}");
    let exact = chance(explained(short, "exact_shap"));
    assert_eq!((exact.masks, exact.independent), (96, Some(false)), "it hides every set there is");
    assert!(exact.says.ends_with("the evidence is not independent: the method has seen these sets"));
    let long = "a film that is not so bad and a man who was here and so was the plot";
    let lime = chance(explained(long, "lime"));
    assert!(lime.masks > 60 && lime.independent == Some(true), "{lime:?}");
}

#[test]
fn what_a_text_is_compared_with_is_reported() {
    let text = "a film that is not so bad";
    let value = |method: &str| explained(text, method).baseline_value;
    assert_eq!(value("gradient_x_input"), None, "it compares with nothing");
    assert_eq!(value("saliency"), None);
    let hidden = value("leave_one_out").unwrap();
    assert_eq!(value("exact_shap"), Some(hidden), "all that hide words hide the same way");
    let integrated = explained(text, "integrated_gradients");
    let difference = integrated.checks.completeness.unwrap().difference;
    assert_eq!(integrated.baseline_value, Some(integrated.subject.value - difference));
    // Shapley values share out what lies between the two.
    let shares = explained(text, "exact_shap");
    let sum: f64 = shares.values.iter().sum();
    assert!((shares.subject.value - hidden - sum).abs() < 1e-4, "{sum}");
}

/// A black box that answers the same whatever it reads.
struct Constant(Card);

impl Constant {
    fn new() -> Self {
        let labels = vec!["no".to_owned(), "yes".to_owned()];
        Self(Card {
            name: "constant".into(),
            family: "constant".into(),
            fingerprint: "constant".into(),
            task: &task::CLASSIFICATION,
            labels,
            parameters: 0,
            max_tokens: 1000,
            sizes: Sizes::default(),
            warnings: Vec::new(),
        })
    }
}

impl Model for Constant {
    fn card(&self) -> &Card {
        &self.0
    }

    fn predict(&self, examples: &[Example]) -> Result<Vec<Prediction>> {
        let score = |(label, prob): (&String, f64)| ClassScore { label: label.clone(), logit: None, prob };
        let scores = self.0.labels.iter().zip([0.3, 0.7]).map(score).collect::<Vec<_>>();
        let answer = Prediction { scores: Scores::classes(scores), truncated: false, unknown: 0 };
        Ok(vec![answer; examples.len()])
    }
}

#[test]
fn a_black_box_that_nothing_moves_has_no_scores() {
    let text = "a film that is not so bad and a man who was here";
    for method in ["lime", "kernel_shap", "partition_shap", "leave_one_out"] {
        let methods = ConfiguredMethod::all(&[method], &[]).unwrap();
        let request = Request { methods, ..Request::default() };
        let found = explain(&Constant::new(), &Driver::default(), &Example::text(text), &request);
        let Some(Item::Attribution(found)) = found.unwrap().pop() else { panic!("{method} gives scores") };
        let verdict = found.checks.verdict.as_ref().unwrap();
        assert_eq!(verdict.failures, ["all scores are 0: they rank nothing"], "{method}");
        assert!(found.values.iter().chain(&found.token_values).chain(&found.errors).all(|v| *v == 0.0));
        assert!((found.baseline_value.unwrap() - 0.7).abs() < 1e-9, "an empty text already gives it");
        assert!(found.checks.chance.unwrap().reason.unwrap().starts_with("nothing moves F"), "{method}");
    }
}
