//! One CSV row an input row: `text,label,prob`, then the logits (or the vector).

use super::{Number, label};
use anyhow::Result;
use exegete::{Example, Prediction, Scores};
use std::io::Write;

/// The column names, which follow from the first row: every row of one model has the same shape.
pub(crate) fn header(out: &mut dyn Write, example: &Example, prediction: &Prediction) -> Result<()> {
    let mut columns = vec!["text".to_owned()];
    columns.extend((example.fields.len() > 1).then(|| "pair".to_owned()));
    columns.extend(["label".to_owned(), "prob".to_owned()]);
    match &prediction.scores {
        Scores::Classes { scores, .. } | Scores::Labels { scores, .. } => {
            columns.extend(scores.iter().map(|s| format!("logit_{}", s.label)));
        }
        Scores::Vector { vector } => columns.extend((0..vector.len()).map(|i| format!("v{i}"))),
        _ => {}
    }
    write(out, &columns)
}

/// Writes the prediction of one text as one row.
pub(crate) fn row(out: &mut dyn Write, example: &Example, prediction: &Prediction) -> Result<()> {
    let mut cells: Vec<String> = example.fields.iter().map(|f| f.text.clone()).collect();
    cells.push(answer(prediction));
    cells.push(prob(prediction).map_or_else(String::new, |p| Number(p).to_string()));
    match &prediction.scores {
        Scores::Classes { scores, .. } | Scores::Labels { scores, .. } => {
            cells.extend(scores.iter().map(|s| s.logit.map_or_else(String::new, |l| Number(l).to_string())));
        }
        Scores::Vector { vector } => cells.extend(vector.iter().map(|&v| Number(f64::from(v)).to_string())),
        _ => {}
    }
    write(out, &cells)
}

fn answer(prediction: &Prediction) -> String {
    let join = |words: Vec<&str>| words.join(" ");
    match &prediction.scores {
        Scores::Value { value } => Number(*value).to_string(),
        Scores::Tags { tags } => join(tags.iter().map(|t| t.label.as_str()).collect()),
        Scores::Written { text, .. } => text.clone(),
        Scores::Fills { masks } => {
            join(masks.iter().filter_map(|f| Some(f.top.first()?.piece.as_str())).collect())
        }
        Scores::Classes { .. } | Scores::Labels { .. } | Scores::Answer(_) | Scores::Vector { .. } => {
            label(prediction).unwrap_or_default().to_owned()
        }
    }
}

/// The probability of the answer, where the answer is one thing.
fn prob(prediction: &Prediction) -> Option<f64> {
    match &prediction.scores {
        Scores::Written { log_prob, .. } => Some(log_prob.exp()),
        Scores::Fills { masks } if masks.len() == 1 => Some(masks[0].top.first()?.prob),
        scores => scores.decision().map(|(_, prob)| prob),
    }
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
