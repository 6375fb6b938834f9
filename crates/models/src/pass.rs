use crate::config::Config;
use crate::run::{Finished, Part};
use exegete_core::{
    Array, Error, Logits, Pass, Place, Plan, Record, Result, Row, Rules, Seed, Site, SiteInfo, Work,
};
use exegete_engine::{Counts, Gradient, NodeId, Scalar, Tensor};
use std::collections::BTreeMap;

/// A finished forward run that can be read and run backward.
pub(crate) struct Done<T> {
    finished: Finished<T>,
    logits: Vec<Logits>,
    record: Record,
    rows: usize,
    before: Counts,
}

impl<T: Scalar> Done<T> {
    pub(crate) fn new(finished: Finished<T>, record: Record, rows: usize, before: Counts) -> Self {
        let logits = finished.logits();
        Self { finished, logits, record, rows, before }
    }

    fn node(&self, site: Site) -> Result<NodeId> {
        if self.record == Record::Nothing {
            return Err(Error::Request("this pass recorded nothing to go backward through".into()));
        }
        let kept = self.finished.kept.get(&site);
        let node = kept.and_then(|kept| kept.var.node);
        node.ok_or_else(|| Error::Request(format!("{site} was not kept, or does not depend on a kept site")))
    }

    /// The seeds of each site as one packed cotangent.
    fn packed(&self, seeds: &[Seed]) -> Result<Vec<(NodeId, Tensor<T>)>> {
        let mut packed: BTreeMap<Site, Vec<T>> = BTreeMap::new();
        for seed in seeds {
            let part = self.part(seed)?;
            let total = self.finished.kept[&seed.site].var.value.data().len();
            let data = packed.entry(seed.site).or_insert_with(|| vec![T::default(); total]);
            let slots = data[part.start..].iter_mut().zip(&seed.cotangent.data);
            slots.for_each(|(slot, &g)| *slot += T::from_f64(g.into()));
        }
        let tensor = |(site, data)| {
            let value = &self.finished.kept[&site].var.value;
            Ok((self.node(site)?, Tensor::new(value.rows(), value.cols(), data)))
        };
        packed.into_iter().map(tensor).collect()
    }

    fn part(&self, seed: &Seed) -> Result<&Part> {
        self.node(seed.site)?;
        let part = self.finished.kept[&seed.site].parts.get(seed.row);
        let part = part.ok_or_else(|| Error::Request(format!("a seed for row {} of {}", seed.row, self.rows)))?;
        if part.shape != seed.cotangent.shape {
            return Err(Error::Request(format!(
                "a seed of shape {:?} at {}, whose value has shape {:?}",
                seed.cotangent.shape, seed.site, part.shape
            )));
        }
        Ok(part)
    }
}

impl<T: Scalar> Pass for Done<T> {
    fn logits(&self) -> &[Logits] {
        &self.logits
    }

    fn value(&self, site: Site, row: usize) -> Result<Array> {
        let kept = self.finished.kept.get(&site);
        let part = kept.and_then(|kept| kept.parts.get(row).map(|part| (kept, part)));
        let (kept, part) = part.ok_or_else(|| Error::Request(format!("{site} of row {row} was not kept")))?;
        Ok(array(&kept.var.value, part, |x| x.value()))
    }

    fn backward(&self, seeds: &[Seed], wrt: &[Site], rules: Rules) -> Result<Vec<Vec<Array>>> {
        let table = match rules {
            Rules::Gradient => Gradient,
        };
        let seeds = self.packed(seeds)?;
        let nodes = wrt.iter().map(|&site| self.node(site)).collect::<Result<Vec<_>>>()?;
        let tape = &self.finished.tape;
        let found = tape.context().install(|| tape.backward(seeds, &nodes, &table));
        let found = found.map_err(|e| Error::Unsupported(e.to_string()))?;
        let arrays = |(site, found): (&Site, Option<Tensor<T>>)| {
            let parts = &self.finished.kept[site].parts;
            let one = |part: &Part| match &found {
                Some(tensor) => array(tensor, part, |x| x.value()),
                None => Array::zeros(part.shape.clone()),
            };
            parts.iter().map(one).collect()
        };
        Ok(wrt.iter().zip(found).map(arrays).collect())
    }

    fn work(&self) -> Work {
        let now = self.finished.tape.context().counts();
        Work {
            ops: self.finished.tape.ops(),
            flops: now.flops - self.before.flops,
            peak_bytes: now.peak_bytes.saturating_sub(self.before.live_bytes),
        }
    }
}

/// Whether the output of a run can be used.
pub(crate) trait Finite {
    fn finite(&self) -> bool;
}

impl<T: Scalar> Finite for Finished<T> {
    fn finite(&self) -> bool {
        self.kept[&Site::Logits].var.value.data().iter().all(|x| x.value().is_finite())
    }
}

impl<T: Scalar> Finished<T> {
    /// Each row's output in full precision.
    pub(crate) fn logits(&self) -> Vec<Logits> {
        let kept = &self.kept[&Site::Logits];
        let logits = |part: &Part| Logits {
            shape: part.shape.clone(),
            data: kept.var.value.data()[part.start..][..part.len()].iter().map(|x| x.value()).collect(),
        };
        kept.parts.iter().map(logits).collect()
    }

    /// One reading of a kept site for each row.
    pub(crate) fn arrays(&self, site: Site, read: impl Fn(T) -> f64) -> Vec<Array> {
        let kept = &self.kept[&site];
        kept.parts.iter().map(|part| array(&kept.var.value, part, &read)).collect()
    }
}

fn array<T: Scalar>(tensor: &Tensor<T>, part: &Part, read: impl Fn(T) -> f64) -> Array {
    let data = tensor.data()[part.start..][..part.len()].iter().map(|&x| read(x) as f32).collect();
    Array { shape: part.shape.clone(), data }
}

/// An upper estimate of the activations that one row needs, in bytes of numbers of `size` bytes.
pub(crate) fn bytes(c: &Config, sites: &[SiteInfo], row: &Row, plan: &Plan, size: usize) -> usize {
    let tokens = row.encoded.len();
    let (hidden, inner) = (c.hidden_size, c.intermediate_size);
    let maps = c.num_attention_heads * tokens;
    let elements = |site: &Site| {
        let info = sites.iter().find(|info| info.site == *site);
        info.map_or(0, |info| info.shape(tokens).iter().product::<usize>())
    };
    let earliest = plan.keep.iter().min().copied().unwrap_or(Site::Logits);
    let recorded = match earliest {
        Site::EmbedWord | Site::Embed => c.num_hidden_layers,
        Site::Layer(n, Place::Out) => c.num_hidden_layers.saturating_sub(n + 1),
        Site::Layer(n, _) => c.num_hidden_layers.saturating_sub(n),
        Site::Pooled | Site::Logits => 0,
    };
    let looks = |site: &Site| matches!(site, Site::Layer(_, Place::Scores | Place::Probs));
    let plain = plan.keep.iter().any(looks) || row.edits.iter().any(|edit| looks(&edit.site));
    // What is alive at the widest point of a layer, and what each recorded layer leaves behind, per token.
    let (working, left) = match plan.record {
        Record::Nothing => (7 * hidden + inner + if plain { 2 * maps } else { tokens }, 0),
        Record::Gradient => (10 * hidden + 3 * inner + 2 * maps, 6 * hidden + inner + if plain { 2 * maps } else { maps }),
        Record::Lowered => (10 * hidden + 3 * inner + 3 * maps, 22 * hidden + 2 * inner + 2 * maps),
    };
    let kept: usize = plan.keep.iter().map(elements).sum();
    let head = elements(&Site::Logits) * 3;
    (tokens * (working + recorded * left) + kept + head) * size + elements(&Site::Logits) * size_of::<f64>()
}
