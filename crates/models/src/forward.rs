//! How rows become runs of a network: checked, cut into pieces, put in pairs.

use crate::encoder::Network;
use crate::pass::Done;
use crate::run::{Finished, Request, Run};
use exegete_core::{Error, Pass, Plan, Record, Result, Row, Sites};
use exegete_engine::{Context, Real, Scalar};
use std::ops::Range;
use std::sync::Arc;

/// Runs rows on any network: edits, kept values, and everything that can be pulled back.
pub fn forward<T: Real>(
    ctx: &Arc<Context<T>>,
    network: &dyn Network<T>,
    rows: &[Row],
    plan: &Plan,
) -> Result<Box<dyn Pass>> {
    let done = Done::run(ctx, network, rows, plan)?;
    match done.finite() {
        true => Ok(Box::new(done)),
        false => Err(Error::Request("the output is not finite".into())),
    }
}

/// Runs rows as pieces that need not wait for each other, each on one thread, where there are enough of them.
pub(crate) fn in_pieces<T: Scalar>(
    ctx: &Arc<Context<T>>,
    network: &dyn Network<T>,
    rows: &[Row],
    plan: &Plan,
) -> Result<Vec<Finished<T>>> {
    check(network.sites(), rows, plan)?;
    let pieces = pieces(rows, plan, ctx.threads());
    let one = |ctx: &Arc<Context<T>>, rows: &[Row]| match plan.record {
        Record::Paired => {
            let mut finished = together(ctx, network, Request::new(&halves(rows), plan))?;
            finished.kept.values_mut().for_each(|kept| kept.parts = interleaved(&kept.parts));
            finished.order = interleaved(&finished.order);
            finished.places = interleaved(&finished.places);
            Ok(finished)
        }
        _ => together(ctx, network, Request::new(rows, plan)),
    };
    if pieces.len() == 1 {
        return Ok(vec![one(ctx, rows)?]);
    }
    let serial = ctx.serial(pieces.len());
    ctx.map(&pieces, |piece| one(&serial, &rows[piece.clone()])).into_iter().collect()
}

/// Runs rows in one piece.
pub(crate) fn together<T: Scalar>(
    ctx: &Arc<Context<T>>,
    network: &dyn Network<T>,
    request: Request<'_, T>,
) -> Result<Finished<T>> {
    let mut run = Run::new(ctx.clone(), network.sites(), request)?;
    ctx.install(move || {
        network.forward(&mut run)?;
        Ok(run.finish())
    })
}

/// All texts, then all baselines: in every packed value the partner of an element is then half the value further.
fn halves(rows: &[Row]) -> Vec<Row> {
    [0, 1].iter().flat_map(|&first| rows.iter().skip(first).step_by(2)).cloned().collect()
}

/// The order of the caller, to whom it is of no concern how pairs are packed.
fn interleaved<P: Clone>(halves: &[P]) -> Vec<P> {
    let (texts, baselines) = halves.split_at(halves.len() / 2);
    texts.iter().zip(baselines).flat_map(|(text, baseline)| [text.clone(), baseline.clone()]).collect()
}

fn check(sites: &Sites, rows: &[Row], plan: &Plan) -> Result<()> {
    plan.check_pairs(rows)?;
    let start = plan.start.and_then(|start| sites.find(start));
    let Some(info) = start.filter(|info| info.cut) else { return Ok(()) };
    for (i, row) in rows.iter().enumerate() {
        let expected = info.shape(&row.encoded);
        let given = row.start.as_ref().map(|array| &array.shape);
        if given != Some(&expected) {
            return Err(Error::Request(format!(
                "row {i}: must bring a value of shape {expected:?} at {}, it brings {given:?}",
                info.site
            )));
        }
    }
    Ok(())
}

/// Tokens a piece should have: enough to make a matrix product efficient on one thread, few enough for its cache.
const PIECE_TOKENS: usize = 256;

/// Below this many tokens a thread, operations that use every thread are faster than threads that need not wait.
const LEAST_TOKENS: usize = 32;

/// Cuts rows, in order, into pieces of about equal work, as many for each thread; else all rows are one piece, whose
/// operations use every thread.
fn pieces(rows: &[Row], plan: &Plan, threads: usize) -> Vec<Range<usize>> {
    let total: usize = rows.iter().map(|row| row.encoded.len()).sum();
    let group = plan.group();
    if threads == 1 || total < threads * LEAST_TOKENS || rows.len() < threads * group {
        return std::iter::once(0..rows.len()).collect();
    }
    cut(rows, total.div_ceil(PIECE_TOKENS).next_multiple_of(threads), group)
}

/// Cuts rows, in order, into at most `count` pieces of about as many tokens; each holds whole groups of `group` rows.
pub(crate) fn cut(rows: &[Row], count: usize, group: usize) -> Vec<Range<usize>> {
    let total: usize = rows.iter().map(|row| row.encoded.len()).sum();
    let (mut pieces, mut first, mut tokens) = (Vec::new(), 0, 0);
    for (i, row) in rows.iter().enumerate() {
        tokens += row.encoded.len();
        // The piece ends where the running total passes its share.
        let passed = tokens * count >= total * (pieces.len() + 1) && (i + 1).is_multiple_of(group);
        if passed || i + 1 == rows.len() {
            pieces.push(first..i + 1);
            first = i + 1;
        }
    }
    pieces
}
