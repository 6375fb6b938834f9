//! What the papers report, to stand beside what was found. Their data and settings are not the user's: the numbers say what
//! to compare with, and are met by nobody exactly. Of the papers' data sets those stand there that are most like the user's texts.

mod numbers;

use super::seeds::over;
use super::tables::cell;
use super::training::{Arm, ArmRecord, chosen, scores};
use super::{Experiment, KindSummary, Summary, Tau, TextRecord};
use crate::statistics::interval::{Interval, mean, median, over_seeds};
use exegete_core::report::{Cell, Table};
use numbers::{ARMS, CORRELATIONS, FLIPPED, FLIPS, PublishedTau, of_arm};

/// From so many words on a text is rather like a review than like a sentence.
const LONG: f64 = 100.0;

/// What the user's texts are, by which published data sets stand beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextsLike {
    /// Texts by themselves, by their length like sentences (SST) or reviews (IMDB).
    #[default]
    Single,
    /// Texts of sentences that are weighed themselves: reviews and questions with their answers.
    OfSentences,
    /// Pairs, as of a premise and a hypothesis (SNLI).
    Pairs,
    /// A story and a question whose answer is a word of the story (bAbI).
    Questions,
}

impl TextsLike {
    /// The data sets of correlations.
    fn correlated(self, words: f64) -> &'static [&'static str] {
        match self {
            Self::Single if words < LONG => &["SST"],
            Self::Single | Self::OfSentences => &["IMDB"],
            Self::Pairs => &["SNLI"],
            Self::Questions => &["bAbI 1", "bAbI 2", "bAbI 3"],
        }
    }

    /// The data sets of flips, which are all of a model of sentences.
    fn flipped(self) -> usize {
        if self == Self::OfSentences { FLIPS.len() } else { 1 }
    }

    /// The data set of models trained beside the tested one; none for pairs and questions.
    fn trained(self, words: f64) -> Option<&'static str> {
        matches!(self, Self::Single | Self::OfSentences).then(|| self.correlated(words)[0])
    }
}

/// One number of a paper with ours.
pub(crate) struct PublishedRow {
    /// What it is a number of.
    pub(crate) statistic: String,
    /// The number that the paper reports.
    pub(crate) published: f64,
    /// Ours: an interval, a number, or nothing.
    pub(crate) ours: Cell,
    /// The paper's data and model.
    pub(crate) data: String,
    /// Whether the number is recalled, or is the mean of several.
    pub(crate) about: bool,
}

/// The table, where something was run that has a published number.
pub(super) fn table(summary: &Summary<'_>) -> Option<Table> {
    let mut words: Vec<f64> = summary.records.iter().map(|record| record.tokens.len() as f64).collect();
    let words = if words.is_empty() { 0.0 } else { median(&mut words) };
    let (mut rows, mut place) = (Vec::new(), 600);
    let mut ours = |values: &[f64]| {
        place += 1;
        summary.mean(values, place - 1)
    };
    if summary.ran(Experiment::Correlation) {
        let taus = |of: fn(&TextRecord) -> Option<Tau>| -> Vec<f64> {
            summary.records.iter().filter_map(of).map(|found| found.tau).collect()
        };
        let [gradient, loo] = [taus(|record| record.tau_gradient), taus(|record| record.tau_leave_one_out)];
        let found = [ours(&gradient), ours(&loo)];
        for data in summary.like.correlated(words) {
            rows.extend(correlated(nearest(data, [summary.family, summary.attention]), &found));
        }
    }
    if summary.ran(Experiment::Erase) {
        let found = FLIPPED.map(|(_, flips)| {
            let pairs = summary.records.iter().filter_map(|record| record.erase);
            let own: Vec<f64> =
                pairs.map(|pair| f64::from([pair.top.flip, pair.random.flip] == flips)).collect();
            ours(&own)
        });
        rows.extend(flipped(summary.like, &found, ""));
    }
    rows.extend(trained(summary.training, summary.like, words));
    (!rows.is_empty()).then(|| made(rows, NOTE))
}

/// The same over seeds: τ of every kind that has a published number, flips of the first, and what was trained beside it. `words` is
/// how many a text has.
pub fn over_kinds(kinds: &[KindSummary], training: &[ArmRecord], like: TextsLike, words: f64) -> Table {
    let mut rows = Vec::new();
    for KindSummary { spelled, seeds, .. } in kinds {
        let found =
            [over(seeds, |seed| seed.tau_gradient), over(seeds, |seed| seed.tau_leave_one_out)].map(cell);
        let known = |own: &&PublishedTau| like.correlated(words).contains(&own.data) && own.kind == *spelled;
        rows.extend(CORRELATIONS.iter().filter(known).flat_map(|own| correlated(own, &found)));
    }
    for KindSummary { name, seeds, .. } in kinds.iter().take(1) {
        let found = [0, 1, 2, 3].map(|at| cell(over(seeds, |seed| Some(seed.flips[at]))));
        rows.extend(flipped(like, &found, &format!(", here {name}")));
    }
    rows.extend(trained(training, like, words));
    made(rows, NOTE)
}

/// The number of this kind of model, else of the same with additive attention, else of the LSTM.
fn nearest(data: &str, kind: [&str; 2]) -> &'static PublishedTau {
    let own = |kind: [&str; 2]| CORRELATIONS.iter().find(|own| own.data == data && own.kind == kind);
    let additive = |kind: &str| own([kind, "additive"]);
    own(kind).or_else(|| additive(kind[0])).or_else(|| additive("lstm")).unwrap_or(&CORRELATIONS[0])
}

fn correlated(own: &PublishedTau, found: &[Cell; 2]) -> Vec<PublishedRow> {
    let [kind, attention] = own.kind;
    let row = |(with, published, ours): (&str, Option<f64>, &Cell)| {
        Some(PublishedRow {
            statistic: format!("mean tau with {with}"),
            published: published?,
            ours: ours.clone(),
            data: format!("{}, {kind}, {attention} attention", own.data),
            about: own.of_classes,
        })
    };
    let [gradient, loo] = found;
    [("gradients", Some(own.gradient), gradient), ("leave-one-out", own.leave_one_out, loo)]
        .into_iter()
        .filter_map(row)
        .collect()
}

fn flipped(like: TextsLike, found: &[Cell; 4], here: &str) -> Vec<PublishedRow> {
    let of_data = |(data, shares): &(&str, [f64; 4])| {
        let data = format!("{data}, HAN");
        let row = |((what, _), (published, ours)): ((&str, [bool; 2]), (f64, &Cell))| PublishedRow {
            statistic: format!("share of texts where {what}{here}"),
            published,
            ours: ours.clone(),
            data: data.clone(),
            about: false,
        };
        FLIPPED.into_iter().zip(shares.iter().copied().zip(found)).map(row).collect::<Vec<_>>()
    };
    FLIPS.iter().take(like.flipped()).flat_map(of_data).collect()
}

/// The rows of the models that were trained beside the tested one.
fn trained(training: &[ArmRecord], like: TextsLike, words: f64) -> Vec<PublishedRow> {
    let Some(own) = like.trained(words).and_then(|data| ARMS.iter().find(|own| own.data == data)) else {
        return Vec::new();
    };
    let row = |statistic: String, published: f64, ours: Vec<f64>| {
        let data = format!("{}, lstm, additive attention", own.data);
        (!ours.is_empty()).then(|| PublishedRow {
            statistic,
            published,
            ours: of_runs(&ours),
            data,
            about: true,
        })
    };
    let of = |&(arm, published): &(Arm, f64)| row(of_arm(arm).to_owned(), published, scores(training, arm));
    let [lambda, tvd, jsd] = own.adversary;
    let adversaries = |of: &dyn Fn(&ArmRecord) -> Option<f64>| -> Vec<f64> {
        let lambda = chosen(training).and_then(|record| record.lambda);
        let own = |record: &&ArmRecord| record.arm == Arm::Adversarial && record.lambda == lambda;
        training.iter().filter(own).filter_map(of).collect()
    };
    let halved = |what: &str| format!("{what} of the adversary far away, halved as the paper's code has it");
    let adversary = [
        row(halved("lambda"), lambda, adversaries(&|record| Some(record.lambda? / 2.0))),
        row(halved("mean TVD"), tvd, adversaries(&|record| Some(record.mean_tvd() / 2.0))),
        row("mean JSD of the adversary far away".to_owned(), jsd, adversaries(&ArmRecord::mean_jsd)),
    ];
    own.scores.iter().map(of).chain(adversary).flatten().collect()
}

/// The mean of a few runs with its interval, where there are several.
pub(crate) fn of_runs(values: &[f64]) -> Cell {
    match (over_seeds(values), values) {
        (Some(Interval { value, lower, upper }), _) => Cell::Interval { value, lower, upper },
        (None, []) => Cell::Empty,
        (None, values) => Cell::Number(mean(values)),
    }
}

/// What stands below the table of the debate.
const NOTE: &str =
    "of the papers' data sets those that are most like these texts: a difference may be one of data";

/// The table of some rows.
pub(crate) fn made(rows: Vec<PublishedRow>, note: &str) -> Table {
    let about = rows.iter().any(|row| row.about);
    let cells = |row: PublishedRow| {
        let [value, lower, upper] = match row.ours {
            Cell::Interval { value, lower, upper } => [value, lower, upper].map(Cell::Number),
            ours => [ours, Cell::Empty, Cell::Empty],
        };
        let about = if row.about { Cell::Word("≈".to_owned()) } else { Cell::Empty };
        let (statistic, published, data) =
            (Cell::Word(row.statistic), Cell::Number(row.published), Cell::Word(row.data));
        vec![statistic, published, value, lower, upper, data, about]
    };
    let mut notes = vec![note.to_owned()];
    notes.extend(about.then(|| {
        "about ≈: recalled from the paper, or the mean over the classes of which it speaks; not a number that it prints".to_owned()
    }));
    Table {
        name: "published".to_owned(),
        title: "Published numbers beside these".to_owned(),
        columns: ["statistic", "published", "ours", "lower", "upper", "data", "about"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.into_iter().map(cells).collect(),
        notes,
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_sets_are_those_like_the_texts() {
        for (like, words, correlated, flipped, trained) in [
            (TextsLike::Single, 19.0, &["SST"][..], 1, Some("SST")),
            (TextsLike::Single, 180.0, &["IMDB"], 1, Some("IMDB")),
            (TextsLike::OfSentences, 9.0, &["IMDB"], 4, Some("IMDB")),
            (TextsLike::Pairs, 14.0, &["SNLI"], 1, None),
            (TextsLike::Questions, 60.0, &["bAbI 1", "bAbI 2", "bAbI 3"], 1, None),
        ] {
            let found = (like.correlated(words), like.flipped(), like.trained(words));
            assert_eq!(found, (correlated, flipped, trained), "{like:?}");
            assert!(correlated.iter().all(|data| nearest(data, ["gru", "dot"]).data == *data), "{like:?}");
        }
        assert_eq!(nearest("SST", ["cnn", "dot"]).gradient, 0.240);
        assert_eq!(nearest("IMDB", ["average", "dot"]).gradient, 0.675);
        assert!(FLIPS.iter().all(|(_, shares)| (shares.iter().sum::<f64>() - 1.0).abs() < 2e-3));
    }
}
