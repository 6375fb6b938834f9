//! Which heads and which paths between tokens carry an answer, by self-attention attribution. Y. Hao, L. Dong, F. Wei, K. Xu,
//! *Self-attention attribution: interpreting information interactions inside Transformer*, 2021.

use super::HeadGrid;
use crate::gradient::integrated_gradients::from_nothing;
use crate::{Question, RawScores};
use exegete_core::{Array, Driver, Encoded, Model, Result, Row, Target};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How good the integral of a layer is.
const TOLERANCE: f64 = 0.01;
/// A tree takes entries above this share of a layer's largest.
const TAKEN: f64 = 0.4;

/// Attr_h of every layer of a text, \[N, T, T\] each.
pub fn attributions(
    model: &dyn Model,
    driver: &Driver,
    grid: &HeadGrid,
    encoded: &Arc<Encoded>,
    target: Target,
) -> Result<Vec<Array>> {
    let job = Question::new(model, driver, Row::new(encoded.clone()), target);
    let of = |&site| {
        let found = from_nothing(&job, site, TOLERANCE)?;
        Ok(match found.scores {
            RawScores::Elements(values, _) => values,
            RawScores::Tokens(_) | RawScores::Units(_) => Array::zeros(job.info(site)?.shape(encoded)),
        })
    };
    grid.sites.iter().map(of).collect()
}

/// The importance of each head for one text: its largest entry, with its sign.
pub fn importance(layers: &[Array], heads: usize) -> Vec<f64> {
    let largest = |values: &[f32]| values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let of_layer = |layer: &Array| -> Vec<f64> {
        let size = (layer.len() / heads.max(1)).max(1);
        layer.data.chunks(size).map(|values| f64::from(largest(values))).collect()
    };
    layers.iter().flat_map(of_layer).collect()
}

/// A connection of an attribution tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeEdge {
    /// The layer, from 0.
    pub layer: usize,
    /// The token that read.
    pub from: usize,
    /// The token that was read, and is now in the tree.
    pub to: usize,
}

/// The tree of a text from its first token down, by Σ_h Attr_h of every layer, \[T, T\] each and the first layer first: from
/// the last layer to the first, the entries above .4 of the layer's largest join what is in the tree to what is not.
pub fn tree(layers: &[Vec<Vec<f64>>]) -> Vec<TreeEdge> {
    let (mut inside, mut edges) = (BTreeSet::from([0]), Vec::new());
    for (layer, map) in layers.iter().enumerate().rev() {
        let entries =
            map.iter().enumerate().flat_map(|(i, row)| row.iter().enumerate().map(move |(j, &a)| (i, j, a)));
        let mut entries: Vec<(usize, usize, f64)> = entries.filter(|(i, j, _)| i != j).collect();
        let top = entries.iter().fold(0.0, |top: f64, entry| top.max(entry.2));
        entries.retain(|entry| top > 0.0 && entry.2 > TAKEN * top);
        // The sort is stable: of equal ones the first row, then the first column.
        entries.sort_by(|a, b| b.2.total_cmp(&a.2));
        let before = inside.clone();
        for (from, to, _) in entries {
            if before.contains(&from) && inside.insert(to) {
                edges.push(TreeEdge { layer, from, to });
            }
        }
    }
    edges
}
