use crate::asked::{Asked, sums};
use crate::compare::{Cost, Measured, Text};
use crate::evidence::{Evidence, Scored};
use crate::explained::shared;
use crate::{Chosen, Job, Request};
use exegete_core::report::Checks;
use exegete_core::{Driver, Error, Example, Model, Result, Spent};
use rand::RngExt;
use std::time::Instant;

/// Scores that were made elsewhere, for the units of one text.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// Where they come from, for an error about them.
    pub place: String,
    /// One a unit.
    pub values: Vec<f64>,
    /// Whether positive and negative scores mean for and against.
    pub signed: bool,
    /// What they explain, where that is known.
    pub target: Option<String>,
}

/// Streams of random scores, one a text, apart from all others.
const STAGE_RANDOM: u64 = 1 << 40;

/// Measures the methods of a request, scores from elsewhere and random scores on one text, by its first target.
///
/// `index` is the text's place among the others: random scores of texts that are equally long must not be the same.
pub fn judge(
    model: &dyn Model,
    driver: &Driver,
    example: &Example,
    request: &Request,
    given: &[Given],
    index: u64,
) -> Result<Text> {
    let (started, before) = (Instant::now(), driver.spent());
    let asked = Asked::new(model, driver, example, request)?;
    let targets = asked.targets()?;
    let target = targets.first().ok_or_else(|| Error::Request("there is no target to explain".into()))?;
    let job = asked.job(target.clone());
    let mut bench = Bench { evidence: Evidence::new(&job, request.units), asked: &asked, job: &job };
    let (mut measured, mut random) = (Vec::new(), None);
    if !asked.units.is_empty() {
        for picked in &request.methods {
            measured.push(bench.method(picked.scores()?)?);
        }
        for given in given {
            measured.push(bench.given(given)?);
        }
        random = Some(bench.random(index)?);
    }
    let cost = Cost::since(started, before, driver.spent());
    Ok(Text { truncated: asked.encoded.truncated, cost, measured, random })
}

impl Cost {
    fn since(started: Instant, before: Spent, after: Spent) -> Self {
        Self {
            seconds: started.elapsed().as_secs_f64(),
            forward_rows: after.forward_rows - before.forward_rows,
            backward_rows: after.backward_rows - before.backward_rows,
        }
    }
}

/// One text with the memory of what hiding its units does.
struct Bench<'b, 'a> {
    asked: &'b Asked<'a>,
    evidence: Evidence<'a>,
    job: &'b Job<'a>,
}

impl Bench<'_, '_> {
    fn method(&mut self, chosen: &Chosen) -> Result<Measured> {
        let job = &self.asked.with_baselines(self.job, chosen);
        let started = Instant::now();
        let before = job.driver.spent();
        let explained = chosen.method.explain(job)?;
        let cost = Cost::since(started, before, job.driver.spent());
        let tokens = explained.tokens(job, chosen.reduce)?.ok_or_else(|| {
            Error::Unsupported(format!(
                "{} gives no score to a token, so there is nothing to compare",
                chosen.info.name
            ))
        })?;
        let values = sums(&self.asked.units, &tokens);
        let claimed = Checks { completeness: explained.completeness(job)?, ..Checks::default() };
        let scored = Scored::of(job, chosen, &explained, &values, &tokens);
        let (signed, checks) =
            (scored.signed, self.evidence.check(self.asked.request.check, &scored, claimed)?);
        Ok(Measured::new(signed, values, &checks, Some(cost)))
    }

    fn given(&mut self, given: &Given) -> Result<Measured> {
        let (place, here) = (&given.place, self.job.target.to_string());
        match &given.target {
            Some(theirs) if quantity(theirs) != quantity(&here) => Err(Error::Request(format!(
                "{place} explains {theirs}, but {here} is judged here; explain that or choose another --target"
            ))),
            _ => self.scores(given.signed, given.values.clone()),
        }
    }

    fn random(&mut self, index: u64) -> Result<Measured> {
        let mut random = self.job.random(STAGE_RANDOM.wrapping_add(index));
        let values = (0..self.asked.units.len()).map(|_| random.random::<f64>()).collect();
        self.scores(true, values)
    }

    /// Scores that cannot be asked for again: what hiding says of them.
    fn scores(&mut self, signed: bool, values: Vec<f64>) -> Result<Measured> {
        let tokens = shared(self.job, &values);
        let scored = Scored { signed, values: &values, tokens: &tokens, again: None };
        let checks = self.evidence.check(self.asked.request.check, &scored, Checks::default())?;
        Ok(Measured::new(signed, values, &checks, None))
    }
}

/// A target without its scale: an order of units by logit is also one by probability.
fn quantity(target: &str) -> &str {
    let scale = target.rsplit_once(':').filter(|(_, scale)| ["logit", "prob", "logprob"].contains(scale));
    scale.map_or(target, |(quantity, _)| quantity)
}
