use super::ground::{Ground, gradients, seeds};
use super::measure::{Tally, array_gap, logits_gap};
use crate::{Change, Edit, Plan, Record, Result, Row, Rules, Site};

/// A run that starts at a cut gives the same logits and gradients as the whole run, with less work the later it starts.
pub(super) fn at_any_cut(ground: &Ground, tally: &mut Tally) -> Result<()> {
    let (rows, cuts) = (&ground.short, ground.cuts());
    let whole = ground.fast.forward(rows, &Plan::gradient(cuts.clone()))?;
    let gradients = whole.backward(&seeds(&*whole), &cuts, Rules::Gradient)?;
    let mut ops_before = ground.fast.forward(rows, &Plan::default())?.work().ops + 1;
    for (cut, gradients) in cuts.iter().zip(gradients) {
        let start = |(i, row): (usize, &Row)| Ok(row.clone().starting_with(whole.value(*cut, i)?));
        let started: Vec<Row> = rows.iter().enumerate().map(start).collect::<Result<_>>()?;
        let ops = ground.fast.forward(&started, &Plan::default().starting_at(*cut))?.work().ops;
        tally.demand(ops < ops_before, || {
            format!("{cut}: {ops} operations, {ops_before} from an earlier start")
        });
        ops_before = ops;
        let pass = ground.fast.forward(&started, &Plan::gradient([*cut]).starting_at(*cut))?;
        let found = pass.backward(&seeds(&*pass), &[*cut], Rules::Gradient)?;
        for (i, expected) in gradients.iter().enumerate() {
            tally.see(logits_gap(&whole.logits()[i], &pass.logits()[i]), || {
                format!("logits from {cut}, text {i}")
            });
            tally.see(array_gap(expected, &found[0][i]), || format!("gradient from {cut}, text {i}"));
        }
        edited_start(ground, *cut, &started, tally)?;
    }
    Ok(())
}

/// An edit at the start acts on the value the row brings.
fn edited_start(ground: &Ground, cut: Site, started: &[Row], tally: &mut Tally) -> Result<()> {
    let edited = |row: &Row| row.clone().edit(Edit::whole(cut, Change::Scale(0.5)));
    let resumed: Vec<Row> = started.iter().map(edited).collect();
    let whole: Vec<Row> = ground.short.iter().map(edited).collect();
    let resumed = ground.fast.forward(&resumed, &Plan::default().starting_at(cut))?;
    let whole = ground.fast.forward(&whole, &Plan::default())?;
    for (i, (one, other)) in whole.logits().iter().zip(resumed.logits()).enumerate() {
        tally.see(logits_gap(one, other), || format!("edited at the start {cut}, text {i}"));
    }
    Ok(())
}

/// Logits and gradients do not depend on what the pass was told to remember.
pub(super) fn fused_equals_lowered(ground: &Ground, tally: &mut Tally) -> Result<()> {
    let logits = |record| {
        let plan = Plan { record, ..Plan::keep([ground.sites.words()?]) };
        Ok(ground.fast.forward(&ground.short, &plan)?.logits().to_vec())
    };
    let plain = logits(Record::Nothing)?;
    for record in [Record::Gradient, Record::Lowered] {
        for (i, (one, other)) in plain.iter().zip(logits(record)?).enumerate() {
            tally.see(logits_gap(one, &other), || format!("logits recorded as {record:?}, text {i}"));
        }
    }
    let sites = ground.all();
    let fused = gradients(ground.fast, &ground.short[..1], &sites, Record::Gradient)?;
    let lowered = gradients(ground.fast, &ground.short[..1], &sites, Record::Lowered)?;
    for (site, (fused, lowered)) in sites.iter().zip(fused.iter().zip(&lowered)) {
        tally.see(array_gap(&fused[0], &lowered[0]), || format!("gradient at {site}"));
    }
    Ok(())
}

/// The model as it is used agrees with itself in double precision.
pub(super) fn match_exact(ground: &Ground, tally: &mut Tally) -> Result<()> {
    let fast = ground.fast.forward(&ground.rows, &Plan::default())?;
    let exact = ground.exact.forward(&ground.rows, &Plan::default())?;
    for (i, (exact, fast)) in exact.logits().iter().zip(fast.logits()).enumerate() {
        tally.see(logits_gap(exact, fast), || format!("text {i}"));
    }
    Ok(())
}
