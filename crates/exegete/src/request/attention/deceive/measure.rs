//! What trained models come to: accuracy and mass, what notices the deception, and maps.

use super::AttentionDeceiveRequest;
use super::arms::{Arm, edits};
use super::rows::DeceiveRows;
use crate::methods::compare::Text;
use crate::methods::debate::{Experiment, Measuring, Place, PlaceChoice, TestedText, TextRecord, measure};
use crate::methods::deceive::{HiddenPlace, Masses, Measurements, Restricted, seeded_order};
use crate::methods::{ConfiguredMethod, Request, Settings, judge};
use crate::request::{Listener, Notice, Stop, check_stop};
use crate::train::{Sample, evaluate};
use crate::{Driver, Example, Label, LoadOptions, Model, Precision, Row, class_index};
use anyhow::{Context, Result};
use std::path::Path;
use std::sync::Arc;

/// One line of the table of arms.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ArmResult {
    pub(super) arm: &'static str,
    pub(super) lambda: Option<f64>,
    pub(super) seed: u64,
    /// The share of rows, of sequences of places, that are answered rightly.
    pub(super) accuracy: f64,
    /// The mean weight of impermissible words; none where there is no attention, or none of them.
    pub(super) mass: Option<f64>,
    /// The same of the head that shows most.
    pub(super) largest: Option<f64>,
    /// How many rows have both kinds of words.
    pub(super) rows: usize,
}

/// A trained model as it is asked.
pub(super) struct TrainedArm {
    pub(super) arm: Arm,
    pub(super) model: Arc<dyn Model>,
    pub(super) driver: Driver,
}

impl TrainedArm {
    /// Opens the model of a folder.
    pub(super) fn open(
        request: &AttentionDeceiveRequest,
        arm: Arm,
        folder: &Path,
        rows: &DeceiveRows,
        stop: &Stop,
    ) -> Result<Self> {
        let options = LoadOptions { precision: Precision::F32, threads: request.resources.threads() };
        let opened = crate::load(folder, &options)?;
        let model: Arc<dyn Model> = match request.restricted {
            true => Arc::new(Restricted::new(opened, rows.words.clone())?),
            false => opened,
        };
        let mut driver = Driver::new(request.resources.memory());
        driver.stop = stop.clone();
        Ok(Self { arm, model, driver })
    }

    /// Accuracy and mass on rows; with `zeroed`, after the weight of impermissible words was shared among the others.
    pub(super) fn result(
        &self,
        request: &AttentionDeceiveRequest,
        examples: &[Example],
        rows: &DeceiveRows,
        zeroed: bool,
    ) -> Result<ArmResult> {
        let place = HiddenPlace::find(&*self.model).ok();
        // The model restricts itself; what is left is what else the arm does.
        let plain = AttentionDeceiveRequest { restricted: false, ..request.clone() };
        let sample = |example: &Example| -> Result<Sample> {
            let encoded = self.model.encoded(example)?;
            let mut row = Row::new(encoded);
            row.edits = edits(&plain, self.arm, &rows.words, &*self.model, &row.encoded)?;
            if let Some(place) = place.filter(|_| zeroed) {
                row.edits.extend(place.zeroed(&row.encoded, &rows.words)?);
            }
            Ok(Sample { label: label(&*self.model, example, &row)?, row })
        };
        let samples = examples.iter().map(sample).collect::<Result<Vec<Sample>>>()?;
        let found = evaluate(&*self.model, &samples, request.resources.memory())?;
        let masses = match place {
            Some(place) => {
                let rows_of: Vec<Row> = samples.iter().map(|sample| sample.row.clone()).collect();
                self.driver.read_all(&*self.model, &rows_of, &Masses { place, words: &rows.words })?
            }
            None => Vec::new(),
        };
        let masses: Vec<_> = masses.into_iter().flatten().collect();
        let mean = |of: fn(&crate::methods::deceive::TextMass) -> f64| {
            (!masses.is_empty()).then(|| masses.iter().map(of).sum::<f64>() / masses.len() as f64)
        };
        Ok(ArmResult {
            arm: if zeroed { "zeroed" } else { self.arm.name() },
            lambda: self.arm.lambda(),
            seed: self.arm.seed,
            accuracy: found.accuracy.unwrap_or(f64::NAN),
            mass: mean(|mass| mass.mean),
            largest: mean(|mass| mass.largest),
            rows: masses.len(),
        })
    }
}

/// The right answer to a row.
fn label(model: &dyn Model, example: &Example, row: &Row) -> Result<Label> {
    let Some(given) = &example.label else {
        let written = row.encoded.tokens.iter().filter(|token| token.type_id == 1);
        return Ok(Label::Tokens(written.map(|token| Some(token.id as usize)).collect()));
    };
    let labels = &model.card().labels;
    let class = class_index(labels, given.trim());
    let class = class.with_context(|| format!("the label '{given}' is none of {}", labels.join(", ")))?;
    Ok(Label::Class(class))
}

/// How many texts are looked at more closely, where nobody says.
const CLOSER_TEXTS: usize = 100;
/// The same of a transformer, which runs for every other weight.
const CLOSER_TEXTS_OF_TRANSFORMER: usize = 20;
/// Texts of fewer words are not looked at: there is too little to rank.
const LEAST_WORDS: usize = 6;

/// The texts that are looked at more closely: drawn among those with both kinds of words.
pub(super) fn closer(
    request: &AttentionDeceiveRequest,
    model: &dyn Model,
    rows: &DeceiveRows,
) -> Result<Vec<Example>> {
    let place = HiddenPlace::find(model)?;
    let usual = if place.is_transformer() { CLOSER_TEXTS_OF_TRANSFORMER } else { CLOSER_TEXTS };
    let most = request.texts.unwrap_or(usual);
    let mut found = Vec::new();
    for at in seeded_order(rows.dev.len(), request.seed, 1) {
        if found.len() == most {
            break;
        }
        let encoded = model.encoded(&rows.dev[at])?;
        if !place.rows(&encoded, &rows.words).is_empty() {
            found.push(rows.dev[at].clone());
        }
    }
    Ok(found)
}

/// What the card and the experiments measure of a model's attention as an explanation.
pub(super) fn measurements(
    request: &AttentionDeceiveRequest,
    trained: &TrainedArm,
    texts: &[Example],
    tell: Listener<'_>,
) -> Result<Measurements> {
    let TrainedArm { model, driver, arm } = trained;
    let methods = vec![ConfiguredMethod::new("attention", Settings::default())?];
    let asked = Request { methods, seed: arm.seed, ..Request::default() };
    let (mut cards, mut records): (Vec<Text>, Vec<TextRecord>) = (Vec::new(), Vec::new());
    let place = Place::find(&**model, &PlaceChoice::default())?;
    let experiments: Vec<Experiment> =
        Experiment::ALL.into_iter().filter(|known| runs(*known, place.is_transformer())).collect();
    let threads = request.resources.count();
    let measuring = Measuring {
        model: &**model,
        driver,
        place: &place,
        experiments: &experiments,
        seed: arm.seed,
        threads,
    };
    for (number, example) in texts.iter().enumerate() {
        check_stop(&driver.stop)?;
        tell(Notice::Texts(number, texts.len()));
        cards.push(judge(&**model, driver, example, &asked, &[], number as u64)?);
        let encoded = Arc::new(model.encoded(example)?);
        let parts = place.parts(&encoded);
        if parts.words >= LEAST_WORDS {
            records.extend(measure(&measuring, &[TestedText { number: number as u64, encoded, parts }])?);
        }
    }
    Ok(Measurements::of(&cards, &records))
}

/// The experiments that are run: for a transformer not those that run it thousands of times a text.
fn runs(experiment: Experiment, transformer: bool) -> bool {
    let often = matches!(experiment, Experiment::Permutation | Experiment::Adversary);
    !(experiment.trains() || transformer && often)
}
