use crate::encoder::Network;
use crate::run::Run;
use exegete_core::{Error, Plan, Result, Row, Sites, Token};
use exegete_engine::Scalar;
use std::sync::Arc;

/// A network whose every ReLU is a softplus, (1/β)·ln(1 + e^(βz)), so that it has a second derivative: A.-K. Dombrowski and
/// others, *Explanations can be manipulated and geometry is to blame*, 2019.
pub struct Softened<T> {
    network: Arc<dyn Network<T>>,
    beta: f64,
    /// What the model is called.
    name: Arc<str>,
}

impl<T> Softened<T> {
    /// A network with this β above zero; the name is for messages.
    pub fn new(network: Arc<dyn Network<T>>, beta: f64, name: &str) -> Self {
        Self { network, beta, name: name.into() }
    }
}

/// The network as it is, or with a softplus of this β for every ReLU.
pub(crate) fn soften<T: Scalar>(
    network: Box<dyn Network<T>>,
    beta: Option<f64>,
    name: &str,
) -> Box<dyn Network<T>> {
    match beta {
        Some(beta) => Box::new(Softened::new(network.into(), beta, name)),
        None => network,
    }
}

/// β is a number above zero.
pub(crate) fn check_beta(beta: f64) -> Result<()> {
    match beta.is_finite() && beta > 0.0 {
        true => Ok(()),
        false => Err(Error::Request(format!("softplus={beta}: must be a number above 0"))),
    }
}

impl<T: Scalar> Network<T> for Softened<T> {
    fn sites(&self) -> &Sites {
        self.network.sites()
    }

    fn forward(&self, run: &mut Run<'_, T>) -> Result<()> {
        run.tape.soften(self.beta);
        self.network.forward(run)?;
        // What starts further up may have no ReLU ahead of it.
        if run.tape.softened() == 0 && !run.is_resumed() {
            return Err(Error::Unsupported(format!(
                "{} has no ReLU that a softplus could replace; leave softplus out",
                self.name
            )));
        }
        Ok(())
    }

    fn elements(&self, row: &Row, plan: &Plan) -> usize {
        self.network.elements(row, plan)
    }

    fn learning_elements(&self, row: &Row) -> usize {
        self.network.learning_elements(row)
    }

    fn reads_words(&self, token: &Token) -> bool {
        self.network.reads_words(token)
    }

    fn output_elements(&self, row: &Row, plan: &Plan) -> usize {
        self.network.output_elements(row, plan)
    }
}
