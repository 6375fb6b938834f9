use super::*;
use crate::{Field, Span, Token};

fn card(task: Task, labels: &[&str]) -> Card {
    Card {
        name: "toy".into(),
        family: "toy".into(),
        fingerprint: String::new(),
        task,
        labels: labels.iter().map(ToString::to_string).collect(),
        parameters: 0,
        max_tokens: 8,
        sizes: crate::Sizes::default(),
        warnings: Vec::new(),
    }
}

fn resolve(text: &str, card: &Card, shape: &[usize], data: &[f64]) -> Result<String> {
    let logits = Logits { shape: shape.into(), data: data.into() };
    let vocabulary = |piece: &str| ["cat", "Ġdog"].iter().position(|p| *p == piece).map(|id| id as u32);
    let encoded = Encoded::from_ids(&[0, 1, 2]);
    let target: Target = text.parse()?;
    let resolved = target.resolve(card, &encoded, &logits, None, &vocabulary)?;
    assert_eq!(resolved.resolve(card, &encoded, &logits, None, &vocabulary)?, resolved, "resolving twice");
    Ok(resolved.to_string())
}

#[test]
fn classes_by_name_then_by_index() {
    let check = |labels: &[&str], text: &str, expected: &str| {
        let found = resolve(text, &card(Task::Classification, labels), &[3], &[0.1, 0.7, -2.0]);
        assert_eq!(found.as_deref(), Ok(expected), "{text} among {labels:?}");
    };
    check(&["a", "b", "c"], "predicted", "class:b:logit");
    check(&["a", "b", "c"], "predicted:logprob", "class:b:logprob");
    check(&["a", "b", "c"], "class:2", "class:c:logit");
    check(&["2", "1", "0"], "class:0", "class:0:logit");
    check(&["a:b", "x:prob", "c"], "class:a:b:prob", "class:a:b:prob");
    check(&["a:b", "x:prob", "c"], "class:x:prob", "class:x:prob:logit");
    check(&["a,b", "c", "d"], "margin:a,b,c", "margin:a,b,c:logit");
    check(&["a", "b", "c"], "margin:2,b:prob", "margin:c,b:prob");
    check(&["a", "b", "c"], "loss", "loss");
    check(&[], "class:1", "class:1:logit");
    check(&["a", "b", "c"], "unit:embed.word[*,1]", "unit:embed.word[*,1]");
}

#[test]
fn every_task_has_its_targets() {
    let check = |task: Task, text: &str, shape: &[usize], expected: Result<&str, &str>| {
        let data: Vec<f64> = (0..shape.iter().product()).map(|i| i as f64).collect();
        match (resolve(text, &card(task, &["x", "y"]), shape, &data), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (found, expected) => panic!("{task:?} {text}: {found:?}, not {expected:?}"),
        }
    };
    check(Task::Regression, "predicted", &[1], Ok("class:x:logit"));
    check(Task::Regression, "loss", &[1], Err("--label"));
    check(Task::MultiLabel, "predicted:prob", &[2], Ok("class:y:prob"));
    check(Task::QuestionAnswering, "predicted", &[3, 2], Ok("answer:logit"));
    check(Task::QuestionAnswering, "start:prob", &[3, 2], Ok("start:prob"));
    check(Task::QuestionAnswering, "class:x", &[3, 2], Err("use answer, start or end"));
    check(Task::TokenClassification, "predicted", &[3, 2], Err("tag:POS=LABEL"));
    check(Task::TokenClassification, "loss", &[3, 2], Err("tag:POS=LABEL"));
    check(Task::TokenClassification, "tag:2=y", &[3, 2], Ok("tag:2=y:logit"));
    check(Task::TokenClassification, "tag:3=y", &[3, 2], Err("there is no token 3; the text has 3"));
    check(Task::TokenClassification, "tag:0=z", &[3, 2], Err("the classes are x, y"));
    check(Task::MaskedLanguageModel, "predicted", &[3, 2], Err("token:POS=WORD"));
    check(Task::MaskedLanguageModel, "token:1=dog:prob", &[3, 2], Ok("token:1=dog:prob"));
    check(Task::MaskedLanguageModel, "token:1=cow", &[3, 2], Err("vocabulary"));
    check(Task::Classification, "token:1=cat", &[2], Err("masked language models"));
    check(Task::Classification, "answer", &[2], Err("question-answering"));
    check(Task::Classification, "class:z", &[2], Err("target 'class:z': there is no class 'z'"));
    check(Task::Encoder, "predicted", &[2], Err("unit:pooled[0]"));
}

#[test]
fn the_best_span_lies_in_the_context() {
    let field = |text: &str| Field { name: String::new(), text: text.into() };
    let token = |field: Option<usize>| Token {
        id: 0,
        kind: 0,
        piece: String::new(),
        span: field.map(|field| Span { field, start: 0, end: 1 }),
        special: field.is_none(),
    };
    let tokens = [None, Some(0), None, Some(1), Some(1), Some(1), None].map(token).to_vec();
    let encoded = Encoded { fields: vec![field("q"), field("c")], tokens, truncated: false };
    let check = |start: [f64; 7], end: [f64; 7], expected: (usize, usize)| {
        let data = start.into_iter().zip(end).flat_map(|(s, e)| [s, e]).collect();
        assert_eq!(best_span(&encoded, &Logits { shape: vec![7, 2], data }), Ok(expected));
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
        kind: 0,
        piece: String::new(),
        span: Some(Span { field: 0, start: 0, end: 1 }),
        special: false,
    };
    let fields = vec![Field { name: String::new(), text: "c".into() }];
    let encoded = Encoded { fields, tokens: vec![token; 40], truncated: false };
    let mut data = vec![0.0; 80];
    data[2 * 3] = 5.0; // the best start
    data[2 * 30 + 1] = 4.0; // the best end, too far away
    data[2 * 17 + 1] = 1.0; // the best end within reach
    assert_eq!(best_span(&encoded, &Logits { shape: vec![40, 2], data }), Ok((3, 17)));
}
