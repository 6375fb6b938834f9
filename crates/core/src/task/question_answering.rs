use super::contest::softmax;
use super::{Contest, Decided, HeadForm, Labelled, Reading, Spelling, Task, Widths};
use crate::target::{Norm, Resolving, Term};
use crate::{Answer, Axis, Card, Encoded, Error, Label, Logits, Quantity, Result, Scores, Span, Target};

/// A span of the context.
#[derive(Debug, Clone, Copy)]
pub struct QuestionAnswering;

/// A span of the context.
pub static QUESTION_ANSWERING: QuestionAnswering = QuestionAnswering;

impl Task for QuestionAnswering {
    fn name(&self) -> &'static str {
        "question_answering"
    }

    fn title(&self) -> &'static str {
        "question answering"
    }

    fn spelling(&self) -> Option<Spelling> {
        Some(Spelling::own("QuestionAnswering", HeadForm::Tokens("qa_outputs")))
    }

    fn fields(&self) -> [&'static str; 2] {
        ["question", "context"]
    }

    fn needs_pair(&self) -> bool {
        true
    }

    fn axes(&self, _: &Widths) -> Vec<Axis> {
        vec![Axis::Token, Axis::Class(2)]
    }

    fn labels(&self, _: &[String]) -> Vec<String> {
        vec!["start".into(), "end".into()]
    }

    fn answers_in_text(&self) -> bool {
        true
    }

    fn labelled(&self) -> Labelled {
        Labelled::Span
    }

    fn scores(&self, reading: &Reading<'_>) -> Result<Scores> {
        answer(reading.encoded, reading.logits).map(Scores::Answer)
    }

    fn resolve(&self, at: &Resolving<'_>, quantity: &Quantity) -> Result<Quantity> {
        let best = || best_span(at.reading.encoded, at.reading.logits);
        let known = |at: Option<usize>, best: &dyn Fn() -> Result<usize>| at.map_or_else(best, Ok);
        Ok(match quantity {
            Quantity::Predicted => Quantity::Answer(Some(best()?)),
            Quantity::Start(at) => Quantity::Start(Some(known(*at, &|| Ok(best()?.0))?)),
            Quantity::End(at) => Quantity::End(Some(known(*at, &|| Ok(best()?.1))?)),
            Quantity::Answer(at) => Quantity::Answer(Some(at.map_or_else(best, Ok)?)),
            Quantity::Loss(known) if matches!(known.as_ref().or(at.label), Some(Label::Span(..))) => {
                Quantity::Loss(known.as_ref().or(at.label).cloned())
            }
            other => return Err(other.misplaced("this model answers with a span: use answer, start or end")),
        })
    }

    fn terms(&self, _: &Card, target: &Target, logits: &Logits) -> Result<Vec<Term>> {
        let tokens = logits.data.len() / 2;
        let side = |side: usize| Norm::Over { first: side, stride: 2, count: tokens };
        let start = |at: usize| Term::new(at * 2, 1.0, side(0));
        let end = |at: usize| Term::new(at * 2 + 1, 1.0, side(1));
        match &target.quantity {
            Quantity::Start(Some(at)) => Ok(vec![start(*at)]),
            Quantity::End(Some(at)) => Ok(vec![end(*at)]),
            Quantity::Answer(Some((first, last))) => Ok(vec![start(*first), end(*last)]),
            Quantity::Loss(Some(Label::Span(first, last))) => {
                Ok(vec![start(*first).times(0.5), end(*last).times(0.5)])
            }
            Quantity::Loss(Some(_)) => Err(Labelled::Span.misfit()),
            _ => Err(target.unresolved()),
        }
    }

    fn contest(&self, _: &Quantity) -> Option<Contest> {
        Some(Contest::Span)
    }

    fn decided(&self, reading: &Reading<'_>, _: &Quantity, (first, last): Decided) -> String {
        let span = |token: usize| reading.encoded.tokens.get(token).and_then(|token| token.span);
        match (span(first), span(last)) {
            (Some(first), Some(last)) => reading.encoded.slice(Span { end: last.end, ..first }).to_owned(),
            _ => "no answer".into(),
        }
    }
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

/// The longest answer in tokens, as in the question-answering pipeline of transformers.
const LONGEST_ANSWER: usize = 15;

/// The first and last token of the best answer: the span of the context, at most fifteen tokens long, whose start logit plus
/// end logit is largest. Without any context the answer is the first token.
pub fn best_span(encoded: &Encoded, logits: &Logits) -> Result<(usize, usize)> {
    if logits.data.len() < 2 {
        return Err(Error::Request("the model gave no start and end".into()));
    }
    let context = encoded.fields.len().saturating_sub(1);
    let in_context = |i: &usize| {
        encoded.tokens.get(*i).is_some_and(|t| !t.special && t.span.is_none_or(|span| span.field == context))
    };
    let places: Vec<usize> = (0..logits.data.len() / 2).filter(in_context).collect();
    let mut best: Option<(usize, usize, f64)> = None;
    for (nth, &start) in places.iter().enumerate() {
        for &end in places[nth..].iter().take(LONGEST_ANSWER) {
            let score = logits.data[2 * start] + logits.data[2 * end + 1];
            if best.is_none_or(|(.., highest)| score > highest) {
                best = Some((start, end, score));
            }
        }
    }
    Ok(best.map_or((0, 0), |(start, end, _)| (start, end)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Field, Token};

    #[test]
    fn the_best_span_lies_in_the_context() {
        let field = |text: &str| Field { name: String::new(), text: text.into() };
        let token = |field: Option<usize>| Token {
            id: 0,
            type_id: 0,
            piece: String::new(),
            span: field.map(|field| Span { field, start: 0, end: 1 }),
            special: field.is_none(),
            weight: None,
        };
        let tokens = [None, Some(0), None, Some(1), Some(1), Some(1), None].map(token).to_vec();
        let encoded = Encoded { fields: vec![field("q"), field("c")], tokens, truncated: false };
        let check = |start: [f64; 7], end: [f64; 7], expected: (usize, usize)| {
            let data = start.into_iter().zip(end).flat_map(|(s, e)| [s, e]).collect();
            assert_eq!(best_span(&encoded, &Logits::new(vec![7, 2], data)), Ok(expected));
        };
        // The question scores highest and must not win; an end before its start must not either.
        check([0.0, 9.0, 0.0, 1.0, 3.0, 2.0, 0.0], [0.0, 9.0, 0.0, 8.0, 1.0, 2.0, 0.0], (3, 3));
        check([0.0, 0.0, 0.0, 1.0, 5.0, 2.0, 0.0], [0.0, 0.0, 0.0, 4.0, 1.0, 2.0, 9.0], (4, 5));
        // "No answer" at the first token does not win either: the answer is a span of the context.
        check([5.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0], [5.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0], (3, 3));
    }

    #[test]
    fn answers_have_at_most_fifteen_tokens() {
        let token = Token {
            id: 0,
            type_id: 0,
            piece: String::new(),
            span: Some(Span { field: 0, start: 0, end: 1 }),
            special: false,
            weight: None,
        };
        let fields = vec![Field { name: String::new(), text: "c".into() }];
        let encoded = Encoded { fields, tokens: vec![token; 40], truncated: false };
        let mut data = vec![0.0; 80];
        data[2 * 3] = 5.0; // the best start
        data[2 * 30 + 1] = 4.0; // the best end, too far away
        data[2 * 17 + 1] = 1.0; // the best end within reach
        assert_eq!(best_span(&encoded, &Logits::new(vec![40, 2], data)), Ok((3, 17)));
    }
}
