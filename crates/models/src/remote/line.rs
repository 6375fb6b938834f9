//! Asking until there is an answer: which faults are worth another try, and how long to wait before it.

use super::protocol::{self, Reply};
use crate::fault::fault;
use exegete_core::{Error, Example, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// How much of what the other side said is shown.
const SHOWN_CHARS: usize = 200;

/// Why there is no answer, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) what: String,
    pub(super) advice: &'static str,
    /// Whether asking again may help.
    pub(super) passing: bool,
}

impl Fault {
    /// A fault that stays however often one asks.
    pub(super) fn lasting(what: impl Into<String>, advice: &'static str) -> Self {
        Self { what: what.into(), advice, passing: false }
    }

    /// A fault that may be gone in a moment.
    pub(super) fn passing(what: impl Into<String>, advice: &'static str) -> Self {
        Self { what: what.into(), advice, passing: true }
    }
}

/// Carries a request there and its answer back, in bounded time and memory.
pub(super) trait Channel: Send + Sync {
    /// One request, one answer.
    fn ask(&self, request: &[u8]) -> Result<Vec<u8>, Fault>;

    /// Forgets a connection whose last answer made no sense: the next one would answer the wrong question.
    fn reset(&self) {}
}

/// A channel with patience.
pub(super) struct Line {
    pub(super) channel: Box<dyn Channel>,
    pub(super) name: String,
    pub(super) retries: usize,
    /// What went wrong first and was asked again, and how often anything did.
    pub(super) again: Mutex<(String, usize)>,
}

impl Line {
    /// What `read` makes of the reply to one request, repeated as long as that may help and nobody says `stop`.
    pub(super) fn ask<T>(
        &self,
        examples: &[Example],
        stop: &AtomicBool,
        read: impl Fn(Reply) -> Result<T, Fault>,
    ) -> Result<T> {
        let request = protocol::request(examples)?;
        let mut wait = FIRST_WAIT;
        let mut asked = 1;
        loop {
            let fault = match self.once(&request, examples.len(), &read) {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            if !fault.passing || asked > self.retries {
                return Err(self.error(&fault, asked));
            }
            thread::sleep(wait);
            if stop.load(Ordering::Relaxed) {
                return Err(self.error(&fault, asked));
            }
            self.count(&fault);
            wait = (2 * wait).min(LONGEST_WAIT);
            asked += 1;
        }
    }

    fn once<T>(
        &self,
        request: &[u8],
        rows: usize,
        read: impl Fn(Reply) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let bytes = self.channel.ask(request)?;
        Reply::read(&bytes, rows).and_then(read).inspect_err(|_| self.channel.reset())
    }

    fn count(&self, fault: &Fault) {
        let mut again = self.again.lock().unwrap_or_else(PoisonError::into_inner);
        if again.1 == 0 {
            again.0.clone_from(&fault.what);
        }
        again.1 += 1;
    }

    /// What to say of requests that were made again.
    pub(super) fn restarts(&self) -> Option<String> {
        let (what, times) = &*self.again.lock().unwrap_or_else(PoisonError::into_inner);
        (*times > 0).then(|| {
            let times = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
            format!("the model failed and was asked again {times} (at first: {what}); a model that keeps a state may answer otherwise after a restart")
        })
    }

    /// The fault as users see it.
    pub(super) fn error(&self, why: &Fault, asked: usize) -> Error {
        let times = if asked > 1 { format!(" (asked {asked} times)") } else { String::new() };
        fault(beginning(&self.name), format!("{}{times}; {}", why.what, why.advice))
    }
}

/// The beginning of what the other side said, in quotes.
pub(super) fn excerpt(said: &[u8]) -> String {
    // A character has at most four bytes, so this is enough and a long answer is not copied.
    let said = String::from_utf8_lossy(&said[..said.len().min(4 * SHOWN_CHARS)]);
    format!("'{}'", beginning(said.trim()))
}

/// The beginning of a text that may be long.
pub(super) fn beginning(text: &str) -> String {
    let short: String = text.chars().take(SHOWN_CHARS).collect();
    if short.len() < text.len() { short + "…" } else { short }
}
