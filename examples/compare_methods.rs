//! Explains one text by several methods, and puts their evidence side by side.
//!
//!     cargo run --release --example compare_methods
//!
//! `exegete eval` does the same for a file of texts, with standard errors.
#![allow(clippy::print_stdout, reason = "an example speaks to whoever runs it")]

use exegete::methods::{ConfiguredMethod, Request};
use exegete::report::{Attribution, Item};
use exegete::{Driver, Example, LoadOptions};

const TEXT: &str = "The acting is wonderful, but the plot is a terrible mess and I nearly fell asleep.";
const METHODS: [&str; 4] = ["integrated_gradients", "lrp", "attention_rollout", "leave_one_out"];

fn main() -> exegete::Result<()> {
    let model = exegete::load_default(&LoadOptions::default())?;
    let request = Request { methods: ConfiguredMethod::all(&METHODS, &[])?, ..Request::default() };
    // The driver remembers every row, so that no two methods run the same one.
    let report = exegete::explain_with(&*model, &Driver::default(), &Example::text(TEXT), &request)?;

    println!(
        "{:<22}{:<12}{:>18}{:>8}{:>8}  failures",
        "method", "top word", "comprehensiveness", "random", "τ"
    );
    for item in &report.items {
        if let Item::Attribution(attribution) = item {
            println!("{}", line(attribution));
        }
    }
    Ok(())
}

/// The word with the highest score, what hiding the top words takes from the probability beside hiding random ones, and
/// the rank correlation with leaving out one word at a time.
fn line(attribution: &Attribution) -> String {
    let Attribution { subject, units, values, checks, .. } = attribution;
    let best = (0..units.len()).max_by(|&a, &b| values[a].total_cmp(&values[b]));
    let top = best.map_or("", |best| &units[best].text);
    let (own, random) = checks.comprehensiveness.as_ref().map_or((f64::NAN, f64::NAN), |measured| {
        let random = measured.random.iter().map(|drop| drop.mean).sum::<f64>();
        (measured.own.mean, random / measured.random.len() as f64)
    });
    let tau = checks.leave_one_out.as_ref().and_then(|agreement| agreement.tau).unwrap_or(f64::NAN);
    let failures = checks.verdict.as_ref().map_or(0, |verdict| verdict.failures.len());
    format!("{:<22}{top:<12}{own:>18.3}{random:>8.3}{tau:>8.3}  {failures}", subject.method)
}
