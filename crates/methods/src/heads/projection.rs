//! The output projection of attention by head, found by handing it one unit vector at a time: no parameter need be known
//! by name.

use super::HeadGrid;
use exegete_core::{
    Array, Change, Driver, Edit, Encoded, Model, Pass, Plan, Readout, Result, Role, Row, Site,
};
use std::sync::Arc;

/// W_O of each layer: \[N·D, H\], row by row, the rows of a head together.
pub struct HeadProjection {
    layers: Vec<Vec<f32>>,
    heads: usize,
    /// D, the width of a head.
    head_width: usize,
}

struct At(Site);

impl Readout for At {
    type Value = Array;

    fn plan(&self) -> Plan {
        Plan::keep([self.0])
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Array>> {
        (0..rows.len()).map(|row| pass.value(self.0, row)).collect()
    }
}

impl HeadProjection {
    /// Of a model, by runs of one of its texts.
    pub fn of(model: &dyn Model, driver: &Driver, grid: &HeadGrid, text: &Arc<Encoded>) -> Result<Self> {
        let sites = model.require_open()?.sites();
        let (mut layers, mut head_width) = (Vec::new(), 0);
        for &site in &grid.sites {
            let [contexts, mixed] = [Role::Contexts, Role::Mixed].map(|role| sites.beside(site, role));
            let (contexts, mixed) = (contexts?, mixed?);
            let shape = sites.get(contexts)?.shape(text);
            head_width = shape[2];
            layers.push(found(model, driver, [contexts, mixed], text, &shape)?);
        }
        Ok(Self { layers, heads: grid.heads, head_width })
    }

    /// Of rows that are known: those of the first head first, each as wide as the state.
    pub fn of_rows(layers: Vec<Vec<f32>>, heads: usize, head_width: usize) -> Self {
        Self { layers, heads, head_width }
    }

    /// f_h(x_j) of each head for one token's values, as \[N, H\].
    pub fn moved(&self, layer: usize, values: &[f32]) -> Vec<Vec<f64>> {
        let (own, rows) = (self.head_width, &self.layers[layer]);
        let width = rows.len() / (self.heads * own);
        let of = |head: usize| {
            let mut sum = vec![0.0f64; width];
            let rows = rows.chunks(width).zip(values);
            for (row, &value) in rows.skip(head * own).take(own) {
                sum.iter_mut().zip(row).for_each(|(sum, &w)| *sum += f64::from(value) * f64::from(w));
            }
            sum
        };
        (0..self.heads).map(of).collect()
    }
}

/// As many unit vectors a run as the text has tokens, less what nothing gives: the bias.
fn found(
    model: &dyn Model,
    driver: &Driver,
    [contexts, mixed]: [Site; 2],
    text: &Arc<Encoded>,
    shape: &[usize],
) -> Result<Vec<f32>> {
    let (tokens, width) = (shape[0], shape[1] * shape[2]);
    let row = |first: Option<usize>| {
        let mut context = Array::zeros(shape.to_vec());
        for t in 0..tokens {
            let unit = first.map(|first| first + t).filter(|&k| k < width);
            unit.into_iter().for_each(|k| context.data[t * width + k] = 1.0);
        }
        Row::new(text.clone()).edit(Edit::whole(contexts, Change::Set(context)))
    };
    let rows: Vec<Row> = std::iter::once(None).chain((0..width).step_by(tokens).map(Some)).map(row).collect();
    let mut outputs = driver.read_all(model, &rows, &At(mixed))?;
    let bias = outputs.remove(0);
    let mut all: Vec<f32> = outputs.iter().flat_map(|output| output.plus(&bias, -1.0).data).collect();
    all.truncate(width * (bias.len() / tokens));
    Ok(all)
}
