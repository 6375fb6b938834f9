//! What the models that were trained beside the tested one come to.

use super::Summary;
use crate::debate::training::{Arm, ArmRecord, chosen, difference, differences};
use crate::debate::{BINS, Experiment, bin_of};
use crate::statistics::interval::mean;
use exegete_core::report::{Cell, Picture, ReportRow, Rows, Shape, Table};
use serde_json::json;

/// The arms that are held against each other, seed by seed, and what the difference says.
const PAIRS: [([Arm; 2], &str); 4] = [
    ([Arm::Base, Arm::Uniform], "learned weights above equal ones"),
    ([Arm::GuideBase, Arm::GuideUniform], "without context: the model's weights above equal ones"),
    ([Arm::GuideTrained, Arm::GuideUniform], "without context: own weights above equal ones"),
    ([Arm::GuideUniform, Arm::GuideAdversary], "without context: equal weights above the adversary's"),
];

impl Summary<'_> {
    /// The tables of the models that were trained, where any were.
    pub(super) fn training(&self) -> Vec<Table> {
        if self.training.is_empty() {
            return Vec::new();
        }
        [Some(self.arms()), self.pairs(), Some(self.curve())].into_iter().flatten().collect()
    }

    fn arms(&self) -> Table {
        let mut table = Table::new(
            "training",
            "Models trained beside this one",
            &["arm", "seed", "f1", "accuracy", "tvd", "jsd", "lambda"],
        );
        let optional = |value: Option<f64>| value.map_or(Cell::Empty, Cell::Number);
        table.rows.extend(self.training.iter().map(|record| {
            vec![
                Cell::Word(record.arm.name().to_owned()),
                Cell::Number(record.seed as f64),
                optional(record.f1),
                Cell::Number(record.accuracy),
                Cell::Number(record.mean_tvd()),
                optional(record.mean_jsd()),
                optional(record.lambda),
            ]
        }));
        table.notes.push(
            "base: this model, then the same trained with other seeds; tvd and jsd are means over texts of the distance to this model's answers and weights; the most jsd is ln 2 = .693"
                .into(),
        );
        if let Some((record, lambda)) =
            chosen(self.training).and_then(|record| Some((record, record.lambda?)))
        {
            table.notes.push(format!(
                "the adversary of lambda {lambda} stands for all: mean jsd {:.3}, score {:.3} against {:.3} of this model",
                record.mean_jsd().unwrap_or(0.0),
                record.score(),
                self.training[0].score(),
            ));
        }
        table
    }

    /// Differences of scores, with their intervals over seeds.
    fn pairs(&self) -> Option<Table> {
        let mut table = Table::new(
            "training_differences",
            "How much better one way answers than another",
            &["difference", "score", "seeds"],
        );
        for (arms, what) in PAIRS {
            let found = differences(self.training, arms);
            if found.is_empty() {
                continue;
            }
            let score = match difference(self.training, arms) {
                Some(own) => Cell::Interval { value: own.value, lower: own.lower, upper: own.upper },
                None => Cell::Number(mean(&found)),
            };
            table.rows.push(vec![Cell::Word(what.to_owned()), score, Cell::Number(found.len() as f64)]);
        }
        table.notes.push(
            "F1 of the positive class, with more than two classes accuracy; 95 % intervals over seeds, differences taken seed by seed; a tie where 0 is inside"
                .into(),
        );
        (!table.rows.is_empty()).then_some(table)
    }

    /// How far answers move against how far weights do.
    fn curve(&self) -> Table {
        let mut table =
            Table::new("curve", "How far answers move when weights do", &["what", "lambda", "jsd", "tvd"]);
        let shown = |record: &&ArmRecord| matches!(record.arm, Arm::Base | Arm::Uniform | Arm::Adversarial);
        let said = |arm| match arm {
            Arm::Base => "other seeds",
            Arm::Uniform => "trained with equal weights",
            _ => "adversarial training",
        };
        let lambda =
            |record: &ArmRecord| record.lambda.map_or(Cell::Empty, |lambda| Cell::Word(lambda.to_string()));
        let point = |record: &ArmRecord| {
            let what = Cell::Word(said(record.arm).to_owned());
            Some(vec![
                what,
                lambda(record),
                Cell::Number(record.mean_jsd()?),
                Cell::Number(record.mean_tvd()),
            ])
        };
        table.rows.extend(self.training.iter().skip(1).filter(shown).filter_map(point));
        table.rows.extend(self.adversary_point());
        table.notes.push("means over texts, against this model; words beside marks are lambda".into());
        table.pictures.push(Picture {
            title: "answers against weights".to_owned(),
            shape: Shape::Scatter,
            x: "jsd".to_owned(),
            y: Some("tvd".to_owned()),
            series: Some("what".to_owned()),
            x_title: Some("mean JSD of the weights, in nats".to_owned()),
            y_title: Some("mean TVD of the answers".to_owned()),
            of: Some("lambda".to_owned()),
        });
        table
    }

    /// The weights found text by text, beside those of trained models.
    fn adversary_point(&self) -> Option<Vec<Cell>> {
        let found: Vec<_> = self.records.iter().filter_map(|record| record.adversary.as_ref()).collect();
        let jsd: Vec<f64> = found.iter().map(|own| own.jsd).collect();
        let tvd: Vec<f64> = found.iter().map(|own| own.tvd.unwrap_or(0.0)).collect();
        let what = Cell::Word("adversary, text by text".to_owned());
        (!found.is_empty())
            .then(|| vec![what, Cell::Empty, Cell::Number(mean(&jsd)), Cell::Number(mean(&tvd))])
    }

    /// Of each text, how far other seeds' weights and answers are.
    pub(super) fn seeds(&self) -> Option<Rows> {
        let (base, others) = self.training.split_first()?;
        let others: Vec<&ArmRecord> = others.iter().filter(|record| record.arm == Arm::Base).collect();
        if others.is_empty() || !self.ran(Experiment::Seeds) {
            return None;
        }
        let of = |text: usize| {
            let jsd: Vec<f64> = others.iter().filter_map(|record| record.jsd[text]).collect();
            let tvd: Vec<f64> = others.iter().map(|record| record.tvd[text]).collect();
            let largest = self.base_alpha.get(text)?.iter().copied().fold(0.0, f64::max);
            (!jsd.is_empty()).then(|| {
                ReportRow::default()
                    .with("bin", bin_of(largest))
                    .with("largest", json!(largest))
                    .with("jsd", json!(mean(&jsd)))
                    .with("tvd", json!(mean(&tvd)))
            })
        };
        Some(Rows {
            name: "seeds".to_owned(),
            title: "How far the weights of other seeds are".to_owned(),
            rows: (0..base.tvd.len()).filter_map(of).collect(),
            notes: vec![format!(
                "each text's mean over {} other seeds; bins {} of the largest weight; the most is ln 2 = .693",
                others.len(),
                BINS.join(" ")
            )],
            pictures: vec![Picture {
                title: "how far the weights of other seeds are".to_owned(),
                shape: Shape::Violins,
                x: "bin".to_owned(),
                y: Some("jsd".to_owned()),
                x_title: Some("the largest weight of a text".to_owned()),
                y_title: Some("mean JSD to other seeds, in nats".to_owned()),
                ..Picture::default()
            }],
        })
    }
}
