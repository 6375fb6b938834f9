use anyhow::{Result, bail};
use clap::Args;
use exegete::RemoteOptions;
use std::num::NonZeroUsize;
use std::time::Duration;

/// How a model at an address is asked.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Models at an address (http://… or \"cmd: …\")")]
pub(crate) struct Remote {
    /// The longest wait for one answer [default: 30].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// How often a request is repeated after a fault that may pass [default: 4].
    #[arg(long, value_name = "N")]
    retries: Option<usize>,
    /// Texts a request [default: 32].
    #[arg(long, value_name = "N")]
    batch: Option<NonZeroUsize>,
    /// Requests at once, over HTTP [default: 4].
    #[arg(long, value_name = "N")]
    concurrency: Option<NonZeroUsize>,
}

impl Remote {
    /// The options for an address; `pairs` where it will be asked about pairs.
    pub(crate) fn options(&self, address: &str, pairs: bool) -> Result<RemoteOptions> {
        if self.concurrency.is_some() && address.starts_with("cmd:") {
            bail!("--concurrency is for http://…; a command is asked one thing at a time");
        }
        let usual = RemoteOptions::default();
        Ok(RemoteOptions {
            timeout: self.timeout.unwrap_or(usual.timeout),
            retries: self.retries.unwrap_or(usual.retries),
            batch: self.batch.map_or(usual.batch, NonZeroUsize::get),
            concurrency: self.concurrency.map_or(usual.concurrency, NonZeroUsize::get),
            pairs,
        })
    }

    /// A model in a folder has no use for any of this.
    pub(crate) fn check_unused(&self) -> Result<()> {
        let given = [
            ("--timeout", self.timeout.is_some()),
            ("--retries", self.retries.is_some()),
            ("--batch", self.batch.is_some()),
            ("--concurrency", self.concurrency.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => bail!("{name} is for models at an address: --model http://… or \"cmd: …\""),
            None => Ok(()),
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|number| Duration::try_from_secs_f64(number).ok());
    seconds.filter(|time| !time.is_zero()).ok_or_else(|| format!("'{text}' is not a time; write 0.5 or 60"))
}
