use crate::{Array, Error, Logits, Pass, Result, Rules, Seed, Site, Work};

/// How the kept sites of some rows move, in the place of their values.
pub(super) struct Moved<'a> {
    pub(super) outputs: Site,
    pub(super) sites: &'a [Site],
    /// How each site moves, indexed `[site][row]`.
    pub(super) moved: Vec<Vec<Array>>,
}

impl Pass for Moved<'_> {
    fn outputs(&self) -> Site {
        self.outputs
    }

    fn logits(&self) -> &[Logits] {
        &[]
    }

    fn value(&self, site: Site, row: usize) -> Result<Array> {
        let kept = self.sites.iter().position(|&kept| kept == site);
        let moved = kept.and_then(|at| self.moved.get(at)).and_then(|rows| rows.get(row));
        moved.cloned().ok_or_else(|| Error::Request(format!("{site} was not kept")))
    }

    fn backward(&self, _: &[Seed], _: &[Site], _: Rules) -> Result<Vec<Vec<Array>>> {
        Err(Error::Unsupported("rows that move along a direction are not run backward".into()))
    }

    fn work(&self) -> Work {
        Work::default()
    }
}
