use super::ground::{Ground, gradients, seeds};
use super::measure::{Tally, array_gap, noise};
use crate::{Array, Plan, Record, Result, Rules, Seed};

/// One pass can be pulled back again and again: the same seeds give the same, sums of seeds give sums, and several
/// sites at once give what each gives alone.
pub(super) fn repeats(ground: &Ground, tally: &mut Tally) -> Result<()> {
    let sites = ground.all();
    let rows = &ground.short[..1];
    let pass = ground.fast.forward(rows, &Plan::gradient(sites.clone()))?;
    let backward = |seeds: &[Seed]| -> Result<Vec<Array>> {
        Ok(pass.backward(seeds, &sites, Rules::Gradient)?.into_iter().flatten().collect())
    };
    let one = seeds(&*pass);
    let other = vec![Seed { cotangent: noise(7, &one[0].cotangent.shape, 1.0), ..one[0].clone() }];
    let sum = vec![Seed { cotangent: one[0].cotangent.plus(&other[0].cotangent, 1.0), ..one[0].clone() }];
    let (from_one, from_other, from_sum, again) =
        (backward(&one)?, backward(&other)?, backward(&sum)?, backward(&one)?);
    for (i, site) in sites.iter().enumerate() {
        tally.see(array_gap(&from_one[i], &again[i]), || format!("{site}: the second time"));
        let added = from_one[i].plus(&from_other[i], 1.0);
        tally.see(array_gap(&added, &from_sum[i]), || format!("{site}: the sum of two seeds"));
        let alone = gradients(ground.fast, rows, &[*site], Record::Gradient)?;
        tally.see(array_gap(&from_one[i], &alone[0][0]), || format!("{site}: alone"));
    }
    Ok(())
}
