//! What attacks reach on the default model, for those who have the data: a folder with SST-2's `train.tsv` and `dev.tsv`.
//!
//! ```text
//! SST2=FOLDER cargo test --release -p exegete-methods --test attacks -- --ignored --nocapture
//! ```
//!
//! `SET="beam=1 random=10"` sets parameters, `ROWS=400` takes more texts.

use exegete_core::report::{Cell, Item};
use exegete_core::{Driver, Error, Example, Model, Result, Target, Units};
use exegete_methods::evidence::Level;
use exegete_methods::{ConfiguredMethod, Corpus, Request, explain, survey};
use std::sync::Arc;
use std::time::Instant;

fn model() -> Arc<dyn Model> {
    exegete_models::load_default(&exegete_models::LoadOptions::default()).expect("the default model opens")
}

/// Every row of a file: the label, then the text.
fn rows(name: &str) -> Result<Vec<Example>> {
    let folder =
        std::env::var("SST2").map_err(|_| Error::Input("set SST2 to the folder of the data".into()))?;
    let text =
        std::fs::read_to_string(format!("{folder}/{name}")).map_err(|e| Error::Input(e.to_string()))?;
    let rows = text.lines().skip(1).filter_map(|line| line.split_once('\t'));
    Ok(rows.map(|(label, text)| Example { label: Some(label.into()), ..Example::text(text) }).collect())
}

fn request(method: &str) -> Request {
    let given = std::env::var("SET").unwrap_or_default();
    let words: Vec<&str> = given.split_whitespace().collect();
    Request {
        methods: ConfiguredMethod::all(&[method], &words).expect("SET holds settings of the method"),
        targets: vec![Target::predicted()],
        top_labels: None,
        site: exegete_methods::SiteChoice::Words,
        units: Units::Word,
        baselines: Vec::new(),
        masker: None,
        check: Level::None,
        seed: 0,
    }
}

#[test]
#[ignore = "needs data and minutes"]
fn hotflip_changes_four_of_five_decisions_within_three_words() {
    let (model, driver, request) = (model(), Driver::default(), request("hotflip"));
    let dev = rows("dev.tsv").unwrap();
    let count: usize = std::env::var("ROWS").map_or(200, |rows| rows.parse().unwrap());
    let (mut by_words, mut hits, mut trials, begun) = ([0usize; 4], 0, 0, Instant::now());
    let some: Vec<&Example> = dev.iter().step_by(dev.len() / count).take(count).collect();
    for (i, example) in some.iter().enumerate() {
        for item in explain(&*model, &driver, example, &request).unwrap() {
            let Item::Edits(edits) = item else { panic!("no edits") };
            let best = edits.found.first().filter(|edited| edited.reached);
            by_words[best.map_or(0, |edited| edited.swaps.len()).min(3)] += 1;
            let random = edits.random.unwrap();
            (hits, trials) = (hits + random.hits, trials + random.trials);
            if i % 20 == 0 {
                println!("{}\n   {}", example.fields[0].text, edits.verdict.sentence);
                edits.subject.notes.iter().for_each(|note| println!("   {note}"));
            }
        }
    }
    let spent = driver.spent();
    println!("not {}, by one word {}, two {}, three {}", by_words[0], by_words[1], by_words[2], by_words[3]);
    println!(
        "random {hits} of {trials}; {:.1} s, {} forward rows",
        begun.elapsed().as_secs_f64(),
        spent.forward_rows
    );
    assert!(by_words[0] * 5 <= count);
}

#[test]
#[ignore = "needs data and minutes"]
fn a_trigger_of_three_words_breaks_each_class() {
    let (model, driver, request) = (model(), Driver::default(), request("triggers"));
    let (train, dev) = (rows("train.tsv").unwrap(), rows("dev.tsv").unwrap());
    let begun = Instant::now();
    let corpus =
        Corpus { model: &*model, driver: &driver, examples: &train, held_out: Some(&dev), request: &request };
    let items = survey(&corpus).unwrap();
    for item in &items {
        match item {
            Item::Table(table) => {
                println!("\n{}\n{:?}", table.title, table.columns);
                table
                    .rows
                    .iter()
                    .for_each(|row| println!("{}", row.iter().map(shown).collect::<Vec<_>>().join(" | ")));
                table.notes.iter().for_each(|note| println!("{note}"));
            }
            Item::Edits(edits) => println!("\n{}\n{}", edits.found[0].input[0].text, edits.verdict.sentence),
            _ => {}
        }
    }
    let spent = driver.spent();
    println!("{:.1} s, {} forward rows", begun.elapsed().as_secs_f64(), spent.forward_rows);
    let Item::Table(table) = &items[0] else { panic!("no table") };
    assert!(table.rows.iter().any(|row| matches!(row[6], Cell::Number(after) if after < 0.35)));
}

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Number(number) => format!("{number:.3}"),
        Cell::Word(word) => word.clone(),
        other => format!("{other:?}"),
    }
}
