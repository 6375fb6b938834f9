//! Answers to questions about stories, by replaying them.

use crate::reader::{Answer, Read, hold};
use std::collections::BTreeMap;

const PLACE: [&str; 6] = ["bathroom", "hallway", "garden", "office", "bedroom", "kitchen"];
const THING: [&str; 3] = ["apple", "football", "milk"];
const PERSON: [&str; 4] = ["mary", "john", "daniel", "sandra"];
const MOVE: [&str; 4] = ["moved to", "went to", "walked to", "travelled to"];
const TAKE: [&str; 3] = ["took", "grabbed", "got"];
const DROP: [&str; 3] = ["dropped", "left", "discarded"];

/// A sentence with its bytes.
#[derive(Clone, Copy)]
struct Said<'a> {
    who: &'a str,
    verb: &'a str,
    what: &'a str,
    range: (usize, usize),
}

/// The place that answers a question, and the sentences that say so.
pub(crate) fn answer(set: &str, text: &str, question: &str) -> Read<Answer> {
    let story = sentences(text)?;
    // Rows by hand may be shorter than generated ones.
    let most = BTreeMap::from([("babi1", 10), ("babi2", 14), ("babi3", 20)])[set];
    hold((2..=most).contains(&story.len()), "number of sentences")?;
    replay(&story, set != "babi1")?;
    let words: Vec<&str> = question.split(' ').collect();
    let (label, mut by) = match (set, &words[..]) {
        ("babi1", ["where", "is", person]) => {
            let moves = moves(&story, person);
            let last = moves.last().ok_or("asks for somebody who is not there")?;
            (last.what, vec![last.range])
        }
        ("babi2", ["where", "is", "the", thing]) => {
            let (taken, moves) = held(&story, thing)?;
            let last = moves.last().ok_or("was never anywhere")?;
            (last.what, vec![taken.range, last.range])
        }
        ("babi3", ["where", "was", "the", thing, "before", "the", place]) => {
            let (taken, moves) = held(&story, thing)?;
            hold(moves.len() >= 2, "two moves")?;
            let (before, last) = (moves[moves.len() - 2], moves[moves.len() - 1]);
            hold(last.what == *place && last.range > taken.range, "moved to the place since the taking")?;
            (before.what, vec![taken.range, before.range, last.range])
        }
        _ => return Err("asks something else".to_owned()),
    };
    by.sort_unstable();
    let truth: Vec<String> = by.iter().map(|(from, to)| format!("0:{from}-{to}")).collect();
    Ok([label.to_owned(), truth.join(" ")])
}

fn sentences(text: &str) -> Read<Vec<Said<'_>>> {
    let body = text.strip_suffix(" .").ok_or("does not end in a full stop")?;
    let mut from = 0;
    let mut story = Vec::new();
    for sentence in body.split(" . ") {
        let (before, what) = sentence.rsplit_once(" the ").ok_or("has a sentence without an object")?;
        let (who, verb) = before.split_once(' ').ok_or("has a sentence without a verb")?;
        story.push(Said { who, verb, what, range: (from, from + sentence.len()) });
        from += sentence.len() + 3;
    }
    Ok(story)
}

/// Every sentence must be possible where the story has come to.
fn replay(story: &[Said<'_>], with_things: bool) -> Read<()> {
    let (mut at, mut holder, mut lies) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for &Said { who, verb, what, .. } in story {
        hold(PERSON.contains(&who), "a person")?;
        if MOVE.contains(&verb) {
            hold(PLACE.contains(&what), "a place")?;
            hold(at.insert(who, what) != Some(what), "always to another place")?;
            continue;
        }
        hold(with_things && THING.contains(&what), "a thing")?;
        let here = *at.get(who).ok_or("handles a thing before being anywhere")?;
        if TAKE.contains(&verb) {
            hold(holder.insert(what, who).is_none(), "taken when free")?;
            hold(lies.get(what).is_none_or(|place| *place == here), "taken where it lies")?;
        } else {
            hold(DROP.contains(&verb), "a verb")?;
            hold(holder.remove(what) == Some(who), "dropped by its holder")?;
            lies.insert(what, here);
        }
    }
    Ok(())
}

fn moves<'a>(story: &[Said<'a>], person: &str) -> Vec<Said<'a>> {
    story.iter().filter(|said| said.who == person && MOVE.contains(&said.verb)).copied().collect()
}

/// The last taking of a thing that is held at the end, and the moves of its holder.
fn held<'a>(story: &[Said<'a>], thing: &str) -> Read<(Said<'a>, Vec<Said<'a>>)> {
    let last = story.iter().rfind(|said| said.what == thing).copied().ok_or("asks for what is not there")?;
    hold(TAKE.contains(&last.verb), "held at the end")?;
    Ok((last, moves(story, last.who)))
}
