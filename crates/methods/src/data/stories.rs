//! Stories of persons, places and things with one, two or three sentences that answer a question. After J. Weston et al.,
//! "Towards AI-complete question answering: a set of prerequisite toy tasks", ICLR 2016, tasks 1 to 3.

use super::words::{DROPS, MOVES, PERSONS, PLACES, TAKES, THINGS};
use super::{GeneratedRow, GeneratedSet, Grammar, LabelledRow, PAIR, RowDraws, length, lengths};
use crate::{Arguments, Parameter};
use exegete_core::{Result, Span};

/// Persons move about, and the question is where one of them is.
pub(super) const BABI1: GeneratedSet = GeneratedSet {
    name: "babi1",
    summary: "persons who move about; where one of them is, by one sentence",
    columns: PAIR,
    has_lines: false,
    parameters: &LENGTHS_1,
    new: |arguments| story(arguments, false, whereabouts),
};

/// Persons carry things about, and the question is where a thing is.
pub(super) const BABI2: GeneratedSet = GeneratedSet {
    name: "babi2",
    summary: "they also take and drop things; where a thing is, by two sentences",
    parameters: &LENGTHS_2,
    new: |arguments| story(arguments, true, present),
    ..BABI1
};

/// Persons carry things about, and the question is where a thing was before.
pub(super) const BABI3: GeneratedSet = GeneratedSet {
    name: "babi3",
    summary: "the same; where a thing was before a place, by three sentences",
    parameters: &LENGTHS_3,
    new: |arguments| story(arguments, true, past),
    ..BABI1
};

const LENGTHS_1: [Parameter; 2] = lengths(1, 1000, (2, 10));
const LENGTHS_2: [Parameter; 2] = lengths(2, 1000, (4, 14));
const LENGTHS_3: [Parameter; 2] = lengths(3, 1000, (6, 20));

/// A question about a story, where it has one.
type Ask = fn(&Story, &mut RowDraws) -> Option<Asked>;

struct Asked {
    question: String,
    /// The place that answers it.
    answer: usize,
    /// The sentences by which it does.
    by: Vec<usize>,
}

fn story(arguments: &mut Arguments, with_things: bool, ask: Ask) -> Result<Grammar> {
    let length = length(arguments)?;
    Ok(Box::new(move |draws| {
        let count = draws.between(length);
        // Stories without an answer are drawn again; of the fewest sentences that babi3 takes, three, one story in 64 has one.
        loop {
            let story = Story::tell(draws, count, with_things);
            if let Some(asked) = ask(&story, draws) {
                return GeneratedRow::Labelled(story.row(asked));
            }
        }
    }))
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Deed {
    Moves(usize),
    Takes(usize),
    Drops(usize),
}

/// What has happened, and how things stand after it.
#[derive(Default)]
struct Story {
    text: String,
    /// Who did what, and the bytes that say it.
    sentences: Vec<(usize, Deed, Span)>,
    /// Where each person is, once that is known.
    places: [Option<usize>; PERSONS.len()],
    holders: [Option<usize>; THINGS.len()],
    /// Where a thing was dropped; one that never was may be found anywhere.
    dropped: [Option<usize>; THINGS.len()],
}

/// Sentences in which somebody moves, with where to.
type Moves = Vec<(usize, usize)>;

impl Story {
    fn tell(draws: &mut RowDraws, sentences: usize, with_things: bool) -> Self {
        let mut story = Self::default();
        for _ in 0..sentences {
            let person = draws.below(PERSONS.len());
            let handled = (with_things && draws.coin()).then(|| story.possible(person));
            let deed = match handled {
                Some(deeds) if !deeds.is_empty() => draws.pick(&deeds),
                _ => Deed::Moves(another_place(draws, story.places[person])),
            };
            story.add(draws, person, deed);
        }
        story
    }

    /// What a person can do with things where they are.
    fn possible(&self, person: usize) -> Vec<Deed> {
        let Some(place) = self.places[person] else { return Vec::new() };
        let deed = |thing: usize| match (self.holders[thing], self.dropped[thing]) {
            (Some(holder), _) => (holder == person).then_some(Deed::Drops(thing)),
            (None, Some(other)) if other != place => None,
            (None, _) => Some(Deed::Takes(thing)),
        };
        (0..THINGS.len()).filter_map(deed).collect()
    }

    fn add(&mut self, draws: &mut RowDraws, person: usize, deed: Deed) {
        let (verb, object) = match deed {
            Deed::Moves(place) => {
                self.places[person] = Some(place);
                (draws.pick(&MOVES), PLACES[place])
            }
            Deed::Takes(thing) => {
                self.holders[thing] = Some(person);
                (draws.pick(&TAKES), THINGS[thing])
            }
            Deed::Drops(thing) => {
                (self.holders[thing], self.dropped[thing]) = (None, self.places[person]);
                (draws.pick(&DROPS), THINGS[thing])
            }
        };
        let start = if self.text.is_empty() { 0 } else { self.text.len() + 1 };
        let said = format!("{} {verb} the {object}", PERSONS[person]);
        self.sentences.push((person, deed, Span { field: 0, start, end: start + said.len() }));
        self.text += if start == 0 { "" } else { " " };
        self.text += &said;
        self.text += " .";
    }

    /// The sentences in which a person moves, with where to.
    fn moves(&self, person: usize) -> Moves {
        let to = |(at, &(who, deed, _)): (usize, &(usize, Deed, Span))| match deed {
            Deed::Moves(place) if who == person => Some((at, place)),
            _ => None,
        };
        self.sentences.iter().enumerate().filter_map(to).collect()
    }

    /// Every thing that is held at the end, with the sentence of its last taking and the moves of its holder.
    fn held(&self) -> Vec<(usize, usize, Moves)> {
        let held = |thing: usize| {
            let holder = self.holders[thing]?;
            let taken = self.sentences.iter().rposition(|&(_, deed, _)| deed == Deed::Takes(thing))?;
            Some((thing, taken, self.moves(holder)))
        };
        (0..THINGS.len()).filter_map(held).collect()
    }

    fn row(self, asked: Asked) -> LabelledRow {
        let mut by = asked.by;
        by.sort_unstable();
        LabelledRow {
            pair: Some(asked.question),
            label: PLACES[asked.answer].to_owned(),
            truth: by.into_iter().map(|at| self.sentences[at].2).collect(),
            text: self.text,
            line: None,
        }
    }
}

fn another_place(draws: &mut RowDraws, place: Option<usize>) -> usize {
    match place {
        None => draws.below(PLACES.len()),
        Some(place) => (place + 1 + draws.below(PLACES.len() - 1)) % PLACES.len(),
    }
}

/// `babi1`: the last move of somebody who occurs.
fn whereabouts(story: &Story, draws: &mut RowDraws) -> Option<Asked> {
    let occurring: Vec<usize> = (0..PERSONS.len()).filter(|&person| story.places[person].is_some()).collect();
    let person = draws.pick(&occurring);
    let &(at, answer) = story.moves(person).last()?;
    Some(Asked { question: format!("where is {}", PERSONS[person]), answer, by: vec![at] })
}

/// `babi2`: the last move of whoever holds a thing.
fn present(story: &Story, draws: &mut RowDraws) -> Option<Asked> {
    let held = story.held();
    let (thing, taken, moves) = held.get(draws.below(held.len().max(1)))?;
    let &(at, answer) = moves.last()?;
    Some(Asked { question: format!("where is the {}", THINGS[*thing]), answer, by: vec![*taken, at] })
}

/// `babi3`: the last move but one, where the holder has moved since the taking.
fn past(story: &Story, draws: &mut RowDraws) -> Option<Asked> {
    let mut held = story.held();
    held.retain(|(_, taken, moves)| moves.last().is_some_and(|(at, _)| at > taken));
    let (thing, taken, moves) = held.get(draws.below(held.len().max(1)))?;
    let &[.., (before, answer), (at, place)] = &moves[..] else { return None };
    let question = format!("where was the {} before the {}", THINGS[*thing], PLACES[place]);
    Some(Asked { question, answer, by: vec![*taken, before, at] })
}
