//! Every reply that breaks a promise is refused with a sentence that names it.

use super::http::without_password;
use super::line::Fault;
use super::protocol::{Reply, Shape, request};
use super::{RemoteOptions, connect};
use exegete_core::task::{self, Task};
use exegete_core::{ClassScore, Example, Field, Prediction, Scores};
use std::time::Duration;

/// The answer to a first reply and then to a second one of as many rows as are asked for.
fn answers(first: &str, second: &str, rows: usize) -> Result<Vec<Prediction>, Fault> {
    let shape = Shape::learn(&Reply::read(first.as_bytes(), 1)?)?;
    shape.predictions(&Reply::read(second.as_bytes(), rows)?)
}

#[test]
fn what_a_model_is_follows_from_its_first_reply() {
    let check = |reply: &str, task: &'static dyn Task, labels: &[&str]| {
        let shape = Shape::learn(&Reply::read(reply.as_bytes(), 1).unwrap()).unwrap();
        assert_eq!((shape.task, &shape.labels[..]), (task, &labels.map_strings()[..]), "{reply}");
    };
    check(r#"{"scores":[[0.4,0.6]],"labels":["no","yes"]}"#, &task::CLASSIFICATION, &["no", "yes"]);
    check(r#"{"scores":[[0.4,0.6]]}"#, &task::CLASSIFICATION, &["0", "1"]);
    check(r#"{"scores":[[0.4,0.6]],"labels":null,"seconds":3}"#, &task::CLASSIFICATION, &["0", "1"]);
    check(r#"{"scores":[[4.5]]}"#, &task::REGRESSION, &["value"]);
    check(r#"{"scores":[[0.9,0.8]],"labels":["a","b"],"multi_label":true}"#, &task::MULTI_LABEL, &["a", "b"]);
    check(r#"{"scores":[[0.9]],"labels":["a"],"multi_label":true}"#, &task::MULTI_LABEL, &["a"]);
    check(r#"{"scores":[[0.9]],"multi_label":true}"#, &task::MULTI_LABEL, &["0"]);
}

trait Strings {
    fn map_strings(&self) -> Vec<String>;
}

impl Strings for &[&str] {
    fn map_strings(&self) -> Vec<String> {
        self.iter().map(|&text| text.to_owned()).collect()
    }
}

#[test]
fn a_first_reply_that_makes_no_sense_is_refused() {
    let check = |reply: &str, told: &str| {
        let fault = answers(reply, reply, 1).unwrap_err();
        assert!(fault.what.contains(told), "{reply}: {fault:?}");
        assert!(!fault.passing && !fault.advice.is_empty(), "{reply}: {fault:?}");
    };
    check("Loading model…", "is not JSON");
    check("[[0.4,0.6]]", "is not a reply");
    check("{}", "missing field `scores`");
    check(r#"{"error":"out of memory"}"#, "'{\"error\":\"out of memory\"}'");
    check(r#"{"scores":[]}"#, "sent 0 rows of scores where 1 were asked for");
    check(r#"{"scores":[[0.4,0.6],[0.4,0.6]]}"#, "sent 2 rows of scores where 1 were asked for");
    check(r#"{"scores":[[]]}"#, "row 1 of 1 holds no score");
    check(r#"{"scores":[0.4]}"#, "is not a reply");
    check(r#"{"scores":[["a",0.6]]}"#, "is not a reply");
    check(r#"{"scores":[[NaN,0.6]]}"#, "NaN or Infinity");
    check(r#"{"scores":[[-Infinity,0.6]]}"#, "NaN or Infinity");
    check(r#"{"scores":[[null,0.6]]}"#, "row 1 of 1 holds null");
    check(r#"{"scores":[[-0.2,1.2]]}"#, "row 1 of 1 holds -0.2, which is no probability");
    check(r#"{"scores":[[0.2,1.2]]}"#, "holds 1.2");
    check(r#"{"scores":[[1e999,0.0]]}"#, "number out of range");
    check(r#"{"scores":[[0.4,0.5]]}"#, "sums to 0.9000 and not to one");
    check(r#"{"scores":[[0.9,0.8]],"labels":["a","b"]}"#, "sums to 1.7000");
    check(r#"{"scores":[[0.9,1.8]],"labels":["a","b"],"multi_label":true}"#, "holds 1.8");
    check(r#"{"scores":[[0.4,0.6]],"labels":["a"]}"#, "has the one label 'a'");
    check(r#"{"scores":[[0.7]],"labels":["a"]}"#, "has the one label 'a'");
    check(r#"{"scores":[[0.4,0.6]],"labels":["a","b","c"]}"#, "2 scores a row and 3 labels");
    check(r#"{"scores":[[0.4,0.6]],"labels":[]}"#, "2 scores a row and 0 labels");
    check(r#"{"scores":[[0.4,0.6]],"labels":["a","a"]}"#, "the label 'a' twice");
    check(r#"{"scores":[[0.4,0.6]],"labels":[0,1]}"#, "expected a string");
}

#[test]
fn an_answer_cut_off_may_be_asked_again() {
    let fault = Reply::read(br#"{"scores":[[0.4,"#, 1).unwrap_err();
    assert!(fault.passing && fault.what.contains("ends in the middle"), "{fault:?}");
}

#[test]
fn a_later_reply_must_keep_to_the_first() {
    let named = r#"{"scores":[[0.4,0.6]],"labels":["no","yes"]}"#;
    let multi = r#"{"scores":[[0.4,0.9]],"labels":["a","b"],"multi_label":true}"#;
    let value = r#"{"scores":[[0.4]]}"#;
    let check = |first: &str, second: &str, told: Option<&str>| match (answers(first, second, 2), told) {
        (Ok(predictions), None) => assert_eq!(predictions.len(), 2, "{second}"),
        (Err(fault), Some(told)) => assert!(fault.what.contains(told), "{second}: {fault:?}"),
        (other, _) => panic!("{second}: {other:?}"),
    };
    check(named, r#"{"scores":[[0.4,0.6],[1.0000001,-0.0000001]],"labels":["no","yes"]}"#, None);
    check(named, r#"{"scores":[[0.4,0.6],[1,0]]}"#, None);
    check(named, r#"{"scores":[[0.4,0.6],[1,0]],"labels":["yes","no"]}"#, Some("from no, yes to yes, no"));
    check(named, r#"{"scores":[[0.4,0.3,0.3],[1,0,0]]}"#, Some("from no, yes to 3 scores"));
    check(named, r#"{"scores":[[0.4,0.6],[1]]}"#, Some("row 2 of 2 has 1 scores and row 1 has 2"));
    check(named, r#"{"scores":[[0.4,0.6],[0.4,0.7]]}"#, Some("row 2 of 2 sums to 1.1000"));
    check(named, r#"{"scores":[[0.4,0.6],[1,0]],"multi_label":true}"#, Some("\"multi_label\" changed"));
    check(multi, r#"{"scores":[[0.9,0.9],[0.1,0.1]],"multi_label":true}"#, None);
    check(multi, r#"{"scores":[[0.9,0.9],[0.1,0.1]]}"#, None);
    check(value, r#"{"scores":[[-7],[1e6]]}"#, None);
    check(value, r#"{"scores":[[1],[1]],"labels":["yes"]}"#, Some("labels changed"));
}

#[test]
fn numbers_arrive_as_they_were_sent() {
    let found = answers(r#"{"scores":[[0.4,0.6]]}"#, r#"{"scores":[[0.1234567890123,0.8765432109877]]}"#, 1);
    let class = |label: &str, prob| ClassScore { label: label.to_owned(), logit: None, prob };
    let scores = Scores::classes(vec![class("0", 0.1234567890123), class("1", 0.8765432109877)]);
    assert_eq!(found, Ok(vec![Prediction { scores, truncated: false, unknown: 0 }]));
}

#[test]
fn requests_are_one_line() {
    let examples = [Example::text("a\nb\0\"😀"), Example::pair("p", "h")];
    let line = String::from_utf8(request(&examples).unwrap()).unwrap();
    assert_eq!(line, "{\"texts\":[\"a\\nb\\u0000\\\"😀\",[\"p\",\"h\"]]}\n");
    let field = || Field { name: "x".to_owned(), text: String::new() };
    let three = Example { fields: vec![field(), field(), field()], label: None, weights: None };
    assert!(request(&[three]).unwrap_err().to_string().contains("3 fields"));
}

#[test]
fn addresses_and_options_that_make_no_sense_are_refused() {
    let options = RemoteOptions::default();
    let check = |address: &str, options: &RemoteOptions, told: &str| {
        let error = connect(address, options).err().unwrap().to_string();
        assert!(error.contains(told) && !error.contains("secret"), "{address}: {error}");
    };
    check("https://me:secret@example.org/x", &options, "https://example.org/x: https is not built in");
    check("http://", &options, "http://: is no address");
    check("http://:80/", &options, "http://:80/");
    check("ftp://x", &options, "is no address");
    check("cmd:  ", &options, "names no command");
    check("cmd: cat", &RemoteOptions { batch: 0, ..options }, "a batch above zero");
    check("cmd: cat", &RemoteOptions { concurrency: 0, ..options }, "a concurrency above zero");
    check("http://x", &RemoteOptions { timeout: Duration::MAX, ..options }, "below a year");
    check("http://127.0.0.1:99999", &options, "names no port");
    check("http://me:secret@[::1]:x/", &options, "names no port");
    check("cmd: cat", &RemoteOptions { timeout: Duration::ZERO, ..options }, "one above zero");
    for (address, shown) in [
        ("http://me:secret@host:80/a@b", "http://host:80/a@b"),
        ("http://host/?q=a@b", "http://host/?q=a@b"),
        ("cmd: mail me@host http://x@y", "cmd: mail me@host http://x@y"),
    ] {
        assert_eq!(without_password(address), shown);
    }
}
