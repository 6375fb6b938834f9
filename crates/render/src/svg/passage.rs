//! Running text with each unit on a ground by its score.

use super::measure::width;
use super::{AGAINST, FOR, MARGIN, Sheet, fill};
use crate::markup::Escaped;
use crate::passage::{Passage, passages as of};
use crate::scale::Scale;
use exegete_core::report::Attribution;
use unicode_segmentation::UnicodeSegmentation;

const SIZE: f64 = 16.0;
const LINE: f64 = 30.0;
const SPACE: f64 = 5.0;
/// Ground beyond the letters, left and right.
const PADDING: f64 = 2.5;

/// Where the next word goes.
struct Pen<'a> {
    sheet: &'a mut Sheet,
    x: f64,
    /// Lines of right-to-left text begin at the right edge.
    mirrored: bool,
}

/// The fields of a text, and how to read the colours.
pub(super) fn passages(sheet: &mut Sheet, attribution: &Attribution) {
    let scale = Scale::new(&attribution.values);
    let passages = of(attribution);
    for passage in &passages {
        if passages.len() > 1 {
            sheet.caption(passage.name, 11.0, "normal");
            sheet.skip(4.0);
        }
        self::passage(sheet, passage, &attribution.values, scale);
    }
    sheet.skip(10.0);
    sheet.caption(
        "solid line: for, dashed line: against; the stronger, the deeper the colour",
        10.0,
        "normal",
    );
}

fn passage(sheet: &mut Sheet, passage: &Passage<'_>, values: &[f64], scale: Scale) {
    sheet.skip(LINE * 0.75);
    let mut pen = Pen { sheet, x: MARGIN, mirrored: passage.begins_right() };
    for piece in &passage.pieces {
        let value = piece.unit.and_then(|unit| values.get(unit));
        let strength = value.map_or(0.0, |value| scale.strength(*value));
        for (index, line) in piece.text.split('\n').enumerate() {
            if index > 0 {
                pen.new_line();
            }
            for (index, word) in line.split(char::is_whitespace).enumerate() {
                if index > 0 {
                    pen.x += SPACE;
                }
                pen.word(word, strength);
            }
        }
    }
}

impl Pen<'_> {
    fn new_line(&mut self) {
        self.x = MARGIN;
        self.sheet.skip(LINE);
    }

    /// A word that no line can hold is drawn in pieces that one can.
    fn word(&mut self, word: &str, strength: f64) {
        let room = self.sheet.width - 2.0 * (MARGIN + PADDING);
        let mut piece = String::new();
        for grapheme in word.graphemes(true) {
            if !piece.is_empty() && width(&piece, SIZE) + width(grapheme, SIZE) > room {
                self.draw(&std::mem::take(&mut piece), strength);
            }
            piece.push_str(grapheme);
        }
        if !piece.is_empty() {
            self.draw(&piece, strength);
        }
    }

    fn draw(&mut self, word: &str, strength: f64) {
        let wide = width(word, SIZE) + 2.0 * PADDING;
        if self.x > MARGIN && self.x + wide > self.sheet.width - MARGIN {
            self.new_line();
        }
        let left = if self.mirrored { self.sheet.width - self.x - wide } else { self.x };
        self.ground(left, wide, strength);
        // The guessed width is an upper bound; letters in the middle of it look even on both sides.
        self.sheet.out += &format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{SIZE}\" text-anchor=\"middle\" fill=\"#000\">{}</text>\n",
            left + wide / 2.0,
            self.sheet.y,
            Escaped(word)
        );
        self.x += wide;
    }

    fn ground(&mut self, left: f64, wide: f64, strength: f64) {
        if strength.abs() < 0.02 {
            return;
        }
        let (y, fill) = (self.sheet.y, fill(strength));
        let (colour, dashes) =
            if strength < 0.0 { (AGAINST, " stroke-dasharray=\"4 2.5\"") } else { (FOR, "") };
        self.sheet.out += &format!(
            "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"{:.1}\" rx=\"2\" {fill}/>\n\
             <line x1=\"{left:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" stroke-width=\"1.5\"{dashes}/>\n",
            y - SIZE,
            SIZE * 1.35,
            y + SIZE * 0.42,
            left + wide,
            y + SIZE * 0.42
        );
    }
}
