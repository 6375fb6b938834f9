//! Rules beyond the gradient on whole transformers: DeepLIFT sums to the difference, relevance is conserved.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail by panicking, and says what it measured"
)]

use exegete_core::{
    Array, Change, Driver, Edit, Encoded, Example, LrpRule, Model, Pass, Plan, Record, Row, Rules, Seed, Site,
};
use exegete_models::{BertSize, LoadOptions, Precision, load, load_default, random_bert};
use exegete_testkit::golden::{Golden, folders, root};
use exegete_testkit::{Comparison, Of, close, passes};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Four times what `docs/accuracy.md` says of DeepLIFT, and of relevance: other processors sum in another order.
const LIFT_LIMIT: f64 = 4.0 * 2.4e-5;
const RELEVANCE_LIMIT: f64 = 4.0 * 4.5e-6;

const RESCALE: Rules = Rules::DeepLift { reveal_cancel: false };

fn open(folder: &Path, precision: Precision) -> Arc<dyn Model> {
    load(folder, &LoadOptions { precision, threads: 2 }).unwrap()
}

/// A text and what its vectors are compared with.
fn zero(row: &Row) -> Row {
    row.clone().edit(Edit::whole(Site::named("embed.word"), Change::Zero))
}

/// The same text with one id in place of every word.
fn padded(row: &Row) -> Row {
    let mut encoded = Encoded::clone(&row.encoded);
    encoded.tokens.iter_mut().filter(|token| !token.special).for_each(|token| token.id = 0);
    Row::new(encoded)
}

/// The sites that relevance is asked for at.
fn sites(model: &dyn Model) -> Vec<Site> {
    model.open().unwrap().sites().cuts().collect()
}

/// One logit of every `step`-th row.
fn seeds(pass: &dyn Pass, step: usize) -> Vec<Seed> {
    let seed = |row: usize| {
        let logits = &pass.logits()[row];
        let mut cotangent = Array::zeros(logits.shape.clone());
        cotangent.data[logits.data.len() / 2] = 1.0;
        Seed { row, site: Site::named("logits"), cotangent }
    };
    (0..pass.logits().len()).step_by(step).map(seed).collect()
}

fn output(pass: &dyn Pass, row: usize) -> f64 {
    let logits = &pass.logits()[row].data;
    logits[logits.len() / 2]
}

/// Compares the sum of shares and rest with what there is to share out. No shares are no sum.
fn sums_up(comparison: &mut Comparison, name: &str, shares: &[f64], rest: f64, expected: f64) {
    let sizes: f64 = shares.iter().map(|x| x.abs()).sum();
    let sum = shares.iter().copied().reduce(|a, b| a + b).map(|sum| sum + rest);
    let size = Of::Size(expected.abs().max(0.1 * sizes).max(1e-9));
    comparison.compare(name, sum.as_slice(), &[expected], size);
}

/// What DeepLIFT misses over rows in pairs, at every site.
fn deep_lift(model: &dyn Model, pairs: &[Row], rules: Rules) -> Comparison {
    let sites = sites(model);
    let plan = Plan { record: Record::Paired, ..Plan::keep(sites.clone()) };
    let mut comparison = Comparison::default();
    let visit = |_: Range<usize>, pass: &dyn Pass| {
        let found = pass.backward(&seeds(pass, 2), &sites, rules)?;
        for (site, multipliers) in sites.iter().zip(&found) {
            for text in (0..multipliers.len()).step_by(2) {
                let (m, x, x0) = (&multipliers[text], pass.value(*site, text)?, pass.value(*site, text + 1)?);
                let share = |i: usize| f64::from(m.data[i]) * (f64::from(x.data[i]) - f64::from(x0.data[i]));
                let shares: Vec<f64> = (0..m.len()).map(share).collect();
                let difference = output(pass, text) - output(pass, text + 1);
                sums_up(&mut comparison, &format!("row {text} at {site}"), &shares, 0.0, difference);
                assert_eq!(multipliers[text + 1].max_abs(), 0.0, "a baseline has multipliers");
            }
        }
        Ok(())
    };
    passes(&Driver::default(), model, pairs, &plan, visit).unwrap();
    comparison
}

/// What relevance propagation misses, at every site.
fn relevance(model: &dyn Model, rows: &[Row], lrp: LrpRule) -> Comparison {
    let sites = sites(model);
    let plan = Plan { record: Record::Lowered, ..Plan::keep(sites.clone()) };
    let mut comparison = Comparison::default();
    let visit = |_: Range<usize>, pass: &dyn Pass| {
        let seeds = seeds(pass, 1);
        let found = pass.backward(&seeds, &sites, Rules::Lrp(lrp))?;
        for (site, multipliers) in sites.iter().zip(&found) {
            let booked = pass.booked(&seeds, &[*site], Rules::Lrp(lrp))?;
            for (row, m) in multipliers.iter().enumerate() {
                let x = pass.value(*site, row)?;
                let share = |i: usize| f64::from(m.data[i]) * f64::from(x.data[i]);
                let shares: Vec<f64> = (0..m.len()).map(share).collect();
                let name = format!("row {row} at {site}");
                sums_up(&mut comparison, &name, &shares, booked[row], output(pass, row));
            }
        }
        Ok(())
    };
    passes(&Driver::default(), model, rows, &plan, visit).unwrap();
    comparison
}

fn golden_rows(model: &dyn Model, folder: &Path) -> Vec<Row> {
    let golden = Golden::open(folder).unwrap();
    let inputs = golden.described.inputs.iter();
    inputs.map(|input| Row::new(model.open().unwrap().encode(&input.example()).unwrap())).collect()
}

/// Texts with zero vectors, then with one id for every word.
fn pairs(rows: &[Row]) -> Vec<Row> {
    let zeros = rows.iter().flat_map(|row| [row.clone(), zero(row)]);
    zeros.chain(rows.iter().flat_map(|row| [row.clone(), padded(row)])).collect()
}

/// Says what was measured, and fails beyond the limit.
#[track_caller]
fn hold(name: &str, comparison: &Comparison, limit: f64) {
    println!("{name:48} {:.1e}", comparison.worst().0);
    let held = comparison.check(limit);
    assert!(held.is_ok(), "{name}: {held:?}");
}

#[test]
fn deep_lift_sums_to_the_difference_in_every_golden_model() {
    let folders = folders().unwrap();
    assert!(folders.len() >= 39, "only {} golden folders", folders.len());
    for folder in folders {
        for precision in [Precision::F32, Precision::F64] {
            let model = open(&folder, precision);
            let pairs = pairs(&golden_rows(&*model, &folder));
            for reveal_cancel in [false, true] {
                let name = format!("deep_lift {} {precision:?} {reveal_cancel}", model.card().name);
                hold(&name, &deep_lift(&*model, &pairs, Rules::DeepLift { reveal_cancel }), LIFT_LIMIT);
            }
        }
    }
}

#[test]
fn relevance_is_conserved_in_every_golden_model() {
    let rules = [
        LrpRule::Epsilon(0.0),
        LrpRule::Epsilon(1e-2),
        LrpRule::Gamma(0.25),
        LrpRule::AlphaBeta(2.0),
        LrpRule::ZPlus,
    ];
    let folders = folders().unwrap();
    assert!(folders.len() >= 39, "only {} golden folders", folders.len());
    for folder in folders {
        for precision in [Precision::F32, Precision::F64] {
            let model = open(&folder, precision);
            let rows = golden_rows(&*model, &folder);
            for lrp in rules {
                let name = format!("{} {precision:?} {lrp:?}", model.card().name);
                hold(&name, &relevance(&*model, &rows, lrp), RELEVANCE_LIMIT);
            }
        }
    }
}

/// A share that is NaN, wherever it stands, and no shares at all.
#[test]
fn a_planted_nan_and_nothing_are_failures() {
    let missed = |shares: &[f64], rest: f64, expected: f64| {
        let mut comparison = Comparison::default();
        sums_up(&mut comparison, "fine before", &[1.0], 0.0, 1.0);
        sums_up(&mut comparison, "planted", shares, rest, expected);
        sums_up(&mut comparison, "fine after", &[1.0], 0.0, 1.0);
        comparison.check(LIFT_LIMIT).is_err()
    };
    assert!(!missed(&[1.0, 2.0], 0.5, 3.5) && missed(&[1.0, 2.0], 0.5, 3.6));
    assert!(missed(&[f64::NAN, 2.0], 0.0, 2.0) && missed(&[1.0, f64::INFINITY], 0.0, 1.0));
    assert!(missed(&[1.0], f64::NAN, 1.0) && missed(&[1.0], 0.0, f64::NAN));
    assert!(missed(&[], 0.0, 0.0));
    assert!(Comparison::default().check(LIFT_LIMIT).is_err(), "no row was compared");
}

/// The same checks are red for rules that do not sum up, and where the booked shares are left out.
#[test]
fn what_does_not_sum_up_is_noticed() {
    let folder = root().join("bert-sequence");
    let model = open(&folder, Precision::F32);
    let rows = golden_rows(&*model, &folder);
    deep_lift(&*model, &pairs(&rows), Rules::Gradient).assert_beyond(0.05);
    deep_lift(&*model, &pairs(&rows), Rules::Lrp(LrpRule::Epsilon(0.0))).assert_beyond(0.05);
    let plan = Plan { record: Record::Lowered, ..Plan::keep([Site::named("embed.word")]) };
    let pass = model.open().unwrap().forward(&rows, &plan).unwrap();
    let booked =
        pass.booked(&seeds(&*pass, 1), &[Site::named("embed.word")], Rules::Lrp(LrpRule::ZPlus)).unwrap();
    assert!(booked.iter().enumerate().all(|(row, share)| share.abs() > 0.01 * output(&*pass, row).abs()));
}

const SENTENCES: [&str; 4] = [
    "A warm and honest film.",
    "It's not bad at all; in fact, it's one of the best comedies of the year.",
    "The acting is wooden and the plot makes no sense.",
    "terrible",
];

#[test]
fn the_default_model_is_served() {
    let model = load_default(&LoadOptions::default()).unwrap();
    let encode = |text: &str| Row::new(model.open().unwrap().encode(&Example::text(text)).unwrap());
    let rows = SENTENCES.map(encode);
    for reveal_cancel in [false, true] {
        let lift = deep_lift(&*model, &pairs(&rows), Rules::DeepLift { reveal_cancel });
        hold(&format!("deep_lift default {reveal_cancel}"), &lift, LIFT_LIMIT);
    }
    for lrp in [
        LrpRule::Epsilon(0.0),
        LrpRule::Epsilon(1e-3),
        LrpRule::Gamma(0.25),
        LrpRule::AlphaBeta(2.0),
        LrpRule::ZPlus,
    ] {
        hold(&format!("lrp default {lrp:?}"), &relevance(&*model, &rows, lrp), RELEVANCE_LIMIT);
    }
}

/// How pairs are packed, batched and cut into pieces is of no concern to the caller.
#[test]
fn pairs_come_back_in_the_order_they_were_given() {
    let size = BertSize { layers: 2, hidden: 48, heads: 4, inner: 96, vocabulary: 300 };
    let model = random_bert(&size, &LoadOptions { precision: Precision::F32, threads: 2 }).unwrap();
    let open = model.open().unwrap();
    let ids = |seed: usize| -> Vec<u32> {
        (0..20 + seed % 40).map(|i| ((i * 37 + seed * 101) % 300) as u32).collect()
    };
    let texts: Vec<Row> = (0..24).map(|seed| Row::new(Encoded::from_ids(&ids(seed)))).collect();
    let rows: Vec<Row> = texts.iter().flat_map(|row| [row.clone(), zero(row)]).collect();
    let plan = Plan { record: Record::Paired, ..Plan::keep([Site::named("embed.word")]) };
    let lifted = |driver: &Driver| {
        let mut all = Vec::new();
        let visit = |_: Range<usize>, pass: &dyn Pass| {
            all.extend(pass.backward(&seeds(pass, 2), &[Site::named("embed.word")], RESCALE)?.remove(0));
            Ok(())
        };
        passes(driver, &*model, &rows, &plan, visit).unwrap();
        all
    };
    let together = lifted(&Driver::default());
    let bytes = open.bytes(&rows[0], &plan);
    let apart = lifted(&Driver::new(6 * bytes));
    assert_eq!((together.len(), apart.len()), (rows.len(), rows.len()));
    for (i, (a, b)) in together.iter().zip(&apart).enumerate() {
        close(&format!("row {i}"), b, a, Of::Largest(1e-3), 1e-5);
        assert_eq!(a.max_abs() == 0.0, i % 2 == 1);
    }
    // Values and outputs are those of the same rows without pairs, and the gradient is served too.
    let pass = open.forward(&rows, &plan).unwrap();
    let plain = open.forward(&rows, &Plan::gradient([Site::named("embed.word")])).unwrap();
    let [a, b] = [&pass, &plain].map(|pass| {
        pass.backward(&seeds(&**pass, 1), &[Site::named("embed.word")], Rules::Gradient).unwrap().remove(0)
    });
    for row in 0..rows.len() {
        assert_eq!(
            pass.value(Site::named("embed.word"), row).unwrap(),
            plain.value(Site::named("embed.word"), row).unwrap()
        );
        close(&format!("output {row}"), &[output(&*pass, row)], &[output(&*plain, row)], Of::Size(1.0), 1e-5);
        close(&format!("gradient {row}"), &a[row], &b[row], Of::Largest(0.0), 1e-5);
    }
    // What is booked comes back in this order as well.
    let rules = Rules::Lrp(LrpRule::Epsilon(1e-3));
    let lowered = open.forward(&rows, &Plan { record: Record::Lowered, ..plan.clone() }).unwrap();
    let [a, b] = [&pass, &lowered]
        .map(|pass| pass.booked(&seeds(&**pass, 1), &[Site::named("embed.word")], rules).unwrap());
    close("booked", &a, &b, Of::Each(1.0), RELEVANCE_LIMIT);
}

/// Pairs that are asked about late only are resumed from a cut, each row from its own text.
#[test]
fn pairs_are_resumed() {
    let size = BertSize { layers: 4, hidden: 48, heads: 4, inner: 96, vocabulary: 300 };
    let model = random_bert(&size, &LoadOptions { precision: Precision::F32, threads: 1 }).unwrap();
    let open = model.open().unwrap();
    let late = Site::named("layer.2.out");
    let (text, other) = (Encoded::from_ids(&[3, 1, 4, 1, 5]), Encoded::from_ids(&[0, 0, 0, 0, 0]));
    let (text, other) = (Row::new(text), Row::new(other));
    let scaled = |by: f32| text.clone().edit(Edit::whole(late, Change::Scale(by)));
    let rows = [text.clone(), other.clone(), scaled(0.5), other, text.clone(), scaled(0.0)];
    let plan = Plan { record: Record::Paired, ..Plan::keep([late]) };
    let lift = |pass: &dyn Pass| pass.backward(&seeds(pass, 2), &[late], RESCALE).unwrap().remove(0);
    let whole = lift(&*open.forward(&rows, &plan).unwrap());
    let mut resumed = Vec::new();
    let driver = Driver::default();
    let visit = |_: Range<usize>, pass: &dyn Pass| {
        resumed.extend(lift(pass));
        Ok(())
    };
    passes(&driver, &*model, &rows, &plan, visit).unwrap();
    assert_eq!(driver.spent().forward_rows, rows.len() + 2, "two texts once, then every row");
    assert_eq!((whole.len(), resumed.len()), (rows.len(), rows.len()));
    for (i, (a, b)) in whole.iter().zip(&resumed).enumerate() {
        close(&format!("row {i}"), b, a, Of::Largest(1e-3), 1e-5);
    }
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let model = open(&root().join("bert-sequence"), Precision::F32);
    let open = model.open().unwrap();
    let row = |text: &str| Row::new(open.encode(&Example::text(text)).unwrap());
    let (short, long) = (row("a film"), row("a very good film"));
    let paired = Plan { record: Record::Paired, ..Plan::keep([Site::named("embed.word")]) };
    let lowered = Plan { record: Record::Lowered, ..paired.clone() };
    let gradient = Plan::gradient([Site::named("embed.word")]);
    let forward = |rows: &[Row]| open.forward(rows, &paired).map(drop).unwrap_err().to_string();
    let driven =
        |rows: &[Row]| passes(&Driver::default(), &*model, rows, &paired, |_, _| Ok(())).unwrap_err();
    let backward = |plan: &Plan, step: usize, rules: Rules| {
        let pass = open.forward(&[short.clone(), zero(&short)], plan).unwrap();
        let found = pass.backward(&seeds(&*pass, step), &[Site::named("embed.word")], rules);
        found.map(drop).map_err(|error| error.to_string())
    };
    let refused = |found: String, expected: &str| assert!(found.contains(expected), "{found}");
    refused(forward(std::slice::from_ref(&short)), "needs a baseline");
    refused(forward(&[short.clone(), long.clone()]), "equally long");
    refused(driven(&[short.clone(), zero(&short), short.clone()]).to_string(), "needs a baseline");
    refused(backward(&lowered, 2, RESCALE).unwrap_err(), "Paired");
    refused(backward(&gradient, 1, Rules::Lrp(LrpRule::ZPlus)).unwrap_err(), "Lowered");
    refused(backward(&gradient, 1, Rules::GuidedBackprop).unwrap_err(), "Lowered");
    refused(backward(&paired, 1, RESCALE).unwrap_err(), "a baseline");
    refused(backward(&lowered, 1, Rules::Lrp(LrpRule::AlphaBeta(0.5))).unwrap_err(), "alpha");
    refused(backward(&lowered, 1, Rules::Lrp(LrpRule::Epsilon(-1.0))).unwrap_err(), "negative");
    for rules in [Rules::GuidedBackprop, Rules::Deconvolution, Rules::Lrp(LrpRule::ZPlus), Rules::Gradient] {
        assert_eq!(backward(&lowered, 1, rules), Ok(()));
    }
    // An operation without a rule is named: relevance does not flow through what makes attention weights.
    let scores = [Site::named("layer.1.attn.q"), Site::named("layer.1.attn.scores")];
    let pass = open
        .forward(std::slice::from_ref(&short), &Plan { keep: scores.to_vec(), ..lowered.clone() })
        .unwrap();
    let cotangent = Array::full(pass.value(scores[1], 0).unwrap().shape, 1.0);
    let seed = [Seed { row: 0, site: scores[1], cotangent }];
    let error = pass.backward(&seed, &scores[..1], Rules::Lrp(LrpRule::ZPlus)).unwrap_err().to_string();
    refused(error, "'attention scores' has no rule in the table 'lrp'");
    refused(pass.booked(&seed, &scores[1..], RESCALE).unwrap_err().to_string(), "Paired");
}
