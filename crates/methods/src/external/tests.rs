use super::*;
use exegete_core::{Field, Span, Token, Units};
use serde_json::json;

/// `[CLS] not un ##real é !` over "not unreal é !", one more field "so".
fn encoded() -> Encoded {
    let token = |piece: &str, span: Option<(usize, usize, usize)>| Token {
        id: 0,
        type_id: 0,
        piece: piece.into(),
        span: span.map(|(field, start, end)| Span { field, start, end }),
        special: span.is_none(),
        weight: None,
    };
    let field = |name: &str, text: &str| Field { name: name.into(), text: text.into() };
    Encoded {
        fields: vec![field("text", "not unreal é !"), field("pair", "so")],
        tokens: vec![
            token("[CLS]", None),
            token("not", Some((0, 0, 3))),
            token("un", Some((0, 4, 6))),
            token("##real", Some((0, 6, 10))),
            token("é", Some((0, 11, 13))),
            token("!", Some((0, 14, 15))),
            token("[SEP]", None),
            token("so", Some((1, 0, 2))),
        ],
        truncated: false,
    }
}

fn fit(line: &Value, units: Units) -> Result<Vec<f64>, String> {
    let encoded = encoded();
    let found =
        ExternalExplanation::parse(&line.to_string()).and_then(|e| e.fit(&encoded, &units.of(&encoded)));
    found.map_err(|error| error.to_string())
}

fn report(text: &str) -> Value {
    let unit =
        |text: &str, start: usize, end: usize| json!({"text": text, "field": 0, "start": start, "end": end});
    let special =
        json!({"piece": "[CLS]", "text": null, "field": null, "start": null, "end": null, "special": true});
    let token = |text: &str, start: usize, end: usize| json!({"piece": text, "text": text, "field": 0, "start": start, "end": end, "special": false});
    json!({"schema": SCHEMA, "items": [{
        "kind": "attribution", "method": "saliency", "params": {}, "target": "class:1:logit", "value": 0.5, "site": "embed.word",
        "input": [{"name": "text", "text": text}, {"name": "pair", "text": "so"}], "prediction": {"value": 1.0},
        "tokens": [special, token("not", 0, 3), token("unreal", 4, 10)], "token_values": [9.0, 1.0, 2.0],
        "units": [unit("not unreal", 0, 10), unit("é", 11, 13)], "values": [3.0, 4.0], "checks": {},
    }]})
}

#[test]
fn scores_find_their_units() {
    let tokens = json!(["not", "un", "##real", "é", "!", "so"]);
    let all = json!(["[CLS]", "not", "un", "##real", "é", "!", "[SEP]", "so"]);
    for (line, units, expected) in [
        (json!({"tokens": tokens, "scores": [1, 2, 3, 4, 5, 6]}), Units::Word, vec![1.0, 5.0, 4.0, 5.0, 6.0]),
        (
            json!({"tokens": all, "scores": [9, 1, 2, 3, 4, 5, 9, 6]}),
            Units::Word,
            vec![1.0, 5.0, 4.0, 5.0, 6.0],
        ),
        (json!({"tokens": all, "scores": [9, 1, 2, 3, 4, 5, 9, 6]}), Units::Field, vec![15.0, 6.0]),
        // A piece over two words goes where it begins; a space before it does not count; two may share a word.
        (
            json!({"units": [{"start": 3, "end": 13, "score": 1}, {"text": "real", "start": 6, "end": 10, "score": 0.5},
                {"start": 0, "end": 2, "score": -1, "field": 1}]}),
            Units::Word,
            vec![0.0, 1.5, 0.0, 0.0, -1.0],
        ),
        (json!({"units": []}), Units::Word, vec![0.0; 5]),
        (report("not unreal é !"), Units::Word, vec![1.0, 2.0, 0.0, 0.0, 0.0]),
    ] {
        assert_eq!(fit(&line, units), Ok(expected), "{line} by {units}");
    }
}

#[test]
fn a_report_with_the_same_units_is_taken_as_it_is() {
    let mut line = report("not unreal é !");
    let unit = |text: &str, field: usize, start: usize, end: usize| json!({"text": text, "field": field, "start": start, "end": end});
    line["items"][0]["units"] = json!([unit("not unreal é !", 0, 0, 15), unit("so", 1, 0, 2)]);
    line["items"][0]["values"] = json!([7.0, 8.0]);
    assert_eq!(fit(&line, Units::Field), Ok(vec![7.0, 8.0]));
    let target = ExternalExplanation::parse(&line.to_string()).unwrap().target;
    assert_eq!(target.as_deref(), Some("class:1:logit"));
}

#[test]
fn what_does_not_fit_is_told() {
    let unit = |unit: Value| json!({"units": [unit]});
    let mut table = report("x");
    table["items"][0] = json!({"kind": "table", "title": "", "columns": [], "rows": []});
    for (line, told) in [
        (json!([1]), "neither 'tokens'"),
        (json!({"scores": [1]}), "neither 'tokens'"),
        (json!({"tokens": [1], "scores": [1]}), "no list of strings"),
        (json!({"tokens": ["a"], "scores": [null]}), "no list of numbers"),
        (json!({"tokens": ["a"]}), "no list of numbers"),
        (json!({"tokens": ["a"], "scores": [1, 2]}), "'scores' has 2 entries, but 'tokens' has 1"),
        (json!({"tokens": ["a"], "scores": [1]}), "1 tokens, but the model reads 8 in this text, 6 without"),
        (
            json!({"tokens": ["not", "un", "real", "é", "!", "so"], "scores": [1, 2, 3, 4, 5, 6]}),
            "token 2 is 'real', but the model reads '##real'",
        ),
        (unit(json!({"start": 0, "score": 1})), "start, end and score"),
        (unit(json!({"start": 0, "end": 99, "score": 1})), "units[0]: bytes 0 to 99"),
        (unit(json!({"start": 11, "end": 12, "score": 1})), "bytes, not characters"),
        (unit(json!({"start": 4, "end": 3, "score": 1})), "bytes 4 to 3"),
        (
            unit(json!({"text": "!", "start": 13, "end": 14, "score": 1})),
            "says '!', but bytes 13 to 14 are ' '",
        ),
        (
            unit(json!({"field": 2, "start": 0, "end": 1, "score": 1})),
            "field 2 does not exist; the text has 2",
        ),
        (report("another"), "explains another text: 'another'"),
        (table, "items[0] is no attribution"),
        (json!({"schema": "other/1", "items": []}), "another schema"),
        (json!({"schema": SCHEMA, "items": []}), "items[0] is no attribution"),
    ] {
        let error = fit(&line, Units::Word).unwrap_err();
        assert!(error.contains(told) && !error.contains("line 1"), "{line}: {error}");
    }
    assert!(ExternalExplanation::parse("{").unwrap_err().to_string().contains("not a JSON object"));
}

#[test]
fn what_was_cut_off_is_no_mistake() {
    let mut encoded = encoded();
    encoded.tokens.truncate(4);
    let units = Units::Word.of(&encoded);
    let line = json!({"units": [{"start": 0, "end": 3, "score": 1}, {"start": 14, "end": 15, "score": 2}]})
        .to_string();
    let found = ExternalExplanation::parse(&line).unwrap();
    assert!(found.fit(&encoded, &units).unwrap_err().to_string().contains("'!' lies in no unit"));
    encoded.truncated = true;
    assert_eq!(found.fit(&encoded, &units).unwrap(), [1.0, 0.0]);
}
