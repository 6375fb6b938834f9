//! Files that appear only when they are complete.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file under a temporary name beside its own, removed unless it is completed; or, where the name is that of a device or
/// a pipe, that device or pipe.
#[derive(Debug)]
pub struct Partial {
    writer: BufWriter<File>,
    /// The temporary name and the final one; none where bytes go straight through.
    names: Option<(PathBuf, PathBuf)>,
    complete: bool,
}

/// What bytes for a path become.
#[derive(Debug)]
pub enum FilePlace {
    /// A regular file, there already or not.
    File {
        /// Its own path: symbolic links are followed, so that they stay.
        path: PathBuf,
        /// Those of the file that is replaced, which the new one takes over.
        permissions: Option<Permissions>,
    },
    /// Something that cannot be replaced, such as a device or a pipe, and is written to.
    Through,
}

impl Partial {
    /// Starts a file beside the one that it will replace.
    pub fn create(target: &Path) -> io::Result<Self> {
        let FilePlace::File { path: own, permissions } = place(target)? else {
            // Nothing is cut off: what is behind a descriptor may be a file with something in it.
            let file = OpenOptions::new().append(true).open(target)?;
            return Ok(Self { writer: BufWriter::new(file), names: None, complete: false });
        };
        let name = own.file_name();
        let name = name.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "this is no file name"))?;
        let temporary = format!(".{}.{}.partial", name.to_string_lossy(), std::process::id());
        let temporary = own.with_file_name(temporary);
        let file = File::create(&temporary)?;
        let partial =
            Self { writer: BufWriter::new(file), names: Some((temporary.clone(), own)), complete: false };
        permissions.map_or(Ok(()), |permissions| fs::set_permissions(&temporary, permissions))?;
        Ok(partial)
    }

    /// The end: everything on the disk, the file under its own name.
    pub fn complete(mut self) -> io::Result<()> {
        self.writer.flush()?;
        if let Some((temporary, own)) = &self.names {
            // Without this a power cut could leave a whole name on half a file.
            self.writer.get_ref().sync_all()?;
            fs::rename(temporary, own)?;
        }
        self.complete = true;
        Ok(())
    }
}

/// Where bytes for a path go. A folder and a file that may not be written are errors.
pub fn place(target: &Path) -> io::Result<FilePlace> {
    let refused = |told: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, told.to_owned()));
    let own = followed(target)?;
    let there = match fs::metadata(target) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(FilePlace::File { path: own, permissions: None });
        }
        Err(error) => return Err(error),
    };
    if there.is_dir() {
        return refused("it is a folder");
    }
    if !there.is_file() || is_descriptor(&own) {
        return Ok(FilePlace::Through);
    }
    // Who may do everything may still have meant what the file says.
    if there.permissions().readonly() {
        return refused("it is read-only");
    }
    OpenOptions::new().append(true).open(&own)?;
    Ok(FilePlace::File { path: own, permissions: Some(there.permissions()) })
}

/// The path that symbolic links lead to, whether or not something is there; a descriptor's is left as it is.
fn followed(target: &Path) -> io::Result<PathBuf> {
    /// As many as Linux follows.
    const MOST_LINKS: usize = 40;
    let mut path = target.to_owned();
    for _ in 0..MOST_LINKS {
        if is_descriptor(&path) {
            return Ok(path);
        }
        match fs::read_link(&path) {
            Ok(link) => path = folder(&path).join(link),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("its symbolic links go round in a circle"))
}

/// Whether a path names an open descriptor, as `/dev/stdout` and `/dev/fd/3` do in the end. What is behind it is open
/// already, and is no file to put another in the place of.
fn is_descriptor(path: &Path) -> bool {
    folder(path)
        .canonicalize()
        .is_ok_and(|folder| folder.starts_with("/proc") || folder.starts_with("/dev/fd"))
}

/// The folder that a file is in.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
        if let (Some((temporary, _)), false) = (&self.names, self.complete) {
            // Nothing more can be done about a leftover that cannot be removed, and the real error is on its way.
            let _ = fs::remove_file(temporary);
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_circle_of_links_is_an_error_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink(at("b"), at("a")).unwrap();
        symlink(at("a"), at("b")).unwrap();
        assert!(write(&at("a"), b"x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_keeps_its_permissions_and_a_locked_one_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (mode, is_written) in [(0o600, true), (0o664, true), (0o444, false)] {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(write(&path, b"new").is_ok(), is_written, "{mode:o}");
            assert_eq!(fs::read(&path).unwrap(), if is_written { b"new" } else { b"old" });
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
