//! What was found, as the items of a report.

use super::search::{Aim, Effect, largest};
use super::{Found, Tried, Triggers};
use crate::Corpus;
use crate::attacks::ReplacementWords;
use crate::attacks::artifacts::Association;
use crate::attacks::flips::written;
use crate::attacks::share::share;
use crate::evidence::{Judged, verdict_of};
use crate::registry::CorpusMethod;
use exegete_core::report::{Cell, Edited, Edits, Item, Subject, Swap, Table, Verdict};
use exegete_core::{
    Card, Encoded, Example, Logits, OfOutput, Open, Pass, Readout, Result, Row, Scores, Target, by_outputs,
};
use std::sync::Arc;

/// So many changed texts are shown for each aim.
const SHOWN: usize = 2;
/// So many rows are looked at for them.
const LOOKED_AT: usize = 50;

pub(super) struct Told<'t> {
    pub(super) own: &'t Triggers,
    pub(super) corpus: &'t Corpus<'t>,
    pub(super) vocabulary: &'t ReplacementWords,
    pub(super) association: Option<Association>,
    /// Whether the classes of the rows are the model's own answers.
    pub(super) by_model: bool,
}

impl Told<'_> {
    pub(super) fn items(&self, found: &[Found]) -> Result<Vec<Item>> {
        let mut items = vec![Item::Table(self.effects(found))];
        items.extend(self.overlap(found).map(Item::Table));
        for found in found {
            items.extend(self.examples(found)?);
        }
        Ok(items)
    }

    fn label(&self, class: usize) -> String {
        self.corpus.model.card().labels.get(class).cloned().unwrap_or_else(|| class.to_string())
    }

    fn aim(&self, aim: Aim) -> String {
        match aim {
            Aim::Away(class) => format!("attack {}", self.label(class)),
            Aim::To(class) => format!("force {}", self.label(class)),
        }
    }

    fn words(&self, trigger: &[u32]) -> String {
        trigger.iter().filter_map(|&id| self.vocabulary.word(id)).collect::<Vec<_>>().join(" ")
    }

    /// How many rows keep their answer with and without each trigger.
    fn effects(&self, found: &[Found]) -> Table {
        let mut rows = Vec::new();
        for found in found {
            let part = |effect: Effect, rows: usize| Cell::Number(effect.keep as f64 / rows.max(1) as f64);
            let random = match found.random.len() {
                0 => Cell::Empty,
                count => Cell::Number(found.random.iter().sum::<f64>() / count as f64),
            };
            let lowest = found.random.iter().copied().reduce(f64::min).map_or(Cell::Empty, Cell::Number);
            for tried in &found.triggers {
                let bounds = share(tried.held_out.keep, found.held_out.1);
                rows.push(vec![
                    Cell::Word(self.aim(found.aim)),
                    Cell::Word(self.words(&tried.trigger)),
                    part(found.searched.0, found.searched.1),
                    part(tried.searched, found.searched.1),
                    Cell::Number(found.held_out.1 as f64),
                    part(found.held_out.0, found.held_out.1),
                    Cell::Number(bounds.value),
                    Cell::Number(bounds.low),
                    Cell::Number(bounds.high),
                    random.clone(),
                    lowest.clone(),
                ]);
            }
        }
        let columns = [
            "aim",
            "trigger",
            "search before",
            "search after",
            "held-out rows",
            "held-out before",
            "held-out after",
            "95 % from",
            "95 % to",
            "random triggers",
            "lowest of them",
        ];
        Table {
            title: "universal triggers: the share of attacked rows that keep their answer".into(),
            columns: columns.map(str::to_owned).to_vec(),
            rows,
            notes: self.notes(),
            ..Table::default()
        }
    }

    fn notes(&self) -> Vec<String> {
        let place = if self.own.place.after { "behind" } else { "before" };
        let mut notes = vec![format!(
            "the trigger stands {place} field {}; 'attack' counts rows of that class that still get it (accuracy), 'force' rows \
             of other classes that do not get it",
            self.own.place.field + 1
        )];
        if self.by_model {
            notes.push("the rows have no labels: their classes are the model's own answers".into());
        }
        if self.corpus.held_out.is_none() {
            notes.push("no held-out file was given: half of the rows were held out".into());
        }
        notes
    }

    /// How far the words of the triggers go with the labels that they lead to, in the data alone.
    fn overlap(&self, found: &[Found]) -> Option<Table> {
        let association = self.association.as_ref()?;
        let mut rows = Vec::new();
        let (mut known, mut top) = (0, 0);
        for found in found {
            for id in found.triggers.iter().flat_map(|tried| &tried.trigger) {
                let word = self.vocabulary.word(*id).unwrap_or_default();
                let bonds =
                    self.led_to(found.aim).filter_map(|label| Some((label, association.bond(word, label)?)));
                let bond = bonds.reduce(|best, other| if other.1.pmi > best.1.pmi { other } else { best });
                let mut row = vec![Cell::Word(self.aim(found.aim)), Cell::Word(word.to_owned())];
                row.extend(match bond {
                    Some((label, bond)) => {
                        known += 1;
                        top += usize::from(bond.above >= 0.95);
                        let numbers = [
                            bond.texts as f64,
                            bond.share,
                            bond.pmi,
                            bond.z,
                            bond.rank as f64,
                            100.0 * bond.above,
                        ];
                        std::iter::once(Cell::Word(self.label(label)))
                            .chain(numbers.map(Cell::Number))
                            .collect()
                    }
                    None => vec![Cell::Empty; 7],
                });
                rows.push(row);
            }
        }
        let columns =
            ["aim", "word", "label", "texts", "share with label", "PMI", "z", "rank by PMI", "percentile"];
        let all = rows.len();
        let note = format!(
            "{top} of {all} trigger words ({known} of them occur in the data) are among the 5 % of {} words that go most with \
             the label",
            association.len()
        );
        Some(Table {
            title: "trigger words beside the data: how far they go with the label that they lead to".into(),
            columns: columns.map(str::to_owned).to_vec(),
            rows,
            notes: vec![note],
            ..Table::default()
        })
    }

    /// The labels that rows get under a trigger of this aim.
    fn led_to(&self, aim: Aim) -> impl Iterator<Item = usize> {
        let classes = self.corpus.model.card().labels.len();
        (0..classes).filter(move |&class| match aim {
            Aim::Away(attacked) => class != attacked,
            Aim::To(forced) => class == forced,
        })
    }

    /// Held-out texts that lose their answer under the best trigger.
    fn examples(&self, found: &Found) -> Result<Vec<Item>> {
        let Some(tried) = found.triggers.first() else { return Ok(Vec::new()) };
        let mut items = Vec::new();
        for (example, encoded) in found.rows.iter().take(LOOKED_AT) {
            if items.len() == SHOWN {
                break;
            }
            items.extend(self.example(found, tried, example, encoded)?);
        }
        Ok(items)
    }

    /// One text with the trigger; none where its answer is not as attacked, or stays.
    fn example(
        &self,
        found: &Found,
        tried: &Tried,
        example: &Example,
        encoded: &Arc<Encoded>,
    ) -> Result<Option<Item>> {
        let (model, driver) = (self.corpus.model, self.corpus.driver);
        let (open, card) = (model.require_open()?, model.card());
        let (put, _) = self.own.place.put(encoded, &tried.trigger, self.vocabulary, card.max_tokens)?;
        let answer = |row, about| driver.read_one(model, &Row::new(row), &Answering { open, card, about });
        let before = answer(encoded.clone(), None)?;
        let from = before.class;
        let after = answer(put.clone(), Some(from))?;
        if !found.aim.concerns(from) || found.aim.concerns(after.class) {
            return Ok(None);
        }
        let target = Target::named_class(&self.label(from), from);
        let swap = self.swap(example, &tried.trigger);
        let edited = Edited {
            input: written(&example.fields, std::slice::from_ref(&swap)),
            swaps: vec![swap],
            prediction: after.scores,
            value: after.value,
            reached: true,
        };
        let subject = Subject {
            method: "triggers".into(),
            params: self.own.params(),
            input: example.fields.clone(),
            prediction: before.scores,
            target: target.to_string(),
            value: before.value,
            sense: Default::default(),
            notes: Vec::new(),
        };
        Ok(Some(Item::Edits(Box::new(Edits {
            subject,
            goal: format!("{} with the same words in every text", self.aim(found.aim)),
            found: vec![edited],
            smallest: false,
            random: None,
            verdict: self.verdict(found, tried),
        }))))
    }

    /// The trigger as words put into the text.
    fn swap(&self, example: &Example, trigger: &[u32]) -> Swap {
        let place = self.own.place;
        let end = example.fields.get(place.field).map_or(0, |field| field.text.len());
        let words = self.words(trigger);
        let (at, after) = if place.after { (end, format!(" {words}")) } else { (0, format!("{words} ")) };
        Swap { field: place.field, start: at, end: at, before: String::new(), after }
    }

    fn verdict(&self, found: &Found, tried: &Tried) -> Verdict {
        let rows = found.held_out.1;
        let (before, after) = (share(found.held_out.0.keep, rows), share(tried.held_out.keep, rows));
        let mut sentence = format!(
            "\"{}\" lowers the share of {rows} held-out rows that keep their answer from {:.2} to {:.2} ({:.2}–{:.2})",
            self.words(&tried.trigger),
            before.value,
            after.value,
            after.low,
            after.high
        );
        let mut judged = Vec::new();
        if !found.random.is_empty() {
            let random = found.random.iter().sum::<f64>() / found.random.len() as f64;
            sentence +=
                &format!("; {} random triggers of the same length leave {random:.2}", found.random.len());
            let failure = (random <= after.high).then(|| "random triggers do as much".to_owned());
            judged.push(("random_triggers", Judged::new(random, after.high, failure)));
        }
        let idle = "on held-out rows the trigger does nothing that chance does not";
        let failure = (after.high >= before.value).then(|| idle.to_owned());
        judged.push(("held_out", Judged::new(after.high, before.value, failure)));
        verdict_of(sentence + ".", judged)
    }
}

/// What the model answers for a text, as the report shows it.
#[derive(Clone)]
struct Answer {
    /// The class with the largest logit.
    class: usize,
    scores: Scores,
    /// The logit of the class that is looked at.
    value: f64,
}

/// Reads answers off outputs.
struct Answering<'m> {
    open: &'m dyn Open,
    card: &'m Card,
    /// The class whose logit is read; that of the answer itself where none is given.
    about: Option<usize>,
}

impl OfOutput<Answer> for Answering<'_> {
    fn of(&self, row: &Row, output: &Logits) -> Result<Answer> {
        let class = largest(&output.data);
        let value = Target::class(self.about.unwrap_or(class)).value_of(self.card, output)?;
        Ok(Answer { class, scores: self.open.scores(&row.encoded, output)?, value })
    }
}

impl Readout for Answering<'_> {
    type Value = Answer;

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Answer>> {
        by_outputs(self, rows, pass)
    }

    fn of_output(&self) -> Option<&dyn OfOutput<Answer>> {
        Some(self)
    }
}
