use exegete_core::{
    Card, Choice, Encoded, Label, Logits, Open, Quantity, Result, Scores, Span, Target, Task, Token,
    best_span,
};

/// What a model decides for one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// In words.
    pub label: String,
    /// Its probability.
    pub prob: f64,
    /// Which one it is, whatever it is called: a class, or the first and last token of an answer.
    pub(crate) key: Key,
}

pub(crate) type Key = (usize, usize);

/// Which decision a target belongs to, and how it is read from the output.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Question {
    /// Which class.
    Class,
    /// Whether one label applies: its index and name.
    Applies(usize, String),
    /// Which span.
    Span,
    /// Which label at one token.
    Tag(usize),
    /// Which word at one token; the word that is explained is known by name.
    Word(usize, Choice),
}

impl Question {
    /// The decision that a target is about; none where the model only gives numbers.
    pub(crate) fn of(card: &Card, target: &Target) -> Option<Self> {
        match (card.task, &target.quantity) {
            (Task::Classification, _) => Some(Self::Class),
            (Task::MultiLabel, Quantity::Class(Choice { name, index: Some(index) })) => {
                Some(Self::Applies(*index, name.clone()))
            }
            (Task::QuestionAnswering, _) => Some(Self::Span),
            (Task::TokenClassification, Quantity::Tag(position, _)) => Some(Self::Tag(*position)),
            (Task::MaskedLanguageModel, Quantity::Token(position, word)) => {
                Some(Self::Word(*position, word.clone()))
            }
            _ => None,
        }
    }

    /// What the model decides for one row.
    pub(crate) fn decide(
        &self,
        card: &Card,
        open: Option<&dyn Open>,
        encoded: &Encoded,
        logits: &Logits,
    ) -> Result<Decision> {
        let key = match self {
            Self::Class | Self::Tag(_) | Self::Word(..) => (largest(self.scores(logits)), 0),
            Self::Applies(index, _) => (usize::from(sigmoid(logits.data[*index]) >= 0.5), 0),
            Self::Span => best_span(encoded, logits)?,
        };
        let named = |index: usize| card.labels.get(index).cloned().unwrap_or_else(|| index.to_string());
        let label = match self {
            Self::Class | Self::Tag(_) => named(key.0),
            Self::Applies(_, name) if key.0 == 1 => name.clone(),
            Self::Applies(_, name) => format!("not {name}"),
            Self::Span => answer(encoded, key),
            Self::Word(_, word) if word.index == Some(key.0) => word.name.clone(),
            Self::Word(position, _) => word(open, encoded, *position, self.scores(logits))?,
        };
        Ok(Decision { label, prob: self.prob(logits, key), key })
    }

    /// The probability of a decision, whether it is the one that is made or not.
    pub(crate) fn prob(&self, logits: &Logits, key: Key) -> f64 {
        match self {
            Self::Class | Self::Tag(_) | Self::Word(..) => softmax_at(self.scores(logits), key.0),
            Self::Applies(index, _) => {
                let on = sigmoid(logits.data[*index]);
                if key.0 == 1 { on } else { 1.0 - on }
            }
            Self::Span => {
                let column = |which: usize| -> Vec<f64> {
                    logits.data.iter().skip(which).step_by(2).copied().collect()
                };
                softmax_at(&column(0), key.0) * softmax_at(&column(1), key.1)
            }
        }
    }

    /// Whether the target speaks for this decision, so that hiding what it rests on should change the decision.
    pub(crate) fn is_spoken_for(&self, target: &Target, decision: &Decision) -> bool {
        let (first, last) = decision.key;
        match (self, &target.quantity) {
            (Self::Applies(..), Quantity::Class(_)) => first == 1,
            (_, Quantity::Class(choice) | Quantity::Tag(_, choice) | Quantity::Token(_, choice)) => {
                choice.index == Some(first)
            }
            (_, Quantity::Margin(choice, _)) => choice.index == Some(first),
            (_, Quantity::Loss(Some(Label::Class(index)))) => *index == first,
            (_, Quantity::Start(Some(start))) => *start == first,
            (_, Quantity::End(Some(end))) => *end == last,
            (_, Quantity::Answer(Some(span))) => *span == decision.key,
            _ => false,
        }
    }

    /// The logits that compete with each other.
    fn scores<'l>(&self, logits: &'l Logits) -> &'l [f64] {
        let width = logits.shape.last().copied().unwrap_or(0);
        match self {
            Self::Tag(position) | Self::Word(position, _) => {
                logits.data.get(position * width..(position + 1) * width).unwrap_or_default()
            }
            _ => &logits.data,
        }
    }
}

/// The text between the first and the last token of an answer.
fn answer(encoded: &Encoded, (first, last): Key) -> String {
    let span = |token: usize| encoded.tokens.get(token).and_then(|token| token.span);
    match (span(first), span(last)) {
        (Some(first), Some(last)) => encoded.slice(Span { end: last.end, ..first }).to_owned(),
        _ => "no answer".into(),
    }
}

/// The best word at a masked token, by asking for that token alone: naming all of them would sort many vocabularies.
fn word(open: Option<&dyn Open>, encoded: &Encoded, position: usize, scores: &[f64]) -> Result<String> {
    let tokens: Vec<Token> = encoded.tokens.get(position).cloned().into_iter().collect();
    let alone = Encoded { tokens, fields: encoded.fields.clone(), truncated: false };
    let logits = Logits { shape: vec![1, scores.len()], data: scores.to_vec() };
    let named = match open.map(|open| open.scores(&alone, &logits)).transpose()? {
        Some(Scores::Fills(fills)) => fills.into_iter().flat_map(|fill| fill.top).next().map(|top| top.piece),
        _ => None,
    };
    Ok(named.unwrap_or_else(|| format!("#{}", largest(scores))))
}

/// The place of the largest; the first where several are equal.
fn largest(values: &[f64]) -> usize {
    (0..values.len()).reduce(|best, i| if values[i] > values[best] { i } else { best }).unwrap_or(0)
}

fn softmax_at(logits: &[f64], index: usize) -> f64 {
    let Some(own) = logits.get(index) else { return 0.0 };
    1.0 / logits.iter().map(|z| (z - own).exp()).sum::<f64>()
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::{Example, Model};
    use exegete_testkit::Toy;

    /// What is decided for "not good film" by these logits, and whether the target speaks for it.
    fn check(task: Task, target: &str, shape: &[usize], logits: &[f64], expected: Option<(&str, f64, bool)>) {
        let toy = Toy::default();
        let open = toy.open().unwrap();
        let encoded = open.encode(&Example::text("not good film")).unwrap();
        let card = Card { task, ..toy.card().clone() };
        let logits = Logits { shape: shape.to_vec(), data: logits.to_vec() };
        let target: Target = target.parse().unwrap();
        let target = target.resolve(&card, &encoded, &logits, None, &|_| Some(1)).unwrap();
        let found = Question::of(&card, &target).map(|question| {
            let decision = question.decide(&card, Some(open), &encoded, &logits).unwrap();
            let spoken = question.is_spoken_for(&target, &decision);
            (decision.label, (decision.prob * 1e4).round() / 1e4, spoken)
        });
        assert_eq!(found, expected.map(|(label, prob, spoken)| (label.to_owned(), prob, spoken)), "{target}");
    }

    #[test]
    fn every_task_decides_in_its_own_way() {
        let three = 3f64.ln();
        check(Task::Classification, "predicted", &[2], &[0.0, three], Some(("positive", 0.75, true)));
        check(Task::Classification, "class:negative", &[2], &[0.0, three], Some(("positive", 0.75, false)));
        check(Task::Classification, "margin:1,0", &[2], &[0.0, three], Some(("positive", 0.75, true)));
        check(Task::Classification, "loss", &[2], &[0.0, three], Some(("positive", 0.75, true)));
        check(Task::Classification, "unit:pooled[0]", &[2], &[0.0, three], Some(("positive", 0.75, false)));
        check(Task::MultiLabel, "class:1", &[2], &[9.0, three], Some(("positive", 0.75, true)));
        check(Task::MultiLabel, "class:1", &[2], &[9.0, -three], Some(("not positive", 0.75, false)));
        check(Task::Regression, "predicted", &[1], &[2.0], None);
        check(Task::Encoder, "unit:pooled[0]", &[2], &[1.0, 2.0], None);
        let tags = [0.0, 9.0, three, 0.0, 0.0, 0.0];
        check(Task::TokenClassification, "tag:1=negative", &[3, 2], &tags, Some(("negative", 0.75, true)));
        check(Task::TokenClassification, "tag:1=positive", &[3, 2], &tags, Some(("negative", 0.75, false)));
        // Start at the second token, 3 to 1 to 1; end at the third.
        let spans = [0.0, 0.0, three, 0.0, 0.0, three];
        check(Task::QuestionAnswering, "answer", &[3, 2], &spans, Some(("good film", 0.36, true)));
        check(Task::QuestionAnswering, "end", &[3, 2], &spans, Some(("good film", 0.36, true)));
    }
}
