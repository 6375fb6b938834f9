//! The schema `exegete.predictions/1`, one row a line.

use super::{Number, best};
use exegete::{ClassScore, Example, Field, Prediction, Scores, Span, TokenScore};
use serde::Serialize;

/// What stands before the first row.
pub(crate) const OPENING: &[u8] = b"{\"schema\":\"exegete.predictions/1\",\"rows\":[\n";
/// What stands after the last row.
pub(crate) const CLOSING: &[u8] = b"\n]}\n";

/// One row of the document.
#[derive(Serialize)]
pub(crate) struct Row<'a> {
    input: &'a [Field],
    prediction: Answered<'a>,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    gold: Option<&'a str>,
}

/// A prediction, by task.
#[derive(Serialize)]
#[serde(untagged)]
enum Answered<'a> {
    Classes {
        label: &'a str,
        scores: Vec<Class<'a>>,
    },
    Labels {
        label: &'a str,
        labels: Vec<&'a str>,
        scores: Vec<Class<'a>>,
    },
    Value {
        value: Number,
    },
    Tags {
        tags: Vec<Tag<'a>>,
    },
    Answer {
        answer: &'a str,
        #[serde(flatten)]
        place: Place,
        score: Number,
        prob: Number,
    },
    Fills {
        masks: Vec<Mask<'a>>,
    },
    Vector {
        vector: &'a [f32],
    },
}

#[derive(Serialize)]
struct Class<'a> {
    label: &'a str,
    logit: Option<Number>,
    prob: Number,
}

/// A span with its parts side by side, all null where there is none.
#[derive(Serialize)]
struct Place {
    field: Option<usize>,
    start: Option<usize>,
    end: Option<usize>,
}

#[derive(Serialize)]
struct Tag<'a> {
    text: &'a str,
    #[serde(flatten)]
    place: Place,
    label: &'a str,
    prob: Number,
}

#[derive(Serialize)]
struct Mask<'a> {
    position: usize,
    top: Vec<Piece<'a>>,
}

#[derive(Serialize)]
struct Piece<'a> {
    piece: &'a str,
    logit: Number,
    prob: Number,
}

/// One row, ready to serialise.
pub(crate) fn row<'a>(example: &'a Example, prediction: &'a Prediction) -> Row<'a> {
    Row {
        input: &example.fields,
        prediction: answered(&prediction.scores),
        truncated: prediction.truncated,
        gold: example.label.as_deref(),
    }
}

fn answered(scores: &Scores) -> Answered<'_> {
    match scores {
        Scores::Classes(scores) => Answered::Classes { label: top(scores), scores: classes(scores) },
        Scores::Labels(scores) => Answered::Labels {
            label: top(scores),
            labels: scores.iter().filter(|s| s.prob >= 0.5).map(|s| s.label.as_str()).collect(),
            scores: classes(scores),
        },
        Scores::Value(value) => Answered::Value { value: Number(*value) },
        Scores::Tags(tags) => Answered::Tags { tags: tags.iter().map(tag).collect() },
        Scores::Answer(a) => Answered::Answer {
            answer: &a.answer,
            place: place(a.span),
            score: Number(a.score),
            prob: Number(a.prob),
        },
        Scores::Fills(fills) => Answered::Fills { masks: fills.iter().map(mask).collect() },
        Scores::Vector(vector) => Answered::Vector { vector },
    }
}

fn top(scores: &[ClassScore]) -> &str {
    best(scores, |s| s.prob).map_or("", |s| &s.label)
}

fn classes(scores: &[ClassScore]) -> Vec<Class<'_>> {
    scores.iter().map(class).collect()
}

fn class(ClassScore { label, logit, prob }: &ClassScore) -> Class<'_> {
    Class { label, logit: logit.map(Number), prob: Number(*prob) }
}

fn place(span: Option<Span>) -> Place {
    Place { field: span.map(|s| s.field), start: span.map(|s| s.start), end: span.map(|s| s.end) }
}

fn tag(tag: &exegete::Tag) -> Tag<'_> {
    Tag { text: &tag.text, place: place(Some(tag.span)), label: &tag.label, prob: Number(tag.prob) }
}

fn mask(fill: &exegete::Fill) -> Mask<'_> {
    Mask { position: fill.position, top: fill.top.iter().map(piece).collect() }
}

fn piece(TokenScore { piece, logit, prob }: &TokenScore) -> Piece<'_> {
    Piece { piece, logit: Number(*logit), prob: Number(*prob) }
}
