mod found;

use exegete_core::report::{
    Attribution, Checks, Curve, Erasure, Item, Map, Report, Subject, Table, TokenText, UnitText,
};
use exegete_core::{Error, Result, Span};

/// Whether the lists of a report are as long as one another and its spans lie within the text.
pub(super) fn check(report: &Report) -> Result<()> {
    for (index, item) in report.items.iter().enumerate() {
        let checked = match item {
            Item::Attribution(attribution) => self::attribution(attribution),
            Item::Map(map) => self::map(map),
            Item::Table(table) => self::table(table),
            Item::Rule(rule) => found::rule(rule),
            Item::Edits(edits) => found::edits(edits),
        };
        checked.map_err(|error| error.at(format!("items[{index}]")))?;
    }
    Ok(())
}

fn attribution(attribution: &Attribution) -> Result<()> {
    let Attribution { subject, tokens, token_values, units, values, errors, checks, .. } = attribution;
    lengths("token_values", token_values.len(), "tokens", tokens.len())?;
    lengths("values", values.len(), "units", units.len())?;
    if !errors.is_empty() {
        lengths("errors", errors.len(), "units", units.len())?;
    }
    self::tokens(tokens, subject)?;
    units.iter().enumerate().try_for_each(|(index, unit)| self::unit(index, unit, subject))?;
    self::checks(checks, units.len()).map_err(|error| error.at("checks"))
}

fn map(map: &Map) -> Result<()> {
    tokens(&map.tokens, &map.subject)?;
    for (index, layer) in map.layers.iter().enumerate() {
        let name = format!("layers[{index}].token_values");
        lengths(&name, layer.token_values.len(), "tokens", map.tokens.len())?;
        if !layer.spread.is_empty() {
            lengths(&format!("layers[{index}].spread"), layer.spread.len(), "tokens", map.tokens.len())?;
        }
    }
    Ok(())
}

fn table(table: &Table) -> Result<()> {
    let row = |(index, row): (usize, &Vec<_>)| {
        lengths(&format!("rows[{index}]"), row.len(), "columns", table.columns.len())
    };
    table.rows.iter().enumerate().try_for_each(row)
}

fn tokens(tokens: &[TokenText], subject: &Subject) -> Result<()> {
    for (index, token) in tokens.iter().enumerate() {
        if let (Some(field), Some(start), Some(end)) = (token.field, token.start, token.end) {
            slice(subject, field, start, end).map_err(|error| error.at(format!("tokens[{index}]")))?;
        }
    }
    Ok(())
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
fn says(name: &str, given: &str, found: &str, Span { field, start, end }: Span) -> Result<()> {
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
fn slice(subject: &Subject, field: usize, start: usize, end: usize) -> Result<&str> {
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

fn checks(checks: &Checks, units: usize) -> Result<()> {
    let known = |name: &str, indices: &[usize]| known(name, indices, units);
    for (name, erasure) in
        [("comprehensiveness", &checks.comprehensiveness), ("sufficiency", &checks.sufficiency)]
    {
        erasure.as_ref().map_or(Ok(()), |erasure| self::erasure(erasure).map_err(|error| error.at(name)))?;
    }
    for (name, curve) in [("deletion", &checks.deletion), ("insertion", &checks.insertion)] {
        curve.as_ref().map_or(Ok(()), |curve| self::curve(curve).map_err(|error| error.at(name)))?;
    }
    if let Some(flip) = &checks.flip {
        known("flip", &flip.units)?;
    }
    if let Some(weighed) = &checks.leave_one_out {
        lengths("leave_one_out.drops", weighed.drops.len(), "measured", weighed.measured.len())?;
        known("leave_one_out", &weighed.measured)?;
    }
    Ok(())
}

fn known(name: &str, indices: &[usize], units: usize) -> Result<()> {
    match indices.iter().find(|index| **index >= units) {
        Some(index) => Err(Error::Input(format!("{name} names unit {index}, but there are {units} units"))),
        None => Ok(()),
    }
}

fn erasure(erasure: &Erasure) -> Result<()> {
    let Erasure { bins, own, reversed, random, .. } = erasure;
    lengths("own", own.values.len(), "bins", bins.len())?;
    lengths("reversed", reversed.values.len(), "bins", bins.len())?;
    let one = |(index, drop): (usize, &exegete_core::report::Drop)| {
        lengths(&format!("random[{index}]"), drop.values.len(), "bins", bins.len())
    };
    random.iter().enumerate().try_for_each(one)
}

fn curve(curve: &Curve) -> Result<()> {
    lengths("values", curve.values.len(), "shares", curve.shares.len())?;
    if curve.random.is_empty() {
        return Ok(());
    }
    lengths("random", curve.random.len(), "shares", curve.shares.len())
}

fn lengths(name: &str, found: usize, like: &str, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Input(format!("'{name}' has {found} entries, but '{like}' has {expected}")))
}
