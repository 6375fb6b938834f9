//! Layer-wise relevance propagation (Bach et al. 2015), for transformers in the conservative form of Ali et al. 2022.
//!
//! Relevance R = value ⊙ m travels as its multiplier m. With contributions cᵢⱼ = xᵢwⱼᵢ, an output zⱼ = Σᵢcᵢⱼ + bⱼ and
//! their sums above and below zero Pⱼ and Nⱼ (biases included), a linear layer gives Rᵢ = Σⱼ (c⁺ᵢⱼuⱼ + c⁻ᵢⱼdⱼ):
//!
//! - ε: u = d = Rⱼ/(zⱼ + ε·sign zⱼ); or zⱼ without its bias, so that the inputs share everything
//! - γ: u, d = Rⱼ/(zⱼ + γ·(Pⱼ or Nⱼ)), times 1 + γ for the contributions of zⱼ's own sign
//! - αβ: u = αRⱼ/Pⱼ, d = −βRⱼ/Nⱼ with β = α − 1; α = 1 is the z⁺ rule
//!
//! Attention probabilities, gates (Arras et al. 2017) and the scale of a layer norm are constants; an activation hands its
//! relevance on, and a maximum to the first that is largest. What
//! biases, added constants and stabilisers take is booked, so that nothing is lost unseen.

use super::{Gradient, RuleTable, Sink};
use crate::kernels::{elementwise, joins, rows, signed};
use crate::op::{Op, Unary};
use crate::scalar::Real;
use crate::tape::Node;
use crate::tensor::Tensor;

/// Relevance propagation with this rule for linear layers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lrp(pub Shares);

/// How the inputs of a linear layer share its relevance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shares {
    /// By contribution, with ε·sign added to the sum; sums of a residual are stabilised by it too.
    Epsilon(f64),
    /// The same without the bias: the inputs share everything.
    Spread(f64),
    /// By contribution; those of the output's own sign count 1 + γ times.
    Gamma(f64),
    /// α of those above zero less α − 1 of those below.
    AlphaBeta(f64),
}

/// What the contributions to one output are multiplied by, above and below zero, and what nobody gets.
struct Share {
    up: f64,
    down: f64,
    lost: f64,
}

/// Below this an input is too small to divide by; the derivative stands in and the difference is booked.
const SMALL: f64 = 1e-6;

impl<T: Real> RuleTable<T> for Lrp {
    fn name(&self) -> &'static str {
        "lrp"
    }

    fn pull(&self, node: &Node<T>, m: Tensor<T>, sink: &mut Sink<'_, T>) -> Option<()> {
        match &node.op {
            Op::Linear => self.linear(node, m, sink),
            Op::Add | Op::Sub => {
                let m = self.stabilised(node, m, sink)?;
                constants(node, &m, sink)?;
                Gradient.pull(node, m, sink)
            }
            Op::AddRow | Op::AddColumn | Op::Shift(_) | Op::Patch(_) => {
                constants(node, &m, sink)?;
                Gradient.pull(node, m, sink)
            }
            Op::SegmentSum(_) => {
                let m = self.stabilised(node, m, sink)?;
                Gradient.pull(node, m, sink)
            }
            Op::JoinColumns | Op::JoinRows | Op::AddRows(_) => {
                parts(node, &m, sink)?;
                Gradient.pull(node, m, sink)
            }
            Op::Mul => product(node, m, sink),
            // The values carry the relevance; what they are weighted by is held constant.
            Op::MulRow | Op::MulColumn => carry(node, m, sink, 0),
            Op::Context(_) | Op::Gate => carry(node, m, sink, 1),
            Op::Unary(unary) if activates(*unary) => activation(node, *unary, m, sink),
            Op::Leaf
            | Op::Gather(_)
            | Op::Pick(_)
            | Op::Scale(_)
            | Op::RowSum
            | Op::Reshape(..)
            | Op::Columns(..)
            | Op::Unfold(_)
            | Op::SegmentMax(_)
            | Op::Dropout(_) => Gradient.pull(node, m, sink),
            _ => None,
        }
    }
}

impl Lrp {
    fn linear<T: Real>(&self, node: &Node<T>, m: Tensor<T>, sink: &mut Sink<'_, T>) -> Option<()> {
        if !sink.wants(0) {
            return carry(node, m, sink, 0);
        }
        let spread = matches!(self.0, Shares::Spread(_));
        let bias = node.saved.get(2).and_then(Option::as_ref).filter(|_| !spread);
        if let Shares::Epsilon(_) = self.0 {
            let m = self.stabilised(node, m, sink)?;
            bias.iter().for_each(|b| sink.book(b, &m, |b, m| b * m));
            return sink.on(0, |sink| Gradient.pull(node, m, sink));
        }
        let ctx = sink.context();
        let (x, w, z) = (node.saved[0].as_ref()?, node.saved[1].as_ref()?, node.output.as_ref()?);
        let (mut above, mut below) = signed::contributions(ctx, x, w);
        if let Some(b) = bias {
            above = rows::with_row(ctx, &above, b, |p, b| p + T::from_f64(b.value().max(0.0)));
            below = rows::with_row(ctx, &below, b, |n, b| n + T::from_f64(b.value().min(0.0)));
        }
        let share = |i: usize| {
            let [z, m, above, below] = [z, &m, &above, &below].map(|x| x.data()[i].value());
            self.share(z * m, z, above, below)
        };
        let of = |pick: fn(Share) -> f64| {
            let fill = |(i, out): (usize, &mut T)| *out = T::from_f64(pick(share(i)));
            Tensor::fill(ctx, z.rows(), z.cols(), |out| out.iter_mut().enumerate().for_each(fill))
        };
        let (up, down) = (of(|share| share.up), of(|share| share.down));
        if sink.books() {
            let lost = of(|share| share.lost);
            sink.book(&lost, &lost, |lost, _| lost);
        }
        if let Some(b) = bias {
            sink.book(b, &up, |b, up| b.max(0.0) * up);
            sink.book(b, &down, |b, down| b.min(0.0) * down);
        }
        sink.give(0, signed::pull(ctx, x, w, &up, &down));
        Some(())
    }

    /// How the relevance of one output is shared.
    fn share(&self, relevance: f64, z: f64, above: f64, below: f64) -> Share {
        // The share of each unit of `total`, and all of it lost where there is no unit.
        let over = |relevance: f64, total: f64| match total {
            0.0 => (0.0, relevance),
            total => (relevance / total, 0.0),
        };
        match self.0 {
            Shares::Epsilon(epsilon) => {
                let (share, lost) = over(relevance, z + epsilon.copysign(z));
                Share { up: share, down: share, lost }
            }
            Shares::Spread(epsilon) => {
                let z = above + below;
                let (share, _) = over(relevance, z + epsilon.copysign(z));
                Share { up: share, down: share, lost: relevance - share * z }
            }
            Shares::Gamma(gamma) => {
                let (up, down) = if z >= 0.0 { (1.0 + gamma, 1.0) } else { (1.0, 1.0 + gamma) };
                let (share, lost) = over(relevance, up * above + down * below);
                Share { up: up * share, down: down * share, lost }
            }
            Shares::AlphaBeta(alpha) => {
                let (up, lost_up) = over(alpha * relevance, above);
                let (down, lost_down) = over((1.0 - alpha) * relevance, below);
                Share { up, down, lost: lost_up + lost_down }
            }
        }
    }

    /// m·z/(z + ε·sign z); the rest is booked.
    fn stabilised<T: Real>(&self, node: &Node<T>, m: Tensor<T>, sink: &mut Sink<'_, T>) -> Option<Tensor<T>> {
        let (Shares::Epsilon(epsilon) | Shares::Spread(epsilon)) = self.0 else { return Some(m) };
        if epsilon == 0.0 {
            return Some(m);
        }
        let z = node.output.as_ref()?;
        sink.book(z, &m, |z, m| z * m * epsilon / (z.abs() + epsilon));
        let epsilon = T::from_f64(epsilon);
        let size = |z: T| if T::default().above(z) { -z } else { z };
        Some(elementwise::zip(sink.context(), m, z, |m, z| m * (size(z) / (size(z) + epsilon))))
    }
}

/// Books what an operation adds that does not come from any wanted input.
fn constants<T: Real>(node: &Node<T>, m: &Tensor<T>, sink: &mut Sink<'_, T>) -> Option<()> {
    match &node.op {
        Op::Shift(constant) => sink.book(m, m, |m, _| constant * m),
        Op::Patch(patch) => {
            let zeros = Tensor::zeros(sink.context(), m.rows(), m.cols());
            sink.book(&elementwise::patch(sink.context(), patch, zeros), m, |shift, m| shift * m);
        }
        op => {
            for input in 0..2 {
                if sink.wants(input) {
                    continue;
                }
                let x = node.saved[input].as_ref()?;
                let sign = if matches!(op, Op::Sub) && input == 1 { -1.0 } else { 1.0 };
                sink.book(x, m, |x, m| sign * x * m);
            }
        }
    }
    Some(())
}

/// Books the parts of a joined value that do not come from any wanted input.
fn parts<T: Real>(node: &Node<T>, m: &Tensor<T>, sink: &mut Sink<'_, T>) -> Option<()> {
    let ctx = sink.context();
    if !sink.books() {
        return Some(());
    }
    let mut from = 0;
    for (i, &(rows, cols)) in node.shapes.iter().enumerate() {
        let (x, end) = (node.saved[i].as_ref()?, if let Op::JoinRows = node.op { rows } else { cols });
        let wanted = sink.wants(i);
        match &node.op {
            _ if wanted => {}
            Op::JoinColumns => sink.book(x, &joins::columns(ctx, m, from..from + end), |x, m| x * m),
            Op::JoinRows => sink.book(x, &joins::rows(ctx, m, from..from + end), |x, m| x * m),
            Op::AddRows(index) if i == 1 => sink.book(&rows::gather(ctx, x, index), m, |x, m| x * m),
            _ => sink.book(x, m, |x, m| x * m),
        }
        from += end;
    }
    Some(())
}

/// All relevance goes to one input; where nobody asks for that, it is a constant's.
fn carry<T: Real>(node: &Node<T>, m: Tensor<T>, sink: &mut Sink<'_, T>, input: usize) -> Option<()> {
    if !sink.wants(input) {
        sink.book(node.output.as_ref()?, &m, |y, m| y * m);
        return Some(());
    }
    sink.on(input, |sink| Gradient.pull(node, m, sink))
}

/// Two factors share their product's relevance equally; a constant factor takes none.
fn product<T: Real>(node: &Node<T>, m: Tensor<T>, sink: &mut Sink<'_, T>) -> Option<()> {
    let both = sink.wants(0) && sink.wants(1);
    let half = T::from_f64(if both { 0.5 } else { 1.0 });
    let m = elementwise::map(sink.context(), m, |m| m * half);
    Gradient.pull(node, m, sink)
}

fn activates(unary: Unary) -> bool {
    use Unary::{Gelu, GeluTanh, Relu, Sigmoid, Silu, Softplus, Tanh};
    matches!(unary, Relu | Gelu | GeluTanh | Silu | Tanh | Sigmoid | Softplus(_))
}

/// R stays what it is: m·y/x, and the derivative where x is too small to divide by.
fn activation<T: Real>(node: &Node<T>, unary: Unary, m: Tensor<T>, sink: &mut Sink<'_, T>) -> Option<()> {
    let ctx = sink.context();
    let (x, y) = (node.saved[0].as_ref()?, node.output.as_ref()?);
    let ones = elementwise::map(ctx, m.clone(), |_| T::from_f64(1.0));
    let slope = elementwise::unary_pull(ctx, unary, ones, x);
    let small = |x: T| x.value().abs() < SMALL;
    let per_element = |f: &dyn Fn(T, T, T) -> T| {
        let at = |i: usize| f(x.data()[i], y.data()[i], slope.data()[i]);
        let fill = |(i, out): (usize, &mut T)| *out = at(i);
        Tensor::fill(ctx, x.rows(), x.cols(), |out| out.iter_mut().enumerate().for_each(fill))
    };
    if sink.books() {
        let lost = per_element(&|x, y, slope| if small(x) { y - x * slope } else { T::default() });
        sink.book(&lost, &m, |lost, m| lost * m);
    }
    let ratio = per_element(&|x, y, slope| if small(x) { slope } else { y / x });
    sink.give(0, elementwise::zip(ctx, m, &ratio, |m, ratio| m * ratio));
    Some(())
}
