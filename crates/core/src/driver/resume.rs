use crate::{Array, Encoded, Open, Plan, Role, Row, Site, SiteInfo};
use std::collections::HashMap;
use std::sync::Arc;

/// A way to run rows from a cut that all their edits and kept sites lie behind.
pub(super) struct Resumption {
    /// The site at which these rows start.
    pub(super) cut: Site,
    /// Each text once, unedited.
    pub(super) bases: Vec<Row>,
    /// What the values at the cut take while the rows run.
    pub(super) bytes: usize,
    places: HashMap<*const Encoded, usize>,
}

impl Resumption {
    /// The latest cut that serves every row, where resuming saves work and the values there fit `allowed_bytes`.
    pub(super) fn find(open: &dyn Open, rows: &[Row], plan: &Plan, allowed_bytes: usize) -> Option<Self> {
        if plan.start.is_some() || rows.len() < 2 {
            return None;
        }
        let edited = rows.iter().flat_map(|row| row.edits.iter().map(|edit| edit.site));
        let sites = open.sites();
        let earliest = sites.first_of(edited.chain(plan.keep.iter().copied()));
        let last = earliest.map_or(sites.len(), |site| sites.order(site));
        // Looking words up again costs less than keeping them.
        let usable = |info: &&SiteInfo| info.cut && info.role != Role::Words;
        let cut = sites.iter().take(last + 1).rfind(usable)?;
        let (bases, places) = distinct(rows);
        let bytes = bases.iter().map(|row| cut.elements(&row.encoded)).sum::<usize>() * size_of::<f32>();
        let pays = bases.len() < rows.len() && bytes <= allowed_bytes;
        pays.then_some(Self { cut: cut.site, bases, bytes, places })
    }

    /// The same rows, each from its text's value at the cut.
    pub(super) fn rows(&self, rows: &[Row], starts: &[Arc<Array>]) -> Vec<Row> {
        let start = |row: &Row| starts[self.places[&Arc::as_ptr(&row.encoded)]].clone();
        rows.iter().map(|row| row.clone().starting_with(start(row))).collect()
    }
}

/// The distinct texts by identity: comparing tokens would cost more than it finds.
fn distinct(rows: &[Row]) -> (Vec<Row>, HashMap<*const Encoded, usize>) {
    let (mut bases, mut places) = (Vec::new(), HashMap::new());
    for row in rows {
        places.entry(Arc::as_ptr(&row.encoded)).or_insert_with(|| {
            bases.push(Row::new(row.encoded.clone()));
            bases.len() - 1
        });
    }
    (bases, places)
}
