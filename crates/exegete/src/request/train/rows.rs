//! The rows of a training run: read whole and checked, with file and line, before any work begins.

use super::{TrainLoss, TrainRequest};
use crate::request::input::{BadRows, TextReader, WeightLines};
use crate::request::{Listener, Notice, TextInput, model, normal_form};
use crate::small::SEQUENCE_TO_SEQUENCE;
use crate::task::{CLASSIFICATION, Classes, MULTI_LABEL, REGRESSION};
use crate::train::{Data, Sample, Trainer};
use crate::{Example, Label, Task, class_index};
use anyhow::{Result, bail};
use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

/// The rows that were read, and what their labels are.
pub(super) struct Rows {
    pub(super) train: Vec<Labelled>,
    pub(super) dev: Vec<Labelled>,
    pub(super) labels: Vec<String>,
    pub(super) task: &'static dyn Task,
}

/// One row with its right answer.
pub(super) struct Labelled {
    pub(super) example: Example,
    label: Label,
    place: RowOrigin,
}

/// Where a row comes from.
#[derive(Clone)]
struct RowOrigin {
    file: Arc<str>,
    line: usize,
}

impl RowOrigin {
    fn error(&self, what: impl std::fmt::Display) -> anyhow::Error {
        anyhow::anyhow!("{}: line {}: {what}", self.file, self.line)
    }
}

impl Rows {
    /// Reads every file, finds out what the labels are, and checks each row against them.
    pub(super) fn read(request: &TrainRequest) -> Result<Self> {
        let task: &'static dyn Task = match request.loss {
            _ if request.small.writes() => &SEQUENCE_TO_SEQUENCE,
            TrainLoss::CrossEntropy | TrainLoss::Soft => &CLASSIFICATION,
            TrainLoss::MultiLabel => &MULTI_LABEL,
            TrainLoss::Regression => &REGRESSION,
        };
        let mut train = Vec::new();
        for path in &request.train {
            train.extend(read(request, path, true)?);
        }
        let dev = request.dev.as_deref().map(|path| read(request, path, true));
        let mut dev = dev.transpose()?.unwrap_or_default();
        weigh(request, [&mut train, &mut dev])?;
        let labels = labels(request, task, &train)?;
        let labelled = |rows: Vec<(Example, RowOrigin)>| {
            let mut bad = BadRows::default();
            let mut good = Vec::new();
            for (example, place) in rows {
                let given = example.label.as_deref().unwrap_or_default();
                // What should be written is the second text, whose tokens the trainer makes the label.
                let written = request.small.writes().then(|| Ok(Label::Tokens(Vec::new())));
                match written.unwrap_or_else(|| parse(request.loss, &labels, given.trim())) {
                    Ok(label) => good.push(Labelled { example, label, place }),
                    Err(what) => bad.add(&place.file, place.error(what)),
                }
            }
            bad.none().map(|()| good)
        };
        Ok(Self { train: labelled(train)?, dev: labelled(dev)?, labels, task })
    }

    /// Takes out the training rows whose text occurs in one of the files to exclude; how many.
    pub(super) fn exclude(&mut self, request: &TrainRequest, tell: Listener<'_>) -> Result<usize> {
        let mut forbidden = HashSet::new();
        for path in &request.exclude {
            forbidden.extend(read(request, path, false)?.iter().map(|(example, _)| normal_form(example)));
        }
        let before = self.train.len();
        self.train.retain(|row| !forbidden.contains(&normal_form(&row.example)));
        let gone = before - self.train.len();
        if !request.exclude.is_empty() {
            let what = format!("left out {gone} of {before} training rows that occur in an excluded file");
            tell(Notice::Note(&what));
        }
        if self.train.is_empty() {
            bail!("no training rows are left");
        }
        Ok(gone)
    }

    /// A measured text that was also learned from flatters the figure.
    pub(super) fn warn_of_leaks(&self, request: &TrainRequest, tell: Listener<'_>) {
        let learned: HashSet<String> = self.train.iter().map(|row| normal_form(&row.example)).collect();
        let both = self.dev.iter().filter(|row| learned.contains(&normal_form(&row.example))).count();
        if let (Some(dev), true) = (&request.dev, both > 0) {
            let (rows, dev) = (self.dev.len(), dev.display());
            tell(Notice::Warning(&format!(
                "{both} of {rows} rows of {dev} are also training rows; --exclude {dev} leaves them out"
            )));
        }
    }

    /// How many training rows have each class.
    pub(super) fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.labels.len()];
        for row in &self.train {
            if let Label::Class(class) = row.label {
                counts[class] += 1;
            }
        }
        counts
    }

    /// How many texts a row has.
    pub(super) fn text_fields(&self) -> Option<usize> {
        self.train.iter().map(|row| row.example.fields.len()).max()
    }

    /// The rows as the model reads them.
    pub(super) fn data(&self, trainer: &Trainer) -> Result<Data> {
        type Encode = fn(&Trainer, &Example, Label) -> crate::Result<Sample>;
        let samples = |rows: &[Labelled], encode: Encode| {
            let one = |row: &Labelled| {
                let sample = encode(trainer, &row.example, row.label.clone());
                sample.map_err(|error| row.place.error(error))
            };
            rows.iter().map(one).collect::<Result<Vec<_>>>()
        };
        Ok(Data {
            train: samples(&self.train, Trainer::sample)?,
            dev: samples(&self.dev, Trainer::measured)?,
        })
    }
}

/// Each row with its class.
pub(super) fn by_class(rows: Vec<Labelled>) -> Result<Vec<(Example, usize)>> {
    let one = |row: Labelled| match row.label {
        Label::Class(class) => Ok((row.example, class)),
        _ => Err(row.place.error("has more or less than one class")),
    };
    rows.into_iter().map(one).collect()
}

/// The rows with their attention from outside, where it is given: the training rows' first.
fn weigh(request: &TrainRequest, files: [&mut Vec<(Example, RowOrigin)>; 2]) -> Result<()> {
    let Some(path) = request.small.weights.as_deref() else { return Ok(()) };
    let mut weights = WeightLines::open(path)?;
    for (example, _) in files.into_iter().flatten() {
        *example = weights.give(std::mem::replace(example, Example::text("")))?;
    }
    weights.finish()
}

/// Every row of a file.
fn read(request: &TrainRequest, path: &Path, with_label: bool) -> Result<Vec<(Example, RowOrigin)>> {
    let writes = request.small.writes();
    let [source, target] = if request.no_header { ["1", "2"] } else { SEQUENCE_TO_SEQUENCE.fields() };
    // Texts to leave out may stand one a line, which has no columns.
    let plain = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("txt"));
    let or =
        |asked: &Option<String>, default: &str| asked.clone().or_else(|| writes.then(|| default.to_owned()));
    let texts = TextInput {
        input: Some(path.to_owned()),
        text_column: or(&request.text_column, source).filter(|_| !plain),
        pair_column: or(&request.pair_column, target).filter(|_| !plain),
        label_column: (with_label && !writes).then(|| label_column(request).to_owned()),
        no_header: request.no_header && !plain,
        delimiter: request.delimiter.clone().filter(|_| !plain),
        ..TextInput::default()
    };
    if plain && with_label {
        bail!(
            "{}: a .txt file has no labels and no targets; give a .tsv, .csv or .jsonl file",
            path.display()
        );
    }
    let task: &dyn Task = if writes { &SEQUENCE_TO_SEQUENCE } else { &CLASSIFICATION };
    let mut source = TextReader::open(&texts, task)?;
    let file: Arc<str> = source.name().into();
    let rows = source.whole(None, None)?;
    if rows.is_empty() {
        bail!("{file}: holds no rows");
    }
    let placed = |(line, example)| (example, RowOrigin { file: file.clone(), line });
    Ok(rows.into_iter().map(placed).collect())
}

/// The column that holds the label.
fn label_column(request: &TrainRequest) -> &str {
    let default = if request.no_header { TextInput::LAST_COLUMN } else { "label" };
    request.label_column.as_deref().unwrap_or(default)
}

/// The classes: those on the command line, else the model's own where they cover the data, else those found.
fn labels(request: &TrainRequest, task: &dyn Task, train: &[(Example, RowOrigin)]) -> Result<Vec<String>> {
    if request.small.writes() {
        return Ok(Vec::new());
    }
    let given: Vec<String> = request.labels.iter().flatten().map(|label| label.trim().to_owned()).collect();
    if !task.gives_probabilities() {
        return match &given[..] {
            [] => Ok(vec!["value".to_owned()]),
            [one] => Ok(vec![one.clone()]),
            _ => bail!("a regression has one output, --labels names {}", given.len()),
        };
    }
    let own = own_labels(request);
    if !given.is_empty() {
        if let Some(twice) = (1..given.len()).find(|&i| given[..i].contains(&given[i])) {
            bail!("the label '{}' is named twice", given[twice]);
        }
        if let Some(own) = own.filter(|own| *own != given && own.len() == given.len())
            && own.iter().all(|label| given.contains(label))
        {
            bail!("--labels names the model's own labels in another order; its head has {}", own.join(","));
        }
        return Ok(given);
    }
    let mut found = BTreeSet::new();
    let mut count = 0;
    for (example, place) in train {
        let label = example.label.as_deref().unwrap_or_default().trim();
        if request.loss == TrainLoss::CrossEntropy {
            found.insert(label.to_owned());
        } else {
            let parts = split(label).map_err(|what| place.error(what))?;
            count = count.max(parts.len());
            found.extend(parts);
        }
    }
    if request.loss == TrainLoss::Soft {
        return Ok(own.filter(|own| own.len() == count).unwrap_or_else(|| numbered(count)));
    }
    if let Some(own) = own.filter(|own| found.iter().all(|name| own.contains(name))) {
        return Ok(own);
    }
    sorted(found.into_iter().filter(|name| !name.is_empty()).collect(), request, task)
}

/// Names in their order, numbers in theirs: 10 comes after 9.
fn sorted(mut found: Vec<String>, request: &TrainRequest, task: &dyn Task) -> Result<Vec<String>> {
    if found.iter().all(|name| name.parse::<f64>().is_ok()) {
        found.sort_by(|a, b| f64::total_cmp(&a.parse().unwrap_or(0.0), &b.parse().unwrap_or(0.0)));
    }
    match found.len() {
        0 => bail!("there are no labels in column '{}'", label_column(request)),
        1 if task.least_labels() > 1 => bail!(
            "every row has the label '{}'; a classifier needs at least two classes, or --loss regression",
            found[0]
        ),
        _ => Ok(found),
    }
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|class| class.to_string()).collect()
}

/// The classes of the model to start from, where it is a classifier.
fn own_labels(request: &TrainRequest) -> Option<Vec<String>> {
    if request.small.kind.is_some() {
        return None;
    }
    let own = model::open(request.model.as_deref(), 1).ok()?;
    let classifies = own.card().task.classes() != Classes::None;
    (classifies && !request.from_scratch).then(|| own.card().labels.clone())
}

/// One row's label, or what is wrong with it.
fn parse(loss: TrainLoss, labels: &[String], given: &str) -> Result<Label, String> {
    let known = || labels.join(", ");
    let class = |name: &str| {
        class_index(labels, name).ok_or_else(|| format!("the label '{name}' is none of {}", known()))
    };
    let number = |text: &str| {
        let number = text.trim().parse::<f32>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| format!("'{text}' is not a number"))
    };
    match loss {
        TrainLoss::CrossEntropy if given.is_empty() => Err("the label is empty".to_owned()),
        TrainLoss::CrossEntropy => class(given).map(Label::Class),
        TrainLoss::Regression => number(given).map(Label::Value),
        TrainLoss::MultiLabel => {
            let mut targets = vec![0.0; labels.len()];
            for name in split(given)? {
                targets[class(&name)?] = 1.0;
            }
            Ok(Label::Labels(targets))
        }
        TrainLoss::Soft => {
            let shares = split(given)?.iter().map(|part| number(part)).collect::<Result<Vec<f32>, _>>()?;
            let sum: f32 = shares.iter().sum();
            if shares.len() != labels.len() {
                return Err(format!("{} shares for the {} classes {}", shares.len(), labels.len(), known()));
            }
            if (sum - 1.0).abs() > 1e-3 || shares.iter().any(|&share| share < 0.0) {
                return Err(format!("the shares {given} are no distribution: they sum to {sum}"));
            }
            Ok(Label::Soft(shares))
        }
    }
}

/// Several values in one field: separated by |, or a JSON list.
fn split(given: &str) -> Result<Vec<String>, String> {
    if given.trim_start().starts_with('[') {
        let list: Vec<serde_json::Value> =
            serde_json::from_str(given).map_err(|_| format!("'{given}' is not a JSON list"))?;
        return Ok(list.iter().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned)).collect());
    }
    if given.is_empty() {
        return Ok(Vec::new());
    }
    Ok(given.split('|').map(|part| part.trim().to_owned()).collect())
}
