//! Where results go: stdout, or a file that appears only when it is complete.

use anyhow::{Context, Result};
use exegete::partial::Partial;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// A place that output goes to, open for writing.
pub(crate) enum Output {
    /// The standard output of the program.
    Stdout(BufWriter<io::Stdout>),
    /// A file, written beside its final name, which is the second.
    File(Partial, PathBuf),
}

impl Output {
    /// Stdout, or the file of `-o`.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        match path {
            None => Ok(Self::Stdout(BufWriter::new(io::stdout()))),
            Some(target) => {
                let cannot = || format!("{}: cannot be written", target.display());
                Ok(Self::File(Partial::create(target).with_context(cannot)?, target.to_owned()))
            }
        }
    }

    /// Whether someone is reading along, so that colour makes sense.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self, Self::Stdout(_)) && io::stdout().is_terminal()
    }

    /// The end: everything written, the file under its final name.
    pub(crate) fn complete(mut self) -> Result<()> {
        self.flush()?;
        match self {
            Self::Stdout(_) => Ok(()),
            Self::File(partial, target) => {
                partial.complete().with_context(|| format!("{}: cannot be written", target.display()))
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(writer) => writer.write(bytes),
            Self::File(partial, _) => partial.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(writer) => writer.flush(),
            Self::File(partial, _) => partial.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
