//! The request of `exegete explain`: from a text, or every text of a file, to reports.

use super::answers::{Drivers, Watch};
use super::input::{TextReader, TextsAgain, TextsTogether};
use super::record::{self, recorded};
use super::{
    AddressOptions, HidingOptions, Listener, Resources, Stop, TextInput, check_stop, cost, hiding, model,
    normal_form, say_going_on, settings, unused,
};
use crate::methods::evidence::Level;
use crate::methods::{
    Baseline, ConfiguredMethod, Corpus, Foreseen, Kind, Request, SiteChoice, TextSource, Unread,
    default_method, explain_foreseen, foresee, foresees, survey,
};
use crate::report::{Item, Provenance, RecordedFile, RecordedRequest, Report, SCHEMA};
use crate::task::Classes;
use crate::{Advance, Card, Driver, Error, Example, Model, Site, Spent, Target, Units};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What `exegete explain` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct ExplainRequest {
    /// The texts to explain, and how to read them.
    #[serde(flatten)]
    #[command(flatten)]
    pub texts: TextInput,
    /// A Hugging Face folder, or a black box: http://… or "cmd: COMMAND" [default: the model for English sentiment that
    /// is part of the program].
    #[arg(long, value_name = "MODEL")]
    pub model: Option<PathBuf>,
    /// How to explain, several for a comparison; `exegete methods` lists them [default: integrated_gradients, and
    /// partition_shap for a model that gives predictions only].
    #[arg(long, value_name = "NAME")]
    pub method: Option<Vec<String>>,
    /// Texts that a method over many texts, such as triggers, learns nothing from: its success is measured on them.
    #[arg(long, value_name = "FILE", requires = "input")]
    pub held_out: Option<PathBuf>,
    /// What to explain: predicted, class:NAME, margin:A,B, loss, start, end, answer, tag:POS=LABEL, token:POS=WORD,
    /// unit:SITE[pos,i]; with :logit, :prob or :logprob.
    #[allow(rustdoc::broken_intra_doc_links, reason = "help is no Markdown, and SITE[pos,i] no link")]
    #[arg(long, value_name = "T", default_values_t = Self::default().target, conflicts_with = "top_labels")]
    pub target: Vec<String>,
    /// Explain this many of the most probable labels.
    #[arg(long, value_name = "K")]
    pub top_labels: Option<usize>,
    /// The right label, for the target loss.
    #[arg(long, value_name = "L", conflicts_with = "label_column")]
    pub label: Option<String>,
    /// Where scores are taken, such as layer.3.out, or all-layers for the story of every layer.
    #[arg(long, value_name = "S", default_value_t = Self::default().site)]
    pub site: String,
    /// What scores are summed to.
    #[arg(long, value_name = "U", default_value_t = Self::default().units)]
    pub units: String,
    /// A parameter of the methods, such as steps=50, or of one, such as lrp.rule=gamma; key=@FILE is what a file holds.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// What the text is compared with: zero, zero-content, pad, mask, mean, text:…; several are averaged [default: what
    /// each method takes by itself, mostly zero].
    #[arg(long, value_name = "B")]
    pub baseline: Option<Vec<String>>,
    /// How words are hidden.
    #[serde(flatten)]
    #[command(flatten)]
    pub hiding: HidingOptions,
    /// How much evidence is gathered.
    #[arg(long, value_enum, default_value_t)]
    pub check: ExplainCheck,
    /// The seed of everything random.
    #[arg(long, value_name = "N", default_value_t)]
    pub seed: u64,
    /// What the run may use.
    #[serde(flatten)]
    #[command(flatten)]
    pub resources: Resources,
    /// How a model at an address is asked.
    #[serde(flatten)]
    #[command(flatten)]
    pub remote: AddressOptions,
}

impl Default for ExplainRequest {
    fn default() -> Self {
        Self {
            texts: TextInput::default(),
            model: None,
            method: None,
            held_out: None,
            target: vec!["predicted".to_owned()],
            top_labels: None,
            label: None,
            site: "embed.word".to_owned(),
            units: "word".to_owned(),
            set: Vec::new(),
            baseline: None,
            hiding: HidingOptions::default(),
            check: ExplainCheck::default(),
            seed: 0,
            resources: Resources::default(),
            remote: AddressOptions::default(),
        }
    }
}

/// How much evidence is gathered beside an explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ExplainCheck {
    /// Only what the method itself claims.
    None,
    /// What removing words does, within 190 forward rows.
    #[default]
    Default,
    /// Noise, perturbations and random parameters too.
    Deep,
}

/// A request that was checked, with its model open.
pub struct Explainer<'a> {
    request: &'a ExplainRequest,
    asked: Request,
    model: Arc<dyn Model>,
    /// The files that the request names, as they were when it began.
    files: Vec<RecordedFile>,
    stop: Stop,
    watch: Option<Watch>,
}

/// What was read of a text together with others.
#[derive(Clone)]
struct ForeseenText {
    found: Foreseen,
    /// Its share of the time that took.
    seconds: f64,
}

/// So many texts keep threads and caches busy, and no more are read ahead.
const TEXTS_TOGETHER: usize = 64;

/// Where a run over many texts goes on.
#[derive(Debug, Clone, Copy, Default)]
pub struct GoingOn<'a> {
    /// The SHA-256 of each text that an earlier run finished ([`text_sha256`](super::text_sha256)); these are read, compared
    /// and left out.
    pub finished: &'a [String],
    /// Where answers for unfinished texts are kept: those of a black box, and of any model where texts are looked at together.
    pub answers: Option<&'a Path>,
}

/// Explains, and hands over the report about the text, one for each of many texts in their order, or the one about all of them.
pub fn run(
    request: &ExplainRequest,
    stop: &Stop,
    tell: Listener<'_>,
    sink: &mut dyn FnMut(Report) -> Result<()>,
) -> Result<()> {
    let explainer = open(request, stop, tell)?;
    match explainer.many() {
        true => explainer.each(GoingOn::default(), tell, &mut |_, report| sink(report)),
        false => sink(explainer.report(GoingOn::default(), tell)?),
    }
}

/// Refuses options that say what is usual where no method reads them; `options` are the fields of those that somebody wrote.
pub fn refuse_written(request: &ExplainRequest, options: &[&str]) -> Result<()> {
    unused::written(request, &asked(request)?, options)
}

/// Checks the request and opens its model.
pub fn open<'a>(request: &'a ExplainRequest, stop: &Stop, tell: Listener<'_>) -> Result<Explainer<'a>> {
    request.texts.check()?;
    let mut asked = asked(request)?;
    unused::of_explain(request, &asked)?;
    let ExplainRequest { model, resources, remote, texts, .. } = request;
    let model = model::load(model.as_deref(), resources, remote, texts.pairs(), tell)?;
    asked.masker = hiding::masker(&request.hiding, &*model)?;
    let (stop, files) = (stop.clone(), Vec::new());
    let mut explainer = Explainer { request, asked, model, files, stop, watch: None };
    if explainer.surveys() && !texts.many() {
        bail!("{} looks at many texts together; give them with --input FILE", names(request).join(", "));
    }
    let mut files = request.named_files();
    // A report of one text of many is about that text, wherever it came from.
    files.retain(|(name, _)| !["--input", "--weights"].contains(name) || explainer.surveys());
    explainer.files = record::files(&files)?;
    if !explainer.surveys() {
        TextReader::check_file(texts, explainer.model.card().task, explainer.labels())?;
    }
    Ok(explainer)
}

impl Explainer<'_> {
    /// The model that is asked.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// The same, telling `watch` after every batch how far the work has come.
    #[must_use]
    pub fn watched(self, watch: impl Fn(Advance) + Send + Sync + 'static) -> Self {
        Self { watch: Some(Arc::new(watch)), ..self }
    }

    /// Whether there will be one report a text of many; else there is one in all.
    pub fn many(&self) -> bool {
        self.request.texts.many() && !self.surveys()
    }

    /// Whether a method looks at all texts together.
    pub fn surveys(&self) -> bool {
        self.asked.methods.iter().any(|chosen| matches!(chosen.kind, Kind::Surveys(_)))
    }

    /// The report about one text, or about all texts together, for which no text is finished before all are.
    pub fn report(&self, from: GoingOn<'_>, tell: Listener<'_>) -> Result<Report> {
        let drivers = self.drivers(from.answers)?;
        if self.surveys() {
            return self.surveyed(&drivers, tell);
        }
        let mut source = self.source()?;
        let example = source.read()?.context("there is no text")?;
        cost::say(&*self.model, self.request.resources.memory(), (&example, 1), &self.asked, tell);
        self.explained(example, None, &drivers)
    }

    /// One report a text, in order, as they are made. After [`Error::Stopped`] the sink has every text
    /// that was finished.
    pub fn each(
        &self,
        from: GoingOn<'_>,
        tell: Listener<'_>,
        sink: &mut dyn FnMut(&Example, Report) -> Result<()>,
    ) -> Result<()> {
        let mut source = self.source()?;
        let drivers = self.drivers(from.answers)?;
        // Whoever writes texts into a pipe may wait for each answer.
        let whole = source.total_bytes.is_some_and(|bytes| bytes > 0);
        let together = if whole && self.foresees(&drivers) { TEXTS_TOGETHER } else { 1 };
        // How a text is rounded may depend on the texts beside it, so those that were finished are read with the others.
        let (whole, part) = from.finished.split_at(from.finished.len() / together * together);
        source.skip(whole)?;
        let mut known = source.skipped(part)?;
        say_going_on(from.finished.len(), tell);
        tell(source.progress(from.finished.len()));
        let (mut texts, mut first) = (from.finished.len(), true);
        loop {
            check_stop(&self.stop)?;
            let (chunk, end) = source.together(std::mem::take(&mut known), together);
            let Some((example, _)) = chunk.unfinished().next() else {
                end?;
                break;
            };
            // The first text stands for the others.
            if std::mem::take(&mut first) {
                cost::say(&*self.model, self.request.resources.memory(), (example, 1), &self.asked, tell);
            }
            self.chunk(&chunk, source.name(), &drivers, &mut |example, report| {
                sink(example, report)?;
                texts += 1;
                tell(source.progress(texts));
                Ok(())
            })?;
            end?;
        }
        if texts == 0 { bail!("{}: holds no text", source.name()) } else { Ok(()) }
    }

    /// The new texts of some that are read together.
    fn chunk(
        &self,
        chunk: &TextsTogether,
        name: &str,
        drivers: &Drivers,
        sink: &mut dyn FnMut(&Example, Report) -> Result<()>,
    ) -> Result<()> {
        let foreseen = self.foreseen(&chunk.examples, drivers)?.into_iter().skip(chunk.finished);
        for ((example, line), foreseen) in chunk.unfinished().zip(foreseen) {
            check_stop(&self.stop)?;
            let report = self.explained(example.clone(), foreseen, drivers);
            sink(example, report.with_context(|| format!("{name}: line {line}"))?)?;
        }
        Ok(())
    }

    /// Whether something of a text is read before it is explained; not where answers are kept in a file, which one driver does.
    fn foresees(&self, drivers: &Drivers) -> bool {
        !drivers.keep_answers() && foresees(&*self.model, &self.asked)
    }

    /// What can be read of some texts together, with each one's share of the time. Whatever is wrong with one of them is said
    /// when it is explained by itself.
    fn foreseen(&self, examples: &[Example], drivers: &Drivers) -> Result<Vec<Option<ForeseenText>>> {
        if !self.foresees(drivers) {
            return Ok(vec![None; examples.len()]);
        }
        let started = Instant::now();
        let mut driver = Driver::new(self.request.resources.memory());
        driver.stop = self.stop.clone();
        let found = match foresee(&*self.model, &driver, examples, &self.asked) {
            Err(Error::Stopped) => return Err(Error::Stopped.into()),
            found => found.unwrap_or_else(|_| vec![None; examples.len()]),
        };
        let seconds = started.elapsed().as_secs_f64() / examples.len().max(1) as f64;
        Ok(found.into_iter().map(|found| Some(ForeseenText { found: found?, seconds })).collect())
    }

    /// The model, where the labels of rows must be its own.
    fn labels(&self) -> Option<&Card> {
        let card = self.model.card();
        // What says nothing of the model counts labels as they are written.
        let asks = |chosen: &ConfiguredMethod| !chosen.kind.unread().contains(&Unread::Answers);
        let means = match self.surveys() {
            true => card.task.classes() == Classes::One && self.asked.methods.iter().any(asks),
            false => true,
        };
        Some(card).filter(|_| means && self.request.texts.label_column.is_some())
    }

    fn source(&self) -> Result<TextReader> {
        TextReader::open_until(&self.request.texts, self.model.card().task, &self.stop)
    }

    fn drivers(&self, answers: Option<&Path>) -> Result<Drivers> {
        let together = answers.filter(|_| self.surveys());
        let cache = self.request.hiding.cache.as_deref().or(together);
        let memory = self.request.resources.memory();
        let drivers = Drivers::new(memory, cache, answers, &*self.model, &self.stop)?;
        Ok(drivers.watched(self.watch.clone()))
    }

    fn explained(
        &self,
        mut example: Example,
        foreseen: Option<ForeseenText>,
        drivers: &Drivers,
    ) -> Result<Report> {
        let started = Instant::now();
        let before = foreseen.as_ref().map_or(0.0, |foreseen| foreseen.seconds);
        let foreseen = foreseen.map(|foreseen| foreseen.found);
        if self.request.label.is_some() {
            example.label.clone_from(&self.request.label);
        }
        let (items, spent) =
            drivers.with(|driver| explain_foreseen(&*self.model, driver, (&example, foreseen), &self.asked));
        let request = recorded("explain", &self.request.about(&example), self.files.clone());
        Ok(self.finished(items?, request, before + started.elapsed().as_secs_f64(), spent))
    }

    fn surveyed(&self, drivers: &Drivers, tell: Listener<'_>) -> Result<Report> {
        let started = Instant::now();
        let open =
            |texts: &TextInput| TextsAgain::open(texts, self.model.card().task, self.labels(), &self.stop);
        let examples = open(&self.request.texts)?;
        self.say_cost(&examples, tell)?;
        let mut held_out = None;
        if let Some(path) = &self.request.held_out {
            let texts = TextInput { text: None, input: Some(path.clone()), ..self.request.texts.clone() };
            let texts = open(&texts)?;
            refuse_overlap(&examples, &texts)?;
            held_out = Some(texts);
        }
        let (model, request) = (&*self.model, &self.asked);
        let (items, spent) = drivers.with(|driver| {
            let held_out = held_out.as_ref().map(|texts| texts as &dyn TextSource);
            survey(&Corpus { model, driver, examples: &examples, held_out, request })
        });
        let mut files = self.files.clone();
        files.extend(examples.recorded_stdin());
        let request = recorded("explain", self.request, files);
        Ok(self.finished(items?, request, started.elapsed().as_secs_f64(), spent))
    }

    /// The first text stands for the others, as many as there are.
    fn say_cost(&self, examples: &dyn TextSource, tell: Listener<'_>) -> Result<()> {
        let mut pass = examples.pass()?;
        let Some(first) = pass.next().transpose()? else { return Ok(()) };
        if !cost::grows(&*self.model, self.request.resources.memory(), &first, &self.asked) {
            return Ok(());
        }
        let mut texts = 1;
        for text in pass {
            text?;
            check_stop(&self.stop)?;
            texts += 1;
        }
        cost::say(&*self.model, self.request.resources.memory(), (&first, texts), &self.asked, tell);
        Ok(())
    }

    fn finished(
        &self,
        items: Vec<Item>,
        request: Option<RecordedRequest>,
        seconds: f64,
        spent: Spent,
    ) -> Report {
        let threads = self.request.resources.count();
        let provenance = Provenance::new(self.model.card(), self.request.seed, threads, seconds, spent);
        let items = record::warned(items, &*self.model);
        Report { schema: SCHEMA.to_owned(), provenance, request, items }
    }
}

/// What was learned from is not held out.
fn refuse_overlap(learned: &dyn TextSource, held_out: &dyn TextSource) -> Result<()> {
    let known = learned.pass()?.map(|example| Ok(normal_form(&example?)));
    let known = known.collect::<crate::Result<HashSet<String>>>()?;
    let (mut both, mut rows) = (0, 0);
    for example in held_out.pass()? {
        rows += 1;
        both += usize::from(known.contains(&normal_form(&example?)));
    }
    if both > 0 {
        bail!(
            "{both} of the {rows} rows of --held-out are also rows of --input; take them out of one of the two"
        );
    }
    Ok(())
}

impl ExplainRequest {
    /// The request without what changes no number: threads, memory, the cache, and how a black box is asked.
    pub fn meaning(&self) -> Self {
        let hiding = HidingOptions { cache: None, ..self.hiding.clone() };
        let (resources, remote) = (Resources::default(), AddressOptions::default());
        Self { hiding, resources, remote, ..self.clone() }
    }
}

/// What is asked, checked before any model is opened.
fn asked(request: &ExplainRequest) -> Result<Request> {
    let site = match request.site.as_str() {
        "embed.word" => SiteChoice::Words,
        "all-layers" => SiteChoice::AllLayers,
        site => SiteChoice::At(site.parse::<Site>()?),
    };
    if request.top_labels == Some(0) {
        bail!("--top-labels 0 explains nothing");
    }
    let targets = request.target.iter().map(|word| word.parse::<Target>());
    let baselines = request.baseline.iter().flatten().map(|word| word.parse::<Baseline>());
    Ok(Request {
        methods: ConfiguredMethod::all(&names(request), &settings(&request.set)?)?,
        masker: None,
        targets: targets.collect::<crate::Result<_>>()?,
        top_labels: request.top_labels,
        site,
        units: request.units.parse::<Units>()?,
        baselines: baselines.collect::<crate::Result<_>>()?,
        check: match request.check {
            ExplainCheck::None => Level::None,
            ExplainCheck::Default => Level::Default,
            ExplainCheck::Deep => Level::Deep,
        },
        seed: request.seed,
    })
}

/// The methods that the user names, or the one that suits what kind of model it is.
fn names(request: &ExplainRequest) -> Vec<String> {
    let own = default_method(!model::is_black_box(request.model.as_deref()));
    let named = request.method.clone().filter(|names| !names.is_empty());
    named.unwrap_or_else(|| vec![own.to_owned()])
}
