//! How far an explanation can be trusted (METHODS E1–E6, E9). One file for each measure; `verdict` holds every threshold.
//!
//! The default level hides units and looks at what the model then says: at most about 150 forward rows, whatever the
//! length of the text. The deep level follows whole rankings, and explains again: with noise on the word vectors and with
//! random parameters. What hiding does is remembered, and shared by all explanations of one text and target.

mod again;
mod curves;
mod erasure;
mod flip;
mod infidelity;
#[cfg(test)]
mod known;
mod leave_one_out;
mod randomisation;
mod ranking;
mod sensitivity;
mod sentence;
mod stability;
pub mod verdict;

pub use again::Again;

use crate::registry::Meaning;
use crate::{Chosen, Explained, Job, Masked, Reduce, Scores};
use again::Words;
use exegete_core::report::{Checks, Hiding};
use exegete_core::{Error, Result, Units};
use ranking::Rankings;

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

/// Two tokens have one order or the other; a rank correlation needs three.
const FEWEST_TOKENS: usize = 3;

/// Streams of random numbers, apart from those of the methods.
const STAGE_RANKINGS: u64 = 101;
const STAGE_FLIP: u64 = 102;
const STAGE_SENSITIVITY: u64 = 103;
const STAGE_INFIDELITY: u64 = 104;
const STAGE_STABILITY: u64 = 105;
/// One stream a part of the model from here on.
const STAGE_PARAMETERS: u64 = 1000;

/// An explanation whose evidence is wanted, from a method here or from elsewhere.
#[derive(Clone, Copy)]
pub struct Scored<'s> {
    /// Whether positive and negative scores mean for and against.
    pub signed: bool,
    /// One score a unit.
    pub values: &'s [f64],
    /// One a token, special ones included.
    pub tokens: &'s [f64],
    /// How to explain again; none for scores from elsewhere, whose evidence is then what hiding says.
    pub again: Option<Again<'s>>,
}

impl<'s> Scored<'s> {
    /// The scores of a method for one question.
    pub fn of(
        job: &'s Job<'_>,
        chosen: &'s Chosen,
        explained: &'s Explained,
        values: &'s [f64],
        tokens: &'s [f64],
    ) -> Self {
        let params = chosen.method.params();
        // A sum has a sign that means something, whoever asked for it; a size has none.
        let summed = match &explained.scores {
            Scores::Elements(_, own) => chosen.reduce.unwrap_or(*own) == Reduce::Sum,
            Scores::Tokens(_) | Scores::Units(_) => chosen.info.signed,
        };
        // Squares and variances over noisy copies have lost their sign, and are no slopes any more.
        let squares = params.get("noise").is_some_and(|noise| *noise == "squares" || *noise == "variance");
        // What flows through one neuron is not all that a change does.
        let partial = params.contains_key("through");
        let meaning = if squares || partial { Meaning::Other } else { chosen.info.meaning };
        let baselines = &job.baselines;
        let again = Again { method: &*chosen.method, reduce: chosen.reduce, meaning, baselines, explained };
        let signed = summed && !squares;
        Self { signed, values, tokens, again: Some(again) }
    }
}

/// The evidence for explanations of one text and one target, with one memory of what hiding units does.
pub struct Evidence<'a> {
    job: Job<'a>,
    kind: Units,
    masked: Masked<'a>,
}

impl<'a> Evidence<'a> {
    /// For one question. Nothing is run before the first check.
    pub fn new(job: &Job<'a>, kind: Units) -> Self {
        Self { job: job.clone(), kind, masked: Masked::by_probability(job) }
    }

    /// Adds the evidence for one explanation to what its method claims.
    pub fn check(&mut self, level: Level, scored: &Scored<'_>, mut checks: Checks) -> Result<Checks> {
        if level == Level::None || self.job.units.is_empty() {
            return Ok(checks);
        }
        self.fits(scored)?;
        let rankings = Rankings::new(&self.job, scored.values, scored.signed);
        self.hide(scored, &rankings, &mut checks)?;
        if level == Level::Deep {
            self.deepen(scored, &rankings, &mut checks)?;
        }
        let facts =
            verdict::Facts { encoded: self.job.encoded(), kind: self.kind, units: &self.job.units, scored };
        checks.verdict = Some(verdict::verdict(&self.job, &facts, &rankings.own, &checks));
        Ok(checks)
    }

    /// Scores from elsewhere may be of another tokenizer or other units.
    fn fits(&self, scored: &Scored<'_>) -> Result<()> {
        let (units, tokens) = (self.job.units.len(), self.job.encoded().len());
        if (scored.values.len(), scored.tokens.len()) == (units, tokens) {
            return Ok(());
        }
        Err(Error::Request(format!(
            "{} scores for {units} {} and {} for {tokens} tokens: there must be one each",
            scored.values.len(),
            sentence::noun(self.kind, units),
            scored.tokens.len()
        )))
    }

    /// Whole curves, and what comes of explaining again.
    fn deepen(&mut self, scored: &Scored<'_>, rankings: &Rankings, checks: &mut Checks) -> Result<()> {
        let masked = &mut self.masked;
        let before = masked.run();
        let (deletion, insertion) = curves::measure(masked, rankings)?;
        (checks.deletion, checks.insertion) = (Some(deletion), Some(insertion));
        if let Some(hiding) = &mut checks.hiding {
            hiding.rows += masked.run() - before;
        }
        let Some(again) = &scored.again else { return Ok(()) };
        // Methods of one text may each have baselines of their own.
        let job = &Job { baselines: again.baselines.to_vec(), ..self.job.clone() };
        let units = &*self.job.units;
        let enough = units.iter().map(|unit| unit.tokens.len()).sum::<usize>() >= FEWEST_TOKENS;
        // A black box has no word vectors to put noise on and no parameters to replace.
        if job.model.open().is_none() {
            return Ok(());
        }
        // Scores of units come from hiding units, and a text with noise on its word vectors has none to hide.
        if !matches!(again.explained.scores, Scores::Units(_)) {
            let words = Words::of(job)?;
            checks.sensitivity = sensitivity::measure(job, again, &words)?;
            checks.infidelity = infidelity::measure(job, again)?;
            if enough {
                checks.stability = Some(stability::measure(job, masked, units, again, &words)?);
            }
        }
        if enough {
            checks.randomisation = randomisation::measure(job, units, again)?;
        }
        Ok(())
    }

    /// What hiding units says: the sets of all measures are run together first, so that each measure finds its own.
    fn hide(&mut self, scored: &Scored<'_>, rankings: &Rankings, checks: &mut Checks) -> Result<()> {
        let masked = &mut self.masked;
        let before = masked.run();
        let measured = leave_one_out::measured(rankings);
        let mut sets = leave_one_out::sets(&measured);
        sets.extend(erasure::sets(rankings));
        if masked.could_decide() {
            sets.extend(flip::sets(rankings));
        }
        masked.outcomes(&sets)?;
        let (comprehensiveness, sufficiency) = erasure::measure(masked, rankings)?;
        checks.comprehensiveness = Some(comprehensiveness);
        checks.sufficiency = Some(sufficiency);
        checks.flip = flip::measure(&self.job, masked, rankings, &measured)?;
        checks.leave_one_out = Some(leave_one_out::measure(masked, scored.values, scored.signed, measured)?);
        checks.hiding = Some(Hiding {
            masker: masked.masker().to_string(),
            target: masked.target().to_string(),
            value: masked.whole()?.value,
            rows: masked.run() - before,
        });
        Ok(())
    }
}
