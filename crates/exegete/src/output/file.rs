//! Where results go: stdout, or a file that appears only when it is complete.

use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// An open destination.
pub(crate) enum Output {
    /// The standard output.
    Stdout(BufWriter<io::Stdout>),
    /// A file, written beside its final name.
    File(Partial),
}

/// A file under a temporary name, removed unless it is completed.
pub(crate) struct Partial {
    writer: BufWriter<File>,
    path: PathBuf,
    target: PathBuf,
    complete: bool,
}

impl Output {
    /// Stdout, or the file of `-o`.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        match path {
            None => Ok(Self::Stdout(BufWriter::new(io::stdout()))),
            Some(target) => Partial::create(target).map(Self::File),
        }
    }

    /// Whether someone is reading along, so that colour makes sense.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self, Self::Stdout(_)) && io::stdout().is_terminal()
    }

    /// The end: everything written, the file under its final name.
    pub(crate) fn complete(mut self) -> Result<()> {
        self.flush()?;
        if let Self::File(partial) = &mut self {
            partial.publish()?;
        }
        Ok(())
    }
}

impl Partial {
    fn create(target: &Path) -> Result<Self> {
        let name = target.file_name().with_context(|| format!("{}: is not a file name", target.display()))?;
        let temporary = format!(".{}.{}.partial", name.to_string_lossy(), std::process::id());
        let path = target.with_file_name(temporary);
        let file = File::create(&path).with_context(|| format!("{}: cannot be written", target.display()))?;
        Ok(Self { writer: BufWriter::new(file), path, target: target.to_owned(), complete: false })
    }

    fn publish(&mut self) -> Result<()> {
        fs::rename(&self.path, &self.target)
            .with_context(|| format!("{}: cannot be written", self.target.display()))?;
        self.complete = true;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.complete {
            // Nothing more can be done about a leftover that cannot be removed, and the real error is on its way.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(writer) => writer.write(bytes),
            Self::File(partial) => partial.writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(writer) => writer.flush(),
            Self::File(partial) => partial.writer.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_only_when_complete() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out.json");
        let names = || fs::read_dir(folder.path()).unwrap().count();

        let mut abandoned = Output::open(Some(&target)).unwrap();
        abandoned.write_all(b"half").unwrap();
        assert!(!target.exists());
        drop(abandoned);
        assert_eq!(names(), 0);

        let mut whole = Output::open(Some(&target)).unwrap();
        whole.write_all(b"whole").unwrap();
        whole.complete().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"whole");
        assert_eq!(names(), 1);
    }
}
