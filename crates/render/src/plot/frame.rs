//! The frame of pictures with two axes of numbers or names.

use super::axis::Axis;
use super::ink::{LETTERS, line, text};
use crate::measure::width;

/// The height of the field inside the axes.
const FIELD: f64 = 220.0;

/// What stands along one side.
pub(super) enum Side {
    /// Numbers along an axis with round ticks.
    Numbers(Axis),
    /// Names, one beside the other.
    Names(Vec<String>),
}

/// Two axes around a field.
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x: Side,
    pub(super) y: Axis,
}

impl Frame {
    /// A field below `top` with room for the numbers beside it.
    pub(super) fn new(top: f64, wide: f64, x: Side, y: Axis) -> Self {
        let widest = y.ticks().iter().map(|(_, told)| width(told, LETTERS)).fold(0.0, f64::max);
        // The last number has its middle where the field ends.
        let last = match &x {
            Side::Numbers(axis) => axis.ticks().last().map_or(0.0, |(_, told)| width(told, LETTERS) / 2.0),
            Side::Names(_) => 0.0,
        };
        let (left, right, top) = (widest + 8.0, wide - 12.0f64.max(last + 2.0), top + 26.0);
        let bottom = top + FIELD;
        let x = match x {
            Side::Numbers(axis) => Side::Numbers(axis.between(left + 8.0, right)),
            names => names,
        };
        Self { left, right, top, bottom, x, y: y.between(bottom, top) }
    }

    /// The middle of a name's place.
    pub(super) fn place(&self, index: usize, of: usize) -> f64 {
        self.left + (self.right - self.left) * (index as f64 + 0.5) / of.max(1) as f64
    }

    /// Lines, numbers and titles.
    pub(super) fn draw(&self, x_title: &str, y_title: &str) -> String {
        let mut out = text(0.0, self.top - 12.0, "", y_title);
        for (value, told) in self.y.ticks() {
            let y = self.y.at(value);
            let class = if value == 0.0 { "zero" } else { "tick" };
            out += &line(class, (self.left, y), (self.right, y));
            out += &text(self.left - 6.0, y + 4.0, "end", &told);
        }
        out + &self.below() + &text(self.right, self.bottom + 36.0, "end", x_title)
    }

    fn below(&self) -> String {
        let y = self.bottom + 17.0;
        match &self.x {
            Side::Numbers(axis) => {
                let tick = |(value, told): &(f64, String)| {
                    let x = axis.at(*value);
                    line("zero", (x, self.bottom), (x, self.bottom + 4.0)) + &text(x, y, "mid", told)
                };
                axis.ticks().iter().map(tick).collect()
            }
            Side::Names(names) => {
                let room = (self.right - self.left) / names.len().max(1) as f64 - 4.0;
                // Where names have no room, every second or third stands for itself and its neighbours.
                let widest = names.iter().map(|name| width(name, LETTERS)).fold(0.0, f64::max);
                let every = ((widest.min(72.0) / room.max(1.0)).ceil() as usize).max(1);
                let name = |(index, name): (usize, &String)| {
                    let told = crate::measure::clipped(name, LETTERS, room * every as f64);
                    text(self.place(index, names.len()), y, "mid", &told)
                };
                names.iter().enumerate().step_by(every).map(name).collect()
            }
        }
    }

    /// How far down it reaches.
    pub(super) fn height(&self) -> f64 {
        self.bottom + 44.0
    }
}
