//! `exegete methods`: the list of methods, or all that is said about one.

use crate::output::Output;
use crate::{cli, table};
use anyhow::Result;
use exegete::methods::{Axiom, Info};
use exegete::render::columns;
use exegete::request::methods;
use serde_json::{Value, json};
use std::io::Write;

/// Lists the methods, or prints the page of one.
pub(crate) fn run(args: &cli::Methods) -> Result<()> {
    let found = methods::run(&args.request)?;
    let one = found.first().filter(|_| args.request.name.is_some());
    let mut output = Output::open(None)?;
    match (one, args.format) {
        (Some(info), cli::TableFormat::Text) => output.write_all(info.page().as_bytes())?,
        (Some(info), cli::TableFormat::Json) => writeln!(output, "{:#}", document(info))?,
        (None, cli::TableFormat::Text) => {
            let rows = found
                .iter()
                .map(|info| vec![info.name.to_owned(), info.summary.to_owned(), promises(info).join(", ")]);
            let names = ["method", "what it says", "promises"];
            table::print(&columns(&names, &rows.collect::<Vec<_>>(), &[]))?;
        }
        (None, cli::TableFormat::Json) => {
            let all: Vec<Value> = found.iter().map(|info| document(info)).collect();
            writeln!(output, "{:#}", json!({ "schema": "exegete.methods/1", "methods": all }))?;
        }
    }
    output.complete()
}

/// A method as data.
fn document(info: &Info) -> Value {
    json!({
        "name": info.name,
        "summary": info.summary,
        "promises": promises(info),
        "parameters": info.schema(),
    })
}

fn promises(info: &Info) -> Vec<&'static str> {
    info.axioms.iter().map(|axiom| promise(*axiom)).collect()
}

fn promise(axiom: Axiom) -> &'static str {
    match axiom {
        Axiom::Completeness => "completeness",
        Axiom::Sensitivity => "sensitivity",
        Axiom::Dummy => "dummy",
        Axiom::Symmetry => "symmetry",
        Axiom::Linearity => "linearity",
        Axiom::ImplementationInvariance => "implementation invariance",
    }
}
