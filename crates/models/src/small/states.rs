//! From word vectors to states, one a token.

use super::{SmallAttention, SmallConfig, SmallEncoder};
use crate::blocks::Linear;
use crate::encoder::LOGITS;
use crate::run::Run;
use crate::weights::{Param, Weights};
use exegete_core::{Axis, Result, Role, Site, SiteInfo};
use exegete_engine::{CellLook, CellPart, Op, RecurrentCell, RecurrentWeights, Scalar, Segments, Unary, Var};

/// What makes states of one field, with its weights.
pub(super) struct States<T> {
    /// What its places are called after: nothing, or `query.`.
    prefix: &'static str,
    layers: Layers<T>,
}

enum Layers<T> {
    None,
    Average(Linear<T>),
    Convolution { rectified: bool, each: Vec<(usize, Param<T>, Param<T>)> },
    Recurrent(RecurrentCell, Vec<Vec<Direction<T>>>),
}

/// PyTorch's four tensors of one direction of a recurrent layer.
struct Direction<T> {
    reverse: bool,
    tensors: [Param<T>; 4],
}

impl<T: Scalar> States<T> {
    /// The tensors below `path`, under PyTorch's names.
    pub(super) fn load(
        w: &mut Weights<'_, T>,
        path: &str,
        prefix: &'static str,
        c: &SmallConfig,
    ) -> Result<Self> {
        let (d, hidden) = (c.embedding, c.hidden);
        let layers = match &c.encoder {
            SmallEncoder::None => Layers::None,
            SmallEncoder::Average => Layers::Average(Linear::load(w, &format!("{path}.proj"), d, hidden)?),
            SmallEncoder::Convolution { widths, channels } => {
                let load = |&width: &usize| {
                    let weight = w.get(&format!("{path}.conv{width}.weight"), &[*channels, d, width])?;
                    Ok((width, weight, w.get(&format!("{path}.conv{width}.bias"), &[*channels])?))
                };
                // Where the maximum is taken the rectifier may come after it: the same numbers, and no ties at 0.
                let rectified = c.attention != SmallAttention::Max;
                Layers::Convolution { rectified, each: widths.iter().map(load).collect::<Result<_>>()? }
            }
            SmallEncoder::Recurrent(cell) => {
                let rows = cell.gates() * hidden;
                let mut load = |n: usize, reverse: bool| {
                    let input = if n == 0 { d } else { c.directions * hidden };
                    let end = if reverse { "_reverse" } else { "" };
                    let mut get =
                        |name: &str, shape: &[usize]| w.get(&format!("{path}.{name}_l{n}{end}"), shape);
                    let tensors = [
                        get("weight_ih", &[rows, input])?,
                        get("weight_hh", &[rows, hidden])?,
                        get("bias_ih", &[rows])?,
                        get("bias_hh", &[rows])?,
                    ];
                    Ok(Direction { reverse, tensors })
                };
                let directions = &[false, true][..c.directions];
                let mut layer =
                    |n| directions.iter().map(|&reverse| load(n, reverse)).collect::<Result<Vec<_>>>();
                Layers::Recurrent(*cell, (0..c.layers).map(&mut layer).collect::<Result<_>>()?)
            }
        };
        Ok(Self { prefix, layers })
    }

    /// The states that a text leaves behind where nothing weighs them, by the ends of recurrent layers: the forward
    /// state after the last token beside the backward one after the first; none for other encoders.
    pub(super) fn ends(&self, run: &mut Run<'_, T>, segments: &Segments, states: &Var<T>) -> Option<Var<T>> {
        let Layers::Recurrent(_, layers) = &self.layers else { return None };
        let directions = layers[0].len();
        let hidden = states.value.cols() / directions;
        let rows = |last: bool| {
            let row = |b: usize| if last { segments.range(b).end - 1 } else { segments.range(b).start };
            (0..segments.count()).map(row).collect()
        };
        let last = run.tape.apply(Op::Gather(rows(true)), [states.clone()]); // [B, m]
        if directions == 1 {
            return Some(last);
        }
        let forward = run.tape.apply(Op::Columns(0, hidden), [last]); // [B, H]
        let first = run.tape.apply(Op::Gather(rows(false)), [states.clone()]); // [B, m]
        let backward = run.tape.apply(Op::Columns(hidden, 2 * hidden), [first]); // [B, H]
        Some(run.tape.apply(Op::JoinColumns, [forward, backward])) // [B, m]
    }

    /// Word vectors of one field \[T, d\] → its states \[T, m\], before the site `enc.out`.
    pub(super) fn forward(&self, run: &mut Run<'_, T>, segments: &Segments, x: Var<T>) -> Result<Var<T>> {
        match &self.layers {
            // A value of its own: a start or an edit at the states must not be one at the word vectors.
            Layers::None => Ok(run.tape.apply(Op::Scale(1.0), [x])), // [T, d]
            Layers::Average(proj) => {
                let x = proj.forward(run, x); // [T, m]
                Ok(run.tape.apply(Op::Unary(Unary::Tanh), [x])) // [T, m]
            }
            Layers::Convolution { rectified, each } => {
                let mut found = Vec::new();
                for (width, weight, bias) in each {
                    let (rows, cols) = (weight.shape[0], weight.shape[1] * weight.shape[2]);
                    let weight = run.param(weight);
                    let weight = run.tape.apply(Op::Reshape(rows, cols), [weight]); // [O, d·K]
                    let bias = run.param(bias);
                    let mut y = run.tape.convolution(segments, x.clone(), weight, Some(bias)); // [T, O]
                    if *rectified {
                        y = run.tape.apply(Op::Unary(Unary::Relu), [y]); // [T, O]
                    }
                    found.push(run.site(self.at(&format!("conv.{width}")), y)?);
                }
                let found = run.tape.apply(Op::JoinColumns, found); // [T, m]
                Ok(run.dropout_over(segments, found, |rates| rates.feed_forward))
            }
            Layers::Recurrent(cell, layers) => {
                let mut x = x;
                for (n, directions) in layers.iter().enumerate() {
                    x = self.recurrent(run, segments, *cell, n, directions, x)?; // [T, m]
                }
                Ok(x)
            }
        }
    }

    /// One recurrent layer, gate by gate where somebody looks at one: \[T, ·\] → \[T, m\].
    fn recurrent(
        &self,
        run: &mut Run<'_, T>,
        segments: &Segments,
        cell: RecurrentCell,
        n: usize,
        directions: &[Direction<T>],
        x: Var<T>,
    ) -> Result<Var<T>> {
        let mut weights = Vec::with_capacity(directions.len());
        for Direction { reverse, tensors } in directions {
            let [input, hidden, input_bias, hidden_bias] = tensors.each_ref().map(|param| run.param(param));
            let reverse = *reverse;
            weights.push(RecurrentWeights { reverse, input, hidden, input_bias, hidden_bias, start: None });
        }
        let (mut sites, mut looks) = (Vec::new(), Vec::new());
        for &part in cell.parts() {
            let site = self.at(&format!("enc.{n}.{}", name(cell, part)));
            if let Some((patch, watch)) = run.look(site)? {
                sites.push(site);
                looks.push(CellLook { part, patch, watch });
            }
        }
        if looks.is_empty() {
            return Ok(run.tape.recurrent(cell, segments, x, &weights)); // [T, m]
        }
        let (out, seen) = run.tape.recurrent_inside(cell, segments, x, &weights, looks); // [T, m]
        sites.into_iter().zip(seen).try_for_each(|(site, seen)| run.looked(site, seen))?;
        Ok(out)
    }

    fn at(&self, place: &str) -> Site {
        site(self.prefix, place)
    }
}

/// A place of one field's encoder.
pub(super) fn site(prefix: &str, place: &str) -> Site {
    // Prefixes, numbers and places of these files always fit a name.
    format!("{prefix}{place}").parse().unwrap_or(LOGITS)
}

/// What a part of a cell is called.
fn name(cell: RecurrentCell, part: CellPart) -> &'static str {
    match part {
        CellPart::Input => "i",
        CellPart::Forget => "f",
        CellPart::Candidate if cell == RecurrentCell::Lstm => "g",
        CellPart::Candidate => "n",
        CellPart::Output => "o",
        CellPart::Cell => "cell",
        CellPart::Reset => "r",
        CellPart::Update => "z",
        CellPart::Hidden => "hidden",
    }
}

/// The places of an encoder before `enc.out`, in the order of computation; `token` is the axis of the field's tokens.
pub(super) fn sites(c: &SmallConfig, prefix: &str, token: Axis) -> Vec<SiteInfo> {
    let inner = |place: &str, part: String, width: usize| {
        SiteInfo::new(site(prefix, place), part, Role::Inner, [token, Axis::Neuron(width)])
    };
    match &c.encoder {
        SmallEncoder::None | SmallEncoder::Average => Vec::new(),
        SmallEncoder::Convolution { widths, channels } => {
            let of = |width: &usize| SiteInfo {
                role: Role::Convolution,
                ..inner(&format!("conv.{width}"), format!("{prefix}enc"), *channels)
            };
            widths.iter().map(of).collect()
        }
        SmallEncoder::Recurrent(cell) => {
            let of = |n: usize| {
                let place = move |part: &CellPart| format!("enc.{n}.{}", name(*cell, *part));
                cell.parts()
                    .iter()
                    .map(move |part| inner(&place(part), format!("{prefix}enc.{n}"), c.width()).stepwise())
            };
            (0..c.layers).flat_map(of).collect()
        }
    }
}
