//! A model behind HTTP.

use crate::server::{Server, Step, sound};
use crate::{HASTY, PATIENT, failure, last, open, texts};
use exegete_core::{Error, Example};
use exegete_models::RemoteOptions;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

fn sound_step(_: usize, request: &Value) -> Step {
    Step::Reply(sound(request))
}

fn numbered(count: usize) -> Vec<Example> {
    (0..count).map(|i| Example::text(format!("film {i}"))).collect()
}

#[test]
fn answers_come_in_order_whatever_the_batch_and_however_many_at_once() {
    for (batch, concurrency) in [(1, 1), (7, 4), (32, 3), (1000, 4), (1, 64)] {
        let server = Server::start(|number, request| {
            // Later requests overtake earlier ones.
            thread::sleep(Duration::from_millis(3 * (number as u64 % 4)));
            Step::Reply(sound(request))
        });
        let model = open(&server.address, &RemoteOptions { batch, concurrency, ..PATIENT });
        let predictions = model.predict(&numbered(100)).unwrap();
        let found: Vec<usize> = predictions.iter().map(|p| (1000.0 * last(p)).round() as usize).collect();
        assert_eq!(found, (0..100).collect::<Vec<_>>(), "{batch} {concurrency}");
        assert_eq!(server.requests(), 2 + 100usize.div_ceil(batch));
        assert!(model.predict(&[]).unwrap().is_empty());
    }
}

#[test]
fn the_card_says_what_is_known() {
    let server = Server::start(sound_step);
    let model = open(&server.address, &PATIENT);
    let card = model.card();
    assert_eq!(
        (&card.name, card.family.as_str(), card.task.name()),
        (&server.address, "http", "classification")
    );
    assert_eq!(
        (card.labels.join(","), card.parameters, &card.warnings[..]),
        ("no,yes".to_owned(), 0, &[][..])
    );
    assert_eq!(open(&server.address, &PATIENT).card().fingerprint, card.fingerprint);
    let other = Server::start(sound_step);
    assert_ne!(open(&other.address, &PATIENT).card().fingerprint, card.fingerprint);
    assert!(model.require_open().err().unwrap().to_string().contains("predictions only"));
}

#[test]
fn texts_and_pairs_arrive_unharmed() {
    let odd = ["a\nb\r\n", "\0", "😀 naïve \u{2028}", "\"\\", "", "</script>"];
    let server = Server::start(sound_step);
    let model = open(&server.address, &RemoteOptions { pairs: true, batch: 4, ..PATIENT });
    let mut examples = texts(&odd);
    examples.extend(odd.map(|text| Example::pair(text, "h")));
    model.predict(&examples).unwrap();
    let asked = server.texts();
    assert!(asked[0].is_array() && asked[0] == asked[1], "{asked:?}");
    let expected: Vec<Value> =
        odd.iter().map(|t| json!(t)).chain(odd.iter().map(|t| json!([t, "h"]))).collect();
    assert_eq!(asked[2..], expected);
}

#[test]
fn answers_that_waver_are_warned_of() {
    let steady = |number: usize| if number == 0 { 0.25 } else { 0.25 + 1e-8 };
    let wavering = |number: usize| if number == 0 { 0.25 } else { 0.5 };
    let check = |score: fn(usize) -> f64, warned: bool| {
        let server = Server::start(move |number, _| {
            let p = score(number);
            Step::Reply(json!({"scores": [[p, 1.0 - p]]}).to_string())
        });
        let model = open(&server.address, &PATIENT);
        let warnings = &model.card().warnings;
        assert_eq!(warnings.iter().any(|w| w.contains("differ by 2.50e-1")), warned, "{warnings:?}");
    };
    check(steady, false);
    check(wavering, true);
}

/// Each fault begins after the model is known, and is told in one line.
#[test]
fn every_fault_is_told() {
    let check = |name: &str, options: RemoteOptions, requests: usize, told: &[&str], fault: fn() -> Step| {
        let server = Server::start(
            move |number, request| if number < 2 { Step::Reply(sound(request)) } else { fault() },
        );
        let error = failure(&server.address, &options);
        println!("{name}: {error}");
        assert!(told.iter().all(|part| error.contains(part)), "{name}: {error}");
        assert_eq!(server.requests(), 2 + requests, "{name}: {error}");
    };
    let once = RemoteOptions { retries: 1, ..PATIENT };
    let hasty = RemoteOptions { retries: 1, ..HASTY };
    check("slow", hasty, 2, &["did not answer within 0.3 s", "asked 2 times", "--timeout"], || {
        Step::Silence(Duration::from_secs(2))
    });
    check("drip", HASTY, 1, &["did not answer within 0.3 s"], || Step::Drip);
    check("closed", once, 2, &["asked 2 times"], || Step::Raw(Vec::new()));
    check("closed in the middle", once, 2, &["asked 2 times"], || {
        Step::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"scores\":[[0.1,".to_vec())
    });
    check("cut without a length", once, 2, &["ends in the middle", "asked 2 times"], || {
        Step::Raw(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"scores\":[[0.1,".to_vec())
    });
    check("not HTTP", once, 2, &["asked 2 times"], || {
        Step::Raw(b"220 mail.example.org ESMTP\r\n\r\n".to_vec())
    });
    check("500", once, 2, &["status 500", "'KeyError: x'", "asked 2 times"], || {
        Step::Status("500 Internal Server Error", "KeyError: x".to_owned())
    });
    check("429", once, 2, &["status 429", "asked 2 times"], || {
        Step::Status("429 Too Many Requests", String::new())
    });
    check("404", once, 1, &["status 404", "'nothing here'", "POST"], || {
        Step::Status("404 Not Found", "nothing here\n".to_owned())
    });
    check("a long 400", once, 1, &["status 400", &format!("'{}…'", "é".repeat(200))], || {
        Step::Status("400 Bad Request", "é".repeat(100_000))
    });
    check("302", once, 1, &["status 302", "sends us to '/v2/predict'"], || {
        Step::Raw(b"HTTP/1.1 302 Found\r\nlocation: /v2/predict\r\ncontent-length: 0\r\n\r\n".to_vec())
    });
    check("not JSON", once, 1, &["is not JSON", "'<html>hello'"], || Step::Reply("<html>hello".to_owned()));
    check("rows missing", once, 1, &["sent 0 rows of scores where 1 were asked for"], || {
        Step::Reply(r#"{"scores":[]}"#.into())
    });
    check("NaN", once, 1, &["NaN"], || Step::Reply(r#"{"scores":[[NaN,1.0]]}"#.into()));
    check("labels change", once, 1, &["labels changed", "from no, yes to yes, no"], || {
        Step::Reply(r#"{"scores":[[0.5,0.5]],"labels":["yes","no"]}"#.into())
    });
    check("endless", PATIENT, 1, &["longer than 64 MiB"], || Step::Endless);
}

#[test]
fn nobody_there_is_told() {
    let address = format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let error = failure(&address, &RemoteOptions { retries: 1, ..PATIENT });
    assert!(error.contains("the connection was refused (asked 2 times)"), "{error}");
}

#[test]
fn faults_that_pass_are_waited_out() {
    let server = Server::start(|number, request| match number {
        0 => Step::Status("503 Service Unavailable", "loading".to_owned()),
        3 => Step::Raw(Vec::new()),
        4 => Step::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_vec()),
        _ => Step::Reply(sound(request)),
    });
    let model = open(&server.address, &RemoteOptions { retries: 2, ..PATIENT });
    assert_eq!(last(&model.predict(&texts(&["film 250"])).unwrap()[0]), 0.25);
    assert_eq!(server.requests(), 6);
}

/// What was answered reaches the sink, whatever fails beside it or after it.
#[test]
fn what_was_answered_is_not_lost() {
    for concurrency in [1, 4] {
        let server = Server::start(|_, request| match request["texts"][0].as_str() {
            Some("film 50") => Step::Status("400 Bad Request", "too rude".to_owned()),
            _ => {
                // Slow, so that others are still under way when one is refused.
                thread::sleep(Duration::from_millis(50));
                Step::Reply(sound(request))
            }
        });
        let model = open(&server.address, &RemoteOptions { batch: 10, concurrency, ..PATIENT });
        let mut got = Vec::new();
        let outcome = model.predict_each(&numbered(100), &mut |range, predictions| {
            assert_eq!(range.len(), predictions.len());
            got.extend(range);
            Ok(())
        });
        assert!(outcome.unwrap_err().to_string().contains("too rude"));
        got.sort_unstable();
        let answered: Vec<usize> =
            (0..100).filter(|i| i / 10 != 5 && *i < 10 * (server.requests() - 2)).collect();
        assert_eq!(got, answered, "{concurrency}");
        assert!(got.len() >= 50 && (concurrency > 1 || got.len() == 50));
    }
}

#[test]
fn a_sink_that_refuses_ends_the_work() {
    let server = Server::start(sound_step);
    let model = open(&server.address, &PATIENT);
    let outcome = model.predict_each(&numbered(1000), &mut |_, _| Err(Error::Input("disk full".to_owned())));
    assert_eq!(outcome.unwrap_err().to_string(), "disk full");
    assert!(server.requests() < 1002);
}

#[test]
fn values_and_labels_of_their_own() {
    let server = Server::start(|_, _| Step::Reply(r#"{"scores":[[-3.5]]}"#.to_owned()));
    let model = open(&server.address, &PATIENT);
    assert_eq!(model.card().task.name(), "regression");
    assert_eq!(last(&model.predict(&texts(&["x"])).unwrap()[0]), -3.5);
    let multi = r#"{"scores":[[0.9,0.8]],"labels":["a","b"],"multi_label":true}"#;
    let server = Server::start(move |_, _| Step::Reply(multi.to_owned()));
    let model = open(&server.address, &PATIENT);
    assert_eq!(model.card().task.name(), "multi_label");
    assert_eq!(last(&model.predict(&texts(&["x"])).unwrap()[0]), 0.8);
}
