//! `exegete explain`, `show` and `methods`.

use crate::answers::Drivers;
use crate::input::{Ask, Source};
use crate::journal::Journal;
use crate::output::report::{options, write};
use crate::output::{Output, destination, is_replaceable};
use crate::{cli, hiding, model, progress, table};
use anyhow::{Context, Result, bail};
use exegete::methods::evidence::Level;
use exegete::methods::{
    Axiom, Baseline, Corpus, METHODS, Picked, Place, Request, default_method, explain, find, survey,
};
use exegete::render::{self, Format, Options};
use exegete::report::{Item, Provenance, Report, SCHEMA};
use exegete::{Example, Model, Site, Spent, Target, Units};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// Runs `exegete explain`.
pub(crate) fn run(args: &cli::Explain) -> Result<()> {
    let mut request = request(args)?;
    let output = destination(args.output.as_deref(), &args.reads())?;
    let model = model::load(args.model.as_deref(), &args.resources, &args.remote, args.texts.pairs())?;
    request.masker = hiding::masker(&args.hiding, &*model)?;
    let mut source = Source::open(&args.texts.ask(), model.card().task)?;
    let many = args.texts.input.is_some() || args.texts.text.as_deref() == Some("-");
    let format = args.format.unwrap_or(if many { Format::Jsonl } else { Format::Text });
    if request.methods.iter().any(|picked| matches!(picked, Picked::Surveys(..))) {
        return surveyed(args, &*model, &mut source, &request, output);
    }
    if args.held_out.is_some() {
        bail!("--held-out is for methods that look at many texts together, such as triggers");
    }
    if !many {
        let example = source.next()?.context("there is no text")?;
        let cache = args.hiding.cache.as_deref();
        let drivers = Drivers::new(args.resources.memory(), cache, None, &*model)?;
        let report = report(args, &*model, example, &request, &drivers)?;
        return write(&report, format, output);
    }
    match (format, output) {
        (Format::Jsonl, Some(path)) if is_replaceable(path) => {
            resumable(args, &*model, &mut source, &request, path)
        }
        (Format::Jsonl | Format::Csv | Format::Text, path) => {
            stream(args, &*model, &mut source, &request, format, path)
        }
        _ => bail!(
            "many texts are written as jsonl, csv or text; `exegete show FILE.jsonl --row N` makes one of them a document or a picture"
        ),
    }
}

/// What is asked, checked before any model is opened.
fn request(args: &cli::Explain) -> Result<Request> {
    let site = match args.site.as_str() {
        "embed.word" => Place::Words,
        "all-layers" => Place::AllLayers,
        site => Place::At(site.parse::<Site>()?),
    };
    let each = |words: &[String]| {
        words.iter().map(|word| word.parse::<Target>()).collect::<exegete::Result<Vec<_>>>()
    };
    if args.top_labels == Some(0) {
        bail!("--top-labels 0 explains nothing");
    }
    Ok(Request {
        methods: Picked::all(&names(args), &settings(&args.set)?)?,
        masker: None,
        targets: each(&args.targets)?,
        top_labels: args.top_labels,
        site,
        units: args.units.parse::<Units>()?,
        baselines: args.baselines.iter().map(|b| b.parse::<Baseline>()).collect::<exegete::Result<_>>()?,
        check: match args.check {
            _ if args.no_check => Level::None,
            cli::Check::None => Level::None,
            cli::Check::Default => Level::Default,
            cli::Check::Deep => Level::Deep,
        },
        seed: args.seed,
    })
}

/// The methods that the user names, or the one that suits what kind of model it is.
fn names(args: &cli::Explain) -> Vec<String> {
    let own = default_method(!model::is_black_box(args.model.as_deref()));
    if args.methods.is_empty() { vec![own.to_owned()] } else { args.methods.clone() }
}

/// Parameters as the user gives them; `key=@FILE` stands for what a file holds.
pub(crate) fn settings(words: &[String]) -> Result<Vec<String>> {
    let word = |word: &String| match word.split_once("=@") {
        Some((key, path)) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("{path}: cannot be read"))?;
            Ok(format!("{key}={text}"))
        }
        None => Ok(word.clone()),
    };
    words.iter().map(word).collect()
}

/// The report of one example.
fn report(
    args: &cli::Explain,
    model: &dyn Model,
    mut example: Example,
    request: &Request,
    drivers: &Drivers,
) -> Result<Report> {
    let started = Instant::now();
    if args.label.is_some() {
        example.label.clone_from(&args.label);
    }
    let (items, spent) = drivers.with(|driver| explain(model, driver, &example, request));
    Ok(finished(args, model, items?, started, spent))
}

fn finished(
    args: &cli::Explain,
    model: &dyn Model,
    items: Vec<Item>,
    started: Instant,
    spent: Spent,
) -> Report {
    let seconds = started.elapsed().as_secs_f64();
    let provenance = Provenance::new(model.card(), args.seed, args.resources.count(), seconds, spent);
    Report { schema: SCHEMA.to_owned(), provenance, items }
}

/// One report about all texts together.
fn surveyed(
    args: &cli::Explain,
    model: &dyn Model,
    source: &mut Source,
    request: &Request,
    output: Option<&Path>,
) -> Result<()> {
    if args.texts.input.is_none() && args.texts.text.as_deref() != Some("-") {
        bail!("{} looks at many texts together; give them with --input FILE", names(args).join(", "));
    }
    let started = Instant::now();
    let examples = all(source)?;
    let mut held_out = None;
    if let Some(path) = args.held_out.as_deref() {
        let ask = Ask { input: Some(path), ..args.texts.ask() };
        held_out = Some(all(&mut Source::open(&ask, model.card().task)?)?);
    }
    let drivers = Drivers::new(args.resources.memory(), args.hiding.cache.as_deref(), None, model)?;
    let (items, spent) = drivers.with(|driver| {
        survey(&Corpus { model, driver, examples: &examples, held_out: held_out.as_deref(), request })
    });
    let format = args.format.unwrap_or(Format::Text);
    write(&finished(args, model, items?, started, spent), format, output)
}

/// Every text of a file.
fn all(source: &mut Source) -> Result<Vec<Example>> {
    let mut examples = Vec::new();
    while let Some(example) = source.next()? {
        examples.push(example);
    }
    if examples.is_empty() {
        bail!("{}: holds no text", source.name());
    }
    Ok(examples)
}

/// One JSON line a text, in order; what an earlier run finished is not done again.
fn resumable(
    args: &cli::Explain,
    model: &dyn Model,
    source: &mut Source,
    request: &Request,
    path: &Path,
) -> Result<()> {
    let input = args.texts.input.as_deref().map(std::fs::read).transpose().ok().flatten();
    let asked = format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        args.texts,
        args.methods,
        args.targets,
        args.top_labels,
        args.label,
        args.site,
        args.units,
        args.set,
        args.baselines,
        (args.check, args.no_check, args.seed),
        (&args.hiding.masker, &args.hiding.words)
    );
    let mut journal = Journal::take_up(path, &(asked, &model.card().fingerprint, input))?;
    let cache = args.hiding.cache.as_deref();
    let drivers = Drivers::new(args.resources.memory(), cache, Some(&journal), model)?;
    let progress = progress::bytes(source);
    let mut row = 0;
    while let Some(example) = source.next()? {
        row += 1;
        if row > journal.done {
            let report = report(args, model, example, request, &drivers);
            let report = report.with_context(|| format!("line {}", source.line()))?;
            journal.add(render::render(&report, Format::Jsonl, &Options::default()).trim_end())?;
        }
        progress.set_position(source.bytes());
    }
    progress.finish_and_clear();
    if row == 0 {
        journal.remove()?;
        bail!("{}: holds no text", source.name());
    }
    journal.complete()
}

/// One report after the other.
fn stream(
    args: &cli::Explain,
    model: &dyn Model,
    source: &mut Source,
    request: &Request,
    format: Format,
    path: Option<&Path>,
) -> Result<()> {
    let drivers = Drivers::new(args.resources.memory(), args.hiding.cache.as_deref(), None, model)?;
    let mut output = Output::open(path)?;
    let options = options(&output);
    let progress = progress::bytes(source);
    let mut rows = 0;
    while let Some(example) = source.next()? {
        rows += 1;
        let report = report(args, model, example, request, &drivers);
        let report = report.with_context(|| format!("line {}", source.line()))?;
        let mut text = render::render(&report, format, &options);
        if format == Format::Csv && rows > 1 {
            text = text.split_once('\n').map_or(String::new(), |(_, rows)| rows.to_owned());
        }
        progress.suspend(|| output.write_all(text.as_bytes()).and_then(|()| output.flush()))?;
        progress.set_position(source.bytes());
    }
    progress.finish_and_clear();
    if rows == 0 {
        bail!("{}: holds no text", source.name());
    }
    output.complete()
}

/// Runs `exegete show`.
pub(crate) fn show(args: &cli::Show) -> Result<()> {
    let output = destination(args.output.as_deref(), &args.reads())?;
    let bytes =
        std::fs::read(&args.report).with_context(|| format!("{}: cannot be read", args.report.display()))?;
    let lines = args.report.extension().is_some_and(|extension| extension == "jsonl");
    let wanted = if lines {
        let mut rows = bytes.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let found = rows.nth(args.row.saturating_sub(1));
        found.with_context(|| format!("{}: has no row {}", args.report.display(), args.row))?
    } else {
        &bytes
    };
    let report = render::read(wanted).with_context(|| args.report.display().to_string())?;
    write(&report, args.format, output)
}

/// Runs `exegete methods`.
pub(crate) fn methods(args: &cli::Methods) -> Result<()> {
    let mut output = Output::open(None)?;
    match &args.name {
        Some(name) => output.write_all(find(name)?.page.as_bytes())?,
        None => {
            let row = |info: &&exegete::methods::Info| {
                let promises: Vec<&str> = info.axioms.iter().map(|axiom| promise(*axiom)).collect();
                vec![info.name.to_owned(), info.summary.to_owned(), promises.join(", ")]
            };
            table::print(&table::plain(
                &["method", "what it says", "promises"],
                METHODS.iter().map(row).collect(),
                &[],
            ))?;
        }
    }
    output.complete()
}

fn promise(axiom: Axiom) -> &'static str {
    match axiom {
        Axiom::Completeness => "completeness",
        Axiom::Sensitivity => "sensitivity",
        Axiom::Dummy => "dummy",
        Axiom::Symmetry => "symmetry",
        Axiom::Linearity => "linearity",
        Axiom::ImplementationInvariance => "implementation invariance",
    }
}
