use clap::Args;
use std::path::PathBuf;

/// How words are hidden, and where answers are kept.
#[derive(Debug, Args)]
pub(crate) struct Hiding {
    /// How hidden words become absent: delete, mask, pad, unk, zero, or sampled with --words [default: delete, or in place
    /// where the target is about one token].
    #[arg(long, value_name = "M")]
    pub(crate) masker: Option<String>,
    /// Words to put in the place of hidden ones, one a line, each with a tab and its count where they are not equally
    /// frequent; for --masker sampled.
    #[arg(long, value_name = "FILE")]
    pub(crate) words: Option<PathBuf>,
    /// Keep what the model answers in this file, so that nothing is asked twice, in later runs either.
    #[arg(long, value_name = "FILE")]
    pub(crate) cache: Option<PathBuf>,
}
