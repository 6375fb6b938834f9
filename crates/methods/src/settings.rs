use exegete_core::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::str::FromStr;

/// What the user set with `key=value`. A method takes what it knows; what is left over is an error, before any work.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    given: BTreeMap<String, String>,
    known: BTreeSet<String>,
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

    /// Takes a value that may be absent.
    pub fn optional<T: FromStr>(&mut self, key: &str) -> Result<Option<T>>
    where
        T::Err: Display,
    {
        self.known.insert(key.to_owned());
        let Some(text) = self.given.remove(key) else { return Ok(None) };
        let wrong = |e: T::Err| Error::Request(format!("{key}={text}: {e}"));
        text.parse().map(Some).map_err(wrong)
    }

    /// Takes a value, or the default.
    pub fn take<T: FromStr>(&mut self, key: &str, default: T) -> Result<T>
    where
        T::Err: Display,
    {
        Ok(self.optional(key)?.unwrap_or(default))
    }

    /// Takes a count of at least one that may be absent.
    pub fn count(&mut self, key: &str) -> Result<Option<usize>> {
        match self.optional(key)? {
            Some(0) => Err(Error::Request(format!("{key}=0: must be at least 1"))),
            count => Ok(count),
        }
    }

    /// Takes a number above zero, or the default.
    pub fn positive(&mut self, key: &str, default: f64) -> Result<f64> {
        let value = self.take(key, default)?;
        if value > 0.0 && value.is_finite() {
            return Ok(value);
        }
        Err(Error::Request(format!("{key}={value}: must be a number above 0")))
    }

    /// Takes one of several words, or the first.
    pub fn choice<T: Copy>(&mut self, key: &str, choices: &[(&str, T)]) -> Result<T> {
        let given: Option<String> = self.optional(key)?;
        let Some(given) = given else { return Ok(choices[0].1) };
        let found = choices.iter().find(|(name, _)| *name == given);
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            Error::Request(format!("{key}={given}: one of {}", names.join(", ")))
        })
    }

    /// Whether a key was given and not taken yet.
    pub fn has(&self, key: &str) -> bool {
        self.given.contains_key(key)
    }

    /// The keys that nobody took.
    pub fn keys(&self) -> Vec<String> {
        self.given.keys().cloned().collect()
    }

    /// Refuses what nobody took.
    pub fn finish(self, method: &str) -> Result<()> {
        let Some((key, value)) = self.given.first_key_value() else { return Ok(()) };
        let known: Vec<String> = self.known.into_iter().collect();
        Err(Error::Request(format!(
            "{method} knows no '{key}' ({key}={value}); it knows {}",
            known.join(", ")
        )))
    }
}
