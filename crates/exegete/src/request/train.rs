//! The request of `exegete train`: reads and checks all rows first, then trains, and leaves a Hugging Face folder.

mod choices;
mod plan;
mod rows;
mod small;

use super::{Listener, Notice, Resources, Stop, model, needed, refuse_reads};
use crate::train::{
    Data, Epoch, Event, Metric, Reduction, Start, TrainedHead, Trainer, TrainingLoss, TrainingRun, fit,
};
use crate::{Edit, Encoded, Error, Example, Model, partial};
use anyhow::{Context, Result, bail};
pub use choices::{TrainKeep, TrainLoss, TrainMetric, TrainOptimiser, TrainSchedule};
use clap::Args;
use plan::TrainPlan;
use rows::Rows;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
pub use small::SmallRequest;
use std::path::{Path, PathBuf};

/// What training needs of a model.
const TRAINS: &str = "training needs weights to start from";

/// What `exegete train` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct TrainRequest {
    /// Rows to learn from: .tsv or .csv with a header, or .jsonl; may be given several times.
    #[arg(long, value_name = "FILE", required = true)]
    pub train: Vec<PathBuf>,
    /// Rows to measure each epoch on; the best epoch's model is kept [default: the last epoch's].
    #[arg(long, value_name = "FILE")]
    pub dev: Option<PathBuf>,
    /// Leave out training rows whose text, in letters and digits alone, occurs in this file.
    #[arg(long, value_name = "FILE")]
    pub exclude: Vec<PathBuf>,
    /// The folder to write; an unfinished run found there is taken up again.
    #[arg(short, long, value_name = "DIR", required = true)]
    pub output: Option<PathBuf>,
    /// Replace a model that the output folder already holds.
    #[arg(long)]
    pub overwrite: bool,
    /// The Hugging Face folder to start from [default: the model that is part of the program].
    #[arg(long, value_name = "DIR")]
    pub model: Option<PathBuf>,
    /// Take only the config and the tokenizer of the folder, and random weights.
    #[arg(long, requires = "model")]
    pub from_scratch: bool,
    /// A small model in the place of a folder.
    #[serde(flatten)]
    #[command(flatten)]
    pub small: SmallRequest,
    /// Tables have no header: columns are numbered from 1, the text is the first and the label the last.
    #[arg(long)]
    pub no_header: bool,
    /// What stands between the columns of a table, one character or tab [default: a tab in .tsv, a comma in .csv].
    #[arg(long, value_name = "D")]
    pub delimiter: Option<String>,
    /// The column that holds the text [default: the first of text, sentence, content].
    #[arg(long, value_name = "C")]
    pub text_column: Option<String>,
    /// The column that holds the second text of a pair.
    #[arg(long, value_name = "C")]
    pub pair_column: Option<String>,
    /// The column that holds the label: a class by name or number, labels or soft shares separated by |, or a number [default: label].
    #[arg(long, value_name = "C")]
    pub label_column: Option<String>,
    /// The classes in order, such as negative,positive [default: the model's own where the rows use their names, else those found in the rows].
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub labels: Option<Vec<String>>,
    /// What is made small: the loss of a batch is the mean over its rows, their sum where --kind trains a small model other than flan and han.
    #[arg(long, value_enum, default_value_t)]
    pub loss: TrainLoss,
    /// How much the rows of each class count: none, balanced (rows of the first class over rows of the class), or a weight for each class [default: none; balanced with --kind and two classes of single texts, other than flan and han].
    #[arg(long, value_name = "none|balanced|A,B")]
    pub class_weights: Option<String>,
    /// What the best epoch is chosen by, on the rows of --dev [default: accuracy; auc with --kind and two classes, other than flan and han].
    #[arg(long, value_enum, requires = "dev")]
    pub metric: Option<TrainMetric>,
    /// The class of f1 and auc [default: the last].
    #[arg(long, value_name = "LABEL")]
    pub positive: Option<String>,
    /// Which epoch's model is written, where there is a dev file.
    #[arg(long, value_enum, default_value_t)]
    pub keep: TrainKeep,
    /// Stop after this many epochs in a row without a better metric [default: never; 5 with --kind flan or han].
    #[arg(long, value_name = "N", requires = "dev")]
    pub patience: Option<usize>,
    /// How often every row is seen [default: 3; with --kind 8, flan and han 15, entity_qa 100].
    #[arg(long, value_name = "N")]
    pub epochs: Option<usize>,
    /// How many rows make a step [default: 32; with --kind 32, pairs 128, kim and entity_qa 50, flan and han 64].
    #[arg(long, value_name = "N")]
    pub batch: Option<usize>,
    /// How the weights move [default: adamw; adam with --kind].
    #[arg(long, value_enum)]
    pub optimiser: Option<TrainOptimiser>,
    /// Whether adam divides by the largest second moment so far: yes or no [default: no; yes with --kind, other than flan and han].
    #[arg(long, value_name = "yes|no", value_parser = choices::yes_or_no)]
    pub amsgrad: Option<bool>,
    /// The learning rate at its highest [default: 5e-5; with --kind 1e-3, flan and han 4e-4].
    #[arg(long, value_name = "X")]
    pub rate: Option<f64>,
    /// How the rate changes [default: linear; constant with --kind, halve with flan and han where there is a --dev].
    #[arg(long, value_enum)]
    pub schedule: Option<TrainSchedule>,
    /// The momentum of sgd [default: 0.9 with --optimiser sgd].
    #[arg(long, value_name = "X")]
    pub momentum: Option<f64>,
    /// Each layer's rate is that of the layer above times this [default: 1].
    #[arg(long, value_name = "X")]
    pub layer_decay: Option<f64>,
    /// The share of all steps over which the rate of --schedule linear rises, before it falls in a line to zero [default: 0.06; 0 with --kind].
    #[arg(long, value_name = "SHARE")]
    pub warmup: Option<f64>,
    /// Weight decay: of matrices, decoupled in adamw, part of the gradient in sgd; of all weights, part of the gradient, in adam [default: 0.01; with --kind 1e-5, flan and han 0].
    #[arg(long, value_name = "X")]
    pub decay: Option<f64>,
    /// Weight decay of the weights named `attention.*` [default: 0].
    #[arg(long, value_name = "X")]
    pub decay_attention: Option<f64>,
    /// The longest gradient; longer ones are scaled down; 0 for no limit [default: 1; with --kind no limit, flan and han 10].
    #[arg(long, value_name = "X")]
    pub clip: Option<f64>,
    /// Dropout at every place where the family has it [default: the config's rates].
    #[arg(long, value_name = "SHARE")]
    pub dropout: Option<f64>,
    /// Cut training texts to this many tokens [default: as many as the model reads].
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<usize>,
    /// The seed of order, dropout and new weights.
    #[arg(long, value_name = "N", default_value_t)]
    pub seed: u64,
    /// Steps between two saved states, from which a killed run goes on; 0 for one an epoch.
    #[arg(long, value_name = "N", default_value_t = Self::default().save_every)]
    pub save_every: usize,
    /// What the run may use.
    #[serde(flatten)]
    #[command(flatten)]
    pub resources: Resources,
}

impl Default for TrainRequest {
    fn default() -> Self {
        Self {
            train: Vec::new(),
            dev: None,
            exclude: Vec::new(),
            output: None,
            overwrite: false,
            model: None,
            from_scratch: false,
            small: SmallRequest::default(),
            no_header: false,
            delimiter: None,
            text_column: None,
            pair_column: None,
            label_column: None,
            labels: None,
            loss: TrainLoss::default(),
            class_weights: None,
            metric: None,
            positive: None,
            keep: TrainKeep::default(),
            patience: None,
            epochs: None,
            batch: None,
            optimiser: None,
            amsgrad: None,
            rate: None,
            schedule: None,
            momentum: None,
            layer_decay: None,
            warmup: None,
            decay: None,
            decay_attention: None,
            clip: None,
            dropout: None,
            max_tokens: None,
            seed: 0,
            save_every: 500,
            resources: Resources::default(),
        }
    }
}

/// The rows of a request, each with its class.
pub(crate) struct TrainingTexts {
    /// Rows to learn from.
    pub(crate) train: Vec<(Example, usize)>,
    /// Rows to measure on.
    pub(crate) dev: Vec<(Example, usize)>,
}

/// Reads the rows of a request in which each has one class.
pub(crate) fn texts(request: &TrainRequest) -> Result<TrainingTexts> {
    let Rows { train, dev, .. } = Rows::read(request)?;
    Ok(TrainingTexts { train: rows::by_class(train)?, dev: rows::by_class(dev)? })
}

/// Something else to train for than the labels; only the library does that.
pub(crate) struct OtherGoal<'a> {
    /// What the best epoch is chosen by, whatever the request says; as that says, where there is none.
    pub(crate) metric: Option<Metric>,
    /// What is made small, from the model at its start and the rows as that reads them. Its name must say everything that is
    /// in it and not in the request: a killed run is taken up by that.
    pub(crate) loss: &'a dyn Fn(&dyn Model, &Data) -> Result<TrainingLoss>,
}

/// How texts are read and their losses counted, where it is not as the kind of model has it.
#[derive(Default)]
pub(crate) struct OtherReading<'a> {
    /// How the losses of a batch's rows become one.
    pub(crate) reduction: Option<Reduction>,
    /// What is changed inside the model whenever it reads a text, in training and measuring.
    pub(crate) edits: Option<TextEdits<'a>>,
}

/// What is changed inside a model when it reads a text.
pub(crate) type TextEdits<'a> = &'a dyn Fn(&dyn Model, &Encoded) -> Result<Vec<Edit>>;

/// Trains; what was measured after each epoch. The model and `training.json` are in the output folder then.
pub fn run(request: &TrainRequest, stop: &Stop, tell: Listener<'_>) -> Result<Vec<Epoch>> {
    trained(request, None, &OtherReading::default(), &mut |_| Ok(()), stop, tell)
}

/// The same towards another goal.
pub(crate) fn run_with(
    request: &TrainRequest,
    goal: &OtherGoal<'_>,
    stop: &Stop,
    tell: Listener<'_>,
) -> Result<Vec<Epoch>> {
    trained(request, Some(goal), &OtherReading::default(), &mut |_| Ok(()), stop, tell)
}

/// The same where texts are read otherwise. The name of the goal must say that too.
pub(crate) fn run_reading(
    request: &TrainRequest,
    goal: &OtherGoal<'_>,
    reading: &OtherReading<'_>,
    stop: &Stop,
    tell: Listener<'_>,
) -> Result<Vec<Epoch>> {
    trained(request, Some(goal), reading, &mut |_| Ok(()), stop, tell)
}

/// The same; before `training.json` is written, a function gets the trainer as the last epoch left it.
pub(crate) fn run_then(
    request: &TrainRequest,
    ended: &mut dyn FnMut(&Trainer) -> Result<()>,
    stop: &Stop,
    tell: Listener<'_>,
) -> Result<Vec<Epoch>> {
    trained(request, None, &OtherReading::default(), ended, stop, tell)
}

fn trained(
    request: &TrainRequest,
    goal: Option<&OtherGoal<'_>>,
    reading: &OtherReading<'_>,
    ended: &mut dyn FnMut(&Trainer) -> Result<()>,
    stop: &Stop,
    tell: Listener<'_>,
) -> Result<Vec<Epoch>> {
    let folder = model::folder(request.model.as_deref(), TRAINS)?;
    let output = needed(&request.output, "training needs a folder to write; give -o DIR")?;
    request.resources.check()?;
    plan::refuse_absurd(request)?;
    check_output(request, output)?;
    let mut rows = Rows::read(request)?;
    let excluded = rows.exclude(request, tell)?;
    rows.warn_of_leaks(request, tell);
    let head = TrainedHead { task: rows.task, labels: rows.labels.clone() };
    let mut plan = TrainPlan::new(request, &rows, goal.and_then(|goal| goal.metric))?;
    plan.settings.reduction = reading.reduction.unwrap_or(plan.settings.reduction);
    tell(Notice::Note(&plan.said()));
    let small = request.small.start(request, &rows, tell)?;
    let start = start(request, small, folder)?;
    let mut trainer = Trainer::new(&start, &head, plan.settings.clone(), TrainingLoss::default())?;
    let mut data = rows.data(&trainer)?;
    if let Some(edits) = reading.edits {
        for sample in data.train.iter_mut().chain(&mut data.dev) {
            sample.row.edits = edits(trainer.model(), &sample.row.encoded)?;
        }
    }
    if let Some(goal) = goal {
        trainer.pursue((goal.loss)(trainer.model(), &data)?);
    }
    let new = request.from_scratch || request.small.kind.is_some();
    if !new && !trainer.fresh().is_empty() {
        tell(Notice::Note(&format!("new, from random numbers: {}", trainer.fresh().join(", "))));
    }
    warn_of_truncation(request, &data, &trainer, tell);
    let run = TrainingRun { output, save_every: request.save_every, metric: plan.metric, stop: stop.clone() };
    let epochs = fit(&mut trainer, &data, &run, &mut |event| {
        // A run that ended while this one read its rows left a model here.
        if matches!(event, Event::Started { .. }) {
            model::check_output(output, request.overwrite).map_err(|e| Error::Request(e.to_string()))?;
        }
        tell(Notice::Training(event));
        Ok(())
    })?;
    ended(&trainer)?;
    write_report(request, &plan, output, &data, &head, excluded, &epochs)?;
    Ok(epochs)
}

/// Where the parameters come from.
fn start(request: &TrainRequest, small: Option<Start>, folder: Option<&Path>) -> Result<Start> {
    Ok(match (small, folder) {
        (Some(small), _) => small,
        (None, Some(dir)) if request.from_scratch => Start::Scratch(dir.to_owned()),
        (None, Some(dir)) => Start::Folder(dir.to_owned()),
        (None, None) if request.from_scratch => {
            bail!("--from-scratch takes the config and the tokenizer of a folder")
        }
        (None, None) => Start::Default,
    })
}

/// What stands in the way, before any work is done.
fn check_output(request: &TrainRequest, output: &Path) -> Result<()> {
    model::refuse_stdout(output)?;
    let unfinished = output.join("training_state.safetensors").exists();
    if !unfinished {
        model::check_output(output, request.overwrite)?;
    }
    let whole = |path: &Path| path.canonicalize().ok();
    if request.model.as_deref().and_then(whole).is_some_and(|start| Some(start) == whole(output)) {
        bail!("{}: a run cannot write the folder it starts from", output.display());
    }
    let own = ["training.json", "training_state.safetensors"].map(|name| output.join(name));
    refuse_reads(&[crate::files_of_folder(output), own.into()].concat(), &request.reads())?;
    refuse_foreign(output)?;
    request.small.refuse_unused(request)?;
    plan::refuse_unused(request)
}

/// What a run leaves in its folder, or a model had there that it replaces, beside the files of every model.
const OF_TRAINING: [&str; 4] =
    ["training.json", "training_state.safetensors", "training.lock", "model.safetensors.index.json"];

/// Whether a file is called as one part of a model's weights is: model-00001-of-00003.safetensors.
fn is_shard(name: &str) -> bool {
    let numbers = name.strip_prefix("model-").and_then(|name| name.strip_suffix(".safetensors"));
    let number = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.and_then(|numbers| numbers.split_once("-of-")).is_some_and(|(a, b)| number(a) && number(b))
}

/// The file that a killed run was writing: `.NAME.PROCESS.partial`.
fn half_written(name: &str) -> Option<&str> {
    let (name, process) = name.strip_prefix('.')?.strip_suffix(".partial")?.rsplit_once('.')?;
    process.bytes().all(|byte| byte.is_ascii_digit()).then_some(name)
}

/// A folder that holds something else is no place for a model: whoever tidies up after a run would delete it.
fn refuse_foreign(output: &Path) -> Result<()> {
    let Ok(entries) = output.read_dir() else { return Ok(()) };
    let own = crate::files_of_folder(output);
    let own = own.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    let own: Vec<String> = own.chain(OF_TRAINING.map(str::to_owned)).collect();
    let is_own = |name: &str| own.iter().any(|own| own == name) || is_shard(name);
    let belongs = |path: &Path| {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        is_own(&name) || half_written(&name).is_some_and(is_own)
    };
    let mut foreign: Vec<String> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| !belongs(path))
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    foreign.sort();
    match foreign.first() {
        Some(name) => {
            bail!("{}: holds {name}, which is no part of a model; give a folder of its own", output.display())
        }
        None => Ok(()),
    }
}

fn warn_of_truncation(request: &TrainRequest, data: &Data, trainer: &Trainer, tell: Listener<'_>) {
    let longest = trainer.model().card().max_tokens;
    let learned = request.max_tokens.unwrap_or(longest).min(longest);
    for (kind, rows, most) in [("training", &data.train, learned), ("dev", &data.dev, longest)] {
        let cut = rows.iter().filter(|sample| sample.row.encoded.truncated).count();
        if cut > 0 {
            let all = rows.len();
            tell(Notice::Warning(&format!("{cut} of {all} {kind} texts cut to {most} tokens")));
        }
    }
}

/// `training.json` beside the weights: how this model came to be.
fn write_report(
    request: &TrainRequest,
    plan: &TrainPlan,
    output: &Path,
    data: &Data,
    head: &TrainedHead,
    excluded: usize,
    epochs: &[Epoch],
) -> Result<()> {
    let seconds: f64 = epochs.iter().map(|epoch| epoch.seconds).sum();
    let rows = data.train.len() * epochs.len();
    let hashes = super::record::files(
        &request.train.iter().map(|path| ("--train", path.as_path())).collect::<Vec<_>>(),
    )?;
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let report = json!({
        "schema": "exegete.training/1",
        "command": "train",
        "version": env!("CARGO_PKG_VERSION"),
        "start": match &request.small.kind {
            Some(kind) => json!({"kind": kind}),
            None => {
                let model = request.model.as_deref().map_or_else(|| Some(crate::DEFAULT.to_owned()), name);
                json!({"model": model, "from_scratch": request.from_scratch})
            }
        },
        "task": head.task,
        "labels": head.labels,
        "train_sha256": match &hashes[..] {
            [one] => json!(one.sha256),
            several => json!(several.iter().map(|file| &file.sha256).collect::<Vec<_>>()),
        },
        "data": {
            "train": request.train.iter().map(|path| name(path)).collect::<Vec<_>>(),
            "train_rows": data.train.len(),
            "dev": request.dev.as_deref().map(name),
            "dev_rows": data.dev.len(),
            "excluded_rows": excluded,
        },
        "settings": plan.report(request),
        "request": serde_json::to_value(request).ok(),
        "seed": request.seed,
        "rows": data.train.len(),
        "seconds": seconds,
        "best_epoch": plan.best_epoch(epochs),
        "epochs": epochs,
        "examples_per_second": if seconds > 0.0 { rows as f64 / seconds } else { 0.0 },
    });
    let path = output.join("training.json");
    let text = serde_json::to_string_pretty(&report)?;
    partial::write(&path, text.as_bytes()).with_context(|| format!("{}: cannot be written", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::{Optimiser, Recipe, Schedule};
    use clap::CommandFactory;

    #[derive(clap::Parser)]
    struct Flags {
        #[command(flatten)]
        _request: TrainRequest,
    }

    /// Every default that a kind of model has stands in the line of its flag.
    #[test]
    fn help_says_the_defaults_of_every_kind() {
        let flags = Flags::command();
        let help = |name: &str| {
            let flag = flags.get_arguments().find(|flag| flag.get_id() == name).unwrap();
            let line = flag.get_help().unwrap().to_string();
            let (_, default) = line.split_once("[default: ").unwrap();
            default.split([' ', ',', ';', ']']).map(str::to_owned).collect::<Vec<_>>()
        };
        let number = |x: f64| if x != 0.0 && x < 1e-2 { format!("{x:e}") } else { x.to_string() };
        use Recipe::{EntityQa, Flan, Han, Kim, Pairs, Small, Transformer};
        for recipe in [Transformer, Small, Pairs, EntityQa, Kim, Flan, Han] {
            let own = recipe.defaults(2);
            let set = &own.settings;
            let schedule = match set.schedule {
                Schedule::Linear => "linear",
                Schedule::Constant => "constant",
                Schedule::Halve => "halve",
            };
            let (optimiser, amsgrad) = match set.optimiser {
                Optimiser::AdamW { .. } => ("adamw", "no"),
                Optimiser::Adam { amsgrad, .. } => ("adam", if amsgrad { "yes" } else { "no" }),
                Optimiser::Sgd { .. } => ("sgd", "no"),
            };
            for (flag, default) in [
                ("epochs", set.epochs.to_string()),
                ("batch", set.batch.to_string()),
                ("optimiser", optimiser.to_owned()),
                ("amsgrad", amsgrad.to_owned()),
                ("rate", number(set.rate)),
                ("schedule", schedule.to_owned()),
                ("warmup", number(set.warmup)),
                ("decay", number(set.decay)),
                ("decay_attention", number(set.decay_attention)),
                ("layer_decay", number(set.layer_decay)),
                ("clip", set.clip.map_or("no".to_owned(), number)),
                ("patience", set.patience.map_or("never".to_owned(), |epochs| epochs.to_string())),
                ("metric", format!("{:?}", own.metric).to_lowercase()),
                ("class_weights", format!("{:?}", own.class_weights).to_lowercase()),
            ] {
                let line = help(flag);
                assert!(
                    line.contains(&default),
                    "{recipe:?}: --{flag} is {default} and {line:?} do not say so"
                );
            }
        }
    }
}
