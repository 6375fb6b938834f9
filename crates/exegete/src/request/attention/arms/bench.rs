//! Where arms are trained and measured, one after the other; what is done is not done again.

use super::arm::Planned;
use super::base::{Base, Weighing, answers, texts_of};
use super::imposed::ImposedWeights;
use super::{ArmsRequest, TrainedArms};
use crate::methods::debate::training::chosen;
use crate::methods::debate::{Arm, ArmRecord, MeasuredTexts, Place, PlaceChoice, WeighedAnswers};
use crate::request::cost::duration;
use crate::request::identity::content;
use crate::request::train::{self, OtherGoal, OtherReading, TrainRequest};
use crate::request::{Listener, Notice, Resources, Stop, check_stop, model};
use crate::train::{AttentionSites, Data, Epoch, FixedAnswer, Metric, TrainingLoss, opposing};
use crate::{Driver, Encoded, Error, Example, Model, class_index, partial, sha256_hex};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Where arms are trained.
pub(super) struct Bench<'a> {
    asked: &'a ArmsRequest,
    base: Base,
    driver: Driver,
    /// The tested model and every arm that is done.
    records: Vec<ArmRecord>,
    /// What the tested model says of the rows that are measured.
    own: WeighedAnswers,
    texts: MeasuredTexts,
    /// The dev rows that are measured.
    measured: Vec<usize>,
    /// What makes two runs the same beside the request of an arm.
    contents: String,
    progress: ArmsProgress,
    warned: BTreeSet<String>,
}

/// How far the arms are.
struct ArmsProgress {
    planned: usize,
    done: usize,
    /// How many of these were trained now, and since when.
    trained: usize,
    started: Instant,
}

/// A record as it lies beside the folder of its model.
#[derive(Serialize, Deserialize)]
struct StoredArm {
    /// The SHA-256 of everything that makes it what it is.
    run: String,
    record: ArmRecord,
}

impl<'a> Bench<'a> {
    /// Measures the tested model itself.
    pub(super) fn new(asked: &'a ArmsRequest, base: Base, planned: usize, stop: &Stop) -> Result<Self> {
        let mut driver = Driver::new(asked.resources.memory());
        driver.stop = stop.clone();
        fs::create_dir_all(&asked.work)
            .with_context(|| format!("{}: cannot be made", asked.work.display()))?;
        let measured = long_enough(asked, &base)?;
        let gold = measured.iter().map(|&row| base.texts.dev[row].1).collect();
        let texts = MeasuredTexts { gold, positive: positive(&base) };
        let examples: Vec<Example> = measured.iter().map(|&row| base.texts.dev[row].0.clone()).collect();
        let own = answers(&*base.model, &driver, &base.place, &examples, Weighing::Own)?;
        let records = vec![ArmRecord::of((Arm::Base, base.request.seed, None), &own, &own, &texts)];
        let (train, dev) = (content(&asked.train)?, content(&asked.dev)?);
        let contents = format!("{} {train} {dev} {}", base.model.card().fingerprint, asked.min_words);
        let progress = ArmsProgress { planned, done: 0, trained: 0, started: Instant::now() };
        let warned = BTreeSet::new();
        Ok(Self { asked, base, driver, records, own, texts, measured, contents, progress, warned })
    }

    /// What all of it comes to.
    pub(super) fn done(self) -> TrainedArms {
        let gone = self.base.texts.dev.len() - self.measured.len();
        let least = self.asked.min_words;
        let left_out = format!(
            "{gone} of {} dev rows left out: fewer than {least} words, or one that is weighed",
            self.base.texts.dev.len()
        );
        let notes = if gone > 0 { vec![left_out] } else { Vec::new() };
        TrainedArms { records: self.records, alpha: self.own.alpha, notes }
    }

    /// Adversaries of every λ with one seed, then of the λ that stands for all with some more.
    pub(super) fn adversaries(&mut self, first: u64, more: &[u64], tell: Listener<'_>) -> Result<()> {
        let fixed = Arc::new(self.base.fixed(&self.driver)?);
        for &lambda in &self.asked.lambdas {
            self.adversary(&fixed, first, lambda, tell)?;
        }
        let lambda = chosen(&self.records).and_then(|record| record.lambda);
        lambda.map_or(Ok(()), |lambda| {
            more.iter().try_for_each(|&seed| self.adversary(&fixed, seed, lambda, tell))
        })
    }

    fn adversary(
        &mut self,
        fixed: &Arc<HashMap<Vec<String>, FixedAnswer>>,
        seed: u64,
        lambda: f64,
        tell: Listener<'_>,
    ) -> Result<()> {
        let (place, against) = (self.base.place.clone(), self.base.model.card().fingerprint.clone());
        let fixed = fixed.clone();
        let loss = move |model: &dyn Model, _: &Data| away_from(&fixed, &place, model, &against, lambda);
        let goal = OtherGoal { metric: Some(Metric::TrainLoss), loss: &loss };
        self.train(&Planned::adversary(seed, lambda), Some(&goal), tell)
    }

    /// Models without context, under the weights of each source.
    pub(super) fn guides(&mut self, seeds: &[u64], tell: Listener<'_>) -> Result<()> {
        let rows = self.base.texts.train.len();
        let file = |name: &str, lists| ImposedWeights::write(&self.asked.work, name, lists, rows);
        let own = self.base.weights_of(&*self.base.model, &self.driver, &self.base.place)?;
        let mut sources = vec![
            (Arm::GuideUniform, Some(file("uniform", self.base.equal())?)),
            (Arm::GuideTrained, None),
            (Arm::GuideBase, Some(file("base", own)?)),
        ];
        if let Some(adversary) = chosen(&self.records) {
            let planned =
                Planned { lambda: adversary.lambda, ..Planned::new(Arm::Adversarial, adversary.seed) };
            let other = model::open(Some(&self.folder(&planned)), self.asked.resources.threads())?;
            let place = Place::find(&*other, &self.asked.choice)?;
            let lists = self.base.weights_of(&*other, &self.driver, &place)?;
            sources.push((Arm::GuideAdversary, Some(file("adversary", lists)?)));
        }
        for (arm, weights) in &sources {
            for &seed in seeds {
                self.train(&Planned::guide(*arm, seed, weights.as_ref()), None, tell)?;
            }
        }
        Ok(())
    }

    /// Trains one arm, measures it and keeps the record, unless that is there already.
    pub(super) fn train(
        &mut self,
        planned: &Planned<'_>,
        goal: Option<&OtherGoal<'_>>,
        tell: Listener<'_>,
    ) -> Result<()> {
        check_stop(&self.driver.stop)?;
        let folder = self.folder(planned);
        let request = planned.request(&self.base.request, self.asked, &folder);
        let run = self.identity(planned, &request)?;
        let path = folder.with_extension("json");
        let record = match stored(&path, &run, &folder) {
            Some(record) => record,
            None => {
                self.progress.tell(planned, tell);
                if self.given(planned).is_none() {
                    self.fit(planned, &request, goal, tell)?;
                }
                let record = self.measure(planned, &folder)?;
                let text = serde_json::to_string(&StoredArm { run, record: record.clone() })?;
                partial::write(&path, text.as_bytes())
                    .with_context(|| format!("{}: cannot be written", path.display()))?;
                self.progress.trained += 1;
                record
            }
        };
        self.progress.done += 1;
        self.records.push(record);
        Ok(())
    }

    /// The folder of a model that is there already.
    fn given(&self, planned: &Planned<'_>) -> Option<&PathBuf> {
        let after = planned.seed.checked_sub(self.base.request.seed)?.checked_sub(1)?;
        self.asked.again.get(usize::try_from(after).ok()?).filter(|_| planned.arm == Arm::Base)
    }

    fn folder(&self, planned: &Planned<'_>) -> PathBuf {
        if let Some(given) = self.given(planned) {
            return given.clone();
        }
        // A dot of a λ would be taken for an extension.
        self.asked.work.join(planned.name().replace('.', "_"))
    }

    /// By which weights the model of an arm reads: equal ones are part of a small model, and put into a transformer.
    fn weighing(&self, planned: &Planned<'_>) -> Weighing {
        match planned.arm {
            Arm::Uniform if self.base.place.is_transformer() => Weighing::Equal,
            _ => Weighing::Own,
        }
    }

    fn fit(
        &mut self,
        planned: &Planned<'_>,
        request: &TrainRequest,
        goal: Option<&OtherGoal<'_>>,
        tell: Listener<'_>,
    ) -> Result<()> {
        let weighing = self.weighing(planned);
        let warned = &mut self.warned;
        // Every arm would say the same of the same rows.
        let mut told = |notice: Notice<'_>| match notice {
            Notice::Warning(text) if warned.insert(text.to_owned()) => tell(notice),
            Notice::Training(_) => tell(notice),
            _ => {}
        };
        let stop = &self.driver.stop;
        match (goal, weighing) {
            (Some(goal), _) => train::run_with(request, goal, stop, &mut told),
            (None, Weighing::Equal) => evenly(request, &self.asked.choice, stop, &mut told),
            (None, Weighing::Own) => train::run(request, stop, &mut told),
        }?;
        Ok(())
    }

    /// Holds a trained model against the tested one.
    fn measure(&self, planned: &Planned<'_>, folder: &Path) -> Result<ArmRecord> {
        let model = model::open(Some(folder), self.asked.resources.threads())?;
        let guide = planned.arm.experiment() == crate::methods::debate::Experiment::Guide;
        let choice = if guide { PlaceChoice::default() } else { self.asked.choice.clone() };
        let place = Place::find(&*model, &choice)?;
        let example = |&row: &usize| {
            let (example, _) = &self.base.texts.dev[row];
            planned.weights.map_or_else(|| example.clone(), |weights| weights.give(row, example))
        };
        let examples: Vec<Example> = self.measured.iter().map(example).collect();
        let found = answers(&*model, &self.driver, &place, &examples, self.weighing(planned))?;
        let key = (planned.arm, planned.seed, planned.lambda);
        Ok(ArmRecord::of(key, &self.own, &found, &self.texts))
    }

    /// What makes an arm what it is: how it is trained, on what, and beside which model.
    fn identity(&self, planned: &Planned<'_>, request: &TrainRequest) -> Result<String> {
        let mut asked = request.clone();
        (asked.output, asked.resources, asked.train, asked.dev) =
            (None, Resources::default(), Vec::new(), None);
        let weights = asked.small.weights.take().map(|path| content(&path)).transpose()?;
        let asked = serde_json::to_string(&asked)?;
        let place = (self.weighing(planned), &self.asked.choice);
        let own = format!("{asked} {weights:?} {:?} {place:?} {}", planned.lambda, env!("CARGO_PKG_VERSION"));
        Ok(sha256_hex(format!("{} {own}", self.contents).as_bytes()))
    }
}

/// The dev rows that have words enough.
fn long_enough(asked: &ArmsRequest, base: &Base) -> Result<Vec<usize>> {
    let mut measured = Vec::new();
    for (row, (example, _)) in base.texts.dev.iter().enumerate() {
        let parts = base.place.parts(&base.model.encoded(example)?);
        if parts.words >= asked.min_words && parts.names.len() > 1 {
            measured.push(row);
        }
    }
    if measured.is_empty() {
        let (dev, least, all) = (asked.dev.display(), asked.min_words, base.texts.dev.len());
        bail!("{dev}: no row is left: none of {all} has {least} words; lower --min-words");
    }
    Ok(measured)
}

/// The class of F1, where there are two: the one that the model was trained for, else the last.
fn positive(base: &Base) -> Option<usize> {
    let labels = &base.model.card().labels;
    let named = base.request.positive.as_deref().and_then(|name| class_index(labels, name));
    (labels.len() == 2).then(|| named.unwrap_or(1))
}

impl ArmsProgress {
    /// Says what is trained now, and how long the rest will take.
    fn tell(&self, planned: &Planned<'_>, tell: Listener<'_>) {
        let each = self.started.elapsed().as_secs_f64() / self.trained.max(1) as f64;
        let left = (self.planned - self.done) as f64 * each;
        let left = if self.trained > 0 { format!(", about {} left", duration(left)) } else { String::new() };
        let (at, of) = (self.done + 1, self.planned);
        tell(Notice::Note(&format!("training model {at} of {of}: {}{left}", planned.said())));
    }
}

/// The record of an earlier run, where it is of the same arm and its model is still there.
fn stored(path: &Path, run: &str, folder: &Path) -> Option<ArmRecord> {
    let stored: StoredArm = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
    (stored.run == run && folder.join("model.safetensors").exists()).then_some(stored.record)
}

/// Trains as a request says, with equal weights in the rows that are tested whenever the model reads a text.
fn evenly(
    request: &TrainRequest,
    choice: &PlaceChoice,
    stop: &Stop,
    tell: Listener<'_>,
) -> Result<Vec<Epoch>> {
    let loss = |model: &dyn Model, _: &Data| {
        let site = Place::find(model, choice)?.site;
        Ok(TrainingLoss { name: format!("equal weights at {site}, {choice:?}"), ..TrainingLoss::default() })
    };
    let edits = |model: &dyn Model, encoded: &Encoded| {
        let place = Place::find(model, choice)?;
        Ok(vec![place.evened(encoded, &place.parts(encoded))])
    };
    let goal = OtherGoal { metric: None, loss: &loss };
    let reading = OtherReading { reduction: None, edits: Some(&edits) };
    train::run_reading(request, &goal, &reading, stop, tell)
}

/// What an adversary makes small.
fn away_from(
    fixed: &Arc<HashMap<Vec<String>, FixedAnswer>>,
    place: &Place,
    model: &dyn Model,
    against: &str,
    lambda: f64,
) -> Result<TrainingLoss> {
    let Some(scores) = place.scores(model) else {
        bail!("{} has no scores behind its weights", model.card().name)
    };
    let (sites, fixed) = (AttentionSites { scores, probs: place.site }, fixed.clone());
    let losses = move |forward: &mut crate::train::Forward<'_, f32>| {
        let of = |row: &crate::Row| {
            let found = fixed.get(&texts_of(&row.encoded));
            found.ok_or_else(|| Error::Request("a text that the tested model did not answer".into()))
        };
        let own = forward.rows.iter().map(of).collect::<crate::Result<Vec<_>>>()?;
        opposing(forward, sites, lambda, &own)
    };
    let name = format!("lambda {lambda} against {}", against.get(..12).unwrap_or(against));
    Ok(TrainingLoss { name, reads: vec![scores, place.site], losses: Box::new(losses) })
}
