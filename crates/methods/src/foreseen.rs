//! What methods read of a text itself, read for many texts in one run.
//!
//! A method that looks at nothing but its text's own gradient runs one row, and one row keeps neither threads nor caches busy. So the
//! texts of a file are read some at a time, before each is explained by itself. What was read goes into the one memory that the text's
//! driver has; it is carried there since every text has a driver of its own, which counts what that text cost.

use crate::registry::OwnReading;
use crate::{Method, Request, SiteChoice};
use exegete_core::task::Reading;
use exegete_core::{
    Card, Driver, Example, Explaining, Explanation, Logits, Model, Open, Pass, Plan, Readout, Result, Row,
    Site, Spent, Target,
};

/// What was read of one text, on its way to the memory of the driver that explains it.
#[derive(Debug, Clone)]
pub struct Foreseen {
    row: Row,
    output: Logits,
    readings: Vec<(String, Explanation)>,
}

/// Values and slopes of the texts that are read together take this share of the memory at most; a longer text is read by itself.
const KEPT_SHARE: usize = 8;

/// Whether anything can be read of a request's texts before each is explained.
pub fn foresees(model: &dyn Model, request: &Request) -> bool {
    model.open().is_some() && !asked(request).is_empty()
}

/// Each text with what the request's methods will read of it, in order; none for texts of which nothing can be read here. What is
/// wrong with these is said when they are explained.
pub fn foresee(
    model: &dyn Model,
    driver: &Driver,
    examples: &[Example],
    request: &Request,
) -> Result<Vec<Option<Foreseen>>> {
    let (open, site, asked) = (model.require_open()?, request.site.site(model), asked(request));
    let info = open.sites().get(site)?;
    let readout = |(target, reading)| Foreseeing { open, card: model.card(), target, reading, site };
    let plans: Vec<Plan> = asked.iter().map(|&asked| readout(asked).plan()).collect();
    let mut room = driver.memory_bytes / KEPT_SHARE / asked.len().max(1);
    let row = |(place, example): (usize, &Example)| {
        let row = Row::new(model.encoded(example).ok()?);
        plans.iter().all(|plan| open.bytes(&row, plan) <= driver.memory_bytes).then_some(())?;
        room = room.checked_sub(2 * size_of::<f32>() * info.elements(&row.encoded))?;
        Some((place, row))
    };
    let (places, rows): (Vec<usize>, Vec<Row>) = examples.iter().enumerate().filter_map(row).unzip();
    let mut all: Vec<Option<Foreseen>> = vec![None; examples.len()];
    for asked in asked {
        let found = driver.read_all(model, &rows, &readout(asked))?;
        for ((&place, row), (output, found)) in places.iter().zip(&rows).zip(found) {
            let new = || Foreseen { row: row.clone(), output, readings: Vec::new() };
            all[place].get_or_insert_with(new).readings.push(found);
        }
    }
    Ok(all)
}

/// What is read, for each target that is known without a label and lies at the output.
fn asked(request: &Request) -> Vec<(&Target, OwnReading)> {
    if request.top_labels.is_some() || request.site == SiteChoice::AllLayers {
        return Vec::new();
    }
    let mut readings: Vec<OwnReading> = Vec::new();
    for reading in request.methods.iter().filter_map(Method::reads) {
        if !readings.contains(&reading) {
            readings.push(reading);
        }
    }
    let plain = |target: &&Target| !target.is_loss() && !target.is_neuron();
    let with = |target| readings.iter().map(move |&reading| (target, reading));
    request.targets.iter().filter(plain).flat_map(with).collect()
}

impl Foreseen {
    /// Tells a driver what is known, as if it had run the text's share itself; the text.
    pub(crate) fn hand_over(self, model: &dyn Model, driver: &Driver) -> Row {
        let rows = self.readings.len();
        let spent = Spent { forward_rows: rows, backward_rows: rows, ..Spent::default() };
        driver.take_over(model, (&self.row, &self.output), self.readings, spent);
        self.row
    }
}

/// Reads a text's output and what a method reads of it, by its name, in one run.
struct Foreseeing<'a> {
    open: &'a dyn Open,
    card: &'a Card,
    target: &'a Target,
    reading: OwnReading,
    site: Site,
}

impl Foreseeing<'_> {
    fn explaining(&self) -> Explaining<'_> {
        let &Self { open, card, target, reading, ref site } = self;
        let site = std::slice::from_ref(site);
        let values = if reading.value { site } else { &[] };
        Explaining { open, card, target, values, wrt: site, rules: reading.rules }
    }
}

impl Readout for Foreseeing<'_> {
    type Value = (Logits, (String, Explanation));

    fn plan(&self) -> Plan {
        self.explaining().plan()
    }

    fn places(&self) -> Option<Vec<usize>> {
        self.explaining().places()
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Self::Value>> {
        let explanations = self.explaining().read(rows, pass)?;
        let vocabulary = Some(self.open);
        let with_target = |((row, logits), explanation): ((&Row, &Logits), Explanation)| {
            let reading = Reading { card: self.card, encoded: &row.encoded, logits, vocabulary: &vocabulary };
            let target = &self.target.resolve_in(&reading, None)?;
            Ok((logits.clone(), (Explaining { target, ..self.explaining() }.name(), explanation)))
        };
        rows.iter().zip(pass.logits()).zip(explanations).map(with_target).collect()
    }
}
