//! Looks inside a cell: states handed on, edits of every part, slopes at it and seeds in it.

use super::{CELLS, both_directions, directions, fill};
use crate::cases::{dot, nudged};
use exegete_engine::*;
use exegete_testkit::{Of, check, close};

/// A state handed from one run to the next is the state of one run over both; a GRU's as well as an LSTM's.
#[test]
fn a_run_goes_on_from_a_start() {
    for cell in CELLS {
        let weights: Vec<Var<f64>> = both_directions(cell)[..4].iter().cloned().map(Var::from).collect();
        let direction = directions(&weights).remove(0);
        for mode in [Mode::Off, Mode::Lowered] {
            let mut tape = Tape::new(Context::new(1), mode);
            let x: Var<f64> = fill(4, 2, 3).into();
            let one = Segments::new([4]);
            let whole = tape.recurrent(cell, &one, x.clone(), std::slice::from_ref(&direction)).value;
            let looks = |part| vec![CellLook { part, patch: Patch::default(), watch: false }];
            let part = if cell == RecurrentCell::Lstm { CellPart::Cell } else { CellPart::Hidden };
            let directions = std::slice::from_ref(&direction);
            let (h, sites) = tape.recurrent_inside(cell, &one, x.clone(), directions, looks(part));
            let [h, c] = [h, sites[0].var.clone()].map(|s| tape.apply(Op::Gather([1].into()), [s]));
            let state = if cell == RecurrentCell::Lstm { tape.apply(Op::JoinColumns, [h, c]) } else { h };
            let rest = tape.apply(Op::Gather([2, 3].into()), [x]);
            let from = RecurrentWeights { start: Some(state), ..direction.clone() };
            let rest = tape.recurrent(cell, &Segments::new([2]), rest, &[from]).value;
            close("the rest", rest.data(), &whole.data()[4..], Of::Size(1.0), 1e-14);
        }
    }
}

/// The sum of weighted outputs where one part is patched, the cotangent at it, and its own value.
fn looked(
    cell: RecurrentCell,
    part: CellPart,
    shift: Option<(usize, f64)>,
) -> (f64, Tensor<f64>, Tensor<f64>) {
    let segments = Segments::new([3, 1, 2]);
    let mut tape = Tape::new(Context::new(1), Mode::Gradient);
    let vars: Vec<_> = both_directions(cell).into_iter().map(Var::from).collect();
    let mut patch = Patch::default();
    if let Some((element, by)) = shift {
        patch.push(element, 1, 1.0, &[by]);
    }
    let looks = vec![CellLook { part, patch, watch: true }];
    let (out, sites) =
        tape.recurrent_inside(cell, &segments, fill(6, 2, 0).into(), &directions(&vars), looks);
    let seed = fill(6, 4, 5);
    let f = dot(&seed, &out.value);
    let wrt = [sites[0].slope.unwrap()];
    let pull = tape.backward(vec![(out.node.unwrap(), seed)], &wrt, &Gradient).unwrap().remove(0).unwrap();
    (f, pull, sites[0].var.value.clone())
}

/// The cotangent at every element of every part of both directions is how an edit there changes the output, later steps
/// included.
#[test]
fn parts_can_be_edited_and_asked_for() {
    for cell in CELLS {
        for &part in cell.parts() {
            let (_, pull, value) = looked(cell, part, None);
            assert_eq!((value.rows(), value.cols()), (6, 4));
            let f = |element: usize, by: f64| looked(cell, part, Some((element, by))).0;
            let slopes: Vec<f64> = (0..24).map(|i| (f(i, 1e-5) - f(i, -1e-5)) / 2e-5).collect();
            close(&format!("{cell:?}, {part:?}"), pull.data(), &slopes[..], Of::Size(1.0), 1e-8);
            // An edit at the middle token of the first sequence: its own direction's later steps move, nothing else does.
            for (element, later) in [(5, 8..10), (7, 2..4)] {
                let edited = looked(cell, part, Some((element, 0.5))).2;
                let moved: Vec<usize> = (0..24).filter(|&i| edited.data()[i] != value.data()[i]).collect();
                assert!(moved.contains(&element), "{cell:?}, {part:?}: {moved:?}");
                assert!(moved.iter().any(|i| later.contains(i)), "{cell:?}, {part:?}: {moved:?}");
                assert!(
                    moved.iter().all(|i| *i == element || later.contains(i)),
                    "{cell:?}, {part:?}: {moved:?}"
                );
            }
        }
    }
}

/// A part that is patched with NaN has no slope that agrees with anything.
#[test]
fn a_planted_nan_is_noticed() {
    for cell in CELLS {
        for &part in cell.parts() {
            let truth = looked(cell, part, None);
            let (_, pull, value) = looked(cell, part, Some((5, f64::NAN)));
            for (found, expected) in [(&pull, &truth.1), (&value, &truth.2)] {
                let checked = check("NaN", found.data(), expected.data(), Of::Size(1.0), f64::MAX);
                assert!(checked.is_err(), "{cell:?}, {part:?}");
            }
        }
    }
}

/// A seed at a part goes back to the input, and the hidden part is the output.
#[test]
fn parts_can_be_seeded() {
    let (cell, segments) = (RecurrentCell::Lstm, Segments::new([3, 1, 2]));
    let vars: Vec<Var<f64>> = both_directions(cell).into_iter().map(Var::from).collect();
    let gates = |x: Tensor<f64>, mode: Mode| {
        let mut tape = Tape::new(Context::new(1), mode);
        let x = tape.watch(x.into());
        let look = |part| CellLook { part, patch: Patch::default(), watch: mode != Mode::Off };
        let looks = vec![look(CellPart::Forget), look(CellPart::Hidden)];
        let (out, sites) = tape.recurrent_inside(cell, &segments, x.clone(), &directions(&vars), looks);
        close("hidden", &sites[1].var.value, &out.value, Of::Size(1.0), 1e-15);
        let pull = sites[0].var.node.map(|node| {
            tape.backward(vec![(node, fill(6, 4, 5))], &[x.node.unwrap()], &Gradient)
                .unwrap()
                .remove(0)
                .unwrap()
        });
        (dot(&fill(6, 4, 5), &sites[0].var.value), pull)
    };
    let x = fill::<f64>(6, 2, 0);
    let pull = gates(x.clone(), Mode::Gradient).1.unwrap();
    let at = |i: usize, by: f64| gates(nudged(&x, i, by), Mode::Off).0;
    let slopes: Vec<f64> = (0..12).map(|i| (at(i, 1e-5) - at(i, -1e-5)) / 2e-5).collect();
    close("seeded", pull.data(), &slopes[..], Of::Size(1.0), 1e-8);
}
