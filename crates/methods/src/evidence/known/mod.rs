//! Checks of the checks, on a model whose truth is known.

mod bag;
mod deep;
mod families;
mod findings;
mod hiding;
mod seen;
mod tasks;
mod toy;

use super::{Evidence, Level};
use crate::{Question, RawAttribution, RawScores};
use bag::{Bag, weight};
use exegete_core::report::Checks;
use exegete_core::{Driver, Example, Model, Plan, Result, Row, Target, Task};
pub(crate) use findings::agrees;

/// Everything a check needs, about one text.
struct Bench {
    model: Bag,
    driver: Driver,
    row: Row,
    target: Target,
}

impl Bench {
    fn new(task: &'static dyn Task, factor: f64, text: &str, target: &str) -> Self {
        let model = Bag::new(task, factor);
        let driver = Driver::default();
        let row = Row::new(model.open().unwrap().encode(&Example::text(text)).unwrap());
        let target = resolved(&model, &row, target).unwrap();
        Self { model, driver, row, target }
    }

    fn job(&self) -> Question<'_> {
        let job = Question::new(&self.model, &self.driver, self.row.clone(), self.target.clone());
        Question { baselines: vec![crate::Baseline::Zero], ..job }
    }

    /// The weights of the words: the one right explanation of "positive".
    fn oracle(&self) -> Vec<f64> {
        let tokens = &self.row.encoded.tokens;
        tokens.iter().filter(|token| !token.special).map(|token| weight(&token.piece)).collect()
    }

    fn check(&self, values: &[f64], signed: bool) -> Checks {
        self.check_with(&mut self.evidence(), values, signed)
    }

    fn evidence(&self) -> Evidence<'_> {
        Evidence::new(&self.job())
    }

    fn check_with(&self, evidence: &mut Evidence<'_>, values: &[f64], signed: bool) -> Checks {
        evidence.check(Level::Default, &scored(values, signed), None, Checks::default()).unwrap()
    }
}

/// Scores of units that no method explains again.
fn scored(values: &[f64], signed: bool) -> RawAttribution {
    RawAttribution { unsigned: !signed, ..RawAttribution::of(RawScores::Units(values.to_vec())) }
}

fn resolved(model: &dyn Model, row: &Row, target: &str) -> Result<Target> {
    let open = model.require_open()?;
    let pass = open.forward(std::slice::from_ref(row), &Plan::default())?;
    let vocabulary = |piece: &str| open.token_id(piece);
    target.parse::<Target>()?.resolve(model.card(), &row.encoded, &pass.logits()[0], None, &vocabulary)
}
