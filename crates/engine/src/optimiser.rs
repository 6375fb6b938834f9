//! How a parameter moves along its gradient. PyTorch's arithmetic, so that runs can be compared number by number.

use crate::context::Context;
use crate::param_grad::ParamGrad;
use crate::scalar::Real;
use crate::tensor::Tensor;

/// A rule for one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Optimiser {
    /// v ← μ·v + g + λ·θ, θ ← θ − η·v.
    Sgd {
        /// μ; 0 for plain gradient descent.
        momentum: f64,
    },
    /// Adam with decoupled weight decay: Loshchilov and Hutter 2019.
    ///
    /// θ ← θ·(1 − η·λ); m ← β₁m + (1−β₁)g; v ← β₂v + (1−β₂)g²; θ ← θ − η·m̂ / (√v̂ + ε), where m̂ and v̂ are m and v
    /// divided by 1 − βᵗ.
    AdamW {
        /// The decay β₁ of the first moment, in [0, 1).
        beta1: f64,
        /// The decay β₂ of the second moment, in [0, 1).
        beta2: f64,
        /// The stabiliser ε under the root's sum.
        epsilon: f64,
    },
}

impl Optimiser {
    /// AdamW with the usual constants.
    pub const ADAM_W: Self = Self::AdamW { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };
}

/// The numbers of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Update {
    /// The learning rate η of this step.
    pub rate: f64,
    /// The weight decay λ of this step.
    pub decay: f64,
    /// What the gradient is multiplied by first: clipping.
    pub scale: f64,
    /// Which step this is, from 1.
    pub step: u64,
}

/// What an optimiser remembers of one parameter's gradients.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Moments<T> {
    /// m, or the velocity.
    pub first: Vec<T>,
    /// v; empty for SGD.
    pub second: Vec<T>,
}

impl Optimiser {
    /// What it remembers before the first step of a parameter of this size.
    pub fn moments<T: Real>(&self, len: usize) -> Moments<T> {
        let second = if matches!(self, Self::AdamW { .. }) { len } else { 0 };
        Moments { first: vec![T::default(); len], second: vec![T::default(); second] }
    }

    /// The parameter after one step.
    pub fn step<T: Real>(
        &self,
        ctx: &Context<T>,
        update: &Update,
        (value, slope): (&Tensor<T>, &ParamGrad<T>),
        moments: &mut Moments<T>,
    ) -> Tensor<T> {
        assert_eq!(
            (value.rows(), value.cols()),
            slope.shape(),
            "a gradient of another shape than its parameter"
        );
        let Moments { first, second } = moments;
        let cols = value.cols();
        let row = |at: usize| (&value.data()[at * cols..][..cols], slope.row(at));
        Tensor::fill(ctx, value.rows(), cols, |out| match *self {
            Self::Sgd { momentum } => {
                let momentum = T::from_f64(momentum);
                let [rate, decay, scale] = [update.rate, update.decay, update.scale].map(T::from_f64);
                ctx.rows_of([out, first], cols, |at, [out, velocity]| {
                    let (value, gradient) = row(at);
                    for i in 0..cols {
                        velocity[i] = momentum * velocity[i] + gradient[i] * scale + decay * value[i];
                        out[i] = value[i] - rate * velocity[i];
                    }
                });
            }
            Self::AdamW { beta1, beta2, epsilon } => {
                let t = i32::try_from(update.step).unwrap_or(i32::MAX);
                let step = T::from_f64(update.rate / (1.0 - beta1.powi(t)));
                let root = T::from_f64(1.0 / (1.0 - beta2.powi(t)).sqrt());
                let shrink = T::from_f64(1.0 - update.rate * update.decay);
                let [b1, c1, b2, c2] = [beta1, 1.0 - beta1, beta2, 1.0 - beta2].map(T::from_f64);
                let [epsilon, scale] = [epsilon, update.scale].map(T::from_f64);
                ctx.rows_of([out, first, second], cols, |at, [out, m, v]| {
                    let (value, gradient) = row(at);
                    for i in 0..cols {
                        let g = gradient[i] * scale;
                        m[i] = b1 * m[i] + c1 * g;
                        v[i] = b2 * v[i] + c2 * g * g;
                        out[i] = value[i] * shrink - step * m[i] / (v[i].sqrt() * root + epsilon);
                    }
                });
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked out by hand: a first AdamW step moves by the rate against the gradient's sign.
    #[test]
    fn first_steps_by_hand() {
        let ctx = Context::<f64>::new(1);
        let (value, gradient) = (Tensor::new(1, 2, vec![1.0, -2.0]), Tensor::new(1, 2, vec![0.5, -4.0]));
        let gradient = ParamGrad::Dense(gradient);
        let update = Update { rate: 0.1, decay: 0.5, scale: 0.5, step: 1 };
        let adam = Optimiser::AdamW { beta1: 0.9, beta2: 0.999, epsilon: 0.0 };
        let mut moments = adam.moments(2);
        let after = adam.step(&ctx, &update, (&value, &gradient), &mut moments);
        for (got, want) in after.data().iter().zip([1.0 * 0.95 - 0.1, -2.0 * 0.95 + 0.1]) {
            assert!((got - want).abs() < 1e-12, "{got} {want}");
        }
        let sgd = Optimiser::Sgd { momentum: 0.9 };
        let mut moments = sgd.moments(2);
        let once = sgd.step(&ctx, &update, (&value, &gradient), &mut moments);
        // v = 0.25 + 0.5·1 = 0.75, then 0.9·0.75 + 0.25 + 0.5·0.925
        assert!((once.data()[0] - 0.925).abs() < 1e-12);
        let twice = sgd.step(&ctx, &update, (&once, &gradient), &mut moments);
        assert!((twice.data()[0] - (0.925 - 0.1 * (0.675 + 0.25 + 0.4625))).abs() < 1e-12);
    }
}
