//! What one run of a text shows of its attention: the answer, the weights, and how the logits move with them.

use super::head::LinearHead;
use super::place::{Parts, Place};
use super::spread::{Imposed, WordSpread};
use exegete_core::{
    Array, Change, Driver, Edit, Encoded, Explaining, Model, Pass, Plan, Readout, Result, Row, Rules, Scale,
    Seed, Target,
};
use std::sync::Arc;

/// A text that is tested.
#[derive(Debug, Clone)]
pub struct TestedText {
    /// Its place in the file: random numbers about it depend on the seed and on this alone.
    pub number: u64,
    /// The text as the model's tokens.
    pub encoded: Arc<Encoded>,
    /// What weights are given to.
    pub parts: Parts,
}

/// A text as the model sees it.
pub struct SeenText {
    /// The text that was looked at.
    pub text: TestedText,
    /// The weights at each site of the place.
    pub values: Vec<Array>,
    /// The rows that are read.
    pub spread: WordSpread,
    /// α, one share a part.
    pub alpha: Vec<f64>,
    /// The logits, one a class.
    pub logits: Vec<f64>,
    /// ∂logits/∂α of each part, where they were asked for.
    pub slopes: Vec<Vec<f64>>,
}

/// Runs texts once; with `slopes` also backward from every logit to the weights.
pub fn look(
    model: &dyn Model,
    driver: &Driver,
    place: &Place,
    texts: &[TestedText],
    slopes: bool,
) -> Result<Vec<SeenText>> {
    look_under(model, driver, place, texts, vec![Vec::new(); texts.len()], slopes)
}

/// The same of texts that are each read under some edits.
pub fn look_under(
    model: &dyn Model,
    driver: &Driver,
    place: &Place,
    texts: &[TestedText],
    edits: Vec<Vec<Edit>>,
    slopes: bool,
) -> Result<Vec<SeenText>> {
    let row = |(text, edits): (&TestedText, Vec<Edit>)| Row { edits, ..Row::new(text.encoded.clone()) };
    let rows: Vec<Row> = texts.iter().zip(edits).map(row).collect();
    let seen = driver.read_all(model, &rows, &Looking { place, slopes })?;
    let each = texts.iter().zip(seen);
    Ok(each.map(|(text, seen)| seen.look(place, text)).collect())
}

/// The slopes of the predicted probability at the word vectors, with the weights held as they are, and the vectors.
pub fn word_slopes(
    model: &dyn Model,
    driver: &Driver,
    place: &Place,
    looks: &[SeenText],
) -> Result<Vec<(Array, Array)>> {
    let open = model.require_open()?;
    let words = [open.sites().words()?];
    let sites = place.sites();
    let row = |look: &SeenText| {
        let held = sites.iter().zip(&look.values);
        held.fold(Row::new(look.text.encoded.clone()), |row, (&site, value)| {
            row.edit(Edit::whole(site, Change::Set(value.clone())))
        })
    };
    let rows: Vec<Row> = looks.iter().map(row).collect();
    let target = Target { scale: Some(Scale::Prob), ..Target::predicted() };
    let (values, wrt, rules) = (&words[..], &words[..], Rules::Gradient);
    let readout = Explaining { open, card: model.card(), target: &target, values, wrt, rules };
    let found = driver.read_all(model, &rows, &readout)?;
    let pair =
        |mut found: exegete_core::Explanation| (found.values.swap_remove(0), found.gradients.swap_remove(0));
    Ok(found.into_iter().map(pair).collect())
}

/// The heads of texts whose logits are linear in their weights, which each text shows by two runs: with no weight at all,
/// and with all of it on its last part.
pub fn linear_heads(
    model: &dyn Model,
    driver: &Driver,
    place: &Place,
    looks: &[SeenText],
) -> Result<Vec<Option<LinearHead>>> {
    let imposed = |look: &SeenText, weights: &Imposed| {
        let rows = look.spread.with(weights);
        Row::new(look.text.encoded.clone()).edit(place.edit(&rows, &look.text.encoded))
    };
    let both = |look: &SeenText| {
        let mut last = vec![0.0; look.alpha.len()];
        last.iter_mut().last().into_iter().for_each(|weight| *weight = 1.0);
        let none = Imposed::Erased((0..look.alpha.len()).collect());
        [imposed(look, &none), imposed(look, &Imposed::Replaced(last))]
    };
    let rows: Vec<Row> = looks.iter().flat_map(both).collect();
    let found = driver.read_all(model, &rows, &Looking { place, slopes: false })?;
    let pairs = found.chunks_exact(2).zip(looks);
    Ok(pairs.map(|(found, look)| linear(look, &found[0].logits, &found[1].logits)).collect())
}

fn linear(look: &SeenText, bias: &[f64], last: &[f64]) -> Option<LinearHead> {
    let head = LinearHead { alpha: look.alpha.clone(), slopes: look.slopes.clone(), bias: bias.to_vec() };
    let mut only = vec![0.0; look.alpha.len()];
    *only.last_mut()? = 1.0;
    let near = |found: &[f64], expected: &[f64]| {
        let size = expected.iter().chain(bias).fold(1.0, |top: f64, z| top.max(z.abs()));
        found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= ROUNDING * size)
    };
    (near(&head.logits(&look.alpha), &look.logits) && near(&head.logits(&only), last)).then_some(head)
}

/// How far single precision may miss a sum of products, relative to the largest.
const ROUNDING: f64 = 1e-4;

struct Looking<'a> {
    place: &'a Place,
    slopes: bool,
}

#[derive(Clone)]
struct Seen {
    logits: Vec<f64>,
    values: Vec<Array>,
    /// At the weights, of each logit.
    slopes: Vec<Array>,
}

impl Seen {
    fn look(self, place: &Place, text: &TestedText) -> SeenText {
        let TestedText { encoded, parts, .. } = text;
        let spread = place.spread(&self.values, encoded, parts);
        let by_class: Vec<Vec<f64>> = self
            .slopes
            .iter()
            .map(|slopes| spread.pulled(&place.slopes_of_rows(slopes, encoded, parts)))
            .collect();
        let of_part = |part: usize| by_class.iter().map(|slopes| slopes[part]).collect();
        let slopes =
            if by_class.is_empty() { Vec::new() } else { (0..parts.names.len()).map(of_part).collect() };
        let Self { logits, values, .. } = self;
        let (text, alpha) = (text.clone(), spread.alpha());
        SeenText { text, values, spread, alpha, logits, slopes }
    }
}

impl Readout for Looking<'_> {
    type Value = Seen;

    fn plan(&self) -> Plan {
        let sites = self.place.sites();
        if self.slopes { Plan::gradient(sites) } else { Plan::keep(sites) }
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Seen>> {
        let sites = self.place.sites();
        let seen = |row: usize| {
            let values = sites.iter().map(|&site| pass.value(site, row)).collect::<Result<_>>()?;
            Ok(Seen { logits: pass.logits()[row].data.clone(), values, slopes: Vec::new() })
        };
        let mut found = (0..rows.len()).map(seen).collect::<Result<Vec<Seen>>>()?;
        let classes = found.first().filter(|_| self.slopes).map_or(0, |seen| seen.logits.len());
        for class in 0..classes {
            let seed = |row: usize| {
                let mut cotangent = Array::zeros(pass.logits()[row].shape.clone());
                cotangent.data[class] = 1.0;
                Seed { row, site: pass.outputs(), cotangent }
            };
            let seeds: Vec<Seed> = (0..rows.len()).map(seed).collect();
            let slopes = pass.backward(&seeds, &[self.place.site], Rules::Gradient)?.swap_remove(0);
            found.iter_mut().zip(slopes).for_each(|(seen, slopes)| seen.slopes.push(slopes));
        }
        Ok(found)
    }
}
