//! Every method against values recorded from PyTorch and Captum on the golden models.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::{Array, Driver, Example, Model, Row, Site, Target};
use exegete_methods::{Baseline, Chosen, Job, Scores, Settings};
use exegete_models::{Options, load};
use exegete_testkit::attributions::{Case, NetCase, Source, attributions, nets};
use exegete_testkit::golden::Texts;
use exegete_testkit::{Dense, Net};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

fn example(text: &Texts) -> Example {
    match text {
        Texts::Single(text) => Example::text(text),
        Texts::Pair(first, second) => Example::pair(first, second),
    }
}

fn words(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(list)) => list.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect(),
        Some(Value::String(word)) => vec![word.clone()],
        _ => vec!["zero".into()],
    }
}

/// A method of ours and its settings for a recorded case; none for what other tests compare.
fn ours(case: &Case) -> Option<(String, Vec<String>)> {
    let text = |key: &str| case.params.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut set: Vec<String> =
        case.params.get("steps").map(|steps| format!("steps={steps}")).into_iter().collect();
    let mut method = case.method.clone();
    match case.method.as_str() {
        "saliency" | "gradient_x_input" => {}
        "integrated_gradients" | "internal_influence" => match text("rule")?.as_str() {
            "exact" => set.clear(),
            rule => set.push(format!("rule={rule}")),
        },
        "conductance" => {
            set.push(match text("rule")?.as_str() {
                "differences" => "derivative=difference".into(),
                rule => format!("rule={rule}"),
            });
            set.extend(text("through").map(|neuron| format!("through={neuron}")));
        }
        "attention" => {
            method = match text("how")?.as_str() {
                "last" => "attention",
                "mean" => "attention_mean",
                "rollout" => "attention_rollout",
                "gradient" => "gradient_x_attention",
                "norm" => "attention_norm",
                other => panic!("unknown attention score {other}"),
            }
            .into();
        }
        _ => return None,
    }
    Some((method, set))
}

fn scores(case: &Case, model: &dyn Model, method: &str, set: &[String]) -> Array {
    let open = model.open().unwrap();
    let (driver, row) = (Driver::default(), Row::new(open.encode(&example(&case.input.text)).unwrap()));
    let logits = driver.read_all(model, std::slice::from_ref(&row), &exegete_core::Outputs).unwrap();
    let target: Target = case.target.parse().unwrap();
    let target =
        target.resolve(model.card(), &row.encoded, &logits[0], None, &|piece| open.token_id(piece)).unwrap();
    let named = words(case.params.get("baseline"));
    let baselines: Vec<Baseline> = named.iter().map(|name| name.parse().unwrap()).collect();
    let site: Site =
        if method.contains("attention") { Site::named("embed.word") } else { case.site.parse().unwrap() };
    let job = Job { site, baselines, ..Job::new(model, &driver, row, target) };
    let chosen = Chosen::new(method, Settings::parse(set).unwrap()).unwrap();
    let explained = chosen.method.explain(&job).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    match explained.scores {
        Scores::Elements(values, _) => values,
        Scores::Tokens(tokens) | Scores::Units(tokens) => {
            Array::new([tokens.len()], tokens.iter().map(|&v| v as f32).collect()).unwrap()
        }
    }
}

/// The largest difference relative to the largest expected value.
fn error(found: &Array, expected: &Array) -> f64 {
    assert_eq!(found.len(), expected.len(), "{:?} against {:?}", found.shape, expected.shape);
    let worst =
        found.data.iter().zip(&expected.data).map(|(a, b)| f64::from((a - b).abs())).fold(0.0, f64::max);
    worst / expected.max_abs().max(1e-12)
}

#[test]
fn every_method_gives_what_pytorch_and_captum_give() {
    let mut models: BTreeMap<std::path::PathBuf, Arc<dyn Model>> = BTreeMap::new();
    let (mut worst, mut compared): (BTreeMap<String, (f64, String)>, usize) = (BTreeMap::new(), 0);
    for case in attributions().unwrap().iter().filter(|case| case.source != Source::CaptumOnly) {
        let Some((method, set)) = ours(case) else { continue };
        let model = models
            .entry(case.folder.clone())
            .or_insert_with(|| load(&case.folder, &Options { threads: 1, ..Options::default() }).unwrap());
        let found = scores(case, &**model, &method, &set);
        // Norms are recorded for every layer and query; ours are the last layer's, for the first token.
        let expected = match method.as_str() {
            "attention_norm" => {
                let (layers, tokens) = (case.expected.shape[0], case.expected.shape[1]);
                let row = case.expected.data[(layers - 1) * tokens * tokens..][..tokens].to_vec();
                Array::new([tokens], row).unwrap()
            }
            _ => case.expected.clone(),
        };
        let found = error(&found, &expected);
        let kind =
            if set.is_empty() && method == "integrated_gradients" { "to tolerance".into() } else { method };
        let place = worst.entry(kind).or_default();
        if found > place.0 {
            *place = (found, case.name.clone());
        }
        compared += 1;
    }
    worst.iter().for_each(|(method, (error, case))| println!("{method}: {error:.1e} in {case}"));
    assert!(compared > 200, "only {compared} cases were compared");
    for (method, (error, case)) in &worst {
        // Without a count, integrated gradients go to their own tolerance, also where the model has a kink.
        let limit = if method == "to tolerance" { 0.01 } else { 1e-4 };
        assert!(*error <= limit, "{method}: {error:e} in {case}");
    }
    assert_eq!(worst.len(), 11);
}

/// What Captum calls trapezoid weighs too little, so ours must differ from it.
#[test]
fn a_biased_rule_is_not_copied() {
    for case in attributions().unwrap().iter().filter(|case| case.source == Source::CaptumOnly) {
        let model = load(&case.folder, &Options { threads: 1, ..Options::default() }).unwrap();
        let set = ["rule=trapezoid".to_owned(), format!("steps={}", case.params["steps"])];
        let found = error(&scores(case, &*model, "integrated_gradients", &set), &case.expected);
        assert!(found > 0.01, "{}: {found:e}", case.name);
    }
}

fn net(stored: &exegete_testkit::attributions::Net) -> Net {
    Net::new(stored.layers.iter().map(dense).collect())
}

fn dense(layer: &exegete_testkit::attributions::Layer) -> Dense {
    use exegete_engine::Unary;
    let bias = layer.bias.as_ref().map(|bias| bias.data.iter().map(|&b| f64::from(b)).collect::<Vec<_>>());
    let weight: Vec<f64> = layer.weight.data.iter().map(|&w| f64::from(w)).collect();
    let mut dense = Dense::of(layer.weight.shape[0], layer.weight.shape[1], weight);
    if let Some(bias) = bias {
        dense = dense.bias(&bias);
    }
    match layer.activation.as_deref() {
        Some("relu") => dense.relu(),
        Some("tanh") => dense.then(Unary::Tanh),
        Some("sigmoid") => dense.then(Unary::Sigmoid),
        _ => dense,
    }
}

fn net_settings(case: &NetCase) -> Vec<String> {
    let text = |key: &str| case.params.get(key).and_then(Value::as_str);
    let mut set = Vec::new();
    match text("rule") {
        Some("alpha1_beta0") => set.extend(["rule=alpha_beta".to_owned(), "alpha=1".to_owned()]),
        Some(rule) if case.method == "lrp" => set.push(format!("rule={rule}")),
        _ => {}
    }
    for key in ["epsilon", "gamma"] {
        let known = key == "gamma" || text("rule") == Some("epsilon");
        set.extend(
            known.then_some(()).and_then(|()| case.params.get(key)).map(|value| format!("{key}={value}")),
        );
    }
    set
}

fn row_of(values: &Array, row: usize) -> Vec<f32> {
    let width = values.shape[1];
    values.data[row * width..][..width].to_vec()
}

/// Rules other than the gradient, on feed-forward nets, where Captum can be trusted.
#[test]
fn rules_on_feed_forward_nets_are_captums() {
    let driver = Driver::default();
    let mut worst = BTreeMap::<String, f64>::new();
    for stored in nets().unwrap() {
        let net = net(&stored);
        for case in &stored.cases {
            // Under γ and α1β0 a bias counts as one more contribution here, and not at all or as it is there.
            if stored.name != "unbiased" && case.params.contains_key("bias") {
                continue;
            }
            for row in 0..case.inputs.shape[0] {
                let numbers =
                    |values: &[f32]| values.iter().map(f32::to_string).collect::<Vec<_>>().join(" ");
                let baselines = match &case.baselines {
                    None => vec![Baseline::Zero],
                    Some(all) if case.method == "deep_lift_shap" => {
                        (0..all.shape[0]).map(|i| Baseline::Text(numbers(&row_of(all, i)))).collect()
                    }
                    Some(all) => vec![Baseline::Text(numbers(&row_of(all, row)))],
                };
                let target = Target::class(case.target);
                let input = Net::row(&row_of(&case.inputs, row));
                let job = Job { baselines, ..Job::new(&net, &driver, input, target) };
                let Ok(chosen) = Chosen::new(&case.method, Settings::parse(&net_settings(case)).unwrap())
                else {
                    panic!("{}: {:?}", case.name, net_settings(case));
                };
                let Scores::Elements(found, _) = chosen.method.explain(&job).unwrap().scores else {
                    panic!()
                };
                let expected = Array::new([found.len()], row_of(&case.expected, row)).unwrap();
                // Captum's γ favours positive contributions always, ours those of the output's own sign.
                if case.params.get("rule").is_some_and(|rule| rule == "gamma")
                    && expected.data.iter().sum::<f32>() <= 0.0
                {
                    continue;
                }
                let error = error(&found, &expected);
                let place = worst.entry(case.name.clone()).or_default();
                *place = place.max(error);
            }
        }
    }
    worst.iter().for_each(|(case, error)| println!("{case}: {error:.1e}"));
    worst.iter().for_each(|(case, error)| assert!(*error <= 1e-4, "{case}: {error:e}"));
}
