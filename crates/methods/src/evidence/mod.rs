//! How far an explanation can be trusted (METHODS E1–E6, E9).

use crate::Job;
use crate::explain::Chosen;
use exegete_core::report::Checks;
use exegete_core::{Result, Unit};

/// How much evidence is gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// Only what the method itself claims.
    None,
    /// At most about 150 forward rows.
    #[default]
    Default,
    /// Noise and random parameters too.
    Deep,
}

/// The evidence for explanations of one text and one target, with one memory of what hiding units does.
pub struct Evidence<'a> {
    job: Job<'a>,
    units: Vec<Unit>,
}

impl<'a> Evidence<'a> {
    /// For one question.
    pub fn new(job: &Job<'a>, units: &[Unit]) -> Self {
        Self { job: job.clone(), units: units.to_vec() }
    }

    /// The evidence for one explanation: `values` are its scores by unit, `tokens` by token.
    pub fn check(
        &mut self,
        level: Level,
        chosen: &Chosen,
        values: &[f64],
        tokens: &[f64],
        checks: Checks,
    ) -> Result<Checks> {
        let _ = (level, chosen, values, tokens, &self.job, &self.units);
        Ok(checks)
    }
}
