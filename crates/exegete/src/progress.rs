//! What a run tells along the way, on stderr; indicatif shows bars only where stderr is a terminal.

use exegete::Advance;
use exegete::request::Notice;
use indicatif::{ProgressBar, ProgressStyle};

/// A bar over the bytes of a file that is read along the way.
pub(crate) fn bytes() -> ProgressBar {
    bar("{bar:40} {percent:>3} %  {bytes} of {total_bytes}, {eta} left")
}

/// A bar over texts, some of which an earlier run finished.
pub(crate) fn texts() -> ProgressBar {
    bar("{bar:40} {percent:>3} %  {pos} of {len} texts, {eta} left")
}

/// A count of the rows that a model ran, for work whose end nobody knows.
pub(crate) fn rows() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::new_spinner().with_style(style)
}

/// Moves the count of rows on.
pub(crate) fn advance_rows(bar: &ProgressBar, advance: Advance) {
    let rows = advance.spent.forward_rows;
    bar.set_message(match advance.texts {
        0 => format!("{rows} rows run"),
        texts => format!("text {}, {rows} rows run", texts + 1),
    });
    bar.tick();
}

/// Says sentences and moves a bar; how training is shown is the business of that command.
pub(crate) fn show(bar: &ProgressBar, notice: Notice<'_>) {
    match notice {
        Notice::Bytes(done, total) => advance(bar, done, total),
        Notice::Texts(done, total) => advance(bar, done as u64, total as u64),
        Notice::Stage(name) => bar.set_message(name.to_owned()),
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
