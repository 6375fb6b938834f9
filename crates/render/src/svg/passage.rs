//! Running text with each unit on a ground by its score.

mod order;

use super::{AGAINST, FOR, MARGIN, Sheet, fill};
use crate::markup::Escaped;
use crate::measure::width;
use crate::passage::passages as of;
use crate::scale::Scale;
use crate::visible::{runs_left, visible};
use exegete_core::report::Attribution;
use unicode_segmentation::UnicodeSegmentation;

const SIZE: f64 = 16.0;
const LINE: f64 = 30.0;
const SPACE: f64 = 0.36 * SIZE;
/// Ground beyond the letters, left and right.
const PADDING: f64 = 2.5;
/// Weaker scores have no ground.
const WEAK: f64 = 0.04;

/// How a stretch of text looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Look {
    /// From −1 to 1: the ground.
    pub(super) strength: f64,
    /// Whether a line goes through it.
    pub(super) struck: bool,
}

/// Text without a ground.
pub(super) const PLAIN: Look = Look { strength: 0.0, struck: false };

/// A word or a piece of one, or a space.
#[derive(Debug, Clone, PartialEq)]
struct Word {
    /// Empty for a space.
    text: String,
    wide: f64,
    look: Look,
    /// Which way it reads; neither for spaces, signs and digits.
    right_to_left: Option<bool>,
}

impl Word {
    fn new(text: &str, look: Look) -> Self {
        let padding = if look.strength.abs() < WEAK { 0.0 } else { 2.0 * PADDING };
        let wide = if text.is_empty() { SPACE } else { width(text, SIZE) + padding };
        let right_to_left = text.chars().any(char::is_alphabetic).then(|| runs_left(text));
        Self { text: text.to_owned(), wide, look, right_to_left }
    }

    fn is_space(&self) -> bool {
        self.text.is_empty()
    }
}

/// The fields of a text.
pub(super) fn passages(sheet: &mut Sheet, attribution: &Attribution) {
    let scale = Scale::new(&attribution.values);
    let passages = of(&attribution.subject.input, &attribution.units);
    for passage in &passages {
        if passages.len() > 1 {
            sheet.caption(passage.name, 11.0, "normal");
            sheet.skip(4.0);
        }
        let strength = |unit: Option<usize>| {
            unit.and_then(|unit| attribution.values.get(unit)).map_or(0.0, |value| scale.strength(*value))
        };
        text(sheet, passage.pieces.iter().map(|p| (p.text, Look { strength: strength(p.unit), ..PLAIN })));
    }
}

/// Draws running text, one look a stretch.
pub(super) fn text<'a>(sheet: &mut Sheet, stretches: impl Iterator<Item = (&'a str, Look)>) {
    let room = sheet.width - 2.0 * MARGIN;
    for paragraph in paragraphs(stretches, room) {
        let from_right = paragraph.iter().find_map(|word| word.right_to_left) == Some(true);
        for line in lines(&paragraph, room) {
            draw(sheet, order::ordered(line, from_right), from_right);
        }
    }
}

/// The words between line breaks. A word that no line can hold comes in pieces that one can.
fn paragraphs<'a>(stretches: impl Iterator<Item = (&'a str, Look)>, room: f64) -> Vec<Vec<Word>> {
    let mut paragraphs = vec![Vec::new()];
    for (text, look) in stretches {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                paragraphs.push(Vec::new());
            }
            let Some(words) = paragraphs.last_mut() else { continue };
            for (index, word) in line.split(char::is_whitespace).enumerate() {
                words.extend((index > 0).then(|| Word::new("", look)));
                words.extend(pieces(&visible(word), room - 2.0 * PADDING).iter().map(|p| Word::new(p, look)));
            }
        }
    }
    paragraphs
}

fn pieces(word: &str, room: f64) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut used = f64::INFINITY;
    for grapheme in word.graphemes(true) {
        used += width(grapheme, SIZE);
        match pieces.last_mut().filter(|_| used <= room) {
            Some(piece) => piece.push_str(grapheme),
            None => {
                used = width(grapheme, SIZE);
                pieces.push(grapheme.to_owned());
            }
        }
    }
    pieces
}

/// Words that no space parts stay on one line where one can hold them.
fn lines(words: &[Word], room: f64) -> Vec<Vec<Word>> {
    let mut lines: Vec<Vec<Word>> = vec![Vec::new()];
    let mut used = 0.0;
    for run in words.chunk_by(|a, b| !a.is_space() && !b.is_space()) {
        let whole: f64 = run.iter().map(|word| word.wide).sum();
        let mut breaks = used + whole > room && whole <= room;
        for word in run {
            breaks |= used + word.wide > room;
            if breaks && used > 0.0 {
                lines.push(Vec::new());
                used = 0.0;
            }
            breaks = false;
            if let Some(line) = lines.last_mut().filter(|line| !word.is_space() || !line.is_empty()) {
                line.push(word.clone());
                used += word.wide;
            }
        }
    }
    lines
        .iter_mut()
        .for_each(|line| line.truncate(line.iter().rposition(|w| !w.is_space()).map_or(0, |at| at + 1)));
    lines.retain(|line| !line.is_empty());
    lines
}

fn draw(sheet: &mut Sheet, line: Vec<Word>, from_right: bool) {
    sheet.skip(LINE);
    let whole: f64 = line.iter().map(|word| word.wide).sum();
    let mut x = if from_right { sheet.width - MARGIN - whole } else { MARGIN };
    for word in line {
        ground(sheet, x, &word);
        if !word.is_space() {
            letters(sheet, x, &word);
        }
        if word.look.struck {
            strike(sheet, x, word.wide);
        }
        x += word.wide;
    }
}

/// Fonts that differ from the guess are stretched to it, so that words neither overlap nor drift apart.
fn letters(sheet: &mut Sheet, x: f64, word: &Word) {
    let length = width(&word.text, SIZE);
    let stretched = if length > 0.0 {
        format!(" textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\"")
    } else {
        String::new()
    };
    sheet.out += &format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{SIZE}\" text-anchor=\"middle\" fill=\"#000\"{stretched}>{}</text>\n",
        x + word.wide / 2.0,
        sheet.y,
        Escaped(&word.text)
    );
}

fn strike(sheet: &mut Sheet, x: f64, wide: f64) {
    let (y, right) = (sheet.y - SIZE * 0.32, x + wide);
    sheet.out += &format!(
        "<line x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\" stroke=\"#000\" stroke-width=\"1.5\"/>\n"
    );
}

fn ground(sheet: &mut Sheet, x: f64, word: &Word) {
    let Word { wide, look: Look { strength, .. }, .. } = *word;
    if strength.abs() < WEAK {
        return;
    }
    let (top, high, under) = (sheet.y - SIZE * 1.05, SIZE * 1.4, sheet.y + SIZE * 0.4);
    let (colour, dashes) = if strength < 0.0 { (AGAINST, " stroke-dasharray=\"4 2.5\"") } else { (FOR, "") };
    let (right, fill) = (x + wide, fill(strength));
    sheet.out += &format!(
        "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\" {fill}/>\n\
         <line x1=\"{x:.1}\" y1=\"{under:.1}\" x2=\"{right:.1}\" y2=\"{under:.1}\" stroke=\"{colour}\" stroke-width=\"1.5\"{dashes}/>\n"
    );
}
