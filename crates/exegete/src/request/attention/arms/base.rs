//! The tested model: how it was trained, and what it says and weighs.

use super::ArmsRequest;
use crate::methods::debate::distance::softmax;
use crate::methods::debate::look::look_under;
use crate::methods::debate::{Experiment, Place, TestedText, WeighedAnswers};
use crate::request::train::{self, TrainLoss, TrainRequest, TrainingTexts};
use crate::request::{Stop, check_stop, model};
use crate::train::FixedAnswer;
use crate::{Array, Driver, Encoded, Example, Model, Pass, Plan, Readout, Row, Site};
use anyhow::{Context, Result, bail};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// How many texts run together.
const CHUNK_TEXTS: usize = 256;

/// A tested model with the rows that others are trained on beside it.
pub(super) struct Base {
    pub(super) model: Arc<dyn Model>,
    pub(super) place: Place,
    /// How it was trained, on the rows of now and with its own classes.
    pub(super) request: TrainRequest,
    pub(super) texts: TrainingTexts,
}

impl Base {
    pub(super) fn open(asked: &ArmsRequest, stop: &Stop) -> Result<Self> {
        let recorded = recorded(&asked.model)?;
        let model = model::open(Some(&asked.model), asked.resources.threads())?;
        let place = Place::find(&*model, &asked.choice)?;
        let request = TrainRequest {
            train: vec![asked.train.clone()],
            // Without rows to choose by, the model is that of its last epoch, and so are the others.
            keep: if recorded.dev.is_none() { train::TrainKeep::Last } else { recorded.keep },
            dev: Some(asked.dev.clone()),
            labels: Some(model.card().labels.clone()),
            resources: asked.resources,
            output: None,
            overwrite: true,
            ..recorded
        };
        check_stop(stop)?;
        let texts = train::texts(&request)?;
        for (path, rows) in [(&asked.train, &texts.train), (&asked.dev, &texts.dev)] {
            if let Some((_, first)) = rows.first()
                && rows.iter().all(|(_, class)| class == first)
            {
                let label = &model.card().labels[*first];
                bail!("{}: every row has the label '{label}'; training needs two classes", path.display());
            }
        }
        Ok(Self { model, place, request, texts })
    }

    /// Why an experiment cannot be had, if so.
    pub(super) fn refused(&self, experiment: Experiment) -> Option<String> {
        cannot(experiment, &self.request, &*self.model, &self.place)
    }

    /// What it says and weighs of every training row, by the row's texts.
    pub(super) fn fixed(&self, driver: &Driver) -> Result<HashMap<Vec<String>, FixedAnswer>> {
        let Some(scores) = self.place.scores(&*self.model) else {
            bail!("{} has no scores behind its weights", self.model.card().name)
        };
        let mut fixed = HashMap::new();
        for chunk in self.texts.train.chunks(CHUNK_TEXTS) {
            let encoded = chunk.iter().map(|(example, _)| Ok(Arc::new(self.model.encoded(example)?)));
            let rows: Vec<Row> = encoded.map(|encoded| encoded.map(Row::new)).collect::<Result<_>>()?;
            let found = driver.read_all(&*self.model, &rows, &Logarithms { scores })?;
            fixed.extend(rows.iter().map(|row| texts_of(&row.encoded)).zip(found));
        }
        Ok(fixed)
    }
}

/// What tells a row from others: the texts of its fields.
pub(super) fn texts_of(encoded: &Encoded) -> Vec<String> {
    encoded.fields.iter().map(|field| field.text.clone()).collect()
}

/// Reads probabilities and the logarithms of weights, which are those of the scores' softmax.
struct Logarithms {
    scores: Site,
}

impl Readout for Logarithms {
    type Value = FixedAnswer;

    fn plan(&self) -> Plan {
        Plan::keep([self.scores])
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> crate::Result<Vec<FixedAnswer>> {
        let read = |row: usize| {
            let Array { data, .. } = pass.value(self.scores, row)?;
            let scores: Vec<f64> = data.iter().map(|&score| f64::from(score)).collect();
            let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let log_sum = top + scores.iter().map(|score| (score - top).exp()).sum::<f64>().ln();
            let log_alpha = scores.iter().map(|score| score - log_sum).collect();
            Ok(FixedAnswer { probabilities: softmax(&pass.logits()[row].data), log_alpha })
        };
        (0..rows.len()).map(read).collect()
    }
}

/// By which weights a model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weighing {
    /// Those that it works out.
    Own,
    /// The same for every word, put in the place of its own.
    Equal,
}

/// What a model says of examples, and the weights from which it says so.
pub(super) fn answers(
    model: &dyn Model,
    driver: &Driver,
    place: &Place,
    examples: &[Example],
    own: Weighing,
) -> Result<WeighedAnswers> {
    let mut found = WeighedAnswers::default();
    for chunk in examples.chunks(CHUNK_TEXTS) {
        let text = |example: &Example| {
            let encoded = Arc::new(model.encoded(example)?);
            let parts = place.parts(&encoded);
            Ok(TestedText { number: 0, encoded, parts })
        };
        let texts = chunk.iter().map(text).collect::<Result<Vec<_>>>()?;
        let edits = texts.iter().map(|text| match own {
            Weighing::Own => Vec::new(),
            Weighing::Equal => vec![place.evened(&text.encoded, &text.parts)],
        });
        for seen in look_under(model, driver, place, &texts, edits.collect(), false)? {
            found.probabilities.push(softmax(&seen.logits));
            found.alpha.push(seen.alpha);
        }
    }
    Ok(found)
}

/// Why models cannot be trained beside this one for an experiment, if so.
pub(crate) fn refused(
    experiment: Experiment,
    folder: Option<&Path>,
    model: &dyn Model,
    place: &Place,
) -> Option<String> {
    let Some(folder) = folder else {
        return Some("nothing says how the model that is part of the program was trained".to_owned());
    };
    match recorded(folder) {
        Ok(request) => cannot(experiment, &request, model, place),
        Err(error) => Some(format!("{error:#}")),
    }
}

fn cannot(
    experiment: Experiment,
    request: &TrainRequest,
    model: &dyn Model,
    place: &Place,
) -> Option<String> {
    let small = request.small.kind.is_some();
    let imposed = request.small.weights.is_some();
    let learned = place.scores(model).is_some();
    let sentences = place.noun() == "sentences";
    let reason = match experiment {
        _ if request.loss != TrainLoss::CrossEntropy => "its rows have more or less than one class each",
        _ if imposed => "its weights come from outside",
        Experiment::AdversarialTraining if !small => "it is defined for small models, not for transformers",
        Experiment::Uniform | Experiment::AdversarialTraining if small && !learned => {
            "its weights are not learned"
        }
        Experiment::Guide if sentences => "its weights are of sentences, and a guide takes those of words",
        _ => return None,
    };
    Some(reason.to_owned())
}

/// How the model of a folder was trained.
fn recorded(folder: &Path) -> Result<TrainRequest> {
    let path = folder.join("training.json");
    let what =
        || format!("{}: says not how the model was trained; train it with `exegete train`", path.display());
    if !path.exists() {
        bail!("{}: holds no training.json, which says how the model was trained", folder.display());
    }
    let text = fs::read_to_string(&path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let mut report: serde_json::Value = serde_json::from_str(&text).with_context(what)?;
    serde_json::from_value(report["request"].take()).map_err(|_| anyhow::anyhow!(what()))
}
