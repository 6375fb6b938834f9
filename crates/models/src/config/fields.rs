//! Typed access to the fields of a JSON object, with errors that name the field.
//!
//! A derived struct would refuse a file that spells one thing in two ways, which real ones do, and could not say which
//! value is absurd.

use super::MAX_SIZE;
use crate::fault::fault;
use exegete_core::{Error, Result};
use serde_json::{Map, Value};

pub(crate) struct Fields {
    place: String,
    map: Map<String, Value>,
}

impl Fields {
    pub(crate) fn parse(place: &str, text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text)
            .map_err(|e| fault(place, format!("is no valid JSON ({e}); download it again")))?;
        match value {
            Value::Object(map) => Ok(Self { place: place.to_owned(), map }),
            _ => Err(fault(place, "is JSON but not an object; is it a Hugging Face file?")),
        }
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Null counts as absent, as it does in transformers.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<String>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(self.wrong(key, "a text", other)),
        }
    }

    /// The first text of a list.
    pub(crate) fn first_text(&self, key: &str) -> Result<Option<String>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Array(list)) => match list.first() {
                None => Ok(None),
                Some(Value::String(text)) => Ok(Some(text.clone())),
                Some(other) => Err(self.wrong(key, "a list of texts", other)),
            },
            Some(other) => Err(self.wrong(key, "a list of texts", other)),
        }
    }

    pub(crate) fn flag_or(&self, key: &str, default: bool) -> Result<bool> {
        match self.get(key) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(self.wrong(key, "true or false", other)),
        }
    }

    pub(crate) fn number_or(&self, key: &str, default: f64) -> Result<f64> {
        match self.get(key) {
            None => Ok(default),
            Some(value) => value.as_f64().ok_or_else(|| self.wrong(key, "a number", value)),
        }
    }

    /// A whole number from 0 to the limit on sizes.
    pub(crate) fn whole_or(&self, key: &str, default: usize) -> Result<usize> {
        self.get(key).map_or(Ok(default), |value| self.as_whole(key, value))
    }

    /// A size under the first of these keys that is there.
    pub(crate) fn size(&self, keys: &[&str]) -> Result<usize> {
        let found = keys.iter().find_map(|key| self.get(key).map(|value| (*key, value)));
        let Some((key, value)) = found else {
            return Err(fault(
                &self.place,
                format!("'{}' is missing; is this the model's own config?", keys[0]),
            ));
        };
        match self.as_whole(key, value)? {
            0 => Err(self.wrong(key, "at least 1", value)),
            size => Ok(size),
        }
    }

    pub(crate) fn size_or(&self, keys: &[&str], default: usize) -> Result<usize> {
        if keys.iter().any(|key| self.get(key).is_some()) { self.size(keys) } else { Ok(default) }
    }

    /// Whether a field holds anything but null and emptiness.
    pub(crate) fn is_filled(&self, key: &str) -> bool {
        match self.get(key) {
            None => false,
            Some(Value::Object(map)) => !map.is_empty(),
            Some(Value::Array(list)) => !list.is_empty(),
            Some(_) => true,
        }
    }

    pub(crate) fn wrong(&self, key: &str, expected: &str, found: &Value) -> Error {
        let mut found = found.to_string();
        if let Some((cut, _)) = found.char_indices().nth(60) {
            found.truncate(cut);
            found.push('…');
        }
        fault(&self.place, format!("'{key}' is {found}, expected {expected}"))
    }

    fn as_whole(&self, key: &str, value: &Value) -> Result<usize> {
        let whole = value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|&n| n <= MAX_SIZE);
        whole.ok_or_else(|| self.wrong(key, &format!("a whole number up to {MAX_SIZE}"), value))
    }
}
