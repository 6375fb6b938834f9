use crate::config::Config;
use crate::encoder::Network;
use crate::forward;
use crate::rules;
use crate::run::{Finished, Part};
use exegete_core::{
    Array, Error, Logits, Pass, Place, Plan, Record, Result, Row, Rules, Seed, Site, SiteInfo, Work,
};
use exegete_engine::{Context, Counts, Ledger, NodeId, Real, Scalar, Table, Tensor};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A finished forward run that can be read and run backward: pieces of its rows, in order.
pub(crate) struct Done<T> {
    ctx: Arc<Context<T>>,
    pieces: Vec<Piece<T>>,
    logits: Vec<Logits>,
    record: Record,
    before: Counts,
}

struct Piece<T> {
    /// Its rows in the whole.
    rows: Range<usize>,
    finished: Finished<T>,
}

impl<T: Real> Done<T> {
    pub(crate) fn run(
        ctx: &Arc<Context<T>>,
        network: &dyn Network<T>,
        sites: &[SiteInfo],
        rows: &[Row],
        plan: &Plan,
    ) -> Result<Self> {
        let before = ctx.counts();
        ctx.reset_peak();
        let (mut pieces, mut logits) = (Vec::new(), Vec::new());
        for finished in forward::in_pieces(ctx, network, sites, rows, plan)? {
            let first = logits.len();
            logits.extend(finished.logits());
            pieces.push(Piece { rows: first..logits.len(), finished });
        }
        Ok(Self { ctx: ctx.clone(), pieces, logits, record: plan.record, before })
    }

    /// Whether the output can be used.
    pub(crate) fn finite(&self) -> bool {
        self.pieces.iter().all(|piece| piece.finished.finite())
    }

    fn piece(&self, row: usize) -> Result<&Piece<T>> {
        let outside = || Error::Request(format!("row {row} of a pass over {}", self.logits.len()));
        self.pieces.iter().find(|piece| piece.rows.contains(&row)).ok_or_else(outside)
    }

    /// A single piece uses every thread inside its operations; several take one each.
    fn on_pieces<R: Send>(&self, work: impl Fn(&Piece<T>) -> R + Sync + Send) -> Vec<R> {
        match &self.pieces[..] {
            [piece] => vec![self.ctx.install(|| work(piece))],
            pieces => self.ctx.map(pieces, work),
        }
    }

    fn check(&self, seeds: &[Seed], wrt: &[Site], rules: Rules) -> Result<()> {
        rules::check(rules, self.record, seeds)?;
        for seed in seeds {
            let piece = self.piece(seed.row)?;
            piece.node(seed.site)?;
            let part = piece.part(seed);
            if part.shape != seed.cotangent.shape {
                return Err(Error::Request(format!(
                    "a seed of shape {:?} at {}, whose value has shape {:?}",
                    seed.cotangent.shape, seed.site, part.shape
                )));
            }
        }
        self.pieces.iter().try_for_each(|piece| wrt.iter().try_for_each(|&site| piece.node(site).map(drop)))
    }
}

impl<T: Real> Piece<T> {
    fn node(&self, site: Site) -> Result<NodeId> {
        let node = self.finished.kept.get(&site).and_then(|kept| kept.var.node);
        node.ok_or_else(|| Error::Request(format!("{site} was not kept, or does not depend on a kept site")))
    }

    fn part(&self, seed: &Seed) -> &Part {
        &self.finished.kept[&seed.site].parts[seed.row - self.rows.start]
    }

    /// The seeds of each site as one packed cotangent.
    fn packed(&self, seeds: &[Seed]) -> Result<Vec<(NodeId, Tensor<T>)>> {
        let mut packed: BTreeMap<Site, Vec<T>> = BTreeMap::new();
        for seed in seeds.iter().filter(|seed| self.rows.contains(&seed.row)) {
            let total = self.finished.kept[&seed.site].var.value.data().len();
            let data = packed.entry(seed.site).or_insert_with(|| vec![T::default(); total]);
            let slots = data[self.part(seed).start..].iter_mut().zip(&seed.cotangent.data);
            slots.for_each(|(slot, &g)| *slot += T::from_f64(g.into()));
        }
        let tensor = |(site, data)| {
            let value = &self.finished.kept[&site].var.value;
            Ok((self.node(site)?, Tensor::new(value.rows(), value.cols(), data)))
        };
        packed.into_iter().map(tensor).collect()
    }

    /// The cotangents of this piece's rows, indexed `[site][row]`.
    fn backward(&self, seeds: &[Seed], wrt: &[Site], table: &dyn Table<T>) -> Result<Vec<Vec<Array>>> {
        let seeds = self.packed(seeds)?;
        let nodes = wrt.iter().map(|&site| self.node(site)).collect::<Result<Vec<_>>>()?;
        let found = self.finished.tape.backward(seeds, &nodes, table);
        let found = found.map_err(|e| Error::Unsupported(e.to_string()))?;
        let arrays = |(site, found): (&Site, Option<Tensor<T>>)| {
            let one = |part: &Part| match &found {
                Some(tensor) => array(tensor, part, |x| x.value()),
                None => Array::zeros(part.shape.clone()),
            };
            self.finished.kept[site].parts.iter().map(one).collect()
        };
        Ok(wrt.iter().zip(found).map(arrays).collect())
    }

    /// What the rules took aside of each row.
    fn booked(&self, seeds: &[Seed], wrt: &[Site], table: &dyn Table<T>) -> Result<Vec<f64>> {
        let nodes = wrt.iter().map(|&site| self.node(site)).collect::<Result<Vec<_>>>()?;
        let ledger = self.finished.tape.booked(self.packed(seeds)?, &nodes, table);
        let ledger = ledger.map_err(|e| Error::Unsupported(e.to_string()))?;
        self.finished.by_row(&ledger)
    }
}

impl<T: Real> Pass for Done<T> {
    fn logits(&self) -> &[Logits] {
        &self.logits
    }

    fn value(&self, site: Site, row: usize) -> Result<Array> {
        let piece = self.piece(row)?;
        let kept = piece.finished.kept.get(&site);
        let kept = kept.ok_or_else(|| Error::Request(format!("{site} was not kept")))?;
        Ok(array(&kept.var.value, &kept.parts[row - piece.rows.start], |x| x.value()))
    }

    fn backward(&self, seeds: &[Seed], wrt: &[Site], rules: Rules) -> Result<Vec<Vec<Array>>> {
        self.check(seeds, wrt, rules)?;
        let table = rules::table(rules);
        let mut all = vec![Vec::with_capacity(self.logits.len()); wrt.len()];
        for piece in self.on_pieces(|piece| piece.backward(seeds, wrt, &*table)) {
            all.iter_mut().zip(piece?).for_each(|(all, rows)| all.extend(rows));
        }
        Ok(all)
    }

    fn booked(&self, seeds: &[Seed], wrt: &[Site], rules: Rules) -> Result<Vec<f64>> {
        self.check(seeds, wrt, rules)?;
        rules::check_books(rules)?;
        let table = rules::table(rules);
        let pieces = self.on_pieces(|piece| piece.booked(seeds, wrt, &*table));
        Ok(pieces.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }

    fn work(&self) -> Work {
        let now = self.ctx.counts();
        Work {
            ops: self.pieces.iter().map(|piece| piece.finished.tape.ops()).sum(),
            flops: now.flops - self.before.flops,
            peak_bytes: now.peak_bytes.saturating_sub(self.before.live_bytes),
        }
    }
}

impl<T: Scalar> Finished<T> {
    /// Whether the output can be used.
    pub(crate) fn finite(&self) -> bool {
        self.kept[&Site::Logits].var.value.data().iter().all(|x| x.value().is_finite())
    }

    /// Each row's output in full precision.
    pub(crate) fn logits(&self) -> Vec<Logits> {
        let kept = &self.kept[&Site::Logits];
        let logits = |part: &Part| Logits {
            shape: part.shape.clone(),
            data: kept.var.value.data()[part.start..][..part.len()].iter().map(|x| x.value()).collect(),
        };
        kept.parts.iter().map(logits).collect()
    }

    /// What was booked of each row, in the order of the caller.
    fn by_row(&self, ledger: &Ledger) -> Result<Vec<f64>> {
        let mut booked = vec![0.0; self.segments.count()];
        for (&rows, entries) in &ledger.entries {
            let of = |row: usize| match rows {
                _ if rows == booked.len() => Ok(entries[row]),
                _ if rows == self.segments.total() => Ok(entries[self.segments.range(row)].iter().sum()),
                _ => Err(Error::Unsupported(format!("a share of {rows} rows belongs to no text"))),
            };
            let shares = (0..booked.len()).map(of).collect::<Result<Vec<f64>>>()?;
            booked.iter_mut().zip(shares).for_each(|(booked, share)| *booked += share);
        }
        Ok(self.order.iter().map(|&row| booked[row]).collect())
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
        Record::Gradient => {
            (10 * hidden + 3 * inner + 2 * maps, 6 * hidden + inner + if plain { 2 * maps } else { maps })
        }
        Record::Lowered | Record::Paired => {
            (10 * hidden + 9 * inner + 4 * maps, 22 * hidden + 2 * inner + 2 * maps)
        }
    };
    let kept: usize = plan.keep.iter().map(elements).sum();
    // Rules that tell the signs of a weight apart copy a block of it, however few the tokens.
    let (copies, block) = match plan.record {
        Record::Lowered | Record::Paired => (9, 1 << 16),
        Record::Nothing | Record::Gradient => (3, 0),
    };
    let head = elements(&Site::Logits) * copies;
    (tokens * (working + recorded * left) + kept + head + block) * size
        + elements(&Site::Logits) * size_of::<f64>()
}
