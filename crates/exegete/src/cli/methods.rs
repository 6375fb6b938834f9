use super::TableFormat;
use clap::Args;
use exegete::request::methods::MethodsRequest;

/// What `exegete methods` takes.
#[derive(Debug, Args)]
pub(crate) struct Methods {
    /// The request that the flags fill in.
    #[command(flatten)]
    pub(crate) request: MethodsRequest,
    /// How to print it; as data, what it says, what it promises and the JSON schema of its parameters.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TableFormat,
}
