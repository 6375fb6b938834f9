use crate::encoder::Network;
use crate::loss::{Forward, Objective, supervised};
use crate::opened::Opened;
use crate::run::{Finished, Noise, Request};
use crate::weights::{Param, check_shapes, unknown};
use exegete_core::{Array, Error, Label, Learner, Open, ParameterGroup, Plan, Record, Result, Row, Site};
use exegete_engine::{Context, Gradient, NodeId, Real, Scalar, Tensor, Var};
use std::collections::BTreeMap;
use std::sync::Arc;

impl<T: Real> Learner for Opened<T> {
    fn parameters(&self) -> Vec<(String, Vec<usize>)> {
        self.parts.params.iter().map(|(name, param)| (name.clone(), param.shape.clone())).collect()
    }

    fn groups(&self) -> Vec<ParameterGroup> {
        self.parts.groups.to_vec()
    }

    fn learning_bytes(&self, row: &Row) -> usize {
        let plan = Plan::gradient(self.sites().words().into_iter().collect::<Vec<_>>());
        self.bytes(row, &plan) + self.parts.network.learning_elements(row) * size_of::<T>()
    }

    fn parameter(&self, name: &str) -> Result<Array> {
        let param = self.parts.params.get(name).ok_or_else(|| unknown(name))?;
        Ok(array(param, &param.value, |x| x.value()))
    }

    fn gradient(&self, rows: &[Row], labels: &[Label], select: &[String]) -> Result<(Vec<f64>, Vec<Array>)> {
        let batch = LossBatch::new(rows, labels, select);
        let Pulled { losses, gradients, .. } =
            self.pulled(&self.parts.ctx, &*self.parts.network, &batch, |_| 1.0)?;
        let losses = losses.value.data().iter().map(|x| x.value()).collect();
        Ok((losses, self.arrays(select, &gradients, |x| x.value())))
    }

    fn row_gradients(
        &self,
        rows: &[Row],
        labels: &[Label],
        select: &[String],
        sink: &mut dyn FnMut(usize, Vec<Array>) -> Result<()>,
    ) -> Result<()> {
        if rows.len() != labels.len() {
            return Err(Error::Request(format!("{} rows but {} labels", rows.len(), labels.len())));
        }
        // Sequences are packed, so a row alone costs what it costs in a batch.
        let one = |ctx: &Arc<Context<T>>, i: usize| {
            let batch = LossBatch::new(&rows[i..=i], &labels[i..=i], select);
            let pulled = self.pulled(ctx, &*self.parts.network, &batch, |_| 1.0)?;
            Ok::<_, Error>(self.arrays(select, &pulled.gradients, |x| x.value()))
        };
        let (ctx, all): (_, Vec<usize>) = (&self.parts.ctx, (0..rows.len()).collect());
        for some in all.chunks(ctx.threads()) {
            // One row uses every thread; several need not wait for each other.
            let own = if some.len() == 1 { ctx.clone() } else { ctx.serial(some.len()) };
            let gradients = ctx.map(some, |&i| one(&own, i));
            some.iter().zip(gradients).try_for_each(|(&i, gradient)| sink(i, gradient?))?;
        }
        Ok(())
    }

    fn directional(
        &self,
        rows: &[Row],
        labels: &[Label],
        select: &[String],
        v: &[Array],
    ) -> Result<Vec<f64>> {
        let duals = self.duals()?;
        let network = duals.along(&self.parts, &self.directions(select, v)?)?;
        let (losses, _) = self.lost(&duals.ctx, &*network, &LossBatch::new(rows, labels, &[]))?;
        Ok(losses.value.data().iter().map(|x| x.tangent()).collect())
    }

    fn hvp(&self, rows: &[Row], labels: &[Label], select: &[String], v: &[Array]) -> Result<Vec<Array>> {
        let duals = self.duals()?;
        let network = duals.along(&self.parts, &self.directions(select, v)?)?;
        let batch = LossBatch::new(rows, labels, select);
        let pulled = self.pulled(&duals.ctx, &*network, &batch, |_| 1.0)?;
        Ok(self.arrays(select, &pulled.gradients, |x| x.tangent()))
    }
}

/// Rows with their labels, and what is to be learned from them.
pub(crate) struct LossBatch<'a, T> {
    pub(crate) rows: &'a [Row],
    pub(crate) labels: &'a [Label],
    /// Parameters to differentiate with respect to.
    pub(crate) select: &'a [String],
    /// Whether the gradient at the rows' word vectors is asked for too.
    pub(crate) words: bool,
    /// Sites that the objective reads beside the logits.
    pub(crate) keep: &'a [Site],
    pub(crate) objective: &'a Objective<T>,
    pub(crate) noise: Option<Noise<'a>>,
}

impl<'a, T: Scalar> LossBatch<'a, T> {
    /// The plain supervised loss, without dropout.
    fn new(rows: &'a [Row], labels: &'a [Label], select: &'a [String]) -> Self {
        Self { rows, labels, select, words: false, keep: &[], objective: &supervised::<T>, noise: None }
    }
}

/// What a batch gave: its losses and their gradients.
pub(crate) struct Pulled<S> {
    /// The loss of every row.
    pub(crate) losses: Var<S>,
    /// The gradient of each selected parameter that was used.
    pub(crate) gradients: Vec<Option<Tensor<S>>>,
    /// The gradient at the word vectors of all rows, laid end to end.
    pub(crate) words: Option<Tensor<S>>,
}

impl<T: Real> Opened<T> {
    /// The loss of every row, on the tape.
    fn lost<S: Scalar>(
        &self,
        ctx: &Arc<Context<S>>,
        network: &dyn Network<S>,
        batch: &LossBatch<'_, S>,
    ) -> Result<(Var<S>, Finished<S>)> {
        let &LossBatch { rows, labels, select, words, keep, objective, noise } = batch;
        if let Some(name) = select.iter().find(|name| !self.parts.params.contains_key(*name)) {
            return Err(unknown(name));
        }
        let record = if words { Record::Gradient } else { Record::Nothing };
        let keep = keep.iter().copied().chain(words.then_some(network.sites().words()?)).collect();
        let plan = Plan { keep, start: None, record };
        let request = Request { learn: select, noise, ..Request::new(rows, &plan) };
        let mut finished = self.run(ctx, network, request)?;
        let Finished { tape, kept, outputs, places, .. } = &mut finished;
        let logits = kept[outputs].var.clone();
        let task = self.parts.card.task;
        let info = network.sites().get(*outputs)?;
        let count = |row: &Row| info.axes.first().map_or(1, |axis| axis.len(&row.encoded));
        let counts: &[usize] = &rows.iter().map(count).collect::<Vec<_>>();
        let losses = objective(&mut Forward { tape, logits, rows, labels, task, kept, counts, places })?;
        if (losses.value.rows(), losses.value.cols()) != (rows.len(), 1) {
            return Err(Error::Request("an objective must give one loss for every row".into()));
        }
        Ok((losses, finished))
    }

    /// The loss of every row, and the gradient of their sum, each times its weight.
    pub(crate) fn pulled<S: Scalar>(
        &self,
        ctx: &Arc<Context<S>>,
        network: &dyn Network<S>,
        batch: &LossBatch<'_, S>,
        weight: impl Fn(usize) -> f64,
    ) -> Result<Pulled<S>> {
        let (losses, finished) = self.lost(ctx, network, batch)?;
        let mut pulled = Pulled { losses, gradients: vec![None; batch.select.len()], words: None };
        let Some(node) = pulled.losses.node else { return Ok(pulled) };
        let rows = pulled.losses.value.rows();
        let seed = Tensor::new(rows, 1, (0..rows).map(|row| S::from_f64(weight(row))).collect());
        let words = match batch.words {
            true => finished.kept[&network.sites().words()?].var.node,
            false => None,
        };
        let nodes: Vec<_> = finished.learned.iter().copied().chain([words]).flatten().collect();
        let tape = &finished.tape;
        let found = ctx.install(|| tape.backward(vec![(node, seed)], &nodes, &Gradient));
        let mut found = found.map_err(|e| Error::Unsupported(e.to_string()))?.into_iter();
        let mut next = |node: Option<NodeId>| node.and_then(|_| found.next().flatten());
        pulled.gradients = finished.learned.iter().map(|&node| next(node)).collect();
        pulled.words = next(words);
        Ok(pulled)
    }

    fn directions<'a>(&self, select: &'a [String], v: &'a [Array]) -> Result<BTreeMap<&'a str, &'a Array>> {
        if select.len() != v.len() {
            return Err(Error::Request(format!("{} parameters but {} directions", select.len(), v.len())));
        }
        let pairs = || select.iter().map(String::as_str).zip(v);
        check_shapes(&self.parts.params, pairs().map(|(name, value)| (name, &value.shape[..])))?;
        Ok(pairs().collect())
    }

    fn arrays<S: Scalar>(
        &self,
        select: &[String],
        found: &[Option<Tensor<S>>],
        read: impl Fn(S) -> f64,
    ) -> Vec<Array> {
        let one = |(name, found): (&String, &Option<Tensor<S>>)| {
            let param = &self.parts.params[name];
            match found {
                Some(tensor) => array(param, tensor, &read),
                None => Array::zeros(param.shape.clone()),
            }
        };
        select.iter().zip(found).map(one).collect()
    }
}

fn array<P, S: Scalar>(param: &Param<P>, tensor: &Tensor<S>, read: impl Fn(S) -> f64) -> Array {
    Array { shape: param.shape.clone(), data: tensor.data().iter().map(|&x| read(x) as f32).collect() }
}

#[cfg(test)]
mod tests;
