use anyhow::{Result, bail};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// So many threads are allowed on any machine, and for each core of this one. Each takes time to start, and more than the
/// cores make nothing faster.
const MOST_THREADS: usize = 64;
const MOST_THREADS_PER_CORE: usize = 4;

fn most_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    MOST_THREADS.max(MOST_THREADS_PER_CORE.saturating_mul(cores))
}

/// What training keeps of each parameter: the weight, its gradient, and two moments, in single precision.
const TRAINING_BYTES: u128 = 16;
/// What a machine is taken to have that does not say.
const UNKNOWN_MACHINE: usize = 256 << 30;

/// The memory of this machine, as Linux says it.
fn machine_bytes() -> usize {
    let said = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kibibytes =
        said.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse().ok());
    kibibytes.map_or(UNKNOWN_MACHINE, |kibibytes: usize| kibibytes.saturating_mul(1 << 10))
}

/// What a run may use of the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default)]
pub struct Resources {
    /// Threads; 0 for all [default: 0 where the model runs here].
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Memory for activations in bytes, such as 2GiB or 512MB; weights, and what training keeps for each, come on top
    /// [default: 2GiB where the model runs here].
    #[arg(long, value_name = "SIZE", value_parser = super::size::parse)]
    pub memory: Option<usize>,
}

impl Resources {
    /// What no machine has and no run can do with.
    pub(super) fn check(&self) -> Result<()> {
        let most = most_threads();
        if self.threads() > most {
            bail!("--threads {}: at most {most} on this machine; 0 means all its cores", self.threads());
        }
        if self.memory == Some(0) {
            bail!("--memory 0 leaves no room for activations");
        }
        Ok(())
    }

    /// As they were given: 0 for all.
    pub(super) fn threads(&self) -> usize {
        self.threads.unwrap_or(0)
    }

    /// How many threads that is on this machine.
    pub(super) fn count(&self) -> usize {
        match self.threads() {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// Refuses a model whose training needs more bytes than the machine has.
    pub(super) fn check_training(parameters: u128) -> Result<()> {
        let (needed, there) = (parameters.saturating_mul(TRAINING_BYTES), machine_bytes() as u128);
        if needed <= there {
            return Ok(());
        }
        let written = |bytes: u128| super::size::display(usize::try_from(bytes).unwrap_or(usize::MAX));
        bail!(
            "the model has {parameters} parameters, whose weights, gradients and moments need {}, and this machine has {}; \
             choose smaller sizes",
            written(needed),
            written(there)
        )
    }

    /// How many bytes of activations may be alive at once.
    pub(super) fn memory(&self) -> usize {
        self.memory.unwrap_or(2 << 30)
    }

    /// A model at an address runs elsewhere.
    pub(super) fn check_unused(&self) -> Result<()> {
        let given = [("--threads", self.threads.is_some()), ("--memory", self.memory.is_some())];
        match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => bail!("{name} is for models that run here; one at an address has its own"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_larger_than_the_machine_is_refused_with_figures() {
        assert!(Resources::check_training(1_000_000).is_ok());
        for (parameters, needed) in [(1 << 50, "16384.0 TiB"), (u128::MAX, "16777216.0 TiB")] {
            let error = Resources::check_training(parameters).unwrap_err().to_string();
            assert!(error.contains(&format!("{parameters} parameters")) && error.contains(needed), "{error}");
        }
    }
}
