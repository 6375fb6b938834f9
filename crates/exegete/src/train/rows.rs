//! The rows of a training run: read whole and checked, with file and line, before any work begins.

use crate::cli;
use crate::input::{Ask, Source};
use anyhow::{Result, bail};
use exegete::train::{Sample, Trainer};
use exegete::{Example, Label, Options, Task, class_index};
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

/// What was read.
pub(super) struct Rows {
    pub(super) train: Vec<(Example, Label)>,
    pub(super) dev: Vec<(Example, Label)>,
    pub(super) labels: Vec<String>,
    pub(super) task: Task,
}

impl Rows {
    /// Reads every file, finds out what the labels are, and checks each row against them.
    pub(super) fn read(args: &cli::Train) -> Result<Self> {
        let task = match args.loss {
            cli::Loss::CrossEntropy | cli::Loss::Soft => Task::Classification,
            cli::Loss::MultiLabel => Task::MultiLabel,
            cli::Loss::Regression => Task::Regression,
        };
        let labels = labels(args, task)?;
        let mut train = Vec::new();
        for path in &args.train {
            train.extend(labelled(args, path, &labels)?);
        }
        let dev =
            args.dev.as_deref().map(|path| labelled(args, path, &labels)).transpose()?.unwrap_or_default();
        Ok(Self { train, dev, labels, task })
    }

    /// Takes out the training rows whose text occurs in one of the files to exclude; how many.
    pub(super) fn exclude(&mut self, args: &cli::Train) -> Result<usize> {
        let mut forbidden = HashSet::new();
        for path in &args.exclude {
            each(args, path, false, &mut |_, example| {
                forbidden.insert(normal_form(&example));
                Ok(())
            })?;
        }
        let before = self.train.len();
        self.train.retain(|(example, _)| !forbidden.contains(&normal_form(example)));
        let gone = before - self.train.len();
        if !args.exclude.is_empty() {
            eprintln!("left out {gone} of {before} training rows that occur in an excluded file");
        }
        if self.train.is_empty() {
            bail!("no training rows are left");
        }
        Ok(gone)
    }

    /// A measured text that was also learned from flatters the figure.
    pub(super) fn warn_of_leaks(&self, args: &cli::Train) {
        let learned: HashSet<String> = self.train.iter().map(|(example, _)| normal_form(example)).collect();
        let both = self.dev.iter().filter(|(example, _)| learned.contains(&normal_form(example))).count();
        if let (Some(dev), true) = (&args.dev, both > 0) {
            let (rows, dev) = (self.dev.len(), dev.display());
            eprintln!(
                "warning: {both} of {rows} rows of {dev} are also training rows; --exclude {dev} leaves them out"
            );
        }
    }

    /// Rows as the model reads them.
    pub(super) fn samples(&self, trainer: &Trainer, rows: &[(Example, Label)]) -> Result<Vec<Sample>> {
        rows.iter().map(|(example, label)| Ok(trainer.sample(example, label.clone())?)).collect()
    }
}

/// Lower case, letters and digits only: two texts that agree in this are the same text.
fn normal_form(example: &Example) -> String {
    let fields = example
        .fields
        .iter()
        .map(|field| field.text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect::<String>());
    fields.collect::<Vec<_>>().join("\n")
}

/// Hands every row of a file to `visit`, with its label where labels are asked for.
fn each(
    args: &cli::Train,
    path: &Path,
    with_label: bool,
    visit: &mut dyn FnMut(&Source, Example) -> Result<()>,
) -> Result<()> {
    let ask = Ask {
        input: Some(path),
        text_column: args.text_column.as_deref(),
        pair_column: args.pair_column.as_deref(),
        label_column: with_label.then_some(args.label_column.as_str()),
        ..Ask::default()
    };
    let mut source = Source::open(&ask, Task::Classification)?;
    let mut any = false;
    while let Some(example) = source.next()? {
        any = true;
        visit(&source, example)?;
    }
    if any { Ok(()) } else { bail!("{}: holds no rows", source.name()) }
}

fn labelled(args: &cli::Train, path: &Path, labels: &[String]) -> Result<Vec<(Example, Label)>> {
    let mut rows = Vec::new();
    each(args, path, true, &mut |source, example| {
        let given = example.label.as_deref().unwrap_or_default();
        let label = parse(args.loss, labels, given).map_err(|what| source.rejected(what))?;
        rows.push((example, label));
        Ok(())
    })?;
    Ok(rows)
}

/// The classes: those on the command line, else the model's own where they cover the data, else those found.
fn labels(args: &cli::Train, task: Task) -> Result<Vec<String>> {
    if task == Task::Regression {
        let name = args.labels.first().map_or("value", String::as_str);
        return Ok(vec![name.to_owned()]);
    }
    if !args.labels.is_empty() {
        if let Some(twice) = (1..args.labels.len()).find(|&i| args.labels[..i].contains(&args.labels[i])) {
            bail!("the label '{}' is named twice", args.labels[twice]);
        }
        return Ok(args.labels.clone());
    }
    let mut found = BTreeSet::new();
    let mut count = 0;
    for path in &args.train {
        each(args, path, true, &mut |source, example| {
            let given = example.label.as_deref().unwrap_or_default();
            let parts = split(given).map_err(|what| source.rejected(what))?;
            count = count.max(parts.len());
            match args.loss {
                cli::Loss::CrossEntropy => drop(found.insert(given.to_owned())),
                _ => found.extend(parts),
            }
            Ok(())
        })?;
    }
    if args.loss == cli::Loss::Soft {
        return Ok(own_labels(args).filter(|own| own.len() == count).unwrap_or_else(|| numbered(count)));
    }
    if let Some(own) = own_labels(args)
        && found.iter().all(|name| own.contains(name))
    {
        return Ok(own);
    }
    let mut found: Vec<String> = found.into_iter().filter(|name| !name.is_empty()).collect();
    // Numbers in the order of numbers: 10 comes after 9.
    if found.iter().all(|name| name.parse::<f64>().is_ok()) {
        found.sort_by(|a, b| f64::total_cmp(&a.parse().unwrap_or(0.0), &b.parse().unwrap_or(0.0)));
    }
    match found.len() {
        0 => bail!("there are no labels in column '{}'", args.label_column),
        1 if task == Task::Classification => bail!(
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
fn own_labels(args: &cli::Train) -> Option<Vec<String>> {
    let own = exegete::load(&args.model, &Options { threads: 1, ..Options::default() }).ok()?;
    let classifies = matches!(own.card().task, Task::Classification | Task::MultiLabel);
    (classifies && !args.from_scratch).then(|| own.card().labels.clone())
}

/// One row's label, or what is wrong with it.
fn parse(loss: cli::Loss, labels: &[String], given: &str) -> Result<Label, String> {
    let known = || labels.join(", ");
    let class = |name: &str| {
        class_index(labels, name.trim()).ok_or_else(|| format!("the label '{name}' is none of {}", known()))
    };
    let number = |text: &str| {
        let number = text.trim().parse::<f32>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| format!("'{text}' is not a number"))
    };
    match loss {
        cli::Loss::CrossEntropy if given.is_empty() => Err("the label is empty".to_owned()),
        cli::Loss::CrossEntropy => class(given).map(Label::Class),
        cli::Loss::Regression => number(given).map(Label::Value),
        cli::Loss::MultiLabel => {
            let mut targets = vec![0.0; labels.len()];
            for name in split(given)? {
                targets[class(&name)?] = 1.0;
            }
            Ok(Label::Labels(targets))
        }
        cli::Loss::Soft => {
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
    Ok(given.split('|').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect())
}
