//! What the heads of a transformer do over a corpus, and what words are worth to attention.
//!
//! 1. A [`HeadGrid`] says where the attention probabilities of each layer lie; [`HeadMaps`] reads them.
//! 2. [`pattern`] says where a head looks, [`divergence`] how heads differ, [`relations`] which dependencies they follow
//!    on treebanks ([`conllu`]), [`disable`] what a model loses without each.
//! 3. [`norms`] weighs what is moved against the weights; [`lexicon`] looks at words over all their places.
//! 4. [`attribution`] says which heads and which paths between tokens carry an answer.

pub mod attribution;
pub mod conllu;
pub mod disable;
pub mod divergence;
mod items;
pub mod lexicon;
mod maps;
pub mod norms;
pub mod pattern;
mod projection;
pub mod relations;

pub use items::{HeadFindings, HeadSurvey, disabled_table, norm_items, relations_table};
pub use maps::{HeadGrid, HeadMaps, TokenPlaces};
pub use projection::HeadProjection;
