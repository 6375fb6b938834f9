//! Lines of a file with their numbers: the ground under every input format, so that every error knows its line.

use super::waiting::Waiting;
use crate::ContentHash;
use crate::request::Stop;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// A text file read line by line.
pub(crate) struct Lines {
    reader: Box<dyn BufRead>,
    name: String,
    number: usize,
    bytes: u64,
    /// Of what was read of stdin, which cannot be read again.
    hash: Option<ContentHash>,
}

impl Lines {
    /// The lines of a file, and its size in bytes.
    pub(crate) fn open(path: &Path) -> Result<(Self, u64)> {
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| format!("{name}: cannot be opened"))?;
        let metadata = file.metadata().with_context(|| format!("{name}: cannot be read"))?;
        if metadata.is_dir() {
            bail!("{name}: is a folder; give a .txt, .tsv, .csv or .jsonl file");
        }
        Ok((Self::new(BufReader::new(file), name), metadata.len()))
    }

    /// The lines of stdin.
    pub(crate) fn stdin(stop: &Stop) -> Result<Self> {
        let reader = Waiting::new(io::stdin(), stop.clone()).context("stdin: cannot be read")?;
        Ok(Self { hash: Some(ContentHash::default()), ..Self::new(reader, "stdin") })
    }

    /// The lines of anything readable; `name` is what errors call it.
    pub(crate) fn new(reader: impl BufRead + 'static, name: impl Into<String>) -> Self {
        Self { reader: Box::new(reader), name: name.into(), number: 0, bytes: 0, hash: None }
    }

    /// The next line with its number, counted from 1: no line end, no byte-order mark.
    pub(crate) fn read(&mut self) -> Result<Option<(usize, String)>> {
        let mut line = Vec::new();
        let read = self.reader.read_until(b'\n', &mut line);
        let read = read.with_context(|| format!("{}: cannot be read", self.name))?;
        if read == 0 {
            return Ok(None);
        }
        self.hash.iter_mut().for_each(|hash| hash.add(&line));
        self.number += 1;
        self.bytes += read as u64;
        if self.number == 1 && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.ends_with(b"\n") {
            line.truncate(line.len() - if line.ends_with(b"\r\n") { 2 } else { 1 });
        }
        let text = String::from_utf8(line).map_err(|error| {
            let byte = error.utf8_error().valid_up_to() + 1;
            self.error(
                self.number,
                format!("invalid UTF-8 at byte {byte} of the line; convert the file to UTF-8"),
            )
        })?;
        Ok(Some((self.number, text)))
    }

    /// How many bytes have been read.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The SHA-256 of what was read, where this is stdin.
    pub(crate) fn sha256(&self) -> Option<String> {
        self.hash.clone().map(ContentHash::hex)
    }

    /// What errors call this input.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// An error at a line of this input.
    pub(crate) fn error(&self, line: usize, what: impl std::fmt::Display) -> anyhow::Error {
        anyhow::anyhow!("{}: line {line}: {what}", self.name)
    }
}
