use crate::compare::{Cost, Measured, Text};
use crate::evidence::{Evidence, Level};
use crate::registry::Method;
use crate::{ConfiguredMethod, Question, RawAttribution, RawScores, Request, Stream};
use exegete_core::report::Checks;
use exegete_core::{Driver, Error, Example, Model, Result, Spent};
use rand::RngExt;
use std::time::Instant;

/// Scores that were made elsewhere, for the units of one text.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalScores {
    /// Where they come from, for an error about them.
    pub place: String,
    /// The score of each unit, in their order.
    pub values: Vec<f64>,
    /// Whether positive and negative scores mean for and against.
    pub signed: bool,
    /// What they explain, where that is known.
    pub target: Option<String>,
}

/// Measures the methods of a request, scores from elsewhere and random scores on one text, by its first target.
///
/// `index` is the text's place among the others: random scores of texts that are equally long must not be the same.
pub fn judge(
    model: &dyn Model,
    driver: &Driver,
    example: &Example,
    request: &Request,
    given: &[ExternalScores],
    index: u64,
) -> Result<Text> {
    let (started, before) = (Instant::now(), driver.spent());
    let jobs = Question::all(model, driver, example, request)?;
    let job = jobs.first().ok_or_else(|| Error::Request("there is no target to explain".into()))?;
    let mut bench = Bench { evidence: Evidence::new(job), job, level: request.check };
    let (mut measured, mut random, mut effects) = (Vec::new(), None, None);
    if !job.units.is_empty() {
        for chosen in &request.methods {
            measured.push(bench.method(chosen)?);
        }
        for given in given {
            measured.push(bench.given(given)?);
        }
        random = Some(bench.random(index)?);
        effects = bench.evidence.effects()?;
    }
    let cost = Cost::since(started, before, driver.spent());
    Ok(Text { truncated: job.encoded().truncated, cost, measured, random, effects })
}

impl Cost {
    fn since(started: Instant, before: Spent, after: Spent) -> Self {
        let spent = after.since(before);
        Self {
            seconds: started.elapsed().as_secs_f64(),
            asked_rows: spent.forward_rows + spent.remembered_rows,
            forward_rows: spent.forward_rows,
            backward_rows: spent.backward_rows,
        }
    }
}

/// One text with the memory of what hiding its units does.
struct Bench<'b, 'a> {
    evidence: Evidence<'a>,
    job: &'b Question<'a>,
    level: Level,
}

impl Bench<'_, '_> {
    fn method(&mut self, chosen: &ConfiguredMethod) -> Result<Measured> {
        let job = self.job;
        let (started, before) = (Instant::now(), job.driver.spent());
        let explained = chosen.explain(job)?;
        let cost = Cost::since(started, before, job.driver.spent());
        let claimed = Checks { completeness: explained.completeness(job)?, ..Checks::default() };
        let values = explained.units(job)?.ok_or_else(|| {
            Error::Unsupported(format!(
                "{} gives no score to a token, so there is nothing to compare",
                chosen.info.name
            ))
        })?;
        let checks = self.evidence.check(self.level, &explained, Some(chosen), claimed)?;
        Ok(Measured::new(explained.signed(), values, &checks, Some(cost)))
    }

    fn given(&mut self, given: &ExternalScores) -> Result<Measured> {
        let (place, here) = (&given.place, self.job.target.to_string());
        match &given.target {
            Some(theirs) if quantity(theirs) != quantity(&here) => Err(Error::Request(format!(
                "{place} explains {theirs}, but {here} is judged here; explain that or choose another --target"
            ))),
            _ => self.scores(given.signed, given.values.clone()),
        }
    }

    fn random(&mut self, index: u64) -> Result<Measured> {
        let mut random = Stream::Scores.random(self.job.seed, index);
        let values = (0..self.job.units.len()).map(|_| random.random::<f64>()).collect();
        self.scores(true, values)
    }

    /// Scores that cannot be asked for again: what hiding says of them.
    fn scores(&mut self, signed: bool, values: Vec<f64>) -> Result<Measured> {
        let explained =
            RawAttribution { unsigned: !signed, ..RawAttribution::of(RawScores::Units(values.clone())) };
        let checks = self.evidence.check(self.level, &explained, None, Checks::default())?;
        Ok(Measured::new(signed, values, &checks, None))
    }
}

/// A target without its scale: an order of units by logit is also one by probability.
fn quantity(target: &str) -> &str {
    let scale = target.rsplit_once(':').filter(|(_, scale)| ["logit", "prob", "logprob"].contains(scale));
    scale.map_or(target, |(quantity, _)| quantity)
}
