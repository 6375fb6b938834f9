use super::*;
use exegete_core::{Site, Target};
use std::collections::BTreeSet;

const METHODS: [&str; 11] = [
    "attention",
    "conductance",
    "grad_cam",
    "gradient_shap",
    "gradient_x_input",
    "infidelity",
    "integrated_gradients",
    "internal_influence",
    "noise_tunnel",
    "saliency",
    "sensitivity_max",
];

fn sum(array: &Array) -> f64 {
    array.data.iter().map(|&value| f64::from(value)).sum()
}

#[test]
fn every_family_has_every_method() {
    let cases = attributions().unwrap();
    for family in ["bert", "roberta", "distilbert", "electra", "albert"] {
        let folder = root().join(format!("{family}-sequence"));
        let own = cases.iter().filter(|case| case.folder == folder);
        let methods: BTreeSet<&str> = own.map(|case| case.method.as_str()).collect();
        assert_eq!(methods, METHODS.into(), "{family}");
    }
    for head in ["pair", "qa", "token", "mlm"] {
        let folder = root().join(format!("bert-{head}"));
        assert!(cases.iter().filter(|case| case.folder == folder).count() >= 8, "{head}");
    }
}

#[test]
fn every_case_reads_as_a_request() {
    for case in attributions().unwrap() {
        case.target.parse::<Target>().unwrap();
        case.site.parse::<Site>().unwrap();
        let whole =
            !["attention", "grad_cam", "infidelity", "sensitivity_max"].contains(&case.method.as_str());
        if whole {
            assert_eq!(case.expected.shape.len(), 2, "{}", case.name);
            assert_eq!(case.expected.shape[0], case.input.ids.len(), "{}", case.name);
        }
        assert!(case.expected.max_abs() > 0.0, "{}", case.name);
    }
}

/// The recorded difference belongs to the recorded values.
#[test]
fn exact_attributions_are_complete() {
    let mut cases = attributions().unwrap();
    cases.retain(|case| case.params.get("rule").is_some_and(|rule| rule == "exact"));
    assert_eq!(cases.len(), 15);
    for case in cases {
        let difference = case.difference.unwrap();
        let gap = (sum(&case.expected) - difference).abs() / difference.abs();
        assert!(gap < 1e-5, "{}: {gap}", case.name);
    }
}

#[test]
fn captums_trapezoid_is_short_by_one_step_and_marked() {
    let cases = attributions().unwrap();
    let biased: Vec<&Case> = cases.iter().filter(|case| case.source == Source::CaptumOnly).collect();
    assert_eq!(biased.len(), 10);
    for case in biased {
        let steps = case.params["steps"].as_f64().unwrap();
        let right = cases.iter().find(|other| other.name == case.name.replace("captum_", "")).unwrap();
        let ratio = sum(&case.expected) / sum(&right.expected);
        assert!((ratio - (steps - 1.0) / steps).abs() < 1e-5, "{}: {ratio}", case.name);
    }
}

#[test]
fn given_noise_has_the_shape_of_the_input() {
    let cases = attributions().unwrap();
    for (method, name, count) in [("noise_tunnel", "noise", 5), ("infidelity", "perturbations", 6)] {
        let of_method: Vec<&Case> = cases.iter().filter(|case| case.method == method).collect();
        assert!(!of_method.is_empty());
        for case in of_method {
            assert_eq!(case.extra[name].shape[..2], [count, case.input.ids.len()], "{}", case.name);
        }
    }
}

/// The weights as read give what they should: summation to delta by a forward pass in plain loops.
#[test]
fn deep_lift_sums_to_the_difference_of_the_nets() {
    let nets = nets().unwrap();
    assert_eq!(nets.iter().map(|net| net.name.as_str()).collect::<Vec<_>>(), ["relu", "smooth", "unbiased"]);
    for net in &nets {
        let case = net.cases.iter().find(|case| case.method == "deep_lift").unwrap();
        let baselines = case.baselines.as_ref().unwrap();
        let width = case.inputs.shape[1];
        for row in 0..case.inputs.shape[0] {
            let part = row * width..(row + 1) * width;
            let score = |array: &Array| forward(net, &array.data[part.clone()])[case.target];
            let total: f32 = case.expected.data[part.clone()].iter().sum();
            let difference = score(&case.inputs) - score(baselines);
            assert!((total - difference).abs() < 1e-5, "{} {row}: {total}, not {difference}", case.name);
        }
    }
}

fn forward(net: &Net, input: &[f32]) -> Vec<f32> {
    net.layers.iter().fold(input.to_vec(), |values, layer| {
        let rows = layer.weight.data.chunks_exact(values.len()).enumerate();
        let sums = rows.map(|(unit, row)| {
            let bias = layer.bias.as_ref().map_or(0.0, |bias| bias.data[unit]);
            row.iter().zip(&values).map(|(weight, value)| weight * value).sum::<f32>() + bias
        });
        let activation = |value: f32| match layer.activation.as_deref() {
            Some("relu") => value.max(0.0),
            Some("tanh") => value.tanh(),
            Some("sigmoid") => 1.0 / (1.0 + (-value).exp()),
            other => {
                assert_eq!(other, None);
                value
            }
        };
        sums.map(activation).collect()
    })
}
