//! What a model loses without one of its heads: its context vector is zero, or it attends to everything alike. As in
//! P. Michel, O. Levy, G. Neubig, *Are sixteen heads really better than one?*, 2019, and O. Kovaleva and others, 2019.

use super::HeadGrid;
use crate::debate::distance::{largest, softmax};
use exegete_core::{Array, Change, Driver, Edit, Encoded, Model, Outputs, Pick, Result, Role, Row};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How a head is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadOff {
    /// What it read is zero.
    Zero,
    /// It reads the mean over all tokens.
    Uniform,
}

impl HeadOff {
    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero",
            Self::Uniform => "uniform",
        }
    }

    /// The edit that does it to one head of a text of so many tokens.
    pub fn edit(self, model: &dyn Model, grid: &HeadGrid, index: usize, tokens: usize) -> Result<Edit> {
        let (layer, head) = grid.place(index);
        let only = Pick::Only(vec![head]);
        Ok(match self {
            Self::Zero => {
                let site = model.require_open()?.sites().beside(grid.sites[layer], Role::Contexts)?;
                Edit { site, at: vec![Pick::All, only], change: Change::Zero }
            }
            Self::Uniform => {
                let even = Array::full([1, tokens, tokens], 1.0 / tokens as f32);
                Edit { site: grid.sites[layer], at: vec![only], change: Change::Set(even) }
            }
        })
    }
}

/// What one text loses without each head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextLoss {
    /// The change of being right, −1, 0 or 1, one a head.
    pub right: Vec<f64>,
    /// The change of the label's log-probability, one a head.
    pub log_prob: Vec<f64>,
}

/// Runs a text with every head disabled in turn; without a label the model's own answer is the right one.
pub fn losses(
    model: &dyn Model,
    driver: &Driver,
    grid: &HeadGrid,
    how: HeadOff,
    text: (&Arc<Encoded>, Option<usize>),
) -> Result<TextLoss> {
    let (encoded, label) = text;
    let mut rows = vec![Row::new(encoded.clone())];
    for index in 0..grid.count() {
        rows.push(Row::new(encoded.clone()).edit(how.edit(model, grid, index, encoded.len())?));
    }
    let found: Vec<Vec<f64>> =
        driver.read_all(model, &rows, &Outputs)?.iter().map(|output| softmax(&output.data)).collect();
    let label = label.unwrap_or_else(|| largest(&found[0]));
    let right = |p: &Vec<f64>| f64::from(u8::from(largest(p) == label));
    let log = |p: &Vec<f64>| p[label].max(f64::MIN_POSITIVE).ln();
    let whole = (right(&found[0]), log(&found[0]));
    Ok(TextLoss {
        right: found[1..].iter().map(|p| right(p) - whole.0).collect(),
        log_prob: found[1..].iter().map(|p| log(p) - whole.1).collect(),
    })
}
