//! Guided backpropagation and deconvolution: rectifiers by their own rule, all else by the gradient.

use crate::cases::{self, Case, bits};
use exegete_engine::*;

const RECTIFIERS: [OpKind; 5] =
    [OpKind::Relu, OpKind::Softplus, OpKind::Gelu, OpKind::GeluTanh, OpKind::Silu];

fn pull(unary: Unary, table: &dyn RuleTable<f64>) -> Vec<f64> {
    let case =
        Case { name: "", op: Op::Unary(unary), inputs: vec![Tensor::new(1, 4, vec![2.0, 2.0, -2.0, -2.0])] };
    let seed = Tensor::new(1, 4, vec![3.0, -3.0, 3.0, -3.0]);
    case.pull(Mode::Lowered, table, &seed).unwrap()[0].data().to_vec()
}

#[test]
fn rectifiers_follow_their_rules() {
    assert_eq!(pull(Unary::Relu, &GuidedBackprop), [3.0, 0.0, 0.0, 0.0]);
    assert_eq!(pull(Unary::Relu, &Deconvolution), [3.0, 0.0, 3.0, 0.0]);
    for unary in [Unary::Gelu, Unary::GeluTanh, Unary::Silu] {
        let slope = pull(unary, &Gradient)[0];
        assert_eq!(pull(unary, &GuidedBackprop), [slope, 0.0, 0.0, 0.0]);
        assert_eq!(pull(unary, &Deconvolution), [3.0, 0.0, 3.0, 0.0]);
    }
}

/// What comes back and is no number goes on as none.
#[test]
fn a_planted_nan_is_noticed() {
    let tables: [&dyn RuleTable<f64>; 2] = [&GuidedBackprop, &Deconvolution];
    for case in cases::all::<f64>().into_iter().filter(|case| RECTIFIERS.contains(&case.op.kind())) {
        for table in tables {
            let above = case.inputs[0].data().iter().position(|&x| x > 0.0).unwrap();
            let seed = cases::nudged(&case.value(), above, f64::NAN);
            let found = case.pull(Mode::Lowered, table, &seed).unwrap();
            let right = case.pull(Mode::Lowered, table, &case.value()).unwrap();
            assert!(cases::relative(&found[0], &right[0]).is_infinite(), "{} {}", table.name(), case.name);
        }
    }
}

#[test]
fn everything_else_follows_the_gradient() {
    let tables: [&dyn RuleTable<f64>; 2] = [&GuidedBackprop, &Deconvolution];
    for case in cases::all::<f64>() {
        for table in tables {
            let seed = case.value().map(|y| -y);
            let [found, gradient] =
                [table, &Gradient].map(|table| case.pull(Mode::Lowered, table, &seed).unwrap());
            let finite = |all: &[Tensor<f64>]| all.iter().flat_map(Tensor::data).all(|g| g.is_finite());
            assert!(finite(&found) && finite(&gradient), "{} {:?}", table.name(), case.op.kind());
            let same = found.iter().zip(&gradient).all(|(a, b)| bits(a) == bits(b));
            assert_eq!(same, !RECTIFIERS.contains(&case.op.kind()), "{} {:?}", table.name(), case.op.kind());
        }
    }
}
