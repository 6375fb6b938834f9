use crate::Question;
use crate::decision::{Decision, DecisionQuestion};
use exegete_core::task::Contest;
use exegete_core::{
    Card, Choice, Encoded, Error, Logits, OfOutput, Open, Pass, Readout, Result, Row, Scale, Target,
    by_outputs, class_index,
};

/// What a change of the text is to bring about, and the number that leads there.
#[derive(Clone)]
pub(super) struct AttackGoal {
    question: DecisionQuestion,
    /// Decided for the text as it is.
    pub(super) before: Decision,
    /// The class to reach; any other than before where there is none.
    toward: Option<Choice>,
    /// The number that the search moves: down, or up where the sign is −1.
    pub(super) objective: Target,
    /// 1, or −1 where the objective is raised instead.
    pub(super) sign: f64,
}

/// What a changed text gives.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    /// What the search lowers.
    pub(super) score: f64,
    /// The value F that the goal moves.
    pub(super) value: f64,
    pub(super) decision: Decision,
    pub(super) reached: bool,
}

impl AttackGoal {
    /// The goal for a text with this output: another decision, or the class `toward`.
    fn new(job: &Question<'_>, logits: &Logits, toward: Option<&str>) -> Result<Self> {
        let (card, open) = (job.card(), job.open()?);
        let question =
            DecisionQuestion::of(card, &job.target).ok_or_else(|| nothing_decided(card, &job.target))?;
        let before = question.decide(card, Some(open), job.encoded(), logits)?;
        let toward = toward.map(|label| class(card, &question, &before, label)).transpose()?;
        let (objective, sign) = match &toward {
            Some(choice) => (by_log_probability(&job.target.with_choice(choice.clone())), -1.0),
            None if question.is_spoken_for(card, &before) => (by_log_probability(&job.target), 1.0),
            // A label that does not apply is to apply.
            None if matches!(question.contest, Contest::Alone(_)) => (by_log_probability(&job.target), -1.0),
            None => return Err(unspoken(&job.target, &before)),
        };
        Ok(Self { question, before, toward, objective, sign })
    }

    /// The goal in words, for a sentence.
    pub(super) fn words(&self) -> String {
        match &self.toward {
            Some(choice) => format!("the decision becomes {}", choice.name),
            None => format!("the decision is no longer {}", self.before.label),
        }
    }

    /// What a changed text gives.
    fn outcome(
        &self,
        job: &Question<'_>,
        open: &dyn Open,
        encoded: &Encoded,
        logits: &Logits,
    ) -> Result<Outcome> {
        let card = job.card();
        let decision = self.question.decide(card, Some(open), encoded, logits)?;
        let reached = match &self.toward {
            Some(choice) => choice.index == Some(decision.key.0),
            None => decision.key != self.before.key,
        };
        Ok(Outcome {
            score: self.sign * self.objective.value_of(card, logits)?,
            value: job.target.value_of(card, logits)?,
            decision,
            reached,
        })
    }
}

/// Reads the goal for a text off its own output, with what the text as it is gives.
pub(super) struct Aiming<'g, 'a> {
    pub(super) job: &'g Question<'a>,
    pub(super) open: &'g dyn Open,
    /// The class to reach, where the user says one.
    pub(super) toward: Option<&'g str>,
}

impl OfOutput<(AttackGoal, Outcome)> for Aiming<'_, '_> {
    fn of(&self, row: &Row, output: &Logits) -> Result<(AttackGoal, Outcome)> {
        let goal = AttackGoal::new(self.job, output, self.toward)?;
        let outcome = goal.outcome(self.job, self.open, &row.encoded, output)?;
        Ok((goal, outcome))
    }
}

impl Readout for Aiming<'_, '_> {
    type Value = (AttackGoal, Outcome);

    fn places(&self) -> Option<Vec<usize>> {
        self.job.card().task.places(&self.job.target.quantity)
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<(AttackGoal, Outcome)>> {
        by_outputs(self, rows, pass)
    }

    fn of_output(&self) -> Option<&dyn OfOutput<(AttackGoal, Outcome)>> {
        Some(self)
    }
}

/// Reads what changed texts give, so that no output outlives its pass.
pub(super) struct Toward<'g, 'a> {
    pub(super) goal: &'g AttackGoal,
    pub(super) job: &'g Question<'a>,
    pub(super) open: &'g dyn Open,
}

impl OfOutput<Outcome> for Toward<'_, '_> {
    fn of(&self, row: &Row, output: &Logits) -> Result<Outcome> {
        self.goal.outcome(self.job, self.open, &row.encoded, output)
    }
}

impl Readout for Toward<'_, '_> {
    type Value = Outcome;

    fn places(&self) -> Option<Vec<usize>> {
        self.job.card().task.places(&self.job.target.quantity)
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Outcome>> {
        by_outputs(self, rows, pass)
    }

    fn of_output(&self) -> Option<&dyn OfOutput<Outcome>> {
        Some(self)
    }
}

/// The class to reach, by name or index.
fn class(card: &Card, question: &DecisionQuestion, before: &Decision, label: &str) -> Result<Choice> {
    if !matches!(question.contest, Contest::Largest(_)) || card.labels.is_empty() {
        return Err(Error::Request("toward= names a class; this model has none to choose from".into()));
    }
    let index = class_index(&card.labels, label).ok_or_else(|| {
        Error::Request(format!("toward={label}: {} has {}", card.name, card.labels.join(", ")))
    })?;
    if index == before.key.0 {
        return Err(Error::Request(format!("toward={label}: that is what the model decides already")));
    }
    Ok(Choice { name: card.labels[index].clone(), index: Some(index) })
}

/// A logit alone can fall while all others fall too; a probability cannot, and its logarithm does not level off.
fn by_log_probability(target: &Target) -> Target {
    let alone = !target.is_margin() && !target.is_loss();
    Target { scale: if alone { Some(Scale::LogProb) } else { target.scale }, ..target.clone() }
}

fn nothing_decided(card: &Card, target: &Target) -> Error {
    let what = match card.task.gives_probabilities() {
        false => "this model gives numbers and decides nothing".to_owned(),
        true => format!("'{target}' belongs to no decision"),
    };
    Error::Unsupported(format!("{what}; a search for another decision needs one"))
}

fn unspoken(target: &Target, before: &Decision) -> Error {
    Error::Request(format!(
        "'{target}' does not speak for what the model decides ({}), so that lowering it changes nothing; leave --target \
         out, or name the class to reach with toward=",
        before.label
    ))
}
