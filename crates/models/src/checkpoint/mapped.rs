//! Memory-mapped files, and whether they are still what was mapped.
//!
//! To read a page of a map that its file no longer has ends the process with SIGBUS, and no reader can rule that out. So
//! every run of a model first asks the open file for its length and the time of its last change. What remains is a file
//! that is shortened between this question and the end of the run (and while a model is opened): milliseconds instead of
//! hours. A file that is replaced by renaming, as careful programs do, keeps its old content for whoever has it open.

use super::values::Buffer;
use crate::fault::fault;
use exegete_core::Result;
use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::SystemTime;

/// A file's bytes, with what the file was when they were mapped.
#[derive(Debug)]
pub(super) struct Mapped {
    pub(super) map: Mmap,
    place: String,
    file: File,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Mapped {
    /// Maps an open file.
    pub(super) fn new(file: File, path: &Path) -> io::Result<Self> {
        let there = file.metadata()?;
        // SAFETY: the map is read-only and private to this process. What remains is another process that writes or
        // shortens the file while it is open: changed bytes are still valid u8 and, through `Values`, valid f32, every
        // bit pattern of which is a number; the start of this file says what becomes of a file that is shortened.
        #[allow(
            unsafe_code,
            reason = "memory maps are unsafe by nature; copying would cost seconds for large models"
        )]
        let map = unsafe { Mmap::map(&file) }?;
        let (place, modified) = (path.display().to_string(), there.modified().ok());
        Ok(Self { map, place, file, bytes: there.len(), modified })
    }

    /// An error where the open file, not whatever has its name by now, was written to or cut off.
    fn check(&self) -> Result<()> {
        let unreadable = |e: io::Error| fault(&self.place, format!("cannot be read: {e}"));
        let now = self.file.metadata().map_err(unreadable)?;
        if now.len() == self.bytes && now.modified().ok() == self.modified {
            return Ok(());
        }
        let (was, is) = (self.bytes, now.len());
        let what = if was == is {
            format!("{is} bytes were written to")
        } else {
            format!("was {was} bytes, is {is}")
        };
        Err(fault(&self.place, format!("changed while it was open ({what}); open it again")))
    }
}

/// The mapped files of a model, for as long as anything reads them.
#[derive(Debug, Clone, Default)]
pub struct MappedFiles(Vec<Weak<Buffer>>);

impl MappedFiles {
    /// Those of some buffers that are maps.
    pub(super) fn of<'a>(buffers: impl Iterator<Item = &'a Arc<Buffer>>) -> Self {
        Self(buffers.filter(|buffer| matches!(***buffer, Buffer::Mapped(_))).map(Arc::downgrade).collect())
    }

    /// An error where a file that is still read changed since it was mapped: one `fstat` a file.
    pub fn check(&self) -> Result<()> {
        for buffer in self.0.iter().filter_map(Weak::upgrade) {
            if let Buffer::Mapped(mapped) = &*buffer {
                mapped.check()?;
            }
        }
        Ok(())
    }
}
