//! A network of other places than any transformer's: a gate, a candidate, a state, and no heads. Driver, targets, methods,
//! evidence and the conformance suite take it as it is.

use exegete_core::conformance::{ConformanceSubject, check};
use exegete_core::report::{Attribution, Item};
use exegete_core::{Driver, Example, Model, Site, predict};
use exegete_methods::{ConfiguredMethod, Masker, Request, SiteChoice, explain};
use exegete_testkit::Toy;

const TEXT: &str = "not good film but bad film good";

fn explained(method: &str, target: &str, site: SiteChoice) -> exegete_core::Result<Vec<Item>> {
    let methods = ConfiguredMethod::all(&[method], &[])?;
    let masker = (method == "leave_one_out").then_some(Masker::Delete);
    let request = Request { methods, targets: vec![target.parse()?], site, masker, ..Request::default() };
    explain(&Toy::recurrent(), &Driver::default(), &Example::text(TEXT), &request)
}

fn attribution(method: &str, target: &str, site: SiteChoice) -> Attribution {
    match explained(method, target, site).expect("an explanation").pop() {
        Some(Item::Attribution(found)) => *found,
        other => panic!("{other:?}"),
    }
}

#[test]
fn keeps_to_what_every_open_model_must() {
    let toy = Toy::recurrent();
    let examples = ["good film but bad", "not good film", TEXT].map(Example::text);
    for check in check(&ConformanceSubject { fast: &toy, exact: &toy, examples: &examples })
        .expect("a suite that starts")
    {
        assert!(check.passed, "{check:?}");
    }
}

#[test]
fn gradients_along_a_path_add_up_at_words_and_at_the_state() {
    for site in [SiteChoice::Words, SiteChoice::At(Site::named("enc.out"))] {
        let found = attribution("integrated_gradients", "predicted", site);
        let sums = found.checks.completeness.expect("a claim");
        assert!(sums.gap < 0.01 && sums.difference.abs() > 0.1, "{sums:?}");
        assert!(found.checks.verdict.is_some() && found.checks.hiding.is_some());
    }
    // The gate is one of two ways to the state, so that nothing is claimed there.
    let gate = attribution("gradient_x_input", "class:positive", SiteChoice::At(Site::named("enc.0.z")));
    assert!(gate.checks.completeness.is_none() && gate.token_values.iter().any(|&value| value != 0.0));
    let neuron = attribution("integrated_gradients", "unit:enc.0.z[1,0]", SiteChoice::Words);
    assert!(neuron.token_values.iter().enumerate().all(|(token, &value)| (value != 0.0) == (token == 1)));
    let layers = explained("integrated_gradients", "predicted", SiteChoice::AllLayers).expect("a map");
    let Some(Item::Map(map)) = layers.first() else { panic!("{layers:?}") };
    assert_eq!(
        map.layers.iter().map(|layer| layer.site.as_str()).collect::<Vec<_>>(),
        ["embed.word", "enc.out"]
    );
}

#[test]
fn leaving_words_out_is_what_predictions_say() {
    let toy = Toy::recurrent();
    let prob = |text: &str| {
        let found = predict(&Driver::default(), &toy, &[Example::text(text)]).expect("a prediction");
        let exegete_core::Scores::Classes { scores: classes, .. } = &found[0].scores else {
            panic!("{found:?}")
        };
        classes[1].logit.expect("an open model has logits")
    };
    let found = attribution("leave_one_out", "class:positive", SiteChoice::Words);
    let words: Vec<&str> = TEXT.split(' ').collect();
    assert_eq!(found.values.len(), words.len());
    for (i, value) in found.values.iter().enumerate() {
        let rest = [&words[..i], &words[i + 1..]].concat().join(" ");
        assert!((value - (prob(TEXT) - prob(&rest))).abs() < 1e-9, "{}: {value}", words[i]);
    }
}

#[test]
fn what_needs_attention_says_what_is_missing() {
    let error =
        explained("attention", "predicted", SiteChoice::Words).expect_err("there is none").to_string();
    assert!(error.contains("no attention maps"), "{error}");
    assert!(Toy::recurrent().card().sizes.0.iter().all(|(name, _)| *name != "heads"));
}
