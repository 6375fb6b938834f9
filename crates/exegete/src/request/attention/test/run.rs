//! A checked request: texts in, rows and tables out.

use super::{AttentionRow, AttentionTestRequest, TrainedArms};
use crate::methods::debate::{
    Experiment, Measuring, Place, Summary, TestedText, TextRecord, TextsLike, measure, tables,
};
use crate::methods::statistics::interval::median;
use crate::report::{Cell, Item, Provenance, RecordedFile, Report, Rows, SCHEMA, Table};
use crate::request::attention::arms::{self, ArmsRequest};
use crate::request::input::TextReader;
use crate::request::{
    AddressOptions, Listener, Notice, Stop, check_stop, model, needed, record, say_going_on,
};
use crate::{Driver, Model, Predictions, Row, Scores, Spent};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// How many texts are looked at together: enough for large batches, and little is lost where a run is killed.
const CHUNK_TEXTS: usize = 64;
/// With fewer parts there is no other order.
const LEAST_PARTS: usize = 2;

/// More seeds than anybody waits for.
const MOST_SEEDS: usize = 1000;

/// A request that was checked, with its model open and its texts read.
pub struct AttentionTest<'a> {
    request: &'a AttentionTestRequest,
    experiments: Vec<Experiment>,
    /// What cannot run, and why.
    refused: Vec<(Experiment, String)>,
    model: Arc<dyn Model>,
    place: Place,
    texts: Vec<TestedText>,
    /// How a small model weighs words; empty for others.
    attention: String,
    /// Which published data the texts are like.
    like: TextsLike,
    /// What was left out, and why.
    left_out: Vec<String>,
    recorded: Vec<RecordedFile>,
    driver: Driver,
    started: Instant,
}

/// Runs every experiment and says what it comes to.
pub fn run(request: &AttentionTestRequest, stop: &Stop, tell: Listener<'_>) -> Result<Report> {
    let test = open(request, stop, tell)?;
    let records = test.measure(Vec::new(), tell, &mut |_| Ok(()))?;
    let arms = test.train(None, tell)?;
    Ok(test.report(&records, &arms))
}

/// Checks the request, opens its model and reads its texts.
pub fn open<'a>(
    request: &'a AttentionTestRequest,
    stop: &Stop,
    tell: Listener<'_>,
) -> Result<AttentionTest<'a>> {
    needed(&request.input, "there are no texts; give them with --input FILE")?;
    let asked = request.asked()?;
    let choice = request.choice()?;
    let (pairs, address) = (request.pair_column.is_some(), AddressOptions::default());
    let model = model::load(request.model.as_deref(), &request.resources, &address, pairs, tell)?;
    let place = Place::find(&*model, &choice)?;
    refuse_unused(request, &asked)?;
    let (experiments, refused) = can_run(request, &asked, &*model, &place);
    if let ([], Some((experiment, reason))) = (&experiments[..], refused.first()) {
        bail!("{} cannot run: {reason}", experiment.name());
    }
    let mut driver = Driver::new(request.resources.memory());
    driver.stop = stop.clone();
    let mut test = AttentionTest {
        request,
        experiments,
        refused,
        place,
        texts: Vec::new(),
        attention: String::new(),
        like: TextsLike::default(),
        left_out: Vec::new(),
        recorded: record::files(&request.named_files())?,
        driver,
        model,
        started: Instant::now(),
    };
    test.read(stop)?;
    test.check_classes()?;
    test.compare_with();
    test.tell_cost(tell);
    Ok(test)
}

/// Rows to train on that nothing is trained on.
fn refuse_unused(request: &AttentionTestRequest, asked: &[Experiment]) -> Result<()> {
    if request.train.is_some() != request.dev.is_some() {
        bail!("--train and --dev belong together: rows to learn from, and rows to measure on");
    }
    if request.seeds.is_some() && request.train.is_none() {
        bail!("--seeds is for models that are trained; give --train FILE and --dev FILE too");
    }
    if let Some(seeds) = request.seeds.filter(|seeds| !(1..=MOST_SEEDS).contains(seeds)) {
        bail!("--seeds {seeds}: expected a number from 1 to {MOST_SEEDS}");
    }
    if request.train.is_some() && !asked.iter().any(|experiment| experiment.trains()) {
        bail!("--train is for uniform, seeds, guide and adversarial_training, none of which --only names");
    }
    Ok(())
}

/// What can run on an attention, and why the rest cannot.
fn can_run(
    request: &AttentionTestRequest,
    asked: &[Experiment],
    model: &dyn Model,
    place: &Place,
) -> (Vec<Experiment>, Vec<(Experiment, String)>) {
    let folder = request.model.as_deref().filter(|_| !model::is_default(request.model.as_deref()));
    let reason = |experiment: Experiment| {
        if experiment != Experiment::Correlation && !place.can_be_replaced() {
            Some("with --level word only the correlation is defined".to_owned())
        } else if !experiment.trains() {
            None
        } else if request.train.is_none() {
            Some("it trains models beside this one; give --train FILE and --dev FILE".to_owned())
        } else {
            arms::refused(experiment, folder, model, place)
        }
    };
    let (mut can, mut refused) = (Vec::new(), Vec::new());
    for &experiment in asked {
        match reason(experiment) {
            Some(reason) => refused.push((experiment, reason)),
            None => can.push(experiment),
        }
    }
    (can, refused)
}

impl AttentionTest<'_> {
    /// The model that is tested.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// The texts that are tested.
    pub(in crate::request::attention) fn texts(&self) -> &[TestedText] {
        &self.texts
    }

    /// Which published data the texts are like, and how many words one has.
    pub(in crate::request::attention) fn like(&self) -> (TextsLike, f64) {
        let mut words: Vec<f64> = self.texts.iter().map(|text| text.parts.words as f64).collect();
        (self.like, median(&mut words))
    }

    /// What was left out, and why.
    pub(in crate::request::attention) fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// What it took so far.
    pub(in crate::request::attention) fn spent(&self) -> Spent {
        self.driver.spent()
    }

    /// The experiments that it runs.
    pub(in crate::request::attention) fn experiments(&self) -> &[Experiment] {
        &self.experiments
    }

    /// What the records of some experiments come to.
    pub(in crate::request::attention) fn tables(
        &self,
        records: &[TextRecord],
        experiments: &[Experiment],
        arms: &TrainedArms,
    ) -> (Vec<Rows>, Vec<Table>) {
        let card = self.model.card();
        tables(&Summary {
            records,
            labels: &card.labels,
            experiments,
            family: &card.family,
            attention: &self.attention,
            like: self.like,
            noun: self.place.noun(),
            seed: self.request.seed,
            training: &arms.records,
            base_alpha: &arms.alpha,
        })
    }

    /// How many texts are tested.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is none, which `open` does not let happen.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// What makes two runs the same beside request and model: every text.
    pub fn contents(&self) -> Vec<String> {
        self.texts.iter().map(|text| format!("{} {:?}", text.number, text.encoded.fields)).collect()
    }

    /// What was found about every text, after what an earlier run found; the sink gets some as they are done.
    pub fn measure(
        &self,
        mut records: Vec<TextRecord>,
        tell: Listener<'_>,
        sink: &mut dyn FnMut(&[TextRecord]) -> Result<()>,
    ) -> Result<Vec<TextRecord>> {
        let Self { model, driver, place, experiments, request, .. } = self;
        let threads = request.resources.count();
        let asked = Measuring { model: &**model, driver, place, experiments, seed: request.seed, threads };
        say_going_on(records.len(), tell);
        let left = self.texts.get(records.len()..).unwrap_or_default();
        for chunk in left.chunks(if place.is_transformer() { 1 } else { CHUNK_TEXTS }) {
            check_stop(&driver.stop)?;
            tell(Notice::Texts(records.len(), self.texts.len()));
            let found = measure(&asked, chunk)?;
            sink(&found)?;
            records.extend(found);
        }
        Ok(records)
    }

    /// Trains what is asked for beside the model, below a folder that a killed run goes on from; without one below a folder
    /// for the moment.
    pub fn train(&self, work: Option<&Path>, tell: Listener<'_>) -> Result<TrainedArms> {
        let AttentionTestRequest { model, train, dev, .. } = self.request;
        let (Some(model), Some(train), Some(dev)) = (model, train, dev) else {
            return Ok(TrainedArms::default());
        };
        if !self.experiments.iter().any(|experiment| experiment.trains()) {
            return Ok(TrainedArms::default());
        }
        let scratch = work.is_none().then(scratch);
        let work = work.or(scratch.as_deref()).unwrap_or(Path::new("."));
        let published = ArmsRequest::new(model, train, dev, work);
        let asked = ArmsRequest {
            experiments: self.experiments.clone(),
            choice: self.request.choice()?,
            seeds: self.request.seeds.unwrap_or(published.seeds),
            min_words: self.request.min_words,
            resources: self.request.resources,
            ..published
        };
        let found = arms::run(&asked, &self.driver.stop, tell);
        scratch.map(std::fs::remove_dir_all);
        found
    }

    /// The rows and tables of what was found.
    pub fn report(&self, records: &[TextRecord], arms: &TrainedArms) -> Report {
        let card = self.model.card();
        let (mut rows, found) = self.tables(records, &self.experiments, arms);
        let notes = self.left_out.iter().chain(&arms.notes).cloned();
        rows[0].notes.extend(notes.chain([self.setting()]));
        let refused = (!self.refused.is_empty()).then(|| refused(&self.refused));
        let tables = found.into_iter().chain(refused).map(Item::Table);
        let items = rows.into_iter().map(Item::Rows).chain(tables).collect();
        let request = record::recorded("attention test", self.request, self.recorded.clone());
        let (seconds, spent) = (self.started.elapsed().as_secs_f64(), self.driver.spent());
        let threads = self.request.resources.count();
        let provenance = Provenance::new(card, self.request.seed, threads, seconds, spent);
        Report { schema: SCHEMA.to_owned(), provenance, request, items }
    }

    /// Reads the texts that can be tested.
    fn read(&mut self, stop: &Stop) -> Result<()> {
        let AttentionTestRequest { min_words, limit, .. } = *self.request;
        let mut source = TextReader::open_until(&self.request.texts(), self.model.card().task, stop)?;
        let (mut read, mut short, mut single) = (0, 0, 0);
        while limit.is_none_or(|limit| read < limit)
            && let Some(example) = source.read()?
        {
            let encoded = Arc::new(self.model.encoded(&example)?);
            let parts = self.place.parts(&encoded);
            match (parts.words < min_words, parts.names.len() < LEAST_PARTS) {
                (true, _) => short += 1,
                (_, true) => single += 1,
                _ => self.texts.push(TestedText { number: read as u64, encoded, parts }),
            }
            read += 1;
        }
        self.recorded.extend(source.recorded_stdin());
        let name = source.name();
        if read == 0 {
            bail!("{name}: holds no text");
        }
        let noun = self.place.noun().trim_end_matches('s');
        if self.texts.is_empty() && single > 0 {
            bail!(
                "{name}: no text is left: those of enough words have one {noun}, of which nothing can be moved or erased"
            );
        }
        if self.texts.is_empty() {
            bail!("{name}: no text is left: none of {read} has {min_words} words; lower --min-words");
        }
        if short > 0 {
            self.left_out.push(format!("{short} of {read} texts left out: fewer than {min_words} words"));
        }
        if single > 0 {
            self.left_out.push(format!("{single} of {read} texts left out: one {noun} only"));
        }
        let cut = self.texts.iter().filter(|text| text.encoded.truncated).count();
        if cut > 0 {
            self.left_out.push(format!("{cut} texts were cut off to fit the model"));
        }
        Ok(())
    }

    /// Something must be decided, and it must be able to go another way.
    fn check_classes(&self) -> Result<()> {
        let card = self.model.card();
        let first = Row::new(self.texts[0].encoded.clone());
        let found = self.driver.read_one(&*self.model, &first, &Predictions(&*self.model))?;
        match found.scores {
            Scores::Classes { .. } if card.labels.len() > 1 => Ok(()),
            Scores::Classes { .. } => {
                bail!("{} knows one class only, so that no answer can change", card.name)
            }
            _ => bail!(
                "{} does not decide between classes of whole texts; attention test needs that",
                card.name
            ),
        }
    }

    /// Says which published numbers stand beside these, by the texts and what the folder says of the model.
    fn compare_with(&mut self) {
        let folder = self.request.model.as_deref().map(|folder| folder.join("config.json"));
        let config = folder.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        let config: serde_json::Value = serde_json::from_str(&config).unwrap_or_default();
        self.attention = config["attention"].as_str().unwrap_or_default().to_owned();
        self.like = if config["head"] == "entity_qa" {
            TextsLike::Questions
        } else if self.texts.iter().any(|text| text.encoded.fields.len() > 1) {
            TextsLike::Pairs
        } else if self.model.card().family == "han" {
            TextsLike::OfSentences
        } else {
            TextsLike::Single
        };
    }

    /// What other weights cost where they are run and not worked out.
    fn tell_cost(&self, tell: Listener<'_>) {
        if !self.place.is_transformer() {
            return;
        }
        let cost = |experiment: &Experiment| match experiment {
            Experiment::Permutation => 100,
            Experiment::Adversary => 5 * 501,
            _ => 0,
        };
        let rows: usize = self.experiments.iter().map(cost).sum();
        let texts = self.texts.len();
        tell(Notice::Note(&format!(
            "other weights at {} are run from that layer on: about {rows} rows for each of {texts} texts; --only and --limit make it less",
            self.place.site
        )));
    }

    /// How this differs from what the papers did.
    fn setting(&self) -> String {
        if !self.place.is_transformer() {
            return format!(
                "attention: {}, one weight for each of a text's {}, as in the papers",
                self.place.site,
                self.place.noun()
            );
        }
        let AttentionTestRequest { head, row, .. } = self.request;
        let row = if *row == AttentionRow::Cls {
            "the row of the first token"
        } else {
            "the mean over the words' rows"
        };
        format!(
            "attention: {}, heads {head}, {row}; the papers weigh the states of small models once, where nothing else leads to the answer: here layers before and the residual stream beside it do, so that the same weights matter less",
            self.place.site
        )
    }
}

/// A folder of this run alone.
fn scratch() -> PathBuf {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    std::env::temp_dir().join(format!("exegete-{}-{now}", std::process::id()))
}

fn refused(refused: &[(Experiment, String)]) -> Table {
    let row = |(experiment, reason): &(Experiment, String)| {
        vec![Cell::Word(experiment.name().to_owned()), Cell::Word(reason.clone())]
    };
    Table {
        name: "refused".to_owned(),
        title: "What was not run".to_owned(),
        columns: vec!["experiment".to_owned(), "reason".to_owned()],
        rows: refused.iter().map(row).collect(),
        ..Table::default()
    }
}
