//! How many cards are clean, beside explanations that know nothing: random, reversed, constant ones and another text's.

use super::controls::{Asked, Control, Outcome};
use super::{Measured, MethodComparison, RANDOM, Text};
use crate::Stream;
use crate::attacks::share::share;
use exegete_core::report::number::percent;
use exegete_core::report::{Bounded, Cell, Table};
use rand::RngExt;

/// Lengths of texts in units that are told apart, with what they are called.
pub(super) const LENGTHS: [(&str, usize, usize); 5] =
    [("5–7", 5, 7), ("8–14", 8, 14), ("15–24", 15, 24), ("25–40", 25, 40), (">40", 41, usize::MAX)];

/// How often texts are drawn again for an interval.
const RESAMPLED: usize = 1000;

/// What came of one explanation, or one control, on one text of so many units.
#[derive(Debug, Clone, Copy)]
struct Seen {
    units: usize,
    outcome: Outcome,
}

impl Outcome {
    /// What the card of an explanation says; none where nothing was tested.
    pub(super) fn of(measured: &Measured) -> Option<Self> {
        let read = |name: &str| measured.metrics.get(name).copied();
        let (clean, undecided) = (read("clean")? > 0.5, read("undecided")? > 0.5);
        Some(Self { clean, undecided, z: read("z") })
    }
}

/// One row an explanation and a control.
pub(super) fn table(contest: &MethodComparison<'_>, judged: &[&Text]) -> Option<Table> {
    let asked = Asked::of(judged, contest.seed);
    let rows = rows(contest, judged, &asked);
    let (_, random) = rows.iter().find(|(name, _)| name == RANDOM).filter(|(_, seen)| !seen.is_empty())?;
    let most = clean(random).high;
    let mut notes: Vec<String> = rows[..contest.names.len()]
        .iter()
        .filter(|(_, seen)| !seen.is_empty())
        .map(|(name, seen)| conclusion(name, seen, most, contest.seed))
        .collect();
    notes.push(
        "clean: no finding failed and few random rankings do as well; undecided texts count as not clean; low, high: \
         95 % (Wilson; of z by resampling texts); by length in units"
            .to_owned(),
    );
    let heads = ["method", "texts", "clean", "low", "high", "undecided", "z", "z low", "z high"];
    let heads = heads.into_iter().chain(LENGTHS.iter().map(|(name, ..)| *name));
    Some(Table {
        name: "clean".to_owned(),
        title: "Clean cards".to_owned(),
        columns: heads.map(str::to_owned).collect(),
        rows: rows.iter().map(|(name, seen)| cells(name, seen, contest.seed)).collect(),
        notes,
        ..Table::default()
    })
}

fn rows(contest: &MethodComparison<'_>, judged: &[&Text], asked: &Asked<'_>) -> Vec<(String, Vec<Seen>)> {
    let seen = |text: &Text, outcome: Option<Outcome>| {
        let units = text.effects.as_ref()?.values.len();
        Some(Seen { units, outcome: outcome? })
    };
    let method = |place: usize| -> Vec<Seen> {
        judged.iter().filter_map(|text| seen(text, Outcome::of(text.measured.get(place)?))).collect()
    };
    let control = |control: Control| -> Vec<Seen> {
        let one = |(at, text): (usize, &&Text)| seen(text, asked.outcomes(control, at, 1).pop());
        judged.iter().enumerate().filter_map(one).collect()
    };
    let random = || judged.iter().filter_map(|text| seen(text, Outcome::of(text.random.as_ref()?))).collect();
    let own = contest.names.iter().enumerate().map(|(place, name)| (name.clone(), method(place)));
    let reversed = contest.names.iter().enumerate();
    let reversed =
        reversed.map(|(place, name)| (format!("reversed {name}"), control(Control::Reversed(place))));
    let fixed = [("constant", Control::Constant), ("other", Control::Other)];
    let fixed = fixed.into_iter().map(|(name, kind)| (name.to_owned(), control(kind)));
    own.chain([(RANDOM.to_owned(), random())]).chain(reversed).chain(fixed).collect()
}

fn clean(seen: &[Seen]) -> Bounded {
    share(seen.iter().filter(|seen| seen.outcome.clean).count(), seen.len())
}

fn cells(name: &str, seen: &[Seen], seed: u64) -> Vec<Cell> {
    let number = |value: f64| if value.is_finite() { Cell::Number(value) } else { Cell::Empty };
    let Bounded { value, low, high } = clean(seen);
    let undecided = seen.iter().filter(|seen| seen.outcome.undecided).count() as f64 / seen.len() as f64;
    let mut cells = vec![Cell::Word(name.to_owned()), Cell::Number(seen.len() as f64)];
    cells.extend([number(value), Cell::Number(low), Cell::Number(high), number(undecided)]);
    let z: Vec<f64> = seen.iter().filter_map(|seen| seen.outcome.z).collect();
    match mean_z(&z, seed) {
        Some(Bounded { value, low, high }) => cells.extend([value, low, high].map(Cell::Number)),
        None => cells.extend([Cell::Empty, Cell::Empty, Cell::Empty]),
    }
    cells.extend(LENGTHS.iter().map(|&(_, least, most)| {
        let some: Vec<Seen> =
            seen.iter().filter(|seen| (least..=most).contains(&seen.units)).copied().collect();
        number(clean(&some).value)
    }));
    cells
}

fn mean_z(z: &[f64], seed: u64) -> Option<Bounded> {
    let of_texts: Vec<(f64, f64)> = z.iter().map(|&z| (z, 1.0)).collect();
    ratio(&of_texts, seed)
}

/// Σ hits / Σ trials, with the 95 % interval by resampling texts; none of nothing.
pub(super) fn ratio(texts: &[(f64, f64)], seed: u64) -> Option<Bounded> {
    let of = |sums: (f64, f64)| sums.0 / sums.1;
    let add = |sums: (f64, f64), text: &(f64, f64)| (sums.0 + text.0, sums.1 + text.1);
    let value = of(texts.iter().fold((0.0, 0.0), add));
    let mut random = Stream::Resampled.random(seed, 0);
    let mut again: Vec<f64> = (0..RESAMPLED)
        .map(|_| {
            let drawn = (0..texts.len()).map(|_| &texts[random.random_range(0..texts.len())]);
            of(drawn.fold((0.0, 0.0), add))
        })
        .collect();
    again.sort_by(f64::total_cmp);
    let at = |share: f64| again[(share * (RESAMPLED - 1) as f64).round() as usize];
    value.is_finite().then(|| Bounded { value, low: at(0.025), high: at(0.975) })
}

/// What the texts together say of a method, in two sentences.
fn conclusion(name: &str, seen: &[Seen], random: f64, seed: u64) -> String {
    let Bounded { value, low, high } = clean(seen);
    let undecided = seen.iter().filter(|seen| seen.outcome.undecided).count() as f64 / seen.len() as f64;
    let first = format!(
        "{name}: {} of {} cards are clean (95 % interval {} to {}), {} undecided; of random rankings at most {}.",
        percent(value, 0),
        seen.len(),
        percent(low, 0),
        percent(high, 0),
        percent(undecided, 0),
        percent(random, 0)
    );
    let z: Vec<f64> = seen.iter().filter_map(|seen| seen.outcome.z).collect();
    let second = match mean_z(&z, seed) {
        Some(Bounded { value, low, high }) => {
            let so = match (low > 0.0, high < 0.0) {
                (true, _) => "its rankings find what moves the model better than chance",
                (_, true) => "its rankings are upside down",
                _ => "nothing shows that its rankings are better than chance",
            };
            format!("Over all texts {so}: mean z {value:.2} ({low:.2} to {high:.2}).")
        }
        None => "No text can show more.".to_owned(),
    };
    format!("{first} {second}")
}
