//! Is attention an explanation? The published experiments, on any model whose attention weights can be read and replaced.
//!
//! 1. A [`Place`] is the attention that is tested; its [`WordSpread`] says how much weight each word of a text has.
//! 2. [`look`](fn@look::look) runs texts once. What other weights would give is arithmetic where logits are linear in them
//!    ([`LinearHead`]) and a run from the last cut where they are not ([`RunHead`]): two ways of being [`Reweighed`].
//! 3. One file an experiment, each a function of that: `correlation`, `permutation`, `adversary`, `concentration`, `erase`,
//!    `share`.
//! 4. `training` holds models that were trained beside the tested one against it: [`ArmRecord`].
//! 5. [`measure`] does all of it for some texts and gives a [`TextRecord`] each; [`tables`] says what everything comes to.

pub mod adversary;
pub mod concentration;
pub mod correlation;
pub mod distance;
pub mod erase;
mod experiment;
pub mod head;
pub mod look;
mod measure;
pub mod permutation;
pub mod place;
pub(crate) mod published;
mod record;
pub mod seeds;
pub mod share;
pub mod spread;
mod tables;
pub mod training;
pub mod truth;
pub mod verdict;

pub use experiment::Experiment;
pub use head::{LinearHead, Reweighed, RunHead};
pub use look::TestedText;
pub use measure::{Measuring, measure};
pub use place::{Parts, Place, PlaceChoice};
pub use published::{TextsLike, over_kinds};
pub use record::{Adversary, BINS, Decisive, Erased, ErasedPair, ErasureShares, Tau, TextRecord, bin_of};
pub use spread::{Imposed, WordSpread};
pub use tables::{KindSummary, ModelTables, Summary, kinds_tables, side_by_side, tables, truth_table};
pub use training::{Arm, ArmRecord, MeasuredTexts, WeighedAnswers};
