use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What was asked, so that it can be asked again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedRequest {
    /// The command, such as explain.
    pub command: String,
    /// The request's fields as given or defaulted; of a text of many the request is about this text alone.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
    /// Every file that the request names, the model aside.
    pub files: Vec<RecordedFile>,
}

/// A file that a request named, as it was then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedFile {
    /// The path as the user wrote it; `-` is the standard input.
    pub path: String,
    /// The SHA-256 of its contents in hexadecimal; null for a stream other than the standard input, which cannot be read
    /// twice.
    pub sha256: Option<String>,
}
