//! Files that appear only when they are complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file under a temporary name beside its own, removed unless it is completed.
#[derive(Debug)]
pub struct Partial {
    writer: BufWriter<File>,
    path: PathBuf,
    target: PathBuf,
    complete: bool,
}

impl Partial {
    /// Starts a file.
    pub fn create(target: &Path) -> io::Result<Self> {
        let name = target.file_name();
        let name = name.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "this is no file name"))?;
        let temporary = format!(".{}.{}.partial", name.to_string_lossy(), std::process::id());
        let path = target.with_file_name(temporary);
        let writer = BufWriter::new(File::create(&path)?);
        Ok(Self { writer, path, target: target.to_owned(), complete: false })
    }

    /// The end: everything on the disk, the file under its own name.
    pub fn complete(mut self) -> io::Result<()> {
        self.writer.flush()?;
        // Without this a power cut could leave a whole name on half a file.
        self.writer.get_ref().sync_all()?;
        fs::rename(&self.path, &self.target)?;
        self.complete = true;
        Ok(())
    }
}

/// Removes what killed processes left of a file. Nobody else may be writing it.
pub fn sweep(target: &Path) {
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else { return };
    let start = format!(".{}.", name.to_string_lossy());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let found = entry.file_name().to_string_lossy().into_owned();
        if found.starts_with(&start) && found.ends_with(".partial") {
            // A leftover that stays takes up space and does no other harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Writes a whole file at once.
pub fn write(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = Partial::create(target)?;
    file.write_all(bytes)?;
    file.complete()
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.complete {
            // Nothing more can be done about a leftover that cannot be removed, and the real error is on its way.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Write for Partial {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
