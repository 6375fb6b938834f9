//! A softplus for every ReLU: closed forms, far from zero, first and second derivatives, and what is not replaced.

use exegete_engine::*;
use exegete_testkit::{Of, check, close};

const SIZE: Of = Of::Size(1.0);

/// relu(s − 10) + 3·relu(s + 1) − 1 with s = Σx, in either kind of number, with a softplus where β is given.
fn summed<T: Scalar>(mode: Mode, beta: Option<f64>, x: Tensor<T>) -> (Tape<T>, Var<T>, Var<T>) {
    let of = |rows: usize, cols: usize, numbers: &[f64]| -> Var<T> {
        Tensor::new(rows, cols, numbers.iter().map(|&n| T::from_f64(n)).collect()).into()
    };
    let mut tape = Tape::new(Context::new(1), mode);
    if let Some(beta) = beta {
        tape.soften(beta);
    }
    let x = tape.watch(x.into());
    let inner = tape.apply(Op::Linear, [x.clone(), of(4, 3, &[1.0; 12]), of(1, 4, &[-10.0, 1.0, 1.0, 1.0])]);
    let inner = tape.apply(Op::Unary(Unary::Relu), [inner]); // [B, 4]
    let out = tape.apply(Op::Linear, [inner, of(1, 4, &[1.0; 4]), of(1, 1, &[-1.0])]); // [B, 1]
    (tape, x, out)
}

const AT: [f64; 3] = [3.0, 4.0, 2.5];

/// F, its gradient, and its Hessian row by row.
fn derivatives(beta: Option<f64>) -> (f64, Vec<f64>, Vec<f64>) {
    let (mut value, mut gradient, mut hessian) = (0.0, Vec::new(), Vec::new());
    for along in 0..3 {
        let number = |(i, &v): (usize, &f64)| Dual { v, t: if i == along { 1.0 } else { 0.0 } };
        let x = Tensor::new(1, 3, AT.iter().enumerate().map(number).collect());
        let (tape, x, out) = summed::<Dual<f64>>(Mode::Gradient, beta, x);
        let seed = Tensor::new(1, 1, vec![Dual { v: 1.0, t: 0.0 }]);
        let pulled = tape.backward(vec![(out.node.unwrap(), seed)], &[x.node.unwrap()], &Gradient).unwrap();
        let slope = pulled[0].clone().unwrap();
        value = out.value.data()[0].v;
        gradient = slope.data().iter().map(|x| x.v).collect();
        hessian.extend(slope.data().iter().map(|x| x.t));
        close("forward slope", &[out.value.data()[0].t], &[gradient[along]], SIZE, 1e-12);
    }
    (value, gradient, hessian)
}

#[test]
fn a_sum_of_rectifiers_worked_by_hand() {
    let near = |beta: Option<f64>, value: f64, slope: f64, curvature: f64| {
        let (found, gradient, hessian) = derivatives(beta);
        close("value", &[found], &[value], SIZE, 1e-6);
        close("gradient", &gradient, &[slope; 3], SIZE, 1e-6);
        close("Hessian", &hessian, &[curvature; 9], SIZE, 1e-6);
    };
    near(None, 30.5, 3.0, 0.0);
    near(Some(10.0), 30.500_671_5, 3.006_692_9, 0.066_480_6);
    near(Some(1.0), 30.974_159_6, 3.377_458_1, 0.235_086_3);
    // A swap of the slopes alone, with the values of ReLU, is noticed.
    let (relu, _, flat) = derivatives(None);
    assert!(check("a fault", &[relu], &[30.974_159_6], SIZE, 1e-3).is_err());
    assert!(check("a fault", &flat, &[0.235_086_3; 9], SIZE, 1e-3).is_err());
}

fn soft<T: Scalar>(beta: f64, x: Vec<T>) -> Vec<T> {
    let x: Var<T> = Tensor::new(1, x.len(), x).into();
    let op = Op::Unary(Unary::Softplus(beta));
    Tape::new(Context::new(1), Mode::Off).apply(op, [x]).value.data().to_vec()
}

#[test]
fn far_from_zero_nothing_overflows() {
    fn far<T: Scalar>(within: f64) {
        for beta in [1.0, 10.0, 1000.0] {
            let found = soft::<T>(beta, [-200.0, 200.0, -1e30, 1e30].map(T::from_f64).to_vec());
            let found: Vec<f64> = found.iter().map(|x| x.value()).collect();
            close("far", &found[..2], &[0.0, 200.0], SIZE, within);
            assert_eq!((found[2], found[3]), (0.0, T::from_f64(1e30).value()));
        }
        assert!(soft::<T>(10.0, vec![T::from_f64(f64::NAN)])[0].value().is_nan());
    }
    far::<f64>(1e-12);
    far::<f32>(1e-5);
    let slopes = soft(10.0, [-200.0, 200.0].map(|v| Dual { v, t: 1.0 }).to_vec());
    assert_eq!(slopes.iter().map(|x| x.t).collect::<Vec<f64>>(), [0.0, 1.0]);
}

#[test]
fn at_zero_it_is_half_way() {
    for beta in [0.5, 1.0, 10.0] {
        let at = soft(beta, vec![Dual { v: 0.0, t: 1.0 }])[0];
        close("value and slope", &[at.v, at.t], &[2f64.ln() / beta, 0.5], SIZE, 1e-15);
        close("curvature", &[second(beta, 0.0)], &[beta / 4.0], SIZE, 1e-14);
    }
}

/// The slope of the slope, by the backward rule in dual numbers.
fn second(beta: f64, at: f64) -> f64 {
    let mut tape = Tape::new(Context::new(1), Mode::Gradient);
    let x = tape.watch(Tensor::new(1, 1, vec![Dual { v: at, t: 1.0 }]).into());
    let y = tape.apply(Op::Unary(Unary::Softplus(beta)), [x.clone()]);
    let seed = Tensor::new(1, 1, vec![Dual { v: 1.0, t: 0.0 }]);
    let pulled = tape.backward(vec![(y.node.unwrap(), seed)], &[x.node.unwrap()], &Gradient).unwrap();
    pulled[0].as_ref().unwrap().data()[0].t
}

#[test]
fn both_derivatives_are_those_of_differences() {
    for beta in [0.3, 1.0, 10.0, 50.0] {
        let step = 1e-4 / beta;
        for x in [-2.0, -0.3, -0.01, 0.02, 0.4, 1.7].map(|x| x / beta) {
            let value = |x: f64| soft(beta, vec![Dual { v: x, t: 1.0 }])[0];
            let (ahead, behind) = (value(x + step), value(x - step));
            let slope = (ahead.v - behind.v) / (2.0 * step);
            close("first", &[value(x).t], &[slope], SIZE, 1e-7);
            let curvature = (ahead.t - behind.t) / (2.0 * step);
            close("second", &[second(beta, x) / beta], &[curvature / beta], SIZE, 1e-7);
        }
    }
}

/// Only ReLU is replaced, whatever the tape remembers, and rules close over the replaced network.
#[test]
fn other_functions_stay_and_rules_close() {
    for mode in [Mode::Off, Mode::Gradient, Mode::Lowered] {
        let mut tape = Tape::new(Context::new(1), mode);
        tape.soften(10.0);
        for unary in [Unary::Gelu, Unary::Silu, Unary::Tanh, Unary::Sigmoid] {
            let x: Var<f64> = Tensor::new(1, 2, vec![-0.3, 0.4]).into();
            let found = tape.apply(Op::Unary(unary), [x.clone()]).value;
            let plain = Tape::new(Context::new(1), Mode::Off).apply(Op::Unary(unary), [x]).value;
            assert_eq!(found.data(), plain.data());
        }
        assert_eq!(tape.softened(), 0);
        let x: Var<f64> = Tensor::new(1, 1, vec![0.0]).into();
        let found = tape.apply(Op::Unary(Unary::Relu), [x]).value.data()[0];
        close("softened", &[found], &[0.1 * 2f64.ln()], SIZE, 1e-15);
        assert_eq!(tape.softened(), 1);
    }
    let texts = Tensor::new(2, 3, [AT, [0.5, -0.5, -1.0]].concat());
    let (tape, x, out) = summed::<f64>(Mode::Lowered, Some(2.0), texts);
    let [f, f0] = [out.value.data()[0], out.value.data()[1]];
    let seed = || vec![(out.node.unwrap(), Tensor::new(2, 1, vec![1.0, 0.0]))];
    for reveal_cancel in [false, true] {
        let pulled = tape.backward(seed(), &[x.node.unwrap()], &DeepLift { reveal_cancel }).unwrap();
        let (m, x) = (pulled[0].clone().unwrap(), x.value.data());
        let sum: f64 = (0..3).map(|i| m.data()[i] * (x[i] - x[i + 3])).sum();
        close("DeepLIFT", &[sum], &[f - f0], SIZE, 1e-9);
    }
    let table = Lrp(Shares::Epsilon(0.01));
    let pulled = tape.backward(seed(), &[x.node.unwrap()], &table).unwrap();
    let booked = tape.booked(seed(), &[x.node.unwrap()], &table).unwrap().total();
    let m = pulled[0].clone().unwrap();
    let sum: f64 = (0..3).map(|i| m.data()[i] * x.value.data()[i]).sum();
    close("relevance", &[sum + booked], &[f], SIZE, 1e-9);
}
