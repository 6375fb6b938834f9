//! Whether a JSON value fits a JSON Schema: the part of draft 2020-12 that `schemars` writes.

use serde_json::{Map, Value};

/// Keywords that demand nothing of a value.
const ANNOTATIONS: [&str; 6] = ["$defs", "$schema", "default", "description", "format", "title"];

/// What does not fit, each with its place; empty where all fits. A keyword that is not understood here is a misfit too,
/// wherever in the schema it stands, so that nothing is skipped.
pub fn misfits(schema: &Value, value: &Value) -> Vec<String> {
    let unknown = unknown(schema, "#");
    if unknown.is_empty() { Fit { root: schema }.schema(schema, value, "") } else { unknown }
}

/// Keywords, or arguments of them, that are not understood.
fn unknown(schema: &Value, place: &str) -> Vec<String> {
    let fields = match schema {
        Value::Bool(_) => return Vec::new(),
        Value::Object(fields) => fields,
        _ => return vec![format!("{place}: a schema is an object or a boolean, not {schema}")],
    };
    let one = |(keyword, argument): (&String, &Value)| {
        let place = format!("{place}/{keyword}");
        match (keyword.as_str(), argument) {
            ("$defs" | "properties", Value::Object(named)) => {
                named.iter().flat_map(|(name, schema)| unknown(schema, &format!("{place}/{name}"))).collect()
            }
            ("oneOf" | "anyOf" | "allOf" | "prefixItems", Value::Array(list)) => list
                .iter()
                .enumerate()
                .flat_map(|(i, schema)| unknown(schema, &format!("{place}/{i}")))
                .collect(),
            ("items" | "additionalProperties", schema) => unknown(schema, &place),
            ("$ref" | "format" | "$schema" | "title" | "description", Value::String(_))
            | ("required" | "enum", Value::Array(_))
            | ("type", Value::String(_) | Value::Array(_))
            | ("minimum" | "maximum", Value::Number(_))
            | ("const" | "default", _) => Vec::new(),
            ("minItems" | "maxItems", count) if count.is_u64() => Vec::new(),
            _ => vec![format!("{place}: this keyword with {argument} is not understood")],
        }
    };
    fields.iter().flat_map(one).collect()
}

/// A schema whose keywords are all known, against which values are held.
struct Fit<'a> {
    root: &'a Value,
}

impl Fit<'_> {
    fn schema(&self, schema: &Value, value: &Value, place: &str) -> Vec<String> {
        match schema {
            Value::Object(schema) => {
                let keywords = schema.keys().filter(|keyword| !ANNOTATIONS.contains(&keyword.as_str()));
                keywords.flat_map(|keyword| self.keyword(keyword, schema, value, place)).collect()
            }
            Value::Bool(false) => vec![misfit(place, "nothing may stand here")],
            _ => Vec::new(),
        }
    }

    fn keyword(&self, keyword: &str, schema: &Map<String, Value>, value: &Value, place: &str) -> Vec<String> {
        let argument = &schema[keyword];
        let fails = |fails: bool, what: String| if fails { vec![misfit(place, &what)] } else { Vec::new() };
        match keyword {
            "$ref" => self.reference(argument, value, place),
            "type" => fails(!is_of(argument, value), format!("is {}, not {argument}", shown(value))),
            "const" => fails(value != argument, format!("is {}, not {argument}", shown(value))),
            "enum" => {
                let known = list(argument).contains(value);
                fails(!known, format!("is {}, none of {argument}", shown(value)))
            }
            "minimum" => fails(below(number(value), argument), format!("is {value}, below {argument}")),
            "maximum" => fails(above(number(value), argument), format!("is {value}, above {argument}")),
            "minItems" => fails(below(count(value), argument), format!("has fewer than {argument} entries")),
            "maxItems" => fails(above(count(value), argument), format!("has more than {argument} entries")),
            "required" => required(argument, value, place),
            "properties" | "additionalProperties" => self.fields(keyword, schema, value, place),
            "prefixItems" | "items" => self.entries(keyword, schema, value, place),
            _ => self.several(keyword, list(argument), value, place),
        }
    }

    fn reference(&self, reference: &Value, value: &Value, place: &str) -> Vec<String> {
        let pointer = reference.as_str().and_then(|reference| reference.strip_prefix('#'));
        match pointer.and_then(|pointer| self.root.pointer(pointer)) {
            Some(schema) => self.schema(schema, value, place),
            None => vec![misfit(place, &format!("must fit {reference}, which the schema does not hold"))],
        }
    }

    /// Named fields by their own schema, all others by that of `additionalProperties`.
    fn fields(&self, keyword: &str, schema: &Map<String, Value>, value: &Value, place: &str) -> Vec<String> {
        let named = schema.get("properties").and_then(Value::as_object);
        let rule = |name: &String| match (named.and_then(|named| named.get(name)), keyword) {
            (Some(schema), "properties") => Some(schema),
            (None, "additionalProperties") => schema.get("additionalProperties"),
            _ => None,
        };
        let field = |(name, value): (&String, &Value)| {
            rule(name).map_or(Vec::new(), |rule| self.schema(rule, value, &joined(place, name)))
        };
        value.as_object().into_iter().flatten().flat_map(field).collect()
    }

    /// The first entries one by one, those behind them by `items`.
    fn entries(&self, keyword: &str, schema: &Map<String, Value>, value: &Value, place: &str) -> Vec<String> {
        let first = schema.get("prefixItems").map_or(&[][..], list);
        let rule = |index: usize| match keyword {
            "prefixItems" => first.get(index),
            _ => schema.get("items").filter(|_| index >= first.len()),
        };
        let entry = |(index, value): (usize, &Value)| {
            rule(index).map_or(Vec::new(), |rule| self.schema(rule, value, &format!("{place}[{index}]")))
        };
        list(value).iter().enumerate().flat_map(entry).collect()
    }

    /// All, at least one, or exactly one. Where none fits, what is wrong is said of the one that comes nearest.
    fn several(&self, keyword: &str, schemas: &[Value], value: &Value, place: &str) -> Vec<String> {
        let mut found: Vec<Vec<String>> =
            schemas.iter().map(|schema| self.schema(schema, value, place)).collect();
        let fitting = found.iter().filter(|misfits| misfits.is_empty()).count();
        match (keyword, fitting) {
            ("allOf", _) => found.concat(),
            (_, 0) => {
                found.sort_by_key(Vec::len);
                let nearest = found.first().map_or("nothing".into(), |misfits| misfits.join("; "));
                vec![misfit(place, &format!("fits no kind of {keyword}; of the nearest: {nearest}"))]
            }
            ("oneOf", 2..) => vec![misfit(place, &format!("fits {fitting} kinds of oneOf, not one"))],
            _ => Vec::new(),
        }
    }
}

fn required(names: &Value, value: &Value, place: &str) -> Vec<String> {
    let Some(fields) = value.as_object() else { return Vec::new() };
    let names = list(names).iter().filter_map(Value::as_str);
    let missing = names.filter(|name| !fields.contains_key(*name));
    missing.map(|name| misfit(&joined(place, name), "is missing")).collect()
}

/// Whether a value is of a type, or of one of several.
fn is_of(types: &Value, value: &Value) -> bool {
    let types = if types.is_array() { list(types) } else { std::slice::from_ref(types) };
    types.iter().any(|kind| match kind.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => number(value).is_some_and(|number| number.fract() == 0.0),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    })
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

/// How many entries a list has.
fn count(value: &Value) -> Option<f64> {
    value.as_array().map(|list| list.len() as f64)
}

fn below(found: Option<f64>, bound: &Value) -> bool {
    found.zip(number(bound)).is_some_and(|(found, bound)| found < bound)
}

fn above(found: Option<f64>, bound: &Value) -> bool {
    found.zip(number(bound)).is_some_and(|(found, bound)| found > bound)
}

fn joined(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

fn misfit(place: &str, what: &str) -> String {
    let place = if place.is_empty() { "the whole" } else { place };
    format!("{place}: {what}")
}

/// A value, in short.
fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".into(),
        Value::Array(_) => "a list".into(),
        other => other.to_string().chars().take(60).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A value that fits a schema, and one that does not, with what is said of it.
    fn check(schema: Value, good: Value, bad: Value, said: &str) {
        assert_eq!(misfits(&schema, &good), [""; 0], "{schema}");
        assert_eq!(misfits(&schema, &bad), [said], "{schema}");
    }

    #[test]
    fn every_keyword_can_fail() {
        check(json!({"type": "string"}), json!("a"), json!(1), "the whole: is 1, not \"string\"");
        check(
            json!({"type": ["integer", "null"]}),
            json!(null),
            json!(1.5),
            "the whole: is 1.5, not [\"integer\",\"null\"]",
        );
        check(json!({"const": "a"}), json!("a"), json!("b"), "the whole: is \"b\", not \"a\"");
        check(json!({"enum": ["a", 1]}), json!(1), json!(2), "the whole: is 2, none of [\"a\",1]");
        check(json!({"minimum": 0}), json!(0), json!(-1), "the whole: is -1, below 0");
        check(json!({"maximum": 1}), json!(1), json!(1.5), "the whole: is 1.5, above 1");
        check(json!({"minItems": 1}), json!([1]), json!([]), "the whole: has fewer than 1 entries");
        check(json!({"maxItems": 1}), json!([1]), json!([1, 2]), "the whole: has more than 1 entries");
        check(json!({"required": ["a"]}), json!({"a": null}), json!({"b": 1}), "a: is missing");
        check(json!({"items": {"type": "null"}}), json!([null]), json!([null, 1]), "[1]: is 1, not \"null\"");
        let pair = json!({"prefixItems": [{"type": "null"}], "items": {"type": "string"}});
        check(pair.clone(), json!([null, "a"]), json!(["a", "a"]), "[0]: is \"a\", not \"null\"");
        check(pair, json!([null]), json!([null, null]), "[1]: is null, not \"string\"");
        let fields = json!({"properties": {"a": {"items": {"minimum": 0}}}, "additionalProperties": false});
        check(fields.clone(), json!({"a": [1]}), json!({"a": [0, -1]}), "a[1]: is -1, below 0");
        check(fields, json!({}), json!({"b": 1}), "b: nothing may stand here");
        let other = json!({"additionalProperties": {"type": "null"}});
        check(other, json!({"a": null}), json!({"a": "b"}), "a: is \"b\", not \"null\"");
    }

    #[test]
    fn schemas_are_combined() {
        let two = json!([{"required": ["a"], "type": "object"}, {"required": ["b", "c"], "type": "object"}]);
        let nearest =
            |keyword: &str| format!("the whole: fits no kind of {keyword}; of the nearest: a: is missing");
        check(json!({"anyOf": two}), json!({"a": 1, "b": 1, "c": 1}), json!({}), &nearest("anyOf"));
        check(json!({"oneOf": two}), json!({"a": 1}), json!({"b": 1}), &nearest("oneOf"));
        let both = "the whole: fits 2 kinds of oneOf, not one";
        check(json!({"oneOf": two}), json!({"a": 1}), json!({"a": 1, "b": 1, "c": 1}), both);
        check(
            json!({"allOf": two}),
            json!({"a": 1, "b": 1, "c": 1}),
            json!({"b": 1, "c": 1}),
            "a: is missing",
        );
        let list = json!({"$ref": "#/$defs/list", "$defs": {"list": {"items": {"$ref": "#/$defs/list"}, "type": "array"}}});
        check(list, json!([[], [[]]]), json!([[], [1]]), "[1][0]: is 1, not \"array\"");
        let lost = "the whole: must fit \"#/$defs/b\", which the schema does not hold";
        assert_eq!(misfits(&json!({"$ref": "#/$defs/b"}), &json!(1)), [lost]);
    }

    /// Wherever it stands, and whether or not the value comes there.
    #[test]
    fn what_is_not_understood_is_a_misfit() {
        for (schema, place) in [
            (json!({"pattern": "a"}), "#/pattern"),
            (json!({"minimum": "a"}), "#/minimum"),
            (json!({"items": {"uniqueItems": true}}), "#/items/uniqueItems"),
            (json!({"$defs": {"a": {"not": {}}}}), "#/$defs/a/not"),
            (json!({"properties": {"a": {"anyOf": [true, {"if": true}]}}}), "#/properties/a/anyOf/1/if"),
        ] {
            let found = misfits(&schema, &json!(null));
            assert!(found.len() == 1 && found[0].starts_with(&format!("{place}: ")), "{found:?}");
        }
        for keyword in ANNOTATIONS.iter().filter(|keyword| **keyword != "$defs") {
            assert_eq!(misfits(&json!({*keyword: "a"}), &json!(null)), [""; 0], "{keyword}");
        }
    }
}
