use crate::{Array, Logits, Pass, Result, Rules, Seed, Site, Work};
use std::cell::Cell;
use std::collections::BTreeSet;

/// A pass that remembers how many rows were run backward, whoever asks for it.
pub(super) struct Counted<'a> {
    inner: Box<dyn Pass + 'a>,
    backward_rows: Cell<usize>,
}

impl<'a> Counted<'a> {
    pub(super) fn new(inner: Box<dyn Pass + 'a>) -> Self {
        Self { inner, backward_rows: Cell::new(0) }
    }

    fn count(&self, seeds: &[Seed]) {
        let rows: BTreeSet<usize> = seeds.iter().map(|seed| seed.row).collect();
        self.backward_rows.set(self.backward_rows.get() + rows.len());
    }

    pub(super) fn backward_rows(&self) -> usize {
        self.backward_rows.get()
    }
}

impl Pass for Counted<'_> {
    fn outputs(&self) -> Site {
        self.inner.outputs()
    }

    fn logits(&self) -> &[Logits] {
        self.inner.logits()
    }

    fn value(&self, site: Site, row: usize) -> Result<Array> {
        self.inner.value(site, row)
    }

    fn backward(&self, seeds: &[Seed], wrt: &[Site], rules: Rules) -> Result<Vec<Vec<Array>>> {
        self.count(seeds);
        self.inner.backward(seeds, wrt, rules)
    }

    fn booked(&self, seeds: &[Seed], wrt: &[Site], rules: Rules) -> Result<Vec<f64>> {
        self.count(seeds);
        self.inner.booked(seeds, wrt, rules)
    }

    fn work(&self) -> Work {
        self.inner.work()
    }
}
