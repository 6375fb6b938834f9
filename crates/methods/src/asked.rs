use crate::evidence::{Evidence, Scored};
use crate::job::{INPUT, Reduce};
use crate::registry::{Finder, Info};
use crate::{Chosen, Explained, Job, Normalise, Request};
use exegete_core::report::{
    Attribution, Cell, Checks, Completeness, Item, Subject, Table, TokenText, UnitText,
};
use exegete_core::task::Reading;
use exegete_core::{
    Driver, Encoded, Error, Example, Label, Logits, Model, Outputs, Result, Row, Rules, Scale, Scores, Site,
    Target, Unit,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A request about one example, with what the model says of it.
pub(crate) struct Asked<'a> {
    pub(crate) model: &'a dyn Model,
    pub(crate) driver: &'a Driver,
    pub(crate) request: &'a Request,
    pub(crate) encoded: Arc<Encoded>,
    pub(crate) units: Arc<[Unit]>,
    logits: Logits,
    scores: Scores,
    label: Option<Label>,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(
        model: &'a dyn Model,
        driver: &'a Driver,
        example: &Example,
        request: &'a Request,
    ) -> Result<Self> {
        let encoded = Arc::new(model.encoded(example)?);
        let logits = driver.read_all(model, &[Row::new(encoded.clone())], &Outputs)?.swap_remove(0);
        let scores = model.scored(&encoded, &logits)?;
        let label =
            example.label.as_deref().map(|label| model.card().task.meant(model.card(), label)).transpose()?;
        let units = request.units.of(&encoded).into();
        Ok(Self { model, driver, request, encoded, units, logits, scores, label })
    }

    /// The targets, resolved against the prediction.
    pub(crate) fn targets(&self) -> Result<Vec<Target>> {
        let asked = match self.request.top_labels {
            None => self.request.targets.clone(),
            Some(count) => {
                let (Scores::Classes(classes) | Scores::Labels(classes)) = &self.scores else {
                    return Err(Error::Unsupported(format!(
                        "{} has no labels to take the most probable of",
                        self.model.card().name
                    )));
                };
                let mut order: Vec<usize> = (0..classes.len()).collect();
                order.sort_by(|&a, &b| classes[b].prob.total_cmp(&classes[a].prob));
                let target = |&index: &usize| Target {
                    scale: None,
                    ..Target::named_class(&classes[index].label, index)
                };
                order.iter().take(count).map(target).collect()
            }
        };
        let (card, open) = (self.model.card(), self.model.open());
        let reading = Reading { card, encoded: &self.encoded, logits: &self.logits, vocabulary: &open };
        let resolve =
            |target: &Target| readable(self.model, target)?.resolve_in(&reading, self.label.as_ref());
        asked.iter().map(resolve).collect()
    }

    pub(crate) fn job(&self, target: Target) -> Job<'a> {
        Job {
            model: self.model,
            driver: self.driver,
            row: Row::new(self.encoded.clone()),
            target,
            site: self.request.site.site(self.model),
            baselines: self.request.baselines.clone(),
            units: self.units.clone(),
            masker: self.request.masker.clone(),
            seed: self.request.seed,
        }
    }

    /// The same question with the baselines of a method, where the user gave none: those of them that the model has.
    pub(crate) fn with_baselines(&self, job: &Job<'a>, chosen: &Chosen) -> Job<'a> {
        let mut job = job.clone();
        if let (true, Ok(open)) = (job.baselines.is_empty(), self.model.require_open()) {
            let own = chosen.method.baselines().iter().cloned();
            job.baselines = own.filter(|baseline| baseline.row(open, &self.encoded).is_ok()).collect();
        }
        job
    }

    /// What an item is about.
    pub(crate) fn subject(
        &self,
        job: &Job<'_>,
        info: &Info,
        params: BTreeMap<String, serde_json::Value>,
        more: &[String],
    ) -> Result<Subject> {
        let mut notes = Vec::new();
        if self.encoded.truncated {
            notes.push(format!("the text was cut to the {} tokens that the model reads", self.encoded.len()));
        }
        notes.extend_from_slice(more);
        // The prediction's own run says it already, unless the target lies inside the model.
        let value = match job.target.is_unit() {
            true => job.read_own(&[], &[], Rules::Gradient)?.value,
            false => job.target.value_of(job.card(), &self.logits)?,
        };
        Ok(Subject {
            method: info.name.to_owned(),
            params,
            input: self.encoded.fields.clone(),
            prediction: (&self.scores).into(),
            target: job.target.to_string(),
            value,
            notes,
        })
    }

    pub(crate) fn found(&self, job: &Job<'_>, info: &Info, finder: &dyn Finder) -> Result<Item> {
        if !self.request.site.is_words(self.model) {
            return Err(Error::Request(format!(
                "{} changes the text, whatever the site; leave --site out",
                info.name
            )));
        }
        finder.find(job, self.subject(job, info, finder.params(), &[])?)
    }

    pub(crate) fn answer(&self, job: &Job<'_>, chosen: &Chosen, evidence: &mut Evidence<'_>) -> Result<Item> {
        let job = &self.with_baselines(job, chosen);
        if chosen.method.own_site() && !self.request.site.is_words(self.model) {
            return Err(Error::Request(format!(
                "{} has a place of its own; leave --site out",
                chosen.info.name
            )));
        }
        let explained = chosen.method.explain(job)?;
        let site = explained.info(job)?.map(|info| info.site);
        let params = chosen.params(&explained, job);
        let subject = self.subject(job, chosen.info, params, &explained.notes)?;
        let completeness = explained.completeness(job)?;
        let Some(tokens) = explained.tokens(job, chosen.reduce)? else {
            return Ok(Item::Table(units_of(&subject, site, &explained, completeness)));
        };
        let values = sums(&self.units, &tokens);
        let checks = Checks { completeness, ..Checks::default() };
        let checks = evidence.check(
            self.request.check,
            &Scored::of(job, chosen, &explained, &values, &tokens),
            checks,
        )?;
        let factor = chosen.factor(&values);
        let mut subject = subject;
        if chosen.normalise != Normalise::None {
            subject.params.insert("normalised_by".into(), (1.0 / factor).into());
        }
        let sums = chosen.reduce.is_none_or(|reduce| reduce == Reduce::Sum);
        let errors = explained.errors.as_deref().filter(|_| sums).map(|errors| match explained.scores {
            crate::Scores::Units(_) => errors.to_vec(),
            _ => joint_errors(&self.units, errors),
        });
        let by = |values: Vec<f64>| values.into_iter().map(|v| factor * v).collect::<Vec<f64>>();
        Ok(Item::Attribution(Box::new(Attribution {
            subject,
            site: site.unwrap_or(INPUT).to_string(),
            tokens: TokenText::of(&self.encoded),
            token_values: by(tokens),
            units: UnitText::of(&self.encoded, &self.units),
            values: by(values),
            errors: by(errors.unwrap_or_default()),
            checks,
        })))
    }
}

/// A black box gives probabilities, so its targets are read as these.
fn readable(model: &dyn Model, target: &Target) -> Result<Target> {
    if model.open().is_some() || !model.card().task.gives_probabilities() {
        return Ok(target.clone());
    }
    match target.scale {
        _ if target.is_unit() => model.require_open().map(|_| target.clone()),
        Some(Scale::Logit) => Err(Error::Unsupported(format!(
            "{} gives probabilities and no logits; use :prob or :logprob",
            model.card().name
        ))),
        scale => Ok(Target { scale: scale.or(Some(Scale::Prob)), ..target.clone() }),
    }
}

/// The sum of each unit's tokens.
pub(crate) fn sums(units: &[Unit], tokens: &[f64]) -> Vec<f64> {
    units.iter().map(|unit| unit.tokens.iter().map(|&token| tokens[token]).sum()).collect()
}

/// The standard error of each unit, as if its tokens erred independently.
fn joint_errors(units: &[Unit], errors: &[f64]) -> Vec<f64> {
    let joint = |unit: &Unit| unit.tokens.iter().map(|&token| errors[token].powi(2)).sum::<f64>().sqrt();
    units.iter().map(joint).collect()
}

/// A site without tokens has units only: the strongest of them, as a table.
fn units_of(
    subject: &Subject,
    site: Option<Site>,
    explained: &Explained,
    completeness: Option<Completeness>,
) -> Table {
    const MOST: usize = 50;
    let crate::Scores::Elements(values, _) = &explained.scores else {
        unreachable!("token scores have tokens")
    };
    let site = site.unwrap_or(INPUT).to_string();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values.data[b].abs().total_cmp(&values.data[a].abs()));
    let row = |&i: &usize| vec![Cell::Number(i as f64), Cell::Number(f64::from(values.data[i]))];
    let mut notes = subject.notes.clone();
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
    }
}
