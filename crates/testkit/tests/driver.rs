//! The driver keeps to its budget, resumes where it can, and counts.

use exegete_core::{
    Advance, Array, Change, Driver, Edit, Example, Label, Model, Open, Outputs, Pass, Pick, Plan, Readout,
    Result, Row, Rules, Seed, Site, Spent, Supervised, Target,
};
use exegete_testkit::{Toy, explaining, outputs, passes, slopes};
use std::ops::Range;
use std::sync::{Arc, Mutex};

const OUT: Site = Site::named("layer.0.out");
const INNER: Site = Site::named("layer.0.ffn.inner");

fn row(toy: &Toy, text: &str) -> Row {
    Row::new(toy.encode(&Example::text(text)).expect("a text the toy can read"))
}

/// The sizes of the micro-batches.
fn batches(driver: &Driver, toy: &Toy, rows: &[Row], plan: &Plan) -> Vec<usize> {
    let mut sizes = Vec::new();
    let mut next = 0;
    let visit = |range: Range<usize>, pass: &dyn Pass| {
        assert_eq!((range.start, range.len()), (next, pass.logits().len()));
        next = range.end;
        sizes.push(range.len());
        Ok(())
    };
    passes(driver, toy, rows, plan, visit).expect("rows within the budget");
    assert_eq!(next, rows.len());
    sizes
}

#[test]
fn micro_batches_keep_to_tokens_and_bytes() {
    let toy = Toy::default();
    let rows = ["good", "bad film", "not good film", "film", "bad bad bad bad"].map(|text| row(&toy, text));
    let mut driver = Driver::default();
    assert_eq!(batches(&driver, &toy, &rows, &Plan::default()), [5]);
    driver.batch_tokens = 3;
    assert_eq!(batches(&driver, &toy, &rows, &Plan::default()), [2, 1, 1, 1]);
    assert!(batches(&driver, &toy, &[], &Plan::default()).is_empty());
    let four = toy.bytes(&rows[4], &Plan::default());
    let driver = Driver::new(four);
    assert_eq!(batches(&driver, &toy, &rows, &Plan::default()), [2, 1, 1, 1]);
    let refused = Driver::new(four - 1).read_all(&toy, &rows, &Outputs).unwrap_err().to_string();
    for part in [format!("{four} bytes"), format!("{} are allowed", four - 1), "--memory".into()] {
        assert!(refused.contains(&part), "{refused}");
    }
}

#[test]
fn late_edits_cost_the_late_stages_only() {
    let toy = Toy::default();
    let text = row(&toy, "not good film");
    let edit = |site: Site, unit: usize| Edit {
        site,
        at: vec![Pick::All, Pick::Only(vec![unit])],
        change: Change::Zero,
    };
    let spent = |site: Site, plan: &Plan| {
        let rows: Vec<Row> = (0..2).map(|unit| text.clone().edit(edit(site, unit))).collect();
        let driver = Driver::default();
        let mut logits = Vec::new();
        let visit = |_: Range<usize>, pass: &dyn Pass| {
            logits.extend_from_slice(pass.logits());
            Ok(())
        };
        passes(&driver, &toy, &rows, plan, visit).unwrap();
        assert_eq!(logits, toy.forward(&rows, &Plan::default()).unwrap().logits(), "{site}");
        (driver.spent().forward_rows, driver.spent().ops)
    };
    // Six stages a whole run. From layer.0.out two remain, from embed four.
    assert_eq!(spent(OUT, &Plan::default()), (3, 6 + 2 * 2));
    assert_eq!(spent(INNER, &Plan::default()), (3, 6 + 2 * 4));
    assert_eq!(spent(Site::named("embed.word"), &Plan::default()), (2, 2 * 6));
    // A kept site holds the start back.
    assert_eq!(spent(OUT, &Plan::keep([Site::named("embed")])), (3, 6 + 2 * 4));
    assert_eq!(spent(OUT, &Plan::keep([Site::named("embed.word")])), (2, 2 * 6));
}

#[test]
fn rows_of_different_texts_do_not_resume_but_mixed_ones_do() {
    let toy = Toy::default();
    let edited = |row: &Row| row.clone().edit(Edit::whole(OUT, Change::Scale(0.5)));
    let (one, other) = (row(&toy, "good film"), row(&toy, "bad"));
    let run = |rows: &[Row]| {
        let driver = Driver::default();
        assert_eq!(outputs(&driver, &toy, rows), toy.forward(rows, &Plan::default()).unwrap().logits());
        driver.spent().forward_rows
    };
    assert_eq!(run(&[edited(&one), edited(&other)]), 2);
    assert_eq!(run(&[edited(&one), edited(&other), one.clone(), edited(&other)]), 4 + 2);
    assert_eq!(run(std::slice::from_ref(&one)), 1);
    // The same words in another allocation are another text: identity is by pointer.
    let again = Row::new(Arc::new((*one.encoded).clone()));
    assert_eq!(run(&[edited(&one), edited(&again)]), 2);
}

#[test]
fn resumed_gradients_are_the_same() {
    let toy = Toy::default();
    let text = row(&toy, "not good film");
    let shift = |by: f32| Edit::whole(OUT, Change::Add(Array::full([1], by)));
    let rows: Vec<Row> = [0.25, -0.5, 2.0].into_iter().map(|by| text.clone().edit(shift(by))).collect();
    let target = Target { scale: Some(exegete_core::Scale::Prob), ..Target::class(1) };
    let driver = Driver::default();
    let found = slopes(&driver, &toy, &rows, &target, OUT);
    assert_eq!((driver.spent().forward_rows, driver.spent().backward_rows), (4, 3));
    let whole = toy.forward(&rows, &Plan::gradient([OUT])).unwrap();
    let seeds: Vec<Seed> = (0..3).flat_map(|i| target.seeds(toy.card(), &*whole, i).unwrap()).collect();
    assert_eq!([found], whole.backward(&seeds, &[OUT], Rules::Gradient).unwrap()[..]);
}

#[test]
fn errors_of_the_visitor_and_of_the_model_come_through() {
    let toy = Toy::default();
    let driver = Driver::default();
    let rows = [row(&toy, "good")];
    let nowhere = Site::named("layer.7.out");
    let error =
        driver.read_all(&toy, &rows, &explaining(&toy, &Target::class(0), &[nowhere], &[])).unwrap_err();
    assert!(error.to_string().contains("layer.7.out"), "{error}");
    let refuse = |_: Range<usize>, _: &dyn Pass| Err(exegete_core::Error::Request("enough".into()));
    let refused = passes(&driver, &toy, &rows, &Plan::default(), refuse).unwrap_err();
    assert_eq!(refused.to_string(), "enough");
}

/// What was read before the stop is remembered, so that going on runs only the rest.
#[test]
fn work_stops_when_told_to_and_goes_on_where_it_was() {
    let toy = Toy::default();
    let rows: Vec<Row> = ["good", "bad film", "not good"].iter().map(|text| row(&toy, text)).collect();
    let mut driver = Driver::default();
    driver.batch_tokens = 1;
    let whole = outputs(&Driver::default(), &toy, &rows);
    let one = driver.read_all(&toy, &rows[..1], &Outputs).unwrap();
    driver.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(driver.read_all(&toy, &rows, &Outputs), Err(exegete_core::Error::Stopped));
    assert_eq!(driver.spent().forward_rows, 1);
    driver.stop.store(false, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(driver.read_all(&toy, &rows, &Outputs).unwrap(), whole);
    assert_eq!((one[0].clone(), driver.spent().forward_rows), (whole[0].clone(), 3));
}

/// How the first layer's output moves while the words move along a direction.
struct Moving(Array);

impl Readout for Moving {
    type Value = Array;

    fn plan(&self) -> Plan {
        Plan::keep([OUT])
    }

    fn along(&self) -> Option<(Site, &Array)> {
        Some((Site::named("embed.word"), &self.0))
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Array>> {
        (0..rows.len()).map(|row| pass.value(OUT, row)).collect()
    }
}

const LABELS: [Label; 3] = [Label::Class(0), Label::Class(1), Label::Class(1)];

fn given<'a>(rows: &'a [Row], select: &'a [String]) -> Supervised<'a> {
    Supervised { rows, labels: &LABELS, select }
}

/// Whoever waits is told after every batch, whatever the rows are run for, and what was spent is part of it.
#[test]
fn every_batch_is_told_with_what_it_cost() {
    type Work = fn(&Driver, &Toy, &[Row]);
    let told = |work: Work| {
        let toy = Toy::default();
        let rows: Vec<Row> =
            ["good film", "bad film", "not good"].iter().map(|text| row(&toy, text)).collect();
        let all = Arc::new(Mutex::new(Vec::new()));
        let heard = all.clone();
        let mut driver = Driver::default().watched(move |now: Advance| heard.lock().unwrap().push(now.spent));
        driver.batch_tokens = 2;
        work(&driver, &toy, &rows);
        let all: Vec<Spent> = all.lock().unwrap().clone();
        assert_eq!(all.last(), Some(&driver.spent()), "the last that was told is not the end");
        all
    };
    let rows = |all: &[Spent]| all.iter().map(|spent| spent.forward_rows).collect::<Vec<_>>();
    let moved = told(|driver, toy, rows| {
        let words = toy.forward(&rows[..1], &Plan::keep([Site::named("embed.word")])).unwrap();
        let direction = words.value(Site::named("embed.word"), 0).unwrap();
        assert_eq!(driver.read_all(toy, rows, &Moving(direction)).unwrap().len(), rows.len());
    });
    assert_eq!(rows(&moved), [1, 2, 3]);
    // Six stages, each with its value and how it moves.
    assert_eq!(moved.iter().map(|spent| spent.ops).collect::<Vec<_>>(), [12, 24, 36]);
    assert!(moved[0].peak_bytes > 0);
    let lessons: [Work; 4] = [
        |driver, toy, rows| drop(driver.gradient(toy, &given(rows, &[])).unwrap()),
        |driver, toy, rows| driver.row_gradients(toy, &given(rows, &[]), &mut |_, _| Ok(())).unwrap(),
        |driver, toy, rows| drop(driver.directional(toy, &given(rows, &[]), &[]).unwrap()),
        |driver, toy, rows| drop(driver.hvp(toy, &given(rows, &[]), &[]).unwrap()),
    ];
    for lesson in lessons {
        assert_eq!(rows(&told(lesson)), [1, 2, 3]);
    }
}
