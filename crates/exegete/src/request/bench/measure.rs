//! The figures, one function each.

use super::{Setup, budget_note, check_stop, rows};
use crate::methods::{Baseline, ConfiguredMethod, Method, Question, Settings};
use crate::speed::sustained;
use crate::{
    Change, Driver, Edit, Encoded, Example, Explaining, Model, Open, Pass, Pick, Plan, Quantity, Readout,
    Role, Row, Rules, SiteInfo, Spent, Target,
};
use anyhow::{Context, Result};
use serde::Serialize;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Instant;

/// One measured piece of work.
#[derive(Debug, Serialize)]
pub struct Figure {
    /// What it is called in JSON and by `--only`.
    pub name: &'static str,
    /// What was done, in words.
    pub work: String,
    /// The time of the fastest run, in seconds.
    pub seconds: f64,
    /// The mean time of all runs, in seconds.
    pub mean_seconds: f64,
    /// The mean rate of plain matrix products before and after each run.
    pub product_gflops: f64,
    /// Floating-point operations in matrix products; 0 where they are not the point.
    pub flops: u64,
    /// The most bytes of activations alive at once.
    pub peak_bytes: usize,
    /// Bytes of weights that were read, where reading them is half of the work.
    pub weights_bytes: Option<usize>,
    /// Tokens of each row.
    pub lengths: Vec<usize>,
    /// How many times faster than the plain way, where there is one.
    pub ratio: Option<f64>,
    /// What else should be said.
    #[serde(skip)]
    pub note: Option<String>,
}

/// A function that measures one figure.
pub(super) type Measure = fn(&Setup) -> Result<Figure>;

/// The figure that needs a program.
pub(super) const START: &str = "start";

/// Every figure by name, in the order of printing.
pub(super) const FIGURES: [(&str, Measure); 8] = [
    ("forward_batch", |setup| forward(setup, "forward_batch", &[128; 32])),
    ("forward_mixed", |setup| forward(setup, "forward_mixed", &rows::mixed_lengths(256))),
    ("forward_single", |setup| forward(setup, "forward_single", &[40])),
    ("gradient", gradient),
    ("integrated_gradients", integrated_gradients),
    ("ablations", ablations),
    ("load", load_to_pooled),
    (START, start_to_prediction),
];

/// How long plain matrix products are timed between runs.
const PROBE_SECONDS: f64 = 0.15;

/// The best time of several runs, with what the driver counted in one of them, and the mean of all of them beside
/// what plain matrix products reach in between.
fn best(setup: &Setup, runs: usize, work: impl Fn(&Driver) -> Result<()>) -> Result<Figure> {
    let probe = || sustained(setup.threads, setup.shape, PROBE_SECONDS);
    let (mut seconds, mut products) = (Vec::new(), vec![probe()]);
    let mut spent = Spent::default();
    for _ in 0..runs {
        check_stop(&setup.stop)?;
        let mut driver = Driver::new(setup.memory_bytes);
        driver.stop = setup.stop.clone();
        let start = Instant::now();
        work(&driver)?;
        seconds.push(start.elapsed().as_secs_f64());
        products.push(probe());
        spent = driver.spent();
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    Ok(Figure {
        name: "",
        work: String::new(),
        seconds: seconds.iter().copied().reduce(f64::min).context("no run was asked for")?,
        mean_seconds: mean(&seconds),
        product_gflops: mean(&products),
        flops: spent.flops,
        peak_bytes: spent.peak_bytes,
        weights_bytes: None,
        lengths: Vec::new(),
        ratio: None,
        note: None,
    })
}

fn forward(setup: &Setup, name: &'static str, lengths: &[usize]) -> Result<Figure> {
    let rows = rows::of_lengths(&*setup.model, lengths)?;
    // A short run says more about the moment than about the machine, so it is repeated more often.
    let runs = if lengths.len() == 1 { 4 * setup.runs } else { setup.runs };
    let figure = best(setup, runs, |driver| forwards(driver, &*setup.model, &rows))?;
    let work = format!("forward, {}", shape(&rows));
    let weights_bytes = if lengths.len() == 1 { read_weights(&*setup.model) } else { None };
    Ok(Figure { name, work, weights_bytes, lengths: lengths_of(&rows), ..figure })
}

/// Bytes of the weights that every text reads: all but the embeddings, of which a text looks up a few rows.
fn read_weights(model: &dyn Model) -> Option<usize> {
    let learner = model.learner()?;
    let groups = learner.groups();
    let embeddings = groups.iter().filter(|group| group.kind.is_looked_up());
    let looked_up: BTreeSet<&String> = embeddings.flat_map(|group| &group.parameters).collect();
    let read = learner.parameters().into_iter().filter(|(name, _)| !looked_up.contains(name));
    Some(read.map(|(_, shape)| shape.iter().product::<usize>() * size_of::<f32>()).sum())
}

fn gradient(setup: &Setup) -> Result<Figure> {
    let open = setup.model.require_open()?;
    let card = setup.model.card();
    let rows = rows::of_lengths(&*setup.model, &[128; 32])?;
    let target = first_output(open)?;
    let figure = best(setup, setup.runs, |driver| {
        let (values, wrt) = (&[], &[open.sites().words()?]);
        let readout = Explaining { open, card, target: &target, values, wrt, rules: Rules::Gradient };
        Ok(driver.read_all(&*setup.model, &rows, &readout).map(drop)?)
    })?;
    Ok(Figure {
        name: "gradient",
        work: format!("gradient at embed.word, {}", shape(&rows)),
        lengths: lengths_of(&rows),
        note: Some(budget_note(figure.peak_bytes, setup.memory_bytes)),
        ..figure
    })
}

/// Fifty fixed points, as other tools take them.
fn integrated_gradients(setup: &Setup) -> Result<Figure> {
    let open = setup.model.require_open()?;
    let rows = rows::of_lengths(&*setup.model, &[40])?;
    let chosen = ConfiguredMethod::new("integrated_gradients", Settings::parse(&["steps=50"])?)?;
    let figure = best(setup, 2 * setup.runs, |driver| {
        let job = Question::new(&*setup.model, driver, rows[0].clone(), first_output(open)?);
        let job = Question { baselines: vec![Baseline::Zero], ..job };
        Ok(chosen.explain(&job).map(drop)?)
    })?;
    Ok(Figure {
        name: "integrated_gradients",
        work: format!("integrated gradients, 50 points, {}", shape(&rows)),
        lengths: lengths_of(&rows),
        ..figure
    })
}

/// The first element of the model's output, summed over tokens where every token has one: the logit of class 0 for a
/// classifier, and something for every other head.
fn first_output(open: &dyn Open) -> Result<Target> {
    let outputs = open.sites().get(open.sites().outputs()?)?;
    let mut index = vec![None; outputs.axes.len()];
    index.splice(outputs.axes.len().saturating_sub(1).., [Some(0)]);
    Ok(Target { quantity: Quantity::Neuron(outputs.site, index), scale: None })
}

/// Every neuron of a late layer set to zero in turn: resumed at that layer against whole forwards of the same rows.
fn ablations(setup: &Setup) -> Result<Figure> {
    let open = setup.model.require_open()?;
    let layers: Vec<&SiteInfo> = open.sites().with_role(Role::LayerOutput).collect();
    let layer = layers.get(3 * layers.len() / 4).context("the model has no layers")?;
    let (site, width) = (layer.site, layer.axes.last().map_or(0, |axis| axis.len(&Encoded::from_ids(&[]))));
    let rows = rows::of_lengths(&*setup.model, &[32])?;
    let neuron = |unit| Edit { site, at: vec![Pick::All, Pick::Only(vec![unit])], change: Change::Zero };
    let rows: Vec<Row> = (0..width).map(|unit| rows[0].clone().edit(neuron(unit))).collect();
    let figure = best(setup, setup.runs, |driver| forwards(driver, &*setup.model, &rows))?;
    // Whole forwards take so long that few runs tell enough.
    let whole =
        best(setup, setup.runs.div_ceil(3), |driver| whole_forwards(open, driver.batch_tokens, &rows))?;
    let ratio = whole.seconds / figure.seconds;
    Ok(Figure {
        name: "ablations",
        work: format!("{} ablations at {site}, {} tokens", rows.len(), rows[0].encoded.len()),
        lengths: lengths_of(&rows),
        ratio: Some(ratio),
        note: Some(format!("{ratio:.1} × faster than whole forwards")),
        ..figure
    })
}

/// Every row, also where some are equal.
fn forwards(driver: &Driver, model: &dyn Model, rows: &[Row]) -> Result<()> {
    Ok(driver.read_all(model, rows, &Nothing).map(drop)?)
}

/// Reads nothing, so that nothing is remembered.
struct Nothing;

impl Readout for Nothing {
    type Value = ();

    fn read(&self, rows: &[Row], _: &dyn Pass) -> exegete_core::Result<Vec<()>> {
        Ok(vec![(); rows.len()])
    }
}

/// The same batches as the driver's, but from the first layer on.
fn whole_forwards(open: &dyn Open, batch_tokens: usize, rows: &[Row]) -> Result<()> {
    let batch = (batch_tokens / rows[0].encoded.len().max(1)).max(1);
    for rows in rows.chunks(batch) {
        open.forward(rows, &Plan::default())?;
    }
    Ok(())
}

const SENTENCE: &str = "A warm and honest film.";

fn load_to_pooled(setup: &Setup) -> Result<Figure> {
    let open = || crate::request::model::open(setup.dir.as_deref(), setup.threads);
    let card = open()?.card().clone();
    let context = (card.task.needs_pair()).then_some(SENTENCE);
    let example = crate::request::model::example(card.task, SENTENCE, context);
    let figure = best(setup, setup.runs, |_| pooled(open()?.require_open()?, &example))?;
    let work = format!("from load to the pooled vector, {}", card.name);
    Ok(Figure { name: "load", work, ..figure })
}

fn pooled(open: &dyn Open, example: &Example) -> Result<()> {
    // What the head reads where it reads one vector, just before the output.
    let before = open.sites().iter().nth_back(1).filter(|info| info.carries_all && !info.cut);
    let plan = Plan::keep(before.map(|info| info.site).into_iter().collect::<Vec<_>>());
    open.forward(&[Row::new(open.encode(example)?)], &plan)?;
    Ok(())
}

/// The whole program, from the start of its process to its end.
fn start_to_prediction(setup: &Setup) -> Result<Figure> {
    let dir = setup.dir.as_deref().unwrap_or(crate::DEFAULT.as_ref());
    let card = crate::request::model::open(Some(dir), setup.threads)?.card().clone();
    let program = setup.program.as_deref().context("there is no program to start")?;
    let threads = setup.threads.to_string();
    let figure = best(setup, setup.runs, |_| {
        let mut command = Command::new(program);
        command.args(["predict", SENTENCE, "--format", "json", "--threads", &threads, "--model"]).arg(dir);
        if card.task.needs_pair() {
            command.args(["--pair", SENTENCE]);
        }
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        let ended_well = status.context("exegete could not be started again")?.success();
        anyhow::ensure!(ended_well, "exegete predict failed on {}", dir.display());
        Ok(())
    })?;
    let work = format!("from process start to a prediction, {}", card.name);
    Ok(Figure { name: START, work, ..figure })
}

fn lengths_of(rows: &[Row]) -> Vec<usize> {
    rows.iter().map(|row| row.encoded.len()).collect()
}

fn shape(rows: &[Row]) -> String {
    let lengths = lengths_of(rows);
    let (shortest, longest) = (lengths.iter().min().unwrap_or(&0), lengths.iter().max().unwrap_or(&0));
    match (rows.len(), shortest == longest) {
        (1, _) => format!("1 text of {longest} tokens"),
        (count, true) => format!("{count} texts × {longest} tokens"),
        (count, false) => format!("{count} texts of {shortest}–{longest} tokens"),
    }
}
