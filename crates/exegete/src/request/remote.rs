use crate::RemoteOptions;
use anyhow::{Result, anyhow, bail};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use std::time::Duration;

/// How a model at an address is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default)]
#[command(next_help_heading = "Models at an address (http://… or \"cmd: …\")")]
pub struct AddressOptions {
    /// The longest wait for one answer in seconds [default: 30 where the model is at an address].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<f64>,
    /// How often a request is repeated after a fault that may pass [default: 4 where the model is at an address].
    #[arg(long, value_name = "N")]
    pub retries: Option<usize>,
    /// Texts a request [default: 32 where the model is at an address].
    #[arg(long, value_name = "N")]
    pub batch: Option<NonZeroUsize>,
    /// Requests at once, over HTTP [default: 4 where the model is at an http address].
    #[arg(long, value_name = "N")]
    pub concurrency: Option<NonZeroUsize>,
}

impl AddressOptions {
    /// The options for an address; `pairs` where it will be asked about pairs.
    pub(super) fn options(&self, address: &str, pairs: bool) -> Result<RemoteOptions> {
        if self.concurrency.is_some() && address.starts_with("cmd:") {
            bail!("--concurrency is for http://…; a command is asked one thing at a time");
        }
        let usual = RemoteOptions::default();
        Ok(RemoteOptions {
            timeout: self.timeout.map_or(Ok(usual.timeout), duration)?,
            retries: self.retries.unwrap_or(usual.retries),
            batch: self.batch.map_or(usual.batch, NonZeroUsize::get),
            concurrency: self.concurrency.map_or(usual.concurrency, NonZeroUsize::get),
            pairs,
        })
    }

    /// A model in a folder has no use for any of this.
    pub(super) fn check_unused(&self) -> Result<()> {
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

fn seconds(text: &str) -> Result<f64> {
    let wrong = || anyhow!("'{text}' is not a time; write 0.5 or 60");
    let seconds = text.parse().map_err(|_| wrong())?;
    duration(seconds).map_err(|_| wrong())?;
    Ok(seconds)
}

fn duration(seconds: f64) -> Result<Duration> {
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
    time.ok_or_else(|| anyhow!("--timeout {seconds} is not a time in seconds"))
}
