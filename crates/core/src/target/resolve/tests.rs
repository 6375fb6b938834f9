use super::*;
use crate::task::{self, Task};

fn card(task: &'static dyn Task, labels: &[&str]) -> Card {
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
    let logits = Logits::new(shape, data.into());
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
        let found = resolve(text, &card(&task::CLASSIFICATION, labels), &[3], &[0.1, 0.7, -2.0]);
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
    let check = |task: &'static dyn Task, text: &str, shape: &[usize], expected: Result<&str, &str>| {
        let data: Vec<f64> = (0..shape.iter().product()).map(|i| i as f64).collect();
        match (resolve(text, &card(task, &["x", "y"]), shape, &data), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (found, expected) => panic!("{task:?} {text}: {found:?}, not {expected:?}"),
        }
    };
    check(&task::REGRESSION, "predicted", &[1], Ok("class:x:logit"));
    check(&task::REGRESSION, "loss", &[1], Err("--label"));
    check(&task::MULTI_LABEL, "predicted:prob", &[2], Ok("class:y:prob"));
    check(&task::QUESTION_ANSWERING, "predicted", &[3, 2], Ok("answer:logit"));
    check(&task::QUESTION_ANSWERING, "start:prob", &[3, 2], Ok("start:prob"));
    check(&task::QUESTION_ANSWERING, "class:x", &[3, 2], Err("use answer, start or end"));
    check(&task::TOKEN_CLASSIFICATION, "predicted", &[3, 2], Err("tag:POS=LABEL"));
    check(&task::TOKEN_CLASSIFICATION, "loss", &[3, 2], Err("tag:POS=LABEL"));
    check(&task::TOKEN_CLASSIFICATION, "tag:2=y", &[3, 2], Ok("tag:2=y:logit"));
    check(&task::TOKEN_CLASSIFICATION, "tag:3=y", &[3, 2], Err("there is no token 3; the text has 3"));
    check(&task::TOKEN_CLASSIFICATION, "tag:0=z", &[3, 2], Err("the classes are x, y"));
    check(&task::MASKED_LANGUAGE_MODEL, "predicted", &[3, 2], Err("token:POS=WORD"));
    check(&task::MASKED_LANGUAGE_MODEL, "token:1=dog:prob", &[3, 2], Ok("token:1=dog:prob"));
    check(&task::MASKED_LANGUAGE_MODEL, "token:1=cow", &[3, 2], Err("vocabulary"));
    check(&task::CLASSIFICATION, "token:1=cat", &[2], Err("masked language models"));
    check(&task::CLASSIFICATION, "answer", &[2], Err("question-answering"));
    check(&task::CLASSIFICATION, "class:z", &[2], Err("target 'class:z': there is no class 'z'"));
    check(&task::ENCODER, "predicted", &[2], Err("unit:pooled[0]"));
}
