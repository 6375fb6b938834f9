//! Black boxes as ordinary models: an HTTP endpoint, or a command that answers line by line.
//!
//! 1. [`protocol`] writes a request and reads a reply, and refuses every reply that is not what was promised.
//! 2. A [`Channel`] carries bytes there and back: [`http`] or [`command`]. It never waits longer than the timeout.
//! 3. A [`line::Line`] asks until there is an answer or the retries are used up.
//! 4. A [`Remote`] is the [`Model`]: it cuts examples into requests and asks several at once.

mod command;
mod http;
mod line;
mod protocol;
#[cfg(test)]
mod tests;

use crate::checkpoint::Fnv;
use crate::fault::{fault, unsupported};
use command::Pipe;
use exegete_core::{Card, Error, Example, Model, Prediction, Result, Sizes};
use http::Http;
use line::{Channel, Line};
use protocol::{Reply, Shape};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

/// What the first request asks about. It says nothing, so that nobody's log or filter minds.
const PROBE: [&str; 2] = ["This is a sentence.", "This is another sentence."];
/// Answers to the same text may differ by this much: what single precision does on a busy graphics card.
const SAME: f64 = 1e-6;

const LONGEST_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);

/// How a model at an address is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteOptions {
    /// The longest wait for one answer; for a command, its start is part of the first.
    pub timeout: Duration,
    /// How often a request is repeated after a fault that may pass.
    pub retries: usize,
    /// How many texts go into one request.
    pub batch: usize,
    /// Requests at once. A command is asked one thing at a time.
    pub concurrency: usize,
    /// Whether the model reads pairs of texts: what it is asked about at first is then a pair.
    pub pairs: bool,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), retries: 4, batch: 32, concurrency: 4, pairs: false }
    }
}

/// Whether this names a model at an address rather than a folder.
pub fn is_address(model: &str) -> bool {
    ["http://", "https://", "cmd:"].iter().any(|scheme| model.starts_with(scheme))
}

/// The model at an address: `http://…`, or `cmd: COMMAND ARGS` for a program that answers on its stdout.
///
/// It is asked twice about a sentence of no interest, to learn its labels and to see whether it answers the same again.
/// Its fingerprint is a hash of address, task and labels: the weights of a black box cannot be hashed, so a server
/// that is given other weights keeps its fingerprint.
pub fn connect(address: &str, options: &RemoteOptions) -> Result<Arc<dyn Model>> {
    check(options)?;
    let (family, channel): (_, Box<dyn Channel>) = match address.strip_prefix("cmd:").map(str::trim) {
        Some("") => return Err(fault(address, "names no command; write \"cmd: python3 model.py\"")),
        Some(command) => ("command", Box::new(Pipe::new(command, options.timeout))),
        None if address.starts_with("http://") => ("http", Box::new(Http::new(address, options)?)),
        None if address.starts_with("https://") => return Err(no_tls(address)),
        None => return Err(fault(address, "is no address; write http://… or \"cmd: COMMAND\"")),
    };
    let line = Line {
        channel,
        name: http::without_password(address),
        retries: options.retries,
        again: Mutex::default(),
    };
    let concurrency = if family == "http" { options.concurrency } else { 1 };
    Ok(Arc::new(Remote::learn(line, family, concurrency, options)?))
}

fn check(options: &RemoteOptions) -> Result<()> {
    let RemoteOptions { timeout, batch, concurrency, .. } = options;
    let wrong = |what: &str| Err(Error::Request(format!("a model at an address cannot be asked {what}")));
    match (*timeout, *batch, *concurrency) {
        (_, 0, _) => wrong("about 0 texts at once; give a batch above zero"),
        (_, _, 0) => wrong("by 0 requests at once; give a concurrency above zero"),
        // Clocks overflow somewhere beyond.
        (timeout, ..) if timeout.is_zero() || timeout > LONGEST_TIMEOUT => {
            wrong("with such a timeout; give one above zero and below a year")
        }
        _ => Ok(()),
    }
}

fn no_tls(address: &str) -> Error {
    let told = "https is not built in; ask through a command such as curl (docs/black-boxes.md shows the line) or a local proxy";
    unsupported(http::without_password(address), told)
}

/// A model of which only the answers are known.
struct Remote {
    line: Line,
    shape: Shape,
    card: Card,
    /// Whether it answered the first question twice alike.
    steady: bool,
    batch: usize,
    concurrency: usize,
}

impl Remote {
    fn learn(line: Line, family: &str, concurrency: usize, options: &RemoteOptions) -> Result<Self> {
        let probe = if options.pairs { Example::pair(PROBE[0], PROBE[1]) } else { Example::text(PROBE[0]) };
        let ask = || line.ask(std::slice::from_ref(&probe), &AtomicBool::new(false), Ok);
        let first = ask()?;
        let shape = Shape::learn(&first).map_err(|fault| line.error(&fault, 1))?;
        let again = ask()?;
        shape.predictions(&again).map_err(|fault| line.error(&fault, 1))?;
        let wavering = wavering(&first, &again);
        let steady = wavering.is_none();
        let card = card(&line.name, family, &shape, wavering.into_iter().collect());
        Ok(Self { line, shape, card, steady, batch: options.batch, concurrency })
    }

    /// Asks for chunk after chunk until none is left or anything failed anywhere.
    fn work(&self, work: &Work, answered: &mpsc::Sender<(Range<usize>, Result<Vec<Prediction>>)>) {
        while !work.stop.load(Ordering::Relaxed) {
            let first = work.next.fetch_add(self.batch, Ordering::Relaxed);
            if first >= work.examples.len() {
                return;
            }
            let range = first..work.examples.len().min(first + self.batch);
            let read = |reply: Reply| self.shape.predictions(&reply);
            let answer = self.line.ask(&work.examples[range.clone()], &work.stop, read);
            work.stop.fetch_or(answer.is_err(), Ordering::Relaxed);
            if answered.send((range, answer)).is_err() {
                return;
            }
        }
    }
}

/// What the threads of one call share.
struct Work<'a> {
    examples: &'a [Example],
    next: AtomicUsize,
    stop: AtomicBool,
}

impl Model for Remote {
    fn card(&self) -> &Card {
        &self.card
    }

    fn warnings(&self) -> Vec<String> {
        self.card.warnings.iter().cloned().chain(self.line.restarts()).collect()
    }

    fn steady(&self) -> bool {
        self.steady
    }

    fn predict(&self, examples: &[Example]) -> Result<Vec<Prediction>> {
        let mut all = vec![None; examples.len()];
        self.predict_each(examples, &mut |range, predictions| {
            all[range].iter_mut().zip(predictions).for_each(|(place, found)| *place = Some(found));
            Ok(())
        })?;
        Ok(all.into_iter().flatten().collect())
    }

    fn predict_each(
        &self,
        examples: &[Example],
        sink: &mut dyn FnMut(Range<usize>, Vec<Prediction>) -> Result<()>,
    ) -> Result<()> {
        let work = Work { examples, next: AtomicUsize::new(0), stop: AtomicBool::new(false) };
        let threads = self.concurrency.min(examples.len().div_ceil(self.batch));
        thread::scope(|scope| {
            let (sender, answers) = mpsc::channel();
            for _ in 0..threads {
                let (sender, work) = (sender.clone(), &work);
                let started = thread::Builder::new().spawn_scoped(scope, move || self.work(work, &sender));
                if started.is_err() {
                    break;
                }
            }
            drop(sender);
            // Answers that arrive after a failure were paid for too, so they are still handed on.
            let mut outcome = Ok(());
            for (range, answer) in answers {
                let handed = answer.and_then(|predictions| sink(range, predictions));
                work.stop.fetch_or(handed.is_err(), Ordering::Relaxed);
                outcome = outcome.and(handed);
            }
            outcome
        })?;
        match work.next.into_inner() < examples.len() {
            true => Err(fault(&self.card.name, "no thread could be started to ask; lower --concurrency")),
            false => Ok(()),
        }
    }
}

fn card(name: &str, family: &str, shape: &Shape, warnings: Vec<String>) -> Card {
    let mut hash = Fnv::default();
    hash.field(name.as_bytes());
    hash.field(format!("{:?}", shape.task).as_bytes());
    shape.labels.iter().for_each(|label| hash.field(label.as_bytes()));
    Card {
        name: name.to_owned(),
        family: family.to_owned(),
        fingerprint: hash.hex(),
        task: shape.task,
        labels: shape.labels.clone(),
        parameters: 0,
        max_tokens: 0,
        sizes: Sizes::default(),
        warnings,
    }
}

/// What to say where the same text was answered twice in different ways.
fn wavering(first: &Reply, again: &Reply) -> Option<String> {
    let worst = first.distance(again);
    (worst > SAME).then(|| {
        format!(
            "the same text was answered twice with scores that differ by {worst:.2e}: every explanation will be as unsteady; switch off dropout and sampling"
        )
    })
}
