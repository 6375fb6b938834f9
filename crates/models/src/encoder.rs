use crate::blocks::{Embeddings, Layer, Linear, Stack};
use crate::config::Config;
use crate::heads::Head;
use crate::run::Run;
use exegete_core::{Axis, Encoded, Plan, Record, Result, Role, Row, Site, SiteInfo, Sites, Task, Token};
use exegete_engine::{Context, Scalar};
use std::sync::Arc;

/// A network that goes forward over packed rows, through its named places.
pub trait Network<T>: Send + Sync {
    /// Its places, in the order of computation; the last one is its output.
    fn sites(&self) -> &Sites;

    /// Runs all rows through its places.
    fn forward(&self, run: &mut Run<'_, T>) -> Result<()>;

    /// An upper estimate of the activations that one row needs under a plan, in numbers.
    fn elements(&self, row: &Row, plan: &Plan) -> usize;

    /// How many numbers more the gradient of parameters needs of a row than that of its word vectors.
    fn learning_elements(&self, _row: &Row) -> usize {
        0
    }

    /// Whether a token's vector is a row of the word matrix, and not of a table of its own.
    fn reads_words(&self, _token: &Token) -> bool {
        true
    }

    /// An encoded text with what the network itself writes of it, where it writes and was not told what.
    fn complete(&self, _ctx: &Arc<Context<T>>, encoded: Encoded) -> Result<Encoded> {
        Ok(encoded)
    }

    /// What the network writes of each row by itself, in as many steps as the row's own target has; none where it writes nothing.
    fn writes(&self, _ctx: &Arc<Context<T>>, _rows: &[Row]) -> Result<Option<Vec<Vec<usize>>>> {
        Ok(None)
    }

    /// How many numbers the output of a row has under a plan.
    fn output_elements(&self, row: &Row, _plan: &Plan) -> usize {
        self.sites().with_role(Role::Outputs).map(|info| info.elements(&row.encoded)).sum()
    }
}

/// The encoder that all families of today are built as: embeddings, layers with the norm after each block, a head.
pub struct Encoder<T> {
    /// The embeddings of words, positions and types.
    pub embeddings: Embeddings<T>,
    /// From the embedding width to the hidden width, where they differ.
    pub projection: Option<Linear<T>>,
    /// The layers, first to last.
    pub stack: Stack<T>,
    /// What turns the last layer into an output.
    pub head: Head<T>,
    /// The named places, in the order of computation.
    pub sites: Sites,
    /// Width inside the feed-forward block.
    pub inner: usize,
}

impl<T: Scalar> Network<T> for Encoder<T> {
    fn sites(&self) -> &Sites {
        &self.sites
    }

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

    fn elements(&self, row: &Row, plan: &Plan) -> usize {
        let tokens = row.encoded.len();
        let Layer { heads, width, .. } = *self.stack.0[0];
        let (hidden, inner, maps) = (heads * width, self.inner, heads * tokens);
        let elements = |site: Site| self.sites.find(site).map_or(0, |info| info.elements(&row.encoded));
        let kept: usize = plan.keep.iter().copied().map(elements).sum();
        let earliest = self.sites.first_of(plan.keep.iter().copied()).unwrap_or(LOGITS);
        let after = self.sites.iter().skip(self.sites.order(earliest) + 1);
        let recorded = after.filter(|info| info.role == Role::LayerOutput).count();
        let role = |site: Site| self.sites.find(site).map(|info| info.role);
        let looks = |site: Site| matches!(role(site), Some(Role::Scores | Role::Weights));
        let edited = row.edits.iter().map(|edit| edit.site);
        let plain = plan.keep.iter().copied().chain(edited).any(looks);
        // What is alive at the widest point of a layer, and what each recorded layer leaves behind, per token.
        let (working, left) = match plan.record {
            Record::Nothing => (7 * hidden + inner + if plain { 2 * maps } else { tokens }, 0),
            Record::Gradient => {
                (10 * hidden + 3 * inner + 2 * maps, 6 * hidden + inner + if plain { 2 * maps } else { maps })
            }
            Record::Lowered | Record::Paired => {
                (10 * hidden + 9 * inner + 4 * maps, 22 * hidden + 2 * inner + 2 * maps)
            }
        };
        // Rules that tell the signs of a weight apart copy a block of it, however few the tokens.
        let (copies, block) = match plan.record {
            Record::Lowered | Record::Paired => (9, 1 << 16),
            Record::Nothing | Record::Gradient => (3, 0),
        };
        tokens * (working + recorded * left) + kept + self.output_elements(row, plan) * copies + block
    }

    fn learning_elements(&self, row: &Row) -> usize {
        let tokens = row.encoded.len();
        let Layer { heads, width, .. } = *self.stack.0[0];
        // Parameters need the inputs of every product, and dropout its outputs.
        self.stack.0.len() * tokens * (2 * heads * width + self.inner + heads * tokens)
    }

    fn output_elements(&self, row: &Row, plan: &Plan) -> usize {
        let all = self.sites.find(LOGITS).map_or(0, |info| info.elements(&row.encoded));
        let edited = row.edits.iter().any(|edit| edit.site == LOGITS);
        match (&self.head, &row.outputs) {
            (Head::Vocabulary { .. }, Some(asked)) if !edited && !plan.keep.contains(&LOGITS) => {
                all / row.encoded.len().max(1) * asked.len()
            }
            _ => all,
        }
    }
}

/// The word vectors of the tokens.
pub(crate) const WORDS: Site = Site::named("embed.word");
/// What the first layer reads, before a projection where a family has one.
pub(crate) const EMBED: Site = Site::named("embed");
/// The vector the head reads, after its activation.
pub(crate) const POOLED: Site = Site::named("pooled");
/// The place of the output.
pub(crate) const LOGITS: Site = Site::named("logits");

/// The places inside a layer, in the order of computation.
pub(crate) const PLACES: [&str; 11] = [
    "attn.q",
    "attn.k",
    "attn.v",
    "attn.scores",
    "attn.probs",
    "attn.head",
    "attn.out",
    "attn.norm",
    "ffn.inner",
    "ffn.out",
    "out",
];

/// A place inside layer `n`.
pub(crate) fn at(n: usize, place: &str) -> Site {
    // Numbers and places of this file always fit a name.
    format!("layer.{n}.{place}").parse().unwrap_or(LOGITS)
}

/// The sites of an encoder with their axes, in the order of computation.
pub fn sites(c: &Config, task: &dyn Task) -> Sites {
    let neurons = Axis::Neuron;
    let embed = [Axis::Token, neurons(c.embedding_size)];
    let mut sites = vec![
        SiteInfo::new(WORDS, "embed", Role::Words, embed).cut(),
        SiteInfo::new(EMBED, "embed", Role::Embedding, embed).cut(),
    ];
    sites.extend((0..c.num_hidden_layers).flat_map(|n| PLACES.map(|place| layer_site(c, n, place))));
    let pooled = SiteInfo::new(POOLED, "head", Role::Inner, [neurons(c.hidden_size)]).carrying_all();
    let logits = task.axes(&c.widths());
    sites.extend((logits.len() == 1).then_some(pooled));
    sites.push(SiteInfo::new(LOGITS, "head", Role::Outputs, logits).carrying_all());
    Sites::new(sites)
}

fn layer_site(c: &Config, n: usize, place: &str) -> SiteInfo {
    let heads = Axis::Head(c.num_attention_heads);
    let neurons = Axis::Neuron;
    let (role, axes) = match place {
        "attn.v" => (Role::Values, vec![Axis::Token, neurons(c.hidden_size)]),
        "attn.scores" => (Role::Scores, vec![heads, Axis::Token, Axis::Token]),
        "attn.probs" => (Role::Weights, vec![heads, Axis::Token, Axis::Token]),
        "attn.head" => {
            let width = neurons(c.hidden_size / c.num_attention_heads);
            (Role::Contexts, vec![Axis::Token, heads, width])
        }
        "attn.out" => (Role::Mixed, vec![Axis::Token, neurons(c.hidden_size)]),
        "ffn.inner" => (Role::Inner, vec![Axis::Token, neurons(c.intermediate_size)]),
        "out" => (Role::LayerOutput, vec![Axis::Token, neurons(c.hidden_size)]),
        _ => (Role::Inner, vec![Axis::Token, neurons(c.hidden_size)]),
    };
    let info = SiteInfo::new(at(n, place), format!("layer.{n}"), role, axes);
    if role == Role::LayerOutput { info.cut() } else { info }
}
