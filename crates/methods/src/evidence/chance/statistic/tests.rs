use super::*;
use crate::Stream;
use exegete_testkit::{Of, close};

const EFFECTS: [f64; 5] = [3.0, 1.0, 0.0, -1.0, -2.0];

fn orders(units: usize) -> Orders {
    Orders::new(units, &mut Stream::Chance.random(0, 0))
}

#[track_caller]
fn check(scores: [f64; 5], effects: [f64; 5], sum: f64, count: usize) {
    let a = normal_scores(&scores);
    close("T", &[fit(&a, &effects)], &[sum], Of::Size(1.0), 1e-6);
    let found = orders(5).as_good(&a, &effects);
    assert_eq!((found.count, found.of, found.exact), (count, 120, true), "{scores:?}");
    assert_eq!(found.p(), count as f64 / 120.0);
}

#[test]
fn five_units_counted_out() {
    close("scores", &quantiles(5), &[-0.967422, -0.430727, 0.0, 0.430727, 0.967422], Of::Size(1.0), 1e-6);
    check([5.0, 4.0, 3.0, 2.0, 1.0], EFFECTS, 5.698562, 1);
    check([5.0, 4.0, 2.0, 2.0, 1.0], EFFECTS, 5.483199, 2);
    check([4.0, 5.0, 3.0, 2.0, 1.0], EFFECTS, 4.625174, 6);
    check([1.0, 2.0, 3.0, 4.0, 5.0], EFFECTS, -5.698562, 120);
    check([1.0, 0.0, 0.0, 0.0, 0.0], EFFECTS, 3.385975, 24);
    let tied = normal_scores(&[5.0, 4.0, 2.0, 2.0, 1.0]);
    close("ties", &tied, &[0.967422, 0.430727, -0.215364, -0.215364, -0.967422], Of::Size(1.0), 1e-6);
}

/// The planted fault: ties in the order of the text would win half a place for nothing.
#[test]
fn ties_in_text_order_would_look_better_than_they_are() {
    let mut order = [0usize, 1, 2, 3, 4];
    let scores = [5.0, 4.0, 2.0, 2.0, 1.0];
    order.sort_by(|&a, &b| compare(&scores[a], &scores[b]).then(b.cmp(&a)));
    let mut a = vec![0.0; 5];
    order.iter().zip(quantiles(5)).for_each(|(&unit, place)| a[unit] = place);
    assert_eq!(orders(5).as_good(&a, &EFFECTS).count, 1);
    assert_eq!(orders(5).as_good(&normal_scores(&scores), &EFFECTS).count, 2);
}

#[test]
fn sizes_against_sizes_and_signs_against_signs() {
    let scores = [-0.5, 0.1, 0.0, 0.2, 0.4];
    check(scores.map(f64::abs), EFFECTS.map(f64::abs), 3.332992, 2);
    check(scores, EFFECTS, -5.267835, 119);
}

#[test]
fn moments_without_relation() {
    let a = normal_scores(&[5.0, 4.0, 3.0, 2.0, 1.0]);
    close("z", &[z(&a, &EFFECTS).unwrap()], &[1.978168], Of::Size(1.0), 1e-6);
    assert_eq!(z(&[0.0; 5], &EFFECTS), None);
    assert_eq!(z(&normal_scores(&[0.7; 5]), &EFFECTS), None);
    assert_eq!(z(&normal_scores(&[0.7; 13]), &[2.0; 13].map(|c| c * 0.3)), None);
    assert_eq!(z(&[0.3], &[1.0]), None);
    // Mean and variance over all 120 orders, of scores that are tied and do not sum to zero.
    let a = [0.9, 0.4, 0.4, 0.1, -1.0];
    let sums: Vec<f64> = every_order(5)
        .iter()
        .map(|order| order.iter().zip(EFFECTS).map(|(&from, c)| a[from] * c).sum())
        .collect();
    let mean = sums.iter().sum::<f64>() / 120.0;
    let deviation = (sums.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / 120.0).sqrt();
    close("z", &[z(&a, &EFFECTS).unwrap()], &[(fit(&a, &EFFECTS) - mean) / deviation], Of::Size(1.0), 1e-9);
}

#[test]
fn quantiles_are_those_of_the_normal_distribution() {
    // scipy.stats.norm.ppf
    for (share, x) in [(0.5, 0.0), (0.975, 1.959_963_984_540_054), (0.999, 3.090_232_306_167_813_5)] {
        close("quantile", &[quantile(share)], &[x], Of::Size(1.0), 1e-9);
    }
    let many = quantiles(500);
    assert!(many.is_sorted() && many.iter().zip(many.iter().rev()).all(|(a, b)| (a + b).abs() < 1e-12));
}

#[test]
fn many_units_are_compared_with_random_orders() {
    let c: Vec<f64> = (0..20).map(f64::from).collect();
    let found = orders(20).as_good(&normal_scores(&c), &c);
    assert_eq!((found.count, found.of, found.p()), (0, ORDERS, 1.0 / 2000.0));
    let all = orders(20).as_good(&[0.0; 20], &c);
    assert_eq!((all.count, all.p()), (ORDERS, 1.0));
}
