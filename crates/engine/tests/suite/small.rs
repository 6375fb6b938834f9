//! What small models are made of beside recurrences: convolutions, softmax, sums and maxima over each sequence.

use crate::cases::{OF, Random, bits, dot, nudged};
use exegete_engine::*;
use exegete_testkit::{Of, check, close};

fn tape<T: Scalar>(mode: Mode) -> Tape<T> {
    Tape::new(Context::new(1), mode)
}

fn column(numbers: &[f64]) -> Var<f64> {
    Tensor::new(numbers.len(), 1, numbers.to_vec()).into()
}

/// As PyTorch pads: one row more after than before where the width is even.
#[test]
fn an_even_window_reaches_further_ahead() {
    let weight: Var<f64> = Tensor::new(1, 4, vec![1.0, 10.0, 100.0, 1000.0]).into();
    let x = column(&[1.0, 2.0, 3.0, 7.0]);
    let out = tape(Mode::Off).convolution(&Segments::new([3, 1]), x, weight, None);
    assert_eq!(out.value.data(), [3210.0, 321.0, 32.0, 70.0]);
}

/// A file's weight [O, I, K], element by element, with neighbours that must not be read.
#[test]
fn a_convolution_is_its_definition() {
    let r = &mut Random::new(4);
    let (lengths, inputs, outputs) = ([4usize, 0, 2, 5], 3, 2);
    let segments = Segments::new(lengths);
    for width in 1..=7usize {
        let x: Tensor<f64> = r.tensor(11, inputs);
        let (w, b) = (r.tensor(outputs, inputs * width), r.tensor(1, outputs));
        let vars = [x.clone(), w.clone(), b.clone()].map(Var::<f64>::from);
        let [xv, wv, bv] = vars;
        let found = tape(Mode::Off).convolution(&segments, xv, wv, Some(bv)).value;
        let mut expected = Vec::new();
        for (s, &length) in lengths.iter().enumerate() {
            for t in 0..length {
                for o in 0..outputs {
                    let place = |k: usize| (t + k).checked_sub((width - 1) / 2).filter(|&p| p < length);
                    let term = |k: usize, i: usize| match place(k) {
                        Some(p) => {
                            let row = segments.range(s).start + p;
                            x.data()[row * inputs + i] * w.data()[(o * inputs + i) * width + k]
                        }
                        None => 0.0,
                    };
                    let all = (0..width).flat_map(|k| (0..inputs).map(move |i| (k, i)));
                    expected.push(b.data()[o] + all.map(|(k, i)| term(k, i)).sum::<f64>());
                }
            }
        }
        close(&format!("width {width}"), found.data(), &expected, Of::Size(1.0), 1e-12);
    }
}

#[test]
fn unpadded_windows_stay_within_their_sequence() {
    let segments = Segments::new([4, 1, 2]);
    let windows = Windows::new(&segments, 2, false);
    assert_eq!(windows.outputs().lengths().collect::<Vec<_>>(), [3, 0, 1]);
    let x = column(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let out = tape(Mode::Off).apply(Op::Unfold(windows), [x]).value;
    assert_eq!(out.data(), [1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 6.0, 7.0]);
}

/// Scores (1, 2, 0), values (1, −1, 3) against zeros; a second text shows that texts keep apart.
#[test]
fn an_attention_row_by_hand() {
    let segments = Segments::new([3, 2, 3, 2]);
    let mut tape = tape(Mode::Lowered);
    let zeros = [0.0; 5];
    let scores = tape.watch(column(&[&[1.0, 2.0, 0.0, 5.0, -1.0][..], &zeros].concat()));
    let values = tape.watch(column(&[&[1.0, -1.0, 3.0, 9.0, 4.0][..], &zeros].concat()));
    let weights = tape.segment_softmax(&segments, scores.clone());
    let expected = [0.2447285, 0.6652410, 0.0900306];
    close("weights", &weights.value.data()[..3], &expected[..], Of::Size(1.0), 1e-6);
    let sum = tape.segment_weighted_sum(&segments, weights, values.clone());
    close("F", &sum.value.data()[..1], &[-0.1504208][..], Of::Size(1.0), 1e-6);
    let seed = || vec![(sum.node.unwrap(), Tensor::new(4, 1, vec![1.0, 0.0, 0.0, 0.0]))];
    let wrt = [scores.node.unwrap(), values.node.unwrap()];
    let shares = |table: &dyn RuleTable<f64>| -> Vec<Vec<f64>> {
        let pulls = tape.backward(seed(), &wrt, table).unwrap().into_iter().zip([&scores, &values]);
        let share = |(m, x): (Option<Tensor<f64>>, &Var<f64>)| match m {
            Some(m) => (0..3).map(|i| m.data()[i] * x.value.data()[i]).collect(),
            None => vec![0.0; 3],
        };
        pulls.map(share).collect()
    };
    let near = |found: &[f64], truth: [f64; 3]| close("shares", found, &truth[..], Of::Size(1.0), 1e-6);
    let lifted = shares(&DeepLift { reveal_cancel: false });
    near(&lifted[0], [0.0886049, -0.6638152, 0.0]);
    near(&lifted[1], [0.2890309, -0.4992871, 0.6350459]);
    let relevance = shares(&Lrp(Shares::Epsilon(0.001)));
    near(&relevance[0], [0.0; 3]);
    near(&relevance[1], [0.2447285, -0.6652410, 0.2700917]);
}

/// What may not be read is absent: a score of −∞ in its place has no difference to its baseline's, and spoils the row.
#[test]
fn a_forbidden_word_is_absent_and_not_minus_infinity() {
    let lifted = |scores: &[f64], values: &[f64]| {
        let count = scores.len();
        let segments = Segments::new([count, count]);
        let mut tape = tape(Mode::Lowered);
        let baseline: Vec<f64> = scores.iter().map(|&s| if s.is_finite() { 0.0 } else { s }).collect();
        let x = tape.watch(column(&[scores, &baseline].concat()));
        let v = column(&[values, &vec![0.0; count]].concat());
        let weights = tape.segment_softmax(&segments, x.clone());
        let sum = tape.segment_weighted_sum(&segments, weights, v);
        let seed = vec![(sum.node.unwrap(), Tensor::new(2, 1, vec![1.0, 0.0]))];
        let m = tape.backward(seed, &[x.node.unwrap()], &DeepLift { reveal_cancel: false }).unwrap();
        let m = m[0].clone().unwrap();
        (0..3).map(|i| m.data()[i] * scores[i]).collect::<Vec<f64>>()
    };
    let expected = [0.0886049, -0.6638152, 0.0];
    let absent = lifted(&[1.0, 2.0, 0.0], &[1.0, -1.0, 3.0]);
    close("absent", &absent[..], &expected[..], Of::Size(1.0), 1e-6);
    let masked = lifted(&[1.0, 2.0, 0.0, f64::NEG_INFINITY], &[1.0, -1.0, 3.0, 7.0]);
    assert!(check("a fault", &masked[..], &expected[..], Of::Size(1.0), 1e-3).is_err(), "{masked:?}");
}

/// Text and baseline, and the multiplier of each row; equal to Captum's.
#[test]
fn a_maximum_hands_its_difference_to_one_row() {
    let lifted = |x: [f64; 3], baseline: [f64; 3]| {
        let mut tape = tape(Mode::Lowered);
        let x = tape.watch(column(&[x, baseline].concat()));
        let y = tape.apply(Op::SegmentMax(Segments::new([3, 3])), [x.clone()]);
        let seed = vec![(y.node.unwrap(), Tensor::new(2, 1, vec![1.0, 0.0]))];
        let m = tape.backward(seed, &[x.node.unwrap()], &DeepLift { reveal_cancel: false }).unwrap();
        let m = m[0].clone().unwrap();
        let shares: Vec<f64> =
            (0..3).map(|i| m.data()[i] * (x.value.data()[i] - x.value.data()[i + 3])).collect();
        shares
    };
    close("above", &lifted([1.0, 4.0, 2.0], [3.0, 0.0, 2.5]), &[0.0, 1.0, 0.0][..], Of::Size(1.0), 1e-15);
    close("below", &lifted([1.0, 2.0, 0.0], [3.0, 0.0, 2.5]), &[-1.0, 0.0, 0.0][..], Of::Size(1.0), 1e-15);
    close("equal", &lifted([1.0, 2.0, 0.0], [1.0, 2.0, 0.0]), &[0.0; 3][..], Of::Size(1.0), 1e-15);
}

#[test]
fn the_first_of_equal_maxima_gets_all_and_nan_is_not_passed_over() {
    let mut tape = tape(Mode::Lowered);
    let x = tape.watch(column(&[1.0, 3.0, 3.0, -2.0]));
    let y = tape.apply(Op::SegmentMax(Segments::new([3, 0, 1])), [x.clone()]);
    assert_eq!(y.value.data(), [3.0, 0.0, -2.0]);
    let seed = Tensor::new(3, 1, vec![5.0, 7.0, 2.0]);
    for table in [&Gradient as &dyn RuleTable<f64>, &Lrp(Shares::Epsilon(0.1)), &GuidedBackprop] {
        let pull = tape.backward(vec![(y.node.unwrap(), seed.clone())], &[x.node.unwrap()], table).unwrap();
        assert_eq!(pull[0].as_ref().unwrap().data(), [0.0, 5.0, 0.0, 2.0]);
    }
    for place in 0..3 {
        let mut numbers = [1.0, 3.0, 2.0];
        numbers[place] = f64::NAN;
        let y = tape.apply(Op::SegmentMax(Segments::new([3])), [column(&numbers)]);
        assert!(y.value.data()[0].is_nan(), "NaN at {place}");
    }
}

#[test]
fn means_sums_and_weighted_sums_of_nothing_are_zero() {
    let segments = Segments::new([2, 0, 1]);
    let x: Var<f64> = Tensor::new(3, 2, vec![1.0, 2.0, 5.0, 8.0, 4.0, 4.0]).into();
    for mode in [Mode::Off, Mode::Lowered] {
        let mut tape = tape(mode);
        let x = tape.watch(x.clone());
        let mean = tape.segment_mean(&segments, x.clone()).value;
        close("mean", mean.data(), &[3.0, 5.0, 0.0, 0.0, 4.0, 4.0][..], Of::Size(1.0), 1e-15);
        let alike = tape.segment_softmax(&segments, column(&[0.5, 0.5, 3.0]));
        close("softmax", alike.value.data(), &[0.5, 0.5, 1.0][..], Of::Size(1.0), 1e-15);
        let sum = tape.segment_weighted_sum(&segments, alike, x.clone());
        close("weighted", sum.value.data(), mean.data(), Of::Size(1.0), 1e-15);
        let spread = tape.apply(Op::Gather(segments.owners()), [sum]);
        assert_eq!((spread.value.rows(), &spread.value.data()[4..]), (3, &[4.0, 4.0][..]));
    }
}

/// The stabiliser of a mean is added to the mean, and what it takes is booked.
#[test]
fn a_mean_shares_by_contribution() {
    let segments = Segments::new([2]);
    let mut tape = tape(Mode::Lowered);
    let x = tape.watch(column(&[3.0, -1.0]));
    let mean = tape.segment_mean(&segments, x.clone());
    let (table, seed) =
        (Lrp(Shares::Epsilon(0.5)), || vec![(mean.node.unwrap(), Tensor::new(1, 1, vec![1.0]))]);
    let m = tape.backward(seed(), &[x.node.unwrap()], &table).unwrap().remove(0).unwrap();
    let booked = tape.booked(seed(), &[x.node.unwrap()], &table).unwrap().total();
    close("relevance", &[m.data()[0] * 3.0, -m.data()[1]], &[1.0, -1.0 / 3.0], Of::Size(1.0), 1e-14);
    close("together", &[dot(&m, &x.value) + booked], &[1.0], Of::Size(1.0), 1e-14);
}

/// Cut down to rows and columns, a patch changes what it changes in the whole.
#[test]
fn a_patch_within_is_a_patch_of_the_part() {
    let r = &mut Random::new(6);
    let x: Tensor<f64> = r.tensor(5, 6);
    let mut patch = Patch::default();
    patch.push(2, 17, 0.5, &[0.25]);
    patch.push(9, 12, 2.0, r.tensor(1, 12).data());
    patch.push(29, 1, 0.0, &[9.0]);
    let mut tape = tape(Mode::Off);
    let rows = [0, 1, 3, 4];
    let mut part = |x: Var<f64>| {
        let some = tape.apply(Op::Gather(rows.into()), [x]);
        tape.apply(Op::Columns(1, 4), [some])
    };
    let own = part(x.clone().into());
    let mut whole = Tape::new(Context::new(1), Mode::Off);
    let patched = whole.apply(Op::Patch(patch.clone().into()), [x.into()]);
    let expected = part(patched).value;
    let found = whole.apply(Op::Patch(patch.within(6, &rows, 1..4).into()), [own.clone()]).value;
    assert_eq!(bits(&found), bits(&expected));
    assert_ne!(bits(&found), bits(&own.value));
    assert!(patch.within(6, &[], 1..4).is_empty());
}

/// A convolution under an attention, and the mean beside it: F and its gradient by every input.
fn convolved(mode: Mode, inputs: &[Tensor<f64>]) -> (f64, Vec<Tensor<f64>>) {
    let (mut tape, segments) = (tape(mode), Segments::new([4, 1, 3]));
    let vars: Vec<_> = inputs.iter().map(|x| tape.watch(x.clone().into())).collect();
    let [x, weight, bias, score] = [0, 1, 2, 3].map(|i| vars[i].clone());
    let h = tape.convolution(&segments, x, weight, Some(bias)); // [8, 2]
    let h = tape.apply(Op::Unary(Unary::Tanh), [h]);
    let scores = tape.apply(Op::Linear, [h.clone(), score]); // [8, 1]
    let weights = tape.segment_softmax(&segments, scores);
    let context = tape.segment_weighted_sum(&segments, weights, h.clone()); // [3, 2]
    let mean = tape.segment_mean(&segments, h); // [3, 2]
    let out = tape.apply(Op::Mul, [context, mean]);
    let seed = Random::new(3).off_zero(3, 2);
    let f = dot(&seed, &out.value);
    let wrt: Vec<_> = vars.iter().map(|x| x.node.unwrap()).collect();
    let pulls = tape.backward(vec![(out.node.unwrap(), seed)], &wrt, &Gradient).unwrap();
    (f, pulls.into_iter().map(Option::unwrap).collect())
}

#[test]
fn gradients_of_a_convolution_under_an_attention_match_central_differences() {
    for (width, mode) in [(1, Mode::Gradient), (4, Mode::Gradient), (3, Mode::Lowered)] {
        let r = &mut Random::new(9);
        let inputs = [r.tensor(8, 3), r.tensor(2, 3 * width), r.tensor(1, 2), r.tensor(1, 2)];
        let (_, pulls) = convolved(mode, &inputs);
        for (i, pull) in pulls.iter().enumerate() {
            let at = |element: usize, by: f64| {
                let mut inputs = inputs.clone();
                inputs[i] = nudged(&inputs[i], element, by);
                convolved(mode, &inputs).0
            };
            let slopes: Vec<f64> =
                (0..pull.data().len()).map(|e| (at(e, 1e-5) - at(e, -1e-5)) / 2e-5).collect();
            close(&format!("width {width}, input {i}"), pull.data(), &slopes[..], OF, 1e-8);
        }
    }
}
