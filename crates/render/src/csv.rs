//! Scores as rows for spreadsheets and data frames.
//!
//! A report with items of several kinds becomes several tables with an empty line between them.

mod edits;
mod rules;

use exegete_core::report::{Attribution, Cell, Item, Map, MapLayer, Report, Spread, Table, TokenText};

const UNIT_HEAD: [&str; 10] =
    ["item", "method", "target", "unit", "text", "field", "start", "end", "value", "error"];
const MAP_HEAD: [&str; 17] = [
    "item", "method", "target", "site", "token", "piece", "text", "field", "start", "end", "value", "min",
    "lower", "median", "upper", "max", "entropy",
];

/// A row under construction.
type Row = Vec<String>;

/// A report's scores.
pub(crate) fn render(report: &Report) -> String {
    let mut units = Vec::new();
    let mut cells = Vec::new();
    let mut rules = Vec::new();
    let mut edits = Vec::new();
    let mut tables = Vec::new();
    for (index, item) in report.items.iter().enumerate() {
        match item {
            Item::Attribution(attribution) => units.extend(self::units(index, attribution)),
            Item::Map(map) => cells.extend(self::cells(index, map)),
            Item::Table(table) => tables.push(self::table(table)),
            Item::Rule(rule) => rules.extend(rules::rows(index, rule)),
            Item::Edits(found) => edits.extend(edits::rows(index, found)),
        }
    }
    let has = |wanted: fn(&Item) -> bool| report.items.iter().any(wanted);
    let mut documents = Vec::new();
    if has(|item| matches!(item, Item::Attribution(_))) || report.items.is_empty() {
        documents.push(document(&UNIT_HEAD.map(str::to_owned), &units));
    }
    if has(|item| matches!(item, Item::Map(_))) {
        documents.push(document(&MAP_HEAD.map(str::to_owned), &cells));
    }
    if has(|item| matches!(item, Item::Rule(_))) {
        documents.push(document(&rules::HEAD.map(str::to_owned), &rules));
    }
    if has(|item| matches!(item, Item::Edits(_))) {
        documents.push(document(&edits::HEAD.map(str::to_owned), &edits));
    }
    documents.extend(tables);
    documents.join("\n")
}

fn units(item: usize, attribution: &Attribution) -> Vec<Row> {
    let Attribution { subject, units, values, errors, .. } = attribution;
    let row = |(index, unit): (usize, &exegete_core::report::UnitText)| {
        let field = subject.input.get(unit.field).map_or_else(String::new, |field| word(&field.name));
        let [start, end] = [unit.start, unit.end].map(|at| at.to_string());
        let [value, error] =
            [values, errors].map(|from| from.get(index).map_or_else(String::new, |v| number(*v)));
        let head = [item.to_string(), word(&subject.method), word(&subject.target), index.to_string()];
        head.into_iter().chain([word(&unit.text), field, start, end, value, error]).collect()
    };
    units.iter().enumerate().map(row).collect()
}

fn cells(item: usize, map: &Map) -> Vec<Row> {
    map.layers.iter().flat_map(|layer| self::layer(item, map, layer)).collect()
}

fn layer(item: usize, map: &Map, layer: &MapLayer) -> Vec<Row> {
    let row = |(index, token): (usize, &TokenText)| {
        let subject = &map.subject;
        let head = [item.to_string(), word(&subject.method), word(&subject.target), word(&layer.site)];
        let name = token
            .field
            .and_then(|field| subject.input.get(field))
            .map_or_else(String::new, |f| word(&f.name));
        let [start, end] =
            [token.start, token.end].map(|at| at.map_or_else(String::new, |at| at.to_string()));
        let text = token.text.as_deref().map_or_else(String::new, word);
        let value = layer.token_values.get(index).map_or_else(String::new, |v| number(*v));
        let token = [index.to_string(), word(&token.piece), text, name, start, end, value];
        head.into_iter().chain(token).chain(spread(layer.spread.get(index))).collect()
    };
    map.tokens.iter().enumerate().map(row).collect()
}

fn spread(spread: Option<&Spread>) -> [String; 6] {
    spread
        .map_or_else(Default::default, |s| [s.min, s.lower, s.median, s.upper, s.max, s.entropy].map(number))
}

/// A column of estimates becomes two, so that every cell holds one number.
fn table(table: &Table) -> String {
    let estimated =
        |column: &usize| table.rows.iter().any(|row| matches!(row.get(*column), Some(Cell::Estimate { .. })));
    let columns = table.rows.iter().map(Vec::len).fold(table.columns.len(), usize::max);
    let (mut head, mut rows) = (Row::new(), vec![Row::new(); table.rows.len()]);
    for column in 0..columns {
        let name = table.columns.get(column).map_or_else(String::new, |name| word(name));
        let estimated = estimated(&column);
        head.push(name.clone());
        head.extend(estimated.then(|| format!("{name}_error")));
        for (row, cells) in rows.iter_mut().zip(&table.rows) {
            let (value, error) = cell(cells.get(column));
            row.push(value);
            row.extend(estimated.then_some(error));
        }
    }
    document(&head, &rows)
}

fn cell(cell: Option<&Cell>) -> (String, String) {
    match cell {
        Some(Cell::Estimate { mean, error }) => (number(*mean), number(*error)),
        Some(Cell::Number(value)) => (number(*value), String::new()),
        Some(Cell::Word(text)) => (word(text), String::new()),
        Some(Cell::Empty) | None => Default::default(),
    }
}

/// As short as it can be without losing a bit.
fn number(value: f64) -> String {
    let short = value as f32;
    if f64::from(short) == value { format!("{short}") } else { format!("{value}") }
}

/// Text as a cell: one that a spreadsheet would run as a formula gets a quote before it. Controls, which few readers
/// of CSV take and a terminal may obey, become pictures; the offsets still say what stands in the text.
fn word(text: &str) -> String {
    let quote = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    quote.chars().chain(text.chars().map(crate::visible::pictured)).collect()
}

fn document(head: &[String], rows: &[Row]) -> String {
    let mut writer = ::csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
    // Writing to memory does not fail.
    for row in std::iter::once(head).chain(rows.iter().map(Vec::as_slice)) {
        let _ = writer.write_record(row);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_quoted() {
        for (text, expected) in [
            ("=1+1", "'=1+1"),
            ("@x", "'@x"),
            ("-", "'-"),
            ("good", "good"),
            ("a=b", "a=b"),
            ("", ""),
            ("a\0", "a␀"),
        ] {
            assert_eq!(word(text), expected);
        }
    }
}
