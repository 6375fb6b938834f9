use crate::Info;
use crate::nearest;
use crate::parameter::Parameter;
use exegete_core::{Error, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::str::FromStr;

/// What the user set with `key=value`, as it was written.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    given: BTreeMap<String, String>,
}

impl Settings {
    /// From `key=value` words; a later word wins.
    pub fn parse<S: AsRef<str>>(words: &[S]) -> Result<Self> {
        let mut settings = Self::default();
        for word in words {
            let word = word.as_ref();
            let pair = word.split_once('=').filter(|(key, _)| !key.is_empty());
            let (key, value) = pair.ok_or_else(|| {
                Error::Request(format!("'{word}' sets nothing; write key=value, such as steps=50"))
            })?;
            settings.given.insert(key.trim().to_owned(), value.trim().to_owned());
        }
        Ok(settings)
    }

    /// The words that set one of these parameters.
    pub(crate) fn words_of(&self, known: &[&Parameter]) -> Vec<String> {
        let knows = |key: &str| known.iter().any(|parameter| parameter.name == key);
        let own = self.given.iter().filter(|(key, _)| knows(key));
        own.map(|(key, value)| format!("{key}={value}")).collect()
    }
}

/// Settings checked against the parameters of one method, or of one set of data. It reads its values by name; what was given
/// and nobody read is an error, before any work.
#[derive(Debug, Clone)]
pub struct Arguments {
    method: &'static str,
    known: Vec<&'static Parameter>,
    /// Values that were given, of the type and in the range that the parameter says.
    given: BTreeMap<&'static str, Value>,
    /// What was given under names that the method lacks.
    unknown: BTreeMap<String, String>,
    read: BTreeSet<&'static str>,
}

impl Arguments {
    /// Refuses values of a wrong type or out of range; names that the method lacks wait for [`Self::finish`].
    pub fn new(info: &'static Info, settings: Settings) -> Result<Self> {
        Self::of(info.name, info.all_parameters(), settings)
    }

    /// The same for whatever has a name and parameters.
    pub fn of(name: &'static str, known: Vec<&'static Parameter>, settings: Settings) -> Result<Self> {
        let (mut given, mut unknown) = (BTreeMap::new(), BTreeMap::new());
        for (key, word) in settings.given {
            match known.iter().find(|parameter| parameter.name == key) {
                Some(parameter) => drop(given.insert(parameter.name, parameter.read(&word)?)),
                None => drop(unknown.insert(key, word)),
            }
        }
        Ok(Self { method: name, known, given, unknown, read: BTreeSet::new() })
    }

    /// The value that was given, or the default; null where the parameter is open.
    fn value(&mut self, key: &str) -> Result<Value> {
        let Some(parameter) = self.known.iter().find(|parameter| parameter.name == key) else {
            let method = self.method;
            return Err(Error::Request(format!("a defect: {method} reads '{key}', which it does not list")));
        };
        self.read.insert(parameter.name);
        Ok(self.given.get(key).cloned().unwrap_or_else(|| parameter.default()))
    }

    /// A count where there is one.
    pub fn optional_count(&mut self, key: &str) -> Result<Option<usize>> {
        Ok(self.value(key)?.as_u64().and_then(|count| usize::try_from(count).ok()))
    }

    /// A count that has a default.
    pub fn count(&mut self, key: &str) -> Result<usize> {
        self.optional_count(key)?.ok_or_else(|| self.no_default(key, "count"))
    }

    /// A number where there is one.
    pub fn optional_number(&mut self, key: &str) -> Result<Option<f64>> {
        Ok(self.value(key)?.as_f64())
    }

    /// A number that has a default.
    pub fn number(&mut self, key: &str) -> Result<f64> {
        self.optional_number(key)?.ok_or_else(|| self.no_default(key, "number"))
    }

    /// What a word of a choice stands for, where there is one.
    pub fn optional_choice<T: Copy>(&mut self, key: &str, choices: &[(&str, T)]) -> Result<Option<T>> {
        let value = self.value(key)?;
        Ok(choices.iter().find(|(name, _)| value == *name).map(|(_, choice)| *choice))
    }

    /// What the word of a choice with a default stands for.
    pub fn choice<T: Copy>(&mut self, key: &str, choices: &[(&str, T)]) -> Result<T> {
        self.optional_choice(key, choices)?.ok_or_else(|| self.no_default(key, "choice"))
    }

    /// A text, read as whatever it stands for, where there is one.
    pub fn text<T: FromStr>(&mut self, key: &str) -> Result<Option<T>>
    where
        T::Err: Display,
    {
        let value = self.value(key)?;
        let Some(text) = value.as_str() else { return Ok(None) };
        text.parse().map(Some).map_err(|e| Error::Request(format!("{key}={text}: {e}")))
    }

    /// Whether the user gave it.
    pub fn is_given(&self, key: &str) -> bool {
        self.given.contains_key(key)
    }

    fn no_default(&self, key: &str, what: &str) -> Error {
        Error::Request(format!("a defect: {} lists '{key}' without a default {what}", self.method))
    }

    /// The names that the user gave and nobody read.
    pub fn left(&self) -> Vec<String> {
        let unread = self.given.keys().filter(|key| !self.read.contains(*key));
        self.unknown.keys().cloned().chain(unread.map(|key| (*key).to_owned())).collect()
    }

    /// Refuses what nobody read.
    pub fn finish(self) -> Result<()> {
        let method = self.method;
        if let Some((key, value)) = self.unknown.first_key_value() {
            let mut known: Vec<&str> = self.known.iter().map(|parameter| parameter.name).collect();
            known.sort_unstable();
            let meant = nearest(key, known.iter().copied());
            let meant = meant.map_or_else(String::new, |near| format!("; did you mean {near}={value}?"));
            let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
            return Err(Error::Request(format!(
                "{method} knows no '{key}' ({key}={value}); it knows {known}{meant}"
            )));
        }
        let Some(key) = self.given.keys().find(|key| !self.read.contains(*key)) else { return Ok(()) };
        let help = self.known.iter().find(|parameter| parameter.name == *key).map_or("", |known| known.help);
        Err(Error::Request(format!("{method} does not use {key} as the rest is set; {key}: {help}")))
    }
}
