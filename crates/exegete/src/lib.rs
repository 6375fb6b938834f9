//! Explains and interprets neural language models, and says how far each answer can be trusted.
//!
//! This crate is the whole Rust API: everything a program needs is re-exported here. From text to answer:
//!
//! 1. [`load`] opens a Hugging Face folder as a [`Model`]; its [`Card`] says what it is. [`connect`] does the same for
//!    whatever answers over HTTP or a pipe.
//! 2. An [`Example`] is one text or several [`Field`]s; [`Model::predict`] answers it, and a [`Driver`] does so for
//!    many within a memory budget.
//! 3. [`Model::open`] gives the inside: [`Open::encode`] turns an example into an [`Encoded`], tokens that point at
//!    bytes of the text, and [`Open::sites`] lists the named places with their axes.
//! 4. A [`Row`] is an encoded text with [`Edit`]s at [`Site`]s; a [`Plan`] says what to keep and where to start.
//! 5. [`Open::forward`] gives a [`Pass`]: logits, kept values and [`Pass::backward`], which pulls cotangents back to
//!    any kept site. A [`Target`] turns a question ("why this class?") into those cotangents.
//!
//! The shortest program:
//!
//! ```
//! # fn main() -> exegete::Result<()> {
//! let model = exegete::load_default(&exegete::LoadOptions::default())?;
//! let report = exegete::explain(&*model, "A warm and honest film.")?;
//! println!("{}", exegete::render::render(&report, exegete::render::Format::Text, &Default::default()));
//! # Ok(())
//! # }
//! ```
//!
//! The same by hand, and further in:
//!
//! ```no_run
//! use exegete::{Driver, Example, LoadOptions, Plan, Row, Scores, Site};
//! use std::path::Path;
//!
//! # fn main() -> exegete::Result<()> {
//! let model = exegete::load(Path::new("my-classifier"), &LoadOptions::default())?;
//! let example = Example::text("A warm and honest film.");
//!
//! // What does it say?
//! let answers = exegete::predict(&Driver::default(), &*model, std::slice::from_ref(&example))?;
//! if let Scores::Classes { scores: classes, .. } = &answers[0].scores {
//!     for class in classes {
//!         println!("{} {:.3}", class.label, class.prob);
//!     }
//! }
//!
//! // What does it look like at layer 1, one vector a token?
//! let open = model.require_open()?;
//! let row = Row::new(open.encode(&example)?);
//! let site: Site = "layer.1.out".parse()?;
//! let pass = open.forward(&[row], &Plan::keep([site]))?;
//! println!("{:?}", pass.value(site, 0)?.shape);
//! # Ok(())
//! # }
//! ```
//!
//! No analysis changes a model: an edit belongs to a row, and [`Open::with_params`] gives a view with some parameters
//! replaced.

pub use exegete_core::{
    Advance, Answer, AnswerPart, Array, Axis, CacheStore, Card, Change, Choice, ClassScore, ContentHash,
    Driver, Edit, Encoded, Error, Example, Explaining, Explanation, Field, Fill, Key, Label, Learner, Logits,
    LrpRule, Model, Norm, OfOutput, Open, Outputs, Pass, Pick, Plan, Prediction, PredictionCache,
    Predictions, Quantity, Readout, Record, Resolving, Result, Role, Row, Rules, Scale, Scores, Seed, Site,
    SiteInfo, Sites, Sizes, Span, Spent, Supervised, TASKS, Tag, Target, Task, Term, Token, TokenScore, Unit,
    Units, Work, best_span, by_outputs, class_index, predict, sha256_hex, sha256_of,
};
pub use exegete_models::{
    DEFAULT, LoadOptions, Precision, RemoteOptions, connect, export, files_of_folder, is_address, load,
    load_default,
};

pub mod request;

/// Why a model says what it says of a text: the method that suits the model, with the default evidence.
pub fn explain(model: &dyn Model, text: &str) -> Result<report::Report> {
    explain_with(model, &Driver::default(), &Example::text(text), &methods::Request::default())
}

/// The same for any example and request, by a driver that budgets, remembers and counts. The report says what was asked, as far as
/// the program can be asked it: `exegete explain --again REPORT --model MODEL` repeats it.
pub fn explain_with(
    model: &dyn Model,
    driver: &Driver,
    example: &Example,
    asked: &methods::Request,
) -> Result<report::Report> {
    let (started, before) = (std::time::Instant::now(), driver.spent());
    let items = methods::explain(model, driver, example, asked)?;
    let request = request::of_library(model, example, asked);
    let (seconds, spent) = (started.elapsed().as_secs_f64(), driver.spent().since(before));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let provenance = report::Provenance::new(model.card(), asked.seed, threads, seconds, spent);
    Ok(report::Report { schema: report::SCHEMA.to_owned(), provenance, request, items })
}

/// What outputs mean, one task each: see [`Task`].
pub mod task {
    pub use exegete_core::task::*;
}

/// Methods that explain, and their evidence: see [`methods::explain`].
pub mod methods {
    pub use exegete_methods::*;
}

/// What methods return and renderers take: see [`report::Report`].
pub mod report {
    pub use exegete_core::report::*;
}

/// Reports as text, pages, pictures and tables: see [`render::render`].
pub mod render {
    pub use exegete_render::*;
}

/// The suite that every model must pass, whoever wrote it.
pub mod conformance {
    pub use exegete_core::conformance::{Check, ConformanceSubject, Extent, check, check_until, check_with};
}

/// How models are trained: see [`train::fit`].
pub mod train {
    pub use exegete_models::loss::{
        AttentionPenalty, AttentionSites, FixedAnswer, Forward, MarkedRows, Objective, PenaltyOver, opposing,
        supervised,
    };
    pub use exegete_models::train::{
        ClassWeights, Data, Epoch, Event, Keep, Metric, Metrics, Optimiser, Recipe, Reduction, Sample,
        Schedule, Start, TrainedHead, Trainer, TrainingDefaults, TrainingLoss, TrainingRun, TrainingSettings,
        TrainingStep, evaluate, fit,
    };
}

/// Small models over words: see [`small::SmallStart`], which [`train::Start`] takes.
pub mod small {
    pub use exegete_models::small::{
        KINDS, SmallAttention, SmallConfig, SmallEncoder, SmallHead, SmallStart, WordVectors,
    };
    pub use exegete_models::small::{SEQUENCE_TO_SEQUENCE, SequenceToSequence};
    pub use exegete_models::tokenizer::{MARKERS, WordVocabulary};
}

/// Files that appear only when they are complete.
pub mod partial {
    pub use exegete_models::partial::{FilePlace, Partial, place, sweep, write};
}

/// What this machine can do, and models to measure it with.
pub mod speed {
    pub use exegete_engine::peak::{Peak, read_rate, sgemm_peak, sustained};
    pub use exegete_engine::tile;
    pub use exegete_models::{BertSize, random_bert};
}

/// The README's example is run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

/// The examples of `docs/library.md` are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
pub struct LibraryPage;
