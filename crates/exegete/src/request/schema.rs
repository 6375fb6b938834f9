//! The JSON Schema of every request.

use super::again::AgainRequest;
use super::attention::debate::AttentionDebateRequest;
use super::attention::deceive::AttentionDeceiveRequest;
use super::attention::heads::AttentionHeadsRequest;
use super::attention::norms::AttentionNormsRequest;
use super::attention::test::AttentionTestRequest;
use super::attention::words::AttentionWordsRequest;
use super::bench::BenchRequest;
use super::data::DataRequest;
use super::eval::EvalRequest;
use super::explain::ExplainRequest;
use super::methods::MethodsRequest;
use super::model::{ExportRequest, ModelRequest};
use super::predict::PredictRequest;
use super::show::ShowRequest;
use super::train::TrainRequest;
use crate::methods::nearest;
use crate::report;
use anyhow::{Result, bail};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// What makes a schema.
pub type MakeSchema = fn() -> Value;

/// Every name that [`json_schema`] knows, with what makes its schema.
pub const SCHEMAS: [(&str, MakeSchema); 20] = [
    ("explain", of::<ExplainRequest>),
    ("eval", of::<EvalRequest>),
    ("attention test", of::<AttentionTestRequest>),
    ("attention deceive", of::<AttentionDeceiveRequest>),
    ("attention debate", of::<AttentionDebateRequest>),
    ("attention heads", of::<AttentionHeadsRequest>),
    ("attention norms", of::<AttentionNormsRequest>),
    ("attention words", of::<AttentionWordsRequest>),
    ("predict", of::<PredictRequest>),
    ("show", of::<ShowRequest>),
    ("explain again", of::<AgainRequest>),
    ("methods", of::<MethodsRequest>),
    ("train", of::<TrainRequest>),
    ("data make", of::<DataRequest>),
    ("bench", of::<BenchRequest>),
    ("model info", of::<ModelRequest>),
    ("model sites", of::<ModelRequest>),
    ("model check", of::<ModelRequest>),
    ("model export", of::<ExportRequest>),
    ("report", report::json_schema),
];

/// The JSON Schema (draft 2020-12) of a command's request, such as `explain` or `model info`, `explain again` for that of `--again`, or
/// of a `report`. Every field has
/// its default, which is null where it depends on the model, the method or the task; its description says on what.
pub fn json_schema(name: &str) -> Result<Value> {
    // A command that has one subcommand only is clear without it.
    let below = |(known, _): &&(&str, MakeSchema)| known.split(' ').next() == Some(name);
    let only = SCHEMAS.iter().filter(below).count() == 1;
    match SCHEMAS.iter().find(|entry| entry.0 == name || only && below(entry)) {
        Some((_, schema)) => Ok(schema()),
        None => bail!("there is no schema '{name}'; {}", advice(name)),
    }
}

fn advice(name: &str) -> String {
    match nearest(name, SCHEMAS.map(|(known, _)| known)) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("they are {}", SCHEMAS.map(|(known, _)| known).join(", ")),
    }
}

fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(plain));
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Descriptions without the line breaks of the source, and a type for every choice among words.
fn plain(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let paragraphs = text.split("\n\n").map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
        *text = paragraphs.collect::<Vec<_>>().join("\n\n");
    }
    if let Some(Value::Array(choices)) = schema.get("oneOf")
        && choices.iter().all(|choice| choice.get("const").is_some_and(Value::is_string))
    {
        schema.insert("type".to_owned(), "string".into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::DeserializeOwned;
    use serde_json::json;

    /// What is written is read back, whatever group a field is in, and a field that there is not is refused.
    fn check<T: Default + PartialEq + std::fmt::Debug + serde::Serialize + DeserializeOwned>() {
        let mut value = serde_json::to_value(T::default()).unwrap();
        assert_eq!(serde_json::from_value::<T>(value.clone()).unwrap(), T::default());
        assert_eq!(serde_json::from_value::<T>(json!({})).unwrap(), T::default());
        value["colour"] = "red".into();
        assert!(
            serde_json::from_value::<T>(value).unwrap_err().to_string().contains("unknown field `colour`")
        );
    }

    #[test]
    fn requests_are_read_back() {
        check::<ExplainRequest>();
        check::<EvalRequest>();
        check::<AttentionTestRequest>();
        check::<AttentionDeceiveRequest>();
        check::<AttentionDebateRequest>();
        check::<AttentionHeadsRequest>();
        check::<AttentionNormsRequest>();
        check::<AttentionWordsRequest>();
        check::<PredictRequest>();
        check::<ShowRequest>();
        check::<AgainRequest>();
        check::<MethodsRequest>();
        check::<TrainRequest>();
        check::<BenchRequest>();
        check::<DataRequest>();
        check::<ModelRequest>();
        check::<ExportRequest>();
        let request: ExplainRequest =
            serde_json::from_value(json!({"input": "a.tsv", "pair_column": "b", "words": "w", "batch": 3}))
                .unwrap();
        assert_eq!(request.texts.pair_column.as_deref(), Some("b"));
        assert_eq!(request.hiding.words.as_deref(), Some("w".as_ref()));
        assert_eq!(request.remote.batch.map(usize::from), Some(3));
    }
}
