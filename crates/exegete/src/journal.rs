//! Results of long runs, text by text, in a file that survives the process and becomes the output when it is complete.
//!
//! The first line of `NAME.unfinished` is a JSON object that says what makes two runs the same, part by part. Each further line
//! is the SHA-256 of a finished text, a space, and the text's result as JSON: so texts that come from a pipe are
//! recognised too. Whatever format the output has is made from these lines at the end.

use anyhow::{Context, Result, bail, ensure};
use exegete::partial::{FilePlace, Partial, place, sweep};
use exegete::request::{RunIdentity, differences};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const SCHEMA: &str = "exegete.unfinished/1";
/// Hexadecimal digits of a SHA-256.
const HASH_DIGITS: usize = 64;

#[derive(Serialize, Deserialize)]
struct Header {
    schema: String,
    run: RunIdentity,
}

/// An unfinished file, open at its end.
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    target: PathBuf,
    /// The hashes of the texts that are finished, in order.
    pub(crate) finished: Vec<String>,
}

impl Journal {
    /// Takes up the unfinished file of the same run, or begins one. Another run's file is work that somebody may still want.
    pub(crate) fn open(target: &Path, run: &RunIdentity) -> Result<Self> {
        let Beside { path, target, permissions } = beside(target)?;
        let cannot = || format!("{}: cannot be written", path.display());
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = options.with_context(cannot)?;
        if file.try_lock().is_err() {
            bail!("{}: another run is writing it; wait for it or choose another output", path.display());
        }
        let (finished, bytes) = read(&file, run).with_context(|| path.display().to_string())?;
        // A line that was cut off by a kill is done again.
        file.set_len(bytes).with_context(cannot)?;
        file.seek(SeekFrom::End(0)).with_context(cannot)?;
        permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions)).with_context(cannot)?;
        if bytes == 0 {
            let header = Header { schema: SCHEMA.to_owned(), run: run.clone() };
            file.write_all(format!("{}\n", serde_json::to_string(&header)?).as_bytes())
                .with_context(cannot)?;
        }
        Ok(Self { file, path, target, finished })
    }

    /// What errors call it.
    pub(crate) fn name(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    /// Adds the results of texts, each with the text's hash; once this returns, a kill does not lose them.
    pub(crate) fn add(&mut self, results: &[(String, String)]) -> Result<()> {
        let cannot = || format!("{}: cannot be written", self.path.display());
        let lines: String = results.iter().map(|(text, result)| format!("{text} {result}\n")).collect();
        self.file.write_all(lines.as_bytes()).with_context(cannot)?;
        self.finished.extend(results.iter().map(|(text, _)| text.clone()));
        Ok(())
    }

    /// The result of every finished text, in order.
    pub(crate) fn results(&self) -> Result<impl Iterator<Item = Result<String>> + use<>> {
        let cannot = || format!("{}: cannot be read", self.path.display());
        let file = File::open(&self.path).with_context(cannot)?;
        let lines = BufReader::new(file).lines().skip(1);
        Ok(lines.map(|line| Ok(line?.split_off(HASH_DIGITS + 1))))
    }

    /// Where the run may keep what a model answered for texts that are not finished.
    pub(crate) fn answers(&self) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(".answers");
        path.into()
    }

    /// Where the run may keep models that it trains.
    pub(crate) fn models(&self) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(".models");
        path.into()
    }

    /// The end: the output, written from the results and under its own name once it is whole.
    pub(crate) fn complete(self, write: impl FnOnce(&Self, &mut Partial) -> Result<()>) -> Result<()> {
        let cannot = || format!("{}: cannot be written", self.target.display());
        // Nobody else writes this file while this run holds its lock.
        sweep(&self.target);
        let mut output = Partial::create(&self.target).with_context(cannot)?;
        write(&self, &mut output)?;
        output.complete().with_context(cannot)?;
        self.remove()
    }

    /// The end of a run whose lines are of no use any more.
    pub(crate) fn remove(self) -> Result<()> {
        fs::remove_file(self.answers()).ok();
        fs::remove_dir_all(self.models()).ok();
        fs::remove_file(&self.path).with_context(|| format!("{}: cannot be removed", self.path.display()))
    }

    /// The end of a run that did not come to its end: a file without any finished text would only be in the way.
    pub(crate) fn leave(self) -> Result<()> {
        let kept = self.answers().exists() || self.models().exists();
        if self.finished.is_empty() && !kept { self.remove() } else { Ok(()) }
    }
}

/// A file that belongs to an output which is not there yet.
pub(crate) struct Beside {
    /// Its own path, which is that of the output with `.unfinished` behind it.
    pub(crate) path: PathBuf,
    target: PathBuf,
    permissions: Option<Permissions>,
}

/// Where the work for an output is kept while it is unfinished: beside the file itself, wherever links lead.
pub(crate) fn beside(target: &Path) -> Result<Beside> {
    let FilePlace::File { path: target, permissions } =
        place(target).with_context(|| format!("{}: cannot be written", target.display()))?
    else {
        bail!("{}: is no file to go on with", target.display());
    };
    let name = target.file_name().with_context(|| format!("{}: is no file", target.display()))?;
    let path = target.with_file_name(format!("{}.unfinished", name.to_string_lossy()));
    Ok(Beside { path, target, permissions })
}

/// The hashes of the texts that a file of this very run finished, and the bytes of its whole lines.
fn read(file: &File, run: &RunIdentity) -> Result<(Vec<String>, u64)> {
    let (mut reader, mut line) = (BufReader::new(file), Vec::new());
    let (mut finished, mut bytes) = (Vec::new(), 0);
    while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
        if bytes == 0 {
            compare(&line, run)?;
        } else {
            let hash = line.get(..HASH_DIGITS).filter(|_| line.get(HASH_DIGITS) == Some(&b' '));
            let hash = hash.and_then(|hash| std::str::from_utf8(hash).ok());
            finished.push(hash.context("is damaged; remove it to begin anew")?.to_owned());
        }
        bytes += line.len() as u64;
        line.clear();
    }
    // Half a first line is left by a kill only where it is the start of one.
    let begun = serde_json::to_string(&Header { schema: SCHEMA.to_owned(), run: RunIdentity::new() })?;
    let begun =
        bytes > 0 || line.is_empty() || begun.as_bytes().iter().zip(&line).take(20).all(|(a, b)| a == b);
    ensure!(begun, NOT_OURS);
    Ok((finished, bytes))
}

const NOT_OURS: &str = "is no unfinished run; remove it or choose another output";

/// An error that says what differs where the first line of a file is another run's.
fn compare(line: &[u8], run: &RunIdentity) -> Result<()> {
    let found: Header = serde_json::from_slice(line).ok().context(NOT_OURS)?;
    ensure!(found.schema == SCHEMA, NOT_OURS);
    let told = differences(&found.run, run);
    ensure!(
        told.is_empty(),
        "an unfinished run that differs in: {}; finish it, remove it or choose another output",
        told.join(", ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete::sha256_hex;

    fn run(parts: &[(&str, &str)]) -> RunIdentity {
        parts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn result(text: &str) -> (String, String) {
        (sha256_hex(text.as_bytes()), format!("{{\"text\":\"{text}\"}}"))
    }

    #[test]
    fn a_killed_run_goes_on_and_another_is_told_what_differs() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out.jsonl");
        let own = run(&[("seed", "0"), ("input", &sha256_hex(b"a"))]);
        let mut journal = Journal::open(&target, &own).unwrap();
        journal.add(&[result("one"), result("two")]).unwrap();
        journal.file.write_all(b"thr").unwrap();
        assert!(Journal::open(&target, &own).is_err(), "two runs at once");
        drop(journal);
        let other = run(&[("seed", "7"), ("input", &sha256_hex(b"b"))]);
        let told = format!("{:#}", Journal::open(&target, &other).err().unwrap());
        assert!(
            told.contains(
                "out.jsonl.unfinished: an unfinished run that differs in: input, seed (then 0, now 7);"
            ),
            "{told}"
        );
        let mut journal = Journal::open(&target, &own).unwrap();
        assert_eq!(journal.finished, [sha256_hex(b"one"), sha256_hex(b"two")]);
        journal.add(&[result("three")]).unwrap();
        assert!(!target.exists());
        let write = |journal: &Journal, output: &mut Partial| {
            journal.results()?.try_for_each(|line| Ok(writeln!(output, "{}", line?)?))
        };
        journal.complete(write).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap().matches("\"text\":").count(), 3);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn half_a_header_is_begun_anew_and_somebody_elses_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (target, path) = (folder.path().join("out"), folder.path().join("out.unfinished"));
        drop(Journal::open(&target, &run(&[("seed", "0")])).unwrap());
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(Journal::open(&target, &run(&[("seed", "0")])).unwrap().finished.len(), 0);
            assert_eq!(fs::read(&path).unwrap(), whole);
        }
        for foreign in ["a diary", "a diary\nof two lines\n", "{\"schema\":\"another/1\",\"run\":{}}\n"] {
            fs::write(&path, foreign).unwrap();
            assert!(Journal::open(&target, &RunIdentity::new()).is_err(), "{foreign}");
            assert_eq!(fs::read_to_string(&path).unwrap(), foreign);
        }
        fs::remove_file(&path).unwrap();
        Journal::open(&target, &RunIdentity::new()).unwrap().leave().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
