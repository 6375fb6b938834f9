use super::measure::{noise, scale_of};
use super::{ConformanceSubject, Extent};
use crate::{
    Array, Axis, Error, Logits, Open, Pass, Plan, Record, Result, Role, Row, Rules, Seed, Site, SiteInfo,
    Sites,
};

const NOTHING_MOVES: &str =
    "the checks need a text of at least two words, and of two sentences for a model that reads by sentences";

/// Models with more sites than this are tried with one text a site.
const MANY_SITES: usize = 60;

/// The most outputs in the large batch: a vocabulary at every token of many rows would take gigabytes.
const MANY_OUTPUTS: usize = 1 << 24;

/// Everything the checks stand on, made once.
pub(super) struct Ground<'a> {
    pub(super) fast: &'a dyn Open,
    pub(super) exact: &'a dyn Open,
    /// Every example as a row of the fast model.
    pub(super) rows: Vec<Row>,
    /// The shortest examples that are long enough for attention to have a choice.
    pub(super) short: Vec<Row>,
    pub(super) sites: &'a Sites,
    pub(super) batch_rows: usize,
}

impl<'a> Ground<'a> {
    pub(super) fn new(subject: &ConformanceSubject<'a>, extent: Extent) -> Result<Self> {
        let (fast, exact) = (subject.fast.require_open()?, subject.exact.require_open()?);
        let sites = fast.sites();
        let rows = subject.examples.iter().map(|example| Ok(Row::new(fast.encode(example)?)));
        let rows = rows.collect::<Result<Vec<Row>>>()?;
        let mut short: Vec<Row> = rows.iter().filter(|row| can_move(sites, row)).cloned().collect();
        if short.is_empty() {
            return Err(Error::Request(NOTHING_MOVES.into()));
        }
        short.sort_by_key(|row| row.encoded.len());
        short.truncate(extent.texts_per_site.max(1));
        let batch_rows = extent.batch_rows.min(affordable_rows(sites, &rows)).max(2);
        Ok(Self { fast, exact, rows, short, sites, batch_rows })
    }

    /// Every site with the texts it is tried on; large models take turns.
    pub(super) fn trials(&self) -> impl Iterator<Item = Trial<'_>> {
        let many = self.sites.len() > MANY_SITES;
        self.sites.iter().enumerate().flat_map(move |(number, info)| {
            let turn = number % self.short.len();
            let texts = if many { turn..turn + 1 } else { 0..self.short.len() };
            texts.map(move |text| Trial {
                info,
                row: &self.short[text],
                text,
                seed: (number * 16 + text) as u64,
            })
        })
    }

    /// The unedited value of a site in a text.
    pub(super) fn value(&self, site: Site, row: &Row) -> Result<Array> {
        self.fast.forward(std::slice::from_ref(row), &Plan::keep([site]))?.value(site, 0)
    }

    /// The cuts in the order of computation.
    pub(super) fn cuts(&self) -> Vec<Site> {
        self.sites.cuts().collect()
    }

    /// Every site's name, in order.
    pub(super) fn all(&self) -> Vec<Site> {
        self.sites.iter().map(|info| info.site).collect()
    }
}

fn affordable_rows(sites: &Sites, rows: &[Row]) -> usize {
    let outputs = sites.with_role(Role::Outputs).next();
    let elements = |info: &SiteInfo| rows.iter().map(|row| info.elements(&row.encoded)).max();
    let largest = outputs.and_then(elements).unwrap_or(1);
    (MANY_OUTPUTS / largest.max(1)).max(2 * rows.len())
}

/// One site in one text.
pub(super) struct Trial<'a> {
    pub(super) info: &'a SiteInfo,
    pub(super) row: &'a Row,
    pub(super) text: usize,
    pub(super) seed: u64,
}

impl Trial<'_> {
    pub(super) fn place(&self) -> String {
        format!("{}, text {}", self.info.site, self.text)
    }

    /// Noise of the size of a value of this site.
    pub(super) fn noise_like(&self, value: &Array) -> Array {
        noise(self.seed, &value.shape, scale_of(value))
    }
}

/// Random weights over an output, the same for every row of the same shape.
pub(super) fn weights(logits: &Logits) -> Array {
    noise(99, &logits.shape, 1.0)
}

/// Reads every row of a pass with its weights.
pub(super) fn seeds(pass: &dyn Pass) -> Vec<Seed> {
    let seed = |(row, logits)| Seed { row, site: pass.outputs(), cotangent: weights(logits) };
    pass.logits().iter().enumerate().map(seed).collect()
}

/// Gradients of the reading, `[site][row]`, recorded one way or the other.
pub(super) fn gradients(
    open: &dyn Open,
    rows: &[Row],
    wrt: &[Site],
    record: Record,
) -> Result<Vec<Vec<Array>>> {
    let pass = open.forward(rows, &Plan { keep: wrt.to_vec(), start: None, record })?;
    pass.backward(&seeds(&*pass), wrt, Rules::Gradient)
}

/// Whether weights over the words of a text, and over its sentences where a model has such, can move anything: of one
/// they are always 1.
fn can_move(sites: &Sites, row: &Row) -> bool {
    let by_sentence = sites.iter().any(|info| info.axes.contains(&Axis::Sentence));
    let sentences = row.encoded.sentences();
    let choice = !by_sentence || (sentences.len() >= 2 && sentences.iter().any(|words| words.len() >= 2));
    choice && row.encoded.tokens.iter().filter(|token| !token.special && token.type_id == 0).count() >= 2
}
