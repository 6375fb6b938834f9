use exegete_core::task::{Contest, Decided, Reading};
use exegete_core::{Card, Encoded, Logits, Open, Result, Target};

/// What a model decides for one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The decision in the task's own words.
    pub label: String,
    /// The decision's probability, 0 to 1.
    pub prob: f64,
    /// Which one it is, whatever it is called: a class, or the first and last token of an answer.
    pub(crate) key: Decided,
}

/// Which decision a target belongs to, and how it is read from the output.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DecisionQuestion {
    /// The outputs that compete for the decision.
    pub(crate) contest: Contest,
    target: Target,
}

impl DecisionQuestion {
    /// The decision that a target is about; none where the model only gives numbers.
    pub(crate) fn of(card: &Card, target: &Target) -> Option<Self> {
        let contest = card.task.contest(&target.quantity)?;
        Some(Self { contest, target: target.clone() })
    }

    /// What the model decides for one row.
    pub(crate) fn decide(
        &self,
        card: &Card,
        open: Option<&dyn Open>,
        encoded: &Encoded,
        logits: &Logits,
    ) -> Result<Decision> {
        let key = self.contest.winner(encoded, logits)?;
        let reading = Reading { card, encoded, logits, vocabulary: &open };
        let label = card.task.decided(&reading, &self.target.quantity, key);
        Ok(Decision { label, prob: self.prob(logits, key), key })
    }

    /// The probability of a decision, whether it is the one that is made or not.
    pub(crate) fn prob(&self, logits: &Logits, key: Decided) -> f64 {
        self.contest.prob(logits, key)
    }

    /// Whether the target speaks for this decision, so that hiding what it rests on should change the decision.
    pub(crate) fn is_spoken_for(&self, card: &Card, decision: &Decision) -> bool {
        card.task.speaks_for(&self.target.quantity, decision.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::task::*;
    use exegete_core::{Example, Model};
    use exegete_testkit::Toy;

    /// What is decided for "not good film" by these logits, and whether the target speaks for it.
    fn check(
        task: &'static dyn Task,
        target: &str,
        shape: &[usize],
        logits: &[f64],
        expected: Option<(&str, f64, bool)>,
    ) {
        let toy = Toy::default();
        let open = toy.open().unwrap();
        let encoded = open.encode(&Example::text("not good film")).unwrap();
        let card = Card { task, ..toy.card().clone() };
        let logits = Logits::new(shape.to_vec(), logits.to_vec());
        let target: Target = target.parse().unwrap();
        let target = target.resolve(&card, &encoded, &logits, None, &|_| Some(1)).unwrap();
        let found = DecisionQuestion::of(&card, &target).map(|question| {
            let decision = question.decide(&card, Some(open), &encoded, &logits).unwrap();
            let spoken = question.is_spoken_for(&card, &decision);
            (decision.label, (decision.prob * 1e4).round() / 1e4, spoken)
        });
        assert_eq!(found, expected.map(|(label, prob, spoken)| (label.to_owned(), prob, spoken)), "{target}");
    }

    #[test]
    fn every_task_decides_in_its_own_way() {
        let three = 3f64.ln();
        check(&CLASSIFICATION, "predicted", &[2], &[0.0, three], Some(("positive", 0.75, true)));
        check(&CLASSIFICATION, "class:negative", &[2], &[0.0, three], Some(("positive", 0.75, false)));
        check(&CLASSIFICATION, "margin:1,0", &[2], &[0.0, three], Some(("positive", 0.75, true)));
        check(&CLASSIFICATION, "loss", &[2], &[0.0, three], Some(("positive", 0.75, true)));
        check(&CLASSIFICATION, "unit:pooled[0]", &[2], &[0.0, three], Some(("positive", 0.75, false)));
        check(&MULTI_LABEL, "class:1", &[2], &[9.0, three], Some(("positive", 0.75, true)));
        check(&MULTI_LABEL, "class:1", &[2], &[9.0, -three], Some(("not positive", 0.75, false)));
        check(&REGRESSION, "predicted", &[1], &[2.0], None);
        check(&ENCODER, "unit:pooled[0]", &[2], &[1.0, 2.0], None);
        let tags = [0.0, 9.0, three, 0.0, 0.0, 0.0];
        check(&TOKEN_CLASSIFICATION, "tag:1=negative", &[3, 2], &tags, Some(("negative", 0.75, true)));
        check(&TOKEN_CLASSIFICATION, "tag:1=positive", &[3, 2], &tags, Some(("negative", 0.75, false)));
        // Start at the second token, 3 to 1 to 1; end at the third.
        let spans = [0.0, 0.0, three, 0.0, 0.0, three];
        check(&QUESTION_ANSWERING, "answer", &[3, 2], &spans, Some(("good film", 0.36, true)));
        check(&QUESTION_ANSWERING, "end", &[3, 2], &spans, Some(("good film", 0.36, true)));
    }
}
