//! Label and truth of a generated text, read off the text.

use crate::stories;
use exegete_methods::data::words::FILLERS;

/// What a text must be followed by: label and truth, or target and alignment.
pub(crate) type Answer = [String; 2];
pub(crate) type Read<T> = Result<T, String>;

pub(crate) const POS: [&str; 10] =
    ["good", "great", "lovely", "superb", "warm", "honest", "brilliant", "charming", "funny", "wise"];
const NEG: [&str; 10] =
    ["bad", "awful", "boring", "poor", "cold", "false", "dreadful", "clumsy", "dull", "weak"];
const COLOUR: [&str; 10] =
    ["red", "blue", "green", "yellow", "black", "white", "brown", "grey", "pink", "purple"];
const ANIMAL: [&str; 10] = ["lion", "tiger", "bear", "wolf", "fox", "horse", "sheep", "goat", "duck", "swan"];
const MALE: [&str; 4] = ["he", "him", "his", "himself"];
const FEMALE: [&str; 4] = ["she", "her", "hers", "herself"];
const ASPECT: [&str; 6] = ["food", "service", "staff", "price", "place", "music"];
const NAME: &str = "anna boris clara david emma felix greta henry irene jacob karen lucas maria nora oscar paula ralph sofia \
                    tomas vera";
const NOUN: [&str; 10] =
    ["key", "cabinet", "dog", "boat", "author", "picture", "guard", "senator", "label", "bottle"];

/// Reads the fields of a row.
pub(crate) fn expected(set: &str, fields: &[&str]) -> Read<Answer> {
    let text = Text::new(fields[0])?;
    match set {
        "keyword" => keyword(&text),
        "negation" => negation(&text),
        "conflict" => conflict(&text),
        "first_last" => first_last(&text),
        "pronoun" => pronoun(&text),
        "aspect" => aspect(&text, fields[1]),
        "babi1" | "babi2" | "babi3" => stories::answer(set, fields[0], fields[1]),
        "copy" | "reverse" | "bigram_flip" => sequence(set, &text),
        "brackets" => brackets(&text),
        "name_copy" => name_copy(&text),
        "key_value" => key_value(&text),
        "agreement" => agreement(&text),
        _ => Err("is not known".to_owned()),
    }
}

pub(crate) fn hold(condition: bool, rule: &str) -> Read<()> {
    if condition { Ok(()) } else { Err(format!("breaks: {rule}")) }
}

/// Words and where they begin.
struct Text<'a> {
    words: Vec<&'a str>,
    starts: Vec<usize>,
}

impl<'a> Text<'a> {
    fn new(text: &'a str) -> Read<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        hold(text.is_ascii() && words.iter().all(|word| !word.is_empty()), "one blank between words, ASCII")?;
        // A word begins where a text does, or after a blank.
        let starts = (0..text.len()).filter(|&at| at == 0 || text.as_bytes()[at - 1] == b' ').collect();
        Ok(Self { words, starts })
    }

    fn bytes(&self, places: &[usize]) -> String {
        let range = |&at: &usize| format!("{}-{}", self.starts[at], self.starts[at] + self.words[at].len());
        places.iter().map(range).collect::<Vec<_>>().join(" ")
    }

    fn places(&self, list: &[&str]) -> Vec<usize> {
        (0..self.words.len()).filter(|&at| list.contains(&self.words[at])).collect()
    }

    /// Between so many words, all of them neutral but for those at some places.
    fn filled(&self, (least, most): (usize, usize), but_for: &[usize]) -> Read<()> {
        hold((least..=most).contains(&self.words.len()), "number of words")?;
        let neutral = |at: usize| but_for.contains(&at) || FILLERS.contains(&self.words[at]);
        hold((0..self.words.len()).all(neutral), "neutral words")
    }

    fn answer(&self, label: &str, places: &[usize]) -> Read<Answer> {
        Ok([label.to_owned(), self.bytes(places)])
    }
}

fn sign(positive: bool) -> &'static str {
    ["negative", "positive"][usize::from(positive)]
}

fn one(places: &[usize]) -> Read<usize> {
    hold(places.len() == 1, "exactly one")?;
    Ok(places[0])
}

fn keyword(text: &Text<'_>) -> Read<Answer> {
    let at = one(&text.places(&[POS, NEG].concat()))?;
    text.filled((10, 30), &[at])?;
    text.answer(sign(POS.contains(&text.words[at])), &[at])
}

fn negation(text: &Text<'_>) -> Read<Answer> {
    let (at, nots) = (one(&text.places(&[POS, NEG].concat()))?, text.places(&["not"]));
    hold(nots.len() <= 1, "one 'not' at most")?;
    text.filled((10, 30), &[nots.clone(), vec![at]].concat())?;
    let positive = POS.contains(&text.words[at]);
    match nots.first() {
        Some(&not) if not + 1 == at => text.answer(sign(!positive), &[not, at]),
        _ => text.answer(sign(positive), &[at]),
    }
}

fn conflict(text: &Text<'_>) -> Read<Answer> {
    let (but, signed) = (one(&text.places(&["but"]))?, text.places(&[POS, NEG].concat()));
    hold(signed.len() == 2 && signed[0] < but && but < signed[1], "one on either side")?;
    text.filled((10, 30), &[signed[0], but, signed[1]])?;
    text.answer(sign(POS.contains(&text.words[signed[1]])), &signed[1..])
}

fn first_last(text: &Text<'_>) -> Read<Answer> {
    let (listed, last) = (text.places(&[COLOUR, ANIMAL].concat()), text.words.len() - 1);
    hold(listed.len() == 4 && listed[0] == 0 && listed[3] == last, "first, last and two between")?;
    text.filled((10, 30), &listed)?;
    let colour = |at: usize| COLOUR.contains(&text.words[at]);
    text.answer(if colour(0) == colour(last) { "same" } else { "different" }, &[0, last])
}

fn pronoun(text: &Text<'_>) -> Read<Answer> {
    let at = one(&text.places(&[MALE, FEMALE].concat()))?;
    text.filled((6, 20), &[at])?;
    text.answer(if MALE.contains(&text.words[at]) { "M" } else { "F" }, &[at])
}

/// A clause from a place on: its aspect and the place of its opinion.
fn clause<'a>(text: &Text<'a>, from: usize) -> Read<(&'a str, usize)> {
    let word = |at: usize| text.words.get(from + at).copied().unwrap_or_default();
    hold(word(0) == "the" && ASPECT.contains(&word(1)) && word(2) == "was", "the ASPECT was")?;
    let opinion = if ["very", "quite", "rather"].contains(&word(3)) { 4 } else { 3 };
    hold([POS, NEG].concat().contains(&word(opinion)), "an opinion")?;
    Ok((word(1), from + opinion))
}

fn aspect(text: &Text<'_>, asked: &str) -> Read<Answer> {
    let first = clause(text, 0)?;
    let joint = text.words.get(first.1 + 1).copied().unwrap_or_default();
    hold(["and", "but", ","].contains(&joint), "a word that joins")?;
    let second = clause(text, first.1 + 2)?;
    hold(second.1 + 1 == text.words.len() && first.0 != second.0, "two clauses about two aspects")?;
    let found = [first, second].into_iter().find(|(aspect, _)| *aspect == asked);
    let (_, at) = found.ok_or("asks for an aspect that there is not")?;
    let [label, truth] = text.answer(sign(POS.contains(&text.words[at])), &[at])?;
    Ok([label, format!("0:{truth}")])
}

fn sequence(set: &str, text: &Text<'_>) -> Read<Answer> {
    let count = text.words.len();
    let known = |word: &&str| word.len() == 3 && word[1..].parse::<u8>().is_ok() && word.starts_with('w');
    hold((2..=10).contains(&count) && text.words.iter().all(known), "2 to 10 words wNN")?;
    hold(set != "bigram_flip" || count.is_multiple_of(2), "even lengths")?;
    let mut target = text.words.clone();
    match set {
        "reverse" => target.reverse(),
        "bigram_flip" => target.chunks_mut(2).for_each(|pair| pair.swap(0, 1)),
        _ => {}
    }
    let to = |i: usize| match set {
        "reverse" => count - 1 - i,
        "bigram_flip" if i.is_multiple_of(2) => i + 1,
        "bigram_flip" => i - 1,
        _ => i,
    };
    let alignment: Vec<String> = (0..count).map(|i| format!("{i}-{}", to(i))).collect();
    Ok([target.join(" "), alignment.join(" ")])
}

fn brackets(text: &Text<'_>) -> Read<Answer> {
    hold((4..=30).contains(&text.words.len()), "4 to 30 brackets")?;
    let (mut open, mut wrong, mut deepest) = (Vec::new(), Vec::new(), 0);
    for (at, word) in text.words.iter().enumerate() {
        match *word {
            "(" | "[" => open.push(at),
            ")" | "]" => {
                let partner = open.pop().ok_or("closes what is not open")?;
                if !["()", "[]"].contains(&format!("{}{word}", text.words[partner]).as_str()) {
                    wrong.push([partner, at]);
                }
            }
            _ => return Err("is no bracket".to_owned()),
        }
        deepest = deepest.max(open.len());
    }
    hold(open.is_empty() && deepest <= 8 && wrong.len() <= 1, "nested, at most 8 deep, at most one fault")?;
    match wrong.first() {
        None => text.answer("1", &[]),
        Some(pair) => text.answer("0", pair),
    }
}

fn name_copy(text: &Text<'_>) -> Read<Answer> {
    let (my, named) = (one(&text.places(&["my"]))?, one(&text.places(&["named"]))?);
    let word = |at: usize| text.words.get(at).copied().unwrap_or_default();
    let phrase = |from: usize, words: &str| words.split(' ').enumerate().all(|(at, w)| word(from + at) == w);
    let end = text.words.len().saturating_sub(4);
    hold(phrase(my, "my name is") && named >= 2 && phrase(named - 2, "a friend named"), "both phrases")?;
    hold(phrase(end, "so they call me"), "its end")?;
    let (name, other) = (word(my + 3), word(named + 1));
    let known = |name: &str| NAME.split_whitespace().any(|known| known == name);
    hold(known(name) && known(other) && name != other, "two names")?;
    let [first, second] = if my < named { [my, named - 2] } else { [named - 2, my] };
    let gaps = [0..first, first + 4..second, second + 4..end];
    for gap in gaps {
        hold((2..=5).contains(&gap.len()), "2 to 5 neutral words")?;
        hold(text.words[gap].iter().all(|word| FILLERS.contains(word)), "neutral words")?;
    }
    text.answer(name, &[my + 3])
}

fn key_value(text: &Text<'_>) -> Read<Answer> {
    let mark = one(&text.places(&["?"]))?;
    let code = |word: &str, letter: char| {
        word.len() == 3 && word.starts_with(letter) && word[1..].parse::<u8>().is_ok_and(|code| code < 16)
    };
    let (list, asked) = (&text.words[..mark], &text.words[mark + 1..]);
    hold(list.len().is_multiple_of(2) && (2..=6).contains(&(list.len() / 2)), "2 to 6 pairs")?;
    hold(list.chunks(2).all(|pair| code(pair[0], 'k') && code(pair[1], 'v')), "kII vJJ")?;
    let find = |key: &str| {
        let places: Vec<usize> = (0..list.len()).step_by(2).filter(|&at| list[at] == key).collect();
        one(&places)
    };
    list.chunks(2).try_for_each(|pair| find(pair[0]).map(drop))?;
    let (last, before) = asked.split_last().ok_or("asks nothing")?;
    hold(before.len().is_multiple_of(2), "pairs, then a key")?;
    for pair in before.chunks(2) {
        hold(pair[0] != *last && list[find(pair[0])? + 1] == pair[1], "other keys with their values")?;
    }
    let at = find(last)?;
    text.answer(list[at + 1], &[at, at + 1])
}

fn agreement(text: &Text<'_>) -> Read<Answer> {
    let plural = |word: &str| match word.strip_suffix('s').filter(|stem| NOUN.contains(stem)) {
        Some(_) => Ok(true),
        None => hold(NOUN.contains(&word), "a noun").map(|()| false),
    };
    hold(text.words.len() % 3 == 2 && text.words.len() <= 8, "the NOUN, then PREP the NOUN")?;
    for (at, word) in text.words.iter().enumerate() {
        match at % 3 {
            0 => hold(*word == "the", "the")?,
            1 => drop(plural(word)?),
            _ => hold(["near", "behind", "beside", "above"].contains(word), "a preposition")?,
        }
    }
    text.answer(if plural(text.words[1])? { "are" } else { "is" }, &[1])
}
