//! Sizes in bytes, as people write them: `2GiB`, `512MB`, `1.5G`, `1048576`.

/// Reads a size; powers of 1000 for KB, MB, GB, TB and of 1024 for KiB, MiB, GiB, TiB and the bare letters.
pub(crate) fn parse(text: &str) -> Result<usize, String> {
    let wrong = || format!("'{text}' is not a size; write 2GiB, 512MB or a number of bytes");
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let number: f64 = trimmed[..digits].parse().map_err(|_| wrong())?;
    let bytes = number * unit(trimmed[digits..].trim()).ok_or_else(wrong)?;
    if bytes < 1.0 || bytes > usize::MAX as f64 { Err(wrong()) } else { Ok(bytes as usize) }
}

/// Writes a number of bytes for reading.
pub(crate) fn display(bytes: usize) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let power = (bytes.max(1).ilog2() / 10).min(4) as usize;
    let digits = if power == 0 { 0 } else { 1 };
    format!("{:.digits$} {}", bytes as f64 / 1024f64.powi(power as i32), units[power])
}

fn unit(name: &str) -> Option<f64> {
    let name = name.to_ascii_lowercase();
    let power = |base: f64| {
        let letter = name.chars().next()?;
        Some(base.powi("bkmgt".find(letter)? as i32))
    };
    match name.as_str() {
        "" | "b" => Some(1.0),
        "kb" | "mb" | "gb" | "tb" => power(1000.0),
        "k" | "m" | "g" | "t" | "kib" | "mib" | "gib" | "tib" => power(1024.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, expected) in [
            ("2GiB", Some(2 << 30)),
            ("512MB", Some(512_000_000)),
            ("1048576", Some(1 << 20)),
            ("1.5g", Some(3 << 29)),
            (" 64 kib ", Some(64 << 10)),
            ("100b", Some(100)),
            ("0", None),
            ("", None),
            ("MiB", None),
            ("-1", None),
            ("2GiBs", None),
            ("1e99", None),
            ("inf", None),
        ] {
            assert_eq!(parse(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn sizes_are_written() {
        for (bytes, expected) in [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2 << 30, "2.0 GiB")] {
            assert_eq!(display(bytes), expected);
        }
    }
}
