//! The request of `exegete methods`: the methods that there are.

use crate::methods::{Info, METHODS, find};
use anyhow::Result;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `exegete methods` is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct MethodsRequest {
    /// The method whose page to print [default: none, and all are listed].
    pub name: Option<String>,
}

/// The method that is named, or all in their order.
pub fn run(request: &MethodsRequest) -> Result<Vec<&'static Info>> {
    match &request.name {
        Some(name) => Ok(vec![find(name)?]),
        None => Ok(METHODS.to_vec()),
    }
}
