//! How many cards are clean, beside explanations that know nothing: random, reversed, constant ones and another text's.

use super::controls::{Asked, Control, Outcome};
use super::{Measured, MethodComparison, RANDOM, Text};
use crate::Stream;
use crate::attacks::share::share;
use exegete_core::report::number::percent;
use exegete_core::report::{Bounded, Cell, Finding, Judgement, Picture, Shape, Table};
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

/// One row an explanation and a control, and what all of it comes to.
pub(super) fn table(contest: &MethodComparison<'_>, judged: &[&Text]) -> Option<(Table, Judgement)> {
    let asked = Asked::of(judged, contest.seed);
    let rows = rows(contest, judged, &asked);
    let (_, random) = rows.iter().find(|(name, _)| name == RANDOM).filter(|(_, seen)| !seen.is_empty())?;
    let (of_random, own) = (clean(random), &rows[..contest.names.len()]);
    let mut notes: Vec<String> = own
        .iter()
        .filter(|(_, seen)| !seen.is_empty())
        .map(|(name, seen)| conclusion(name, seen, of_random.high, contest.seed))
        .collect();
    notes.push(
        "clean: no finding failed and few random rankings do as well; undecided texts count as not clean; lower, upper: \
         95 % (Wilson; of z by resampling texts); by length in units"
            .to_owned(),
    );
    let heads = ["method", "texts", "clean", "lower", "upper", "undecided", "z", "z low", "z high"];
    let heads = heads.into_iter().chain(LENGTHS.iter().map(|(name, ..)| *name));
    let table = Table {
        name: "clean".to_owned(),
        title: "Clean cards".to_owned(),
        columns: heads.map(str::to_owned).collect(),
        rows: rows.iter().map(|(name, seen)| cells(name, seen, contest.seed)).collect(),
        notes,
        pictures: vec![shares()],
    };
    Some((table, comes_to(own, of_random, contest.seed)))
}

fn shares() -> Picture {
    Picture {
        title: "Clean cards, beside explanations that know nothing".to_owned(),
        shape: Shape::Bars,
        x: "method".to_owned(),
        y: Some("clean".to_owned()),
        y_title: Some("share of texts with a clean card, 95 %".to_owned()),
        ..Picture::default()
    }
}

/// What the rankings of an explanation come to over all texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overall {
    Better,
    NotShown,
    UpsideDown,
}

impl Overall {
    /// By the mean z and its interval; a text that can show nothing has none.
    fn of(z: Option<Bounded>) -> Self {
        match z {
            Some(z) if z.low > 0.0 => Self::Better,
            Some(z) if z.high < 0.0 => Self::UpsideDown,
            _ => Self::NotShown,
        }
    }
}

/// The whole comparison in two sentences: cards one by one, and all texts together.
fn comes_to(own: &[(String, Vec<Seen>)], random: Bounded, seed: u64) -> Judgement {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let own: Vec<&(String, Vec<Seen>)> = own.iter().filter(|(_, seen)| !seen.is_empty()).collect();
    let shares: Vec<(&str, Bounded)> = own.iter().map(|(name, seen)| (name.as_str(), clean(seen))).collect();
    let told = |more: bool| {
        let some = shares.iter().filter(|(_, share)| (share.low > random.high) == more);
        let one = |(name, share): &(&str, Bounded)| {
            format!("{name} {} ({:.0} to {:.0})", percent(share.value), 100.0 * share.low, 100.0 * share.high)
        };
        some.map(one).collect::<Vec<_>>().join(", ")
    };
    let beside = format!("random rankings ({}, at most {})", percent(random.value), percent(random.high));
    let cards = match [told(true), told(false)] {
        [more, fewer] if more.is_empty() => format!("No more clean cards than {beside}: {fewer}."),
        [more, fewer] if fewer.is_empty() => format!("More clean cards than {beside}: {more}."),
        [more, fewer] => format!("More clean cards than {beside}: {more}; not more: {fewer}."),
    };
    let z = |seen: &[Seen]| seen.iter().filter_map(|seen| seen.outcome.z).collect::<Vec<f64>>();
    let overall = own.iter().map(|(name, seen)| (name.as_str(), Overall::of(mean_z(&z(seen), seed))));
    let overall: Vec<(&str, Overall)> = overall.collect();
    let finding = |(name, share): &(&str, Bounded)| Finding {
        check: format!("clean cards of {name}"),
        measured: Some(share.low),
        threshold: Some(random.high),
        passed: Some(share.low > random.high),
    };
    let better = overall.iter().filter(|(_, found)| *found == Overall::Better).count();
    let verdict = match better {
        0 => "not_better_than_chance",
        some if some == overall.len() => "better_than_chance",
        _ => "some_better_than_chance",
    };
    let measured = "measured: the lower end of the share of clean cards; threshold: the upper end of that of random rankings";
    Judgement {
        name: "conclusion".to_owned(),
        verdict: verdict.to_owned(),
        sentences: vec![cards, over_all_texts(&overall)],
        findings: shares.iter().map(finding).collect(),
        notes: vec![measured.to_owned()],
        ..Judgement::default()
    }
}

/// What all texts together say of each explanation, which single short texts cannot.
fn over_all_texts(overall: &[(&str, Overall)]) -> String {
    let of = |kind: Overall| {
        let some = overall.iter().filter(|(_, found)| *found == kind).map(|(name, _)| *name);
        Some(some.collect::<Vec<_>>().join(", ")).filter(|names| !names.is_empty())
    };
    let parts = [
        of(Overall::Better)
            .map(|names| format!("better than chance at finding what moves the model: {names}")),
        of(Overall::NotShown).map(|names| format!("not shown to be better: {names}")),
        of(Overall::UpsideDown).map(|names| format!("upside down: {names}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("By mean z over all texts, {}.", parts.join("; "))
}

fn rows(contest: &MethodComparison<'_>, judged: &[&Text], asked: &Asked<'_>) -> Vec<(String, Vec<Seen>)> {
    let seen = |text: &Text, outcome: Option<Outcome>| {
        // A text that is too short to show anything counts like any other: all rows have one denominator.
        Some(Seen { units: text.units()?, outcome: outcome? })
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
