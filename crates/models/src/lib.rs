//! Models that exegete can open: encoder families from a Hugging Face folder, and black boxes at an address.
//!
//! 1. [`config`] and [`checkpoint`] read the folder; [`tokenizer`] turns text into tokens.
//! 2. A family (one file each) takes its parameters from [`weights`] and builds an [`encoder`] out of [`blocks`] and
//!    a [`heads::Head`].
//! 3. [`load`] gives the whole as a [`Model`] whose inside is open: sites, edits, gradients, parameters.
//! 4. [`connect`] gives whatever answers over HTTP or a pipe as a [`Model`] that predicts and no more.

mod assemble;
pub mod blocks;
mod blueprint;
pub mod checkpoint;
pub mod config;
mod default;
mod duals;
/// The network that all families of today are built as.
pub mod encoder;
pub mod families;
mod fault;
mod folder;
mod forward;
pub mod heads;
mod learner;
/// Losses on the tape, and how to write another.
pub mod loss;
mod opened;
pub mod partial;
mod pass;
mod random;
mod remote;
mod rules;
/// One forward run: rows, plan, tape, and the named places.
pub mod run;
mod save;
pub mod small;
mod softened;
pub mod tokenizer;
pub mod train;
/// Named parameters and where they come from.
pub mod weights;

pub use default::DEFAULT;
pub use forward::forward;
pub use random::{BertSize, random_bert};
pub use remote::{RemoteOptions, connect, is_address};
pub use save::files_of_folder;
pub use softened::Softened;

use exegete_core::{Model, Result};
use std::path::Path;
use std::sync::Arc;

/// What a model computes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// Single precision, which is fast.
    #[default]
    F32,
    /// Double precision: for checking derivatives.
    F64,
}

/// How to open a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoadOptions {
    /// What to compute in.
    pub precision: Precision,
    /// Threads to use; 0 means one for each core.
    pub threads: usize,
}

/// Opens the model that is part of the program: English sentiment, negative or positive.
pub fn load_default(options: &LoadOptions) -> Result<Arc<dyn Model>> {
    Ok(match options.precision {
        Precision::F32 => Arc::new(default::open::<f32>(options.threads)?),
        Precision::F64 => Arc::new(default::open::<f64>(options.threads)?),
    })
}

/// Writes a model, the default one where no folder is named, as a Hugging Face folder of single precision.
pub fn export(dir: Option<&Path>, output: &Path) -> Result<()> {
    match dir {
        Some(dir) => save::folder(&folder::open::<f32>(dir, 1)?, &save::companions(dir)?, output),
        None => save::folder(&default::open::<f32>(1)?, &default::companions(), output),
    }
}

/// Opens a Hugging Face model folder.
pub fn load(dir: &Path, options: &LoadOptions) -> Result<Arc<dyn Model>> {
    Ok(match options.precision {
        Precision::F32 => Arc::new(folder::open::<f32>(dir, options.threads)?),
        Precision::F64 => Arc::new(folder::open::<f64>(dir, options.threads)?),
    })
}
