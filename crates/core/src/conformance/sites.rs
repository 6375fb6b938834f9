use super::ground::Ground;
use super::measure::{Tally, logits_gap};
use crate::{Array, Logits, Plan, Result, Site};
use std::collections::HashSet;

/// Every listed site has a finite value of its declared shape, and the logits are the same by either way.
pub(super) fn fire(ground: &Ground, tally: &mut Tally) -> Result<()> {
    let sites = ground.all();
    let distinct: HashSet<Site> = sites.iter().copied().collect();
    tally.demand(distinct.len() == sites.len(), || "a site is listed twice".into());
    ground.sites.words()?;
    let outputs = ground.sites.outputs()?;
    tally.demand(sites.last() == Some(&outputs), || format!("{outputs} is not the last site"));
    let pass = ground.fast.forward(&ground.rows, &Plan::keep(sites))?;
    tally.demand(pass.logits().len() == ground.rows.len(), || format!("{} outputs", pass.logits().len()));
    for (number, row) in ground.rows.iter().enumerate() {
        for info in ground.sites {
            let value = pass.value(info.site, number)?;
            let fits = info.shape(&row.encoded) == value.shape;
            tally.demand(fits, || format!("{}, text {number}: shape {:?}", info.site, value.shape));
            let finite = value.data.iter().all(|x| x.is_finite());
            tally.demand(finite, || format!("{}, text {number}: not finite", info.site));
        }
        let kept = as_logits(&pass.value(outputs, number)?);
        let gap = logits_gap(&pass.logits()[number], &kept);
        tally.see(gap, || format!("{outputs}, text {number}: kept and returned differ"));
    }
    Ok(())
}

fn as_logits(value: &Array) -> Logits {
    Logits::new(value.shape.clone(), value.data.iter().map(|&x| f64::from(x)).collect())
}
