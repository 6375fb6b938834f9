//! What is wrong with a file that is read whole: every bad row at once, so that nobody mends them one by one.

use anyhow::{Result, anyhow};

/// How many rows are listed; what is beyond is counted.
const LISTED: usize = 20;

/// What is wrong with rows, in their order.
#[derive(Debug, Default)]
pub(crate) struct BadRows {
    first: Option<anyhow::Error>,
    /// The file of the first.
    file: String,
    told: Vec<String>,
    count: usize,
}

impl BadRows {
    /// One more, in this file.
    pub(crate) fn add(&mut self, file: &str, error: anyhow::Error) {
        self.count += 1;
        if self.told.len() < LISTED {
            let said = format!("{error:#}");
            let here =
                said.strip_prefix(&format!("{file}: ")).filter(|_| self.count == 1 || self.file == file);
            self.told.push(here.unwrap_or(&said).to_owned());
        }
        if self.first.is_none() {
            (self.first, self.file) = (Some(error), file.to_owned());
        }
    }

    /// An error where there are any: one as it is, several in one line.
    pub(crate) fn none(self) -> Result<()> {
        let Some(first) = self.first else { return Ok(()) };
        if self.count == 1 {
            return Err(first);
        }
        let more = match self.count - self.told.len() {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        Err(anyhow!("{}: {} bad rows: {}{more}", self.file, self.count, self.told.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_told_as_it_is_and_many_are_listed() {
        let said = |lines: usize| {
            let mut bad = BadRows::default();
            (1..=lines).for_each(|line| bad.add("f", anyhow!("f: line {line}: is bad")));
            bad.none().map_err(|error| format!("{error:#}"))
        };
        assert_eq!(said(0), Ok(()));
        assert_eq!(said(1).unwrap_err(), "f: line 1: is bad");
        assert_eq!(said(2).unwrap_err(), "f: 2 bad rows: line 1: is bad; line 2: is bad");
        let many = said(25).unwrap_err();
        assert!(many.contains("line 20: is bad; and 5 more") && !many.contains("line 21"), "{many}");
    }
}
