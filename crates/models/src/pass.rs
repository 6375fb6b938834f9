use crate::encoder::Network;
use crate::forward;
use crate::rules;
use crate::run::{Finished, Part};
use exegete_core::{Array, Error, Logits, Pass, Plan, Record, Result, Row, Rules, Seed, Site, Work};
use exegete_engine::{Context, Counts, Ledger, NodeId, Real, RuleTable, Scalar, Segments, Tensor};
use std::ops::Range;
use std::sync::Arc;

/// A finished forward run that can be read and run backward: pieces of its rows, in order.
pub(crate) struct Done<T> {
    ctx: Arc<Context<T>>,
    pieces: Vec<PassPiece<T>>,
    logits: Vec<Logits>,
    outputs: Site,
    record: Record,
    before: Counts,
}

struct PassPiece<T> {
    /// Its rows in the whole.
    rows: Range<usize>,
    finished: Finished<T>,
}

impl<T: Real> Done<T> {
    pub(crate) fn run(
        ctx: &Arc<Context<T>>,
        network: &dyn Network<T>,
        rows: &[Row],
        plan: &Plan,
    ) -> Result<Self> {
        let before = ctx.counts();
        ctx.reset_peak();
        let (mut pieces, mut logits) = (Vec::new(), Vec::new());
        for finished in forward::in_pieces(ctx, network, rows, plan)? {
            let first = logits.len();
            logits.extend(finished.logits());
            pieces.push(PassPiece { rows: first..logits.len(), finished });
        }
        let outputs = network.sites().outputs()?;
        Ok(Self { ctx: ctx.clone(), pieces, logits, outputs, record: plan.record, before })
    }

    /// Whether the output can be used.
    pub(crate) fn finite(&self) -> bool {
        self.pieces.iter().all(|piece| piece.finished.finite())
    }

    fn piece(&self, row: usize) -> Result<&PassPiece<T>> {
        let outside = || Error::Request(format!("row {row} of a pass over {}", self.logits.len()));
        self.pieces.iter().find(|piece| piece.rows.contains(&row)).ok_or_else(outside)
    }

    /// A single piece uses every thread inside its operations; several take one each.
    fn on_pieces<R: Send>(&self, work: impl Fn(&PassPiece<T>) -> R + Sync + Send) -> Vec<R> {
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

impl<T: Real> PassPiece<T> {
    fn node(&self, site: Site) -> Result<NodeId> {
        let node = self.finished.kept.get(&site).and_then(|kept| kept.var.node);
        node.ok_or_else(|| Error::Request(format!("{site} was not kept, or does not depend on a kept site")))
    }

    /// Where the cotangent of a site is found.
    fn slope(&self, site: Site) -> Result<NodeId> {
        let slope = self.finished.kept.get(&site).and_then(|kept| kept.slope);
        slope.map_or_else(|| self.node(site), Ok)
    }

    fn part(&self, seed: &Seed) -> &Part {
        &self.finished.kept[&seed.site].parts[seed.row - self.rows.start]
    }

    /// The seeds of each site as one packed cotangent.
    fn packed(&self, seeds: &[Seed]) -> Result<Vec<(NodeId, Tensor<T>)>> {
        let mut packed: Vec<(Site, Vec<T>)> = Vec::new();
        for seed in seeds.iter().filter(|seed| self.rows.contains(&seed.row)) {
            let total = self.finished.kept[&seed.site].var.value.data().len();
            let known = packed.iter().position(|(site, _)| *site == seed.site);
            let place = known.unwrap_or_else(|| {
                packed.push((seed.site, vec![T::default(); total]));
                packed.len() - 1
            });
            let data = &mut packed[place].1;
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
    fn backward(&self, seeds: &[Seed], wrt: &[Site], table: &dyn RuleTable<T>) -> Result<Vec<Vec<Array>>> {
        let seeds = self.packed(seeds)?;
        let nodes = wrt.iter().map(|&site| self.slope(site)).collect::<Result<Vec<_>>>()?;
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
    fn booked(&self, seeds: &[Seed], wrt: &[Site], table: &dyn RuleTable<T>) -> Result<Vec<f64>> {
        let nodes = wrt.iter().map(|&site| self.slope(site)).collect::<Result<Vec<_>>>()?;
        let ledger = self.finished.tape.booked(self.packed(seeds)?, &nodes, table);
        let ledger = ledger.map_err(|e| Error::Unsupported(e.to_string()))?;
        self.finished.by_row(&ledger)
    }
}

impl<T: Real> Pass for Done<T> {
    fn outputs(&self) -> Site {
        self.outputs
    }

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
        let ops = self.pieces.iter().map(|piece| piece.finished.tape.ops()).sum();
        work(ops, self.before, self.ctx.counts())
    }
}

/// What was done between two counts, with the operations on the tapes.
pub(crate) fn work(ops: usize, before: Counts, now: Counts) -> Work {
    let peak_bytes = now.peak_bytes.saturating_sub(before.live_bytes);
    Work { ops, flops: now.flops - before.flops, peak_bytes }
}

impl<T: Scalar> Finished<T> {
    /// Whether the output can be used.
    pub(crate) fn finite(&self) -> bool {
        self.kept[&self.outputs].var.value.data().iter().all(|x| x.value().is_finite())
    }

    /// Each row's output in full precision.
    pub(crate) fn logits(&self) -> Vec<Logits> {
        let kept = &self.kept[&self.outputs];
        let logits = |(part, places): (&Part, &Option<Arc<[usize]>>)| Logits {
            shape: part.shape.clone(),
            data: kept.var.value.data()[part.start..][..part.len()].iter().map(|x| x.value()).collect(),
            places: places.clone(),
        };
        kept.parts.iter().zip(&self.places).map(logits).collect()
    }

    /// What was booked of each row, in the order of the caller.
    fn by_row(&self, ledger: &Ledger) -> Result<Vec<f64>> {
        let mut booked = vec![0.0; self.order.len()];
        for (&rows, entries) in &ledger.entries {
            let shares = match booked.len() {
                texts if rows == texts => entries.clone(),
                1 => vec![entries.iter().sum()],
                _ => {
                    let layout = self.layout(rows)?;
                    (0..booked.len()).map(|row| entries[layout.range(row)].iter().sum()).collect()
                }
            };
            booked.iter_mut().zip(shares).for_each(|(booked, share)| *booked += share);
        }
        Ok(self.order.iter().map(|&row| booked[row]).collect())
    }

    /// The one layout that has so many rows.
    fn layout(&self, rows: usize) -> Result<&Segments> {
        let fitting: Vec<&Segments> = self.layouts.iter().filter(|layout| layout.total() == rows).collect();
        match &fitting[..] {
            [first, others @ ..] if others.iter().all(|other| other == first) => Ok(first),
            _ => Err(Error::Unsupported(format!("a share of {rows} rows belongs to no text"))),
        }
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
