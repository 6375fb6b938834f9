//! Rows of .csv and .tsv files.
//!
//! A .tsv row is its line cut at tabs (or what the user says) and nothing more: data sets in this field (GLUE) write quotes as data. A .csv
//! row follows RFC 4180. It is parsed here rather than by a library because a quote that is never closed would
//! otherwise swallow the rest of the file without a word, and because every error must name the right line.

use super::lines::Lines;
use anyhow::Result;

/// The fields of the next row, with the number of the line it starts on.
pub(crate) fn tsv_row(lines: &mut Lines, mark: char) -> Result<Option<(usize, Vec<String>)>> {
    let row = lines.read()?;
    Ok(row.map(|(number, line)| (number, line.split(mark).map(str::to_owned).collect())))
}

/// The fields of the next row, which may span lines where a quoted field does.
pub(crate) fn csv_row(lines: &mut Lines, mark: char) -> Result<Option<(usize, Vec<String>)>> {
    let Some((number, mut line)) = lines.read()? else { return Ok(None) };
    let mut parser = Parser::default();
    loop {
        parser.feed(&line, mark).map_err(|what| lines.error(number, what))?;
        if !parser.inside_quotes() {
            return Ok(Some((number, parser.finish())));
        }
        match lines.read()? {
            Some((_, more)) => line = more,
            None => return Err(lines.error(number, "a quote is opened in this row and never closed")),
        }
        parser.field.push('\n');
    }
}

/// Where the parser stands within the current field.
#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Start,
    Plain,
    Quoted,
    /// After a quote inside a quoted field: its end, or the first half of a doubled quote.
    MaybeClosed,
}

#[derive(Debug, Default)]
struct Parser {
    fields: Vec<String>,
    field: String,
    state: State,
}

impl Parser {
    fn feed(&mut self, line: &str, mark: char) -> Result<(), String> {
        for c in line.chars() {
            self.state = match (&self.state, c) {
                (State::Start, '"') => State::Quoted,
                (State::Quoted, '"') => State::MaybeClosed,
                (State::MaybeClosed, '"') => self.push(c, State::Quoted),
                (State::Quoted, _) => self.push(c, State::Quoted),
                (_, c) if c == mark => {
                    self.fields.push(std::mem::take(&mut self.field));
                    State::Start
                }
                (State::MaybeClosed, _) => {
                    let field = self.fields.len() + 1;
                    return Err(format!(
                        "'{c}' after the closing quote of field {field}; double a quote to keep it"
                    ));
                }
                (State::Start | State::Plain, _) => self.push(c, State::Plain),
            };
        }
        Ok(())
    }

    fn push(&mut self, c: char, next: State) -> State {
        self.field.push(c);
        next
    }

    fn inside_quotes(&self) -> bool {
        self.state == State::Quoted
    }

    fn finish(mut self) -> Vec<String> {
        self.fields.push(self.field);
        self.fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    type Row = fn(&mut Lines, char) -> Result<Option<(usize, Vec<String>)>>;

    fn rows(read: Row, mark: char, text: &str) -> Result<Vec<(usize, Vec<String>)>, String> {
        let mut lines = Lines::new(Cursor::new(text.to_owned()), "f");
        let mut rows = Vec::new();
        while let Some(row) = read(&mut lines, mark).map_err(|e| e.to_string())? {
            rows.push(row);
        }
        Ok(rows)
    }

    fn row(number: usize, fields: &[&str]) -> (usize, Vec<String>) {
        (number, fields.iter().map(|f| (*f).to_owned()).collect())
    }

    #[test]
    fn quotes_are_data_in_tsv() {
        let expected = vec![row(1, &["a \"quoted", "1"]), row(2, &["\"b\"", ""])];
        assert_eq!(rows(tsv_row, '\t', "a \"quoted\t1\r\n\"b\"\t\n").unwrap(), expected);
    }

    #[test]
    fn csv_follows_the_standard() {
        let text = "\u{feff}a,\"b, c\"\r\n\"say \"\"hi\"\"\",5\" disk\n\"two\r\nlines\",\"\"\nlast,";
        let expected = vec![
            row(1, &["a", "b, c"]),
            row(2, &["say \"hi\"", "5\" disk"]),
            row(3, &["two\nlines", ""]),
            row(5, &["last", ""]),
        ];
        assert_eq!(rows(csv_row, ',', text).unwrap(), expected);
    }

    #[test]
    fn the_mark_between_columns_is_the_users() {
        let expected = vec![row(1, &["a, b", "1;2"]), row(2, &["c", ""])];
        assert_eq!(rows(csv_row, ';', "a, b;\"1;2\"\nc;").unwrap(), expected);
        assert_eq!(rows(tsv_row, '|', "\"a|b").unwrap(), vec![row(1, &["\"a", "b"])]);
    }

    #[test]
    fn broken_csv_names_its_line() {
        for (text, expected) in [
            ("a,b\n\"open,1\nx,2\n", "f: line 2: a quote is opened in this row and never closed"),
            ("a\n\"b\"c\n", "f: line 2: 'c' after the closing quote of field 1; double a quote to keep it"),
        ] {
            assert_eq!(rows(csv_row, ',', text).unwrap_err(), expected);
        }
    }
}
