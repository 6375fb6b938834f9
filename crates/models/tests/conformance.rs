//! The conformance suite over every golden model, and what the suite does not reach: views, threads, memory, bad rows.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::conformance::{ConformanceSubject, check};
use exegete_core::{
    Array, Card, Change, Driver, Edit, Encoded, Error, Example, LrpRule, Model, Outputs, Pick, Plan, Record,
    Row, Rules, Seed, Site, Target,
};
use exegete_models::{BertSize, LoadOptions, Precision, load, random_bert};
use exegete_testkit::golden::{Golden, folders, root};
use exegete_testkit::{Fault, Faulty, Of, close, outputs, slopes};
use std::path::Path;
use std::sync::Arc;

fn open(folder: &Path, precision: Precision, threads: usize) -> Arc<dyn Model> {
    load(folder, &LoadOptions { precision, threads }).unwrap()
}

fn examples(folder: &Path) -> Vec<Example> {
    Golden::open(folder).unwrap().described.inputs.iter().map(|input| input.example()).collect()
}

#[test]
fn every_golden_model_conforms() {
    for folder in folders().unwrap() {
        let (fast, exact) = (open(&folder, Precision::F32, 2), open(&folder, Precision::F64, 2));
        let examples = examples(&folder);
        let checks =
            check(&ConformanceSubject { fast: &*fast, exact: &*exact, examples: &examples }).unwrap();
        for check in &checks {
            println!("{:28} {:32} {:.1e} {}", fast.card().name, check.name, check.worst, check.detail);
        }
        for check in checks {
            assert!(check.passed, "{}: {check:?}", folder.display());
        }
    }
}

#[test]
fn every_planted_fault_is_found_in_a_real_model() {
    let folder = root().join("bert-sequence");
    let (fast, exact) = (open(&folder, Precision::F32, 2), open(&folder, Precision::F64, 2));
    let examples = examples(&folder);
    for fault in Fault::ALL {
        let (fast, exact) = (Faulty::new(fast.clone(), fault), Faulty::new(exact.clone(), fault));
        let checks = check(&ConformanceSubject { fast: &fast, exact: &exact, examples: &examples }).unwrap();
        assert!(checks.iter().any(|check| !check.passed), "{fault:?} went unseen");
    }
}

fn rows(model: &dyn Model, examples: &[Example]) -> Vec<Row> {
    examples.iter().map(|example| Row::new(model.open().unwrap().encode(example).unwrap())).collect()
}

fn gradients(model: &dyn Model, rows: &[Row]) -> Vec<Array> {
    slopes(&Driver::default(), model, rows, &Target::class(0), Site::named("embed.word"))
}

#[test]
fn threads_do_not_matter() {
    let size = BertSize { layers: 3, hidden: 96, heads: 4, inner: 200, vocabulary: 300 };
    let bert = |threads| random_bert(&size, &LoadOptions { precision: Precision::F32, threads }).unwrap();
    let ids = |seed: usize, length: usize| {
        (0..length).map(|i| ((i * 37 + seed * 101) % 300) as u32).collect::<Vec<_>>()
    };
    let rows: Vec<Row> = (0..40).map(|i| Row::new(Encoded::from_ids(&ids(i, 3 + (i * 13) % 60)))).collect();
    let (one, two) = (bert(1), bert(2));
    let (a, b) = (gradients(&*one, &rows), gradients(&*two, &rows));
    assert_eq!((a.len(), b.len()), (rows.len(), rows.len()));
    for (i, (a, b)) in a.iter().zip(&b).enumerate() {
        close(&format!("gradient of row {i}"), b, a, Of::Largest(1.0), 1e-5);
    }
    assert_eq!(b, gradients(&*two, &rows), "the same bits again");
    let (a, b) = (outputs(&Driver::default(), &*one, &rows), outputs(&Driver::default(), &*two, &rows));
    assert_eq!((a.len(), b.len()), (rows.len(), rows.len()));
    for (i, (a, b)) in a.iter().zip(&b).enumerate() {
        close(&format!("logits of row {i}"), b, a, Of::Size(1.0), 1e-5);
    }
}

/// What the driver budgets with must not be less than what the engine takes, nor absurdly more.
#[test]
fn the_estimate_of_memory_holds() {
    let size = BertSize { layers: 4, hidden: 192, heads: 6, inner: 768, vocabulary: 300 };
    let model = random_bert(&size, &LoadOptions { precision: Precision::F32, threads: 1 }).unwrap();
    let open = model.open().unwrap();
    let every: Vec<Site> = open.sites().iter().map(|info| info.site).collect();
    let plans = [
        Plan::default(),
        Plan::keep([Site::named("layer.1.out")]),
        Plan::gradient([Site::named("embed.word")]),
        Plan::gradient([Site::named("layer.2.out")]),
        Plan::gradient([Site::named("layer.2.attn.probs")]),
        Plan::gradient(every),
    ];
    let lowered = Plan { record: Record::Lowered, ..Plan::gradient([Site::named("embed.word")]) };
    let paired = Plan { record: Record::Paired, ..lowered.clone() };
    let others = [
        (lowered.clone(), Rules::Gradient),
        (lowered.clone(), Rules::GuidedBackprop),
        (lowered.clone(), Rules::Lrp(LrpRule::Epsilon(1e-3))),
        (lowered, Rules::Lrp(LrpRule::ZPlus)),
        (paired.clone(), Rules::DeepLift { reveal_cancel: false }),
        (paired, Rules::DeepLift { reveal_cancel: true }),
    ];
    for (plan, rules) in plans.map(|plan| (plan, Rules::Gradient)).into_iter().chain(others) {
        for (count, length) in [(plan.group(), 7), (plan.group(), 500), (16, 40), (6, 128)] {
            let ids: Vec<u32> = (0..length).map(|i| i % 300).collect();
            let rows: Vec<Row> = (0..count).map(|_| Row::new(Encoded::from_ids(&ids))).collect();
            let estimate: usize = rows.iter().map(|row| open.bytes(row, &plan)).sum();
            let pass = open.forward(&rows, &plan).unwrap();
            if plan.record != Record::Nothing {
                let cotangent = Array::new([2], vec![1.0, 0.0]).unwrap();
                let seeds: Vec<Seed> = (0..count)
                    .step_by(plan.group())
                    .map(|row| Seed { row, site: Site::named("logits"), cotangent: cotangent.clone() })
                    .collect();
                pass.backward(&seeds, &plan.keep[..1], rules).unwrap();
            }
            let peak = pass.work().peak_bytes;
            assert!(peak <= estimate, "{count} × {length} {rules:?}: {peak} of {estimate}");
            println!("{count} × {length} {rules:?} {:?}: {peak} of {estimate}", plan.keep.first());
            // Late sites leave little behind, and the last layer works on one token a row.
            let late = plan.keep.first().is_some_and(|site| site.name().starts_with("layer"));
            assert!(
                late || length < 40 || peak * 3 > estimate,
                "{count} × {length} {:?}: only {peak} of {estimate}",
                plan.record
            );
        }
    }
}

#[test]
fn the_driver_stays_within_its_budget() {
    let size = BertSize { layers: 4, hidden: 192, heads: 6, inner: 768, vocabulary: 300 };
    let model = random_bert(&size, &LoadOptions { precision: Precision::F32, threads: 2 }).unwrap();
    let ids: Vec<u32> = (0..60).collect();
    let rows: Vec<Row> = (0..32).map(|_| Row::new(Encoded::from_ids(&ids))).collect();
    for megabytes in [8, 16, 64] {
        let driver = Driver::new(megabytes << 20);
        let target = Target::class(1);
        slopes(&driver, &*model, &rows, &target, Site::named("embed.word"));
        let spent = driver.spent();
        assert!(spent.peak_bytes <= megabytes << 20, "{} bytes of {megabytes} MiB", spent.peak_bytes);
        assert_eq!((spent.forward_rows, spent.backward_rows), (32, 32));
    }
    let error = Driver::new(1 << 10).read_all(&*model, &rows, &Outputs).unwrap_err();
    assert!(error.to_string().contains("--memory"), "{error}");
}

/// Ablating neurons of a late layer costs the late layers only, and gives what whole runs give.
#[test]
fn late_edits_are_resumed() {
    let size = BertSize { layers: 6, hidden: 96, heads: 4, inner: 200, vocabulary: 300 };
    let model = random_bert(&size, &LoadOptions { precision: Precision::F32, threads: 1 }).unwrap();
    let open = model.open().unwrap();
    let encoded = Arc::new(Encoded::from_ids(&(0..20).collect::<Vec<u32>>()));
    let ablate = |unit: usize| {
        let at = vec![Pick::All, Pick::Only(vec![unit])];
        let edit = Edit { site: Site::named("layer.3.ffn.inner"), at, change: Change::Zero };
        Row::new(encoded.clone()).edit(edit)
    };
    let rows: Vec<Row> = (0..64).map(ablate).collect();
    let driver = Driver::default();
    let resumed = outputs(&driver, &*model, &rows);
    let whole = open.forward(&rows, &Plan::default()).unwrap();
    assert_eq!((resumed.len(), whole.logits().len()), (rows.len(), rows.len()));
    for (i, (a, b)) in resumed.iter().zip(whole.logits()).enumerate() {
        close(&format!("logits of row {i}"), a, b, Of::Size(1.0), 1e-5);
    }
    // Three of six layers are left, and the last of them works on one token a row.
    assert!(
        driver.spent().flops * 2 < whole.work().flops,
        "{} of {}",
        driver.spent().flops,
        whole.work().flops
    );
}

#[test]
fn bad_rows_are_errors() {
    let model = open(&root().join("bert-sequence"), Precision::F32, 1);
    let open = model.open().unwrap();
    let good = rows(&*model, &[Example::text("a good film")]).remove(0);
    let length = good.encoded.len();
    let error = |row: Row, plan: &Plan| open.forward(&[row], plan).map(|_| ()).unwrap_err().to_string();
    let plain = Plan::default();
    let edit = |at: Vec<Pick>, change: Change| {
        good.clone().edit(Edit { site: Site::named("embed.word"), at, change })
    };
    let started = good.clone().starting_with(Array::zeros([length, model.card().sizes.0[1].1]));
    let cases: Vec<(String, &str)> = vec![
        (error(Row::new(Encoded::from_ids(&[])), &plain), "no tokens"),
        (error(Row::new(Encoded::from_ids(&[99_999])), &plain), "vocabulary"),
        (error(Row::new(Encoded::from_ids(&[1; 49])), &plain), "at most 48"),
        (error(good.clone(), &Plan::keep([Site::named("layer.7.out")])), "no site layer.7.out"),
        (error(good.clone(), &Plan::default().starting_at(Site::named("pooled"))), "cannot start"),
        (error(good.clone(), &Plan::default().starting_at(Site::named("embed"))), "must bring"),
        (
            error(started, &Plan::keep([Site::named("embed.word")]).starting_at(Site::named("embed"))),
            "before the start",
        ),
        (error(edit(vec![Pick::Only(vec![length])], Change::Zero), &plain), "index"),
        (error(edit(vec![Pick::All; 3], Change::Zero), &plain), "axes"),
        (error(edit(vec![], Change::Set(Array::zeros([3]))), &plain), "shape"),
        (error(edit(vec![], Change::Add(Array::full([1], f32::NAN))), &plain), "not finite"),
    ];
    for (found, expected) in cases {
        assert!(found.contains(expected) && !found.contains('\n'), "{found:?} does not say {expected:?}");
    }
    assert!(open.forward(&[], &plain).unwrap().logits().is_empty(), "no rows, no outputs");
    let pass = open.forward(&[good], &Plan::keep([Site::named("embed")])).unwrap();
    assert!(pass.backward(&[], &[Site::named("embed")], Rules::Gradient).is_err(), "nothing was recorded");
}

#[test]
fn cards_tell_what_a_model_is() {
    let card = |name: &str| -> Card { open(&root().join(name), Precision::F32, 1).card().clone() };
    assert_eq!(card("bert-multilabel").task.name(), "multi_label");
    assert_eq!(card("bert-regression").task.name(), "regression");
    assert_eq!(card("roberta-qa").task.name(), "question_answering");
    assert!(card("distilbert-bare").warnings[0].contains("no pooler"));
    assert!(card("bert-sequence-legacy").warnings.is_empty(), "index buffers are no weights");
    let wrong = open(&root().join("bert-sequence"), Precision::F32, 1);
    let missing = wrong.open().unwrap().with_params(vec![("nowhere".into(), Array::zeros([1]))]).map(|_| ());
    assert_eq!(missing.unwrap_err(), Error::Request("the model has no parameter 'nowhere'".into()));
}
