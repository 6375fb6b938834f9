//! The user's text, cut at its units.

use exegete_core::Field;
use exegete_core::report::UnitText;

/// One field of the text.
pub(crate) struct Passage<'a> {
    /// The name of the field.
    pub(crate) name: &'a str,
    /// The text in order; put together they are the field.
    pub(crate) pieces: Vec<PassagePiece<'a>>,
}

/// A stretch of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PassagePiece<'a> {
    /// The text that the stretches lie in.
    pub(crate) text: &'a str,
    /// Which unit it is; none between units.
    pub(crate) unit: Option<usize>,
}

/// The fields with their units. Units of no field (a model that was given no text) come last, one after the other.
pub(crate) fn passages<'a>(input: &'a [Field], units: &'a [UnitText]) -> Vec<Passage<'a>> {
    let fields = input.iter().enumerate();
    let mut passages: Vec<_> = fields
        .map(|(index, field)| Passage { name: &field.name, pieces: cut(&field.text, index, units) })
        .collect();
    let homeless = units.iter().enumerate().filter(|(_, unit)| unit.field >= input.len());
    let pieces: Vec<_> = homeless
        .flat_map(|(index, unit)| {
            [PassagePiece { text: &unit.text, unit: Some(index) }, PassagePiece { text: " ", unit: None }]
        })
        .collect();
    if !pieces.is_empty() {
        passages.push(Passage { name: "units", pieces });
    }
    passages
}

/// Units that overlap keep what the one before left over; a unit outside the text has no piece.
fn cut<'a>(text: &'a str, field: usize, units: &[UnitText]) -> Vec<PassagePiece<'a>> {
    let mut order: Vec<_> = units.iter().enumerate().filter(|(_, unit)| unit.field == field).collect();
    order.sort_by_key(|(_, unit)| unit.start);
    let mut pieces = Vec::new();
    let mut done = 0;
    for (index, unit) in order {
        let start = unit.start.max(done);
        let (Some(between), Some(own)) = (text.get(done..start), text.get(start..unit.end)) else { continue };
        if own.is_empty() {
            continue;
        }
        if !between.is_empty() {
            pieces.push(PassagePiece { text: between, unit: None });
        }
        pieces.push(PassagePiece { text: own, unit: Some(index) });
        done = unit.end;
    }
    if let Some(rest) = text.get(done..).filter(|rest| !rest.is_empty()) {
        pieces.push(PassagePiece { text: rest, unit: None });
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_put_together_are_the_text() {
        let unit = |start, end| UnitText { text: String::new(), field: 0, start, end };
        for units in [
            vec![],
            vec![unit(0, 2), unit(3, 6)],
            vec![unit(3, 6), unit(0, 2)],
            vec![unit(0, 4), unit(2, 6), unit(2, 3)],
            vec![unit(1, 1), unit(5, 99), unit(7, 4), unit(usize::MAX, 0)],
            vec![unit(0, 3)],
        ] {
            let text = "né ça!";
            let pieces = cut(text, 0, &units);
            assert_eq!(pieces.iter().map(|p| p.text).collect::<String>(), text);
        }
    }
}
