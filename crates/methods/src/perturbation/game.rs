use crate::masked::Set;
use exegete_core::Result;

/// A number for every set of hidden players.
pub trait Game {
    /// How many players there are.
    fn players(&self) -> usize;

    /// The number for each of these sets of hidden players, in order.
    fn values(&mut self, hidden: &[Set]) -> Result<Vec<f64>>;
}
