//! A recurrence whose inputs are only known step by step, as those of a decoder that reads what it attended to.

use super::steps::Steps;
use super::taps::Taps;
use super::{CellLook, CellSite, RecurrentCell, RecurrentWeights};
use crate::scalar::Scalar;
use crate::segments::Segments;
use crate::tape::{Mode, Tape, Var};
use std::sync::Arc;

/// One direction of a recurrent layer with one vector a state, whose caller gives the input of each step.
pub struct RecurrentStepper<T> {
    cell: RecurrentCell,
    weights: RecurrentWeights<T>,
    /// Plain operations with a look at parts; none where the fused step serves.
    inside: Option<(Steps<T>, Taps<T>)>,
    /// How many tokens all steps of all sequences have.
    tokens: usize,
}

impl<T: Scalar> RecurrentStepper<T> {
    /// A layer before its first step, over sequences of so many tokens together; `weights.start` is not read.
    ///
    /// Panics for a cell whose state has several vectors.
    pub fn new(
        tape: &mut Tape<T>,
        cell: RecurrentCell,
        weights: RecurrentWeights<T>,
        tokens: usize,
        looks: Vec<CellLook<T>>,
    ) -> Self {
        assert_eq!(cell.states(), 1, "a step has one state vector");
        let plain = tape.mode() == Mode::Lowered || !looks.is_empty();
        let inside = plain.then(|| {
            let mut taps = Taps::new(tape, (tokens, weights.hidden.value.cols(), 1), looks);
            taps.begin(tape, 0);
            (Steps::new(tape, cell, &weights), taps)
        });
        Self { cell, weights, inside, tokens }
    }

    /// One step of the sequences that still run: their inputs \[n, I\] and states \[n, H\] → new states \[n, H\]. `tokens` are the
    /// places of the step among all tokens; they rise.
    pub fn step(&mut self, tape: &mut Tape<T>, tokens: &Arc<[usize]>, x: Var<T>, state: Var<T>) -> Var<T> {
        match &mut self.inside {
            Some((steps, taps)) => {
                taps.at(tokens.clone());
                let [after, _] = steps.step(tape, x, [Some(state.clone()), None], taps);
                after.unwrap_or(state)
            }
            None => {
                let ones = Segments::new(tokens.iter().map(|_| 1));
                let weights = RecurrentWeights { start: Some(state), ..self.weights.clone() };
                tape.recurrent(self.cell, &ones, x, &[weights])
            }
        }
    }

    /// What was found at each look, in their order.
    pub fn finish(self, tape: &mut Tape<T>) -> Vec<CellSite<T>> {
        let Some((_, mut taps)) = self.inside else { return Vec::new() };
        taps.end(tape, self.tokens);
        taps.finish(tape)
    }
}
