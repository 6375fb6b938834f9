//! The request of `exegete attention norms`: what heads weigh against what they move.

use super::super::{Listener, Notice, Resources, RunIdentity, Stop, check_stop, needed, size};
use super::corpus::{CorpusOptions, CorpusRun, LabelledText, contents};
use super::{CorpusLook, Steps};
use crate::Row;
use crate::methods::heads::norms::{NormSurvey, WeighedValues};
use crate::methods::heads::{HeadGrid, HeadProjection, TokenPlaces, norm_items};
use crate::report::Report;
use anyhow::{Result, bail};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many texts run together.
const CHUNK_TEXTS: usize = 16;
/// How many pairs of tokens a report holds at most. A page lists and draws the first of them, so that it stays small.
const PAIRS: usize = 20_000;

/// What `exegete attention norms` is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct AttentionNormsRequest {
    /// The texts and the model that are asked about.
    #[serde(flatten)]
    #[command(flatten)]
    pub corpus: CorpusOptions,
    /// What the run may use.
    #[serde(flatten)]
    #[command(flatten)]
    pub resources: Resources,
}

/// Weighs attention against norms over a corpus.
pub fn run(request: &AttentionNormsRequest, stop: &Stop, tell: Listener<'_>) -> Result<Report> {
    open(request, stop, tell)?.find(&mut Steps::unkept(), tell)
}

/// Checks the request, opens its model and reads its texts.
pub fn open<'a>(
    request: &'a AttentionNormsRequest,
    stop: &Stop,
    tell: Listener<'_>,
) -> Result<Box<dyn CorpusLook + 'a>> {
    needed(&request.corpus.input, "there are no texts; give them with --input FILE")?;
    let mut run = CorpusRun::open((&request.corpus, &request.resources), &request.named_files(), stop, tell)?;
    let grid = HeadGrid::of(&*run.model)?;
    let texts = run.texts(stop)?;
    let look = NormsLook { request, run, grid, texts };
    look.check_memory()?;
    Ok(Box::new(look))
}

/// A checked request about norms.
struct NormsLook<'a> {
    request: &'a AttentionNormsRequest,
    run: CorpusRun<'a>,
    grid: HeadGrid,
    texts: Vec<LabelledText>,
}

impl CorpusLook for NormsLook<'_> {
    fn identity(&self) -> Result<RunIdentity> {
        self.request.identity(self.run.model.card(), &contents(&self.texts))
    }

    fn find(&self, steps: &mut Steps<'_>, tell: Listener<'_>) -> Result<Report> {
        steps.say_going_on(tell);
        let Self { request, run, grid, texts } = self;
        let longest = texts.iter().max_by_key(|text| text.encoded.len()).map_or(&texts[0], |text| text);
        let projection = HeadProjection::of(&*run.model, &run.driver, grid, &longest.encoded)?;
        let mut survey = NormSurvey::new(grid);
        for chunk in texts.chunks(CHUNK_TEXTS) {
            check_stop(&run.driver.stop)?;
            tell(Notice::Texts(survey.texts(), texts.len()));
            survey.join(steps.step(|| self.part(chunk, &projection))?);
        }
        let items = norm_items(&survey, grid, PAIRS, request.corpus.seed);
        Ok(run.report("attention norms", request, items))
    }
}

impl NormsLook<'_> {
    fn part(&self, texts: &[LabelledText], projection: &HeadProjection) -> Result<NormSurvey> {
        let Self { run, grid, .. } = self;
        let mut survey = NormSurvey::new(grid);
        let rows: Vec<Row> = texts.iter().map(|text| Row::new(text.encoded.clone())).collect();
        let readout = WeighedValues { model: &*run.model, grid };
        for (layers, text) in run.driver.read_all(&*run.model, &rows, &readout)?.iter().zip(texts) {
            survey.add(layers, projection, &TokenPlaces::of(&text.encoded));
        }
        Ok(survey)
    }

    /// Ranks need every weight of the corpus at once.
    fn check_memory(&self) -> Result<()> {
        let needed = NormSurvey::bytes(&self.grid, self.texts.iter().map(|text| text.encoded.len()));
        let allowed = self.request.resources.memory();
        if needed <= allowed {
            return Ok(());
        }
        let [needed, allowed] = [needed, allowed].map(size::display);
        bail!(
            "the weights of all pairs of tokens of {} texts in {} heads, which Spearman's correlation ranks, take {needed}, and \
             --memory allows {allowed}; take fewer texts with --limit, or allow more",
            self.texts.len(),
            self.grid.count()
        )
    }
}
