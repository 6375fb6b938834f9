//! The wire: `{"texts":["…", …]}` there, `{"scores":[[p0,p1,…], …],"labels":["no","yes"]}` back, a row a text, in order.
//!
//! Replies come from programs that nobody here has seen, so every promise is checked before a number is used.
//! Two things go beyond the plain form. Rows of one number without labels are the values of a regression. With
//! `"multi_label":true` each number is a probability of its own and rows need not sum to one.

use super::line::{Fault, beginning, excerpt};
use exegete_core::task::{CLASSIFICATION, Classes, MULTI_LABEL, REGRESSION};
use exegete_core::{ClassScore, Error, Example, Prediction, Result, Scores, Task};
use serde::{Deserialize, Serialize};

/// How far the probabilities of a row may miss one.
const SUM_TOLERANCE: f64 = 1e-3;
/// How far single precision may carry a probability past 0 or 1; it is moved back.
const EDGE: f64 = 1e-6;
/// What the one number of a regression is called.
const VALUE: &str = "value";

const FORM: &str = r#"a reply must be {"scores":[[p0,p1,…],…],"labels":["no","yes"]}, on one line, with a row for every text"#;

/// One text as a string, a pair as a list of two.
#[derive(Serialize)]
#[serde(untagged)]
enum Texts<'a> {
    One(&'a str),
    Pair([&'a str; 2]),
}

/// A request as one line.
pub(super) fn request(examples: &[Example]) -> Result<Vec<u8>> {
    #[derive(Serialize)]
    struct Request<'a> {
        texts: Vec<Texts<'a>>,
    }
    let texts = examples.iter().map(texts).collect::<Result<_>>()?;
    let mut line = serde_json::to_vec(&Request { texts })
        .map_err(|error| Error::Input(format!("the texts cannot be written as JSON: {error}")))?;
    line.push(b'\n');
    Ok(line)
}

fn texts(example: &Example) -> Result<Texts<'_>> {
    example.check_unweighted()?;
    match example.fields.as_slice() {
        [text] => Ok(Texts::One(&text.text)),
        [first, second] => Ok(Texts::Pair([&first.text, &second.text])),
        fields => Err(Error::Input(format!(
            "a model at an address reads one text or a pair, and this example has {} fields",
            fields.len()
        ))),
    }
}

/// What came back, with as many rows as there were texts, of one length, all numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    rows: Vec<Vec<f64>>,
    labels: Option<Vec<String>>,
    multi_label: Option<bool>,
}

impl Reply {
    /// Reads the answer to a request of `texts` texts.
    pub(super) fn read(bytes: &[u8], texts: usize) -> Result<Self, Fault> {
        #[derive(Deserialize)]
        struct Wire {
            scores: Vec<Vec<Option<f64>>>,
            labels: Option<Vec<String>>,
            multi_label: Option<bool>,
        }
        let wire: Wire = serde_json::from_slice(bytes).map_err(|error| not_a_reply(bytes, &error))?;
        if wire.scores.len() != texts {
            let found = wire.scores.len();
            return Err(Fault::lasting(
                format!("sent {found} rows of scores where {texts} were asked for"),
                FORM,
            ));
        }
        let width = wire.scores.first().map_or(0, Vec::len);
        let rows = wire.scores.into_iter().enumerate().map(|(i, row)| numbers(row, width, i, texts));
        Ok(Self { rows: rows.collect::<Result<_, _>>()?, labels: wire.labels, multi_label: wire.multi_label })
    }

    /// The largest difference between two replies to the same request.
    pub(super) fn distance(&self, other: &Self) -> f64 {
        let pairs = self.rows.iter().flatten().zip(other.rows.iter().flatten());
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }
}

fn not_a_reply(bytes: &[u8], error: &serde_json::Error) -> Fault {
    let said = excerpt(bytes);
    if bytes.trim_ascii().is_empty() {
        return Fault::passing("the answer is empty", FORM);
    }
    if error.is_eof() {
        let advice = "is the program that answers killed or cut off?";
        return Fault::passing(format!("the answer ends in the middle: {said}"), advice);
    }
    let holds = |word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
    if error.is_syntax()
        && bytes.trim_ascii_start().starts_with(b"{")
        && (holds(b"NaN") || holds(b"Infinity"))
    {
        let advice = "NaN and Infinity are not JSON, and no scores; look for a division by zero in the model";
        return Fault::lasting(format!("the scores hold NaN or Infinity: {said}"), advice);
    }
    let advice =
        if error.is_data() { FORM } else { "print nothing but replies there, and messages on stderr" };
    let kind = if error.is_data() { "is not a reply" } else { "is not JSON" };
    Fault::lasting(format!("the answer {kind} ({error}): {said}"), advice)
}

fn numbers(row: Vec<Option<f64>>, width: usize, index: usize, rows: usize) -> Result<Vec<f64>, Fault> {
    let place = place(index, rows);
    if width == 0 {
        return Err(Fault::lasting(format!("{place} holds no score"), FORM));
    }
    if row.len() != width {
        let what = format!("{place} has {} scores and row 1 has {width}", row.len());
        return Err(Fault::lasting(what, "every row needs one score for every label, in the same order"));
    }
    let row: Option<Vec<f64>> = row.into_iter().collect();
    row.ok_or_else(|| {
        Fault::lasting(
            format!("{place} holds null"),
            "send a number for every label; null often stands for NaN",
        )
    })
}

fn place(index: usize, rows: usize) -> String {
    format!("row {} of {rows}", index + 1)
}

/// What the first reply says of all replies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) task: &'static dyn Task,
    pub(super) labels: Vec<String>,
}

impl Shape {
    /// Task and labels of a model, from one of its replies.
    pub(super) fn learn(reply: &Reply) -> Result<Self, Fault> {
        let width = reply.rows.first().map_or(0, Vec::len);
        let shape = match (&reply.labels, reply.multi_label.unwrap_or(false)) {
            (labels, true) => {
                Self { task: &MULTI_LABEL, labels: labels.clone().unwrap_or_else(|| numbered(width)) }
            }
            (None, false) if width == 1 => Self { task: &REGRESSION, labels: vec![VALUE.to_owned()] },
            (Some(labels), false) if labels.len() == 1 => {
                let what = format!("has the one label '{}'", labels[0]);
                return Err(Fault::lasting(
                    what,
                    "send both probabilities [1-p,p] with two labels, or for a regression no labels",
                ));
            }
            (labels, false) => {
                Self { task: &CLASSIFICATION, labels: labels.clone().unwrap_or_else(|| numbered(width)) }
            }
        };
        shape.check_labels(width)?;
        shape.predictions(reply)?;
        Ok(shape)
    }

    fn check_labels(&self, width: usize) -> Result<(), Fault> {
        let labels = &self.labels;
        if labels.len() != width {
            let what = format!("sends {width} scores a row and {} labels", labels.len());
            return Err(Fault::lasting(what, "send one label for every score, in the same order"));
        }
        match labels.iter().enumerate().find(|(i, label)| labels[..*i].contains(label)) {
            Some((_, twice)) => Err(Fault::lasting(
                format!("has the label '{twice}' twice"),
                "give every class a name of its own",
            )),
            None => Ok(()),
        }
    }

    /// The reply as predictions, where it keeps to what was learned and its numbers are what they should be.
    pub(super) fn predictions(&self, reply: &Reply) -> Result<Vec<Prediction>, Fault> {
        self.unchanged(reply)?;
        let rows = reply.rows.len();
        let one = |(i, row): (usize, &Vec<f64>)| {
            let scores = self
                .scores(row)
                .map_err(|fault| Fault { what: format!("{} {}", place(i, rows), fault.what), ..fault })?;
            Ok(Prediction { scores, truncated: false, unknown: 0 })
        };
        reply.rows.iter().enumerate().map(one).collect()
    }

    fn unchanged(&self, reply: &Reply) -> Result<(), Fault> {
        let advice = "one model must answer the whole run; was the server restarted with another?";
        let width = reply.rows.first().map_or(self.labels.len(), Vec::len);
        let names = match &reply.labels {
            Some(labels) if !self.task.gives_probabilities() || *labels != self.labels => {
                beginning(&labels.join(", "))
            }
            _ if width != self.labels.len() => format!("{width} scores"),
            _ if reply.multi_label.is_some_and(|multi| multi != (self.task.classes() == Classes::Any)) => {
                let what = "\"multi_label\" changed in the course of the run";
                return Err(Fault::lasting(what, advice));
            }
            _ => return Ok(()),
        };
        let first = beginning(&self.labels.join(", "));
        let what = format!("the labels changed in the course of the run, from {first} to {names}");
        Err(Fault::lasting(what, advice))
    }

    fn scores(&self, row: &[f64]) -> Result<Scores, Fault> {
        if !self.task.gives_probabilities() {
            return Ok(Scores::Value { value: row[0] });
        }
        let advice = "send probabilities (the softmax of logits), or \"multi_label\":true where each label has one of its own";
        if let Some(outside) = row.iter().find(|p| !(-EDGE..=1.0 + EDGE).contains(*p)) {
            return Err(Fault::lasting(format!("holds {outside}, which is no probability"), advice));
        }
        let sum: f64 = row.iter().sum();
        if self.task.classes() == Classes::One && (sum - 1.0).abs() > SUM_TOLERANCE {
            return Err(Fault::lasting(format!("sums to {sum:.4} and not to one"), advice));
        }
        let classes = self.labels.iter().zip(row).map(|(label, prob)| ClassScore {
            label: label.clone(),
            logit: None,
            prob: prob.clamp(0.0, 1.0),
        });
        let classes = classes.collect();
        Ok(if self.task.classes() == Classes::Any {
            Scores::labels(classes)
        } else {
            Scores::classes(classes)
        })
    }
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|class| class.to_string()).collect()
}
