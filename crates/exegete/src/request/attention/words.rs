//! The request of `exegete attention words`: what words are worth to attention over all their places.

use super::super::{Listener, Notice, Resources, RunIdentity, Stop, check_stop, needed};
use super::corpus::{CorpusOptions, CorpusRun, LabelledText, contents};
use super::{CorpusLook, Steps};
use crate::methods::debate::{Place, PlaceChoice, TestedText};
use crate::methods::heads::lexicon::{CORRELATED_PLACES, WordPlace, WordScores, correlation, places, words};
use crate::report::{Cell, Item, Picture, Report, ReportRow, Rows, Shape, Table};
use anyhow::{Result, bail};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// How many texts run together.
const CHUNK_TEXTS: usize = 64;

/// What `exegete attention words` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct AttentionWordsRequest {
    /// The texts and the model that are asked about.
    #[serde(flatten)]
    #[command(flatten)]
    pub corpus: CorpusOptions,
    /// Words at fewer places are left out.
    #[arg(long, value_name = "N", default_value_t = Self::default().min_count)]
    pub min_count: usize,
    /// The class that polarity speaks for [default: the last].
    #[arg(long, value_name = "LABEL")]
    pub label: Option<String>,
    /// Which layer of a transformer, from 0 [default: the last].
    #[arg(long, value_name = "N")]
    pub layer: Option<usize>,
    /// What the run may use.
    #[serde(flatten)]
    #[command(flatten)]
    pub resources: Resources,
}

impl Default for AttentionWordsRequest {
    fn default() -> Self {
        Self {
            corpus: CorpusOptions::default(),
            min_count: 5,
            label: None,
            layer: None,
            resources: Resources::default(),
        }
    }
}

/// Scores the words of a corpus.
pub fn run(request: &AttentionWordsRequest, stop: &Stop, tell: Listener<'_>) -> Result<Report> {
    open(request, stop, tell)?.find(&mut Steps::unkept(), tell)
}

/// Checks the request, opens its model and reads its texts.
pub fn open<'a>(
    request: &'a AttentionWordsRequest,
    stop: &Stop,
    tell: Listener<'_>,
) -> Result<Box<dyn CorpusLook + 'a>> {
    needed(&request.corpus.input, "there are no texts; give them with --input FILE")?;
    let mut run = CorpusRun::open((&request.corpus, &request.resources), &request.named_files(), stop, tell)?;
    let choice = PlaceChoice { layer: request.layer, ..PlaceChoice::default() };
    let place = Place::find(&*run.model, &choice)?;
    let class = request.class(&run, &place)?;
    let read = run.texts(stop)?;
    let contents = contents(&read);
    let tested = |(number, text): (usize, LabelledText)| TestedText {
        number: number as u64,
        parts: place.parts(&text.encoded),
        encoded: text.encoded,
    };
    let texts = read.into_iter().enumerate().map(tested);
    let texts = texts.filter(|text| !text.parts.names.is_empty()).collect();
    Ok(Box::new(WordsLook { request, run, class, texts, contents, place }))
}

/// A checked request about words.
struct WordsLook<'a> {
    request: &'a AttentionWordsRequest,
    run: CorpusRun<'a>,
    place: Place,
    class: usize,
    texts: Vec<TestedText>,
    contents: Vec<String>,
}

impl CorpusLook for WordsLook<'_> {
    fn identity(&self) -> Result<RunIdentity> {
        self.request.identity(self.run.model.card(), &self.contents)
    }

    fn find(&self, steps: &mut Steps<'_>, tell: Listener<'_>) -> Result<Report> {
        steps.say_going_on(tell);
        let Self { request, run, place, class, texts, .. } = self;
        let mut found: Vec<WordPlace> = Vec::new();
        for (i, chunk) in texts.chunks(CHUNK_TEXTS).enumerate() {
            check_stop(&run.driver.stop)?;
            tell(Notice::Texts(i * CHUNK_TEXTS, texts.len()));
            found.extend(steps.step(|| Ok(places(&*run.model, &run.driver, place, chunk, *class)?))?);
        }
        let scores = words(&found, request.min_count);
        if scores.is_empty() {
            bail!("no word is left: none has {} places; lower --min-count", request.min_count);
        }
        let label = run.model.card().labels.get(*class).cloned().unwrap_or_default();
        let transformer = place.is_transformer();
        let rows = rows(&scores, &label, transformer, request.min_count);
        // All words count here that have places enough, whatever is listed.
        let table = (!transformer).then(|| Item::Table(correlated(&words(&found, CORRELATED_PLACES))));
        Ok(run.report("attention words", request, std::iter::once(Item::Rows(rows)).chain(table).collect()))
    }
}

/// Do words that speak for a class have the larger attention scores?
fn correlated(scores: &[WordScores]) -> Table {
    let (spearman, words) = correlation(scores);
    let cells = vec![spearman.map_or(Cell::Empty, Cell::Number), Cell::Number(words as f64)];
    Table {
        name: "correlation".to_owned(),
        title: "Do words that speak for a class draw attention? Spearman of |polarity| and attention"
            .to_owned(),
        columns: ["spearman", "words"].map(str::to_owned).to_vec(),
        rows: vec![cells],
        notes: vec![format!(
            "as found, among the words with at least {CORRELATED_PLACES} places; above 0 is what the paper leads one to expect"
        )],
        ..Table::default()
    }
}

impl AttentionWordsRequest {
    /// The class that polarity speaks for.
    fn class(&self, run: &CorpusRun<'_>, place: &Place) -> Result<usize> {
        let card = run.model.card();
        match &self.label {
            Some(_) if place.is_transformer() => bail!(
                "{} is a transformer: its answer is not linear in what attention reads, so that words have no polarity; leave --label out",
                card.name
            ),
            None => Ok(card.labels.len().saturating_sub(1)),
            Some(label) => match card.labels.iter().position(|known| known == label) {
                Some(class) => Ok(class),
                None => bail!("--label '{label}': the model has {}", card.labels.join(", ")),
            },
        }
    }
}

fn rows(scores: &[WordScores], label: &str, transformer: bool, least: usize) -> Rows {
    let row = |found: &WordScores| {
        ReportRow::default()
            .with("word", found.word.clone())
            .with("attention", found.attention)
            .with("polarity", json!(found.polarity))
            .with("count", found.count)
            .with("sd_attention", found.sd_attention)
            .with("sd_polarity", json!(found.sd_polarity))
    };
    let mut notes = vec![format!(
        "attention: the score before the softmax, mean over the word's places; words at fewer than {least} places are left out"
    )];
    notes.push(if transformer {
        "no polarity: the answer of a transformer is not linear in what attention reads".to_owned()
    } else {
        format!(
            "polarity: how far the word's state speaks for {label}, against the mean of the other classes"
        )
    });
    let y = if transformer { "sd_attention" } else { "attention" };
    let x = if transformer { "attention" } else { "polarity" };
    Rows {
        name: "words".to_owned(),
        title: "What words are worth to attention".to_owned(),
        rows: scores.iter().map(row).collect(),
        notes,
        pictures: vec![Picture {
            title: "words by their two scores".to_owned(),
            shape: Shape::Scatter,
            x: x.to_owned(),
            y: Some(y.to_owned()),
            of: Some("word".to_owned()),
            ..Picture::default()
        }],
    }
}
