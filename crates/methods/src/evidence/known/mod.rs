//! Checks of the checks, on a model whose truth is known.

mod bag;
mod deep;
mod families;
mod hiding;
mod toy;

use super::{Evidence, Level, Scored};
use crate::Job;
use bag::{Bag, weight};
use exegete_core::report::Checks;
use exegete_core::{Driver, Example, Model, Plan, Result, Row, Target, Task, Units};

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

    fn job(&self) -> Job<'_> {
        let job = Job::new(&self.model, &self.driver, self.row.clone(), self.target.clone());
        Job { baselines: vec![crate::Baseline::Zero], ..job }
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
        Evidence::new(&self.job(), Units::Word)
    }

    fn check_with(&self, evidence: &mut Evidence<'_>, values: &[f64], signed: bool) -> Checks {
        let tokens: Vec<f64> = [0.0].into_iter().chain(values.iter().copied()).collect();
        let scored = Scored { signed, values, tokens: &tokens, again: None };
        evidence.check(Level::Default, &scored, Checks::default()).unwrap()
    }
}

fn resolved(model: &dyn Model, row: &Row, target: &str) -> Result<Target> {
    let open = model.require_open()?;
    let pass = open.forward(std::slice::from_ref(row), &Plan::default())?;
    let vocabulary = |piece: &str| open.token_id(piece);
    target.parse::<Target>()?.resolve(model.card(), &row.encoded, &pass.logits()[0], None, &vocabulary)
}
