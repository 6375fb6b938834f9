//! The page of the debate: one verdict, the sentences that go with it, then the tables.

use super::super::arms::TrainedArms;
use super::super::test::{self, AttentionTest};
use super::models::DebatedModel;
use super::{AttentionDebate, DebatedKind};
use crate::Spent;
use crate::methods::debate::seeds::{LEAST_SEEDS, Retrained, SeedStatistics};
use crate::methods::debate::truth::{self, FoundTruth};
use crate::methods::debate::verdict::{DebateStatistics, judge};
use crate::methods::debate::{
    Experiment, KindSummary, ModelTables, TextRecord, kinds_tables, over_kinds, side_by_side, truth_table,
};
use crate::report::{Cell, Item, Judgement, Provenance, Report, Rows, SCHEMA, Table};
use crate::request::{Listener, Notice, Stop, record};
use anyhow::{Context, Result};
use std::path::Path;

/// The models of one kind, by seed.
struct KindModels<'a> {
    kind: &'a DebatedKind,
    models: Vec<(u64, &'a DebatedModel)>,
    /// The test of the first of them, which knows the texts.
    test: &'a AttentionTest<'a>,
}

impl AttentionDebate<'_> {
    /// What was found, as one page; the folder is that of the models.
    pub fn report(
        &self,
        folder: &Path,
        models: &[DebatedModel],
        stop: &Stop,
        tell: Listener<'_>,
    ) -> Result<Report> {
        let (place, seed) = (self.models(folder)?, self.request.seed);
        let first = |kind: &DebatedKind| place.test(place.best(kind, seed), None, seed);
        let requests: Vec<_> = self.kinds.iter().map(first).collect();
        let tests = requests.iter().map(|request| test::open(request, stop, tell));
        let tests = tests.collect::<Result<Vec<_>>>()?;
        tell(Notice::Stage("models beside the first"));
        let arms = place.arms(&self.kinds[0], stop, tell)?;
        let each = self.kinds.iter().zip(&tests).zip(models.chunks(self.request.seeds));
        let kinds: Vec<KindModels<'_>> = each
            .map(|((kind, test), models)| KindModels {
                kind,
                models: self.seeds().zip(models).collect(),
                test,
            })
            .collect();
        let card = tests[0].model().card();
        let request = record::recorded("attention debate", self.request, self.recorded.clone());
        let (seconds, threads) = (self.started.elapsed().as_secs_f64(), self.request.resources.count());
        let rows = |of: fn(&DebatedModel) -> usize| models.iter().map(of).sum();
        let (forward_rows, backward_rows) =
            (rows(|model| model.forward_rows), rows(|model| model.backward_rows));
        let spent = Spent { forward_rows, backward_rows, ..Spent::default() };
        let provenance = Provenance::new(card, seed, threads, seconds, spent);
        Ok(Report { schema: SCHEMA.to_owned(), provenance, request, items: self.items(&kinds, &arms)? })
    }

    fn items(&self, kinds: &[KindModels<'_>], arms: &TrainedArms) -> Result<Vec<Item>> {
        let classes = kinds[0].test.model().card().labels.len();
        let (like, words) = kinds[0].test.like();
        let metric = if classes == 2 { "F1" } else { "accuracy" };
        let summaries: Vec<KindSummary> = kinds.iter().map(|kind| self.summary(kind)).collect();
        let verdict = Item::Verdict(self.verdict(&kinds[0], &summaries[0], arms, metric)?);
        let truth = self.generated.is_some().then(|| truth_table(&summaries));
        let tables = kinds_tables(&summaries, &metric.to_lowercase())
            .into_iter()
            .chain(truth)
            .chain([over_kinds(&summaries, &arms.records, like, words)])
            .chain(tables_of_models(kinds, arms));
        let texts = texts_of_first(&kinds[0], arms).into_iter().map(Item::Rows);
        Ok([verdict].into_iter().chain(tables.map(Item::Table)).chain(texts).collect())
    }

    fn summary(&self, kind: &KindModels<'_>) -> KindSummary {
        let KindModels { kind: DebatedKind { kind: name, attention }, models, test } = kind;
        let truth = |&(seed, model): &(u64, &DebatedModel)| self.truth(seed, &model.best, test);
        KindSummary {
            name: kind.kind.to_string(),
            spelled: [name.clone(), attention.clone()],
            figures: models.iter().map(|(_, model)| model.figure).collect(),
            seeds: models.iter().map(|(_, model)| SeedStatistics::of(&model.best)).collect(),
            truth: models.iter().filter_map(truth).collect(),
        }
    }

    /// How well rankings find the truth, where it is known.
    fn truth(&self, seed: u64, records: &[TextRecord], test: &AttentionTest<'_>) -> Option<[FoundTruth; 6]> {
        let rows = self.generated.as_ref()?;
        let texts = records.iter().zip(test.texts());
        let found =
            texts.filter_map(|(record, text)| truth::found(record, &rows.truth(text), (seed, text.number)));
        truth::mean_of(&found.collect::<Vec<_>>())
    }

    fn verdict(
        &self,
        base: &KindModels<'_>,
        summary: &KindSummary,
        arms: &TrainedArms,
        metric: &'static str,
    ) -> Result<Judgement> {
        let retrained = Retrained::of(&arms.records);
        let found = DebateStatistics::over(&summary.seeds, &retrained, metric)
            .with_context(|| format!("fewer than {LEAST_SEEDS} models could be tested"))?;
        let mut judged = judge(&found);
        judged.notes.push(format!(
            "about {} over {} seeds; five rules are tried in order and the first that holds decides; intervals are 95 %, mean and Student's t over seeds, differences seed by seed",
            summary.name,
            summary.seeds.len()
        ));
        judged.notes.extend(self.generated.as_ref().map(|rows| rows.said()));
        judged.notes.extend(base.test.left_out().iter().cloned());
        Ok(judged)
    }
}

/// The texts as the base's first model has them, and how far other seeds' weights are.
fn texts_of_first(base: &KindModels<'_>, arms: &TrainedArms) -> Vec<Rows> {
    let (seed, model) = base.models[0];
    let trained: Vec<Experiment> =
        Experiment::ALL.into_iter().filter(|experiment| experiment.trains()).collect();
    let experiments = [base.test.experiments(), &trained].concat();
    let (mut rows, _) = base.test.tables(&model.best, &experiments, arms);
    rows[0].title = format!("The texts and what was found about each, by {} of seed {seed}", base.kind);
    rows[0].notes.extend(arms.notes.iter().cloned());
    rows
}

/// The tables of every model, one below the other, and of what was trained beside the base.
fn tables_of_models(kinds: &[KindModels<'_>], arms: &TrainedArms) -> Vec<Table> {
    let word = |word: &str| Cell::Word(word.to_owned());
    let none = TrainedArms::default();
    let mut all = Vec::new();
    for KindModels { kind, models, test } in kinds {
        for &(seed, model) in models {
            let name = format!("{kind} of seed {seed}");
            let front = vec![("kind", word(&kind.to_string())), ("seed", Cell::Number(seed as f64))];
            let of = |records, experiments| {
                let (_, tables) = test.tables(records, experiments, &none);
                tables.into_iter().filter(|table| table.name != "published")
            };
            let ranks = |table: &Table| table.name == "correlation";
            let (best, others): (Vec<Table>, _) = of(&model.best, test.experiments()).partition(ranks);
            let last = of(&model.last, &[Experiment::Correlation]).collect();
            for (epoch, tables) in [("best", best), ("last", last)] {
                let front = [&front[..], &[("epoch", word(epoch))]].concat();
                all.push(ModelTables { name: format!("{name}, {epoch} epoch"), front, tables });
            }
            all.push(ModelTables { name, front, tables: others });
        }
    }
    let KindModels { kind, models, test } = &kinds[0];
    let (_, tables) = test.tables(&models[0].1.best, &[], arms);
    let tables = tables.into_iter().filter(|table| table.name != "published").collect();
    let front = vec![("kind", word(&kind.to_string()))];
    all.push(ModelTables { name: kind.to_string(), front, tables });
    side_by_side(all)
}
