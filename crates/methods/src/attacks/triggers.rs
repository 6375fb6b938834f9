//! A few words that change the answers of many texts. E. Wallace, S. Feng, N. Kandpal, M. Gardner, S. Singh, *Universal
//! adversarial triggers for attacking and analyzing NLP*, 2019.

mod place;
mod rows;
mod search;
mod told;

use super::artifacts::Association;
use super::{Constraints, STAGE_TRIGGERS, Vocabulary};
use crate::Settings;
use crate::registry::{Corpus, Info, Meaning, Needs, New, Survey};
use exegete_core::report::Item;
use exegete_core::{Encoded, Error, Example, Model, Result, Units, class_index};
use place::Place;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rows::{Classed, chosen, classed};
use search::{Aim, Effect, Scored, Search, sample};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "triggers",
    summary: "a few words that change the answers of many texts",
    page: include_str!("triggers.md"),
    axioms: &[],
    signed: false,
    meaning: Meaning::Other,
    needs: Needs::Inside,
    new: New::Surveys(|settings| Ok(Box::new(Triggers::new(settings)?))),
};

/// Random triggers are tried on so many held-out rows.
const RANDOM_ROWS: usize = 200;
/// Rows that are looked at for the most frequent word.
const FREQUENT_ROWS: usize = 200;

#[derive(Debug, Clone)]
struct Triggers {
    length: usize,
    place: Place,
    attack: Option<String>,
    force: Option<String>,
    beam: usize,
    candidates: usize,
    rows: usize,
    batch: usize,
    rounds: usize,
    restarts: usize,
    held_out: usize,
    random: usize,
    constraints: Constraints,
}

/// What was found for one aim.
struct Found<'e> {
    aim: Aim,
    /// Best first.
    triggers: Vec<Tried>,
    /// The rows of the search without any trigger.
    searched: (Effect, usize),
    /// The held-out rows without any trigger.
    held_out: (Effect, usize),
    /// The shares of held-out rows that keep their answer under random triggers.
    random: Vec<f64>,
    rows: Vec<(&'e Example, Arc<Encoded>)>,
}

/// A trigger with what it does.
struct Tried {
    trigger: Vec<u32>,
    searched: Effect,
    held_out: Effect,
}

impl Triggers {
    fn new(settings: &mut Settings) -> Result<Self> {
        let mut count = |key: &str, default: usize| Ok(settings.count(key)?.unwrap_or(default));
        let (length, beam, candidates) = (count("length", 3)?, count("beam", 1)?, count("candidates", 16)?);
        let (rows, batch, held_out) = (count("rows", 128)?, count("batch", 32)?, count("held_out", 1000)?);
        let (rounds, restarts, field) = (count("rounds", 5)?, count("restarts", 2)?, count("field", 1)?);
        let after = settings.choice("where", &[("before", false), ("after", true)])?;
        let (attack, force): (Option<String>, Option<String>) =
            (settings.optional("attack")?, settings.optional("force")?);
        if attack.is_some() && force.is_some() {
            return Err(Error::Request("attack= and force= are two aims; give one of them".into()));
        }
        let forbid: String = settings.take("forbid", String::new())?;
        let constraints = Constraints::new(&mut Settings::parse(&[format!("forbid={forbid}")])?)?;
        let place = Place { field: field - 1, after };
        let random = settings.take("random", 10)?;
        Ok(Self {
            length,
            place,
            attack,
            force,
            beam,
            candidates,
            rows,
            batch,
            rounds,
            restarts,
            held_out,
            random,
            constraints,
        })
    }

    /// Rows to search on and rows to try on; where there are none held out, half of the examples each.
    fn split<'e>(
        &self,
        corpus: &Corpus<'e>,
        all: &Classed<'e>,
        random: &mut ChaCha8Rng,
    ) -> Result<(Classed<'e>, Classed<'e>)> {
        let Classed { rows, by_model } = all;
        match corpus.held_out {
            Some(held_out) => {
                let test = classed(corpus.model, corpus.driver, held_out, random)?;
                Ok((Classed { rows: rows.clone(), by_model: *by_model }, test))
            }
            None => {
                let mut rows = sample(rows, rows.len(), random);
                let test = rows.split_off(rows.len() / 2);
                Ok((Classed { rows, by_model: *by_model }, Classed { rows: test, by_model: *by_model }))
            }
        }
    }

    fn admits(&self, vocabulary: &Vocabulary, id: u32) -> bool {
        vocabulary.word(id).is_some_and(|word| self.constraints.admits(&word.to_lowercase()))
    }

    /// What the user asks for, or every class in turn.
    fn aims(&self, model: &dyn Model, train: &Classed<'_>, test: &Classed<'_>) -> Result<Vec<Aim>> {
        let labels = &model.card().labels;
        let class = |key: &str, label: &str| {
            let unknown = || Error::Request(format!("{key}={label}: one of {}", labels.join(", ")));
            class_index(labels, label).ok_or_else(unknown)
        };
        Ok(match (&self.attack, &self.force) {
            (Some(label), _) => vec![Aim::Away(class("attack", label)?)],
            (_, Some(label)) => vec![Aim::To(class("force", label)?)],
            // A class that no row has cannot be attacked.
            _ => (0..labels.len())
                .filter(|class| train.has(*class) && test.has(*class))
                .map(Aim::Away)
                .collect(),
        })
    }

    /// Triggers for one aim.
    fn look<'e>(
        &self,
        search: &Search<'_>,
        train: &Classed<'e>,
        test: &Classed<'e>,
        start: u32,
        random: &mut ChaCha8Rng,
    ) -> Result<Found<'e>> {
        let searched = chosen(search.open, train, search.aim, self.rows, random)?;
        let held_out = chosen(search.open, test, search.aim, self.held_out, random)?;
        if searched.is_empty() || held_out.is_empty() {
            return Err(Error::Input(
                "there are no rows of the attacked class to search on, or none to try on; give more rows"
                    .into(),
            ));
        }
        let encoded =
            |rows: &[(&Example, Arc<Encoded>)]| rows.iter().map(|(_, row)| row.clone()).collect::<Vec<_>>();
        let (on, off) = (encoded(&searched), encoded(&held_out));
        let mut found: Vec<Scored> = Vec::new();
        for restart in 0..self.restarts {
            let from = match restart {
                0 => vec![start; self.length],
                _ => self.drawn(search.words, random),
            };
            let scored = search.run(from, &on, random)?;
            if found.iter().all(|other| other.trigger != scored.trigger) {
                found.push(scored);
            }
        }
        found.sort_by(|a, b| a.kept.total_cmp(&b.kept));
        let triggers: Vec<Vec<u32>> = found.into_iter().map(|scored| scored.trigger).collect();
        let effects = search.effects(&triggers, &on)?.into_iter().zip(search.effects(&triggers, &off)?);
        let tried = triggers.into_iter().zip(effects);
        let others: Vec<Vec<u32>> = (0..self.random).map(|_| self.drawn(search.words, random)).collect();
        let few = &off[..off.len().min(RANDOM_ROWS)];
        let share = |effect: Effect| effect.keep as f64 / few.len() as f64;
        let nothing = [Vec::new()];
        Ok(Found {
            aim: search.aim,
            triggers: tried
                .map(|(trigger, (searched, held_out))| Tried { trigger, searched, held_out })
                .collect(),
            searched: (search.effects(&nothing, &on)?[0], on.len()),
            held_out: (search.effects(&nothing, &off)?[0], off.len()),
            random: search.effects(&others, few)?.into_iter().map(share).collect(),
            rows: held_out,
        })
    }

    /// A random trigger.
    fn drawn(&self, words: &[u32], random: &mut ChaCha8Rng) -> Vec<u32> {
        (0..self.length).map(|_| words[random.random_range(0..words.len())]).collect()
    }
}

impl Survey for Triggers {
    fn params(&self) -> BTreeMap<String, Value> {
        let counts = [
            ("length", self.length),
            ("field", self.place.field + 1),
            ("beam", self.beam),
            ("candidates", self.candidates),
            ("rows", self.rows),
            ("batch", self.batch),
            ("rounds", self.rounds),
            ("restarts", self.restarts),
            ("held_out", self.held_out),
            ("random", self.random),
        ];
        let mut params: BTreeMap<String, Value> = self.constraints.params();
        params.remove("stop_words");
        params.extend(counts.map(|(key, count)| (key.to_owned(), count.into())));
        params.insert("where".into(), if self.place.after { "after" } else { "before" }.into());
        let named = [("attack", &self.attack), ("force", &self.force)];
        params.extend(
            named.into_iter().filter_map(|(key, label)| Some((key.to_owned(), label.clone()?.into()))),
        );
        params
    }

    fn survey(&self, corpus: &Corpus<'_>) -> Result<Vec<Item>> {
        let open = corpus.model.require_open()?;
        let vocabulary = Vocabulary::of(open)?;
        let mut random = ChaCha8Rng::seed_from_u64(corpus.request.seed);
        random.set_stream(STAGE_TRIGGERS);
        let all = classed(corpus.model, corpus.driver, corpus.examples, &mut random)?;
        let (train, test) = self.split(corpus, &all, &mut random)?;
        let frequent = frequent(corpus.model, &train)?;
        let words: Vec<u32> = vocabulary.ids_like(&frequent).collect();
        let words: Vec<u32> = words.into_iter().filter(|&id| self.admits(&vocabulary, id)).collect();
        if words.is_empty() {
            return Err(Error::Request(
                "no word of the vocabulary may be part of a trigger under these rules".into(),
            ));
        }
        let start = vocabulary.id(&frequent).filter(|id| words.contains(id)).unwrap_or(words[0]);
        let mut found = Vec::new();
        for aim in self.aims(corpus.model, &train, &test)? {
            let search = Search {
                model: corpus.model,
                open,
                driver: corpus.driver,
                vocabulary: &vocabulary,
                words: &words,
                place: self.place,
                aim,
                beam: self.beam,
                candidates: self.candidates,
                batch: self.batch,
                rounds: self.rounds,
            };
            found.push(self.look(&search, &train, &test, start, &mut random)?);
        }
        let labels = &corpus.model.card().labels;
        let field = Some(self.place.field);
        let association =
            (!all.by_model).then(|| Association::count(labels, all.rows.iter().copied(), field));
        let told =
            told::Told { own: self, corpus, vocabulary: &vocabulary, association, by_model: all.by_model };
        told.items(&found)
    }
}

/// The most frequent word without a capital: what the search begins with, and whose script it keeps to.
fn frequent(model: &dyn Model, rows: &Classed<'_>) -> Result<String> {
    let open = model.require_open()?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (example, _) in rows.rows.iter().take(FREQUENT_ROWS) {
        let encoded = open.encode(example)?;
        for unit in Units::Word.of(&encoded) {
            let word = encoded.slice(unit.span);
            if word.chars().count() > 1 && word.chars().all(|c| c.is_alphabetic() && !c.is_uppercase()) {
                *counts.entry(word.to_owned()).or_default() += 1;
            }
        }
    }
    let most = counts.into_iter().reduce(|best, other| if other.1 > best.1 { other } else { best });
    most.map(|(word, _)| word).ok_or_else(|| Error::Input("the texts hold no words".into()))
}

#[cfg(test)]
mod tests;
