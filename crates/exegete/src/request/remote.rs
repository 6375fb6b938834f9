use crate::RemoteOptions;
use crate::methods::parameter::grouped;
use anyhow::{Result, anyhow, bail};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use std::time::Duration;

/// What is longer or more than this is a slip, which would run for ever without a word.
const LONGEST_TIMEOUT_SECONDS: f64 = 86_400.0;
const MOST_RETRIES: usize = 100;
const MOST_BATCH: usize = 65_536;
const MOST_CONCURRENCY: usize = 256;

/// How a model at an address is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default)]
#[command(next_help_heading = "Models at an address (http://… or \"cmd: …\")")]
pub struct AddressOptions {
    /// The longest wait for one answer in seconds [default: 30 where the model is at an address].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    #[schemars(range(max = LONGEST_TIMEOUT_SECONDS))]
    pub timeout: Option<f64>,
    /// How often a request is repeated after a fault that may pass [default: 4 where the model is at an address].
    #[arg(long, value_name = "N")]
    #[schemars(range(max = MOST_RETRIES))]
    pub retries: Option<usize>,
    /// Texts a request [default: 32 where the model is at an address].
    #[arg(long, value_name = "N")]
    #[schemars(range(max = MOST_BATCH))]
    pub batch: Option<NonZeroUsize>,
    /// Requests at once, over HTTP [default: 4 where the model is at an http address].
    #[arg(long, value_name = "N")]
    #[schemars(range(max = MOST_CONCURRENCY))]
    pub concurrency: Option<NonZeroUsize>,
}

impl AddressOptions {
    /// The options for an address; `pairs` where it will be asked about pairs.
    pub(super) fn options(&self, address: &str, pairs: bool) -> Result<RemoteOptions> {
        if self.concurrency.is_some() && address.starts_with("cmd:") {
            bail!("--concurrency is for http://…; a command is asked one thing at a time");
        }
        self.check_bounds()?;
        let usual = RemoteOptions::default();
        Ok(RemoteOptions {
            timeout: self.timeout.map_or(Ok(usual.timeout), duration)?,
            retries: self.retries.unwrap_or(usual.retries),
            batch: self.batch.map_or(usual.batch, NonZeroUsize::get),
            concurrency: self.concurrency.map_or(usual.concurrency, NonZeroUsize::get),
            pairs,
        })
    }

    fn check_bounds(&self) -> Result<()> {
        let count = |count: Option<NonZeroUsize>| count.map(NonZeroUsize::get);
        for (option, given, least, most) in [
            ("--retries", self.retries, 0, MOST_RETRIES),
            ("--batch", count(self.batch), 1, MOST_BATCH),
            ("--concurrency", count(self.concurrency), 1, MOST_CONCURRENCY),
        ] {
            if let Some(given) = given.filter(|&given| given > most) {
                bail!("{option} {given}: must be a whole number from {least} to {}", grouped(most));
            }
        }
        Ok(())
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
    let seconds = text.parse().map_err(|_| anyhow!("'{text}' is not a time; write 0.5 or 60"))?;
    duration(seconds)?;
    Ok(seconds)
}

fn duration(seconds: f64) -> Result<Duration> {
    let time = Duration::try_from_secs_f64(seconds).ok();
    let time = time.filter(|time| !time.is_zero() && seconds <= LONGEST_TIMEOUT_SECONDS);
    time.ok_or_else(|| anyhow!("--timeout {seconds}: must be above 0 and at most 86,400 seconds"))
}
