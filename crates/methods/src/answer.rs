//! From what a method found to an item of a report.

use crate::cost::afford;
use crate::evidence::{Evidence, Level};
use crate::question::{INPUT, words_or_input};
use crate::registry::{Info, Method, SearchMethod};
use crate::rounding::{ALL_ZERO, are_zero};
use crate::{ConfiguredMethod, Normalise, PerturbedPredictions, Question, RawAttribution, RawScores};
use exegete_core::report::{
    Attribution, Cell, Checks, Completeness, Item, ReluSwap, Sense, Subject, Table, TokenText, UnitText,
};
use exegete_core::{Error, Result, Rules, Site};
use std::collections::{BTreeMap, HashSet};

/// The scores of a method with their evidence, and what the method puts behind them.
pub(crate) fn all(
    job: &Question<'_>,
    chosen: &ConfiguredMethod,
    evidence: &mut Evidence<'_>,
    level: Level,
) -> Result<Vec<Item>> {
    let (item, explained) = with_scores(job, chosen, evidence, level)?;
    let more = match &item {
        Item::Attribution(own) => {
            let mut subject = Subject { notes: Vec::new(), ..own.subject.clone() };
            // What stands beside scores is as it was computed.
            subject.params.remove(NORMALISED);
            chosen.beside(job, &explained, subject)?
        }
        _ => Vec::new(),
    };
    Ok(std::iter::once(item).chain(more).collect())
}

/// The scores of a method with their evidence.
pub(crate) fn attribution(
    job: &Question<'_>,
    chosen: &ConfiguredMethod,
    evidence: &mut Evidence<'_>,
    level: Level,
) -> Result<Item> {
    Ok(with_scores(job, chosen, evidence, level)?.0)
}

/// The parameter that says by how much scores were divided.
const NORMALISED: &str = "normalised_by";

/// The same with the scores as the method gave them.
fn with_scores(
    job: &Question<'_>,
    chosen: &ConfiguredMethod,
    evidence: &mut Evidence<'_>,
    level: Level,
) -> Result<(Item, RawAttribution)> {
    if chosen.own_site() && job.site != words_or_input(job.model) {
        return Err(Error::Request(format!("{} has a place of its own; leave --site out", chosen.info.name)));
    }
    let explained = chosen.explain(job)?;
    let site = explained.info(job)?.map(|info| info.site);
    let mut subject = subject_of(job, chosen, &explained)?;
    let completeness = explained.completeness(job)?;
    let (Some(tokens), Some(values)) = (explained.tokens(job)?, explained.units(job)?) else {
        return Ok((Item::Table(units_of(&subject, site, &explained, completeness)), explained));
    };
    let checks = Checks { completeness, swap: explained.swap.clone(), ..Checks::default() };
    let checks = evidence.check(level, &explained, Some(chosen), checks)?;
    let baseline_value = baseline_value(job, chosen, &explained, subject.value)?;
    // Without a card the same floor holds.
    let hidden = baseline_value.filter(|_| chosen.baselines().is_empty());
    let nothing = match &checks.verdict {
        Some(verdict) => verdict.says_zero(),
        None => !values.is_empty() && are_zero(&values, hidden.into_iter().chain([subject.value])),
    };
    subject.notes.extend((nothing && checks.verdict.is_none()).then(|| ALL_ZERO.to_owned()));
    let factor = chosen.factor(&values);
    if chosen.normalise != Normalise::None {
        subject.params.insert(NORMALISED.into(), (1.0 / factor).into());
    }
    // Rounding is no score, however it is scaled.
    let scaled = |v: f64| if nothing { 0.0 } else { factor * v };
    let by = |values: Vec<f64>| values.into_iter().map(scaled).collect::<Vec<f64>>();
    let item = Item::Attribution(Box::new(Attribution {
        subject,
        site: site.unwrap_or(INPUT).to_string(),
        tokens: TokenText::of(job.encoded()),
        token_values: by(tokens),
        units: UnitText::of(job.encoded(), &job.units),
        values: by(values),
        errors: by(explained.unit_errors(job).filter(|_| !nothing).unwrap_or_default()),
        baseline_value,
        checks,
    }));
    Ok((item, explained))
}

/// F at what a method compares the text with; none where it compares with nothing.
fn baseline_value(
    job: &Question<'_>,
    chosen: &ConfiguredMethod,
    explained: &RawAttribution,
    value: f64,
) -> Result<Option<f64>> {
    if !chosen.baselines().is_empty() {
        // A claim is F minus F at the baselines.
        if let Some(claim) = explained.claim.as_ref().filter(|claim| claim.bias.is_none()) {
            return Ok(Some(value - claim.difference));
        }
        let job = job.with_baselines_of(chosen);
        let found = job.read(&job.baseline_rows()?, &[], &[])?;
        let sum: f64 = found.iter().map(|found| found.value).sum();
        return Ok((!found.is_empty()).then(|| sum / found.len() as f64));
    }
    if explained.asked.as_ref().is_none_or(HashSet::is_empty) {
        return Ok(None);
    }
    let everything = (0..job.units.len()).collect();
    let mut masked = PerturbedPredictions::new(job);
    if !masked.can_hide(&everything) {
        return Ok(None);
    }
    let hidden = masked.outcomes(&[everything])?;
    Ok(hidden.first().map(|outcome| outcome.value))
}

/// What a search finds.
pub(crate) fn found(job: &Question<'_>, info: &Info, method: &dyn SearchMethod) -> Result<Item> {
    let units = job.units.len();
    afford(info, method.most_rows(units), units, job.driver.memory_bytes)?;
    method.find(job, subject(job, info, method.params(), &[])?)
}

/// What the scores of a method are about.
pub(crate) fn subject_of(
    job: &Question<'_>,
    chosen: &ConfiguredMethod,
    explained: &RawAttribution,
) -> Result<Subject> {
    let params = chosen.reported(explained, &job.with_baselines_of(chosen));
    Ok(Subject { sense: explained.sense(), ..subject(job, chosen.info, params, &explained.notes)? })
}

fn subject(
    job: &Question<'_>,
    info: &Info,
    params: BTreeMap<String, serde_json::Value>,
    more: &[String],
) -> Result<Subject> {
    let (encoded, output) = (job.encoded(), job.output()?);
    let mut notes = Vec::new();
    if encoded.truncated {
        notes.push(format!("the text was cut to the {} tokens that the model reads", encoded.len()));
    }
    match encoded.unknown() {
        0 => {}
        1 => notes
            .push("1 token of the text stands for a word that the model's vocabulary does not hold".into()),
        n => notes.push(format!(
            "{n} tokens of the text stand for words that the model's vocabulary does not hold"
        )),
    }
    notes.extend_from_slice(more);
    // The prediction's own run says it already, unless the target lies inside the model.
    let value = match job.target.is_neuron() {
        true => job.read_own(&[], &[], Rules::Gradient)?.value,
        false => job.target.value_of(job.card(), &output)?,
    };
    Ok(Subject {
        method: info.name.to_owned(),
        params,
        input: encoded.fields.clone(),
        prediction: job.model.scored(encoded, &output)?,
        target: job.target.to_string(),
        value,
        sense: Sense::default(),
        notes,
    })
}

/// A site without tokens has units only: the strongest of them, as a table.
fn units_of(
    subject: &Subject,
    site: Option<Site>,
    explained: &RawAttribution,
    completeness: Option<Completeness>,
) -> Table {
    const MOST: usize = 50;
    let RawScores::Elements(values, _) = &explained.scores else { unreachable!("token scores have tokens") };
    let site = site.unwrap_or(INPUT).to_string();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values.data[b].abs().total_cmp(&values.data[a].abs()));
    let row = |&i: &usize| vec![Cell::Number(i as f64), Cell::Number(f64::from(values.data[i]))];
    let mut notes = subject.notes.clone();
    notes.extend(explained.swap.as_ref().map(ReluSwap::sentence));
    if let Some(completeness) = completeness {
        notes.push(format!(
            "all {} units sum to {:.6}, of a difference of {:.6} (gap {:.2} %)",
            values.len(),
            completeness.sum,
            completeness.difference,
            100.0 * completeness.gap
        ));
    }
    Table {
        title: format!("{} of {} at {site}, strongest units first", subject.method, subject.target),
        columns: vec!["unit".into(), "score".into()],
        rows: order.iter().take(MOST).map(row).collect(),
        notes,
        ..Table::default()
    }
}
