//! Options that would change nothing: they are refused, so that nobody takes an answer for another one.

use super::eval::EvalRequest;
use super::explain::{ExplainCheck, ExplainRequest};
use super::{HidingOptions, TextInput, model};
use crate::methods::{ConfiguredMethod, Kind, Method, Needs, Request, SiteChoice, Unread};
use anyhow::{Result, bail};

/// An error where an option of `explain` would say nothing.
pub(super) fn of_explain(request: &ExplainRequest, asked: &Request) -> Result<()> {
    let surveys = asked.methods.iter().any(|chosen| matches!(chosen.kind, Kind::Surveys(_)));
    let reads_labels = surveys && !asked.methods.iter().all(|chosen| says_nothing(chosen, Unread::Labels));
    if !reads_labels {
        labels(&[("--label", &request.label), ("--label-column", &request.texts.label_column)], asked)?;
    }
    if surveys && request.label.is_some() {
        bail!("--label is for one text, and these methods look at many; name a column with --label-column");
    }
    pair(&request.texts, request.model.as_deref())?;
    unread(request, asked)?;
    baselines(asked)?;
    let checked = request.check != ExplainCheck::None && asked.site != SiteChoice::AllLayers && !surveys;
    hiding(&request.hiding, asked, checked)?;
    if !surveys {
        return Ok(());
    }
    let names = named(&asked.methods);
    let site = asked.site != SiteChoice::Words;
    for (option, given) in [("--top-labels", asked.top_labels.is_some()), ("--site", site)] {
        if given {
            bail!(
                "{option} is for methods that explain one text; {names} looks at many together, so leave it out"
            );
        }
    }
    Ok(())
}

/// What is given and none of the methods reads.
fn unread(request: &ExplainRequest, asked: &Request) -> Result<()> {
    let (usual, deep) = (ExplainRequest::default(), request.check == ExplainCheck::Deep);
    let check = if deep { "--check deep" } else { "--check none" };
    // Searches have evidence of their own, which comes with them: to ask for none says what it says elsewhere.
    let surveys = asked.methods.iter().all(|chosen| matches!(chosen.kind, Kind::Surveys(_)));
    let given = [
        ("--target", Unread::Target, request.target != usual.target),
        ("--units", Unread::Units, request.units != usual.units),
        ("--masker", Unread::Hiding, request.hiding.masker.is_some()),
        ("--words", Unread::Hiding, request.hiding.words.is_some()),
        (check, Unread::Evidence, deep || surveys && request.check == ExplainCheck::None),
        ("--held-out", Unread::HeldOut, request.held_out.is_some()),
        ("--cache", Unread::Answers, request.hiding.cache.is_some()),
    ];
    for (option, part, _) in given.into_iter().filter(|(_, _, given)| *given) {
        if asked.methods.iter().all(|chosen| says_nothing(chosen, part)) {
            bail!("{option} says nothing to {}; leave it out", named(&asked.methods));
        }
    }
    let without_units = matches!(request.site.as_str(), "all-layers" | "pooled");
    if without_units && request.units != usual.units {
        bail!(
            "--units sums the scores of a text's tokens, and --site {} gives none of units; leave one of them out",
            request.site
        );
    }
    if deep && asked.site == SiteChoice::AllLayers {
        bail!(
            "--check deep is for scores at one site; with --site all-layers only sums are checked, so leave it out"
        );
    }
    Ok(())
}

fn says_nothing(chosen: &ConfiguredMethod, part: Unread) -> bool {
    chosen.kind.unread().contains(&part)
}

/// An error where one of these options of `explain` was written, though it says what is usual, and no method reads it.
pub(super) fn written(request: &ExplainRequest, asked: &Request, options: &[&str]) -> Result<()> {
    let reads_site = |chosen: &ConfiguredMethod| match &chosen.kind {
        Kind::Scores(method) => chosen.info.needs == Needs::Inside && !method.own_site(),
        _ => false,
    };
    // What was written otherwise is told with its value.
    let usual = ExplainRequest::default();
    let is_usual = |option: &str| match option {
        "site" => request.site == usual.site,
        "target" => request.target == usual.target,
        "units" => request.units == usual.units,
        _ => request.check == usual.check,
    };
    for option in options.iter().filter(|option| is_usual(option)) {
        let unread = match *option {
            "site" => !asked.methods.iter().any(reads_site),
            "target" => asked.methods.iter().all(|chosen| says_nothing(chosen, Unread::Target)),
            "units" => {
                matches!(request.site.as_str(), "all-layers" | "pooled")
                    || asked.methods.iter().all(|chosen| says_nothing(chosen, Unread::Units))
            }
            "check" => {
                let surveys = |chosen: &ConfiguredMethod| matches!(chosen.kind, Kind::Surveys(_));
                asked.methods.iter().all(|chosen| surveys(chosen) && says_nothing(chosen, Unread::Evidence))
            }
            _ => false,
        };
        if unread {
            bail!("--{option} says nothing to {}; leave it out", named(&asked.methods));
        }
    }
    Ok(())
}

/// An error where an option of `eval` would say nothing.
pub(super) fn of_eval(request: &EvalRequest, asked: &Request) -> Result<()> {
    labels(&[("--label-column", &request.label_column)], asked)?;
    let texts = TextInput { pair_column: request.pair_column.clone(), ..TextInput::default() };
    pair(&texts, request.model.as_deref())?;
    if asked.methods.is_empty() {
        for (option, given) in
            [("--set", !request.set.is_empty()), ("--baseline", request.baseline.is_some())]
        {
            if given {
                bail!(
                    "{option} is for --methods, and only explanations made elsewhere are compared here; leave it out"
                );
            }
        }
    }
    baselines(asked)
}

/// A label says what the loss is measured against, and nothing else.
fn labels(given: &[(&str, &Option<String>)], asked: &Request) -> Result<()> {
    let loss = asked.top_labels.is_none() && asked.targets.iter().any(crate::Target::is_loss);
    match given.iter().find(|(_, label)| label.is_some()) {
        Some((option, _)) if !loss => {
            bail!("{option} is for --target loss, and {} is explained here; leave it out", targets(asked))
        }
        _ => Ok(()),
    }
}

fn targets(asked: &Request) -> String {
    match asked.top_labels {
        Some(_) => "each of the most probable labels".to_owned(),
        None => asked.targets.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// The model that is part of the program was made of single texts, and a second one says nothing to it.
fn pair(texts: &TextInput, named: Option<&std::path::Path>) -> Result<()> {
    let option = if texts.pair.is_some() { "--pair" } else { "--pair-column" };
    match texts.pairs() && model::is_default(named) {
        true => bail!(
            "the model that is part of the program reads one text; {option} needs a model for pairs, given with --model"
        ),
        false => Ok(()),
    }
}

/// The same where only predictions are asked for.
pub(super) fn of_predict(texts: &TextInput, named: Option<&std::path::Path>) -> Result<()> {
    pair(texts, named)
}

fn baselines(asked: &Request) -> Result<()> {
    if asked.baselines.is_empty() || asked.methods.iter().any(|chosen| !chosen.baselines().is_empty()) {
        return Ok(());
    }
    let names = named(&asked.methods);
    bail!(
        "--baseline is for methods that compare a text with one, such as integrated_gradients; {names} compares with none, so leave it out"
    )
}

/// What hides words: methods that need no more than predictions, and the evidence.
fn hiding(given: &HidingOptions, asked: &Request, checked: bool) -> Result<()> {
    let option = match (&given.masker, &given.words) {
        (Some(_), _) => "--masker",
        (None, Some(_)) => "--words",
        (None, None) => return Ok(()),
    };
    if checked || asked.methods.iter().any(|chosen| chosen.info.needs == Needs::Predictions) {
        return Ok(());
    }
    bail!(
        "{option} says how words are hidden, and {} hides none without evidence; leave it out",
        named(&asked.methods)
    )
}

fn named(methods: &[ConfiguredMethod]) -> String {
    methods.iter().map(|chosen| chosen.info.name).collect::<Vec<_>>().join(", ")
}
