use crate::segments::Segments;

/// Windows of neighbouring rows within each sequence, as a convolution reads them.
#[derive(Debug, Clone)]
pub struct Windows {
    width: usize,
    /// How many rows before its own place a window begins.
    before: usize,
    inputs: Segments,
    outputs: Segments,
}

impl Windows {
    /// Windows of `width` rows. Padded, every row has one, from t − ⌊(width − 1)/2⌋ on, with zeros outside the sequence;
    /// else only windows that lie within their sequence. Panics where the width is zero, which is a defect of the caller.
    pub fn new(segments: &Segments, width: usize, padded: bool) -> Self {
        assert!(width > 0, "windows of no rows");
        let inputs = segments.clone();
        match padded {
            true => Self { width, before: (width - 1) / 2, outputs: inputs.clone(), inputs },
            false => {
                let outputs =
                    Segments::new(inputs.lengths().map(|length| (length + 1).saturating_sub(width)));
                Self { width, before: 0, inputs, outputs }
            }
        }
    }

    /// Rows of a window.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The sequences that are read.
    pub fn inputs(&self) -> &Segments {
        &self.inputs
    }

    /// The sequences of windows.
    pub fn outputs(&self) -> &Segments {
        &self.outputs
    }

    /// Every place of every window that lies inside its sequence: the window, the place in it, the row that it reads.
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        (0..self.inputs.count()).flat_map(move |s| {
            let (rows, windows) = (self.inputs.range(s), self.outputs.range(s));
            windows.clone().flat_map(move |window| {
                // The row that the first place reads lies this far after the sequence's first, or before it.
                let first = rows.start + (window - windows.start);
                let end = rows.end;
                (0..self.width).filter_map(move |place| {
                    let row = (first + place).checked_sub(self.before)?;
                    (rows.start <= row && row < end).then_some((window, place, row))
                })
            })
        })
    }
}
