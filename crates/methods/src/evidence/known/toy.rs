//! A check that nothing else knows of: it is measured, judged, written and shown by being in the list.

use super::{Bench, Level};
use crate::Set;
use crate::evidence::CHECKS;
use crate::evidence::check::{Check, Judged, Look, Ruling};
use exegete_core::report::{
    Attribution, Checks, Item, Provenance, Report, SCHEMA, Subject, TokenText, UnitText,
};
use exegete_core::{Result, task};
use exegete_render::{Format, RenderOptions, read, render};
use std::collections::BTreeMap;

/// Hiding the top half should leave less of F than this.
const MOST_LEFT: f64 = 0.5;

const TOY: Check = Check { name: "top_half", level: Level::Default, sets, measure };

#[derive(serde::Serialize)]
struct Half {
    left: f64,
    says: String,
}

fn sets(look: &Look<'_, '_>) -> Vec<Set> {
    let order = &look.rankings.own;
    vec![order[..order.len() / 2].to_vec()]
}

fn measure(look: &mut Look<'_, '_>, checks: &mut Checks) -> Result<Ruling> {
    let left = look.masked.outcomes(&sets(look))?[0].value;
    checks.add(TOY.name, &Half { left, says: format!("F is {left:.2} without it") })?;
    let failure = (left > MOST_LEFT).then(|| format!("{left:.2} of F are left without the top half"));
    Ok(Judged::new(left, MOST_LEFT, failure).into())
}

/// The list as it is, and one line more.
fn checked(values: &[f64]) -> (Checks, usize) {
    let list = CHECKS.iter().copied().chain([TOY]).collect::<Vec<Check>>();
    let bench = bench();
    let mut evidence = bench.evidence();
    evidence.checks = list.leak();
    let checks = bench.check_with(&mut evidence, values, true);
    (checks, bench.driver.spent().forward_rows)
}

fn bench() -> Bench {
    Bench::new(&task::CLASSIFICATION, 1.0, "p5 n20 p10 p90 n2 p4 n1 p70 a p3", "predicted")
}

fn report(checks: Checks) -> Report {
    let bench = bench();
    let (job, values) = (bench.job(), bench.oracle());
    let subject = Subject {
        method: "oracle".into(),
        params: BTreeMap::new(),
        input: job.encoded().fields.clone(),
        prediction: exegete_core::Scores::Value { value: 1.0 },
        target: "predicted".into(),
        value: 1.0,
        sense: exegete_core::report::Sense::default(),
        notes: Vec::new(),
    };
    let tokens = TokenText::of(job.encoded());
    let (token_values, units) = (vec![0.0; tokens.len()], UnitText::of(job.encoded(), &job.units));
    let (site, errors) = ("embed.word".into(), Vec::new());
    let item = Attribution {
        subject,
        site,
        tokens,
        token_values,
        units,
        values,
        errors,
        baseline_value: None,
        checks,
    };
    let provenance = Provenance::new(job.card(), 0, 1, 0.0, Default::default());
    Report {
        schema: SCHEMA.into(),
        provenance,
        request: None,
        items: vec![Item::Attribution(Box::new(item))],
    }
}

#[test]
fn a_check_is_one_file_and_one_line() {
    let (right, rows) = checked(&bench().oracle());
    let without = bench();
    let before = without.check(&without.oracle(), true);
    assert!(rows <= without.driver.spent().forward_rows + 1, "its set is run once, with the others");
    let left = right.others["top_half"]["left"].as_f64().unwrap();
    assert!(left < MOST_LEFT && right.verdict.as_ref().unwrap().failures.is_empty());
    let mut other = Checks { hiding: before.hiding.clone(), ..right };
    other.others.remove("top_half");
    let found = other.verdict.as_mut().unwrap().findings.pop().unwrap();
    assert_eq!((found.check.as_str(), found.measured, found.passed), ("top_half", Some(left), Some(true)));
    assert_eq!(other, before);

    let upside_down: Vec<f64> = bench().oracle().iter().map(|v| -v).collect();
    let (wrong, _) = checked(&upside_down);
    let failures = wrong.verdict.as_ref().unwrap().failures.clone();
    assert!(failures.last().unwrap().ends_with("of F are left without the top half"), "{failures:?}");

    let report = report(wrong);
    let json = render(&report, Format::Json, &RenderOptions::default());
    assert_eq!(read(json.as_bytes()).unwrap(), report);
    for (format, name) in [(Format::Text, "  top half  "), (Format::Html, "<h3>top half</h3>")] {
        let shown = render(&report, format, &RenderOptions::default());
        assert!(
            shown.contains(name) && shown.contains("without it") && shown.contains(failures.last().unwrap())
        );
    }
}

/// A check whose file is there but not in the list would never be made.
#[test]
fn every_check_is_listed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/evidence");
    let mut files = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let Some(name) = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| path.is_file()) else {
            continue;
        };
        if std::fs::read_to_string(&path).unwrap().contains(": Check =") {
            files += 1;
            assert!(include_str!("../mod.rs").contains(&format!("\n    {name}::")), "{name} is in no list");
        }
    }
    assert!(files > 1, "{files}");
}
