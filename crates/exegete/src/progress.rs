//! Bars on stderr; indicatif shows them only where stderr is a terminal.

use crate::input::Source;
use indicatif::{ProgressBar, ProgressStyle};

/// Over the bytes of a file that is read along the way.
pub(crate) fn bytes(source: &Source) -> ProgressBar {
    let Some(bytes) = source.total_bytes else { return ProgressBar::hidden() };
    bar(bytes, "{bar:40} {percent:>3} %  {bytes} of {total_bytes}, {eta} left")
}

/// Over texts, some of which an earlier run finished.
pub(crate) fn texts(count: usize, done: usize) -> ProgressBar {
    let bar = bar(count as u64, "{bar:40} {percent:>3} %  {pos} of {len} texts, {eta} left");
    bar.set_position(done as u64);
    // What an earlier run did says nothing about the speed of this one.
    bar.reset_eta();
    bar
}

fn bar(length: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(length).with_style(style)
}
