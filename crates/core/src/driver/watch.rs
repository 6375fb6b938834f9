//! What whoever waits for a driver can see and say: how far it is, and that it should stop.

use super::{Driver, Spent};
use crate::{Error, Result};
use std::fmt;
use std::sync::atomic::Ordering;

/// How far the work has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Advance {
    /// Texts of a corpus that were read in the present pass over it, from 0; 0 where there is no corpus.
    pub texts: usize,
    /// What was spent since the driver was made.
    pub spent: Spent,
}

/// Is told of every batch that was run and every text of a corpus that was read.
#[derive(Default)]
pub(super) struct Watcher(Option<Box<dyn Fn(Advance) + Send + Sync>>);

impl Driver {
    /// The same, telling `watch` after every batch and every text of a corpus how far the work has come.
    #[must_use]
    pub fn watched(self, watch: impl Fn(Advance) + Send + Sync + 'static) -> Self {
        Self { watcher: Watcher(Some(Box::new(watch))), ..self }
    }

    /// Says that so many texts of a corpus were read; an error where the work should stop.
    pub fn at_text(&self, texts: usize) -> Result<()> {
        self.texts.store(texts, Ordering::Relaxed);
        self.tell();
        self.check_stop()
    }

    /// Says how far the work is where it goes on without a batch; an error where it should stop.
    pub fn at_work(&self) -> Result<()> {
        self.tell();
        self.check_stop()
    }

    /// An error where the work should stop.
    pub fn check_stop(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }

    pub(super) fn tell(&self) {
        if let Watcher(Some(watch)) = &self.watcher {
            watch(Advance { texts: self.texts.load(Ordering::Relaxed), spent: self.spent() });
        }
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Watcher" } else { "nobody" })
    }
}
