//! Where `-o` leads, known before any work is done: never onto a file that the command reads.

use anyhow::{Context, Result};
use exegete::partial::{FilePlace, place};
use exegete::request::{Read, refuse_reads};
use std::path::Path;

/// Names of the standard output. To open it a second time would start at the beginning of a file that it was sent to.
const STDOUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

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
    matches!(place(target), Ok(FilePlace::File { .. }))
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
