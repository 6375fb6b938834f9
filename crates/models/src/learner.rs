use crate::encoder::Network;
use crate::loss::losses;
use crate::opened::Opened;
use crate::run::Finished;
use crate::weights::{Param, check_shapes, unknown};
use exegete_core::{Array, Error, Label, Learner, Plan, Record, Result, Row, Site};
use exegete_engine::{Context, Gradient, Real, Scalar, Tensor, Var};
use std::collections::BTreeMap;
use std::sync::Arc;

impl<T: Real> Learner for Opened<T> {
    fn parameters(&self) -> Vec<(String, Vec<usize>)> {
        self.parts.params.iter().map(|(name, param)| (name.clone(), param.shape.clone())).collect()
    }

    fn parameter(&self, name: &str) -> Result<Array> {
        let param = self.parts.params.get(name).ok_or_else(|| unknown(name))?;
        Ok(array(param, &param.value, |x| x.value()))
    }

    fn gradient(&self, rows: &[Row], labels: &[Label], select: &[String]) -> Result<(Vec<f64>, Vec<Array>)> {
        let (losses, gradients) =
            self.pulled(&self.parts.ctx, &self.parts.network, (rows, labels, select))?;
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
        // Sequences are packed, so a row alone costs what it costs in a batch.
        for (i, (row, label)) in rows.iter().zip(labels).enumerate() {
            let (_, gradient) =
                self.gradient(std::slice::from_ref(row), std::slice::from_ref(label), select)?;
            sink(i, gradient)?;
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
        let network = self.dual_network(self.directions(select, v)?)?;
        let (losses, _) = self.lost(self.dual_context(), &network, (rows, labels, &[]))?;
        Ok(losses.value.data().iter().map(|x| x.tangent()).collect())
    }

    fn hvp(&self, rows: &[Row], labels: &[Label], select: &[String], v: &[Array]) -> Result<Vec<Array>> {
        let network = self.dual_network(self.directions(select, v)?)?;
        let (_, gradients) = self.pulled(self.dual_context(), &network, (rows, labels, select))?;
        Ok(self.arrays(select, &gradients, |x| x.tangent()))
    }
}

type Request<'a> = (&'a [Row], &'a [Label], &'a [String]);

/// The loss of every row, and the gradient of each selected parameter that was used.
type Pulled<S> = (Var<S>, Vec<Option<Tensor<S>>>);

impl<T: Real> Opened<T> {
    /// The loss of every row, on the tape.
    fn lost<S: Scalar>(
        &self,
        ctx: &Arc<Context<S>>,
        network: &dyn Network<S>,
        (rows, labels, select): Request<'_>,
    ) -> Result<(Var<S>, Finished<S>)> {
        if let Some(name) = select.iter().find(|name| !self.parts.params.contains_key(*name)) {
            return Err(unknown(name));
        }
        let plan = Plan { keep: Vec::new(), start: None, record: Record::Nothing };
        let mut finished = self.run(ctx, network, (rows, &plan, select), None)?;
        let logits = finished.kept[&Site::Logits].var.clone();
        let losses = losses(&mut finished.tape, logits, rows, labels, self.parts.card.task)?;
        Ok((losses, finished))
    }

    /// The loss of every row and the gradient of their sum.
    fn pulled<S: Scalar>(
        &self,
        ctx: &Arc<Context<S>>,
        network: &dyn Network<S>,
        request: Request<'_>,
    ) -> Result<Pulled<S>> {
        let (losses, finished) = self.lost(ctx, network, request)?;
        let Some(node) = losses.node else { return Ok((losses, vec![None; request.2.len()])) };
        let ones = Tensor::new(losses.value.rows(), 1, vec![S::from_f64(1.0); losses.value.rows()]);
        let nodes: Vec<_> = finished.learned.iter().copied().flatten().collect();
        let tape = &finished.tape;
        let found = ctx.install(|| tape.backward(vec![(node, ones)], &nodes, &Gradient));
        let mut found = found.map_err(|e| Error::Unsupported(e.to_string()))?.into_iter();
        let gradients =
            finished.learned.iter().map(|node| node.and_then(|_| found.next().flatten())).collect();
        Ok((losses, gradients))
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
