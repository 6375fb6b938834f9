//! Games whose answers are worked out on paper, what Shapley values promise, and estimates that break each promise.

use crate::games::{Closed, Polynomial, adaptive, fixed, gloves, random};
use exegete_methods::perturbation::partition_shap::{self, SetCount};
use exegete_methods::perturbation::{ShapleyShares, Tree, exact_shap, kernel_shap, permutation_shap};
use exegete_testkit::{Comparison, Of, check};

type Value<'a> = &'a dyn Fn(&[bool]) -> f64;
type Way<'a> = &'a dyn Fn(usize, Value<'_>) -> Vec<f64>;

fn exact(players: usize, value: Value<'_>) -> Vec<f64> {
    exact_shap::shares(&mut Closed::new(players, value), 12).unwrap().values
}

fn permutation(players: usize, value: Value<'_>) -> ShapleyShares {
    permutation_shap::shares(&mut Closed::new(players, value), &fixed(6000), &mut random(1)).unwrap()
}

fn kernel(players: usize, value: Value<'_>) -> Vec<f64> {
    kernel_shap::shares(&mut Closed::new(players, value), &adaptive(0.05, 2000), &mut random(1))
        .unwrap()
        .values
}

fn partition(players: usize, value: Value<'_>) -> Vec<f64> {
    let tree = Tree::of_levels(players, &[]);
    let (found, evenly) =
        partition_shap::shares(&mut Closed::new(players, value), &tree, SetCount::Budget(500), random(1))
            .unwrap();
    assert!(evenly == 0 && found.rows as f64 <= tree.cost());
    found.values
}

#[track_caller]
fn close(found: &[f64], expected: &[f64], within: f64) {
    let near = check("values", found, expected, Of::Size(1.0), within);
    assert!(near.is_ok(), "{near:?}: found {found:?}, expected {expected:?}");
}

/// relu(s − 10) + 3·relu(s + 1) − 1 with s the sum of those there, and of a baseline for the others.
fn model(x: [f64; 3], baseline: [f64; 3]) -> impl Fn(&[bool]) -> f64 {
    move |there| {
        let s: f64 = (0..3).map(|i| if there[i] { x[i] } else { baseline[i] }).sum();
        (s - 10.0).max(0.0) + 3.0 * (s + 1.0).max(0.0) - 1.0
    }
}

#[test]
fn published_values_of_captums_model() {
    let check = |value: Value<'_>, expected: &[f64]| {
        let n = expected.len();
        close(&exact(n, value), expected, 1e-4);
        close(&kernel(n, value), expected, 1e-4);
        let found = permutation(n, value);
        let sure = check("errors", &found.errors, &vec![0.0; n], Of::Size(1.0), f64::MAX).unwrap();
        close(&found.values, expected, 4.0 * sure + 1e-4);
    };
    check(&model([20.0, 50.0, 30.0], [0.0; 3]), &[76.6667, 196.6667, 116.6667]);
    check(&model([2.0, 10.0, 3.0], [0.0; 3]), &[7.0, 32.5, 10.5]);
    check(&model([20.0, 50.0, 30.0], [10.0, 20.0, 10.0]), &[40.0, 120.0, 80.0]);
    // The first two as one player.
    let model = model([20.0, 50.0, 30.0], [0.0; 3]);
    check(&|there| model(&[there[0], there[0], there[1]]), &[275.0, 115.0]);
}

#[test]
fn gloves_and_a_dictator() {
    // One left glove and two right ones: the left one is missed in 4 of 6 orders, each right one helps in 1 of 6.
    let expected = [4.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0];
    close(&exact(3, &gloves(1)), &expected, 1e-12);
    close(&kernel(3, &gloves(1)), &expected, 1e-12);
    // In the tree (0 (1 2)), the rights are one group: ½ against ½, then halves of that.
    close(&partition(3, &gloves(1)), &[0.5, 0.25, 0.25], 1e-12);
    let dictator = |there: &[bool]| f64::from(u8::from(there[1]));
    for found in [exact(3, &dictator), kernel(3, &dictator), partition(3, &dictator)] {
        close(&found, &[0.0, 1.0, 0.0], 1e-12);
    }
}

#[test]
fn nobody_and_one_alone() {
    let nobody = |_: &[bool]| 3.0;
    let alone = |there: &[bool]| if there[0] { 5.0 } else { 2.0 };
    for way in ALL {
        assert!(way(0, &nobody).is_empty());
        close(&way(1, &alone), &[3.0], 1e-12);
    }
}

const ALL: [fn(usize, Value<'_>) -> Vec<f64>; 4] =
    [exact, |players, value| permutation(players, value).values, kernel, partition];

/// By how much each promise is broken on a curved game of four players: 3 counts for nothing, 0 and 1 alike.
fn broken(way: Way<'_>) -> [f64; 4] {
    let one = |there: &[bool]| {
        let n = |i: usize| f64::from(u8::from(there[i]));
        (n(0) + n(1) + 2.0 * n(0) * n(1) * n(2) - n(2)).tanh()
    };
    let other = |there: &[bool]| f64::from(u8::from(there[0] && there[1])) - f64::from(u8::from(there[2]));
    let (first, second) = (way(4, &one), way(4, &other));
    let both = way(4, &|there: &[bool]| one(there) + other(there));
    let total = one(&[true; 4]) - one(&[false; 4]);
    let sum: Vec<f64> = first.iter().zip(&second).map(|(first, second)| first + second).collect();
    let added = Comparison::default().compare("both", &sum, &both, Of::Size(1.0));
    [(first.iter().sum::<f64>() - total).abs(), (first[0] - first[1]).abs(), first[3].abs(), added]
}

#[test]
fn efficiency_symmetry_dummy_and_additivity() {
    let check = |name: &str, found: [f64; 4], within: [f64; 4]| {
        let kept = found.iter().zip(within).all(|(found, within)| *found <= within);
        assert!(kept, "{name}: {found:?}");
    };
    check("exact", broken(&exact), [1e-12; 4]);
    check("kernel", broken(&kernel), [1e-12; 4]);
    check("partition", broken(&partition), [1e-12; 4]);
    // Chance leaves players that count alike a little apart, and nothing else.
    let sampled = broken(&|players, value| permutation(players, value).values);
    check("permutation", sampled, [1e-12, 0.02, 1e-12, 1e-12]);
}

#[test]
fn every_promise_can_be_broken() {
    let changed = |change: fn(&mut Vec<f64>)| {
        move |players: usize, value: Value<'_>| {
            let mut found = exact(players, value);
            change(&mut found);
            found
        }
    };
    // Leaving out one at a time shares out more or less than there is.
    let one_at_a_time = |players: usize, value: Value<'_>| {
        let without = |i: usize| (0..players).map(|k| k != i).collect::<Vec<_>>();
        (0..players).map(|i| value(&vec![true; players]) - value(&without(i))).collect()
    };
    // Coming in always in the same order favours those who come first.
    let one_order = |players: usize, value: Value<'_>| {
        let first = |count: usize| (0..players).map(|k| k < count).collect::<Vec<_>>();
        (0..players).map(|i| value(&first(i + 1)) - value(&first(i))).collect()
    };
    let spread = changed(|found| {
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        found.iter_mut().for_each(|value| *value = 0.8 * *value + 0.2 * mean);
    });
    let squared = changed(|found| found.iter_mut().for_each(|value| *value *= value.abs()));
    let faults: [(&str, Way<'_>); 4] = [
        ("efficiency", &one_at_a_time),
        ("symmetry", &one_order),
        ("dummy", &spread),
        ("additivity", &squared),
    ];
    for (i, (promise, fault)) in faults.into_iter().enumerate() {
        let by = broken(fault)[i];
        assert!(by.is_finite() && by > 0.02, "{promise} is not seen to be broken: {by}");
    }
    let within = |found: [f64; 4]| found.map(|found| found <= 0.02);
    let nan = changed(|found| found.iter_mut().for_each(|value| *value = f64::NAN));
    assert_eq!(within(broken(&nan)), [false; 4], "NaN keeps a promise");
    // The third of four is in none but the sums.
    let one = changed(|found| found[2] = f64::NAN);
    assert_eq!(within(broken(&one)), [false, true, true, false]);
}

#[test]
fn too_much_is_refused_with_what_would_work() {
    let value = |_: &[bool]| 0.0;
    let says = |error: exegete_core::Error, words: &[&str]| {
        let text = error.to_string();
        words.iter().for_each(|word| assert!(text.contains(word), "{text}: says nothing of {word}"));
    };
    let exact = |players, most| exact_shap::shares(&mut Closed::new(players, value), most).unwrap_err();
    says(exact(14, 12), &["14 units", "most=14", "permutation_shap", "kernel_shap", "partition_shap"]);
    says(exact(17, 99), &["17 units", "16 units are the most", "partition_shap"]);
    let mut many = Closed::new(2000, value);
    let effort = adaptive(0.05, 2000);
    says(permutation_shap::shares(&mut many, &effort, &mut random(0)).unwrap_err(), &["2000 units", "7998"]);
    says(kernel_shap::shares(&mut many, &effort, &mut random(0)).unwrap_err(), &["2000 units", "8000"]);
    assert_eq!(many.asked, 0, "refused before any work");
    let tree = Tree::of_levels(3, &[]);
    says(
        partition_shap::shares(&mut many, &tree, SetCount::Budget(600), random(0)).unwrap_err(),
        &["3", "2000"],
    );
}

#[test]
fn sets_are_asked_for_together_and_never_beyond_the_budget() {
    let polynomial = Polynomial::random(14, 3, 0.3, 5);
    let value = |there: &[bool]| polynomial.at(there);
    let effort = adaptive(1e-9, 600);
    let mut game = Closed::new(14, value);
    let found = permutation_shap::shares(&mut game, &effort, &mut random(0)).unwrap();
    assert!(
        !effort.met(&found.values, &found.errors)
            && found.rows == game.different.len()
            && found.rows <= 600
            && game.calls < 20,
        "{}",
        game.calls
    );
    assert_eq!(found.samples, 598 / 26);
    let mut game = Closed::new(14, value);
    let found = kernel_shap::shares(&mut game, &effort, &mut random(0)).unwrap();
    assert!(
        !effort.met(&found.values, &found.errors)
            && found.rows == game.different.len()
            && found.rows <= 600
            && game.calls < 20,
        "{}",
        game.calls
    );
    let mut game = Closed::new(14, value);
    let tree = Tree::of_levels(14, &[]);
    let (found, _) = partition_shap::shares(&mut game, &tree, SetCount::Budget(600), random(0)).unwrap();
    // The whole tree fits: one call for the ends and one for each level.
    assert_eq!((found.rows, game.calls), (game.different.len(), 5));
    assert_eq!(game.asked, found.rows, "a tree asks for no set twice");
}

/// Few players have few sets: where nobody asks for a number of orders, all of them count.
#[test]
fn orders_of_a_few_players_are_all_counted() {
    for players in 1..=7 {
        let polynomial = Polynomial::random(players, 3, 0.5, 7);
        let value = |there: &[bool]| polynomial.at(there).tanh();
        let run = |effort| {
            let mut game = Closed::new(players, value);
            let found = permutation_shap::shares(&mut game, &effort, &mut random(0)).unwrap();
            (found, game.different.len())
        };
        let (found, asked) = run(adaptive(0.05, 2000));
        let sure = found.errors.iter().all(|&error| error == 0.0);
        if players <= 6 {
            close(&found.values, &exact(players, &value), 1e-12);
            assert!(sure && asked == 1 << players, "{players}: {asked}");
        } else {
            assert!(!sure, "seven are sampled");
        }
    }
    let mut game = Closed::new(6, |there: &[bool]| f64::from(u8::from(there[0] && there[1])));
    let few = permutation_shap::shares(&mut game, &adaptive(0.05, 40), &mut random(0)).unwrap();
    assert!(few.rows <= 40 && game.different.len() <= 40, "a smaller budget is kept");
}
