//! How often explanations that know nothing get a clean card on these texts, and how often methods do.

use super::clean::{LENGTHS, ratio};
use super::controls::{Asked, Control, Outcome};
use super::{MethodComparison, RANDOM, Text};
use exegete_core::report::{Bounded, Cell, Table};

/// Draws of a control on each text.
const DRAWS: usize = 20;

/// What was found on one text of so many units.
struct Drawn {
    units: usize,
    outcomes: Vec<Outcome>,
}

/// A row for each explanation, each control and each length.
pub(super) fn table(contest: &MethodComparison<'_>, judged: &[&Text]) -> Table {
    let asked = Asked::of(judged, contest.seed);
    let mut rows = Vec::new();
    let controls = [
        (RANDOM.to_owned(), Control::Random),
        (format!("{RANDOM} unsigned"), Control::RandomUnsigned),
        ("other".to_owned(), Control::Other),
        ("constant".to_owned(), Control::Constant),
    ];
    let reversed = contest.names.iter().enumerate();
    let reversed = reversed.map(|(place, name)| (format!("reversed {name}"), Control::Reversed(place)));
    for (name, control) in controls.into_iter().chain(reversed) {
        let drawn = |at: usize| asked.outcomes(control, at, DRAWS);
        rows.extend(by_length(&name, true, &found(judged, drawn), contest.seed));
    }
    for (place, name) in contest.names.iter().enumerate() {
        let drawn = |at: usize| -> Vec<Outcome> {
            judged[at].measured.get(place).and_then(Outcome::of).into_iter().collect()
        };
        rows.extend(by_length(name, false, &found(judged, drawn), contest.seed));
    }
    let columns =
        ["method", "length", "error_rate", "power", "lower", "upper", "undecided", "texts", "draws"];
    Table {
        name: "calibration".to_owned(),
        title: "calibration".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
        notes: vec![
            "shares of clean cards with 95 % intervals by resampling texts, 3/texts as upper end where none is clean; \
             other: the scores of the texts that follow, cut or repeated to length"
                .to_owned(),
        ],
        ..Table::default()
    }
}

fn found(judged: &[&Text], drawn: impl Fn(usize) -> Vec<Outcome>) -> Vec<Drawn> {
    let one = |(at, text): (usize, &&Text)| {
        Some(Drawn { units: text.units()?, outcomes: drawn(at) }).filter(|found| !found.outcomes.is_empty())
    };
    judged.iter().enumerate().filter_map(one).collect()
}

fn by_length(name: &str, knows_nothing: bool, found: &[Drawn], seed: u64) -> Vec<Vec<Cell>> {
    let all = [("all", 0, usize::MAX)];
    let row = |&(length, least, most): &(&str, usize, usize)| {
        let some: Vec<&Drawn> = found.iter().filter(|drawn| (least..=most).contains(&drawn.units)).collect();
        (!some.is_empty()).then(|| cells(name, length, knows_nothing, &some, seed))
    };
    all.iter().chain(&LENGTHS).filter_map(row).collect()
}

fn cells(name: &str, length: &str, knows_nothing: bool, found: &[&Drawn], seed: u64) -> Vec<Cell> {
    let count =
        |outcomes: &[Outcome], holds: fn(&Outcome) -> bool| outcomes.iter().filter(|o| holds(o)).count();
    let sums = |holds: fn(&Outcome) -> bool| -> Vec<(f64, f64)> {
        found.iter().map(|d| (count(&d.outcomes, holds) as f64, d.outcomes.len() as f64)).collect()
    };
    let draws: usize = found.iter().map(|drawn| drawn.outcomes.len()).sum();
    let empty = Bounded { value: f64::NAN, low: 0.0, high: 1.0 };
    let Bounded { value, low, high } = ratio(&sums(|o| o.clean), seed).unwrap_or(empty);
    let high = if value == 0.0 { (3.0 / found.len() as f64).min(1.0) } else { high };
    let undecided = ratio(&sums(|o| o.undecided), seed).map_or(0.0, |found| found.value);
    let (error_rate, power) = match knows_nothing {
        true => (Cell::Number(value), Cell::Empty),
        false => (Cell::Empty, Cell::Number(value)),
    };
    vec![
        Cell::Word(name.to_owned()),
        Cell::Word(length.to_owned()),
        error_rate,
        power,
        Cell::Number(low),
        Cell::Number(high),
        Cell::Number(undecided),
        Cell::Number(found.len() as f64),
        Cell::Number(draws as f64),
    ]
}
