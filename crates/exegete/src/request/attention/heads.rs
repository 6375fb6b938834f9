//! The request of `exegete attention heads`: what each head of a transformer does over a corpus.

use super::super::input::Lines;
use super::super::{Listener, Notice, Resources, RunIdentity, Stop, check_stop};
use super::corpus::{CorpusOptions, CorpusRun, LabelledText, contents};
use super::{CorpusLook, Steps};
use crate::methods::heads::conllu::{ConlluReader, TreeSentence};
use crate::methods::heads::disable::{HeadOff, TextLoss, losses};
use crate::methods::heads::pattern::LEAST_WORDS;
use crate::methods::heads::relations::{RelationCount, word_weights};
use crate::methods::heads::{
    HeadFindings, HeadGrid, HeadMaps, HeadSurvey, TokenPlaces, attribution, disabled_table, relations_table,
};
use crate::report::{Item, Report};
use crate::{Array, Encoded, Example, Label, Predictions, Row, Scores, Target};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// How many texts run together.
const CHUNK_TEXTS: usize = 16;

/// What `exegete attention heads` is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct AttentionHeadsRequest {
    /// The texts and the model that are asked about.
    #[serde(flatten)]
    #[command(flatten)]
    pub corpus: CorpusOptions,
    /// A treebank in the CoNLL-U format, in place of --input or beside it: which head follows which relation.
    #[arg(long, value_name = "FILE")]
    pub conllu: Option<PathBuf>,
    /// What each head is disabled by, one at a time.
    #[arg(long, value_enum, default_value_t)]
    pub disable: HeadDisable,
    /// Also say how important each head is for the predicted class, by attention_attribution.
    #[arg(long)]
    pub importance: bool,
    /// What the run may use.
    #[serde(flatten)]
    #[command(flatten)]
    pub resources: Resources,
}

/// What heads are disabled by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum HeadDisable {
    /// What the head read is zero.
    #[default]
    Zero,
    /// The head attends to all tokens alike.
    Uniform,
    /// No head is disabled, which costs nothing.
    None,
}

/// Looks at every head of a model.
pub fn run(request: &AttentionHeadsRequest, stop: &Stop, tell: Listener<'_>) -> Result<Report> {
    open(request, stop, tell)?.find(&mut Steps::unkept(), tell)
}

/// Checks the request, opens its model and reads its texts.
pub fn open<'a>(
    request: &'a AttentionHeadsRequest,
    stop: &Stop,
    tell: Listener<'_>,
) -> Result<Box<dyn CorpusLook + 'a>> {
    if request.corpus.input.is_none() && request.conllu.is_none() {
        bail!("there are no texts; give them with --input FILE or --conllu FILE");
    }
    let mut run = CorpusRun::open((&request.corpus, &request.resources), &request.named_files(), stop, tell)?;
    let grid = HeadGrid::of(&*run.model)?;
    let trees = request.conllu.as_deref().map(|path| sentences(path, request.corpus.limit)).transpose()?;
    let texts = match (&request.corpus.input, &trees) {
        (None, Some(trees)) => {
            let encoded = |tree: &TreeSentence| run.encoded(&Example::text(tree.text.clone()));
            trees.iter().map(encoded).collect::<Result<Vec<_>>>()?
        }
        _ => run.texts(stop)?,
    };
    let all = texts.len();
    let is_long = |text: &LabelledText| TokenPlaces::of(&text.encoded).words >= LEAST_WORDS;
    let texts: Vec<LabelledText> = texts.into_iter().filter(is_long).collect();
    if texts.is_empty() {
        bail!("no text is left: none of {all} has {LEAST_WORDS} words");
    }
    Ok(Box::new(HeadsLook { request, run, grid, gone: all - texts.len(), texts, trees }))
}

/// A checked request about heads.
struct HeadsLook<'a> {
    request: &'a AttentionHeadsRequest,
    run: CorpusRun<'a>,
    grid: HeadGrid,
    /// The texts that are long enough.
    texts: Vec<LabelledText>,
    /// How many were not.
    gone: usize,
    trees: Option<Vec<TreeSentence>>,
}

impl CorpusLook for HeadsLook<'_> {
    fn identity(&self) -> Result<RunIdentity> {
        let trees = self.trees.iter().flatten().map(|tree| format!("{tree:?}"));
        let contents = contents(&self.texts).into_iter().chain(trees).collect::<Vec<_>>();
        self.request.identity(self.run.model.card(), &contents)
    }

    fn find(&self, steps: &mut Steps<'_>, tell: Listener<'_>) -> Result<Report> {
        steps.say_going_on(tell);
        let mut items = self.survey(steps, tell)?;
        if let (Some(Item::Rows(rows)), true) = (items.first_mut(), self.gone > 0) {
            let all = self.gone + self.texts.len();
            rows.notes.push(format!("{} of {all} texts left out: fewer than {LEAST_WORDS} words", self.gone));
        }
        if let Some(trees) = &self.trees {
            items.push(self.relations(trees, steps, tell)?);
        }
        items.extend(self.disabled(steps, tell)?);
        Ok(self.run.report("attention heads", self.request, items))
    }
}

/// What some sentences show of relations.
#[derive(Serialize, Deserialize)]
struct CountedTrees {
    count: RelationCount,
    /// How many could not be read as words.
    cut: usize,
}

impl HeadsLook<'_> {
    /// Tells how far it is, and stops where it should.
    fn going(&self, done: usize, of: usize, tell: Listener<'_>) -> Result<()> {
        check_stop(&self.run.driver.stop)?;
        tell(Notice::Texts(done, of));
        Ok(())
    }

    fn maps(&self, texts: &[&Encoded]) -> Result<Vec<Vec<Array>>> {
        let rows: Vec<Row> = texts.iter().map(|&text| Row::new(text.clone())).collect();
        Ok(self.run.driver.read_all(&*self.run.model, &rows, &HeadMaps(&self.grid))?)
    }

    fn survey(&self, steps: &mut Steps<'_>, tell: Listener<'_>) -> Result<Vec<Item>> {
        let mut survey = HeadSurvey::new(&self.grid);
        for (i, chunk) in self.texts.chunks(CHUNK_TEXTS).enumerate() {
            self.going(i * CHUNK_TEXTS, self.texts.len(), tell)?;
            survey.add(&steps.step(|| self.findings(chunk))?);
        }
        Ok(survey.items())
    }

    fn findings(&self, texts: &[LabelledText]) -> Result<HeadFindings> {
        let mut found = HeadFindings::new(self.grid.count());
        let encoded: Vec<&Encoded> = texts.iter().map(|text| &*text.encoded).collect();
        for (maps, text) in self.maps(&encoded)?.iter().zip(texts) {
            found.add(maps, &TokenPlaces::of(&text.encoded));
            if self.request.importance {
                found.add_importance(&self.importance(text)?);
            }
        }
        Ok(found)
    }

    fn importance(&self, text: &LabelledText) -> Result<Vec<f64>> {
        check_stop(&self.run.driver.stop)?;
        let CorpusRun { model, driver, .. } = &self.run;
        // On the way to no attention another class can win: the one of the text itself is explained throughout.
        let row = Row::new(text.encoded.clone());
        let scores = driver.read_one(&**model, &row, &Predictions(&**model))?.scores;
        let Some(classes) = scores.by_class() else {
            bail!("{} does not decide between classes, which --importance needs", model.card().name);
        };
        let best =
            (1..classes.len()).fold(0, |best, i| if classes[i].prob > classes[best].prob { i } else { best });
        let target = Target::class(best);
        let found = attribution::attributions(&**model, driver, &self.grid, &text.encoded, target)?;
        Ok(attribution::importance(&found, self.grid.heads))
    }

    fn relations(&self, trees: &[TreeSentence], steps: &mut Steps<'_>, tell: Listener<'_>) -> Result<Item> {
        let (mut count, mut cut) = (RelationCount::new(self.grid.count()), 0);
        for (i, chunk) in trees.chunks(CHUNK_TEXTS).enumerate() {
            self.going(i * CHUNK_TEXTS, trees.len(), tell)?;
            let own = steps.step(|| self.counted(chunk))?;
            count.join(own.count);
            cut += own.cut;
        }
        let mut table = relations_table(&count.best(self.request.corpus.seed), &self.grid);
        table.notes.push(format!(
            "{} sentences; relations with fewer than 50 cases, punct and root are left out",
            count.sentences()
        ));
        if cut > 0 {
            table.notes.push(format!(
                "{cut} sentences left out: a word has no token, or the model reads no further"
            ));
        }
        Ok(Item::Table(table))
    }

    fn counted(&self, trees: &[TreeSentence]) -> Result<CountedTrees> {
        let mut found = CountedTrees { count: RelationCount::new(self.grid.count()), cut: 0 };
        let mut kept = Vec::new();
        for tree in trees {
            let text = self.run.encoded(&Example::text(tree.text.clone()))?;
            match tokens_of(tree, &text.encoded) {
                Some(words) => kept.push((tree, text, words)),
                None => found.cut += 1,
            }
        }
        let encoded: Vec<&Encoded> = kept.iter().map(|(_, text, _)| &*text.encoded).collect();
        for (maps, (tree, text, words)) in self.maps(&encoded)?.iter().zip(&kept) {
            let tokens = text.encoded.len();
            let heads = maps.iter().flat_map(|map| map.data.chunks(tokens * tokens));
            let weights: Vec<_> = heads.map(|map| word_weights(map, tokens, words)).collect();
            found.count.add(tree, &weights);
        }
        Ok(found)
    }

    fn disabled(&self, steps: &mut Steps<'_>, tell: Listener<'_>) -> Result<Option<Item>> {
        let how = match self.request.disable {
            HeadDisable::None => return Ok(None),
            HeadDisable::Zero => HeadOff::Zero,
            HeadDisable::Uniform => HeadOff::Uniform,
        };
        let labels = self.labels(&self.texts)?;
        let Some(labels) = labels else { return Ok(None) };
        let CorpusRun { model, driver, .. } = &self.run;
        let mut found: Vec<TextLoss> = Vec::new();
        for (text, label) in self.texts.iter().zip(&labels) {
            self.going(found.len(), self.texts.len(), tell)?;
            let loss = || Ok(losses(&**model, driver, &self.grid, how, (&text.encoded, *label))?);
            found.push(steps.step(loss)?);
        }
        let labelled = labels.iter().all(Option::is_some);
        Ok(Some(Item::Table(disabled_table(&found, &self.grid, how, labelled, self.request.corpus.seed))))
    }

    /// The class of each text where all have one, else none of each; nothing where no classes are decided between.
    fn labels(&self, texts: &[LabelledText]) -> Result<Option<Vec<Option<usize>>>> {
        let CorpusRun { model, driver, .. } = &self.run;
        let first = Row::new(texts[0].encoded.clone());
        let found = driver.read_one(&**model, &first, &Predictions(&**model))?;
        if !matches!(found.scores, Scores::Classes { .. }) {
            return Ok(None);
        }
        if texts.iter().any(|text| text.label.is_none()) {
            return Ok(Some(vec![None; texts.len()]));
        }
        let card = model.card();
        let class = |text: &LabelledText| {
            let label = text.label.as_deref().unwrap_or_default();
            match card.task.meant(card, label)? {
                Label::Class(class) => Ok(Some(class)),
                _ => Ok(None),
            }
        };
        texts.iter().map(class).collect::<Result<Vec<_>>>().map(Some)
    }
}

/// The sentences of a treebank.
pub(super) fn sentences(path: &Path, limit: Option<usize>) -> Result<Vec<TreeSentence>> {
    let (mut lines, _) = Lines::open(path)?;
    let (mut reader, mut found, mut last) = (ConlluReader::default(), Vec::new(), 0);
    while limit.is_none_or(|limit| found.len() < limit)
        && let Some((number, line)) = lines.read()?
    {
        last = number;
        found.extend(reader.line(number, &line).map_err(|error| lines.error(error.line, error.what))?);
    }
    if limit.is_none_or(|limit| found.len() < limit) {
        found.extend(reader.line(last + 1, "").map_err(|error| lines.error(error.line, error.what))?);
    }
    if found.is_empty() {
        bail!("{}: holds no sentence", path.display());
    }
    Ok(found)
}

/// The tokens of each word; none where a word has none.
fn tokens_of(tree: &TreeSentence, encoded: &Encoded) -> Option<Vec<Vec<usize>>> {
    let of = |span: &std::ops::Range<usize>| {
        let inside = |i: &usize| encoded.tokens[*i].span.is_some_and(|own| span.contains(&own.start));
        let found: Vec<usize> = (0..encoded.len()).filter(inside).collect();
        (!found.is_empty()).then_some(found)
    };
    tree.spans.iter().map(of).collect()
}
