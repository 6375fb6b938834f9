//! A line now and then, for logs: how many texts or models are done and how long the rest will take.

use std::time::{Duration, Instant};

/// How often a line is written where `EXEGETE_PROGRESS` does not say it, in seconds.
const SECONDS: u64 = 30;

/// When the last line was written, and what was done when the work began.
pub(super) struct Pace {
    noun: &'static str,
    every: Duration,
    started: Instant,
    last: Instant,
    /// How many there are of what is counted; another number is other work, which has a speed of its own.
    of: Option<usize>,
    /// The share that was done at the first look: an earlier run's work says nothing about the speed of this one.
    before: Option<f64>,
}

impl Pace {
    pub(super) fn new(noun: &'static str) -> Self {
        let seconds = std::env::var("EXEGETE_PROGRESS").ok().and_then(|seconds| seconds.parse().ok());
        Self::every(noun, Duration::from_secs(seconds.unwrap_or(SECONDS)), Instant::now())
    }

    fn every(noun: &'static str, every: Duration, now: Instant) -> Self {
        Self { noun, every, started: now, last: now, of: None, before: None }
    }

    /// Whether a line is due now; if so, the next one is due that much later.
    pub(super) fn is_due(&mut self) -> bool {
        self.is_due_at(Instant::now())
    }

    fn is_due_at(&mut self, now: Instant) -> bool {
        let due = now.duration_since(self.last) >= self.every;
        if due {
            self.last = now;
        }
        due
    }

    /// The line that is due, if any, after so many texts, of so many or with so large a share of the input.
    pub(super) fn line(&mut self, texts: usize, of: Option<usize>, done: Option<f64>) -> Option<String> {
        self.line_at(Instant::now(), texts, of, done)
    }

    fn line_at(
        &mut self,
        now: Instant,
        texts: usize,
        of: Option<usize>,
        done: Option<f64>,
    ) -> Option<String> {
        if self.before.is_some() && self.of != of {
            (self.started, self.before) = (now, None);
        }
        self.of = of;
        let before = *self.before.get_or_insert(done.unwrap_or(0.0));
        if texts == 0 || !self.is_due_at(now) {
            return None;
        }
        let mut line = match of {
            Some(total) => format!("{texts} of {}", counted(total, self.noun)),
            None => counted(texts, self.noun),
        };
        line += " done";
        let Some(done) = done else { return Some(line) };
        line += &format!(", {:.0} %", 100.0 * done.min(1.0));
        let seconds = now.duration_since(self.started).as_secs_f64();
        if done > before {
            let left = seconds * (1.0 - done).max(0.0) / (done - before);
            line += &format!(", about {} left", long(left));
        }
        Some(line)
    }
}

/// A number of texts or models in words.
pub(super) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn long(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_when_it_is_due() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut pace = Pace::every("text", Duration::from_secs(30), start);
        assert_eq!(pace.line_at(at(0), 50, None, Some(0.5)), None, "an earlier run's texts");
        assert_eq!(pace.line_at(at(29), 60, None, Some(0.6)), None, "too soon");
        let line = pace.line_at(at(60), 75, None, Some(0.75)).unwrap();
        assert_eq!(line, "75 texts done, 75 %, about 60 s left");
        assert_eq!(pace.line_at(at(89), 76, None, Some(0.76)), None, "too soon after the last");
        assert_eq!(pace.line_at(at(90), 1, None, None).unwrap(), "1 text done");
        assert!(!pace.is_due_at(at(119)) && pace.is_due_at(at(120)) && !pace.is_due_at(at(121)));
    }

    #[test]
    fn other_work_has_a_speed_of_its_own() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut pace = Pace::every("step", Duration::from_secs(30), start);
        assert_eq!(pace.line_at(at(0), 0, Some(30), Some(0.0)), None);
        let line = pace.line_at(at(3600), 15, Some(30), Some(0.5)).unwrap();
        assert_eq!(line, "15 of 30 steps done, 50 %, about 60 min left");
        let line = pace.line_at(at(3700), 1, Some(100), Some(0.01)).unwrap();
        assert_eq!(line, "1 of 100 steps done, 1 %", "an hour of other work says nothing");
        let line = pace.line_at(at(3740), 5, Some(100), Some(0.05)).unwrap();
        assert_eq!(line, "5 of 100 steps done, 5 %, about 16 min left");
    }
}
