//! What the items of a report promise alike: lists as long as one another, spans within the text.

use super::{Subject, TokenText, UnitText};
use crate::{Error, Field, Result, Span};

pub(super) fn tokens(tokens: &[TokenText], subject: &Subject) -> Result<()> {
    for (index, token) in tokens.iter().enumerate() {
        if let (Some(field), Some(start), Some(end)) = (token.field, token.start, token.end) {
            slice(subject, field, start, end).map_err(|error| error.at(format!("tokens[{index}]")))?;
        }
    }
    Ok(())
}

pub(super) fn units(units: &[UnitText], subject: &Subject) -> Result<()> {
    units.iter().enumerate().try_for_each(|(index, unit)| self::unit(index, unit, subject))
}

fn unit(index: usize, unit: &UnitText, subject: &Subject) -> Result<()> {
    // A model that was given no text has units that point nowhere.
    if subject.input.is_empty() {
        return Ok(());
    }
    let UnitText { text, field, start, end } = unit;
    let found = slice(subject, *field, *start, *end).map_err(|error| error.at(format!("units[{index}]")))?;
    says(&format!("units[{index}]"), text, found, Span { field: *field, start: *start, end: *end })
}

/// Whether the text that is given is what stands there.
pub(super) fn says(name: &str, given: &str, found: &str, Span { field, start, end }: Span) -> Result<()> {
    if found == given {
        return Ok(());
    }
    let [given, found] =
        [given, found].map(|t| t.chars().take(40).collect::<String>().escape_default().to_string());
    Err(Error::Input(format!(
        "{name} says '{given}', but bytes {start} to {end} of field {field} are '{found}'; offsets count bytes, not characters"
    )))
}

/// As when the report was made, a span that cuts a character is empty.
pub(super) fn slice(subject: &Subject, field: usize, start: usize, end: usize) -> Result<&str> {
    let fields = subject.input.len();
    let Some(whole) = subject.input.get(field) else {
        return Err(Error::Input(format!("field {field} does not exist; 'input' has {fields}")));
    };
    if start > end || end > whole.text.len() {
        let bytes = whole.text.len();
        return Err(Error::Input(format!(
            "bytes {start} to {end} lie outside field {field} of {bytes} bytes"
        )));
    }
    Ok(whole.text.get(start..end).unwrap_or(""))
}

pub(super) fn known(name: &str, indices: &[usize], units: usize) -> Result<()> {
    match indices.iter().find(|index| **index >= units) {
        Some(index) => Err(Error::Input(format!("{name} names unit {index}, but there are {units} units"))),
        None => Ok(()),
    }
}

/// A text has the fields of the original.
pub(super) fn fields(name: &str, text: &[Field], subject: &Subject) -> Result<()> {
    lengths(name, text.len(), "input of the item", subject.input.len())
}

pub(super) fn lengths(name: &str, found: usize, like: &str, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Input(format!("'{name}' has {found} entries, but '{like}' has {expected}")))
}
