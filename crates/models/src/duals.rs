use crate::encoder::Network;
use crate::opened::Parts;
use crate::softened::soften;
use crate::weights::{Param, Replaced, Still, Weights};
use exegete_core::{Array, Result};
use exegete_engine::{Context, Dual, Real, Tensor};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A network in dual numbers: twice the memory of its parameters, spent once and not on every call.
pub(crate) struct Duals<T> {
    /// Dual numbers have a context of their own.
    pub(crate) ctx: Arc<Context<Dual<T>>>,
    /// With parameters that do not move.
    pub(crate) network: Box<dyn Network<Dual<T>>>,
    params: BTreeMap<String, Param<Dual<T>>>,
}

impl<T: Real> Duals<T> {
    pub(crate) fn new(parts: &Parts<T>) -> Result<Self> {
        let source = Still(&parts.params);
        let mut weights = Weights::new(&source);
        let network = built(parts, &mut weights)?;
        Ok(Self { ctx: Context::new(parts.ctx.threads()), network, params: weights.into_taken().0 })
    }

    /// The same network where some parameters move along a direction; it shares all others.
    pub(crate) fn along(
        &self,
        parts: &Parts<T>,
        v: &BTreeMap<&str, &Array>,
    ) -> Result<Box<dyn Network<Dual<T>>>> {
        let source = self.moving(v);
        built(parts, &mut Weights::new(&source))
    }

    /// The parameters where some move along a direction, and all others are shared.
    fn moving(&self, v: &BTreeMap<&str, &Array>) -> Replaced<'_, Dual<T>> {
        let moved = |(&name, v): (&&str, &&Array)| {
            let value = &self.params[name].value;
            let dual = |(x, &t): (&Dual<T>, &f32)| Dual { v: x.v, t: T::from_f64(t.into()) };
            let data = value.data().iter().zip(&v.data).map(dual).collect();
            (name.to_owned(), Tensor::new(value.rows(), value.cols(), data))
        };
        Replaced { base: &self.params, by: v.iter().map(moved).collect() }
    }
}

/// The network in dual numbers, with the softplus that the model has.
fn built<T: Real>(parts: &Parts<T>, weights: &mut Weights<'_, Dual<T>>) -> Result<Box<dyn Network<Dual<T>>>> {
    let network = parts.blueprint.build(weights, parts.card.task)?.network;
    Ok(soften(network, parts.softplus, &parts.card.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::{Example, Label, Learner, Open, Row};
    use exegete_testkit::golden;

    /// What does not move is converted once, whatever is asked how often; what moves is not.
    #[test]
    fn parameters_that_do_not_move_are_shared_from_call_to_call() {
        let model = crate::folder::open::<f32>(&golden::root().join("bert-sequence"), 1).unwrap();
        let name = "classifier.weight";
        let ask = |fill: f32| {
            let v = Array::full(model.parts.params[name].shape.clone(), fill);
            let rows = [Row::new(model.encode(&Example::text("a film")).unwrap())];
            let select = [name.to_owned()];
            model.hvp(&rows, &[Label::Class(0)], &select, std::slice::from_ref(&v)).unwrap();
            let moving = BTreeMap::from([(name, &v)]);
            let source = model.duals().unwrap().moving(&moving);
            let mut weights = Weights::new(&source);
            model.parts.blueprint.build(&mut weights, model.parts.card.task).unwrap();
            let (params, _) = weights.into_taken();
            (params[&*model.parts.word.name].value.clone(), params[name].value.clone())
        };
        let ((word, out), (again, other)) = (ask(1.0), ask(2.0));
        assert!(std::ptr::eq(word.data(), again.data()));
        assert!(!std::ptr::eq(out.data(), other.data()));
        assert_eq!((out.data()[0].t, other.data()[0].t, out.data()[0].v), (1.0, 2.0, other.data()[0].v));
    }
}
