//! `exegete eval`: several explanations of many texts, measured and compared.

mod elsewhere;

use crate::answers::Drivers;
use crate::input::Source;
use crate::journal::Journal;
use crate::output::{destination, is_replaceable, report};
use crate::{cli, explain, hiding, model, progress};
use anyhow::{Context, Result, bail};
use elsewhere::File;
use exegete::methods::compare::{Contest, Cost, RANDOM, Text, tables};
use exegete::methods::evidence::Level;
use exegete::methods::{Baseline, Given, Picked, Place, Request, judge};
use exegete::report::{Item, Provenance, Report, SCHEMA};
use exegete::{Driver, Example, Model, Spent, Units};

/// Runs the command.
pub(crate) fn run(args: &cli::Eval) -> Result<()> {
    let mut request = request(args)?;
    let output = destination(args.output.as_deref(), &args.reads())?;
    let files = args.explanations.iter().map(|word| File::read(word)).collect::<Result<Vec<_>>>()?;
    let names = names(args, &files)?;
    let pairs = args.pair_column.is_some();
    let model = model::load(args.model.as_deref(), &args.resources, &args.remote, pairs)?;
    request.masker = hiding::masker(&args.hiding, &*model)?;
    let corpus = Corpus::read(args, &*model)?;
    let given = elsewhere::fit(&files, &corpus, &*model, request.units, args.limit.is_some())?;
    let journal = output.filter(|path| is_replaceable(path)).map(|path| {
        Journal::take_up(path, &(asked(args), &model.card().fingerprint, corpus.identity(), &files))
    });
    let mut journal = journal.transpose()?;
    let earlier = journal.as_ref().map_or(Ok(Vec::new()), |journal| finished(journal, names.len()))?;
    let cache = args.hiding.cache.as_deref();
    let drivers = Drivers::new(args.resources.memory(), cache, journal.as_ref(), &*model)?;
    let work = Work { model: &*model, drivers, request: &request, corpus: &corpus, given: &given };
    let texts = work.finish(earlier, journal.as_mut())?;
    let contest = Contest { names: &names, target: &args.target, units: request.units };
    let items = tables(&contest, &texts).into_iter().map(Item::Table).collect();
    let report = Report { schema: SCHEMA.to_owned(), provenance: provenance(args, &*model, &texts), items };
    report::write(&report, args.format.into(), output)?;
    journal.map_or(Ok(()), Journal::remove)
}

/// What is asked, checked before any model is opened.
fn request(args: &cli::Eval) -> Result<Request> {
    if args.limit == Some(0) {
        bail!("--limit 0 leaves no text");
    }
    Ok(Request {
        methods: Picked::all(&args.methods, &explain::settings(&args.set)?)?,
        masker: None,
        targets: vec![args.target.parse()?],
        top_labels: None,
        site: Place::Words,
        units: args.units.parse::<Units>()?,
        baselines: args.baselines.iter().map(|b| b.parse::<Baseline>()).collect::<exegete::Result<_>>()?,
        check: match args.check {
            cli::Depth::Default => Level::Default,
            cli::Depth::Deep => Level::Deep,
        },
        seed: args.seed,
    })
}

/// What the rows of the tables are called; each name once.
fn names(args: &cli::Eval, files: &[File]) -> Result<Vec<String>> {
    let mut names: Vec<String> = vec![RANDOM.to_owned()];
    for name in args.methods.iter().chain(files.iter().map(|file| &file.name)) {
        if names.contains(name) {
            bail!("'{name}' would name two rows of the table; give each explanation a name of its own");
        }
        names.push(name.clone());
    }
    names.remove(0);
    Ok(names)
}

/// What makes two runs the same, beside model, texts and files; format, threads and memory do not matter.
fn asked(args: &cli::Eval) -> String {
    let cli::Eval { methods, target, units, set, baselines, check, seed, hiding, .. } = args;
    let cli::Hiding { masker, words, .. } = hiding;
    format!(
        "eval {methods:?} {target:?} {units:?} {set:?} {baselines:?} {check:?} {seed} {masker:?} {words:?}"
    )
}

/// The texts, all read before the first is explained: a bad row is found at once and not after hours.
struct Corpus {
    name: String,
    /// Each with its line.
    rows: Vec<(usize, Example)>,
}

impl Corpus {
    fn read(args: &cli::Eval, model: &dyn Model) -> Result<Self> {
        let mut source = Source::open(&args.ask(), model.card().task)?;
        let mut rows = Vec::new();
        while args.limit.is_none_or(|limit| rows.len() < limit)
            && let Some(example) = source.next()?
        {
            rows.push((source.line(), example));
        }
        if rows.is_empty() {
            bail!("{}: holds no text", source.name());
        }
        Ok(Self { name: source.name().to_owned(), rows })
    }

    /// Where a text is, for an error about it.
    fn place(&self, index: usize) -> String {
        format!("{}: line {}", self.name, self.rows[index].0)
    }

    fn identity(&self) -> Vec<String> {
        self.rows.iter().map(|(_, example)| format!("{example:?}")).collect()
    }
}

/// What is measured on each text, and with what.
struct Work<'a> {
    model: &'a dyn Model,
    drivers: Drivers,
    request: &'a Request,
    corpus: &'a Corpus,
    /// Explanations made elsewhere, indexed `[text][file]`.
    given: &'a [Vec<Given>],
}

impl Work<'_> {
    /// What was measured on each text, after what an earlier run finished.
    fn finish(&self, mut texts: Vec<Text>, mut journal: Option<&mut Journal>) -> Result<Vec<Text>> {
        let Self { model, drivers, request, corpus, given } = self;
        let progress = progress::texts(corpus.rows.len(), texts.len());
        let rows = corpus.rows.iter().zip(*given).enumerate().skip(texts.len());
        for (index, ((_, example), given)) in rows {
            let judged = |driver: &Driver| judge(*model, driver, example, request, given, index as u64);
            let (text, _) = drivers.with(judged);
            let text = text.with_context(|| corpus.place(index))?;
            if let Some(journal) = &mut journal {
                journal.add(&serde_json::to_string(&text)?)?;
            }
            texts.push(text);
            progress.inc(1);
        }
        progress.finish_and_clear();
        Ok(texts)
    }
}

/// What an earlier run measured.
fn finished(journal: &Journal, names: usize) -> Result<Vec<Text>> {
    let read = |line: &String| -> Result<Text> {
        let text: Text = serde_json::from_str(line)?;
        let whole = text.measured.len() == if text.random.is_some() { names } else { 0 };
        if whole { Ok(text) } else { bail!("an explanation is missing") }
    };
    let texts = journal.lines()?.iter().map(read).collect::<Result<_>>();
    texts.with_context(|| format!("{}: is damaged; remove it to begin anew", journal.name()))
}

/// What all texts cost together, whichever run did them.
fn provenance(args: &cli::Eval, model: &dyn Model, texts: &[Text]) -> Provenance {
    let sum = |of: fn(&Cost) -> usize| texts.iter().map(|text| of(&text.cost)).sum();
    let spent = Spent {
        forward_rows: sum(|cost| cost.forward_rows),
        backward_rows: sum(|cost| cost.backward_rows),
        ..Spent::default()
    };
    let seconds = texts.iter().map(|text| text.cost.seconds).sum();
    Provenance::new(model.card(), args.seed, args.resources.count(), seconds, spent)
}
