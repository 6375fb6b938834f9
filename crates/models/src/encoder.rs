use crate::blocks::{Embeddings, Linear, Stack};
use crate::config::Config;
use crate::heads::Head;
use crate::run::Run;
use exegete_core::{Axis, Place, Result, Site, SiteInfo, Task};
use exegete_engine::Scalar;

/// A network that goes forward over packed rows, through its named places.
pub trait Network<T>: Send + Sync {
    /// Runs all rows; the last site is `logits`.
    fn forward(&self, run: &mut Run<'_, T>) -> Result<()>;
}

/// The encoder that all families of today are built as: embeddings, layers with the norm after each block, a head.
pub struct Encoder<T> {
    /// Word, position, type.
    pub embeddings: Embeddings<T>,
    /// From the embedding width to the hidden width, where they differ.
    pub projection: Option<Linear<T>>,
    /// The layers.
    pub stack: Stack<T>,
    /// The head.
    pub head: Head<T>,
}

impl<T: Scalar> Network<T> for Encoder<T> {
    fn forward(&self, run: &mut Run<'_, T>) -> Result<()> {
        let mut x = self.embeddings.forward(run)?; // [T, E]
        // Upstream of a start there is nothing to project.
        if let Some(projection) = self.projection.as_ref().filter(|_| x.value.rows() > 0) {
            x = projection.forward(run, x); // [T, H]
        }
        let x = self.stack.forward(run, x, self.head.reads_first_only())?; // [T, H] or [B, H]
        self.head.forward(run, x)?;
        Ok(())
    }
}

/// The sites of an encoder with their axes, in the order of computation.
pub fn sites(c: &Config, task: Task) -> Vec<SiteInfo> {
    let unit = Axis::Unit;
    let info = |site, axes: &[Axis]| SiteInfo { site, axes: axes.to_vec() };
    let heads = Axis::Head(c.num_attention_heads);
    let head_width = unit(c.hidden_size / c.num_attention_heads);
    let mut sites = vec![
        info(Site::EmbedWord, &[Axis::Token, unit(c.embedding_size)]),
        info(Site::Embed, &[Axis::Token, unit(c.embedding_size)]),
    ];
    for n in 0..c.num_hidden_layers {
        for place in Place::ALL {
            let axes = match place {
                Place::Scores | Place::Probs => vec![heads, Axis::Token, Axis::Token],
                Place::Head => vec![Axis::Token, heads, head_width],
                Place::FeedForwardInner => vec![Axis::Token, unit(c.intermediate_size)],
                _ => vec![Axis::Token, unit(c.hidden_size)],
            };
            sites.push(info(Site::Layer(n, place), &axes));
        }
    }
    let classes = Axis::Class(c.labels().len());
    match task {
        Task::Classification | Task::MultiLabel | Task::Regression => {
            sites.push(info(Site::Pooled, &[unit(c.hidden_size)]));
            sites.push(info(Site::Logits, &[classes]));
        }
        Task::Encoder => {
            sites.push(info(Site::Pooled, &[unit(c.hidden_size)]));
            sites.push(info(Site::Logits, &[unit(c.hidden_size)]));
        }
        Task::TokenClassification => sites.push(info(Site::Logits, &[Axis::Token, classes])),
        Task::QuestionAnswering => sites.push(info(Site::Logits, &[Axis::Token, Axis::Class(2)])),
        Task::MaskedLanguageModel => {
            sites.push(info(Site::Logits, &[Axis::Token, Axis::Class(c.vocab_size)]));
        }
    }
    sites
}
