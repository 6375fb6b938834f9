//! What a run tells along the way, on stderr; indicatif shows bars only where stderr is a terminal.

mod pace;

use exegete::Advance;
use exegete::request::Notice;
use exegete::train::Event;
use indicatif::{ProgressBar, ProgressStyle};
use pace::Pace;
use std::cell::RefCell;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};

/// How far the work on many texts is: a bar, or a line now and then where stderr is no terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    pace: Option<RefCell<Pace>>,
    noun: &'static str,
}

impl Progress {
    /// What is counted is named in the singular.
    fn new(template: &str, noun: &'static str) -> Self {
        let pace = (!std::io::stderr().is_terminal()).then(|| RefCell::new(Pace::new(noun)));
        Self { bar: bar(template), pace, noun }
    }

    /// Says sentences, and how far the work is.
    pub(crate) fn show(&self, notice: Notice<'_>) {
        match notice {
            Notice::Read { texts, bytes, total_bytes } => {
                self.line(texts, None, total_bytes.map(|total| share(bytes, total)));
                self.bar.set_message(pace::counted(texts, self.noun));
                total_bytes.into_iter().for_each(|total| advance(&self.bar, bytes, total));
            }
            Notice::Texts(done, total) => {
                self.line(done, Some(total), Some(share(done as u64, total as u64)));
                show(&self.bar, notice);
            }
            notice => show(&self.bar, notice),
        }
    }

    /// Does something while the bar is not shown.
    pub(crate) fn suspend<T>(&self, work: impl FnOnce() -> T) -> T {
        self.bar.suspend(work)
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, texts: usize, of: Option<usize>, done: Option<f64>) {
        let line = self.pace.as_ref().and_then(|pace| pace.borrow_mut().line(texts, of, done));
        line.into_iter().for_each(|line| eprintln!("{line}"));
    }
}

fn share(done: u64, total: u64) -> f64 {
    if total > 0 { done as f64 / total as f64 } else { 1.0 }
}

/// How far a file is that is read along the way.
pub(crate) fn reading() -> Progress {
    Progress::new("{bar:40} {percent:>3} %  {msg}, {eta} left", "text")
}

/// How many of the texts are done, some of which an earlier run finished.
pub(crate) fn texts() -> Progress {
    Progress::new("{bar:40} {percent:>3} %  {pos} of {len} texts, {eta} left", "text")
}

/// How many of the models are done, and which is at work.
pub(crate) fn models() -> Progress {
    Progress::new("{bar:40} {percent:>3} %  {pos} of {len} models, {msg}, {eta} left", "model")
}

/// How far the training of one of several models is, or the work on texts between.
pub(crate) fn stages() -> Progress {
    Progress::new("{bar:40} {percent:>3} %  {msg}, {eta} left", "step")
}

/// A count of the rows that a model ran, for work whose end nobody knows: a spinner, or a line now and then where stderr is no
/// terminal.
#[derive(Clone)]
pub(crate) struct RowCount {
    bar: ProgressBar,
    pace: Option<Arc<Mutex<Pace>>>,
}

impl RowCount {
    pub(crate) fn new() -> Self {
        let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        let pace = (!std::io::stderr().is_terminal()).then(|| Arc::new(Mutex::new(Pace::new("row"))));
        Self { bar: ProgressBar::new_spinner().with_style(style), pace }
    }

    /// Moves the count on.
    pub(crate) fn advance(&self, advance: Advance) {
        let (rows, again) = (advance.spent.forward_rows, advance.spent.remembered_rows);
        let mut message = format!("{rows} rows run");
        if advance.texts > 0 {
            message = format!("text {}, {message}", advance.texts + 1);
        }
        if self.pace.as_ref().is_some_and(|pace| pace.lock().unwrap_or_else(PoisonError::into_inner).is_due())
        {
            eprintln!("{message}, {again} asked for again");
        }
        self.bar.set_message(message);
        self.bar.tick();
    }

    /// Says sentences beside the count.
    pub(crate) fn show(&self, notice: Notice<'_>) {
        show(&self.bar, notice);
    }

    /// Takes the count away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Says sentences and moves a bar; what training measures is the business of that command.
pub(crate) fn show(bar: &ProgressBar, notice: Notice<'_>) {
    match notice {
        Notice::Read { .. } => {}
        Notice::Texts(done, total) => advance(bar, done as u64, total as u64),
        Notice::Stage(name) => bar.set_message(name.to_owned()),
        Notice::Training(Event::Step { done, total, .. }) => advance(bar, *done as u64, *total as u64),
        Notice::Training(_) => {}
        Notice::Warning(_) | Notice::Note(_) => bar.suspend(|| say(notice)),
    }
}

/// Says warnings and notes on stderr.
pub(crate) fn say(notice: Notice<'_>) {
    match notice {
        Notice::Warning(text) => eprintln!("warning: {text}"),
        Notice::Note(text) => eprintln!("{text}"),
        _ => {}
    }
}

fn advance(bar: &ProgressBar, done: u64, total: u64) {
    if bar.length() != Some(total) {
        bar.set_length(total);
        bar.set_position(done);
        // What an earlier run did says nothing about the speed of this one.
        bar.reset_eta();
    }
    bar.set_position(done);
}

fn bar(template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::no_length().with_style(style)
}
