//! The nouns and traits of exegete, the driver that runs them, the types of reports, the suite that models conform to, and nothing else:
//! no engine, no file, no network.
//!
//! 1. An [`Example`] (one or more text [`Field`]s) becomes an [`Encoded`]: tokens that point at bytes of the text.
//! 2. A [`Row`] is an `Encoded` with [`Edit`]s at named [`Site`]s; a [`Plan`] says what to keep and where to start.
//! 3. [`Open::forward`] runs rows and returns a [`Pass`]; [`Pass::backward`] pulls cotangents back to any kept site.
//! 4. A [`Target`] turns a question ("why this class?") into those cotangents.
//! 5. A [`Task`] says what an output means: how it is read, decided and said, as [`Scores`]. A model names its own.
//! 6. A [`Readout`] says what is asked of each row. The [`Driver`] cuts the rows into micro-batches within the memory budget, runs nothing
//!    that it remembers, and counts what was spent; a [`Learner`]'s gradients go through it too.
//!
//! Shape letters, used in every crate: B sequences, T tokens (packed total), H hidden, N heads, D head width,
//! L layers, V vocabulary, C classes, S steps.

mod array;
pub mod conformance;
mod driver;
mod edit;
mod error;
mod group;
mod hash;
mod model;
mod pass;
mod random;
mod readout;
pub mod report;
mod scores;
mod site;
mod target;
pub mod task;
mod text;
mod units;

pub use array::{Array, dot};
pub use driver::{Advance, CacheStore, Driver, Key, PredictionCache, Spent, Supervised};
pub use edit::{Change, Edit, Pick};
pub use error::{Error, Result};
pub use group::{GroupKind, ParameterGroup};
pub use hash::{ContentHash, sha256_hex, sha256_of};
pub use model::{Card, Label, Learner, Model, Open, Prediction, Sizes, class_index};
pub use pass::{Logits, LrpRule, Pass, Plan, Record, Row, Rules, Seed, Tangents, Work};
pub use random::normal;
pub use readout::{Explaining, Explanation, OfOutput, Outputs, Predictions, Readout, by_outputs, predict};
pub use scores::{
    Answer, AnswerPart, AnswerShape, Brief, ClassScore, Fill, NumberWords, Scores, Tag, TokenScore,
    WrittenWord,
};
pub use site::{Axis, Role, Site, SiteInfo, Sites};
pub use target::{Choice, Norm, Quantity, Resolving, Scale, Target, Term};
pub use task::{TASKS, Task, best_span};
pub use text::{Encoded, Example, Field, Span, Token};
pub use units::{Unit, Units};
