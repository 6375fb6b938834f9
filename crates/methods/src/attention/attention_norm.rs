//! ‖Σ_h α_h f_h(x_j)‖ with f_h(x) = (x W_V + b_V) W_O, the vector that head h really moves, not the weight alone.
//! G. Kobayashi, T. Kuribayashi, S. Yokoi, K. Inui, *Attention is not only a weight*, 2020.

use super::{HeadChoice, PARAMETERS, attended, head, layer, query, weights};
use crate::registry::{Info, Meaning, Method, Needs, New};
use crate::{Parameter, Question, RawAttribution};
use exegete_core::{Array, Change, Edit, Result, Role, Row, Rules, Site};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "attention_norm",
    summary: "the length of what attention moves from each token to the one that is read, in one layer",
    prose: include_str!("attention_norm.md"),
    parameters: &[
        PARAMETERS[0],
        Parameter {
            help: "the length for one head, from 0; of the sum over all heads unless said",
            ..PARAMETERS[1]
        },
    ],
    axioms: &[],
    signed: false,
    meaning: Meaning::Looked,
    needs: Needs::Inside,
    new: New::Scores(|arguments| Ok(Box::new(Norm(HeadChoice::of(arguments)?)))),
};

struct Norm(HeadChoice);

impl Method for Norm {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        self.0.params("all")
    }

    fn own_site(&self) -> bool {
        true
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let (maps, count) = weights(job)?;
        let (layer, head) = (layer(self.0.layer, maps.len())?, head(self.0.head, count)?);
        let sites = job.open()?.sites();
        let [values, mixed] = [Role::Values, Role::Mixed].map(|role| sites.beside(maps[layer], role));
        let (values, mixed) = (values?, mixed?);
        let mut read = job.read_own(&[maps[layer], values], &[], Rules::Gradient)?.values;
        let (values, probs) = (read.swap_remove(1), read.swap_remove(0));
        let moved = moved(job, mixed, count, &values)?;
        let tokens = job.encoded().len();
        let chosen = head.map_or(0..count, |head| head..head + 1);
        let length = |j: usize| {
            let width = moved[0].len() / tokens;
            let mut sum = vec![0.0f64; width];
            for h in chosen.clone() {
                let weight = f64::from(probs.data[(h * tokens + query(job)) * tokens + j]);
                let vector = &moved[h].data[j * width..][..width];
                sum.iter_mut().zip(vector).for_each(|(sum, &x)| *sum += weight * f64::from(x));
            }
            sum.iter().map(|x| x * x).sum::<f64>().sqrt()
        };
        Ok(attended(job, Some(mixed), (0..tokens).map(length).collect()))
    }
}

/// f_h(x_j) for each head h, as \[T, H\]: the output projection is linear, so it is read off by handing it the values of
/// one head at a time, and nothing for its bias. No parameter need be known by name.
fn moved(job: &Question<'_>, mixed: Site, count: usize, values: &Array) -> Result<Vec<Array>> {
    let site = job.open()?.sites().beside(mixed, Role::Contexts)?;
    let set = |context: Array| job.row.clone().edit(Edit::whole(site, Change::Set(context)));
    let shape = job.info(site)?.shape(job.encoded());
    let width = values.len() / job.encoded().len() / count;
    let alone = |head: usize| {
        let keep = |(i, &v): (usize, &f32)| if i / width % count == head { v } else { 0.0 };
        Array { shape: shape.clone(), data: values.data.iter().enumerate().map(keep).collect() }
    };
    let mut rows: Vec<Row> = (0..count).map(|head| set(alone(head))).collect();
    rows.push(set(Array::zeros(shape.clone())));
    let found = job.read(&rows, &[mixed], &[])?;
    let mut outputs: Vec<Array> = found.into_iter().flat_map(|found| found.values).collect();
    let bias = outputs.pop().unwrap_or_else(|| Array::zeros(shape.clone()));
    Ok(outputs.iter().map(|output| output.plus(&bias, -1.0)).collect())
}
