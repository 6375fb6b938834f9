//! What the experiments come to over all texts.

mod kinds;
mod pictures;
mod training;

pub(super) use kinds::cell;
pub use kinds::{KindSummary, ModelTables, kinds_tables, side_by_side, truth_table};

use super::share::RANKINGS;
use super::{ArmRecord, Experiment, Tau, TextRecord, TextsLike, published};
use crate::Stream;
use crate::statistics::interval::{Interval, bootstrap, deviation, mean, median, quantile};
use exegete_core::report::{Cell, Rows, Table};

/// What tables and rows are made of.
#[derive(Clone, Copy)]
pub struct Summary<'a> {
    /// What was found, one a text.
    pub records: &'a [TextRecord],
    /// The names of the classes.
    pub labels: &'a [String],
    /// The experiments that were run.
    pub experiments: &'a [Experiment],
    /// The model's family, such as lstm: which published numbers stand beside ours.
    pub family: &'a str,
    /// How a small model weighs words, such as additive; empty where that is not known.
    pub attention: &'a str,
    /// Which published data the texts are like.
    pub like: TextsLike,
    /// What weights are given to, in the plural.
    pub noun: &'a str,
    /// The seed of the resamples.
    pub seed: u64,
    /// The models that were trained beside it, itself the first; none where nothing was trained.
    pub training: &'a [ArmRecord],
    /// Its weights of the texts that those were measured on.
    pub base_alpha: &'a [Vec<f64>],
}

/// The rows `texts`, perhaps `seeds`, and the tables of the experiments that were run.
pub fn tables(summary: &Summary<'_>) -> (Vec<Rows>, Vec<Table>) {
    let table = |experiment: &Experiment| match experiment {
        Experiment::Correlation => Some(summary.correlation()),
        Experiment::Permutation => Some(summary.permutation()),
        Experiment::Adversary => Some(summary.adversary()),
        Experiment::Concentration => Some(summary.concentration()),
        Experiment::Erase => Some(summary.flips()),
        Experiment::Share => Some(summary.removed()),
        _ => None,
    };
    let ran = Experiment::ALL.into_iter().filter(|known| summary.ran(*known));
    let mut tables: Vec<Table> = ran.collect::<Vec<_>>().iter().filter_map(table).collect();
    tables.extend(summary.training());
    tables.extend(published::table(summary));
    (std::iter::once(summary.texts()).chain(summary.seeds()).collect(), tables)
}

/// What stands for all classes together.
const ALL: &str = "all";
/// From this ε-max JSD on, other weights are far from the own ones.
pub(super) const FAR: f64 = 0.35;

impl Summary<'_> {
    pub(super) fn ran(&self, experiment: Experiment) -> bool {
        self.experiments.contains(&experiment)
    }

    fn label(&self, class: usize) -> String {
        self.labels.get(class).cloned().unwrap_or_else(|| class.to_string())
    }

    /// The records of each predicted class that occurs, and of all.
    fn groups(&self) -> Vec<(String, Vec<&TextRecord>)> {
        let of = |class: usize| -> Vec<&TextRecord> {
            self.records.iter().filter(|record| record.predicted == class).collect()
        };
        let classes = (0..self.labels.len().max(1)).map(|class| (self.label(class), of(class)));
        let mut groups: Vec<(String, Vec<&TextRecord>)> =
            classes.filter(|(_, own)| !own.is_empty()).collect();
        groups.push((ALL.to_owned(), self.records.iter().collect()));
        groups
    }

    /// The mean of a statistic with its interval over texts; the place tells statistics apart.
    pub(super) fn mean(&self, values: &[f64], place: u64) -> Cell {
        self.interval(values, place, |values| mean(values))
    }

    fn interval(&self, values: &[f64], place: u64, of: impl Fn(&mut [f64]) -> f64) -> Cell {
        let found = bootstrap(values, of, &mut Stream::resamples(self.seed, place));
        found.map_or(Cell::Empty, |Interval { value, lower, upper }| Cell::Interval { value, lower, upper })
    }

    fn texts(&self) -> Rows {
        let labels = |class: usize| self.label(class);
        let ran = |experiment| self.ran(experiment);
        let mut rows: Vec<_> = self.records.iter().map(|record| record.written(&labels, &ran)).collect();
        pictures::draw_beside(self, &mut rows);
        let (name, title) = ("texts".to_owned(), "The texts and what was found about each".to_owned());
        Rows { name, title, rows, notes: Vec::new(), pictures: pictures::of_texts(self) }
    }

    fn correlation(&self) -> Table {
        type Of = fn(&TextRecord) -> Option<Tau>;
        let kinds: [(&str, Of); 2] = [
            ("gradient", |record| record.tau_gradient),
            ("leave_one_out", |record| record.tau_leave_one_out),
        ];
        let mut table = Table::new(
            "correlation",
            "How attention ranks beside gradients and leaving out (Kendall's tau)",
            &["class", "with", "tau", "sd", "significant", "texts"],
        );
        let (mut place, mut undefined) = (0, 0);
        for (with, of) in kinds {
            for (class, records) in self.groups() {
                let taus: Vec<Tau> = records.iter().filter_map(|record| of(record)).collect();
                let values: Vec<f64> = taus.iter().map(|found| found.tau).collect();
                place += 1;
                if class == ALL {
                    undefined += records.len() - taus.len();
                }
                let significant = share(&taus, |found| found.p <= 0.05);
                let sd = if values.is_empty() { Cell::Empty } else { Cell::Number(deviation(&values)) };
                table.rows.push(vec![
                    Cell::Word(class),
                    Cell::Word(with.to_owned()),
                    self.mean(&values, place),
                    sd,
                    significant,
                    Cell::Number(values.len() as f64),
                ]);
            }
        }
        table.notes.push(
            "means over texts with 95 % intervals by resampling texts; sd over texts; significant: p at most .05".into(),
        );
        if undefined > 0 {
            table.notes.push(format!("{undefined} tau left out: one side is constant"));
        }
        table
    }

    fn permutation(&self) -> Table {
        let mut table = Table::new(
            "permutation",
            "How far the answer moves when weights change places",
            &["bin", "class", "median_tvd", "texts"],
        );
        let mut place = 100;
        let bins = super::BINS.into_iter().map(Some).chain([None]);
        for bin in bins {
            for (class, records) in self.groups() {
                let own = records.iter().filter(|record| bin.is_none_or(|bin| record.bin() == bin));
                let values: Vec<f64> = own.filter_map(|record| record.median_tvd).collect();
                place += 1;
                if !values.is_empty() {
                    table.rows.push(vec![
                        Cell::Word(bin.unwrap_or(ALL).to_owned()),
                        Cell::Word(class),
                        self.mean(&values, place),
                        Cell::Number(values.len() as f64),
                    ]);
                }
            }
        }
        table
            .notes
            .push("bin: the largest weight of a text; the mean over texts of each text's median TVD".into());
        table
    }

    fn adversary(&self) -> Table {
        let mut table = Table::new(
            "adversary",
            "How far weights can be moved while the answer stays",
            &["class", "jsd_mean", "share_above", "texts"],
        );
        for (place, (class, records)) in (200..).step_by(2).zip(self.groups()) {
            let jsd = |record: &&TextRecord| record.adversary.as_ref().map(|found| found.jsd);
            let values: Vec<f64> = records.iter().filter_map(jsd).collect();
            let far: Vec<f64> = values.iter().map(|&jsd| f64::from(jsd > FAR)).collect();
            table.rows.push(vec![
                Cell::Word(class),
                self.mean(&values, place),
                self.mean(&far, place + 1),
                Cell::Number(values.len() as f64),
            ]);
        }
        table.notes.push(format!("share_above: texts whose farthest admissible weights have a JSD above {FAR}; the most is ln 2 = .693"));
        let none = self.records.iter().filter_map(|record| record.adversary.as_ref());
        let none = none.filter(|found| found.alpha.is_none()).count();
        if none > 0 {
            table.notes.push(format!("{none} texts have no admissible weights on the way and count as 0"));
        }
        table
    }

    fn concentration(&self) -> Table {
        let title = format!("How few {} hold nine tenths of the weight", self.noun);
        let mut table = Table::new("concentration", &title, &["words_90", "share", "texts"]);
        let found =
            self.records.iter().filter_map(|record| Some((record.words_90? as f64, record.alpha.len())));
        let (counts, shares): (Vec<f64>, Vec<f64>) =
            found.map(|(count, words)| (count, count / words as f64)).unzip();
        let texts = Cell::Number(counts.len() as f64);
        table.rows.push(vec![self.mean(&counts, 300), self.mean(&shares, 301), texts]);
        table
    }

    fn flips(&self) -> Table {
        let mut table = Table::new(
            "flips",
            "Which answers flip when the word of the largest weight is erased, and when another is",
            &["top", "random", "share"],
        );
        let pairs: Vec<_> = self.records.iter().filter_map(|record| record.erase).collect();
        let word = |flips: bool| Cell::Word(if flips { "yes" } else { "no" }.to_owned());
        for (place, (top, random)) in
            (400..).zip([(true, true), (true, false), (false, true), (false, false)])
        {
            let own: Vec<f64> = pairs
                .iter()
                .map(|pair| f64::from((pair.top.flip, pair.random.flip) == (top, random)))
                .collect();
            table.rows.push(vec![word(top), word(random), self.mean(&own, place)]);
        }
        let below = pairs.iter().filter(|pair| pair.top.js < pair.random.js).count();
        if !pairs.is_empty() {
            let share = 100.0 * below as f64 / pairs.len() as f64;
            table.notes.push(format!(
                "in {share:.1} % of {} texts the other word moves the answer more than the top word (delta_js below 0)",
                pairs.len()
            ));
        }
        table.pictures.push(pictures::flip_table());
        table
    }

    fn removed(&self) -> Table {
        let mut table = Table::new(
            "removed",
            &format!("The share of {} that must go before the answer flips", self.noun),
            &["ranking", "median", "lower", "upper", "q1", "q3", "whisker_low", "whisker_high", "undecided"],
        );
        let shares: Vec<_> = self.records.iter().filter_map(|record| record.share).collect();
        let counted: Vec<[f64; 4]> = shares.iter().filter_map(super::ErasureShares::counted).collect();
        for (at, ranking) in RANKINGS.into_iter().enumerate() {
            let mut values: Vec<f64> = counted.iter().map(|shares| shares[at]).collect();
            let median = match self.interval(&values, 500 + at as u64, median) {
                Cell::Interval { value, lower, upper } => [value, lower, upper].map(Cell::Number),
                _ => [Cell::Empty, Cell::Empty, Cell::Empty],
            };
            let quarters = match tukey(&mut values) {
                Some(found) => found.map(Cell::Number),
                None => [const { Cell::Empty }; 4],
            };
            let decided = |found: &&super::ErasureShares| found.counted().is_some() && found.0[at].is_none();
            let undecided = Cell::Number(shares.iter().filter(decided).count() as f64);
            let row = [Cell::Word(ranking.to_owned())].into_iter().chain(median).chain(quarters);
            table.rows.push(row.chain([undecided]).collect());
        }
        table.notes.push(format!(
            "{} of {} texts flip under no ranking and are left out; undecided: texts that only other rankings flip, which count as 1",
            shares.len() - counted.len(),
            shares.len()
        ));
        table
            .notes
            .push("whiskers: the smallest and the largest share within 1.5 times q3 − q1 of the box".into());
        table.pictures.push(pictures::boxes());
        table
    }
}

/// Whiskers reach to the furthest value within so many heights of the box, as Tukey drew them.
const WITHIN: f64 = 1.5;

/// The quartiles below and above, and the ends of the whiskers; none of nothing.
fn tukey(values: &mut [f64]) -> Option<[f64; 4]> {
    if values.is_empty() {
        return None;
    }
    let [lower, upper] = [0.25, 0.75].map(|share| quantile(values, share));
    let reach = WITHIN * (upper - lower);
    let inside = values.iter().copied().filter(|value| (lower - reach..=upper + reach).contains(value));
    // Quartiles that lie between two values can have none within: the whisker is then the side of the box.
    let (low, high) = inside.fold((lower, upper), |(low, high), value| (low.min(value), high.max(value)));
    Some([lower, upper, low, high])
}

fn share<T>(of: &[T], holds: impl Fn(&T) -> bool) -> Cell {
    if of.is_empty() {
        return Cell::Empty;
    }
    Cell::Number(of.iter().filter(|value| holds(value)).count() as f64 / of.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whiskers_end_at_the_furthest_value_within() {
        assert_eq!(tukey(&mut [1.0, 2.0, 3.0, 4.0, 100.0]), Some([2.0, 4.0, 1.0, 4.0]));
        assert_eq!(tukey(&mut [0.2, 0.2]), Some([0.2; 4]));
        assert_eq!(tukey(&mut []), None);
    }
}
