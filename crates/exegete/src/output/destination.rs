//! Where `-o` leads, known before any work is done: never onto a file that the command reads.

use anyhow::{Context, Result, bail};
use exegete::partial::{Place, place};
use std::fs;
use std::path::{Path, PathBuf};

/// Names of the standard output. To open it a second time would start at the beginning of a file that it was sent to.
const STDOUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// A file that a command reads, or a folder whose files it reads, with what the user calls it.
pub(crate) type Read<'a> = (&'static str, &'a Path);

/// The file of `-o`, or none for the standard output; an error where it cannot be written or is one of those that are read.
pub(crate) fn destination<'a>(output: Option<&'a Path>, reads: &[Read<'_>]) -> Result<Option<&'a Path>> {
    let Some(target) = output.filter(|path| STDOUT.iter().all(|name| path.as_os_str() != *name)) else {
        return Ok(None);
    };
    place(target).with_context(|| format!("{}: cannot be written", target.display()))?;
    refuse_reads(&[target.to_owned()], reads)?;
    Ok(Some(target))
}

/// Whether a file can be written beside this one and take its place.
pub(crate) fn is_replaceable(target: &Path) -> bool {
    matches!(place(target), Ok(Place::File { .. }))
}

/// Fails where a file to write is one that is read: the same file, whatever it is called.
pub(crate) fn refuse_reads(writes: &[PathBuf], reads: &[Read<'_>]) -> Result<()> {
    let writes: Vec<_> = writes.iter().filter_map(|path| Some((path, identity(path)?))).collect();
    for &(name, path) in reads {
        for file in files(path) {
            let Some(read) = identity(&file) else { continue };
            if let Some((target, _)) = writes.iter().find(|(_, written)| *written == read) {
                bail!(
                    "{}: is read by {name} and would be overwritten; write somewhere else",
                    target.display()
                );
            }
        }
    }
    Ok(())
}

/// A file itself, or what is directly in a folder.
fn files(path: &Path) -> Vec<PathBuf> {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => vec![path.to_owned()],
    }
}

/// What two names of one file have in common.
#[derive(Debug, PartialEq, Eq)]
enum Identity {
    /// Device and number of a file on it.
    #[cfg(unix)]
    There(u64, u64),
    /// A path without links.
    Path(PathBuf),
}

/// The identity of a regular file, there already or not; nothing else can be lost.
fn identity(path: &Path) -> Option<Identity> {
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => None,
        #[cfg(unix)]
        Ok(there) => {
            use std::os::unix::fs::MetadataExt;
            Some(Identity::There(there.dev(), there.ino()))
        }
        #[cfg(not(unix))]
        Ok(_) => Some(Identity::Path(path.canonicalize().ok()?)),
        Err(_) => {
            let Ok(Place::File { path, .. }) = place(path) else { return None };
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
            Some(Identity::Path(folder.join(path.file_name()?)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_standard_output() {
        for name in STDOUT {
            assert_eq!(destination(Some(Path::new(name)), &[]).unwrap(), None);
        }
        let file = Path::new("some-file-that-is-not-there");
        assert_eq!(destination(Some(file), &[("--input", Path::new("another"))]).unwrap(), Some(file));
        assert!(destination(Some(file), &[("--cache", Path::new("./some-file-that-is-not-there"))]).is_err());
    }
}
