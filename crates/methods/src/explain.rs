use crate::evidence::{Evidence, Level, Scored};
use crate::job::Reduce;
use crate::noise::Tunnel;
use crate::registry::{Info, Method, find};
use crate::{Baseline, Explained, Job, Settings, story};
use exegete_core::report::{Attribution, Cell, Checks, Item, Subject, Table, TokenText, UnitText};
use exegete_core::{
    Driver, Encoded, Error, Example, Label, Model, Plan, Quantity, Result, Row, Scores, Site, SiteInfo,
    Target, Unit, Units, class_index,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What to explain and how.
pub struct Request {
    /// One or more, side by side.
    pub methods: Vec<Chosen>,
    /// One or more numbers to explain.
    pub targets: Vec<Target>,
    /// Explain this many of the most probable classes instead of the targets.
    pub top_labels: Option<usize>,
    /// Where the scores are taken; none for the story of all layers.
    pub site: Option<Site>,
    /// What scores are summed to.
    pub units: Units,
    /// What a text is compared with; several are averaged, and none means what each method takes by itself.
    pub baselines: Vec<Baseline>,
    /// How much evidence is gathered.
    pub check: Level,
    /// Of everything random.
    pub seed: u64,
}

/// A method with its parameters and what is done to its scores.
pub struct Chosen {
    /// Which.
    pub info: &'static Info,
    /// The method with its parameters.
    pub method: Box<dyn Method>,
    /// How a site's values become one a token, where the user says so.
    pub reduce: Option<Reduce>,
    /// What scores are divided by.
    pub normalise: Normalise,
}

/// What scores are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalise {
    /// Nothing.
    None,
    /// The sum of their sizes.
    L1,
    /// The largest size.
    Max,
}

impl Chosen {
    /// A method by name; every setting must be one that it knows.
    pub fn new(name: &str, settings: Settings) -> Result<Self> {
        let (chosen, rest) = Self::with_rest(name, settings)?;
        rest.finish(name)?;
        Ok(chosen)
    }

    /// Methods side by side under the same `key=value` words. `method.key=value` is for one of them; a bare key is for
    /// all that know it, and an error where none does.
    pub fn all<S: AsRef<str>>(names: &[S], words: &[S]) -> Result<Vec<Self>> {
        let belongs = |word: &str| names.iter().any(|name| word.starts_with(&format!("{}.", name.as_ref())));
        let shared: Vec<&str> = words.iter().map(AsRef::as_ref).filter(|word| !belongs(word)).collect();
        let mut unknown: Option<Vec<String>> = None;
        let (mut all, mut last) = (Vec::new(), None);
        for name in names.iter().map(AsRef::as_ref) {
            let own = words.iter().filter_map(|word| word.as_ref().strip_prefix(name)?.strip_prefix('.'));
            let own: Vec<&str> = own.collect();
            let given: Vec<&str> = shared.iter().copied().chain(own.iter().copied()).collect();
            let (chosen, rest) = Self::with_rest(name, Settings::parse(&given)?)?;
            let keys = rest.keys();
            if own.iter().any(|word| keys.iter().any(|key| word.starts_with(&format!("{key}=")))) {
                return rest.finish(name).map(|()| Vec::new());
            }
            unknown = Some(match unknown {
                None => keys,
                Some(before) => before.into_iter().filter(|key| keys.contains(key)).collect(),
            });
            all.push(chosen);
            last = Some((name, rest));
        }
        match (unknown.is_some_and(|keys| !keys.is_empty()), last) {
            (true, Some((name, rest))) => rest.finish(name).map(|()| Vec::new()),
            _ => Ok(all),
        }
    }

    fn with_rest(name: &str, mut settings: Settings) -> Result<(Self, Settings)> {
        let info = find(name)?;
        let reduce = settings.choice(
            "reduce",
            &[("own", None), ("sum", Some(Reduce::Sum)), ("l2", Some(Reduce::L2)), ("l1", Some(Reduce::L1))],
        )?;
        let normalise = settings.choice(
            "normalise",
            &[("none", Normalise::None), ("l1", Normalise::L1), ("max", Normalise::Max)],
        )?;
        let method = (info.new)(&mut settings)?;
        let method = Tunnel::around(method, &mut settings)?;
        Ok((Self { info, method, reduce, normalise }, settings))
    }

    /// The factor that normalises unit values.
    fn factor(&self, values: &[f64]) -> f64 {
        let size = match self.normalise {
            Normalise::None => return 1.0,
            Normalise::L1 => values.iter().map(|v| v.abs()).sum(),
            Normalise::Max => values.iter().fold(0.0, |top: f64, v| top.max(v.abs())),
        };
        if size > 0.0 { 1.0 / size } else { 1.0 }
    }

    fn params(&self, explained: &Explained, job: &Job<'_>) -> BTreeMap<String, serde_json::Value> {
        let mut params = self.method.params();
        let baselines: Vec<String> = job.baselines.iter().map(ToString::to_string).collect();
        if !self.method.baselines().is_empty() {
            params.insert("baselines".into(), baselines.into());
        }
        if let crate::Scores::Elements(_, own) = &explained.scores {
            params.insert("reduce".into(), self.reduce.unwrap_or(*own).name().into());
        }
        match self.normalise {
            Normalise::None => {}
            Normalise::L1 => drop(params.insert("normalise".into(), "l1".into())),
            Normalise::Max => drop(params.insert("normalise".into(), "max".into())),
        }
        params.extend(explained.found.clone());
        params
    }
}

/// Explains one example: an item for each target and method, in that order.
pub fn explain(
    model: &dyn Model,
    driver: &Driver,
    example: &Example,
    request: &Request,
) -> Result<Vec<Item>> {
    let asked = Asked::new(model, driver, example, request)?;
    let mut items = Vec::new();
    for target in asked.targets()? {
        let job = asked.job(target);
        let mut evidence = Evidence::new(&job, request.units, &asked.units);
        for chosen in &request.methods {
            let job = asked.with_baselines(&job, chosen);
            items.push(match request.site {
                None => story::tell(&asked, &job, chosen)?,
                Some(_) => asked.answer(&job, chosen, &mut evidence)?,
            });
        }
    }
    Ok(items)
}

/// A request about one example, with what the model says of it.
pub(crate) struct Asked<'a> {
    pub(crate) model: &'a dyn Model,
    pub(crate) driver: &'a Driver,
    pub(crate) request: &'a Request,
    pub(crate) encoded: Arc<Encoded>,
    pub(crate) units: Vec<Unit>,
    logits: exegete_core::Logits,
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
        let open = model.require_open()?;
        let encoded = Arc::new(open.encode(example)?);
        let mut logits = Vec::new();
        driver.passes(open, &[Row::new(encoded.clone())], &Plan::default(), &mut |_, pass| {
            logits.extend_from_slice(pass.logits());
            Ok(())
        })?;
        let logits = logits.pop().ok_or_else(|| Error::Model("the model ran no row".into()))?;
        let scores = open.scores(&encoded, &logits)?;
        let label = example.label.as_deref().map(|label| meant(model, label)).transpose()?;
        let units = request.units.of(&encoded);
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
                let target = |&index: &usize| Target::named_class(&classes[index].label, index);
                order.iter().take(count).map(target).collect()
            }
        };
        let open = self.model.require_open()?;
        let vocabulary = |piece: &str| open.token_id(piece);
        let resolve = |target: &Target| {
            target.resolve(self.model.card(), &self.encoded, &self.logits, self.label.as_ref(), &vocabulary)
        };
        asked.iter().map(resolve).collect()
    }

    pub(crate) fn job(&self, target: Target) -> Job<'a> {
        Job {
            model: self.model,
            driver: self.driver,
            row: Row::new(self.encoded.clone()),
            target,
            site: self.request.site.unwrap_or(Site::EmbedWord),
            baselines: self.request.baselines.clone(),
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
    pub(crate) fn subject(&self, job: &Job<'_>, chosen: &Chosen, explained: &Explained) -> Result<Subject> {
        let mut notes = Vec::new();
        if self.encoded.truncated {
            notes.push(format!("the text was cut to the {} tokens that the model reads", self.encoded.len()));
        }
        notes.extend(explained.notes.iter().cloned());
        // The prediction's own run says it already, unless the target lies inside the model.
        let value = match job.target.quantity {
            Quantity::Unit(..) => job.read(std::slice::from_ref(&job.row), &[])?.values[0],
            _ => job.target.value_of(job.card(), &self.logits)?,
        };
        Ok(Subject {
            method: chosen.info.name.to_owned(),
            params: chosen.params(explained, job),
            input: self.encoded.fields.clone(),
            prediction: (&self.scores).into(),
            target: job.target.to_string(),
            value,
            notes,
        })
    }

    fn answer(&self, job: &Job<'_>, chosen: &Chosen, evidence: &mut Evidence<'_>) -> Result<Item> {
        if chosen.method.own_site() && job.site != Site::EmbedWord {
            return Err(Error::Request(format!(
                "{} looks at attention, whatever the site; leave --site out",
                chosen.info.name
            )));
        }
        let explained = chosen.method.explain(job)?;
        let info = job.info(explained.site.unwrap_or(job.site))?;
        let subject = self.subject(job, chosen, &explained)?;
        let Some(tokens) = explained.tokens(&info, chosen.reduce) else {
            return Ok(Item::Table(units_of(&subject, &info, &explained)));
        };
        let values = sums(&self.units, &tokens);
        let checks = Checks { completeness: explained.completeness(&info), ..Checks::default() };
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
        let errors =
            explained.errors.as_deref().filter(|_| sums).map(|errors| joint_errors(&self.units, errors));
        let by = |values: Vec<f64>| values.into_iter().map(|v| factor * v).collect::<Vec<f64>>();
        Ok(Item::Attribution(Box::new(Attribution {
            subject,
            site: info.site.to_string(),
            tokens: TokenText::of(&self.encoded),
            token_values: by(tokens),
            units: UnitText::of(&self.encoded, &self.units),
            values: by(values),
            errors: by(errors.unwrap_or_default()),
            checks,
        })))
    }
}

/// What the user's label means to the model.
fn meant(model: &dyn Model, label: &str) -> Result<Label> {
    let card = model.card();
    if card.task == exegete_core::Task::Regression {
        let value = label.parse().map_err(|_| Error::Request(format!("the label '{label}' is no number")))?;
        return Ok(Label::Value(value));
    }
    let index = class_index(&card.labels, label).ok_or_else(|| {
        Error::Request(format!("'{label}' is no label of {}; one of {}", card.name, card.labels.join(", ")))
    })?;
    Ok(Label::Class(index))
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
fn units_of(subject: &Subject, info: &SiteInfo, explained: &Explained) -> Table {
    const MOST: usize = 50;
    let crate::Scores::Elements(values, _) = &explained.scores else {
        unreachable!("token scores have tokens")
    };
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values.data[b].abs().total_cmp(&values.data[a].abs()));
    let row = |&i: &usize| vec![Cell::Number(i as f64), Cell::Number(f64::from(values.data[i]))];
    let mut notes = subject.notes.clone();
    if let Some(completeness) = explained.completeness(info) {
        notes.push(format!(
            "all {} units sum to {:.6}, of a difference of {:.6} (gap {:.2} %)",
            values.len(),
            completeness.sum,
            completeness.difference,
            100.0 * completeness.gap
        ));
    }
    Table {
        title: format!("{} of {} at {}, strongest units first", subject.method, subject.target, info.site),
        columns: vec!["unit".into(), "score".into()],
        rows: order.iter().take(MOST).map(row).collect(),
        notes,
    }
}
