//! Which of the measurements that this program makes notice that attention was trained not to show what is read.

use crate::Stream;
use crate::compare::{METRICS, Text};
use crate::debate::TextRecord;
use crate::statistics::interval::{Interval, bootstrap, mean, over_seeds};
use exegete_core::report::{Cell, Table};

/// What was measured about one model on some texts: for each statistic its value for every text that has one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measurements {
    found: Vec<(String, Vec<f64>)>,
}

/// A statistic of a text's experiments.
type Statistic = fn(&TextRecord) -> Option<f64>;

/// The statistics of the experiments about attention, by experiment.
const STATISTICS: [(&str, Statistic); 10] = [
    ("correlation: tau with gradients", |text| Some(text.tau_gradient?.tau)),
    ("correlation: tau with leaving out", |text| Some(text.tau_leave_one_out?.tau)),
    ("correlation: weight of the decisive word over an equal share", |text| Some(text.decisive?.ratio)),
    ("permutation: median TVD", |text| text.median_tvd),
    ("adversary: largest JSD", |text| Some(text.adversary.as_ref()?.jsd)),
    ("concentration: share of words with 90 % of the weight", |text| {
        Some(text.words_90? as f64 / text.alpha.len() as f64)
    }),
    ("erase: JS of the top word minus another", |text| text.erase.map(|pair| pair.top.js - pair.random.js)),
    ("erase: flips of the top word minus another", |text| {
        let flips = |erased: crate::debate::Erased| f64::from(u8::from(erased.flip));
        text.erase.map(|pair| flips(pair.top) - flips(pair.random))
    }),
    ("share: removed by attention minus at random", |text| {
        let [random, attention, ..] = text.share?.counted()?;
        Some(attention - random)
    }),
    ("share: removed by attention minus by gradient × attention", |text| {
        let [_, attention, _, product] = text.share?.counted()?;
        Some(attention - product)
    }),
];

/// What a card does not judge an explanation by: what it cost, and what random orders reach.
const NO_CHECKS: [&str; 8] = [
    "undecided",
    "deletion random",
    "insertion random",
    "random flips",
    "seconds",
    "rows asked",
    "rows run",
    "backward rows",
];

impl Measurements {
    /// From the evidence cards of attention as an explanation, and from the experiments about it.
    pub fn of(cards: &[Text], records: &[TextRecord]) -> Self {
        let checks = METRICS.iter().filter(|metric| !NO_CHECKS.contains(&metric.name)).map(|metric| {
            let own =
                cards.iter().filter_map(|card| card.measured.first()?.metrics.get(metric.name).copied());
            (format!("card: {}", metric.name), own.collect())
        });
        let experiments = STATISTICS
            .iter()
            .map(|(name, read)| ((*name).to_owned(), records.iter().filter_map(read).collect()));
        Self { found: checks.chain(experiments).collect() }
    }

    fn values(&self, name: &str) -> &[f64] {
        self.found.iter().find(|(known, _)| known == name).map_or(&[], |(_, values)| values)
    }
}

/// For each statistic its value for the honest and for the deceiving models, one a seed, and whether the 95 % intervals are
/// apart. From three seeds on they are over seeds, else over texts.
pub fn notices(honest: &[Measurements], deceiving: &[Measurements], seed: u64) -> Table {
    let names = honest.iter().chain(deceiving).flat_map(|found| found.found.iter().map(|(name, _)| name));
    let mut known: Vec<&String> = Vec::new();
    names.for_each(|name| {
        if !known.contains(&name) {
            known.push(name);
        }
    });
    let mut rows = Vec::new();
    for (place, name) in known.into_iter().enumerate() {
        let sides = [honest, deceiving];
        let places = [2 * place as u64, 2 * place as u64 + 1];
        let [own, other] = [0, 1].map(|side| interval(sides[side], name, seed, places[side]));
        if own.is_none() && other.is_none() {
            continue;
        }
        let apart = own.zip(other).map(|(a, b)| a.upper < b.lower || b.upper < a.lower);
        let verdict =
            apart.map_or(Cell::Empty, |apart| Cell::Word(if apart { "yes" } else { "no" }.to_owned()));
        rows.push(vec![Cell::Word(name.clone()), cell(own), cell(other), verdict]);
    }
    let columns = ["check", "honest", "deceived", "notices"].map(str::to_owned).to_vec();
    let title = "Which measurements notice the deception".to_owned();
    Table { name: "notices".to_owned(), title, columns, rows, ..Table::default() }
}

fn cell(found: Option<Interval>) -> Cell {
    found.map_or(Cell::Empty, |Interval { value, lower, upper }| Cell::Interval { value, lower, upper })
}

/// From how many trained models on an interval is over these and not over texts.
const LEAST_SEEDS: usize = 3;

fn interval(models: &[Measurements], name: &str, seed: u64, place: u64) -> Option<Interval> {
    let each: Vec<&[f64]> =
        models.iter().map(|found| found.values(name)).filter(|own| !own.is_empty()).collect();
    if each.len() >= LEAST_SEEDS {
        return over_seeds(&each.iter().map(|own| mean(own)).collect::<Vec<f64>>());
    }
    bootstrap(&each.concat(), |values| mean(values), &mut Stream::NoticeResamples.random(seed, place))
}
