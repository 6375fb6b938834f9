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

#[test]
fn everything_else_follows_the_gradient() {
    let tables: [&dyn RuleTable<f64>; 2] = [&GuidedBackprop, &Deconvolution];
    for case in cases::all::<f64>() {
        for table in tables {
            let seed = case.value().map(|y| -y);
            let [found, gradient] =
                [table, &Gradient].map(|table| case.pull(Mode::Lowered, table, &seed).unwrap());
            let same = found.iter().zip(&gradient).all(|(a, b)| bits(a) == bits(b));
            assert_eq!(same, !RECTIFIERS.contains(&case.op.kind()), "{} {:?}", table.name(), case.op.kind());
        }
    }
}
