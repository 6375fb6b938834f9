//! One run a folder at a time.

use crate::fault::fault;
use exegete_core::Result;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

const FILE: &str = "training.lock";

/// The right to train into a folder, which the system takes back when the process ends, however it ends.
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes it, or says that another run has it.
    pub(super) fn take(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir).map_err(|e| fault(dir.display(), format!("cannot be made: {e}")))?;
        let path = dir.join(FILE);
        loop {
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
            let file = file.map_err(|e| fault(path.display(), format!("cannot be written: {e}")))?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => {
                    let told =
                        "another run is training into this folder; wait for it or choose another output";
                    return Err(fault(dir.display(), told));
                }
                // A file system without locks has no second run to find either.
                Ok(()) | Err(TryLockError::Error(_)) => {}
            }
            let lock = Self { file, path: path.clone() };
            if lock.is_in_place() {
                return Ok(lock);
            }
        }
    }

    /// Whether the file is still the one in the folder: a run that ended in between took its own away.
    fn is_in_place(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let number =
                |there: std::io::Result<fs::Metadata>| there.ok().map(|there| (there.dev(), there.ino()));
            number(self.file.metadata()) == number(fs::metadata(&self.path))
        }
        #[cfg(not(unix))]
        {
            self.file.metadata().is_ok() && self.path.exists()
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // What a killed run leaves behind is an empty file that nobody holds.
        let _ = self.is_in_place().then(|| fs::remove_file(&self.path));
    }
}
