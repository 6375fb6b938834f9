use super::*;
use exegete::{Answer, ClassScore, Fill, Scores, Span, Tag, TokenScore};

fn render(format: PredictionFormat, example: &Example, scores: Scores, truncated: bool) -> String {
    let mut out = Vec::new();
    let mut printer = Printer::new(format, Style { colour: false });
    printer.row(&mut out, example, &Prediction { scores, truncated, unknown: 0 }).unwrap();
    printer.finish(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn class(label: &str, logit: f64, prob: f64) -> ClassScore {
    ClassScore { label: label.into(), logit: Some(logit), prob }
}

/// Every kind of score, with its JSON, its CSV and its text.
fn kinds() -> Vec<(Example, Scores, &'static str, &'static str, &'static str)> {
    let text = || Example::text("a \"b\", c");
    let classes = vec![class("no", f64::from(-0.1f32), 0.25), class("yes", 1.0, 0.75)];
    let labels = vec![class("p", 1.0, 0.7), class("q", 2.0, 0.9), class("r", -1.0, 0.25)];
    let span = Span { field: 1, start: 0, end: 2 };
    let answer = Answer { answer: "Me".into(), span: Some(span), score: 3.5, prob: 0.5 };
    let silent = Answer { answer: String::new(), span: None, score: 1.0, prob: 0.5 };
    let tag =
        Tag { text: "a".into(), span: Span { field: 0, start: 0, end: 1 }, label: "O".into(), prob: 0.5 };
    let top = vec![TokenScore { piece: "the".into(), logit: 2.5, prob: 0.5 }];
    let pair = || Example::pair("Who?", "Me");
    vec![
        (
            text(),
            Scores::classes(classes),
            r#"{"label":"yes","scores":[{"label":"no","logit":-0.1,"prob":0.25},{"label":"yes","logit":1.0,"prob":0.75}]}"#,
            "text,label,prob,logit_no,logit_yes\n\"a \"\"b\"\", c\",yes,0.75,-0.1,1.0\n",
            "a \"b\", c\n  yes   75.0 %  ██████████████████\n  no    25.0 %  ██████\n",
        ),
        (
            text(),
            Scores::labels(labels),
            r#"{"label":"q","labels":["p","q"],"scores":[{"label":"p","logit":1.0,"prob":0.7},{"label":"q","logit":2.0,"prob":0.9},{"label":"r","logit":-1.0,"prob":0.25}]}"#,
            "text,label,prob,logit_p,logit_q,logit_r\n\"a \"\"b\"\", c\",q,0.9,1.0,2.0,-1.0\n",
            "a \"b\", c\n  q   90.0 %  █████████████████████▋\n  p   70.0 %  ████████████████▊\n  r   25.0 %  ██████\n",
        ),
        (
            text(),
            Scores::Value { value: 0.5 },
            r#"{"value":0.5}"#,
            "text,label,prob\n\"a \"\"b\"\", c\",0.5,\n",
            "a \"b\", c\n  value 0.5000\n",
        ),
        (
            text(),
            Scores::Tags { tags: vec![tag] },
            r#"{"tags":[{"text":"a","field":0,"start":0,"end":1,"label":"O","prob":0.5}]}"#,
            "text,label,prob\n\"a \"\"b\"\", c\",O,\n",
            "a \"b\", c\n  a  O   50.0 %\n",
        ),
        (
            pair(),
            Scores::Answer(answer),
            r#"{"answer":"Me","field":1,"start":0,"end":2,"score":3.5,"prob":0.5}"#,
            "text,pair,label,prob\nWho?,Me,Me,0.5\n",
            "text: Who?\npair: Me\n  answer: Me   50.0 %  score 3.500\n",
        ),
        (
            pair(),
            Scores::Answer(silent),
            r#"{"answer":"","field":null,"start":null,"end":null,"score":1.0,"prob":0.5}"#,
            "text,pair,label,prob\nWho?,Me,,0.5\n",
            "text: Who?\npair: Me\n  answer: no answer   50.0 %  score 1.000\n",
        ),
        (
            text(),
            Scores::Fills { masks: vec![Fill { position: 3, top }] },
            r#"{"masks":[{"position":3,"top":[{"piece":"the","logit":2.5,"prob":0.5}]}]}"#,
            "text,label,prob\n\"a \"\"b\"\", c\",the,0.5\n",
            "a \"b\", c\n  mask at token 3: the 50.0 %\n",
        ),
        (
            text(),
            Scores::Vector { vector: vec![0.1, -2.0] },
            r#"{"vector":[0.1,-2.0]}"#,
            "text,label,prob,v0,v1\n\"a \"\"b\"\", c\",,,0.1,-2.0\n",
            "a \"b\", c\n  vector of 2: 0.1000 -2.0000\n",
        ),
    ]
}

#[test]
fn every_kind_of_score_is_written_in_every_format() {
    for (example, scores, json, csv, text) in kinds() {
        let input = serde_json::to_string(&example.fields).unwrap();
        let expected = format!(
            "{{\"schema\":\"exegete.predictions/1\",\"rows\":[\n{{\"input\":{input},\"prediction\":{json},\"truncated\":false}}\n]}}\n"
        );
        assert_eq!(render(PredictionFormat::Json, &example, scores.clone(), false), expected);
        assert_eq!(render(PredictionFormat::Csv, &example, scores.clone(), false), csv);
        assert_eq!(render(PredictionFormat::Text, &example, scores, false), text);
    }
}

#[test]
fn truncation_is_said() {
    let example = Example { label: Some("x".into()), ..Example::text("a\u{1b}[2Jb") };
    let json = render(PredictionFormat::Json, &example, Scores::Value { value: 1.0 }, true);
    assert!(json.contains(r#""truncated":true,"gold":"x""#), "{json}");
    let text = render(PredictionFormat::Text, &example, Scores::Value { value: 1.0 }, true);
    assert_eq!(text, "a [2Jb\n  truncated: the model saw only the beginning\n  value 1.0000\n");
}

#[test]
fn long_lists_of_classes_are_cut_for_reading() {
    let scores = Scores::classes((0..10).map(|i| class(&i.to_string(), 0.0, 0.1)).collect());
    let text = render(PredictionFormat::Text, &Example::text("x"), scores, false);
    assert!(text.ends_with("and 2 more\n") && text.lines().count() == 10, "{text}");
}
