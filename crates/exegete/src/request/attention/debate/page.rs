//! The page of the debate: one verdict, the sentences that go with it, then the tables.

use super::super::test::{self, AttentionTest};
use super::models::DebatedModel;
use super::{AttentionDebate, DebatedKind};
use crate::methods::debate::seeds::{LEAST_SEEDS, Retrained, SeedStatistics};
use crate::methods::debate::truth::{self, FoundTruth};
use crate::methods::debate::verdict::{DebateStatistics, judge};
use crate::methods::debate::{
    Experiment, KindSummary, Summary, TextRecord, kinds_table, over_kinds, side_by_side, tables, truth_table,
};
use crate::report::{Cell, Item, Judgement, Provenance, Report, SCHEMA, Table};
use crate::request::{Listener, Stop, record};
use crate::Spent;
use anyhow::{Context, Result};
use std::path::Path;

/// The models of one kind, with the test that says what their texts are.
struct Told<'a> {
    kind: &'a DebatedKind,
    models: Vec<(u64, &'a DebatedModel)>,
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
        let place = self.models(folder)?;
        let base = &self.kinds[0];
        let request = place.test(place.best(base, self.request.seed), None, self.request.seed);
        let test = test::open(&request, stop, tell)?;
        let card = test.model().card();
        let metric = if card.labels.len() == 2 { "F1" } else { "accuracy" };
        let by_kind = self.by_kind(models);
        let kinds: Vec<KindSummary> = by_kind.iter().map(|told| self.summary(told, &test)).collect();
        let mut items = vec![Item::Verdict(self.verdict(&by_kind[0], &kinds[0], &test, metric)?)];
        items.push(Item::Table(kinds_table(&kinds, &metric.to_lowercase())));
        if self.generated.is_some() {
            items.push(Item::Table(truth_table(&kinds)));
        }
        items.push(Item::Table(over_kinds(&kinds)));
        items.extend(tables_of_models(&by_kind, &card.labels).into_iter().map(Item::Table));
        let (mut rows, _) = test.tables(&by_kind[0].models[0].1.best);
        rows.title = format!("The texts and what was found about each by {base} of seed {}", self.request.seed);
        items.push(Item::Rows(rows));
        let request = record::recorded("attention debate", self.request, self.recorded.clone());
        let (seconds, threads) = (self.started.elapsed().as_secs_f64(), self.request.resources.count());
        let rows = |of: fn(&DebatedModel) -> usize| models.iter().map(of).sum();
        let (forward_rows, backward_rows) = (rows(|model| model.forward_rows), rows(|model| model.backward_rows));
        let spent = Spent { forward_rows, backward_rows, ..Spent::default() };
        let provenance = Provenance::new(card, self.request.seed, threads, seconds, spent);
        Ok(Report { schema: SCHEMA.to_owned(), provenance, request, items })
    }

    fn by_kind<'a>(&'a self, models: &'a [DebatedModel]) -> Vec<Told<'a>> {
        let mut all: Vec<Told<'a>> = Vec::new();
        for (choice, model) in self.choices().zip(models) {
            match all.last_mut().filter(|told| told.kind == choice.kind) {
                Some(told) => told.models.push((choice.seed, model)),
                None => all.push(Told { kind: choice.kind, models: vec![(choice.seed, model)] }),
            }
        }
        all
    }

    fn summary(&self, told: &Told<'_>, test: &AttentionTest<'_>) -> KindSummary {
        let truth = |&(seed, model): &(u64, &DebatedModel)| self.truth(seed, &model.best, test);
        KindSummary {
            name: told.kind.to_string(),
            spelled: [told.kind.kind.clone(), told.kind.attention.clone()],
            figures: told.models.iter().map(|(_, model)| model.figure).collect(),
            seeds: told.models.iter().map(|(_, model)| SeedStatistics::of(&model.best)).collect(),
            truth: told.models.iter().filter_map(truth).collect(),
        }
    }

    /// How well rankings find the truth, where it is known.
    fn truth(
        &self,
        seed: u64,
        records: &[TextRecord],
        test: &AttentionTest<'_>,
    ) -> Option<[FoundTruth; 6]> {
        let rows = self.generated.as_ref()?;
        let texts = records.iter().zip(test.texts());
        let found = texts
            .filter_map(|(record, text)| truth::found(record, &rows.truth(text), (seed, text.number)));
        truth::mean_of(&found.collect::<Vec<_>>())
    }

    fn verdict(
        &self,
        base: &Told<'_>,
        summary: &KindSummary,
        test: &AttentionTest<'_>,
        metric: &'static str,
    ) -> Result<Judgement> {
        let gain = |(_, model): &(u64, &DebatedModel)| Some(model.figure - model.uniform?);
        let gains = base.models.iter().filter_map(gain).collect();
        let retrained = Retrained { gains, ..Retrained::default() };
        let found = DebateStatistics::over(&summary.seeds, &retrained, metric)
            .with_context(|| format!("fewer than {LEAST_SEEDS} models could be tested"))?;
        let mut judged = judge(&found);
        judged.notes.push(format!(
            "about {} over {} seeds; five rules are tried in order and the first that holds decides; intervals are 95 %, mean and Student's t over seeds, differences seed by seed",
            summary.name,
            summary.seeds.len()
        ));
        judged.notes.extend(self.generated.as_ref().map(|rows| rows.said()));
        judged.notes.extend(test.left_out().iter().cloned());
        Ok(judged)
    }
}

/// The tables of every model, one below the other.
fn tables_of_models(by_kind: &[Told<'_>], labels: &[String]) -> Vec<Table> {
    let mut all = Vec::new();
    let word = |word: &str| Cell::Word(word.to_owned());
    for Told { kind, models } in by_kind {
        for &(seed, model) in models {
            let front = [("kind", word(&kind.to_string())), ("seed", Cell::Number(seed as f64))];
            let of = |records, experiments: &[Experiment]| {
                let family = &kind.kind;
                tables(&Summary { records, labels, experiments, family, noun: "words", seed }).1
            };
            let ran: Vec<Experiment> =
                Experiment::ALL.into_iter().filter(|experiment| !experiment.trains()).collect();
            let (ranks, others): (Vec<Table>, Vec<Table>) = of(&model.best, &ran)
                .into_iter()
                .filter(|table| table.name != "published")
                .partition(|table| table.name == "correlation");
            let last = of(&model.last, &[Experiment::Correlation]);
            let last = last.into_iter().filter(|table| table.name == "correlation").collect();
            for (epoch, tables) in [("best", ranks), ("last", last)] {
                all.push(([&front[..], &[("epoch", word(epoch))]].concat(), tables));
            }
            all.push((front.to_vec(), others));
        }
    }
    side_by_side(all)
}
