//! What can be learned of a toy, whichever: by differences of fourth order in f64, whose error is far below what the f32 of
//! the arrays can hold. It knows nothing of a toy's arithmetic.

use super::parameters::Parameters;
use super::{Toy, pass::Trace};
use exegete_core::{Array, Error, Label, Learner, Open, ParameterGroup, Plan, Result, Row, Task};

/// The step of a difference of losses.
const STEP: f64 = 1e-3;
/// The step of a difference of such differences, whose own errors it divides.
const WIDE_STEP: f64 = 1e-2;

impl Learner for Toy {
    fn parameters(&self) -> Vec<(String, Vec<usize>)> {
        self.stages.parameters().shapes()
    }

    fn groups(&self) -> Vec<ParameterGroup> {
        self.stages.parameters().groups()
    }

    fn learning_bytes(&self, row: &Row) -> usize {
        self.bytes(row, &Plan::default())
    }

    fn parameter(&self, name: &str) -> Result<Array> {
        self.stages.parameters().array(name)
    }

    fn gradient(&self, rows: &[Row], labels: &[Label], select: &[String]) -> Result<(Vec<f64>, Vec<Array>)> {
        let own = self.stages.parameters();
        let losses = self.losses(own, rows, labels)?;
        Ok((losses, arrays(own, select, &self.slopes(own, rows, labels, select)?)?))
    }

    fn row_gradients(
        &self,
        rows: &[Row],
        labels: &[Label],
        select: &[String],
        sink: &mut dyn FnMut(usize, Vec<Array>) -> Result<()>,
    ) -> Result<()> {
        for i in 0..rows.len() {
            sink(i, self.gradient(&rows[i..=i], &labels[i..=i], select)?.1)?;
        }
        Ok(())
    }

    fn directional(
        &self,
        rows: &[Row],
        labels: &[Label],
        select: &[String],
        v: &[Array],
    ) -> Result<Vec<f64>> {
        let own = self.stages.parameters();
        difference(STEP, |by| self.losses(&along(own, select, v, by)?, rows, labels))
    }

    fn hvp(&self, rows: &[Row], labels: &[Label], select: &[String], v: &[Array]) -> Result<Vec<Array>> {
        let own = self.stages.parameters();
        let slopes = |by| self.slopes(&along(own, select, v, by)?, rows, labels, select);
        arrays(own, select, &difference(WIDE_STEP, slopes)?)
    }
}

impl Toy {
    fn losses(&self, at: &Parameters, rows: &[Row], labels: &[Label]) -> Result<Vec<f64>> {
        if rows.len() != labels.len() {
            return Err(Error::Request(format!("{} rows but {} labels", rows.len(), labels.len())));
        }
        let stages = self.stages.with(at.clone());
        let loss = |(row, label): (&Row, &Label)| {
            let output = Trace::run(&*stages, row, None)?.output();
            lost(self.card.task, &output, row.encoded.len(), label)
        };
        rows.iter().zip(labels).map(loss).collect()
    }

    /// The slope of all losses together at every element of the selected parameters.
    fn slopes(&self, at: &Parameters, rows: &[Row], labels: &[Label], select: &[String]) -> Result<Vec<f64>> {
        let mut slopes = Vec::new();
        for name in select {
            let zeros = Array::zeros(at.array(name)?.shape);
            for i in 0..zeros.len() {
                let mut only = zeros.clone();
                only.data[i] = 1.0;
                let moved = |by| at.changed(name, &only, |x, only| x + by * only);
                slopes.push(difference(STEP, |by| self.losses(&moved(by)?, rows, labels))?.iter().sum());
            }
        }
        Ok(slopes)
    }
}

/// −log softmax of the right class, for a text or as the mean over its labelled tokens.
fn lost(task: &dyn Task, output: &[f64], tokens: usize, label: &Label) -> Result<f64> {
    task.labelled().check(label)?;
    let surprise = |output: &[f64], class: usize| {
        let right = output.get(class).ok_or_else(|| Error::Request(format!("there is no class {class}")))?;
        Ok(output.iter().map(|z| z.exp()).sum::<f64>().ln() - right)
    };
    match label {
        Label::Class(class) => surprise(output, *class),
        Label::Tokens(classes) if classes.len() == tokens => {
            let labelled = output.chunks(output.len() / tokens).zip(classes);
            let all = labelled.filter_map(|(output, class)| class.map(|class| surprise(output, class)));
            let all = all.collect::<Result<Vec<f64>>>()?;
            Ok(all.iter().sum::<f64>() / all.len() as f64)
        }
        _ => Err(Error::Request(format!("{label:?} is no label of a text of {tokens} tokens here"))),
    }
}

/// Parameters moved by some share of a direction.
fn along(own: &Parameters, select: &[String], v: &[Array], by: f64) -> Result<Parameters> {
    if select.len() != v.len() {
        return Err(Error::Request(format!("{} parameters but {} directions", select.len(), v.len())));
    }
    let moved = |at: Parameters, (name, v): (&String, &Array)| at.changed(name, v, |x, v| x + by * v);
    select.iter().zip(v).try_fold(own.clone(), moved)
}

/// (8·(f(h) − f(−h)) − (f(2h) − f(−2h))) / 12h.
fn difference(step: f64, f: impl Fn(f64) -> Result<Vec<f64>>) -> Result<Vec<f64>> {
    let [near, other_near, far, other_far] = [1.0, -1.0, 2.0, -2.0].map(|by| f(by * step));
    let (near, other_near, far, other_far) = (near?, other_near?, far?, other_far?);
    let slope = |i: usize| (8.0 * (near[i] - other_near[i]) - (far[i] - other_far[i])) / (12.0 * step);
    Ok((0..near.len()).map(slope).collect())
}

/// One after the other, in the shapes of the selected parameters.
fn arrays(own: &Parameters, select: &[String], mut values: &[f64]) -> Result<Vec<Array>> {
    let one = |name: &String| {
        let shape = own.array(name)?.shape;
        let (first, rest) = values.split_at(shape.iter().product());
        values = rest;
        Array::new(shape, first.iter().map(|&x| x as f32).collect())
    };
    select.iter().map(one).collect()
}
