/// How much is spent: a fixed number of samples, or as many as a tolerance asks for within a budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Exactly so many, where given.
    pub samples: Option<usize>,
    /// The largest standard error, as a share of the largest value.
    pub tolerance: f64,
    /// The most rows.
    pub budget: usize,
}

impl Effort {
    /// A fixed number of samples.
    pub fn fixed(samples: usize) -> Self {
        Self { samples: Some(samples), ..Self::default() }
    }

    /// Whether every error is small enough.
    pub fn is_met(&self, values: &[f64], errors: &[f64]) -> bool {
        let largest = values.iter().fold(0.0, |top: f64, value| top.max(value.abs()));
        errors.iter().all(|&error| error <= self.tolerance * largest)
    }
}

impl Default for Effort {
    fn default() -> Self {
        Self { samples: None, tolerance: 0.05, budget: 2000 }
    }
}
