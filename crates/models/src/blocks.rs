//! The parts that encoder families share. None of them asks which family it is in: what differs is data.

use crate::config::{Activation, Config};
use crate::encoder::{EMBED, PLACES, WORDS, at};
use crate::run::Run;
use crate::weights::{Param, Weights};
use exegete_core::Result;
use exegete_engine::{Heads, Op, Scalar, Segments, Unary, Var};
use std::sync::Arc;

/// A linear layer: x·wᵀ + b.
pub struct Linear<T> {
    /// The matrix, of shape \[O, I\].
    pub weight: Param<T>,
    /// What is added, of shape \[O\].
    pub bias: Option<Param<T>>,
}

impl<T: Scalar> Linear<T> {
    /// Reads the layer from the weights `path.weight` and `path.bias`.
    pub fn load(w: &mut Weights<'_, T>, path: &str, input: usize, output: usize) -> Result<Self> {
        let weight = w.get(&format!("{path}.weight"), &[output, input])?;
        Ok(Self { weight, bias: Some(w.get(&format!("{path}.bias"), &[output])?) })
    }

    /// \[T, I\] → \[T, O\]
    pub fn forward(&self, run: &mut Run<'_, T>, x: Var<T>) -> Var<T> {
        let mut inputs = vec![x, run.param(&self.weight)];
        inputs.extend(self.bias.as_ref().map(|bias| run.param(bias)));
        run.tape.apply(Op::Linear, inputs)
    }
}

/// Rows brought to mean 0 and variance 1, then scaled and shifted.
pub struct LayerNorm<T> {
    gain: Param<T>,
    bias: Param<T>,
    epsilon: f64,
}

impl<T: Scalar> LayerNorm<T> {
    /// Reads the norm from the weights `path.weight` and `path.bias`.
    pub fn load(w: &mut Weights<'_, T>, path: &str, width: usize, epsilon: f64) -> Result<Self> {
        let gain = w.get(&format!("{path}.weight"), &[width])?;
        Ok(Self { gain, bias: w.get(&format!("{path}.bias"), &[width])?, epsilon })
    }

    /// \[T, H\] → \[T, H\]
    pub fn forward(&self, run: &mut Run<'_, T>, x: Var<T>) -> Var<T> {
        let (gain, bias) = (run.param(&self.gain), run.param(&self.bias));
        run.tape.layer_norm(x, gain, bias, self.epsilon)
    }

    /// The norm of x + residual.
    pub fn after(&self, run: &mut Run<'_, T>, x: Var<T>, residual: Var<T>) -> Var<T> {
        let (gain, bias) = (run.param(&self.gain), run.param(&self.bias));
        run.tape.add_layer_norm(x, residual, gain, bias, self.epsilon)
    }
}

/// Word, position and perhaps type vectors, summed and normalised.
pub struct Embeddings<T> {
    /// \[V, E\]; a masked-LM decoder may be tied to it.
    pub word: Param<T>,
    position: Param<T>,
    kind: Option<Param<T>>,
    norm: LayerNorm<T>,
    first_position: usize,
}

impl<T: Scalar> Embeddings<T> {
    /// The usual names below `path`.
    pub fn load(w: &mut Weights<'_, T>, path: &str, c: &Config) -> Result<Self> {
        let width = c.embedding_size;
        let kind = match c.type_vocab_size {
            0 => None,
            kinds => Some(w.get(&format!("{path}.token_type_embeddings.weight"), &[kinds, width])?),
        };
        Ok(Self {
            word: w.get(&format!("{path}.word_embeddings.weight"), &[c.vocab_size, width])?,
            position: w
                .get(&format!("{path}.position_embeddings.weight"), &[c.max_position_embeddings, width])?,
            kind,
            norm: LayerNorm::load(w, &format!("{path}.LayerNorm"), width, c.layer_norm_eps)?,
            first_position: c.first_position(),
        })
    }

    /// → \[T, E\], through the sites `embed.word` and `embed`.
    pub fn forward(&self, run: &mut Run<'_, T>) -> Result<Var<T>> {
        let word = run.cut(WORDS, |run| {
            let (table, ids) = (run.param(&self.word), run.ids());
            Ok(run.tape.apply(Op::Gather(ids), [table])) // [T, E]
        })?;
        run.cut(EMBED, |run| {
            let (table, positions) = (run.param(&self.position), run.positions(self.first_position));
            let position = run.tape.apply(Op::Gather(positions), [table]); // [T, E]
            let mut sum = position;
            if let Some(kind) = &self.kind {
                let (table, kinds) = (run.param(kind), run.kinds());
                let kind = run.tape.apply(Op::Gather(kinds), [table]); // [T, E]
                sum = run.tape.apply(Op::Add, [sum, kind]); // [T, E]
            }
            let sum = run.tape.apply(Op::Add, [sum, word]); // [T, E]
            let normed = self.norm.forward(run, sum); // [T, E]
            Ok(run.dropout(normed, |rates| rates.embedding)) // [T, E]
        })
    }
}

/// What a family calls the parts of a layer.
#[derive(Debug, PartialEq)]
pub struct LayerNames {
    /// The path of the query projection.
    pub query: &'static str,
    /// The path of the key projection.
    pub key: &'static str,
    /// The path of the value projection.
    pub value: &'static str,
    /// Projection of the heads' contexts.
    pub attention_out: &'static str,
    /// The norm after the attention block.
    pub attention_norm: &'static str,
    /// The first product of the feed-forward block.
    pub inner: &'static str,
    /// The second product of the feed-forward block.
    pub outer: &'static str,
    /// Norm after the feed-forward block.
    pub output_norm: &'static str,
}

/// The names that BERT gave them, which most families kept.
pub const BERT_LAYER: LayerNames = LayerNames {
    query: "attention.self.query",
    key: "attention.self.key",
    value: "attention.self.value",
    attention_out: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
    inner: "intermediate.dense",
    outer: "output.dense",
    output_norm: "output.LayerNorm",
};

/// One encoder layer: attention, residual, norm, feed-forward, residual, norm.
pub struct Layer<T> {
    query: Linear<T>,
    key: Linear<T>,
    value: Linear<T>,
    attention_out: Linear<T>,
    attention_norm: LayerNorm<T>,
    inner: Linear<T>,
    outer: Linear<T>,
    output_norm: LayerNorm<T>,
    activation: Unary,
    /// N, how many heads there are.
    pub heads: usize,
    /// D, how wide a head is.
    pub width: usize,
}

impl<T: Scalar> Layer<T> {
    /// A layer below `path`, with the family's names.
    pub fn load(w: &mut Weights<'_, T>, path: &str, names: &LayerNames, c: &Config) -> Result<Self> {
        let (hidden, inner, epsilon) = (c.hidden_size, c.intermediate_size, c.layer_norm_eps);
        let at = |name: &str| format!("{path}.{name}");
        Ok(Self {
            query: Linear::load(w, &at(names.query), hidden, hidden)?,
            key: Linear::load(w, &at(names.key), hidden, hidden)?,
            value: Linear::load(w, &at(names.value), hidden, hidden)?,
            attention_out: Linear::load(w, &at(names.attention_out), hidden, hidden)?,
            attention_norm: LayerNorm::load(w, &at(names.attention_norm), hidden, epsilon)?,
            inner: Linear::load(w, &at(names.inner), hidden, inner)?,
            outer: Linear::load(w, &at(names.outer), inner, hidden)?,
            output_norm: LayerNorm::load(w, &at(names.output_norm), hidden, epsilon)?,
            activation: unary(c.hidden_act),
            heads: c.num_attention_heads,
            width: hidden / c.num_attention_heads,
        })
    }

    /// Layer number `n`: \[T, H\] → \[T, H\], or → \[B, H\] where only each row's first token is needed.
    pub fn forward(&self, run: &mut Run<'_, T>, n: usize, x: Var<T>, only_first: bool) -> Result<Var<T>> {
        let tokens = run.segments().clone();
        let (queries, residual) = if only_first {
            (Segments::new((0..tokens.count()).map(|_| 1)), run.firsts(x.clone()))
        } else {
            (tokens.clone(), x.clone())
        };
        let heads = Heads::new(self.heads, self.width, queries, tokens);
        let q = self.query.forward(run, residual.clone()); // [T, H]
        let q = run.site(at(n, "attn.q"), q)?;
        let k = self.key.forward(run, x.clone()); // [T, H]
        let k = run.site(at(n, "attn.k"), k)?;
        let v = self.value.forward(run, x); // [T, H]
        let v = run.site(at(n, "attn.v"), v)?;
        let context = run.attention([at(n, "attn.scores"), at(n, "attn.probs")], &heads, q, k, v)?; // [T, H]
        let context = run.site(at(n, "attn.head"), context)?;
        let out = self.attention_out.forward(run, context); // [T, H]
        let out = run.site(at(n, "attn.out"), out)?;
        let out = run.dropout(out, |rates| rates.attention_out); // [T, H]
        let normed = self.attention_norm.after(run, out, residual); // [T, H]
        let normed = run.site(at(n, "attn.norm"), normed)?;
        let inner = self.inner.forward(run, normed.clone()); // [T, F]
        let inner = run.tape.apply(Op::Unary(self.activation), [inner]); // [T, F]
        let inner = run.site(at(n, "ffn.inner"), inner)?;
        let out = self.outer.forward(run, inner); // [T, H]
        let out = run.site(at(n, "ffn.out"), out)?;
        let out = run.dropout(out, |rates| rates.feed_forward); // [T, H]
        Ok(self.output_norm.after(run, out, normed)) // [T, H]
    }
}

/// The layers of an encoder; families that share weights hand in the same layer several times.
pub struct Stack<T>(pub Vec<Arc<Layer<T>>>);

impl<T: Scalar> Stack<T> {
    /// \[T, H\] → \[T, H\], or → \[B, H\] where the head reads each row's first token and nobody looks at the others.
    pub fn forward(&self, run: &mut Run<'_, T>, mut x: Var<T>, first_suffices: bool) -> Result<Var<T>> {
        for (n, layer) in self.0.iter().enumerate() {
            let only_first = first_suffices && n + 1 == self.0.len() && !looked_at(run, n);
            x = run.cut(at(n, "out"), |run| layer.forward(run, n, x, only_first))?;
        }
        Ok(x)
    }
}

/// Whether any site of the layer that has a row for every token's query is kept or edited.
fn looked_at<T: Scalar>(run: &Run<'_, T>, layer: usize) -> bool {
    let mut per_query = PLACES.into_iter().filter(|place| !["attn.k", "attn.v"].contains(place));
    per_query.any(|place| run.touches(at(layer, place)))
}

/// The engine's name for an activation.
pub fn unary(activation: Activation) -> Unary {
    match activation {
        Activation::Gelu => Unary::Gelu,
        Activation::GeluTanh => Unary::GeluTanh,
        Activation::Relu => Unary::Relu,
        Activation::Tanh => Unary::Tanh,
        Activation::Silu => Unary::Silu,
    }
}
