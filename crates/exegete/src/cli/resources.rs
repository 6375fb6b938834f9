use anyhow::{Result, bail};
use clap::Args;

/// What a run may use of the machine.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Resources {
    /// Threads; 0 for all [default: 0].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Memory for activations, such as 2GiB or 512MB; weights, and what training keeps for each, come on top [default:
    /// 2GiB].
    #[arg(long, value_name = "SIZE", value_parser = crate::size::parse)]
    memory: Option<usize>,
}

impl Resources {
    /// As they were given: 0 for all.
    pub(crate) fn threads(&self) -> usize {
        self.threads.unwrap_or(0)
    }

    /// How many threads that is on this machine.
    pub(crate) fn count(&self) -> usize {
        match self.threads() {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// Bytes for activations.
    pub(crate) fn memory(&self) -> usize {
        self.memory.unwrap_or(2 << 30)
    }

    /// A model at an address runs elsewhere.
    pub(crate) fn check_unused(&self) -> Result<()> {
        let given = [("--threads", self.threads.is_some()), ("--memory", self.memory.is_some())];
        match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => bail!("{name} is for models that run here; one at an address has its own"),
            None => Ok(()),
        }
    }
}
