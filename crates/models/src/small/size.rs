//! How large a small model is, before any of it exists.

use super::{SmallAttention, SmallConfig, SmallEncoder};

impl SmallConfig {
    /// How many numbers the parameters are, over a vocabulary of so many words and of so many that are written; `u128` because whoever asks may have asked for
    /// anything.
    pub fn parameters(&self, words: usize, written: usize) -> u128 {
        let [words, d, m, a] = [words, self.embedding, self.width(), self.attention_hidden].map(wide);
        let (classes, asked) = (wide(self.labels.len()), self.fields() == 2);
        let linear = |input: u128, output: u128| input * output + output;
        match self.kind.as_str() {
            "atae" => {
                let states = Self { embedding: 2 * self.embedding, ..self.clone() }.states();
                let attention = m * a + d * d + a + d;
                2 * words * d + states + attention + 2 * m * m + linear(m, classes)
            }
            "han" => {
                let sentences = Self { embedding: self.width(), ..self.clone() };
                let levels = self.states() + sentences.states() + 2 * self.attending(false);
                words * d + levels + linear(m, classes)
            }
            "seq2seq" => {
                let [h, written] = [self.hidden, written].map(wide);
                let luong = self.attention == SmallAttention::Luong;
                let input = if luong { d } else { d + m };
                let attention = match self.attention {
                    SmallAttention::Bahdanau => linear(h + m, a) + a,
                    SmallAttention::Luong => h * m + linear(m + h, h),
                    _ => 0,
                };
                let out = linear(if luong { h } else { h + m + d }, written);
                let decoder = linear(m, h) + 3 * h * (input + h + 2) + attention + out;
                (words + written) * d + self.states() + decoder
            }
            _ if asked => {
                let inner = (m / 2).max(1);
                let head = 2 * linear(m, inner) + linear(inner, classes);
                words * d + 2 * self.states() + self.attending(true) + head
            }
            _ => words * d + self.states() + self.attending(false) + linear(m, classes),
        }
    }

    /// Those of the layers that make states of word vectors.
    fn states(&self) -> u128 {
        let [d, hidden, directions] = [self.embedding, self.hidden, self.directions].map(wide);
        match &self.encoder {
            SmallEncoder::None => 0,
            SmallEncoder::Average => d * hidden + hidden,
            SmallEncoder::Convolution { widths, channels } => {
                widths.iter().map(|&width| wide(*channels) * (d * wide(width) + 1)).sum()
            }
            SmallEncoder::Recurrent(cell) => {
                let rows = wide(cell.gates()) * hidden;
                let layer = |n: usize| {
                    let input = if n == 0 { d } else { directions * hidden };
                    directions * rows * (input + hidden + 2)
                };
                (0..self.layers).map(layer).sum()
            }
        }
    }

    /// Those of an attention, which asks a second text or not.
    fn attending(&self, asked: bool) -> u128 {
        let [m, a] = [self.width(), self.attention_hidden].map(wide);
        match self.attention {
            SmallAttention::Additive => a + (m * a + a) * if asked { 2 } else { 1 },
            SmallAttention::Dot if !asked => m,
            _ => 0,
        }
    }
}

fn wide(size: usize) -> u128 {
    size as u128
}
