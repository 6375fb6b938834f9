use super::*;
use crate::Set;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

mod planted;

fn words(count: usize) -> String {
    if count == 1 { "word".into() } else { "words".into() }
}

fn tried(values: &[f64], signed: bool, effects: &Effects) -> Trial {
    let orders = Orders::new(values.len(), &mut Stream::Chance.random(0, 0));
    Trial::of(values, signed, effects, &orders, &words)
}

/// Effects without error.
fn known(values: &[f64]) -> Effects {
    Effects { values: values.to_vec(), errors: vec![0.0; values.len()], intercept: 0.0 }
}

#[test]
fn every_outcome_and_every_reason() {
    use ChanceVerdict::{Failed, Passed, Undecided};
    let c = [3.0, 1.0, 0.0, -1.0, -2.0];
    let check = |values: &[f64], c: &[f64], verdict: ChanceVerdict, reason: &str, says: &str| {
        let found = tried(values, true, &known(c));
        assert_eq!((found.verdict, found.reason.as_deref().unwrap_or("")), (verdict, reason), "{values:?}");
        assert_eq!(found.says(values.len(), "words", None), says);
    };
    let best = "1 in 120, the best that 5 words allow";
    check(&[5.0, 4.0, 3.0, 2.0, 1.0], &c, Passed, "", best);
    check(&[4.0, 5.0, 3.0, 2.0, 1.0], &c, Failed, "", "6 of all 120 rankings do as well (5 %)");
    check(&[1.0, 2.0, 3.0, 4.0, 5.0], &c, Failed, "", "120 of all 120 rankings do as well (100 %)");
    let tie = "the scores tie too many words";
    let said = format!("undecided: {tie}; 24 of all 120 rankings do as well (20 %)");
    check(&[1.0, 0.0, 0.0, 0.0, 0.0], &c, Undecided, tie, &said);
    let equal = "all 5 scores are equal: they rank nothing";
    check(&[0.5; 5], &c, Failed, equal, "120 of all 120 rankings do as well (100 %)");
    let nothing = "nothing moves F: hiding units changes it by no more than noise";
    let said = format!("undecided: {nothing}; 120 of all 120 rankings do as well (100 %)");
    check(&[0.5; 5], &[0.0; 5], Undecided, nothing, &said);
    check(&[5.0, 4.0, 3.0, 2.0, 1.0], &[0.0; 5], Undecided, nothing, &said);
    let few = "4 words are too few to tell a ranking from chance";
    let said = format!("undecided: {few}; 1 in 24, the best that 4 words allow");
    check(&[4.0, 3.0, 2.0, 1.0], &c[..4], Undecided, few, &said);
    let few = "3 words are too few to tell a ranking from chance";
    check(&[3.0, 2.0, 1.0], &c[..3], Undecided, few, &format!("undecided: {few}"));
    check(&[f64::NAN, 4.0, 3.0, 2.0, 1.0], &c, Failed, "a score is no number", best);
    let hidden = "F is no number while units are hidden";
    check(&[5.0, 4.0, 3.0, 2.0, 1.0], &[f64::NAN; 5], Undecided, hidden, &format!("undecided: {hidden}"));
}

/// One word that decides comes first in one of n random orders, two of eight at both ends of every 56th.
#[test]
fn few_deciding_words_are_undecided() {
    for n in [5, 8, 20] {
        let mut c = vec![0.0; n];
        c[n / 2] = 2.0;
        let found = tried(&c, true, &known(&c));
        assert_eq!(found.reason.as_deref(), Some("only 1 word moves F measurably"), "{n}");
    }
    let mut c = [0.0; 8];
    (c[1], c[4]) = (2.0, -1.0);
    // What is counted of 1,999 random orders scatters around that.
    let undecided = (0..40).filter(|&text| {
        let orders = Orders::new(8, &mut Stream::Chance.random(0, text));
        let found = Trial::of(&c, true, &known(&c), &orders, &words);
        found.reason.as_deref() == Some("only 2 words move F measurably")
    });
    assert!(undecided.count() >= 28);
    // The same words without their effects' size: noise alone is not measurable.
    let noisy = Effects { values: c.to_vec(), errors: vec![1.5; 8], intercept: 0.0 };
    assert_eq!(moving(&noisy), [0.0; 8]);
    assert_eq!(moving(&Effects { errors: vec![0.9; 8], ..noisy })[1], 2.0);
}

#[test]
fn figures_in_words() {
    let check = |count: usize, of: usize, said: &str| {
        assert_eq!(measured(AsGood { count, of, exact: false }, 20, "words"), said);
    };
    check(0, 1999, "fewer than 1 in 2,000 random rankings do as well");
    check(1, 1999, "1 of 1,999 random rankings does as well (0.1 %)");
    check(213, 1999, "213 of 1,999 random rankings do as well (10.7 %)");
    check(1999, 1999, "1,999 of 1,999 random rankings do as well (100 %)");
}

#[test]
fn what_the_method_has_seen_is_left_out() {
    let sets = masks(20, &mut Stream::Masks.random(0, 0));
    let check = |seen: Option<usize>, left: usize, independent: Option<bool>| {
        let asked = seen.map(|seen| sets[..seen].iter().cloned().collect::<HashSet<Set>>());
        let (used, found) = super::independent(&sets, asked.as_ref(), 20);
        assert_eq!((used.len(), found), (left, independent), "{seen:?}");
        if let (Some(asked), Some(true)) = (&asked, independent) {
            assert!(used.iter().all(|set| !asked.contains(*set)));
        }
    };
    check(None, 96, None);
    check(Some(0), 96, Some(true));
    check(Some(1), 95, Some(true));
    check(Some(68), 28, Some(true));
    check(Some(69), 96, Some(false));
    let few = masks(5, &mut Stream::Masks.random(0, 0));
    let asked: HashSet<Set> = few[..1].iter().cloned().collect();
    assert_eq!(super::independent(&few, Some(&asked), 5).1, Some(false));
    assert_eq!(super::independent(&few, Some(&HashSet::new()), 5).1, Some(true));
}

#[test]
fn what_speaks_against_the_evidence_is_said() {
    let check =
        |seen: Option<bool>, hid: bool, steady: bool, independent: Option<bool>, said: Option<&str>| {
            let (found, doubt) = super::doubted(seen, hid, steady);
            assert_eq!((found, doubt.is_some()), (independent, said.is_some()), "{seen:?} {hid} {steady}");
            assert!(doubt.unwrap_or_default().contains(said.unwrap_or_default()), "{doubt:?}");
        };
    check(Some(true), true, true, Some(true), None);
    check(None, false, true, None, None);
    check(Some(false), true, true, Some(false), Some("the method has seen these sets"));
    // Of a model that wavers nothing that was hidden is independent; scores that hid nothing are measured unsteadily.
    check(Some(true), true, false, Some(false), Some("not independent: the model answers"));
    check(Some(false), true, false, Some(false), Some("not independent: the model answers"));
    check(Some(true), false, false, Some(true), Some("unsteady: the model answers"));
    check(None, false, false, None, Some("unsteady: the model answers"));
}

/// A standard normal number.
fn normal(random: &mut ChaCha8Rng) -> f64 {
    exegete_core::normal([1.0 - random.random::<f64>(), random.random()])
}

/// Scores drawn without looking pass in at most 1.5 % of draws, whatever the effects are.
#[test]
fn the_error_rate_holds_for_every_kind_of_effect() {
    const DRAWS: usize = 4000;
    const MOST: f64 = 0.019;
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for units in [5, 8, 20] {
        let orders = Orders::new(units, &mut Stream::Chance.random(0, 0));
        for kind in 0..3 {
            for scoring in 0..3 {
                let passed = (0..DRAWS).filter(|_| {
                    let effect = |i: usize, random: &mut ChaCha8Rng| match kind {
                        0 => normal(random),
                        1 => normal(random) / normal(random),
                        _ if i == 0 => 5.0,
                        _ => 0.1 * normal(random),
                    };
                    let c: Vec<f64> = (0..units).map(|i| effect(i, &mut random)).collect();
                    let score = |random: &mut ChaCha8Rng| match scoring {
                        1 => f64::from(random.random_range(0..3u8)),
                        _ => normal(random),
                    };
                    let values: Vec<f64> = (0..units).map(|_| score(&mut random)).collect();
                    let found = Trial::of(&values, scoring < 2, &known(&c), &orders, &words);
                    found.verdict == ChanceVerdict::Passed
                });
                let rate = passed.count() as f64 / DRAWS as f64;
                assert!(rate <= MOST, "{units} units, effects {kind}, scores {scoring}: {rate}");
                assert!(rate > 0.0 || units == 5, "{units} units, effects {kind}, scores {scoring}: never");
                assert!(rate == 0.0 || units > 5 || scoring != 1, "three values of five units: {rate}");
            }
        }
    }
}
