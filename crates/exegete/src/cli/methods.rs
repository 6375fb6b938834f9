use super::TableFormat;
use clap::Args;

/// What `exegete methods` takes.
#[derive(Debug, Args)]
pub(crate) struct Methods {
    /// The method whose page to print.
    pub(crate) name: Option<String>,
    /// How to print it; as data, what it says, what it promises and the JSON schema of its parameters.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TableFormat,
}
