//! Which of the paper's models and data sets are like these.

use super::measure::ArmResult;
use super::rows::DeceiveRows;
use super::{AttentionDeceiveRequest, DeceivePenalty};
use crate::methods::deceive::{
    DeceivingArm, GENDER, Impermissible, JOINED, OCCUPATION, PublishedDeceiver, published,
};
use crate::report::Table;
use crate::{Encoded, Example};

/// The table of published numbers, where the paper has a model and arms like these.
pub(super) fn table(
    request: &AttentionDeceiveRequest,
    rows: &DeceiveRows,
    found: &[ArmResult],
) -> Option<Table> {
    use PublishedDeceiver::{BertMax, BertMean, BiLstm, Embedding, Sequences};
    let model = match (request.kind.as_deref(), request.penalty) {
        (Some("seq2seq"), _) => Sequences,
        (Some("none" | "average"), _) => Embedding,
        (Some(_), _) => BiLstm,
        (None, DeceivePenalty::Mean) => BertMean,
        (None, DeceivePenalty::Worst) => BertMax,
    };
    let data = match (&request.join, request.impermissible.as_deref()) {
        _ if request.writes() => sequences(rows),
        (Some(_), _) => vec![JOINED],
        (None, Some("truth")) => vec![GENDER],
        // Words in a list may decide the label, as in one of these, or only go along with it, as in the other.
        _ => vec![OCCUPATION, GENDER],
    };
    let arm = |own: &ArmResult| {
        // The paper's worst head is the one that shows most.
        let mass = if model == BertMax { own.largest } else { own.mass };
        DeceivingArm { arm: own.arm, lambda: own.lambda, accuracy: own.accuracy, mass }
    };
    published(model, &data, &found.iter().map(arm).collect::<Vec<_>>())
}

/// The generated sequences whose alignment the rows have; all where they have another.
fn sequences(rows: &DeceiveRows) -> Vec<&'static str> {
    type Source = fn(usize, usize) -> usize;
    let known: [(&str, Source); 3] =
        [("copy", |t, _| t), ("reverse", |t, words| words - 1 - t), ("bigram flip", |t, _| t ^ 1)];
    let fits = |of: Source, example: &Example, words: &Impermissible| {
        let encoded = Encoded::of_words(example);
        let source = encoded.tokens.iter().filter(|token| token.type_id == 0).count();
        words.pairs(&encoded).iter().all(|&(i, t)| t < source && i == of(t, source))
    };
    let own = known.iter().filter(|(_, of)| rows.dev.iter().all(|row| fits(*of, row, &rows.words)));
    match own.map(|(name, _)| *name).collect::<Vec<_>>() {
        none if none.is_empty() => known.map(|(name, _)| name).to_vec(),
        own => own,
    }
}
