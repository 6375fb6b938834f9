//! Jacobian- and Hessian-vector products by dual numbers, against differences and a quadratic worked by hand.

use crate::cases::{self, Case, OF, Random, dot, moved, relative};
use crate::gradients::TOLERANCE;
use exegete_engine::*;
use exegete_testkit::{Comparison, Of};

/// Four times the 9e-8 that were measured: over a whole net differences lose more digits than over one operation.
const NET_TOLERANCE: f64 = 4.0 * 9e-8;
/// Four times the 6.2e-6 that were measured.
const SINGLE_TOLERANCE: f64 = 4.0 * 6.2e-6;
const STEP: f64 = 1e-5;

/// v + t·ε, element by element.
fn dual(v: &Tensor<f64>, t: &Tensor<f64>) -> Tensor<Dual<f64>> {
    let pairs = v.data().iter().zip(t.data()).map(|(&v, &t)| Dual { v, t });
    Tensor::new(v.rows(), v.cols(), pairs.collect())
}

fn tangent(x: &Tensor<Dual<f64>>) -> Tensor<f64> {
    x.map(|x| x.t)
}

/// (f(step) − f(−step)) / 2step.
fn difference(f: impl Fn(f64) -> Tensor<f64>) -> Tensor<f64> {
    moved(&f(STEP), &f(-STEP), -1.0).map(|d| d / (2.0 * STEP))
}

/// L = ½wᵀXw has the Hessian ½(X + Xᵀ) = [[1, 2.5], [2.5, 4]].
#[test]
fn quadratic_worked_by_hand() {
    let number = |v: f64, t: f64| Dual { v, t };
    let mut tape = Tape::new(Context::new(1), Mode::Gradient);
    let x = Tensor::new(2, 2, [1.0, 2.0, 3.0, 4.0].map(|x| number(x, 0.0)).into());
    let w = Tensor::new(1, 2, vec![number(1.0, 10.0), number(2.0, 20.0)]);
    let w = tape.watch(w.into());
    let xw = tape.apply(Op::Linear, [w.clone(), x.into()]);
    let wxw = tape.apply(Op::Mul, [w.clone(), xw]);
    let sum = tape.apply(Op::RowSum, [wxw]);
    let loss = tape.apply(Op::Scale(0.5), [sum]);
    // ½(1·(1 + 4) + 2·(3 + 8)) = 13.5, and its slope along v is [6, 10.5]·[10, 20] = 270.
    assert_eq!(loss.value.data(), [number(13.5, 270.0)]);
    let seed = Tensor::new(1, 1, vec![number(1.0, 0.0)]);
    let gradient = tape
        .backward(vec![(loss.node.unwrap(), seed)], &[w.node.unwrap()], &Gradient)
        .unwrap()
        .remove(0)
        .unwrap();
    assert_eq!(gradient.data(), [number(6.0, 60.0), number(10.5, 105.0)]);
}

/// Of an operation: the tangent of the value, and the tangent of every pull, with moving seeds too.
#[derive(Default)]
struct Tangents {
    forward: Comparison,
    adjoint: Comparison,
    backward: Comparison,
}

impl Tangents {
    /// Duals that move by `moves`, against differences along the same but for what is planted.
    fn compare(
        &mut self,
        (case, template): (&Case<f64>, Case<Dual<f64>>),
        planted: impl Fn(usize, &Tensor<f64>) -> Tensor<f64>,
    ) {
        let mut random = Random::new(3);
        let along: Vec<Tensor<f64>> = case.inputs.iter().map(|x| random.tensor(x.rows(), x.cols())).collect();
        let value = case.value();
        let [seed, seed_along]: [Tensor<f64>; 2] =
            std::array::from_fn(|_| random.tensor(value.rows(), value.cols()));
        let moves = along.iter().enumerate().map(|(i, v)| planted(i, v));
        let inputs = case.inputs.iter().zip(moves).map(|(x, v)| dual(x, &v)).collect();
        let duals = Case { inputs, ..template };
        let at = |step: f64| {
            let inputs = case.inputs.iter().zip(&along).map(|(x, v)| moved(x, v, step)).collect();
            Case { inputs, ..case.clone() }
        };

        let result = duals.value();
        let jv = tangent(&result);
        assert!(relative(&result, &value) <= 1e-15, "{}: another value", case.name);
        let name = format!("{} ({:?})", case.name, case.op.kind());
        self.forward.compare(&name, &jv, &difference(|step| at(step).value()), OF);

        let pulls = case.pull(Mode::Gradient, &Gradient, &seed).unwrap();
        let back: f64 = pulls.iter().zip(&along).map(|(pull, v)| dot(pull, v)).sum();
        let there = dot(&seed, &jv);
        self.adjoint.compare(&name, &[back], &[there], Of::Each(1.0));

        let moving = duals.pull(Mode::Gradient, &Gradient, &dual(&seed, &seed_along)).unwrap();
        for (i, pull) in moving.iter().enumerate() {
            let truth = difference(|step| {
                let seed = moved(&seed, &seed_along, step);
                at(step).pull(Mode::Gradient, &Gradient, &seed).unwrap().remove(i)
            });
            self.backward.compare(&format!("{name}, input {i}"), &tangent(pull), &truth, OF);
        }
    }
}

fn all() -> impl Iterator<Item = (Case<f64>, Case<Dual<f64>>)> {
    cases::all::<f64>().into_iter().zip(cases::all::<Dual<f64>>())
}

#[test]
fn every_operation_carries_tangents_forward_and_backward() {
    let mut found = Tangents::default();
    all().for_each(|(case, template)| found.compare((&case, template), |_, v| v.clone()));
    let Tangents { forward, adjoint, backward } = found;
    println!("worst: {:?}, {:?}, {:?}", forward.worst(), adjoint.worst(), backward.worst());
    forward.assert_within(TOLERANCE);
    adjoint.assert_within(1e-12);
    backward.assert_within(TOLERANCE);
}

/// Where an input moves by what is no number, so does the value, and the pulls of what is not linear.
#[test]
fn a_planted_nan_is_seen_in_every_tangent() {
    let mut bent = 0;
    for (case, template) in all() {
        let mut found = Tangents::default();
        let planted = |i: usize, v: &Tensor<f64>| if i == 0 { v.map(|_| f64::NAN) } else { v.clone() };
        found.compare((&case, template), planted);
        assert!(found.forward.check(f64::MAX).is_err(), "{}", case.name);
        assert!(found.adjoint.check(f64::MAX).is_err(), "{}", case.name);
        bent += usize::from(found.backward.check(f64::MAX).is_err());
    }
    assert!(bent > 20, "{bent} operations");
}

/// A two-layer encoder with a cross-entropy over two sequences: every parameter and the input are watched.
struct Net {
    mode: Mode,
}

const SHAPES: [(usize, usize); 10] =
    [(5, 6), (6, 6), (6, 6), (6, 6), (1, 6), (1, 6), (9, 6), (1, 9), (6, 9), (3, 6)];

impl Net {
    fn loss<T: Scalar>(&self, tape: &mut Tape<T>, p: &[Var<T>]) -> Var<T> {
        let [x, q, k, v, gain, bias, inner, inner_bias, outer, classes] = p else { panic!("ten parameters") };
        let mut x = x.clone(); // [T, H]
        for _ in 0..2 {
            let heads = cases::heads(2, 3, &[4, 1], &[4, 1]);
            let [q, k, v] = [q, k, v].map(|w| tape.apply(Op::Linear, [x.clone(), w.clone()])); // [T, H]
            let context = tape.attention(&heads, q, k, v); // [T, H]
            let middle = tape.add_layer_norm(context, x, gain.clone(), bias.clone(), 1e-5); // [T, H]
            let wide = tape.apply(Op::Linear, [middle.clone(), inner.clone(), inner_bias.clone()]); // [T, 9]
            let wide = tape.apply(Op::Unary(Unary::Gelu), [wide]);
            let narrow = tape.apply(Op::Linear, [wide, outer.clone()]); // [T, H]
            x = tape.add_layer_norm(narrow, middle, gain.clone(), bias.clone(), 1e-5); // [T, H]
        }
        let first = tape.apply(Op::Gather([0, 4].into()), [x]); // [B, H]
        let logits = tape.apply(Op::Linear, [first, classes.clone()]); // [B, C]
        let logs = tape.apply(Op::LogSoftmax, [logits]);
        let picked = tape.apply(Op::Pick([2, 0].into()), [logs]); // [B, 1]
        tape.apply(Op::Scale(-1.0), [picked])
    }

    fn run<T: Scalar>(&self, p: &[Tensor<T>]) -> (Tensor<T>, Vec<Tensor<T>>) {
        let mut tape = Tape::new(Context::new(1), self.mode);
        let p: Vec<_> = p.iter().map(|p| tape.watch(p.clone().into())).collect();
        let wrt: Vec<_> = p.iter().map(|p| p.node.unwrap()).collect();
        let loss = self.loss(&mut tape, &p);
        let seed = loss.value.map(|_| T::from_f64(1.0));
        let gradients = tape.backward(vec![(loss.node.unwrap(), seed)], &wrt, &Gradient).unwrap();
        (loss.value, gradients.into_iter().map(Option::unwrap).collect())
    }
}

#[test]
fn hessian_vector_products_of_a_transformer() {
    for mode in [Mode::Gradient, Mode::Lowered] {
        let (net, mut random) = (Net { mode }, Random::new(5));
        let [p, v]: [Vec<Tensor<f64>>; 2] =
            std::array::from_fn(|_| SHAPES.iter().map(|&(rows, cols)| random.tensor(rows, cols)).collect());
        let at = |step: f64| {
            let p: Vec<_> = p.iter().zip(&v).map(|(p, v)| moved(p, v, step)).collect();
            net.run(&p)
        };
        let duals: Vec<_> = p.iter().zip(&v).map(|(p, v)| dual(p, v)).collect();
        let (loss, products) = net.run(&duals);
        let gradients = at(0.0).1;
        let slope: f64 = gradients.iter().zip(&v).map(|(g, v)| dot(g, v)).sum();
        let forward: f64 = loss.data().iter().map(|l| l.t).sum();
        assert!(
            (slope - forward).abs() <= 1e-11 * slope.abs().max(1.0),
            "{slope} backward, {forward} forward"
        );
        assert!(relative(&tangent(&loss), &difference(|step| at(step).0)) <= NET_TOLERANCE);
        for (i, (product, gradient)) in products.iter().zip(&gradients).enumerate() {
            assert!(relative(product, gradient) <= 1e-12, "gradient {i}");
            let error = relative(&tangent(product), &difference(|step| at(step).1.remove(i)));
            println!("{mode:?} {i}: {error:e}");
            assert!(error <= NET_TOLERANCE, "parameter {i}, {mode:?}: {error:e}");
        }
        let mut spoilt = duals;
        spoilt[3] = dual(&p[3], &cases::nudged(&v[3], 7, f64::NAN));
        let (_, spoilt) = net.run(&spoilt);
        assert!(spoilt.iter().zip(&products).all(|(a, b)| relative(&tangent(a), &tangent(b)).is_infinite()));
        // The Hessian is symmetric: ⟨u, Hv⟩ = ⟨v, Hu⟩.
        let u: Vec<Tensor<f64>> = SHAPES.iter().map(|&(rows, cols)| random.tensor(rows, cols)).collect();
        let other = net.run(&p.iter().zip(&u).map(|(p, u)| dual(p, u)).collect::<Vec<_>>()).1;
        let inner = |a: &[Tensor<f64>], b: &[Tensor<Dual<f64>>]| -> f64 {
            a.iter().zip(b).map(|(a, b)| dot(a, &tangent(b))).sum()
        };
        let (left, right) = (inner(&u, &products), inner(&v, &other));
        assert!((left - right).abs() <= 1e-10 * left.abs().max(1.0), "{left} and {right}");
    }
}

/// The whole chain in single precision stays near double.
#[test]
fn single_precision_duals() {
    let (net, mut random) = (Net { mode: Mode::Gradient }, Random::new(5));
    let [p, v]: [Vec<Tensor<f64>>; 2] =
        std::array::from_fn(|_| SHAPES.iter().map(|&(rows, cols)| random.tensor(rows, cols)).collect());
    let exact: Vec<_> = p.iter().zip(&v).map(|(p, v)| dual(p, v)).collect();
    let single: Vec<_> = exact.iter().map(|x| x.map(|d| Dual { v: d.v as f32, t: d.t as f32 })).collect();
    for (a, b) in net.run(&single).1.iter().zip(net.run(&exact).1) {
        let error = relative(&a.map(|d| d.t), &tangent(&b));
        println!("{error:e}");
        assert!(error <= SINGLE_TOLERANCE, "{error:e}");
    }
}
