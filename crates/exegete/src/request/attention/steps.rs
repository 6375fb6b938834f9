//! Steps of a long run over a corpus: what each finds is kept, so that a killed run goes on with the next.

use super::super::{Listener, Notice, RunIdentity};
use crate::report::Report;
use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A checked request about a corpus, with its model open and its texts read.
pub trait CorpusLook {
    /// What a run that goes on must have in common with the one that it goes on with.
    fn identity(&self) -> Result<RunIdentity>;

    /// Looks at everything, step by step, and says what it comes to.
    fn find(&self, steps: &mut Steps<'_>, tell: Listener<'_>) -> Result<Report>;
}

/// Takes a line of JSON to where the run that goes on finds it.
type Keep<'a> = dyn FnMut(&str) -> Result<()> + 'a;

/// What an earlier run found, and where what is found now is kept, a line of JSON a step.
pub struct Steps<'a> {
    earlier: Box<dyn Iterator<Item = Result<String>> + 'a>,
    keep: Box<Keep<'a>>,
    name: String,
    finished: usize,
}

impl<'a> Steps<'a> {
    /// Of a run that keeps nothing.
    pub fn unkept() -> Self {
        let (earlier, keep) = (Box::new(std::iter::empty()), Box::new(|_: &str| Ok(())));
        Self { earlier, keep, name: String::new(), finished: 0 }
    }

    /// Of a run that keeps its lines in a file of this name, which holds so many already.
    pub fn kept(
        name: String,
        finished: usize,
        earlier: impl Iterator<Item = Result<String>> + 'a,
        keep: impl FnMut(&str) -> Result<()> + 'a,
    ) -> Self {
        Self { earlier: Box::new(earlier.take(finished)), keep: Box::new(keep), name, finished }
    }

    /// Says that there is an earlier run, if there is.
    pub(super) fn say_going_on(&self, tell: Listener<'_>) {
        if self.finished > 0 {
            let steps = if self.finished == 1 { "step" } else { "steps" };
            tell(Notice::Note(&format!("going on after {} finished {steps}", self.finished)));
        }
    }

    /// What a step finds, or found in an earlier run. Steps come in the same order in every run.
    pub(super) fn step<T: Serialize + DeserializeOwned>(
        &mut self,
        find: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if let Some(line) = self.earlier.next() {
            let read = |line: Result<String>| -> Result<T> { Ok(serde_json::from_str(&line?)?) };
            return read(line).with_context(|| format!("{}: is damaged; remove it to begin anew", self.name));
        }
        let found = find()?;
        (self.keep)(&serde_json::to_string(&found)?)?;
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_not_sought_again() {
        let mut kept = Vec::new();
        let earlier = ["1.5", "2.5", "of a run that goes on meanwhile"].map(|line| Ok(line.to_owned()));
        let keep = |line: &str| {
            kept.push(line.to_owned());
            Ok(())
        };
        let mut steps = Steps::kept("x".to_owned(), 2, earlier.into_iter(), keep);
        let found: Vec<f64> = (0..3).map(|at| steps.step(|| Ok(f64::from(at))).unwrap()).collect();
        assert_eq!(found, [1.5, 2.5, 2.0]);
        drop(steps);
        assert_eq!(kept, ["2.0"]);
        let mut steps = Steps::kept("x".to_owned(), 1, [Ok("no".to_owned())].into_iter(), |_| Ok(()));
        let error = steps.step(|| Ok(0.0)).unwrap_err().to_string();
        assert_eq!(error, "x: is damaged; remove it to begin anew");
    }
}
