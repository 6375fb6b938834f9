//! What the paper reports, to stand beside what was found: D. Pruthi and others, *Learning to deceive with attention-based
//! explanations*, 2020, in percent as it prints them.

use crate::debate::published::{PublishedRow, made, of_runs};
use PublishedDeceiver::{BertMax, BertMean, BiLstm, Embedding, Sequences};
use exegete_core::report::Table;

/// What is known of a trained model, with the words of the table of arms.
#[derive(Debug, Clone, PartialEq)]
pub struct DeceivingArm {
    /// Such as trained or removed.
    pub arm: &'static str,
    /// How much the penalty counts, where there is one.
    pub lambda: Option<f64>,
    /// The share of rows, of sequences of places, that are answered rightly.
    pub accuracy: f64,
    /// The weight of impermissible words, from 0 to 1; none without attention.
    pub mass: Option<f64>,
}

/// The published models that deceive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishedDeceiver {
    /// Word vectors under attention, without context.
    Embedding,
    /// A recurrent model in both directions.
    BiLstm,
    /// BERT, whose penalty is the mean over heads.
    BertMean,
    /// BERT, whose penalty is that of the worst head; its mass is of that head.
    BertMax,
    /// A model that writes.
    Sequences,
}

/// Accuracy and mass; what is not reported is none. A mass below zero stands for one that is reported as below its size.
type Reported = (&'static str, Option<f64>, [Option<f64>; 2]);

/// What one model comes to on one data set.
struct PublishedDeception {
    model: PublishedDeceiver,
    data: &'static str,
    arms: &'static [Reported],
}

const fn both(arm: &'static str, lambda: Option<f64>, accuracy: f64, mass: f64) -> Reported {
    (arm, lambda, [Some(accuracy), Some(mass)])
}

const fn trained(lambda: f64, accuracy: f64, mass: f64) -> Reported {
    both("trained", Some(lambda), accuracy, mass)
}

const fn right(arm: &'static str, accuracy: f64) -> Reported {
    (arm, None, [Some(accuracy), None])
}

/// What people do, by words that go along with it.
pub const OCCUPATION: &str = "occupations";
/// Who is spoken of, by the pronoun alone.
pub const GENDER: &str = "gender";
/// A sentence of SST and one of an encyclopaedia.
pub const JOINED: &str = "SST + Wikipedia";

const PUBLISHED: [PublishedDeception; 18] = [
    of(
        Embedding,
        OCCUPATION,
        &[right("removed", 93.8), trained(0.0, 96.3, 51.4), trained(0.1, 96.2, 4.6), trained(1.0, 96.2, 1.3)],
    ),
    of(
        Embedding,
        GENDER,
        &[
            right("removed", 66.8),
            trained(0.0, 100.0, 99.2),
            trained(0.1, 99.4, 3.4),
            trained(1.0, 99.2, 0.8),
        ],
    ),
    of(
        Embedding,
        JOINED,
        &[
            right("removed", 48.9),
            trained(0.0, 70.7, 48.4),
            trained(0.1, 67.9, 36.4),
            trained(1.0, 48.4, 8.7),
        ],
    ),
    of(
        BiLstm,
        OCCUPATION,
        &[
            right("removed", 93.3),
            trained(0.0, 96.4, 50.3),
            trained(0.1, 96.4, 0.08),
            trained(1.0, 96.7, -0.01),
        ],
    ),
    of(
        BiLstm,
        GENDER,
        &[
            right("removed", 63.3),
            trained(0.0, 100.0, 96.8),
            trained(0.1, 100.0, -1e-6),
            trained(1.0, 100.0, -1e-6),
        ],
    ),
    of(
        BiLstm,
        JOINED,
        &[
            right("removed", 49.1),
            trained(0.0, 76.9, 77.7),
            trained(0.1, 60.6, 0.04),
            trained(1.0, 61.0, 0.07),
        ],
    ),
    of(
        BertMean,
        OCCUPATION,
        &[
            right("removed", 95.0),
            trained(0.0, 97.2, 13.9),
            trained(0.1, 97.2, 0.01),
            trained(1.0, 97.2, -0.001),
        ],
    ),
    of(
        BertMean,
        GENDER,
        &[
            right("removed", 72.8),
            trained(0.0, 100.0, 80.8),
            trained(0.1, 99.9, -0.001),
            trained(1.0, 99.9, -0.001),
        ],
    ),
    of(
        BertMean,
        JOINED,
        &[
            right("removed", 50.4),
            trained(0.0, 90.8, 59.0),
            trained(0.1, 90.9, -0.01),
            trained(1.0, 90.6, -0.001),
        ],
    ),
    of(BertMax, OCCUPATION, &[("trained", Some(0.0), [None, Some(99.7)]), trained(1.0, 97.4, -0.001)]),
    of(BertMax, GENDER, &[("trained", Some(0.0), [None, Some(99.7)]), trained(1.0, 99.8, -0.001)]),
    of(BertMax, JOINED, &[("trained", Some(0.0), [None, Some(96.2)]), trained(1.0, 90.2, -0.001)]),
    of(
        Sequences,
        "bigram flip",
        &[
            trained(0.0, 100.0, 94.5),
            trained(0.1, 99.9, 24.4),
            trained(1.0, 99.8, 0.03),
            both("uniform", None, 97.8, 5.2),
            right("none", 96.4),
        ],
    ),
    of(
        Sequences,
        "copy",
        &[
            trained(0.0, 99.9, 98.8),
            trained(0.1, 100.0, 27.3),
            trained(1.0, 92.9, 0.02),
            both("uniform", None, 93.8, 5.2),
            right("none", 84.1),
        ],
    ),
    of(
        Sequences,
        "reverse",
        &[
            trained(0.0, 100.0, 94.1),
            trained(0.1, 100.0, 26.3),
            trained(1.0, 99.8, 0.01),
            both("uniform", None, 88.1, 4.7),
            right("none", 84.1),
        ],
    ),
    of(Sequences, "bigram flip, run again", &[trained(0.0, 100.0, 93.9), trained(1.0, 99.9, 0.01)]),
    of(Sequences, "copy, run again", &[trained(0.0, 100.0, 94.1), trained(1.0, 99.9, 0.02)]),
    of(Sequences, "reverse, run again", &[trained(0.0, 100.0, 93.5), trained(1.0, 99.9, 0.02)]),
];

const fn of(model: PublishedDeceiver, data: &'static str, arms: &'static [Reported]) -> PublishedDeception {
    PublishedDeception { model, data, arms }
}

/// The published arms of a model on these data sets that were trained here too; none where there is none of them.
pub fn published(model: PublishedDeceiver, data: &[&str], found: &[DeceivingArm]) -> Option<Table> {
    let fits = |own: &&PublishedDeception| {
        own.model == model
            && data.iter().any(|data| own.data == *data || own.data.starts_with(&format!("{data}, ")))
    };
    let rows: Vec<PublishedRow> = PUBLISHED.iter().filter(fits).flat_map(|own| own.rows(found)).collect();
    let note = "shares here, where the paper prints percent; its texts and settings are others: what to compare with, not what must \
                come out";
    (!rows.is_empty()).then(|| made(rows, note))
}

impl PublishedDeception {
    fn rows(&self, found: &[DeceivingArm]) -> Vec<PublishedRow> {
        let model = match self.model {
            Embedding => "word vectors",
            BiLstm => "BiLSTM",
            BertMean => "BERT, mean of heads",
            BertMax => "BERT, worst head",
            Sequences => "GRU that writes",
        };
        let of_arm = |(arm, lambda, reported): &Reported| {
            let own = || found.iter().filter(|own| own.arm == *arm && own.lambda == *lambda);
            let ours: [Vec<f64>; 2] =
                [own().map(|own| own.accuracy).collect(), own().filter_map(|own| own.mass).collect()];
            let name = lambda.map_or_else(|| (*arm).to_owned(), |lambda| format!("lambda {lambda}"));
            let row = |(at, reported): (usize, &Option<f64>)| {
                let reported = (*reported).filter(|_| !ours[0].is_empty())?;
                let below = if reported.is_sign_negative() { " (published: below this)" } else { "" };
                Some(PublishedRow {
                    statistic: format!("{}, {name}{below}", ["accuracy", "mass"][at]),
                    published: reported.abs() / 100.0,
                    ours: of_runs(&ours[at]),
                    data: format!("{}, {model}", self.data),
                    about: self.model == Sequences,
                })
            };
            reported.iter().enumerate().filter_map(row).collect::<Vec<_>>()
        };
        self.arms.iter().flat_map(of_arm).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::report::Cell;

    #[test]
    fn published_arms_stand_beside_those_that_were_trained() {
        let arm = |lambda, accuracy, mass| DeceivingArm {
            arm: "trained",
            lambda: Some(lambda),
            accuracy,
            mass: Some(mass),
        };
        let found = [arm(0.0, 1.0, 0.99), arm(0.0, 0.98, 0.97), arm(1.0, 1.0, 0.002)];
        let table = published(BiLstm, &[GENDER], &found).unwrap();
        let number = |row: usize, column: usize| match &table.rows[row][column] {
            Cell::Number(number) => *number,
            other => panic!("{other:?}"),
        };
        assert_eq!(table.rows.len(), 4, "removed and lambda 0.1 were not trained");
        assert_eq!((number(0, 1), number(0, 2)), (1.0, 0.99));
        assert!((number(1, 1) - 0.968).abs() < 1e-12 && number(1, 3) < 0.98 && number(1, 4) > 0.98);
        assert_eq!(table.rows[3][0], Cell::Word("mass, lambda 1 (published: below this)".to_owned()));
        assert!((number(3, 1) - 1e-8).abs() < 1e-15 && table.rows[3][3] == Cell::Empty);
        let sequences = published(Sequences, &["copy"], &found).unwrap();
        assert_eq!(sequences.rows.len(), 8, "the paper and the later run");
        assert_eq!(sequences.rows[0][6], Cell::Word("≈".to_owned()));
        assert!(published(Sequences, &[GENDER], &found).is_none());
    }
}
