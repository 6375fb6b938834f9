//! What somebody may have meant by a name that there is not.

use crate::METHODS;

/// What the methods of other tools are called (Captum, SHAP, LIME, inseq, AllenNLP, TextAttack, anchor-exp) and what does the same here:
/// a method, and what has to be set. Spelled as [`spelled`] leaves them; names that differ from one here in capitals and
/// underscores alone need no line.
const ELSEWHERE: [(&str, &str); 48] = [
    ("ig", "integrated_gradients"),
    ("sequentialintegratedgradients", "integrated_gradients with --set path=sequential"),
    ("discretizedintegratedgradients", "integrated_gradients"),
    ("grad", "saliency"),
    ("gradient", "saliency"),
    ("vanillagradient", "saliency"),
    ("simplegradient", "saliency"),
    ("inputxgradient", "gradient_x_input"),
    ("gradientxactivation", "gradient_x_input"),
    ("ixg", "gradient_x_input"),
    ("gxi", "gradient_x_input"),
    ("smoothgrad", "saliency with --set noise=smooth"),
    ("noisetunnel", "saliency with --set noise=smooth"),
    ("smoothgradsq", "saliency with --set noise=squares"),
    ("vargrad", "saliency with --set noise=variance"),
    ("gradshap", "gradient_shap"),
    ("expectedgradients", "gradient_shap"),
    ("gradientexplainer", "gradient_shap"),
    ("deepexplainer", "deep_lift_shap"),
    ("deepshap", "deep_lift_shap"),
    ("layerwiserelevancepropagation", "lrp"),
    ("guidedbackpropagation", "guided_backprop"),
    ("deconvnet", "deconvolution"),
    ("rollout", "attention_rollout"),
    ("attentionweights", "attention"),
    ("attattr", "attention_attribution"),
    ("selfattentionattribution", "attention_attribution"),
    ("shap", "partition_shap"),
    ("explainer", "partition_shap"),
    ("partitionexplainer", "partition_shap"),
    ("owen", "partition_shap"),
    ("kernelexplainer", "kernel_shap"),
    ("permutationexplainer", "permutation_shap"),
    ("samplingexplainer", "permutation_shap"),
    ("shapleyvaluesampling", "permutation_shap"),
    ("exactexplainer", "exact_shap"),
    ("shapleyvalues", "exact_shap"),
    ("loo", "leave_one_out"),
    ("erasure", "leave_one_out"),
    ("ablation", "leave_one_out"),
    ("limetextexplainer", "lime"),
    ("limebase", "lime"),
    ("submodularpick", "sp_lime"),
    ("anchor", "anchors"),
    ("anchortext", "anchors"),
    ("universaltriggers", "triggers"),
    ("infidelity", "any method with --check deep"),
    ("sensitivitymax", "any method with --check deep"),
];

/// Names of tools are long and end alike: `TreeExplainer` is no slip for `DeepExplainer`.
const MOST_SLIPS: usize = 2;

/// The method that a name may stand for, in this tool's words or in another's, with what has to be set; none where nothing is near.
pub fn suggest_method(name: &str) -> Option<String> {
    let asked = spelled(name);
    let own = METHODS.iter().map(|info| (spelled(info.name), info.name));
    let known: Vec<(String, &str)> =
        own.chain(ELSEWHERE.iter().map(|&(name, here)| (name.to_owned(), here))).collect();
    let exact = |asked: &str| known.iter().find(|(name, _)| name == asked).map(|(_, here)| *here);
    if let Some(here) = exact(&asked) {
        return Some(here.to_owned());
    }
    // Captum has a class of its own for the same method at a layer and of a neuron.
    for (prefix, place) in [("layer", "--site layer.N.out"), ("neuron", "--target 'unit:SITE[pos,i]'")] {
        if let Some(here) = asked.strip_prefix(prefix).and_then(exact) {
            return Some(format!("{here} with {place}"));
        }
    }
    let near = nearest(&asked, known.iter().map(|(name, _)| name.as_str()))?;
    exact(near).map(str::to_owned)
}

/// The name that is a slip or two away from what was written, whatever its capitals, blanks and underscores; none where a third of
/// the letters differ.
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let asked = spelled(written);
    let distance = |name: &&str| strsim::damerau_levenshtein(&asked, &spelled(name));
    let (name, distance) =
        names.into_iter().map(|name| (name, distance(&name))).min_by_key(|(_, distance)| *distance)?;
    let letters = asked.chars().count().max(spelled(name).chars().count());
    (distance <= MOST_SLIPS && 3 * distance < letters).then_some(name)
}

/// Letters and digits alone, in lower case.
fn spelled(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ConfiguredMethod, Settings};

    #[test]
    fn names_of_other_tools_are_known() {
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(suggest_method(name).as_deref(), expected, "{name}");
        };
        for (name, here) in [
            ("IntegratedGradients", "integrated_gradients"),
            ("INTEGRATED-GRADIENTS", "integrated_gradients"),
            ("ig", "integrated_gradients"),
            ("shap", "partition_shap"),
            ("InputXGradient", "gradient_x_input"),
            ("input_x_gradient", "gradient_x_input"),
            ("sequential_integrated_gradients", "integrated_gradients with --set path=sequential"),
            ("smoothgrad", "saliency with --set noise=smooth"),
            ("NoiseTunnel", "saliency with --set noise=smooth"),
            ("GradCAM", "grad_cam"),
            ("LayerGradCam", "grad_cam with --site layer.N.out"),
            ("layer_gradient_x_activation", "gradient_x_input with --site layer.N.out"),
            ("NeuronGradient", "saliency with --target 'unit:SITE[pos,i]'"),
            ("DeepLiftShap", "deep_lift_shap"),
            ("LimeTextExplainer", "lime"),
            ("limes", "lime"),
            ("salliency", "saliency"),
            ("integratedgradeints", "integrated_gradients"),
            ("kernelexplaner", "kernel_shap"),
        ] {
            check(name, Some(here));
        }
        for name in ["magic", "", "x", "banana", "colour", "TreeExplainer", "LinearExplainer"] {
            check(name, None);
        }
    }

    /// What is suggested can be typed.
    #[test]
    fn every_suggestion_works() {
        for (name, here) in ELSEWHERE {
            assert_eq!(spelled(name), name);
            assert!(METHODS.iter().all(|info| spelled(info.name) != name), "{name} needs no line");
            let (method, rest) = here.split_once(" with ").unwrap_or((here, ""));
            let set: Vec<&str> = rest.strip_prefix("--set ").into_iter().collect();
            assert!(set.len() == 1 || ["", "--check deep"].contains(&rest), "{here}");
            if method != "any method" {
                ConfiguredMethod::new(method, Settings::parse(&set).unwrap()).unwrap();
            }
        }
    }

    #[test]
    fn a_third_of_the_letters_is_too_much() {
        let names = ["explain", "eval", "model info"];
        for (written, expected) in [
            ("explian", Some("explain")),
            ("EVAL", Some("eval")),
            ("model-inof", Some("model info")),
            ("eval1", Some("eval")),
            ("evil2", None),
            ("", None),
            ("predict", None),
        ] {
            assert_eq!(nearest(written, names), expected, "{written}");
        }
        assert_eq!(nearest("eval", []), None);
    }
}
