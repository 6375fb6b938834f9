//! Every command as a plain request, and one function from it to its result.
//!
//! A request is a struct with a `Default`, read from and written as JSON, whose JSON Schema ([`json_schema`]) says the type, the
//! default and the meaning of every field. The program's flags fill in the same structs. Each command is a module here:
//! its request, and `run` from that to its result; where results are many, they are handed to a function as they are made. Nothing is printed: what a user may want to hear goes to a [`Listener`].
//!
//! ```
//! use exegete::request::explain::{self, ExplainRequest};
//!
//! # fn main() -> anyhow::Result<()> {
//! let request: ExplainRequest = serde_json::from_str(r#"{"text": "A warm film.", "check": "none"}"#)?;
//! let mut reports = Vec::new();
//! explain::run(&request, &Default::default(), &mut |_| {}, &mut |report| Ok(reports.push(report)))?;
//! assert_eq!(reports[0].items.len(), 1);
//! # Ok(())
//! # }
//! ```

pub mod again;
pub mod attention;
pub mod bench;
pub mod data;
pub mod eval;
pub mod explain;
pub mod methods;
pub mod model;
pub mod predict;
pub mod show;
pub mod train;

mod record;
mod schema;

mod answers;
mod cost;
mod hiding;
mod identity;
mod input;
mod reads;
mod remote;
mod resources;
mod size;
mod texts;
mod unused;

pub use answers::holds_answers;
pub use hiding::HidingOptions;
use identity::normal_form;
pub use identity::{RunIdentity, differences, text_sha256};
pub use input::TextReader;
pub use reads::{Read, refuse_reads};
pub(crate) use record::of_library;
pub use remote::AddressOptions;
pub use resources::Resources;
pub use schema::{MakeSchema, SCHEMAS, json_schema};
pub use texts::TextInput;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a run tells along the way.
#[derive(Debug)]
pub enum Notice<'a> {
    /// A sentence that the user should heed.
    Warning(&'a str),
    /// A sentence that is good to know.
    Note(&'a str),
    /// Texts that are done, and how much of the input they took.
    Read {
        /// How many, those of an earlier run included.
        texts: usize,
        /// Bytes of the input that have been read.
        bytes: u64,
        /// How many there are, where that is known.
        total_bytes: Option<u64>,
    },
    /// Texts that are done, of so many.
    Texts(usize, usize),
    /// What is being done now.
    Stage(&'a str),
    /// A step or an epoch of training.
    Training(&'a crate::train::Event<'a>),
}

/// Whoever is told what happens during a run: a function of each notice.
pub type Listener<'a> = &'a mut dyn FnMut(Notice<'_>);

/// Set from anywhere, it ends a run with [`Error::Stopped`](crate::Error::Stopped) after the batch at hand.
pub type Stop = Arc<AtomicBool>;

/// An error where a run should stop.
fn check_stop(stop: &Stop) -> anyhow::Result<()> {
    if stop.load(Ordering::Relaxed) { Err(crate::Error::Stopped.into()) } else { Ok(()) }
}

/// Says that work of an earlier run is taken up, where there is any.
fn say_going_on(finished: usize, tell: Listener<'_>) {
    if finished > 0 {
        tell(Notice::Note(&format!("going on after {finished} finished texts")));
    }
}

/// Parameters as the user gives them; `key=@FILE` stands for what a file holds.
fn settings(words: &[String]) -> anyhow::Result<Vec<String>> {
    use anyhow::Context;
    let word = |word: &String| match word.split_once("=@") {
        Some((key, path)) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("{path}: cannot be read"))?;
            Ok(format!("{key}={text}"))
        }
        None => Ok(word.clone()),
    };
    words.iter().map(word).collect()
}

/// A path that a command cannot do without.
fn needed<'a>(path: &'a Option<PathBuf>, what: &str) -> anyhow::Result<&'a PathBuf> {
    path.as_ref().ok_or_else(|| anyhow::anyhow!("{what}"))
}
