use crate::recurrent::Recurrence;

/// The order in which a recurrence is computed: sequences in parts, one for each thread; a part step by step, and in a
/// step the longest sequence first. So the sequences that still run are always the first, and the rows of a step lie
/// together, right after those of the step before.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) parts: Vec<SequencePart>,
    /// The row of each token.
    pub(super) rows: Vec<usize>,
    /// The token of each row.
    pub(super) tokens: Vec<usize>,
}

/// Sequences that are computed together.
#[derive(Debug)]
pub(super) struct SequencePart {
    /// The first row that it has, counted from 0.
    pub(super) first: usize,
    /// How many rows it has.
    pub(super) rows: usize,
    /// How many sequences run at each step.
    pub(super) steps: Vec<usize>,
    /// The sequences that run at all, longest first.
    pub(super) sequences: Vec<usize>,
}

impl Schedule {
    pub(super) fn new(recurrence: &Recurrence, parts: usize) -> Self {
        let segments = &recurrence.segments;
        let mut order: Vec<usize> = (0..segments.count()).filter(|&s| segments.len(s) > 0).collect();
        order.sort_by_key(|&s| std::cmp::Reverse(segments.len(s)));
        let parts = parts.min(order.len()).max(1);
        let mut schedule = Self { parts: Vec::new(), rows: vec![0; segments.total()], tokens: Vec::new() };
        for part in 0..parts {
            // Dealt like cards, so that every part gets long and short ones.
            let sequences: Vec<usize> = order.iter().copied().skip(part).step_by(parts).collect();
            schedule.push(recurrence, sequences);
        }
        for (row, &token) in schedule.tokens.iter().enumerate() {
            schedule.rows[token] = row;
        }
        schedule
    }

    fn push(&mut self, recurrence: &Recurrence, sequences: Vec<usize>) {
        let segments = &recurrence.segments;
        let longest = sequences.first().map_or(0, |&s| segments.len(s));
        let (first, mut steps) = (self.tokens.len(), Vec::with_capacity(longest));
        for step in 0..longest {
            let running = sequences.partition_point(|&s| segments.len(s) > step);
            self.tokens.extend(sequences[..running].iter().map(|&s| match recurrence.reverse {
                true => segments.range(s).end - 1 - step,
                false => segments.range(s).start + step,
            }));
            steps.push(running);
        }
        self.parts.push(SequencePart { first, rows: self.tokens.len() - first, steps, sequences });
    }
}

impl SequencePart {
    /// The first row within the part of each step, and how many it has.
    pub(super) fn offsets(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> + '_ {
        let mut end = 0;
        let step = |&n: &usize| {
            end += n;
            (end - n, n)
        };
        let offsets: Vec<_> = self.steps.iter().map(step).collect();
        offsets.into_iter()
    }

    /// Where within the part the states lie that the step whose first row is `first` starts from.
    pub(super) fn before(&self, step: usize, first: usize) -> usize {
        first - self.steps[step - 1]
    }
}
