//! What attention moves against what it weighs: ‖α_ij f_h(x_j)‖ with f_h(x) = (x W_V + b_V) W_O of a head, and the norm of the
//! sum over heads of a layer. G. Kobayashi, T. Kuribayashi, S. Yokoi, K. Inui, *Attention is not only a weight*, 2020.

use super::{HeadGrid, HeadProjection, TokenPlaces};
use crate::Stream;
use crate::statistics::spearman;
use exegete_core::{Array, Model, Pass, Plan, Readout, Result, Role, Row};
use rand::RngExt;

/// What stands for all other tokens.
pub const OTHERS: &str = "others";
/// What stands for full stops and commas.
pub const MARKS: &str = ". ,";
/// What stands for all categories together.
pub const ALL: &str = "all";

/// Reads attention maps and values, two arrays a layer.
pub struct WeighedValues<'a> {
    /// The model that is looked into.
    pub model: &'a dyn Model,
    /// The weights of its heads by layer.
    pub grid: &'a HeadGrid,
}

impl Readout for WeighedValues<'_> {
    type Value = Vec<[Array; 2]>;

    fn plan(&self) -> Plan {
        let values = self.sites().unwrap_or_default();
        Plan::keep(self.grid.sites.iter().copied().chain(values).collect::<Vec<_>>())
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Self::Value>> {
        let values = self.sites()?;
        let of = |row: usize| {
            let both = self.grid.sites.iter().zip(&values);
            both.map(|(&maps, &values)| Ok([pass.value(maps, row)?, pass.value(values, row)?])).collect()
        };
        (0..rows.len()).map(of).collect()
    }
}

impl WeighedValues<'_> {
    fn sites(&self) -> Result<Vec<exegete_core::Site>> {
        let sites = self.model.require_open()?.sites();
        self.grid.sites.iter().map(|&site| sites.beside(site, Role::Values)).collect()
    }
}

/// The norms of one layer of one text.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerNorms {
    /// ‖f_h(x_j)‖, a list a head.
    pub lengths: Vec<Vec<f64>>,
    /// ‖Σ_h α_ij^h f_h(x_j)‖, a list a row i.
    pub merged: Vec<Vec<f64>>,
}

impl LayerNorms {
    /// From the weights \[N, T, T\] and f_h(x_j), by token and head.
    pub fn of(map: &[f32], moved: &[Vec<Vec<f64>>]) -> Self {
        let (tokens, heads) = (moved.len(), moved.first().map_or(0, Vec::len));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut merged = vec![vec![0.0; tokens]; tokens];
        let mut lengths = vec![vec![0.0; tokens]; heads];
        for (j, moved) in moved.iter().enumerate() {
            // ‖Σ α_h f_h‖² needs the products of the heads' vectors alone.
            let products: Vec<Vec<f64>> =
                moved.iter().map(|a| moved.iter().map(|b| dot(a, b)).collect()).collect();
            (0..heads).for_each(|h| lengths[h][j] = products[h][h].sqrt());
            for (i, row) in merged.iter_mut().enumerate() {
                let alpha: Vec<f64> =
                    (0..heads).map(|h| f64::from(map[(h * tokens + i) * tokens + j])).collect();
                let square: f64 = (0..heads).map(|h| alpha[h] * dot(&products[h], &alpha)).sum();
                row[j] = square.max(0.0).sqrt();
            }
        }
        Self { lengths, merged }
    }
}

/// The category of a token: its own piece for markers, full stops and commas, others.
pub fn category(places: &TokenPlaces, token: usize) -> String {
    match (places.special[token], places.is_mark(token)) {
        (true, _) => places.pieces[token].clone(),
        (_, true) => MARKS.to_owned(),
        _ => OTHERS.to_owned(),
    }
}

/// Sums over texts of one head, or of one layer's merged norms, in one category.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct NormSums {
    /// Σ_j α_ij in the category.
    pub weight: f64,
    /// Σ_j ‖αf‖_ij in the category.
    pub norm: f64,
    /// The same as a share of all categories.
    pub share: f64,
}

/// Weights and norms over a corpus.
pub struct NormSurvey {
    /// The categories in the order in which they occur.
    pub categories: Vec<String>,
    /// By head of all layers and category.
    heads: Vec<Vec<NormSums>>,
    /// The shares of merged norms, by layer and category.
    merged: Vec<Vec<f64>>,
    /// The weights of all pairs (i, j), by head.
    weights: Vec<Vec<f32>>,
    /// ‖f(x_j)‖ of the same pairs.
    lengths: Vec<Vec<f32>>,
    /// The category of j.
    kinds: Vec<u8>,
    texts: usize,
    heads_of_layer: usize,
}

/// A pair of tokens for a picture.
#[derive(Debug, Clone, PartialEq)]
pub struct NormPair {
    /// The number of the head in all layers.
    pub head: usize,
    /// The category of the token that is looked at.
    pub category: String,
    /// The attention weight, α_ij in the formula.
    pub weight: f64,
    /// The length of the transformed vector, ‖f(x_j)‖.
    pub norm: f64,
}

impl NormSurvey {
    /// Of the heads of a model, before any text.
    pub fn new(grid: &HeadGrid) -> Self {
        let heads = grid.count();
        Self {
            categories: Vec::new(),
            heads: vec![Vec::new(); heads],
            merged: vec![Vec::new(); grid.sites.len()],
            weights: vec![Vec::new(); heads],
            lengths: vec![Vec::new(); heads],
            kinds: Vec::new(),
            texts: 0,
            heads_of_layer: grid.heads,
        }
    }

    /// Adds a text by the maps and values of its layers.
    pub fn add(&mut self, layers: &[[Array; 2]], projection: &HeadProjection, places: &TokenPlaces) {
        let kinds = self.kinds_of(places);
        let (tokens, heads) = (places.len(), self.heads_of_layer);
        for (layer, [map, values]) in layers.iter().enumerate() {
            let width = values.len() / tokens;
            let moved: Vec<Vec<Vec<f64>>> =
                values.data.chunks(width).map(|values| projection.moved(layer, values)).collect();
            let norms = LayerNorms::of(&map.data, &moved);
            for (h, map) in map.data.chunks(tokens * tokens).enumerate() {
                self.add_head(layer * heads + h, map, &norms.lengths[h], &kinds);
            }
            for row in &norms.merged {
                add_shares(&mut self.merged[layer], row, &kinds, tokens);
            }
        }
        for _ in 0..tokens {
            self.kinds.extend(kinds.iter().map(|&kind| kind as u8));
        }
        self.texts += 1;
    }

    fn kinds_of(&mut self, places: &TokenPlaces) -> Vec<usize> {
        let kinds = (0..places.len()).map(|token| {
            let name = category(places, token);
            self.categories.iter().position(|known| *known == name).unwrap_or_else(|| {
                self.categories.push(name);
                self.categories.len() - 1
            })
        });
        let kinds = kinds.collect();
        let count = self.categories.len();
        self.heads.iter_mut().for_each(|sums| sums.resize(count, NormSums::default()));
        self.merged.iter_mut().for_each(|sums| sums.resize(count, 0.0));
        kinds
    }

    fn add_head(&mut self, head: usize, map: &[f32], lengths: &[f64], kinds: &[usize]) {
        let share = 1.0 / lengths.len() as f64;
        for row in map.chunks(lengths.len()) {
            let norms: Vec<f64> = row.iter().zip(lengths).map(|(&a, f)| f64::from(a) * f).collect();
            let all: f64 = norms.iter().sum();
            for ((&weight, norm), &kind) in row.iter().zip(&norms).zip(kinds) {
                let sums = &mut self.heads[head][kind];
                sums.weight += share * f64::from(weight);
                sums.norm += share * norm;
                sums.share += if all > 0.0 { share * norm / all } else { 0.0 };
            }
            self.weights[head].extend(row);
            self.lengths[head].extend(lengths.iter().map(|&f| f as f32));
        }
    }

    /// How many texts were looked at.
    pub fn texts(&self) -> usize {
        self.texts
    }

    /// The means over texts of a head in a category.
    pub fn head(&self, head: usize, kind: usize) -> NormSums {
        let (sums, texts) = (self.heads[head][kind], self.texts.max(1) as f64);
        NormSums { weight: sums.weight / texts, norm: sums.norm / texts, share: sums.share / texts }
    }

    /// The means over the heads of a layer, and the share of its merged norms.
    pub fn layer(&self, layer: usize, kind: usize) -> (NormSums, f64) {
        let mut mean = NormSums::default();
        let share = 1.0 / self.heads_of_layer as f64;
        for head in layer * self.heads_of_layer..(layer + 1) * self.heads_of_layer {
            let own = self.head(head, kind);
            mean.weight += share * own.weight;
            mean.norm += share * own.norm;
            mean.share += share * own.share;
        }
        (mean, self.merged[layer][kind] / self.texts.max(1) as f64)
    }

    /// Spearman's ρ of α_ij and ‖f(x_j)‖ over the pairs of a category, or of all; none where one side is all ties.
    pub fn spearman(&self, head: usize, kind: Option<usize>) -> Option<f64> {
        let own = |values: &[f32]| -> Vec<f64> {
            let pairs = values.iter().zip(&self.kinds);
            let pairs = pairs.filter(|(_, own)| kind.is_none_or(|kind| usize::from(**own) == kind));
            pairs.map(|(&value, _)| f64::from(value)).collect()
        };
        spearman(&own(&self.weights[head]), &own(&self.lengths[head]))
    }

    /// Some pairs, drawn evenly over all heads.
    pub fn pairs(&self, count: usize, seed: u64) -> Vec<NormPair> {
        let mut random = Stream::TokenPairs.random(seed, 0);
        if self.kinds.is_empty() {
            return Vec::new();
        }
        let draw = |_| {
            let head = random.random_range(0..self.weights.len() as u32) as usize;
            let at = random.random_range(0..self.kinds.len() as u64) as usize;
            let (weight, norm) = (self.weights[head][at], self.lengths[head][at]);
            let category = self.categories[usize::from(self.kinds[at])].clone();
            NormPair { head, category, weight: f64::from(weight), norm: f64::from(norm) }
        };
        (0..count).map(draw).collect()
    }
}

fn add_shares(sums: &mut [f64], row: &[f64], kinds: &[usize], rows: usize) {
    let all: f64 = row.iter().sum();
    if all > 0.0 {
        row.iter().zip(kinds).for_each(|(norm, &kind)| sums[kind] += norm / all / rows as f64);
    }
}
