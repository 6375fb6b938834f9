//! The JSON Schema of reports, from the types that read and write them.

use super::Report;
use schemars::{Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::Value;

/// The JSON Schema (draft 2020-12) of every report that this version opens; `docs/report.schema.json` is a copy. A field
/// that older reports lack is not required, and fields that are not listed are allowed.
pub fn json_schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(without_links));
    settings.into_generator().into_root_schema_for::<Report>().to_value()
}

/// The links of doc comments lead nowhere from a schema: of ``[`Map`]`` stays `` `Map` ``.
fn without_links(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace("[`", "`").replace("`]", "`").replace("\\[", "[").replace("\\]", "]");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_document_is_what_the_types_say() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/report.schema.json");
        let actual = format!("{:#}\n", json_schema());
        if std::env::var_os("EXEGETE_UPDATE_SNAPSHOTS").is_some() {
            fs::write(path, &actual).unwrap();
        }
        let stored = fs::read_to_string(path).unwrap_or_default();
        assert!(
            stored == actual,
            "docs/report.schema.json is stale; EXEGETE_UPDATE_SNAPSHOTS=1 writes it anew"
        );
    }
}
