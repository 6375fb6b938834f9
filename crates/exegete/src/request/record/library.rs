//! The requests of reports that the library makes: those of the program, as far as they can say what was asked.

use super::super::explain::{ExplainCheck, ExplainRequest};
use super::super::{HidingOptions, TextInput};
use crate::methods::evidence::Level;
use crate::methods::{Masker, Request, SiteChoice, default_method};
use crate::report::RecordedRequest;
use crate::{Example, Model, Target};
use std::collections::BTreeSet;

/// The request with which `exegete explain --again --model …` repeats the report; the model has no name here that could be
/// opened. None where the program cannot be asked this: words to draw from that came from no file, a target with an
/// answer of its own, one method twice, more than two texts.
pub(crate) fn of_library(model: &dyn Model, example: &Example, asked: &Request) -> Option<RecordedRequest> {
    let Request { methods, masker, targets, top_labels, site, units, baselines, check, seed } = asked;
    let names: Vec<&str> = methods.iter().map(|chosen| chosen.info.name).collect();
    let own = [default_method(model.open().is_some())];
    let names: &[&str] = if names.is_empty() { &own } else { &names };
    let is_one = names.iter().collect::<BTreeSet<_>>().len() == names.len();
    let said = is_one
        && example.fields.len() <= 2
        // To the program a dash is the standard input.
        && example.fields.iter().all(|field| field.text != "-")
        && !matches!(masker, Some(Masker::Sampled(_)))
        && targets.iter().all(|target| target.to_string().parse::<Target>().is_ok_and(|read| read == *target));
    let set = methods.iter().flat_map(|chosen| {
        let name = chosen.info.name;
        chosen.set.iter().map(move |word| format!("{name}.{word}"))
    });
    let baselines: Vec<String> = baselines.iter().map(ToString::to_string).collect();
    let request = ExplainRequest {
        texts: TextInput::default(),
        method: Some(names.iter().map(ToString::to_string).collect()),
        target: targets.iter().map(ToString::to_string).collect(),
        top_labels: *top_labels,
        site: match site {
            SiteChoice::Words => ExplainRequest::default().site,
            SiteChoice::AllLayers => "all-layers".to_owned(),
            SiteChoice::At(site) => site.to_string(),
        },
        units: units.to_string(),
        set: set.collect(),
        baseline: (!baselines.is_empty()).then_some(baselines),
        hiding: HidingOptions {
            masker: masker.as_ref().map(ToString::to_string),
            ..HidingOptions::default()
        },
        check: match check {
            Level::None => ExplainCheck::None,
            Level::Default => ExplainCheck::Default,
            Level::Deep => ExplainCheck::Deep,
        },
        seed: *seed,
        ..ExplainRequest::default()
    };
    said.then(|| super::recorded("explain", &request.about(example), Vec::new())).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::{Baseline, ConfiguredMethod};
    use crate::{Label, LoadOptions, Quantity, Units, load_default};
    use serde_json::json;

    fn recorded(example: &Example, asked: &Request) -> Option<RecordedRequest> {
        of_library(&*load_default(&LoadOptions::default()).unwrap(), example, asked)
    }

    #[test]
    fn everything_that_was_asked_is_said() {
        let asked = Request {
            methods: ConfiguredMethod::all(&["lrp", "saliency"], &["lrp.rule=gamma", "saliency.reduce=l1"])
                .unwrap(),
            targets: vec!["class:positive:prob".parse().unwrap()],
            site: SiteChoice::At("layer.1.out".parse().unwrap()),
            units: Units::Token,
            baselines: vec![Baseline::Mask, Baseline::Text("so so".into())],
            masker: Some(Masker::Pad),
            check: Level::Deep,
            seed: 7,
            ..Request::default()
        };
        let fields = recorded(&Example::pair("a", "b"), &asked).unwrap().fields;
        for (name, value) in [
            ("text", json!("a")),
            ("pair", json!("b")),
            ("method", json!(["lrp", "saliency"])),
            ("set", json!(["lrp.rule=gamma", "saliency.reduce=l1"])),
            ("target", json!(["class:positive:prob"])),
            ("site", json!("layer.1.out")),
            ("units", json!("token")),
            ("baseline", json!(["mask", "text:so so"])),
            ("masker", json!("pad")),
            ("check", json!("deep")),
            ("seed", json!(7)),
            ("model", json!(null)),
        ] {
            assert_eq!(fields[name], value, "{name}");
        }
        let plain = recorded(&Example::text("a"), &Request::default()).unwrap().fields;
        assert_eq!(
            (&plain["method"], &plain["site"]),
            (&json!(["integrated_gradients"]), &json!("embed.word"))
        );
    }

    #[test]
    fn what_the_program_cannot_be_asked_is_not_said() {
        let text = Example::text("a");
        let twice = ConfiguredMethod::all(&["lime", "lime"], &[]).unwrap();
        let labelled = Target { quantity: Quantity::Loss(Some(Label::Class(0))), scale: None };
        assert!(recorded(&text, &Request { methods: twice, ..Request::default() }).is_none());
        assert!(recorded(&text, &Request { targets: vec![labelled], ..Request::default() }).is_none());
        assert!(recorded(&Example::text("-"), &Request::default()).is_none());
    }
}
