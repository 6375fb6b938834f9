use super::ground::Ground;
use super::measure::{Tally, logits_gap};
use crate::{Array, Axis, Logits, Plan, Result, Site};

/// Every listed site has a finite value of its declared shape, and the logits are the same by either way.
pub(super) fn fire(ground: &Ground, tally: &mut Tally) -> Result<()> {
    let sites = ground.all();
    tally.demand(sites.is_sorted_by(|a, b| a < b), || "sites are listed twice or out of order".into());
    for needed in [Site::EmbedWord, Site::Logits] {
        tally.demand(sites.contains(&needed), || format!("{needed} is not listed"));
    }
    let pass = ground.fast.forward(&ground.rows, &Plan::keep(sites))?;
    tally.demand(pass.logits().len() == ground.rows.len(), || format!("{} outputs", pass.logits().len()));
    for (number, row) in ground.rows.iter().enumerate() {
        for info in &ground.sites {
            let value = pass.value(info.site, number)?;
            let fits = shape_fits(&info.axes, &value.shape, row.encoded.len());
            tally.demand(fits, || format!("{}, text {number}: shape {:?}", info.site, value.shape));
            let finite = value.data.iter().all(|x| x.is_finite());
            tally.demand(finite, || format!("{}, text {number}: not finite", info.site));
        }
        let kept = as_logits(&pass.value(Site::Logits, number)?);
        let gap = logits_gap(&pass.logits()[number], &kept);
        tally.see(gap, || format!("{}, text {number}: kept and returned differ", Site::Logits));
    }
    Ok(())
}

fn shape_fits(axes: &[Axis], shape: &[usize], tokens: usize) -> bool {
    axes.len() == shape.len() && axes.iter().zip(shape).all(|(axis, len)| axis.len(tokens) == *len)
}

fn as_logits(value: &Array) -> Logits {
    Logits { shape: value.shape.clone(), data: value.data.iter().map(|&x| f64::from(x)).collect() }
}
