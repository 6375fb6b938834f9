//! What is asked of each row of a run: something small, read from a pass and handed on, so that nobody holds whole outputs.

use crate::{
    Array, Card, Driver, Example, Logits, Model, Open, Pass, Plan, Prediction, Record, Result, Row, Rules,
    Scores, Site, Target,
};

/// Reads something small from every row: F of a target, class scores, values of sites, a loss.
///
/// A readout says what a pass must keep for it, reads the rows of a pass, and may say by what its answers are remembered.
pub trait Readout: Sync {
    /// What is read of one row.
    type Value: Clone + Send + Sync + 'static;

    /// What a pass must keep and remember for it.
    fn plan(&self) -> Plan {
        Plan::default()
    }

    /// A site and the direction in which every row is moved there, where slopes are read: the pass then holds how the kept
    /// sites move in place of their values, and no outputs.
    fn along(&self) -> Option<(Site, &Array)> {
        None
    }

    /// The tokens whose outputs it reads, where it does not read all of them.
    fn places(&self) -> Option<Vec<usize>> {
        None
    }

    /// Reads the rows of one pass, in order.
    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Self::Value>>;

    /// Whether the output alone says it, so that outputs that are remembered serve it, and those of black boxes.
    fn of_output(&self) -> Option<&dyn OfOutput<Self::Value>> {
        None
    }

    /// By what its own answers are remembered, where outputs are too large for that; none where they are not.
    fn key(&self) -> Option<String> {
        None
    }
}

/// Reads something from a row's output alone.
pub trait OfOutput<V>: Sync {
    /// What the output of a row says.
    fn of(&self, row: &Row, output: &Logits) -> Result<V>;
}

/// The rows of a pass read by their outputs.
pub fn by_outputs<V>(reader: &dyn OfOutput<V>, rows: &[Row], pass: &dyn Pass) -> Result<Vec<V>> {
    rows.iter().zip(pass.logits()).map(|(row, output)| reader.of(row, output)).collect()
}

/// The output as it is.
#[derive(Debug, Clone, Copy)]
pub struct Outputs;

impl OfOutput<Logits> for Outputs {
    fn of(&self, _: &Row, output: &Logits) -> Result<Logits> {
        Ok(output.clone())
    }
}

impl Readout for Outputs {
    type Value = Logits;

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Logits>> {
        by_outputs(self, rows, pass)
    }

    fn of_output(&self) -> Option<&dyn OfOutput<Logits>> {
        Some(self)
    }
}

/// What the model answers.
pub struct Predictions<'a>(pub &'a dyn Model);

impl OfOutput<Prediction> for Predictions<'_> {
    fn of(&self, row: &Row, output: &Logits) -> Result<Prediction> {
        let scores: Scores = self.0.scored(&row.encoded, output)?;
        let encoded = &row.encoded;
        Ok(Prediction { scores, truncated: encoded.truncated, unknown: encoded.unknown() })
    }
}

impl Readout for Predictions<'_> {
    type Value = Prediction;

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Prediction>> {
        by_outputs(self, rows, pass)
    }

    fn of_output(&self) -> Option<&dyn OfOutput<Prediction>> {
        Some(self)
    }
}

/// Answers for examples, in order: open models within the driver's budget, others by their own means.
pub fn predict(driver: &Driver, model: &dyn Model, examples: &[Example]) -> Result<Vec<Prediction>> {
    let Some(open) = model.open() else { return model.predict(examples) };
    let rows = examples.iter().map(|example| Ok(Row::new(open.encode(example)?)));
    driver.read_all(model, &rows.collect::<Result<Vec<Row>>>()?, &Predictions(model))
}

/// F of a target with the values of some sites and F's slopes at others.
#[derive(Clone, Copy)]
pub struct Explaining<'a> {
    /// The model, as one whose inside can be read.
    pub open: &'a dyn Open,
    /// What the model is.
    pub card: &'a Card,
    /// F. One that is not resolved yet is resolved for each row by that row's own output; for edited rows of one text,
    /// resolve it on the text first.
    pub target: &'a Target,
    /// Sites whose values are read.
    pub values: &'a [Site],
    /// Sites where the slopes of F are taken.
    pub wrt: &'a [Site],
    /// How cotangents travel backward.
    pub rules: Rules,
}

/// What [`Explaining`] reads of one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The value F of the target for this row.
    pub value: f64,
    /// One a site of `values`.
    pub values: Vec<Array>,
    /// One a site of `wrt`.
    pub gradients: Vec<Array>,
}

impl Explanation {
    /// What it takes to keep it.
    pub(crate) fn bytes(&self) -> usize {
        let elements: usize = self.values.iter().chain(&self.gradients).map(Array::len).sum();
        size_of::<Self>() + elements * size_of::<f32>()
    }
}

impl Explaining<'_> {
    /// Tells what it reads of a row from everything else that could be read of it.
    pub fn name(&self) -> String {
        let Self { target, values, wrt, rules, .. } = self;
        format!("{target:?} {values:?} {wrt:?} {rules:?}")
    }
}

impl Readout for Explaining<'_> {
    type Value = Explanation;

    fn plan(&self) -> Plan {
        let record = match (self.wrt, self.rules) {
            ([], _) => Record::Nothing,
            (_, Rules::Gradient) => Record::Gradient,
            (_, Rules::DeepLift { .. }) => Record::Paired,
            _ => Record::Lowered,
        };
        self.target.plan(self.open.sites(), self.wrt.iter().chain(self.values), record)
    }

    fn places(&self) -> Option<Vec<usize>> {
        self.card.task.places(&self.target.quantity)
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Explanation>> {
        let (mut found, mut seeds) = (Vec::with_capacity(rows.len()), Vec::new());
        let vocabulary = |piece: &str| self.open.output_id(piece);
        for (i, row) in rows.iter().enumerate() {
            let target =
                self.target.resolve(self.card, &row.encoded, &pass.logits()[i], None, &vocabulary)?;
            let values = self.values.iter().map(|&site| pass.value(site, i)).collect::<Result<_>>()?;
            if !self.wrt.is_empty() {
                seeds.extend(target.seeds(self.card, pass, i)?);
            }
            let value = target.value(self.card, pass, i)?;
            found.push(Explanation { value, values, gradients: Vec::new() });
        }
        if !self.wrt.is_empty() {
            for by_row in pass.backward(&seeds, self.wrt, self.rules)? {
                found.iter_mut().zip(by_row).for_each(|(found, gradient)| found.gradients.push(gradient));
            }
        }
        Ok(found)
    }
}
