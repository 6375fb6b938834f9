use super::ground::{Ground, seeds};
use super::measure::{Tally, array_gap, logits_gap};
use crate::{Array, Logits, Open, Plan, Result, Row, Rules};

/// A text alone, among many others and in reverse order gives the same logits and gradients.
pub(super) fn do_not_matter(ground: &Ground, tally: &mut Tally) -> Result<()> {
    let alone = ground.rows.iter().map(|row| Ok(run(ground.fast, std::slice::from_ref(row))?.swap_remove(0)));
    let alone = alone.collect::<Result<Vec<BatchOutcome>>>()?;
    // Whole rounds, so that the first and the last row are different texts.
    let texts = ground.rows.len();
    let order: Vec<usize> = (0..ground.batch_rows.next_multiple_of(texts)).map(|i| i % texts).collect();
    let reversed: Vec<usize> = order.iter().rev().copied().collect();
    for (name, order) in [("in a batch", order), ("in reverse order", reversed)] {
        let rows: Vec<Row> = order.iter().map(|&text| ground.rows[text].clone()).collect();
        for (place, (text, outcome)) in order.iter().zip(run(ground.fast, &rows)?).enumerate() {
            let expected = &alone[*text];
            let at = || format!("{name} of {}, row {place}", rows.len());
            tally.see(logits_gap(&expected.logits, &outcome.logits), || format!("logits {}", at()));
            tally.see(array_gap(&expected.gradient, &outcome.gradient), || format!("gradient {}", at()));
        }
    }
    Ok(())
}

/// The same request twice gives the same bits.
pub(super) fn same_bits(ground: &Ground, tally: &mut Tally) -> Result<()> {
    let (one, other) = (run(ground.fast, &ground.rows)?, run(ground.fast, &ground.rows)?);
    for (text, (one, other)) in one.iter().zip(&other).enumerate() {
        let same = one.logits.data.iter().zip(&other.logits.data).all(|(a, b)| a.to_bits() == b.to_bits());
        tally.demand(same, || format!("logits, text {text}"));
        let same =
            one.gradient.data.iter().zip(&other.gradient.data).all(|(a, b)| a.to_bits() == b.to_bits());
        tally.demand(same, || format!("gradient, text {text}"));
    }
    Ok(())
}

struct BatchOutcome {
    logits: Logits,
    gradient: Array,
}

fn run(open: &dyn Open, rows: &[Row]) -> Result<Vec<BatchOutcome>> {
    let wrt = [open.sites().words()?];
    let pass = open.forward(rows, &Plan::gradient(wrt))?;
    let gradients = pass.backward(&seeds(&*pass), &wrt, Rules::Gradient)?.into_iter().flatten();
    let outcome = |(logits, gradient): (&Logits, Array)| BatchOutcome { logits: logits.clone(), gradient };
    Ok(pass.logits().iter().zip(gradients).map(outcome).collect())
}
