//! How far the answer moves when a text's weights change places: S. Jain and B. C. Wallace, *Attention is not explanation*,
//! 2019.

use super::distance::total_variation;
use super::head::Reweighed;
use super::spread::Imposed;
use crate::statistics::interval::median;
use exegete_core::Result;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// How often weights change places.
pub const PERMUTATIONS: usize = 100;

/// The median TVD to the own answer over so many seeded orders, or over all n! where these are no more.
pub fn median_tvd(
    head: &dyn Reweighed,
    own: &[f64],
    words: usize,
    count: usize,
    random: &mut ChaCha8Rng,
) -> Result<f64> {
    let orders =
        every_order(words, count).unwrap_or_else(|| (0..count).map(|_| order(words, random)).collect());
    let imposed: Vec<Imposed> = orders.into_iter().map(Imposed::Permuted).collect();
    let outputs = head.outputs(&imposed)?;
    Ok(median(&mut outputs.iter().map(|p| total_variation(p, own)).collect::<Vec<f64>>()))
}

/// A random order, each equally likely.
pub(super) fn order(count: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.random_range(0..=last as u32) as usize);
    }
    order
}

/// All orders, where there are at most so many.
fn every_order(count: usize, most: usize) -> Option<Vec<Vec<usize>>> {
    let orders = (1..=count).try_fold(1usize, |orders, k| orders.checked_mul(k))?;
    if orders > most {
        return None;
    }
    let mut all = vec![Vec::new()];
    for item in 0..count {
        let with = |order: &Vec<usize>| {
            let order = order.clone();
            (0..=order.len())
                .map(move |at| [&order[..at], &[item], &order[at..]].concat())
                .collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use std::collections::HashSet;

    #[test]
    fn few_orders_are_all_of_them() {
        let all: HashSet<_> = every_order(4, 100).unwrap().into_iter().collect();
        assert_eq!(all.len(), 24);
        assert_eq!(every_order(5, 100), None);
        assert_eq!(every_order(200, 100), None);
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let drawn: HashSet<_> = (0..2000).map(|_| order(4, &mut random)).collect();
        assert_eq!(drawn, all, "every order is drawn, and nothing else");
    }
}
