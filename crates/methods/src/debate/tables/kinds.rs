//! What the experiments come to for several kinds of model, each trained with several seeds.

use super::super::seeds::{SeedStatistics, over};
use super::super::truth::{FoundTruth, TRUTH_RANKINGS};
use super::pictures;
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

/// A column over seeds.
type SeedColumn = (&'static str, fn(&SeedStatistics) -> Option<f64>);

/// Each kind's weights and answers, and its words that decide, with intervals over seeds.
pub fn kinds_tables(kinds: &[KindSummary], metric: &str) -> [Table; 2] {
    let weights: [SeedColumn; 4] = [
        ("tau_gradient", |seed| seed.tau_gradient),
        ("tau_leave_one_out", |seed| seed.tau_leave_one_out),
        ("median_tvd", |seed| Some(seed.moved)),
        ("jsd", |seed| Some(seed.farthest)),
    ];
    let mut all = one_a_kind("kinds", "Each kind of model", kinds, &weights);
    all.columns.insert(1, metric.to_owned());
    for (row, kind) in all.rows.iter_mut().zip(kinds) {
        row.insert(1, cell(over(&kind.figures, |&figure| Some(figure))));
    }
    all.notes = vec![
        "means over seeds with 95 % intervals (Student's t); the first kind is the one that is judged".into(),
        "tau_gradient, tau_leave_one_out: mean tau of weights with gradients and with leaving words out; median_tvd: how far the answer moves when weights change places; jsd: the farthest weights with the same answer".into(),
    ];
    all.pictures = vec![
        bars("do weights rank words as leaving them out does?", "tau_leave_one_out", "mean tau"),
        bars("does the answer move when weights change places?", "median_tvd", "mean of the median TVD"),
    ];
    let words: [SeedColumn; 4] = [
        ("decisive", |seed| Some(seed.decisive)),
        ("ratio", |seed| seed.ratio),
        ("flips", |seed| Some(seed.top_beyond_random())),
        ("removed", SeedStatistics::removed_beyond_random),
    ];
    let mut decisive = one_a_kind("kinds_decisive", "Each kind's words that decide", kinds, &words);
    decisive.notes = vec![
        "decisive: share of texts with a word whose removal moves the answer by at least .1; ratio: n times its weight, 1 for an equal share".into(),
        "flips: texts that only the top word flips minus those that only another does; removed: median share of words gone at the flip, in the order of the weights minus at random".into(),
    ];
    [all, decisive]
}

fn one_a_kind(name: &str, title: &str, kinds: &[KindSummary], columns: &[SeedColumn]) -> Table {
    let names: Vec<&str> = std::iter::once("kind").chain(columns.iter().map(|(name, _)| *name)).collect();
    let mut table = Table::new(name, title, &names);
    for kind in kinds {
        let own = columns.iter().map(|(_, of)| cell(over(&kind.seeds, of)));
        table.rows.push(std::iter::once(Cell::Word(kind.name.clone())).chain(own).collect());
    }
    table
}

fn bars(title: &str, y: &str, unit: &str) -> Picture {
    Picture {
        title: title.to_owned(),
        shape: Shape::Bars,
        x: "kind".to_owned(),
        y: Some(y.to_owned()),
        y_title: Some(unit.to_owned()),
        ..Picture::default()
    }
}

/// How well each ranking finds the words that decide, for each kind.
pub fn truth_table(kinds: &[KindSummary]) -> Table {
    let mut table = Table::new(
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

/// The tables of one model among several.
#[derive(Debug, Clone)]
pub struct ModelTables {
    /// What notes call the model.
    pub name: String,
    /// The columns in front that say whose rows they are.
    pub front: Vec<(&'static str, Cell)>,
    /// What it came to.
    pub tables: Vec<Table>,
}

/// The tables of several models as one of each name. A note that is not about all of them says about which it is.
pub fn side_by_side(models: Vec<ModelTables>) -> Vec<Table> {
    let mut all: Vec<(Table, Vec<Vec<String>>)> = Vec::new();
    for ModelTables { name, front, tables } in models {
        for mut table in tables {
            let (rows, notes) = (std::mem::take(&mut table.rows), std::mem::take(&mut table.notes));
            let there = all.iter().position(|(known, _)| known.name == table.name).unwrap_or_else(|| {
                table.columns.splice(0..0, front.iter().map(|(column, _)| (*column).to_owned()));
                table.pictures = pictures::of_models(&table.name, std::mem::take(&mut table.pictures));
                all.push((table, Vec::new()));
                all.len() - 1
            });
            let (joined, told) = &mut all[there];
            let cells = front.iter().map(|(_, cell)| cell.clone());
            joined.rows.extend(rows.into_iter().map(|row| cells.clone().chain(row).collect()));
            told.push([vec![name.clone()], notes].concat());
        }
    }
    all.into_iter().map(|(table, told)| Table { notes: notes(&told), ..table }).collect()
}

/// Each note once, with the models that it is about where it is not about all; a list begins with the model's name.
fn notes(told: &[Vec<String>]) -> Vec<String> {
    let mut found: Vec<(&String, Vec<&str>)> = Vec::new();
    for (name, note) in told.iter().flat_map(|list| list[1..].iter().map(|note| (list[0].as_str(), note))) {
        match found.iter_mut().find(|(known, _)| *known == note) {
            Some((_, names)) => names.push(name),
            None => found.push((note, vec![name])),
        }
    }
    let said = |(note, names): (&String, Vec<&str>)| match names.len() == told.len() {
        true => note.clone(),
        false => format!("{}: {note}", names.join(", ")),
    };
    found.into_iter().map(said).collect()
}

pub(in crate::debate) fn cell(of: Option<Interval>) -> Cell {
    of.map_or(Cell::Empty, |Interval { value, lower, upper }| Cell::Interval { value, lower, upper })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_models_stand_one_below_the_other() {
        let model = |seed: f64, share: f64, own: &str| {
            let mut table = Table::new("flips", "Flips", &["top", "share"]);
            table.rows = vec![vec![Cell::Word("yes".into()), Cell::Number(share)]];
            table.notes = vec!["of all".to_owned(), own.to_owned()];
            let front = vec![("kind", Cell::Word("lstm".into())), ("seed", Cell::Number(seed))];
            ModelTables { name: format!("seed {seed}"), front, tables: vec![table] }
        };
        let all = side_by_side(vec![model(0.0, 0.1, "3 left out"), model(1.0, 0.2, "4 left out")]);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].columns, ["kind", "seed", "top", "share"]);
        assert_eq!(all[0].rows.len(), 2);
        assert_eq!(all[0].rows[1][1..], [Cell::Number(1.0), Cell::Word("yes".into()), Cell::Number(0.2)]);
        assert_eq!(all[0].notes, ["of all", "seed 0: 3 left out", "seed 1: 4 left out"]);
    }
}
