//! A softplus for every ReLU: numbers worked by hand, what is reported of the swap, and second derivatives of whole models.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::report::{Attribution, Item, ReluSwap};
use exegete_core::{Array, Driver, Example, Label, Learner, Model, Outputs, Row, Rules, Site, Target};
use exegete_methods::{
    ConfiguredMethod, METHODS, Method, Needs, New, Question, RawAttribution, RawScores, Request, Settings,
    SiteChoice, explain,
};
use exegete_models::{LoadOptions, Precision, load};
use exegete_testkit::{Comparison, Dense, Net, Of, check, close, golden};
use std::sync::Arc;

const SIZE: Of = Of::Size(1.0);

fn configured(method: &str, set: &[&str]) -> ConfiguredMethod {
    ConfiguredMethod::new(method, Settings::parse(set).unwrap()).unwrap()
}

/// The first output of Captum's model at (3, 4, 2.5), at its numbers.
fn explained(method: &str, set: &[&str]) -> RawAttribution {
    let (net, driver) = (Net::captum(), Driver::default());
    let job = Question::new(&net, &driver, Net::row(&[3.0, 4.0, 2.5]), Target::class(0));
    let job = Question { baselines: vec![exegete_methods::Baseline::Zero], ..job };
    configured(method, set).explain(&job).unwrap()
}

fn elements(explained: &RawAttribution) -> Vec<f64> {
    let RawScores::Elements(Array { data, .. }, _) = &explained.scores else { panic!("{explained:?}") };
    data.iter().map(|&x| f64::from(x)).collect()
}

#[test]
fn captums_model_worked_by_hand() {
    for (beta, value, slope) in [("10", 30.500_671_5, 3.006_692_9), ("1", 30.974_159_6, 3.377_458_1)] {
        let set = format!("softplus={beta}");
        let found = explained("saliency", &[&set]);
        close("gradient", &elements(&found), &[slope; 3], SIZE, 1e-5);
        let swap = found.swap.unwrap();
        close("values", &[swap.value, swap.swapped], &[30.5, value], SIZE, 1e-5);
        // Both outputs move alike, so that no probability does.
        close("changes", &[swap.logit_change], &[value - 30.5], SIZE, 1e-5);
        close("probabilities", &[swap.prob_change.unwrap()], &[0.0], SIZE, 1e-9);
        assert!(swap.beta == beta.parse::<f64>().unwrap() && !swap.decision_changed);
        // What scores add up to is the swapped network's.
        let found = explained("integrated_gradients", &[&set, "tolerance=1e-6"]);
        let sum: f64 = elements(&found).iter().sum();
        close("sum", &[sum], &[found.claim.clone().unwrap().difference], SIZE, 1e-3);
        let product: Vec<f64> = [3.0, 4.0, 2.5].iter().map(|x| slope * x).collect();
        close("product", &elements(&explained("gradient_x_input", &[&set])), &product, SIZE, 1e-4);
    }
    let plain = explained("saliency", &[]);
    close("as it is", &elements(&plain), &[3.0; 3], SIZE, 1e-6);
    assert!(plain.swap.is_none());
    assert!(check("a fault", &elements(&plain)[..], &[3.006_692_9; 3][..], SIZE, 1e-3).is_err());
    assert_eq!(explained("saliency", &["softplus=yes"]).swap.unwrap().beta, 10.0);
    assert!(explained("saliency", &["softplus=no"]).swap.is_none());
    assert_eq!(configured("saliency", &["softplus=yes"]).params()["softplus"], 10.0);
    assert!(!configured("saliency", &[]).params().contains_key("softplus"));
    for wrong in ["0", "-1", "nan", "inf", "soft"] {
        let set = format!("softplus={wrong}");
        let refused = ConfiguredMethod::new("saliency", Settings::parse(&[&set]).unwrap()).map(drop);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(&set) && refused.contains("yes, no or a number above 0"), "{refused}");
    }
}

fn report(model: &dyn Model, example: &Example, method: &str, set: &[&str]) -> Attribution {
    let request = Request { methods: vec![configured(method, set)], ..Request::default() };
    let items = explain(model, &Driver::default(), example, &request).unwrap();
    let [Item::Attribution(found)] = &items[..] else { panic!("{items:?}") };
    (**found).clone()
}

/// At x = .05 the first output is 0 and the second .1; with β = 1 the first becomes .668.
#[test]
fn a_changed_decision_fails_and_hiding_asks_the_model_itself() {
    let net =
        Net::new(vec![Dense::new(&[[-1.0, 0.0]]).relu(), Dense::new(&[[1.0], [0.0]]).bias(&[0.0, 0.1])]);
    let example = Net::example(&[0.05, 1.0]);
    let found = report(&net, &example, "saliency", &["softplus=1"]);
    assert_eq!(found.subject.target, "class:out1:logit", "of the model's own prediction");
    let swap = found.checks.swap.clone().unwrap();
    assert!(swap.decision_changed);
    close("changes", &[swap.logit_change], &[(1.0 + (-0.05f64).exp()).ln()], SIZE, 1e-6);
    let verdict = found.checks.verdict.clone().unwrap();
    let finding = verdict.findings.iter().find(|finding| finding.check == "swap").unwrap();
    assert_eq!((finding.measured, finding.passed), (Some(1.0), Some(false)));
    assert!(verdict.failures.iter().any(|failure| failure.contains("decides something else")), "{verdict:?}");
    let own = report(&net, &example, "saliency", &[]);
    let [hiding, of_own] = [&found, &own].map(|found| found.checks.hiding.clone().unwrap());
    assert_eq!((hiding.value, hiding.target), (of_own.value, of_own.target));
    assert_eq!(found.subject.prediction, own.subject.prediction);
    assert!(own.checks.swap.is_none());
    // With a steep one the decision stays.
    let steep = report(&net, &example, "saliency", &["softplus=100"]);
    let finding = steep.checks.verdict.unwrap().findings.into_iter().find(|finding| finding.check == "swap");
    assert_eq!(finding.unwrap().passed, Some(true));
}

fn small(name: &str, precision: Precision) -> Arc<dyn Model> {
    load(&golden::root().join("../small").join(name), &LoadOptions { threads: 1, precision }).unwrap()
}

const TEXT: &str = "the film was not very good";

#[test]
fn a_model_without_relu_is_refused_by_name() {
    let bert =
        load(&golden::root().join("bert-sequence"), &LoadOptions { threads: 1, ..LoadOptions::default() });
    for (name, model) in
        [("bert-sequence", bert.unwrap()), ("lstm-additive", small("lstm-additive", Precision::F32))]
    {
        for site in [SiteChoice::Words, SiteChoice::At("pooled".parse().unwrap())] {
            let methods = vec![configured("saliency", &["softplus=yes"])];
            let request = Request { methods, site, ..Request::default() };
            let refused = explain(&*model, &Driver::default(), &Example::text(TEXT), &request);
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains(name) && refused.contains("has no ReLU"), "{refused}");
        }
    }
}

fn logits(model: &dyn Model) -> Vec<f64> {
    let row = Row::new(model.encoded(&Example::text(TEXT)).unwrap());
    Driver::default().read_one(model, &row, &Outputs).unwrap().data
}

fn gap(a: &[f64], b: &[f64]) -> f64 {
    Comparison::default().compare("logits", a, b, SIZE)
}

#[test]
fn steeper_is_nearer_and_views_keep_the_swap() {
    for name in ["kim", "cnn-additive", "han-conv", "flan-conv"] {
        let model = small(name, Precision::F32);
        let own = logits(&*model);
        let softened = |beta: f64| model.open().unwrap().softened(beta).unwrap();
        let gaps = [1.0, 10.0, 1000.0].map(|beta| gap(&own, &logits(&*softened(beta))));
        assert!(
            gaps[0].is_finite() && gaps[0] > gaps[1] && gaps[1] > gaps[2] && gaps[2] < 0.01,
            "{name}: {gaps:?}"
        );
        let soft = softened(1.0);
        assert_eq!(logits(&*soft.open().unwrap().with_params(Vec::new()).unwrap()), logits(&*soft), "{name}");
        assert_eq!(logits(&*model), own, "the model itself is untouched");
        let fingerprints = [&model, &soft, &softened(10.0), &softened(1.0 + 1e-12)];
        let mut fingerprints = fingerprints.map(|model| model.card().fingerprint.clone()).to_vec();
        fingerprints.dedup();
        assert_eq!(fingerprints.len(), 4, "{name}");
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(model.open().unwrap().softened(wrong).is_err());
        }
    }
}

#[test]
fn a_planted_nan_is_noticed() {
    assert!(gap(&[0.5, f64::NAN], &[0.5, 0.5]).is_infinite());
    let plain = explained("saliency", &["softplus=10"]);
    let mut spoilt = elements(&plain);
    spoilt[2] = f64::NAN;
    assert!(check("NaN", &spoilt, &elements(&plain), SIZE, f64::MAX).is_err());
}

/// A run that starts behind every ReLU has none to replace, and is no error.
#[test]
fn states_behind_the_rectifiers_can_be_explained() {
    let model = small("cnn-additive", Precision::F32);
    let methods = vec![configured("integrated_gradients", &["softplus=10"])];
    let site = SiteChoice::At(Site::named("enc.out"));
    let request = Request { methods, site, ..Request::default() };
    let items = explain(&*model, &Driver::default(), &Example::text(TEXT), &request).unwrap();
    let [Item::Attribution(found)] = &items[..] else { panic!("{items:?}") };
    assert!(found.checks.completeness.as_ref().unwrap().gap < 0.05, "{:?}", found.checks.completeness);
}

/// Every method that looks inside takes it, or needs self-attention.
#[test]
fn every_method_that_looks_inside_takes_it() {
    for name in ["kim", "cnn-additive"] {
        let model = small(name, Precision::F32);
        let inside = METHODS.iter().filter(|info| info.needs == Needs::Inside);
        for info in inside.filter(|info| matches!(info.new, New::Scores(_))) {
            let methods = vec![configured(info.name, &["softplus=10"])];
            let request = Request { methods, ..Request::default() };
            let items = explain(&*model, &Driver::default(), &Example::text(TEXT), &request);
            let weighs = name != "kim" && !["attention_rollout", "attention_norm"].contains(&info.name);
            if info.name.contains("attention") && !weighs {
                assert!(items.unwrap_err().to_string().contains("attention"), "{name} {}", info.name);
                continue;
            }
            for item in items.unwrap() {
                let Item::Attribution(found) = item else { panic!("{item:?}") };
                assert_eq!(found.subject.params["softplus"], 10.0, "{name} {}", info.name);
                let ReluSwap { beta, value, swapped, .. } = found.checks.swap.clone().unwrap();
                assert!(beta == 10.0 && value != swapped, "{name} {}: {value} {swapped}", info.name);
                let gap = found.checks.completeness.as_ref().map_or(0.0, |sums| sums.gap);
                // Sampled scores add up on average only.
                assert!(gap < 0.05 || info.name == "gradient_shap", "{name} {}: {gap}", info.name);
            }
        }
    }
}

/// The loss's gradient along a direction, with parameters moved along another.
fn slopes(model: &dyn Model, names: &[String], by: f32, along: &[Array]) -> Vec<f64> {
    let learner = model.learner().unwrap();
    let moved =
        names.iter().zip(along).map(|(name, v)| (name.clone(), learner.parameter(name).unwrap().plus(v, by)));
    let moved = model.open().unwrap().with_params(moved.collect()).unwrap();
    let (_, found) = moved.learner().unwrap().gradient(&rows(model), &[Label::Class(0)], names).unwrap();
    found.iter().flat_map(|array| array.data.iter().map(|&x| f64::from(x))).collect()
}

fn rows(model: &dyn Model) -> Vec<Row> {
    vec![Row::new(model.encoded(&Example::text(TEXT)).unwrap())]
}

fn direction(learner: &dyn Learner, name: &str, seed: u64) -> Array {
    let shape = learner.parameter(name).unwrap().shape;
    let count: usize = shape.iter().product();
    let number = |i: usize| ((i as f64 * 0.73 + seed as f64 * 1.9).sin() * 0.5) as f32;
    Array { shape, data: (0..count).map(number).collect() }
}

/// Products with the Hessian of the loss are those of differences of gradients, which jump where ReLU has its kinks.
#[test]
fn second_derivatives_are_the_softened_networks() {
    for name in ["kim", "cnn-additive"] {
        let model = small(name, Precision::F64).open().unwrap().softened(2.0).unwrap();
        let learner = model.learner().unwrap();
        let names: Vec<String> = learner.parameters().into_iter().map(|(name, _)| name).collect();
        let names: Vec<String> =
            names.into_iter().filter(|name| name.contains("conv") || name.starts_with("embed")).collect();
        let along =
            |seed: u64| names.iter().map(|name| direction(learner, name, seed)).collect::<Vec<Array>>();
        let (u, v) = (along(1), along(2));
        let product = |v: &[Array]| learner.hvp(&rows(&*model), &[Label::Class(0)], &names, v).unwrap();
        let flat = |all: &[Array]| -> Vec<f64> {
            all.iter().flat_map(|array| array.data.iter().map(|&x| f64::from(x))).collect()
        };
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (hu, hv) = (flat(&product(&u)), flat(&product(&v)));
        close("symmetric", &[dot(&flat(&v), &hu)], &[dot(&flat(&u), &hv)], Of::Largest(1e-3), 1e-4);
        let step = 1.0 / 256.0;
        let (ahead, behind) = (slopes(&*model, &names, step, &v), slopes(&*model, &names, -step, &v));
        let found: Vec<f64> =
            ahead.iter().zip(&behind).map(|(a, b)| (a - b) / (2.0 * f64::from(step))).collect();
        close(name, &hv, &found, Of::Largest(1e-3), 2e-3);
        // The original's are others.
        let own = small(name, Precision::F64);
        let plain = own.learner().unwrap().hvp(&rows(&*own), &[Label::Class(0)], &names, &v).unwrap();
        assert!(check("a fault", &flat(&plain)[..], &found[..], Of::Largest(1e-3), 0.05).is_err(), "{name}");
    }
}

/// Directional derivatives, by dual numbers, are the softened network's too.
#[test]
fn slopes_along_a_direction_agree() {
    let model = small("kim", Precision::F64).open().unwrap().softened(3.0).unwrap();
    let (driver, row) = (Driver::default(), rows(&*model).remove(0));
    let job = Question::new(&*model, &driver, row.clone(), Target::class(0));
    let read = job.read_own(&[job.site], &[job.site], Rules::Gradient).unwrap();
    let data = (0..read.values[0].len()).map(|i| (i as f32 * 0.37).cos()).collect();
    let along = Array { shape: read.values[0].shape.clone(), data };
    let moved = model.open().unwrap().jvp(&[row], job.site, std::slice::from_ref(&along), &[]).unwrap();
    let expected: f64 =
        along.data.iter().zip(&read.gradients[0].data).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
    close("slope", &[f64::from(moved.moved[0][0].data[0])], &[expected], SIZE, 1e-5);
}
