//! What attention moves against what it weighs: ‖α_ij f_h(x_j)‖ with f_h(x) = (x W_V + b_V) W_O of a head, and the norm of the
//! sum over heads of a layer. G. Kobayashi, T. Kuribayashi, S. Yokoi, K. Inui, *Attention is not only a weight*, 2020.

use super::{HeadGrid, HeadProjection, TokenPlaces};
use crate::Stream;
use crate::statistics::spearman;
use exegete_core::{Array, Model, Pass, Plan, Readout, Result, Role, Row};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

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
                row[j] = square.clamp(0.0, f64::INFINITY).sqrt();
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct NormSums {
    /// Σ_j α_ij in the category.
    pub weight: f64,
    /// Σ_j ‖αf‖_ij in the category.
    pub norm: f64,
    /// The same as a share of all categories.
    pub share: f64,
}

/// Weights and norms over a corpus, or over a part of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NormSurvey {
    /// The categories in the order in which they occur.
    pub categories: Vec<String>,
    /// By head of all layers and category.
    heads: Vec<Vec<NormSums>>,
    /// The shares of merged norms, by layer and category.
    merged: Vec<Vec<f64>>,
    /// The weights of all pairs (i, j) of every text, row by row, by head: ranks need all of them.
    #[serde(with = "single")]
    weights: Vec<Vec<f32>>,
    /// ‖f(x_j)‖ of every token, by head.
    #[serde(with = "single")]
    lengths: Vec<Vec<f32>>,
    /// The category of every token.
    kinds: Vec<u8>,
    /// How many tokens each text has.
    texts: Vec<usize>,
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

/// What ranking a pair takes for a moment: two values, two ranks, their order and room to sort it, eight bytes each.
const RANKING_BYTES: usize = 6 * 8;

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
            texts: Vec::new(),
            heads_of_layer: grid.heads,
        }
    }

    /// How many bytes a survey of texts of so many tokens takes.
    pub fn bytes(grid: &HeadGrid, tokens: impl Iterator<Item = usize>) -> usize {
        let (all, pairs) = tokens.fold((0usize, 0usize), |(all, pairs), tokens| {
            (all.saturating_add(tokens), pairs.saturating_add(tokens.saturating_mul(tokens)))
        });
        let kept = pairs.saturating_add(all).saturating_mul(size_of::<f32>() * grid.count());
        kept.saturating_add(pairs.saturating_mul(RANKING_BYTES)).saturating_add(all)
    }

    /// Adds a text by the maps and values of its layers.
    pub fn add(&mut self, layers: &[[Array; 2]], projection: &HeadProjection, places: &TokenPlaces) {
        let kinds: Vec<usize> =
            (0..places.len()).map(|token| self.kind_of(&category(places, token))).collect();
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
        self.kinds.extend(kinds.iter().map(|&kind| kind as u8));
        self.texts.push(tokens);
    }

    /// Adds the texts of another survey of the same heads behind its own.
    pub fn join(&mut self, other: Self) {
        let kinds: Vec<usize> = other.categories.iter().map(|name| self.kind_of(name)).collect();
        for (sums, own) in self.heads.iter_mut().zip(&other.heads) {
            for (&kind, own) in kinds.iter().zip(own) {
                let sums = &mut sums[kind];
                sums.weight += own.weight;
                sums.norm += own.norm;
                sums.share += own.share;
            }
        }
        for (sums, own) in self.merged.iter_mut().zip(&other.merged) {
            kinds.iter().zip(own).for_each(|(&kind, own)| sums[kind] += own);
        }
        self.weights.iter_mut().zip(other.weights).for_each(|(all, own)| all.extend(own));
        self.lengths.iter_mut().zip(other.lengths).for_each(|(all, own)| all.extend(own));
        self.kinds.extend(other.kinds.iter().map(|&kind| kinds[usize::from(kind)] as u8));
        self.texts.extend(other.texts);
    }

    /// The number of a category, which is a new one where it did not occur before.
    fn kind_of(&mut self, name: &str) -> usize {
        if let Some(known) = self.categories.iter().position(|known| known == name) {
            return known;
        }
        self.categories.push(name.to_owned());
        self.heads.iter_mut().for_each(|sums| sums.push(NormSums::default()));
        self.merged.iter_mut().for_each(|sums| sums.push(0.0));
        self.categories.len() - 1
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
        }
        self.weights[head].extend(map);
        self.lengths[head].extend(lengths.iter().map(|&f| f as f32));
    }

    /// How many texts were looked at.
    pub fn texts(&self) -> usize {
        self.texts.len()
    }

    /// The means over texts of a head in a category.
    pub fn head(&self, head: usize, kind: usize) -> NormSums {
        let (sums, texts) = (self.heads[head][kind], self.texts().max(1) as f64);
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
        (mean, self.merged[layer][kind] / self.texts().max(1) as f64)
    }

    /// The token that is looked at, of every pair in the order of the weights.
    fn looked_at(&self) -> impl Iterator<Item = usize> {
        let first = self.texts.iter().scan(0, |next, &tokens| {
            *next += tokens;
            Some((*next - tokens, tokens))
        });
        first.flat_map(|(first, tokens)| (0..tokens).flat_map(move |_| first..first + tokens))
    }

    /// Spearman's ρ of α_ij and ‖f(x_j)‖ over the pairs of a category, or of all; none where one side is all ties.
    pub fn spearman(&self, head: usize, kind: Option<usize>) -> Option<f64> {
        let pairs = self.weights[head].iter().zip(self.looked_at());
        let own = |token: usize| kind.is_none_or(|kind| usize::from(self.kinds[token]) == kind);
        let (weights, lengths): (Vec<f64>, Vec<f64>) = pairs
            .filter(|&(_, token)| own(token))
            .map(|(&weight, token)| (f64::from(weight), f64::from(self.lengths[head][token])))
            .unzip();
        spearman(&weights, &lengths)
    }

    /// At most so many pairs, drawn evenly over all heads; all where there are no more.
    pub fn pairs(&self, count: usize, seed: u64) -> Vec<NormPair> {
        let tokens: Vec<usize> = self.looked_at().collect();
        let all = self.weights.len() * tokens.len();
        let pair = |at: usize| {
            let (head, at) = (at / tokens.len(), at % tokens.len());
            let (weight, norm) = (self.weights[head][at], self.lengths[head][tokens[at]]);
            let category = self.categories[usize::from(self.kinds[tokens[at]])].clone();
            NormPair { head, category, weight: f64::from(weight), norm: f64::from(norm) }
        };
        if all <= count {
            return (0..all).map(pair).collect();
        }
        let mut random = Stream::TokenPairs.random(seed, 0);
        let (mut drawn, mut found) = (HashSet::new(), Vec::with_capacity(count));
        while found.len() < count {
            let at = random.random_range(0..all as u64) as usize;
            if drawn.insert(at) {
                found.push(pair(at));
            }
        }
        found
    }
}

/// Lists of single-precision numbers as hexadecimal digits: bit for bit, and shorter than decimal ones.
mod single {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};
    use std::fmt::Write;

    pub(super) fn serialize<S: Serializer>(lists: &[Vec<f32>], to: S) -> Result<S::Ok, S::Error> {
        let written = |list: &Vec<f32>| {
            list.iter().fold(String::with_capacity(8 * list.len()), |mut text, value| {
                // Writing to a string cannot fail.
                let _ = write!(text, "{:08x}", value.to_bits());
                text
            })
        };
        to.collect_seq(lists.iter().map(written))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Vec<f32>>, D::Error> {
        let number = |digits: &[u8]| {
            let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.len() == 8)?;
            u32::from_str_radix(digits, 16).ok().map(f32::from_bits)
        };
        let read = |text: &String| text.as_bytes().chunks(8).map(number).collect::<Option<Vec<f32>>>();
        let texts = Vec::<String>::deserialize(from)?;
        texts.iter().map(read).collect::<Option<_>>().ok_or_else(|| D::Error::custom("no numbers"))
    }
}

fn add_shares(sums: &mut [f64], row: &[f64], kinds: &[usize], rows: usize) {
    let all: f64 = row.iter().sum();
    if all > 0.0 {
        row.iter().zip(kinds).for_each(|(norm, &kind)| sums[kind] += norm / all / rows as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_testkit::{Of, close};

    /// Two tokens, x (1, 0) and (0, 2); two heads of width 2 with their values x W_V + b_V and their rows of W_O.
    fn by_hand() -> (HeadGrid, [Array; 2], HeadProjection, TokenPlaces) {
        let grid = HeadGrid { sites: vec![exegete_core::Site::named("layer.0.attn.probs")], heads: 2 };
        let map = Array { shape: vec![2, 2, 2], data: vec![0.75, 0.25, 0.5, 0.5, 0.1, 0.9, 0.6, 0.4] };
        let value = |x: [f32; 2]| [x[0] + 0.5, x[1], -x[1], x[0]];
        let data = [value([1.0, 0.0]), value([0.0, 2.0])].concat();
        let values = Array { shape: vec![2, 2, 2], data };
        let rows = vec![2.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, -1.0];
        let pieces = ["[CLS]", "x"].map(str::to_owned).to_vec();
        let places = TokenPlaces { pieces, special: vec![true, false], field: vec![0, 0], words: 1 };
        (grid, [map, values], HeadProjection::of_rows(vec![rows], 2, 2), places)
    }

    #[test]
    fn norms_worked_by_hand() {
        let (grid, layer, projection, places) = by_hand();
        let [map, values] = &layer;
        let moved: Vec<Vec<Vec<f64>>> =
            values.data.chunks(4).map(|values| projection.moved(0, values)).collect();
        let norms = LayerNorms::of(&map.data, &moved);
        let near = |name: &str, found: &[f64], expected: &[f64]| {
            close(name, found, expected, Of::Size(1.0), 1e-6);
        };
        near("lengths", &norms.lengths.concat(), &[3.0, 2.236068, 1.0, 2.828427]);
        let weighed = |head: usize| -> Vec<f64> {
            let weights = map.data[4 * head..][..4].iter().enumerate();
            weights.map(|(at, &alpha)| f64::from(alpha) * norms.lengths[head][at % 2]).collect()
        };
        near("first head", &weighed(0), &[2.25, 0.559017, 1.5, 1.118034]);
        near("second head", &weighed(1), &[0.1, 2.545584, 0.6, 1.131371]);
        near("layer", &norms.merged.concat(), &[2.252221, 2.022993, 1.615549, 0.360555]);
        // Planted fault: the sum of norms is none of these.
        let sums: Vec<f64> = weighed(0).iter().zip(weighed(1)).map(|(a, b)| a + b).collect();
        near("sums of norms", &sums[..2], &[2.35, 3.104601]);
        for (sum, merged) in sums.iter().zip(norms.merged.concat()) {
            assert!(sum - merged > 0.05, "{sum} {merged}");
        }
        let mut survey = NormSurvey::new(&grid);
        survey.add(std::slice::from_ref(&layer), &projection, &places);
        assert_eq!(survey.categories, ["[CLS]", OTHERS]);
        let of = |head: usize| survey.head(head, 1);
        near("weights", &[of(0).weight, of(1).weight], &[0.375, 0.65]);
        near("shares", &[of(0).share, of(1).share], &[0.313030, 0.807827]);
        let means = |row: [f64; 2]| 0.5 * (row[0] + row[1]);
        near("norms", &[of(0).norm, of(1).norm], &[means([0.559017, 1.118034]), means([2.545584, 1.131371])]);
        let (mean, merged) = survey.layer(0, 1);
        near("share of heads", &[mean.share], &[means([0.313030, 0.807827])]);
        let share = |row: [f64; 2]| row[1] / (row[0] + row[1]);
        near("merged", &[merged], &[means([share([2.252221, 2.022993]), share([1.615549, 0.360555])])]);
    }

    /// In parts or at once, and through JSON: the same sums and pairs.
    #[test]
    fn parts_make_the_whole() {
        let (grid, layer, projection, places) = by_hand();
        let other =
            TokenPlaces { pieces: vec!["x".into(), ".".into()], special: vec![false; 2], ..places.clone() };
        let part = |places: &TokenPlaces| {
            let mut part = NormSurvey::new(&grid);
            part.add(std::slice::from_ref(&layer), &projection, places);
            part
        };
        let (mut whole, mut joined) = (NormSurvey::new(&grid), NormSurvey::new(&grid));
        for places in [&places, &other] {
            let own = part(places);
            joined.join(serde_json::from_str(&serde_json::to_string(&own).unwrap()).unwrap());
            whole.join(own);
        }
        assert_eq!(joined, whole);
        assert_eq!(joined.categories, ["[CLS]", OTHERS, MARKS]);
        let mut at_once = part(&places);
        at_once.add(std::slice::from_ref(&layer), &projection, &other);
        let numbers = |survey: &NormSurvey| {
            let sums = (0..6).map(|at| survey.head(at / 3, at % 3));
            sums.flat_map(|sums| [sums.weight, sums.norm, sums.share]).collect::<Vec<f64>>()
        };
        close("at once", &numbers(&at_once), &numbers(&whole), Of::Size(1.0), 1e-12);
        assert_eq!((&at_once.weights, &at_once.kinds), (&whole.weights, &whole.kinds));
        // Both texts look at the longer vector with .25, .5, .5, .75 of the first head, at the shorter with the rest.
        let lengths = [3.0, 2.236068, 3.0, 2.236068].repeat(2);
        let weights = [0.75, 0.25, 0.5, 0.5].repeat(2);
        assert_eq!(whole.spearman(0, None), spearman(&weights, &lengths));
        assert_eq!(whole.spearman(0, Some(2)), None, "one token is as long as itself");
        assert_eq!(whole.pairs(99, 0).len(), 2 * 8);
        let some = whole.pairs(9, 1);
        assert!(some.len() == 9 && some == whole.pairs(9, 1) && some != whole.pairs(9, 2));
        assert_eq!(NormSurvey::bytes(&grid, [2, 2].into_iter()), (8 + 4) * 8 + 8 * RANKING_BYTES + 4);
    }
}
