use crate::tokenizer::Tokenizer;
use exegete_core::{
    Answer, Card, ClassScore, Encoded, Fill, Logits, Result, Scores, Span, Tag, Task, TokenScore, Units,
    best_span,
};

/// Candidates listed for each masked position.
const TOP_WORDS: usize = 5;

/// What the logits of one row mean for the task.
pub(crate) fn scores(
    card: &Card,
    tokenizer: Option<&Tokenizer>,
    encoded: &Encoded,
    logits: &Logits,
) -> Result<Scores> {
    let values = &logits.data;
    Ok(match card.task {
        Task::Classification => Scores::Classes(classes(card, values, &softmax(values))),
        Task::MultiLabel => Scores::Labels(classes(card, values, &sigmoid(values))),
        Task::Regression => Scores::Value(values[0]),
        Task::TokenClassification => Scores::Tags(tags(card, encoded, logits)),
        Task::QuestionAnswering => Scores::Answer(answer(encoded, logits)?),
        Task::MaskedLanguageModel => Scores::Fills(fills(tokenizer, encoded, logits)),
        Task::Encoder => Scores::Vector(values.iter().map(|&x| x as f32).collect()),
    })
}

fn classes(card: &Card, logits: &[f64], probs: &[f64]) -> Vec<ClassScore> {
    let score = |((label, &logit), &prob): ((&String, &f64), &f64)| ClassScore {
        label: label.clone(),
        logit: Some(logit),
        prob,
    };
    card.labels.iter().zip(logits).zip(probs).map(score).collect()
}

fn softmax(logits: &[f64]) -> Vec<f64> {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = logits.iter().map(|x| (x - top).exp()).collect();
    let total: f64 = powers.iter().sum();
    powers.into_iter().map(|p| p / total).collect()
}

fn sigmoid(logits: &[f64]) -> Vec<f64> {
    logits.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect()
}

/// The label of each word: that of its first token.
fn tags(card: &Card, encoded: &Encoded, logits: &Logits) -> Vec<Tag> {
    let width = card.labels.len();
    let tag = |unit: exegete_core::Unit| {
        let first = *unit.tokens.first()?;
        let probs = softmax(&logits.data[first * width..][..width]);
        let best = (0..width).reduce(|best, i| if probs[i] > probs[best] { i } else { best })?;
        let text = encoded.slice(unit.span).to_owned();
        Some(Tag { text, span: unit.span, label: card.labels[best].clone(), prob: probs[best] })
    };
    Units::Word.of(encoded).into_iter().filter_map(tag).collect()
}

/// The best span of the context, with its bytes.
fn answer(encoded: &Encoded, logits: &Logits) -> Result<Answer> {
    let (start, end) = best_span(encoded, logits)?;
    let column = |which: usize| logits.data.iter().skip(which).step_by(2).copied().collect::<Vec<f64>>();
    let (starts, ends) = (column(0), column(1));
    let ends_of = |i: usize| encoded.tokens[i].span;
    let span = match (ends_of(start), ends_of(end)) {
        (Some(first), Some(last)) => Some(Span { field: first.field, start: first.start, end: last.end }),
        _ => None,
    };
    Ok(Answer {
        answer: span.map_or(String::new(), |span| encoded.slice(span).to_owned()),
        span,
        score: starts[start] + ends[end],
        prob: softmax(&starts)[start] * softmax(&ends)[end],
    })
}

/// The best words for every masked position.
fn fills(tokenizer: Option<&Tokenizer>, encoded: &Encoded, logits: &Logits) -> Vec<Fill> {
    let Some(tokenizer) = tokenizer else { return Vec::new() };
    let width = logits.shape.last().copied().unwrap_or(0);
    let masked = |(_, token): &(usize, &exegete_core::Token)| Some(token.id) == tokenizer.mask_id();
    let fill = |(position, _): (usize, &exegete_core::Token)| {
        let logits = &logits.data[position * width..][..width];
        let probs = softmax(logits);
        let mut order: Vec<usize> = (0..width).collect();
        order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
        let score = |id: usize| {
            let piece = tokenizer.piece(id as u32).unwrap_or_else(|| format!("#{id}"));
            TokenScore { piece, logit: logits[id], prob: probs[id] }
        };
        Fill { position, top: order.into_iter().take(TOP_WORDS).map(score).collect() }
    };
    encoded.tokens.iter().enumerate().filter(masked).map(fill).collect()
}
