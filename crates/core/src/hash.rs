//! SHA-256, by which files and runs are recognised: the same on every machine and in every version.

use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};

/// The SHA-256 of some bytes, in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut hash = ContentHash::default();
    hash.add(bytes);
    hash.hex()
}

/// The SHA-256 of everything that a reader still gives, in hexadecimal.
pub fn sha256_of(mut reader: impl Read) -> io::Result<String> {
    let mut hash = ContentHash::default();
    io::copy(&mut reader, &mut hash)?;
    Ok(hash.hex())
}

/// A SHA-256 that grows with what is added to it.
#[derive(Debug, Clone, Default)]
pub struct ContentHash(Sha256);

impl ContentHash {
    /// Adds bytes as they are: two halves give what the whole gives.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds bytes with their length, so that moving a byte from one field to the next changes the result.
    pub fn field(&mut self, bytes: &[u8]) {
        self.add(&(bytes.len() as u64).to_le_bytes());
        self.add(bytes);
    }

    /// The hash of all that was added, in hexadecimal.
    pub fn hex(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Write for ContentHash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The standard's own example (FIPS 180-4).
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn the_standards_example_in_every_form() {
        assert_eq!(sha256_hex(b"abc"), ABC);
        assert_eq!(sha256_of(&b"abc"[..]).unwrap(), ABC);
        let mut hash = ContentHash::default();
        hash.add(b"a");
        hash.add(b"bc");
        assert_eq!(hash.hex(), ABC);
    }

    #[test]
    fn fields_keep_their_bounds() {
        let of = |fields: [&str; 2]| {
            let mut hash = ContentHash::default();
            fields.iter().for_each(|field| hash.field(field.as_bytes()));
            hash.hex()
        };
        assert_ne!(of(["ab", "c"]), of(["a", "bc"]));
    }
}
