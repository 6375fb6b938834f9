//! Parameter gradients through the driver: rows in pieces that fit the budget, whose sums are those of the whole.

use super::Driver;
use crate::{Array, Error, Label, Learner, Model, Plan, Result, Row};
use std::borrow::Cow;
use std::ops::Range;

/// Rows with their labels, and the parameters whose part in the loss is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Supervised<'a> {
    /// The rows that the loss is summed over.
    pub rows: &'a [Row],
    /// What each should have been.
    pub labels: &'a [Label],
    /// Parameters by name: see [`ParameterGroup::select`](crate::ParameterGroup::select).
    pub select: &'a [String],
}

/// What a piece is handed to: its rows with their labels, and where they lie in the whole.
type PieceVisit<'a> = &'a mut dyn FnMut(Range<usize>, &[Row], &[Label]) -> Result<()>;

impl Driver {
    /// The loss of each row and the gradient of their sum, within the budget: see [`Learner::gradient`].
    pub fn gradient(&self, model: &dyn Model, given: &Supervised<'_>) -> Result<(Vec<f64>, Vec<Array>)> {
        let learner = learner(model)?;
        let (mut losses, mut sums) = (Vec::with_capacity(given.rows.len()), zeros(learner, given.select)?);
        self.each_piece(
            given,
            self.memory_bytes,
            &|row| learner.learning_bytes(row),
            &mut |_, rows, labels| {
                let (lost, gradients) = learner.gradient(rows, labels, given.select)?;
                losses.extend(lost);
                add(&mut sums, &gradients);
                self.counter().backward_rows += rows.len();
                Ok(())
            },
        )?;
        Ok((losses, sums))
    }

    /// The gradient of each row's loss, in order and within the budget: see [`Learner::row_gradients`].
    pub fn row_gradients(
        &self,
        model: &dyn Model,
        given: &Supervised<'_>,
        sink: &mut dyn FnMut(usize, Vec<Array>) -> Result<()>,
    ) -> Result<()> {
        let learner = learner(model)?;
        let bytes = |row: &Row| learner.learning_bytes(row);
        self.each_piece(given, self.memory_bytes, &bytes, &mut |range, rows, labels| {
            learner.row_gradients(rows, labels, given.select, &mut |row, gradient| {
                sink(range.start + row, gradient)
            })?;
            self.counter().backward_rows += rows.len();
            Ok(())
        })
    }

    /// The slope of each row's loss along a direction, within the budget: see [`Learner::directional`].
    pub fn directional(&self, model: &dyn Model, given: &Supervised<'_>, v: &[Array]) -> Result<Vec<f64>> {
        let (learner, open) = (learner(model)?, model.require_open()?);
        let mut slopes = Vec::with_capacity(given.rows.len());
        let bytes = |row: &Row| open.bytes(row, &Plan::default());
        // Every number has a tangent beside it.
        self.each_piece(given, self.memory_bytes / 2, &bytes, &mut |_, rows, labels| {
            slopes.extend(learner.directional(rows, labels, given.select, v)?);
            Ok(())
        })?;
        Ok(slopes)
    }

    /// The product of the summed loss's Hessian with a direction, within the budget: see [`Learner::hvp`].
    pub fn hvp(&self, model: &dyn Model, given: &Supervised<'_>, v: &[Array]) -> Result<Vec<Array>> {
        let learner = learner(model)?;
        let mut sums = zeros(learner, given.select)?;
        let bytes = |row: &Row| learner.learning_bytes(row);
        // Every number has a tangent beside it.
        self.each_piece(given, self.memory_bytes / 2, &bytes, &mut |_, rows, labels| {
            add(&mut sums, &learner.hvp(rows, labels, given.select, v)?);
            self.counter().backward_rows += rows.len();
            Ok(())
        })?;
        Ok(sums)
    }

    /// Hands over rows in pieces that fit the budget, and counts them.
    fn each_piece(
        &self,
        given: &Supervised<'_>,
        memory_bytes: usize,
        bytes_of: &dyn Fn(&Row) -> usize,
        visit: PieceVisit<'_>,
    ) -> Result<()> {
        let (count, labels) = (given.rows.len(), given.labels);
        if count != labels.len() {
            return Err(Error::Request(format!("{count} rows but {} labels", labels.len())));
        }
        let rows = asking(given);
        self.pieces(&rows, 1, memory_bytes, bytes_of, &mut |range| {
            self.check_stop()?;
            visit(range.clone(), &rows[range.clone()], &labels[range.clone()])?;
            self.counter().forward_rows += range.len();
            self.tell();
            Ok(())
        })
    }
}

/// Rows that ask for the outputs of labelled tokens only: those of a whole vocabulary are large.
fn asking<'a>(given: &Supervised<'a>) -> Cow<'a, [Row]> {
    if given.labels.iter().all(|label| label.places().is_none()) {
        return Cow::Borrowed(given.rows);
    }
    let ask = |(row, label): (&Row, &Label)| {
        // A label without any is an error that the loss explains.
        let labelled = label.places().filter(|places| !places.is_empty());
        let outputs = row.outputs.clone().or_else(|| labelled.map(Into::into));
        Row { outputs, ..row.clone() }
    };
    given.rows.iter().zip(given.labels).map(ask).collect()
}

fn learner(model: &dyn Model) -> Result<&dyn Learner> {
    let name = &model.card().name;
    model.learner().ok_or_else(|| Error::Unsupported(format!("the parameters of {name} cannot be learned")))
}

fn zeros(learner: &dyn Learner, select: &[String]) -> Result<Vec<Array>> {
    let known = learner.parameters();
    let zero = |name: &String| {
        let shape = known.iter().find(|(known, _)| known == name).map(|(_, shape)| shape.clone());
        let shape = shape.ok_or_else(|| Error::Request(format!("the model has no parameter '{name}'")))?;
        Ok(Array::zeros(shape))
    };
    select.iter().map(zero).collect()
}

fn add(sums: &mut [Array], found: &[Array]) {
    for (sum, found) in sums.iter_mut().zip(found) {
        sum.data.iter_mut().zip(&found.data).for_each(|(sum, found)| *sum += found);
    }
}
