//! The request of `exegete attention norms`: what heads weigh against what they move.

use super::super::{Listener, Notice, Resources, Stop, check_stop, needed};
use super::corpus::{CorpusOptions, CorpusRun};
use crate::Row;
use crate::methods::heads::norms::{NormSurvey, WeighedValues};
use crate::methods::heads::{HeadGrid, HeadProjection, TokenPlaces, norm_items};
use crate::report::Report;
use anyhow::Result;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many texts run together.
const CHUNK_TEXTS: usize = 16;
/// How many pairs of tokens a report shows.
const PAIRS: usize = 2_000;

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
    needed(&request.corpus.input, "there are no texts; give them with --input FILE")?;
    let mut run = CorpusRun::open((&request.corpus, &request.resources), &request.named_files(), stop, tell)?;
    let grid = HeadGrid::of(&*run.model)?;
    let texts = run.texts(stop)?;
    let longest = texts.iter().max_by_key(|text| text.encoded.len()).map_or(&texts[0], |text| text);
    let projection = HeadProjection::of(&*run.model, &run.driver, &grid, &longest.encoded)?;
    let mut survey = NormSurvey::new(&grid);
    for chunk in texts.chunks(CHUNK_TEXTS) {
        check_stop(&run.driver.stop)?;
        tell(Notice::Texts(survey.texts(), texts.len()));
        let rows: Vec<Row> = chunk.iter().map(|text| Row::new(text.encoded.clone())).collect();
        let readout = WeighedValues { model: &*run.model, grid: &grid };
        for (layers, text) in run.driver.read_all(&*run.model, &rows, &readout)?.iter().zip(chunk) {
            survey.add(layers, &projection, &TokenPlaces::of(&text.encoded));
        }
    }
    let items = norm_items(&survey, &grid, PAIRS, request.corpus.seed);
    Ok(run.report("attention norms", request, items))
}
