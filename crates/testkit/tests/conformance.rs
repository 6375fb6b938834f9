//! The conformance suite is green on the toy and red on every planted fault.

use exegete_core::conformance::{Check, ConformanceSubject, check};
use exegete_core::{Example, Model};
use exegete_testkit::{Fault, Faulty, Toy};
use std::collections::BTreeSet;
use std::sync::Arc;

fn run(fast: &dyn Model, exact: &dyn Model) -> Vec<Check> {
    let texts = ["good film but bad", "not good film", "bad film not good not bad"];
    let examples = texts.map(Example::text);
    check(&ConformanceSubject { fast, exact, examples: &examples }).expect("an open model")
}

fn red(checks: &[Check]) -> Vec<&'static str> {
    checks.iter().filter(|check| !check.passed).map(|check| check.name).collect()
}

#[test]
fn green_on_the_toy() {
    let toy = Toy::default();
    for check in run(&toy, &toy) {
        assert!(check.passed && check.worst <= check.limit, "{check:?}");
    }
}

#[test]
fn red_on_every_fault_and_no_check_without_one() {
    let toy: Arc<dyn Model> = Arc::new(Toy::default());
    let mut never: BTreeSet<&str> = run(&*toy, &*toy).iter().map(|check| check.name).collect();
    for fault in Fault::ALL {
        let faulty = Faulty::new(toy.clone(), fault);
        let failed = [red(&run(&faulty, &*toy)), red(&run(&faulty, &faulty))].concat();
        assert!(!failed.is_empty(), "{fault:?} was not seen");
        println!("{fault:?}: {failed:?}");
        never.retain(|name| !failed.contains(name));
    }
    assert!(never.is_empty(), "these never failed: {never:?}");
}

#[test]
fn each_fault_is_seen_by_the_check_made_for_it() {
    let toy: Arc<dyn Model> = Arc::new(Toy::default());
    let seen = |fault, name: &str| {
        let faulty = Faulty::new(toy.clone(), fault);
        let checks = run(&faulty, &faulty);
        assert!(red(&checks).contains(&name), "{fault:?} leaves '{name}' green: {:?}", red(&checks));
    };
    seen(Fault::SignFlip, "gradients match differences");
    seen(Fault::SignFlip, "tangents match gradients");
    seen(Fault::ZeroedGradient, "gradients match differences");
    seen(Fault::DroppedRow, "batch and order do not matter");
    seen(Fault::Leak, "batch and order do not matter");
    seen(Fault::IgnoredEdit, "edits take effect");
    seen(Fault::SpilledEdit, "edits stay in place");
    seen(Fault::StaleKeep, "edits stay in place");
    seen(Fault::StaleGradient, "gradients pass through edits");
    seen(Fault::StaleStart, "runs start at any cut");
    seen(Fault::LazyStart, "runs start at any cut");
    seen(Fault::NotFinite, "sites fire");
    seen(Fault::NanOutput, "batch and order do not matter");
    seen(Fault::NanGradient, "gradients match differences");
    seen(Fault::NanTangent, "tangents match gradients");
    seen(Fault::Accumulating, "backward can be repeated");
    seen(Fault::Unlike, "fused equals lowered");
    seen(Fault::LongTangent, "tangents match gradients");
    seen(Fault::Jitter, "same bits again");
}
