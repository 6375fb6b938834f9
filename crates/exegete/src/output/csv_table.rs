//! One CSV row an input row: `text,label,prob`, then the logits (or the vector).

use super::Number;
use anyhow::Result;
use exegete::{Example, Prediction};
use std::io::Write;

/// The column names, which follow from the first row: every row of one model has the same shape.
pub(crate) fn header(out: &mut dyn Write, example: &Example, prediction: &Prediction) -> Result<()> {
    let mut columns = vec!["text".to_owned()];
    columns.extend((example.fields.len() > 1).then(|| "pair".to_owned()));
    columns.extend(["label".to_owned(), "prob".to_owned()]);
    columns.extend(prediction.scores.shape().columns());
    write(out, &columns)
}

/// Writes the prediction of one text as one row.
pub(crate) fn row(out: &mut dyn Write, example: &Example, prediction: &Prediction) -> Result<()> {
    let mut cells: Vec<String> = example.fields.iter().map(|f| f.text.clone()).collect();
    let number = |number: Option<f64>| number.map_or_else(String::new, |number| Number(number).to_string());
    let shape = prediction.scores.shape();
    cells.extend([shape.cell(), number(shape.prob())]);
    cells.extend(shape.numbers().into_iter().map(number));
    write(out, &cells)
}

/// Writes one line. It goes through memory so that a closed pipe stays a plain I/O error for the caller to see.
pub(crate) fn write<S: AsRef<[u8]>>(out: &mut dyn Write, cells: &[S]) -> Result<()> {
    let mut line = Vec::new();
    let mut writer = csv::Writer::from_writer(&mut line);
    writer.write_record(cells)?;
    writer.flush()?;
    drop(writer);
    Ok(out.write_all(&line)?)
}
