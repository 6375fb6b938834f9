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
    /// Adam with coupled weight decay: Kingma and Ba 2015; with `amsgrad` Reddi, Kale and Kumar 2018.
    ///
    /// g ← g + λ·θ; m and v as in AdamW; θ ← θ − η·m̂ / (√v̂ + ε). With `amsgrad` the largest v of all steps so far stands
    /// in the place of v, before the division by 1 − β₂ᵗ.
    Adam {
        /// The decay β₁ of the first moment, in [0, 1).
        beta1: f64,
        /// The decay β₂ of the second moment, in [0, 1).
        beta2: f64,
        /// The stabiliser ε under the root's sum.
        epsilon: f64,
        /// Whether steps are divided by the largest second moment so far, so that no rate ever rises again.
        amsgrad: bool,
    },
}

impl Optimiser {
    /// Adam with the usual constants, with or without AMSGrad.
    pub const fn adam(amsgrad: bool) -> Self {
        Self::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, amsgrad }
    }

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
    /// The largest v so far; empty without AMSGrad.
    pub largest: Vec<T>,
}

impl Optimiser {
    /// What it remembers before the first step of a parameter of this size.
    pub fn moments<T: Real>(&self, len: usize) -> Moments<T> {
        let zeros = |wanted: bool| vec![T::default(); if wanted { len } else { 0 }];
        Moments {
            first: zeros(true),
            second: zeros(!matches!(self, Self::Sgd { .. })),
            largest: zeros(matches!(self, Self::Adam { amsgrad: true, .. })),
        }
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
        let Moments { first, second, largest } = moments;
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
                let shrink = T::from_f64(1.0 - update.rate * update.decay);
                let one = Adam::new(update, [beta1, beta2, epsilon]);
                ctx.rows_of([out, first, second], cols, |at, [out, m, v]| {
                    let (value, gradient) = row(at);
                    for i in 0..cols {
                        one.remember(gradient[i] * one.scale, &mut m[i], &mut v[i]);
                        out[i] = value[i] * shrink - one.change(m[i], v[i]);
                    }
                });
            }
            Self::Adam { beta1, beta2, epsilon, amsgrad } => {
                let decay = T::from_f64(update.decay);
                let one = Adam::new(update, [beta1, beta2, epsilon]);
                let coupled = |value: T, gradient: T| gradient * one.scale + decay * value;
                if amsgrad {
                    ctx.rows_of([out, first, second, largest], cols, |at, [out, m, v, most]| {
                        let (value, gradient) = row(at);
                        for i in 0..cols {
                            one.remember(coupled(value[i], gradient[i]), &mut m[i], &mut v[i]);
                            // v itself, not v̂: the correction shrinks with t and would keep the first steps' v̂ for ever.
                            most[i] = if v[i].above(most[i]) { v[i] } else { most[i] };
                            out[i] = value[i] - one.change(m[i], most[i]);
                        }
                    });
                } else {
                    ctx.rows_of([out, first, second], cols, |at, [out, m, v]| {
                        let (value, gradient) = row(at);
                        for i in 0..cols {
                            one.remember(coupled(value[i], gradient[i]), &mut m[i], &mut v[i]);
                            out[i] = value[i] - one.change(m[i], v[i]);
                        }
                    });
                }
            }
        })
    }
}

/// The constants of one step of Adam, coupled or not.
struct Adam<T> {
    /// β₁ and 1 − β₁, β₂ and 1 − β₂.
    betas: [T; 4],
    epsilon: T,
    scale: T,
    /// η / (1 − β₁ᵗ).
    step: T,
    /// 1 / √(1 − β₂ᵗ).
    root: T,
}

impl<T: Real> Adam<T> {
    fn new(update: &Update, [beta1, beta2, epsilon]: [f64; 3]) -> Self {
        let t = i32::try_from(update.step).unwrap_or(i32::MAX);
        Self {
            betas: [beta1, 1.0 - beta1, beta2, 1.0 - beta2].map(T::from_f64),
            epsilon: T::from_f64(epsilon),
            scale: T::from_f64(update.scale),
            step: T::from_f64(update.rate / (1.0 - beta1.powi(t))),
            root: T::from_f64(1.0 / (1.0 - beta2.powi(t)).sqrt()),
        }
    }

    fn remember(&self, g: T, m: &mut T, v: &mut T) {
        let [b1, c1, b2, c2] = self.betas;
        *m = b1 * *m + c1 * g;
        *v = b2 * *v + c2 * g * g;
    }

    fn change(&self, m: T, v: T) -> T {
        self.step * m / (v.sqrt() * self.root + self.epsilon)
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

    /// θ after each of the gradients 1, 0, −.02 from θ = 1 at rate .1, as torch 2.15.0 has them in float64.
    fn three(optimiser: Optimiser, decay: f64) -> Vec<f64> {
        let ctx = Context::<f64>::new(1);
        let mut value = Tensor::new(1, 1, vec![1.0]);
        let mut moments = optimiser.moments(1);
        let mut found = Vec::new();
        for (step, gradient) in (1..).zip([1.0, 0.0, -0.02]) {
            let gradient = ParamGrad::Dense(Tensor::new(1, 1, vec![gradient]));
            let update = Update { rate: 0.1, decay, scale: 1.0, step };
            value = optimiser.step(&ctx, &update, (&value, &gradient), &mut moments);
            found.push(value.data()[0]);
        }
        found
    }

    fn near(found: &[f64], expected: [f64; 3]) -> bool {
        found.len() == 3 && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-7)
    }

    #[test]
    fn three_steps_of_adam_are_pytorchs() {
        let [plain, largest] = [false, true].map(Optimiser::adam);
        let coupled = [0.9, 0.82714642, 0.76729356];
        for (optimiser, decay, expected) in [
            (largest, 0.0, [0.9, 0.83302769, 0.78256141]),
            (plain, 0.0, [0.9, 0.83299418, 0.78248751]),
            (largest, 0.1, coupled),
        ] {
            let found = three(optimiser, decay);
            assert!(near(&found, expected), "{optimiser:?} {decay}: {found:?}");
        }
        // Decoupled decay and no maximum at all must show.
        assert!(!near(&three(Optimiser::ADAM_W, 0.1), coupled));
        assert!(!near(&three(plain, 0.0), [0.9, 0.83302769, 0.78256141]));
    }

    /// The maximum is of v, not of v̂: after a first gradient of 1, v̂ is 1 and would stay it.
    #[test]
    fn the_largest_second_moment_is_the_raw_one() {
        let corrected = |gradients: [f64; 3]| {
            let (mut theta, mut m, mut v, mut most) = (1.0, 0.0, 0.0, 0.0_f64);
            for (t, g) in (1..).zip(gradients) {
                m = 0.9 * m + 0.1 * g;
                v = 0.999 * v + 0.001 * g * g;
                most = most.max(v / (1.0 - 0.999_f64.powi(t)));
                theta -= 0.1 * m / (1.0 - 0.9_f64.powi(t)) / (most.sqrt() + 1e-8);
            }
            theta
        };
        let found = three(Optimiser::adam(true), 0.0)[2];
        assert!((found - 0.78256141).abs() < 1e-7, "{found}");
        assert!((found - corrected([1.0, 0.0, -0.02])).abs() > 1e-3, "the planted fault does not show");
    }
}
