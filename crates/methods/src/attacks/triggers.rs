//! A few words that change the answers of many texts. E. Wallace, S. Feng, N. Kandpal, M. Gardner, S. Singh, *Universal
//! adversarial triggers for attacking and analyzing NLP*, 2019.

mod place;
mod rows;
mod search;
mod told;

use super::artifacts::Association;
use super::constraints::FORBID;
use super::{Constraints, ReplacementWords};
use crate::parameter::{Parameter, name_of, names};
use crate::registry::{CorpusMethod, Info, Meaning, Needs, New, Unread};
use crate::{Arguments, Corpus, Stream, SurveySize};
use exegete_core::report::Item;
use exegete_core::{Encoded, Error, Example, Model, Result, Units, class_index};
use place::SiteChoice;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rows::{Classed, chosen, classed};
use search::{Aim, Effect, Scored, TriggerSearch, sample};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "triggers",
    summary: "a few words that change the answers of many texts",
    prose: include_str!("triggers.md"),
    parameters: &[
        Parameter::text(
            "attack",
            "positive",
            None,
            "rows of this class must lose it; without it and `force`, every class in turn",
        ),
        Parameter::text(
            "force",
            "negative",
            None,
            "rows of the other classes must get this one; not with `attack`",
        ),
        Parameter::count("length", 1..=100, Some(3), "words of a trigger"),
        Parameter::choice("where", &names(&WHERE), "before the first token of the text, or behind its last"),
        Parameter::count(
            "field",
            1..=2,
            Some(1),
            "into which text of a pair; 2 is the second (hypothesis, context)",
        ),
        Parameter { help: "words that are never part of a trigger", ..FORBID },
        Parameter::count("rows", 1..=100_000, Some(128), "how many rows are searched on"),
        Parameter::count("batch", 1..=10_000, Some(32), "how many of them are run in a round"),
        Parameter::count("held_out", 1..=1_000_000, Some(1000), "how many rows triggers are tried on"),
        Parameter::count("candidates", 1..=10_000, Some(16), "words tried at each place in a round"),
        Parameter::count("beam", 1..=100, Some(1), "triggers that are followed side by side"),
        Parameter::count("rounds", 1..=10_000, Some(5), "the most rounds of a search"),
        Parameter::count("restarts", 1..=1_000, Some(2), "searches, the later ones from random words"),
        Parameter::count(
            "random",
            0..=10_000,
            Some(10),
            "how many random triggers are tried, on up to 200 held-out rows",
        ),
    ],
    axioms: &[],
    signed: false,
    meaning: Meaning::Other,
    needs: Needs::Inside,
    new: New::Surveys(|arguments| Ok(Box::new(Triggers::new(arguments)?))),
};

/// Whether a trigger comes behind the text.
const WHERE: [(&str, bool); 2] = [("before", false), ("after", true)];

/// Random triggers are tried on so many held-out rows.
const RANDOM_ROWS: usize = 200;
/// Rows that are looked at for the most frequent word.
const FREQUENT_ROWS: usize = 200;

#[derive(Debug, Clone)]
struct Triggers {
    length: usize,
    place: SiteChoice,
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
struct Found {
    aim: Aim,
    /// The triggers that were tried, best first.
    triggers: Vec<Tried>,
    /// The rows of the search without any trigger.
    searched: (Effect, usize),
    /// The held-out rows without any trigger.
    held_out: (Effect, usize),
    /// The shares of held-out rows that keep their answer under random triggers.
    random: Vec<f64>,
    rows: Vec<(Example, Arc<Encoded>)>,
}

/// A trigger with what it does.
struct Tried {
    trigger: Vec<u32>,
    searched: Effect,
    held_out: Effect,
}

impl Triggers {
    fn new(arguments: &mut Arguments) -> Result<Self> {
        let (attack, force): (Option<String>, Option<String>) =
            (arguments.text("attack")?, arguments.text("force")?);
        if attack.is_some() && force.is_some() {
            return Err(Error::Request("attack= and force= are two aims; give one of them".into()));
        }
        Ok(Self {
            length: arguments.count("length")?,
            place: SiteChoice {
                field: arguments.count("field")? - 1,
                after: arguments.choice("where", &WHERE)?,
            },
            attack,
            force,
            beam: arguments.count("beam")?,
            candidates: arguments.count("candidates")?,
            rows: arguments.count("rows")?,
            batch: arguments.count("batch")?,
            rounds: arguments.count("rounds")?,
            restarts: arguments.count("restarts")?,
            held_out: arguments.count("held_out")?,
            random: arguments.count("random")?,
            constraints: Constraints::forbidding(&arguments.text::<String>("forbid")?.unwrap_or_default()),
        })
    }

    /// Rows to search on and rows to try on; where there are none held out, half of the examples each.
    fn split<'e>(
        &self,
        corpus: &Corpus<'e>,
        all: &Classed<'e>,
        random: &mut ChaCha8Rng,
    ) -> Result<(Classed<'e>, Classed<'e>)> {
        match corpus.held_out {
            Some(held_out) => Ok((all.clone(), classed(corpus, held_out, random)?)),
            None => {
                let mut rows = sample(&all.rows, all.rows.len(), random);
                let test = rows.split_off(rows.len() / 2);
                Ok((Classed { rows, ..*all }, Classed { rows: test, ..*all }))
            }
        }
    }

    fn admits(&self, vocabulary: &ReplacementWords, id: u32) -> bool {
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
        corpus: &Corpus<'e>,
        search: &TriggerSearch<'_>,
        train: &Classed<'e>,
        test: &Classed<'e>,
        start: u32,
        random: &mut ChaCha8Rng,
    ) -> Result<Found> {
        let searched = chosen(corpus, search.open, train, search.aim, self.rows, random)?;
        let held_out = chosen(corpus, search.open, test, search.aim, self.held_out, random)?;
        if searched.is_empty() || held_out.is_empty() {
            return Err(Error::Input(
                "there are no rows of the attacked class to search on, or none to try on; give more rows"
                    .into(),
            ));
        }
        let encoded =
            |rows: &[(Example, Arc<Encoded>)]| rows.iter().map(|(_, row)| row.clone()).collect::<Vec<_>>();
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

    /// How words go with the labels of all rows.
    fn association<'e>(&self, corpus: &Corpus<'e>, all: &Classed<'e>) -> Result<Association> {
        let mut association = Association::new(&corpus.model.card().labels, Some(self.place.field));
        let mut rows = all.rows.iter().peekable();
        for text in corpus.pass(all.source)? {
            let (index, example) = text?;
            if let Some((_, class)) = rows.next_if(|(row, _)| *row == index) {
                association.add(&example, *class);
            }
        }
        Ok(association)
    }

    /// A trigger of words drawn at random.
    fn drawn(&self, words: &[u32], random: &mut ChaCha8Rng) -> Vec<u32> {
        (0..self.length).map(|_| words[random.random_range(0..words.len())]).collect()
    }
}

impl CorpusMethod for Triggers {
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
        params.insert("where".into(), name_of(&WHERE, &self.place.after).into());
        let named = [("attack", &self.attack), ("force", &self.force)];
        params.extend(
            named.into_iter().filter_map(|(key, label)| Some((key.to_owned(), label.clone()?.into()))),
        );
        params
    }

    fn most_rows(&self, size: &SurveySize) -> Option<usize> {
        let aims = if self.attack.is_some() || self.force.is_some() { 1 } else { size.classes };
        let (searched, held_out) = (self.rows.min(size.texts), self.held_out.min(size.texts));
        let search = search::most_rows(self, searched);
        let tried = (self.restarts + 1).saturating_mul(searched.saturating_add(held_out));
        let random = self.random.saturating_mul(held_out.min(RANDOM_ROWS));
        let each = search.saturating_mul(self.restarts).saturating_add(tried).saturating_add(random);
        // Whose class is not given is asked for it.
        Some(each.saturating_mul(aims).saturating_add(size.texts))
    }

    fn survey(&self, corpus: &Corpus<'_>) -> Result<Vec<Item>> {
        let open = corpus.model.require_open()?;
        let vocabulary = ReplacementWords::of(open)?;
        let mut random = Stream::Triggers.random(corpus.request.seed, 0);
        let all = classed(corpus, corpus.examples, &mut random)?;
        let (train, test) = self.split(corpus, &all, &mut random)?;
        let frequent = frequent(corpus, &train)?;
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
            let search = TriggerSearch {
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
            found.push(self.look(corpus, &search, &train, &test, start, &mut random)?);
        }
        let association = (!all.by_model).then(|| self.association(corpus, &all)).transpose()?;
        let told =
            told::Told { own: self, corpus, vocabulary: &vocabulary, association, by_model: all.by_model };
        told.items(&found)
    }

    fn unread(&self) -> &'static [Unread] {
        &[Unread::Target, Unread::Units, Unread::Hiding, Unread::Evidence]
    }
}

/// The most frequent word without a capital: what the search begins with, and whose script it keeps to.
fn frequent<'e>(corpus: &Corpus<'e>, rows: &Classed<'e>) -> Result<String> {
    let open = corpus.model.require_open()?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let first: Vec<usize> = rows.rows.iter().take(FREQUENT_ROWS).map(|(index, _)| *index).collect();
    for example in corpus.fetch(rows.source, &first)? {
        let encoded = open.encode(&example)?;
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
