//! Ctrl-C: the first finishes the batch at hand and keeps what is done, a second one stops at once.

use signal_hook::consts::SIGINT;
use signal_hook::flag::{register, register_conditional_shutdown};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::{fmt, io};

/// What shells call a program that an interrupt ended.
pub(crate) const INTERRUPTED: u8 = 130;

/// The flag that the first interrupt sets. Without it (on a system that has no signals) an interrupt ends the process.
pub(crate) fn on_interrupt() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    // In this order the first interrupt finds the flag unset and sets it, and the second finds it set.
    let second = register_conditional_shutdown(SIGINT, INTERRUPTED.into(), stop.clone());
    let _ = second.and_then(|_| register(SIGINT, stop.clone()));
    stop
}

/// A run that was told to stop: what was done, and how to go on.
#[derive(Debug)]
pub(crate) struct Stopped(pub(crate) String);

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Stopped {}

const STOPPED: Option<&exegete::Error> = Some(&exegete::Error::Stopped);

/// Whether an error says no more than that the work was told to stop.
pub(crate) fn is_stop(error: &anyhow::Error) -> bool {
    let inner = |error: &io::Error| error.get_ref().is_some_and(|inner| inner.downcast_ref() == STOPPED);
    error.chain().any(|cause| cause.downcast_ref() == STOPPED || cause.downcast_ref().is_some_and(inner))
}

/// A stop of a run over texts; every other error as it is.
pub(crate) fn after_texts(error: anyhow::Error, texts: usize, goes_on: bool) -> anyhow::Error {
    if !is_stop(&error) {
        return error;
    }
    let how = if goes_on { "the same command goes on" } else { "with -o FILE the same command could go on" };
    let texts = if texts == 1 { "1 text".to_owned() } else { format!("{texts} texts") };
    Stopped(format!("stopped after {texts}; {how}")).into()
}
