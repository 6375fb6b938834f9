//! Input that may never come: read by a thread of its own, so that the wait for it can be broken off.

use crate::Error;
use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 16;
/// How long a wish to stop may go unnoticed.
const GLANCE: Duration = Duration::from_millis(50);

/// A reader whose reads end with [`Error::Stopped`] once a flag is set.
pub(super) struct Waiting {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    /// Where the rest of the chunk begins.
    at: usize,
    stop: Arc<AtomicBool>,
}

impl Waiting {
    pub(super) fn new(reader: impl Read + Send + 'static, stop: Arc<AtomicBool>) -> io::Result<Self> {
        let (sender, chunks) = mpsc::sync_channel(1);
        thread::Builder::new().spawn(move || read_chunks(reader, &sender))?;
        Ok(Self { chunks, chunk: Vec::new(), at: 0, stop })
    }
}

fn read_chunks(mut reader: impl Read, sender: &mpsc::SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        let read = match reader.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read,
        };
        let over = !matches!(read, Ok(1..));
        let chunk = read.map(|bytes| {
            chunk.truncate(bytes);
            chunk
        });
        if sender.send(chunk).is_err() || over {
            return;
        }
    }
}

impl BufRead for Waiting {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at == self.chunk.len() {
            // The end of a pipe whose writer was interrupted too is no end of the texts.
            let next = self.chunks.recv_timeout(GLANCE);
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::Error::other(Error::Stopped));
            }
            match next {
                Ok(chunk) => (self.chunk, self.at) = (chunk?, 0),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.chunk.is_empty() {
                break;
            }
        }
        Ok(&self.chunk[self.at..])
    }

    fn consume(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.chunk.len());
    }
}

impl Read for Waiting {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?.read(into)?;
        self.consume(bytes);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_comes_through() {
        let bytes: Vec<u8> = (0..3 * CHUNK_BYTES + 7).map(|i| (i % 251) as u8).collect();
        let mut read = Vec::new();
        Waiting::new(io::Cursor::new(bytes.clone()), Arc::default()).unwrap().read_to_end(&mut read).unwrap();
        assert!(read == bytes);
    }

    /// A writer that says one line, then nothing, and never hangs up.
    #[test]
    fn a_wait_is_broken_off() {
        let (reader, mut writer) = io::pipe().unwrap();
        io::Write::write_all(&mut writer, b"one\n").unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let mut waiting = Waiting::new(reader, stop.clone()).unwrap();
        let mut line = String::new();
        assert_eq!(waiting.read_line(&mut line).unwrap(), 4);
        thread::spawn(move || {
            thread::sleep(2 * GLANCE);
            stop.store(true, Ordering::Relaxed);
        });
        let error = waiting.read_line(&mut line).unwrap_err();
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        assert_eq!(inner, Some(&Error::Stopped));
        drop(writer);
    }
}
