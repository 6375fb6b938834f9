//! What the experiments come to for several kinds of model, each trained with several seeds.

use super::super::seeds::{SeedStatistics, over};
use super::super::truth::{FoundTruth, TRUTH_RANKINGS};
use super::made;
use crate::statistics::interval::Interval;
use exegete_core::report::{Cell, Picture, Shape, Table};

/// One kind of model and what was found about it, seed by seed.
#[derive(Debug, Clone)]
pub struct KindSummary {
    /// What users call it, such as lstm:dot.
    pub name: String,
    /// Its encoder and its attention, by which published numbers are found.
    pub spelled: [String; 2],
    /// How well it answers: F1, above two classes accuracy.
    pub figures: Vec<f64>,
    /// What the experiments came to.
    pub seeds: Vec<SeedStatistics>,
    /// How well rankings find the truth, where it is known.
    pub truth: Vec<[FoundTruth; 6]>,
}

/// Each statistic of each kind, with its interval over seeds.
pub fn kinds_table(kinds: &[KindSummary], metric: &str) -> Table {
    type Of = fn(&SeedStatistics) -> Option<f64>;
    let columns: [(&str, Of); 8] = [
        ("tau_gradient", |seed| seed.tau_gradient),
        ("tau_leave_one_out", |seed| seed.tau_leave_one_out),
        ("median_tvd", |seed| Some(seed.moved)),
        ("jsd", |seed| Some(seed.farthest)),
        ("decisive", |seed| Some(seed.decisive)),
        ("ratio", |seed| seed.ratio),
        ("flips", |seed| Some(seed.top_beyond_random())),
        ("removed", SeedStatistics::removed_beyond_random),
    ];
    let names = columns.iter().map(|(name, _)| *name);
    let names: Vec<&str> = ["kind", metric].into_iter().chain(names).collect();
    let mut table = made("kinds", "Each kind of model", &names);
    for kind in kinds {
        let own = columns.iter().map(|(_, of)| cell(over(&kind.seeds, of)));
        let front = [Cell::Word(kind.name.clone()), cell(over(&kind.figures, |&figure| Some(figure)))];
        table.rows.push(front.into_iter().chain(own).collect());
    }
    table.notes = vec![
        "means over seeds with 95 % intervals (Student's t); the first kind is the one that is judged".into(),
        "tau_gradient, tau_leave_one_out: mean tau of weights with gradients and with leaving words out; median_tvd: how far the answer moves when weights change places; jsd: the farthest weights with the same answer".into(),
        "decisive: share of texts with a word whose removal moves the answer by at least .1; ratio: n times its weight, 1 for an equal share; flips: texts that only the top word flips minus those that only another does; removed: median share of words gone at the flip, in the order of the weights minus at random".into(),
    ];
    let picture = |title: &str, y: &str| Picture {
        title: title.to_owned(),
        shape: Shape::Bars,
        x: "kind".to_owned(),
        y: Some(y.to_owned()),
        ..Picture::default()
    };
    table.pictures = vec![
        picture("do weights rank words as leaving them out does?", "tau_leave_one_out"),
        picture("does the answer move when weights change places?", "median_tvd"),
    ];
    table
}

/// How well each ranking finds the words that decide, for each kind.
pub fn truth_table(kinds: &[KindSummary]) -> Table {
    let mut table = made(
        "truth",
        "Which ranking finds the word that decides",
        &["kind", "ranking", "top1", "average_precision"],
    );
    for kind in kinds {
        for (at, ranking) in TRUTH_RANKINGS.into_iter().enumerate() {
            let of = |part: fn(&FoundTruth) -> f64| cell(over(&kind.truth, |seed| Some(part(&seed[at]))));
            table.rows.push(vec![
                Cell::Word(kind.name.clone()),
                Cell::Word(ranking.to_owned()),
                of(|found| found.top1),
                of(|found| found.average_precision),
            ]);
        }
    }
    table.notes.push(
        "top1: share of texts whose first word is the one that decides; average_precision: mean over its places of the precision down to it; means over seeds with 95 % intervals. weight_gradient: the slope of the predicted probability at the weight; product: that times the weight".into(),
    );
    table.pictures.push(Picture {
        title: "how often the first word of a ranking decides".to_owned(),
        shape: Shape::Bars,
        x: "ranking".to_owned(),
        y: Some("top1".to_owned()),
        y_title: Some("share of texts".to_owned()),
        series: Some("kind".to_owned()),
        ..Picture::default()
    });
    table
}

/// The tables of several models as one of each name, with columns in front that say whose rows they are.
pub fn side_by_side(models: Vec<(Vec<(&'static str, Cell)>, Vec<Table>)>) -> Vec<Table> {
    let mut all: Vec<Table> = Vec::new();
    for (front, tables) in models {
        for mut table in tables {
            let rows = std::mem::take(&mut table.rows);
            let cells = front.iter().map(|(_, cell)| cell.clone());
            let own = rows.into_iter().map(|row| cells.clone().chain(row).collect::<Vec<Cell>>());
            let there = all.iter().position(|known| known.name == table.name);
            let there = there.unwrap_or_else(|| {
                let columns = front.iter().map(|(name, _)| (*name).to_owned());
                table.columns.splice(0..0, columns);
                all.push(Table { notes: Vec::new(), pictures: Vec::new(), ..table });
                all.len() - 1
            });
            all[there].rows.extend(own);
        }
    }
    all
}

pub(in crate::debate) fn cell(of: Option<Interval>) -> Cell {
    of.map_or(Cell::Empty, |Interval { value, lower, upper }| Cell::Interval { value, lower, upper })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_models_stand_one_below_the_other() {
        let table = |value: f64| {
            let mut table = made("flips", "Flips", &["top", "share"]);
            table.rows = vec![vec![Cell::Word("yes".into()), Cell::Number(value)]];
            table
        };
        let front = |seed: f64| vec![("kind", Cell::Word("lstm".into())), ("seed", Cell::Number(seed))];
        let all = side_by_side(vec![(front(0.0), vec![table(0.1)]), (front(1.0), vec![table(0.2)])]);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].columns, ["kind", "seed", "top", "share"]);
        assert_eq!(all[0].rows.len(), 2);
        assert_eq!(all[0].rows[1][1..], [Cell::Number(1.0), Cell::Word("yes".into()), Cell::Number(0.2)]);
    }
}
