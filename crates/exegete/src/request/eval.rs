//! The request of `exegete eval`: several explanations of many texts, measured and compared.

mod elsewhere;

use super::answers::Drivers;
use super::input::TextReader;
use super::{
    AddressOptions, HidingOptions, Listener, Notice, Resources, Stop, TextInput, check_stop, cost, hiding,
    model, needed, record, say_going_on, settings, unused,
};
use crate::methods::compare::{Cost, MethodComparison, RANDOM, Text, items};
use crate::methods::evidence::Level;
use crate::methods::{Baseline, ConfiguredMethod, ExternalScores, Request, SiteChoice, judge};
use crate::report::{Provenance, RecordedFile, Report, SCHEMA};
use crate::{Driver, Example, Model, Spent, Units};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use elsewhere::File;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What `exegete eval` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct EvalRequest {
    /// The methods to compare; `exegete methods` lists them.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', required_unless_present = "explanations")]
    pub methods: Vec<String>,
    /// The texts: .txt (a text a line), .tsv or .csv with a header, or .jsonl.
    #[arg(long, value_name = "FILE", required = true)]
    pub input: Option<PathBuf>,
    /// The column that holds the text [default: the first of text, sentence, content].
    #[arg(long, value_name = "C")]
    pub text_column: Option<String>,
    /// The column that holds the second text of a pair.
    #[arg(long, value_name = "C")]
    pub pair_column: Option<String>,
    /// The column that holds the right label.
    #[arg(long, value_name = "C")]
    pub label_column: Option<String>,
    /// Tables have no header: columns are numbered from 1, and the text is the first.
    #[arg(long)]
    pub no_header: bool,
    /// What stands between the columns of a table, one character or tab [default: a tab in .tsv, a comma in .csv].
    #[arg(long, value_name = "D")]
    pub delimiter: Option<String>,
    /// A Hugging Face folder, or a black box: http://… or "cmd: COMMAND" [default: the model for English sentiment that
    /// is part of the program].
    #[arg(long, value_name = "MODEL")]
    pub model: Option<PathBuf>,
    /// What to explain, as in `exegete explain`.
    #[arg(long, value_name = "T", default_value_t = Self::default().target)]
    pub target: String,
    /// What scores are summed to.
    #[arg(long, value_name = "U", default_value_t = Self::default().units)]
    pub units: String,
    /// A parameter of the methods, such as steps=50, or of one, such as lrp.rule=gamma.
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
    pub check: EvalCheck,
    /// Measures on these texts how often explanations that know nothing get a clean card, and how often the methods do.
    #[arg(long)]
    pub calibrate: bool,
    /// Only the first texts of the file.
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// The seed of everything random.
    #[arg(long, value_name = "N", default_value_t)]
    pub seed: u64,
    /// Explanations made elsewhere, to be judged beside the methods: a .jsonl file with one object a text, in the order of
    /// the input.
    ///
    /// An object is {"tokens": […], "scores": […]} with the model's own tokens, special ones included or not;
    /// {"units": [{"text": …, "start": …, "end": …, "score": …}]} with offsets in bytes (of the first text, or of the one
    /// that "field" counts from 0); or a line of `exegete explain --format jsonl`. Where no score of a file is negative,
    /// its scores are taken to have no sign.
    #[arg(long, value_name = "NAME=FILE")]
    pub explanations: Vec<String>,
    /// What the run may use.
    #[serde(flatten)]
    #[command(flatten)]
    pub resources: Resources,
    /// How a model at an address is asked.
    #[serde(flatten)]
    #[command(flatten)]
    pub remote: AddressOptions,
}

impl Default for EvalRequest {
    fn default() -> Self {
        Self {
            methods: Vec::new(),
            input: None,
            text_column: None,
            pair_column: None,
            label_column: None,
            no_header: false,
            delimiter: None,
            model: None,
            target: "predicted".to_owned(),
            units: "word".to_owned(),
            set: Vec::new(),
            baseline: None,
            hiding: HidingOptions::default(),
            check: EvalCheck::default(),
            calibrate: false,
            limit: None,
            seed: 0,
            explanations: Vec::new(),
            resources: Resources::default(),
            remote: AddressOptions::default(),
        }
    }
}

/// How much evidence is gathered for a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum EvalCheck {
    /// What removing words does, within 190 forward rows.
    #[default]
    Default,
    /// Noise, perturbations and random parameters too.
    Deep,
}

/// A request that was checked, with its model open and its files read.
pub struct Evaluator<'a> {
    request: &'a EvalRequest,
    asked: Request,
    names: Vec<String>,
    files: Vec<File>,
    model: Arc<dyn Model>,
    corpus: Corpus,
    /// Explanations made elsewhere, indexed `[text][file]`.
    given: Vec<Vec<ExternalScores>>,
    /// The files that the request names, as they were when it began.
    recorded: Vec<RecordedFile>,
    stop: Stop,
}

/// Measures every text and compares the methods.
pub fn run(request: &EvalRequest, stop: &Stop, tell: Listener<'_>) -> Result<Report> {
    let evaluator = open(request, stop, tell)?;
    let texts = evaluator.measure(Vec::new(), None, tell, &mut |_, _| Ok(()))?;
    Ok(evaluator.report(&texts))
}

/// Checks the request, opens its model and reads its files.
pub fn open<'a>(request: &'a EvalRequest, stop: &Stop, tell: Listener<'_>) -> Result<Evaluator<'a>> {
    let mut asked = asked(request)?;
    unused::of_eval(request, &asked)?;
    needed(&request.input, "there are no texts; give them with --input FILE")?;
    let files = request.explanations.iter().map(|word| File::read(word)).collect::<Result<Vec<_>>>()?;
    let names = names(request, &files)?;
    let EvalRequest { model, resources, remote, pair_column, .. } = request;
    let model = model::load(model.as_deref(), resources, remote, pair_column.is_some(), tell)?;
    asked.masker = hiding::masker(&request.hiding, &*model)?;
    let corpus = Corpus::read(request, &*model, stop)?;
    let given = elsewhere::fit(&files, &corpus, &*model, asked.units, request.limit.is_some())?;
    let mut recorded = record::files(&request.named_files())?;
    recorded.extend(corpus.stdin.clone());
    let stop = stop.clone();
    Ok(Evaluator { request, asked, names, files, model, corpus, given, recorded, stop })
}

impl Evaluator<'_> {
    /// The model that is asked.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// What makes two runs the same beside request and model: every text and every line of the explanations.
    pub fn contents(&self) -> Vec<String> {
        let texts = self.corpus.rows.iter().map(|(_, example)| format!("{example:?}"));
        texts.chain(self.files.iter().flat_map(File::contents)).collect()
    }

    /// Whether something that was measured earlier fits this request.
    pub fn fits(&self, text: &Text) -> bool {
        text.measured.len() == if text.random.is_some() { self.names.len() } else { 0 }
    }

    /// What was measured on each text, after what an earlier run finished; the sink gets each as it is measured.
    pub fn measure(
        &self,
        mut texts: Vec<Text>,
        answers: Option<&Path>,
        tell: Listener<'_>,
        sink: &mut dyn FnMut(&Example, &Text) -> Result<()>,
    ) -> Result<Vec<Text>> {
        let Self { request, asked, model, corpus, given, .. } = self;
        let cache = request.hiding.cache.as_deref();
        let drivers = Drivers::new(request.resources.memory(), cache, answers, &**model, &self.stop)?;
        say_going_on(texts.len(), tell);
        let left = corpus.rows.len() - texts.len().min(corpus.rows.len());
        if let Some((_, example)) = corpus.rows.get(texts.len()) {
            cost::say(&**model, request.resources.memory(), (example, left), asked, tell);
        }
        let rows = corpus.rows.iter().zip(given).enumerate().skip(texts.len());
        for (index, ((_, example), given)) in rows {
            check_stop(&self.stop)?;
            tell(Notice::Texts(index, corpus.rows.len()));
            let judged = |driver: &Driver| judge(&**model, driver, example, asked, given, index as u64);
            let (text, _) = drivers.with(judged);
            let text = text.with_context(|| corpus.place(index))?;
            sink(example, &text)?;
            texts.push(text);
        }
        Ok(texts)
    }

    /// The tables of what was measured, and at last what they come to.
    pub fn report(&self, texts: &[Text]) -> Report {
        let contest = MethodComparison {
            names: &self.names,
            target: &self.request.target,
            units: self.asked.units,
            seed: self.request.seed,
            calibrate: self.request.calibrate,
        };
        let items = record::warned(items(&contest, texts), &*self.model);
        let request = record::recorded("eval", self.request, self.recorded.clone());
        Report { schema: SCHEMA.to_owned(), provenance: self.provenance(texts), request, items }
    }

    /// What all texts cost together, whichever run did them.
    fn provenance(&self, texts: &[Text]) -> Provenance {
        let sum = |of: fn(&Cost) -> usize| texts.iter().map(|text| of(&text.cost)).sum();
        let spent = Spent {
            forward_rows: sum(|cost| cost.forward_rows),
            remembered_rows: sum(|cost| cost.asked_rows.saturating_sub(cost.forward_rows)),
            backward_rows: sum(|cost| cost.backward_rows),
            ..Spent::default()
        };
        let seconds = texts.iter().map(|text| text.cost.seconds).sum();
        let EvalRequest { seed, resources, .. } = self.request;
        Provenance::new(self.model.card(), *seed, resources.count(), seconds, spent)
    }
}

impl EvalRequest {
    /// The request without what changes no number: threads, memory, the cache, and how a black box is asked.
    pub fn meaning(&self) -> Self {
        let hiding = HidingOptions { cache: None, ..self.hiding.clone() };
        let (resources, remote) = (Resources::default(), AddressOptions::default());
        Self { hiding, resources, remote, ..self.clone() }
    }
}

/// What is asked, checked before any model is opened.
fn asked(request: &EvalRequest) -> Result<Request> {
    if request.limit == Some(0) {
        bail!("--limit 0 leaves no text");
    }
    if request.methods.is_empty() && request.explanations.is_empty() {
        bail!("there is nothing to compare; give --methods A,B or --explanations NAME=FILE");
    }
    let baselines = request.baseline.iter().flatten().map(|word| word.parse::<Baseline>());
    Ok(Request {
        methods: ConfiguredMethod::all(&request.methods, &settings(&request.set)?)?,
        masker: None,
        targets: vec![request.target.parse()?],
        top_labels: None,
        site: SiteChoice::Words,
        units: request.units.parse::<Units>()?,
        baselines: baselines.collect::<crate::Result<_>>()?,
        check: match request.check {
            EvalCheck::Default => Level::Default,
            EvalCheck::Deep => Level::Deep,
        },
        seed: request.seed,
    })
}

/// What the rows of the tables are called; each name once.
fn names(request: &EvalRequest, files: &[File]) -> Result<Vec<String>> {
    let mut names: Vec<String> = vec![RANDOM.to_owned()];
    for name in request.methods.iter().chain(files.iter().map(|file| &file.name)) {
        if names.contains(name) {
            bail!("'{name}' would name two rows of the table; give each explanation a name of its own");
        }
        names.push(name.clone());
    }
    names.remove(0);
    Ok(names)
}

/// The texts, all read before the first is explained: a bad row is found at once and not after hours.
struct Corpus {
    name: String,
    /// Each with its line.
    rows: Vec<(usize, Example)>,
    /// The standard input, where they come from there.
    stdin: Option<RecordedFile>,
}

impl Corpus {
    fn read(request: &EvalRequest, model: &dyn Model, stop: &Stop) -> Result<Self> {
        let texts = TextInput {
            input: request.input.clone(),
            text_column: request.text_column.clone(),
            pair_column: request.pair_column.clone(),
            label_column: request.label_column.clone(),
            no_header: request.no_header,
            delimiter: request.delimiter.clone(),
            ..TextInput::default()
        };
        let mut source = TextReader::open_until(&texts, model.card().task, stop)?;
        let rows = source.whole(request.limit, texts.label_column.as_ref().map(|_| model.card()))?;
        if rows.is_empty() {
            bail!("{}: holds no text", source.name());
        }
        Ok(Self { name: source.name().to_owned(), rows, stdin: source.recorded_stdin() })
    }

    /// Where a text is, for an error about it.
    fn place(&self, index: usize) -> String {
        format!("{}: line {}", self.name, self.rows[index].0)
    }
}
