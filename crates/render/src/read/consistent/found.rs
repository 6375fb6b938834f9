//! Rules and edits.

use super::{known, lengths, unit};
use exegete_core::report::{Edited, Edits, Rule, Subject, Swap};
use exegete_core::{Error, Field, Result, Span};

/// Conditions are units, and the texts have the fields of the original.
pub(super) fn rule(rule: &Rule) -> Result<()> {
    let Rule { subject, units, conditions, steps, keeps, breaks, .. } = rule;
    units.iter().enumerate().try_for_each(|(index, unit)| self::unit(index, unit, subject))?;
    known("conditions", conditions, units.len())?;
    for (index, step) in steps.iter().enumerate() {
        known(&format!("steps[{index}]"), &step.conditions, units.len())?;
    }
    for (name, texts) in [("keeps", keeps), ("breaks", breaks)] {
        for (index, text) in texts.iter().enumerate() {
            fields(&format!("{name}[{index}]"), text, subject)?;
        }
    }
    Ok(())
}

/// Changes lie within the original, say what stood there, and come in its order.
pub(super) fn edits(edits: &Edits) -> Result<()> {
    for (index, edited) in edits.found.iter().enumerate() {
        self::edited(edited, &edits.subject).map_err(|error| error.at(format!("found[{index}]")))?;
    }
    match edits.random {
        Some(chance) if chance.hits > chance.trials => {
            Err(Error::Input(format!("random has {} hits in {} trials", chance.hits, chance.trials)))
        }
        _ => Ok(()),
    }
}

fn edited(edited: &Edited, subject: &Subject) -> Result<()> {
    fields("input", &edited.input, subject)?;
    let mut done = (0, 0);
    for (index, swap) in edited.swaps.iter().enumerate() {
        self::swap(swap, subject).map_err(|error| error.at(format!("swaps[{index}]")))?;
        if (swap.field, swap.start) < done {
            return Err(Error::Input(format!(
                "swaps[{index}] begins before the one before it ends; they must be in the order of the original text"
            )));
        }
        done = (swap.field, swap.end);
    }
    Ok(())
}

fn swap(swap: &Swap, subject: &Subject) -> Result<()> {
    let Swap { field, start, end, before, .. } = swap;
    let found = super::slice(subject, *field, *start, *end)?;
    let text = &subject.input[*field].text;
    if !text.is_char_boundary(*start) || !text.is_char_boundary(*end) {
        return Err(Error::Input(format!(
            "bytes {start} to {end} of field {field} cut a character; offsets count bytes, not characters"
        )));
    }
    super::says("'before'", before, found, Span { field: *field, start: *start, end: *end })
}

fn fields(name: &str, text: &[Field], subject: &Subject) -> Result<()> {
    lengths(name, text.len(), "input of the item", subject.input.len())
}
