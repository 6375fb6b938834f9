//! Results of long runs, line by line, in a file that survives the process and appears under its name when complete.

use anyhow::{Context, Result, bail};
use exegete::partial::{Place, place};
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// An unfinished file, open at its end.
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    target: PathBuf,
    /// Lines that an earlier run finished.
    pub(crate) done: usize,
}

impl Journal {
    /// Takes up the unfinished file of the same run, or begins one. Its name holds what makes two runs the same.
    pub(crate) fn open(target: &Path, identity: &impl Hash) -> Result<Self> {
        let Place::File { path: target, permissions } =
            place(target).with_context(|| format!("{}: cannot be written", target.display()))?
        else {
            bail!("{}: is no file to go on with", target.display());
        };
        let mut hasher = DefaultHasher::new();
        identity.hash(&mut hasher);
        let name = target.file_name().with_context(|| format!("{}: is no file", target.display()))?;
        let prefix = format!("{}.unfinished-", name.to_string_lossy());
        let path = target.with_file_name(format!("{prefix}{:016x}", hasher.finish()));
        refuse_others(&path, &prefix)?;
        let cannot = || format!("{}: cannot be written", path.display());
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = options.with_context(cannot)?;
        if file.try_lock().is_err() {
            bail!("{}: another run is writing it; wait for it or choose another output", path.display());
        }
        let (done, bytes) = whole_lines(&file).with_context(cannot)?;
        // A line that was cut off by a kill is done again.
        file.set_len(bytes).with_context(cannot)?;
        file.seek(SeekFrom::End(0)).with_context(cannot)?;
        permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions)).with_context(cannot)?;
        Ok(Self { file, path, target, done })
    }

    /// The same, and says so where work of an earlier run is taken up.
    pub(crate) fn take_up(target: &Path, identity: &impl Hash) -> Result<Self> {
        let journal = Self::open(target, identity)?;
        if journal.done > 0 {
            eprintln!("going on after {} finished texts", journal.done);
        }
        Ok(journal)
    }

    /// What errors call it.
    pub(crate) fn name(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    /// Adds one line; once this returns, a kill does not lose it.
    pub(crate) fn add(&mut self, line: &str) -> Result<()> {
        let cannot = || format!("{}: cannot be written", self.path.display());
        self.file.write_all(format!("{line}\n").as_bytes()).with_context(cannot)
    }

    /// Everything written so far, line by line.
    pub(crate) fn lines(&self) -> Result<Vec<String>> {
        let file =
            File::open(&self.path).with_context(|| format!("{}: cannot be read", self.path.display()))?;
        Ok(BufReader::new(file).lines().collect::<std::io::Result<_>>()?)
    }

    /// Where the run may keep what a model answered for texts that are not finished.
    pub(crate) fn answers(&self) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(".answers");
        path.into()
    }

    /// The end: the file under its final name.
    pub(crate) fn complete(self) -> Result<()> {
        self.file.sync_all().ok();
        // Answers are there for a run that must go on, and this one is done.
        fs::remove_file(self.answers()).ok();
        let cannot = || format!("{}: cannot be written", self.target.display());
        fs::rename(&self.path, &self.target).with_context(cannot)
    }

    /// The end of a run whose lines were only a means.
    pub(crate) fn remove(self) -> Result<()> {
        fs::remove_file(self.answers()).ok();
        fs::remove_file(&self.path).with_context(|| format!("{}: cannot be removed", self.path.display()))
    }
}

/// Another run's unfinished file is work that somebody may still want.
fn refuse_others(path: &Path, prefix: &str) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries.flatten() {
        let other = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let own = path.file_name().is_some_and(|own| name.starts_with(&*own.to_string_lossy()));
        if name.starts_with(prefix) && !own {
            bail!(
                "{}: an unfinished run with other settings, input or model; finish it, remove it or choose another output",
                other.display()
            );
        }
    }
    Ok(())
}

/// How many lines end in a line break, and their bytes.
fn whole_lines(file: &File) -> std::io::Result<(usize, u64)> {
    let (mut reader, mut line) = (BufReader::new(file), Vec::new());
    let (mut lines, mut bytes) = (0, 0);
    while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
        (lines, bytes) = (lines + 1, bytes + line.len() as u64);
        line.clear();
    }
    Ok((lines, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_run_goes_on_and_another_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out.jsonl");
        let mut journal = Journal::open(&target, &"a").unwrap();
        journal.add("one").unwrap();
        journal.add("two").unwrap();
        journal.file.write_all(b"thr").unwrap();
        assert!(Journal::open(&target, &"a").is_err(), "two runs at once");
        drop(journal);
        assert!(Journal::open(&target, &"b").is_err(), "another run");
        let mut journal = Journal::open(&target, &"a").unwrap();
        assert_eq!(journal.done, 2);
        journal.add("three").unwrap();
        assert_eq!(journal.lines().unwrap(), ["one", "two", "three"]);
        assert!(!target.exists());
        journal.complete().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "one\ntwo\nthree\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
