//! What stands on top of an encoder.

use crate::blocks::{LayerNorm, Linear, unary};
use crate::config::Config;
use crate::encoder::{LOGITS, POOLED};
use crate::run::Run;
use crate::weights::{Param, Weights};
use exegete_core::task::HeadForm;
use exegete_core::{Axis, Error, Result, Task};
use exegete_engine::{Op, Scalar, Unary, Var};

/// What a family calls the parts of its heads, and how they are activated; `{root}` is the encoder's own prefix.
#[derive(Debug, PartialEq)]
pub struct HeadNames {
    /// The dense layer that a classifier reads the first token through.
    pub dense: &'static str,
    /// The activation after the dense layer.
    pub dense_activation: Unary,
    /// The classifier's output layer.
    pub out: &'static str,
    /// The dense layer of the bare encoder's pooled vector, where the family has one.
    pub pooler: Option<&'static str>,
    /// The parameters of the masked-LM head.
    pub mask: MaskNames,
}

/// What a family calls the parts of its masked-LM head.
#[derive(Debug, PartialEq)]
pub struct MaskNames {
    /// The path of the dense layer.
    pub dense: &'static str,
    /// Its activation; none for that of the feed-forward blocks.
    pub activation: Option<Unary>,
    /// The path of the layer norm.
    pub norm: &'static str,
    /// Output weight; absent where it is tied to the word matrix.
    pub decoder: &'static str,
    /// The path of the output's bias.
    pub bias: &'static str,
}

/// A dense layer with an activation.
pub struct Dense<T> {
    linear: Linear<T>,
    activation: Unary,
}

impl<T: Scalar> Dense<T> {
    fn forward(&self, run: &mut Run<'_, T>, x: Var<T>) -> Var<T> {
        let x = self.linear.forward(run, x);
        run.tape.apply(Op::Unary(self.activation), [x])
    }
}

/// The weights of each [`HeadForm`], by the same names.
pub enum Head<T> {
    /// Classes of the whole text.
    Text {
        /// First token → pooled vector.
        dense: Dense<T>,
        /// Pooled vector → classes.
        out: Linear<T>,
    },
    /// Classes of every token; question answering has two, start and end.
    Tokens(Linear<T>),
    /// The vocabulary at every token.
    Vocabulary {
        /// \[T, H\] → \[T, E\]
        dense: Dense<T>,
        /// The layer norm before the output.
        norm: LayerNorm<T>,
        /// \[T, E\] → \[T, V\]
        decoder: Linear<T>,
    },
    /// The pooled vector itself; the first token's state where there is no pooler.
    Pooled(Option<Dense<T>>),
}

impl<T: Scalar> Head<T> {
    /// The head that the class which saved the model names.
    pub fn load(
        w: &mut Weights<'_, T>,
        names: &HeadNames,
        word: &Param<T>,
        task: &dyn Task,
        c: &Config,
    ) -> Result<Self> {
        let (hidden, classes) = (c.hidden_size, c.labels().len());
        let dense = w.path(names.dense);
        let pooler = names.pooler.map(|path| w.path(path));
        Ok(match task.spelling().map(|spelling| spelling.form) {
            Some(HeadForm::Text) => Self::Text {
                dense: Dense {
                    linear: Linear::load(w, &dense, hidden, hidden)?,
                    activation: names.dense_activation,
                },
                out: Linear::load(w, names.out, hidden, classes)?,
            },
            Some(HeadForm::Tokens(path)) => {
                let [Axis::Token, Axis::Class(classes)] = task.axes(&c.widths())[..] else {
                    return Err(Error::Unsupported(format!("{} gives no classes of tokens", task.title())));
                };
                Self::Tokens(Linear::load(w, path, hidden, classes)?)
            }
            Some(HeadForm::Vocabulary) => Self::load_mask(w, &names.mask, word, c)?,
            Some(HeadForm::Pooled) => Self::Pooled(match &pooler {
                Some(path) if w.contains(&format!("{path}.weight")) => {
                    Some(Dense { linear: Linear::load(w, path, hidden, hidden)?, activation: Unary::Tanh })
                }
                _ => None,
            }),
            None => return Err(Error::Unsupported(format!("no encoder has a head for {}", task.title()))),
        })
    }

    fn load_mask(w: &mut Weights<'_, T>, names: &MaskNames, word: &Param<T>, c: &Config) -> Result<Self> {
        let (vocabulary, width) = (c.vocab_size, c.embedding_size);
        let own = format!("{}.weight", names.decoder);
        let weight = if c.tie_word_embeddings {
            // Files that store the tied weight a second time mean the same tensor.
            w.ignore(&own);
            word.clone()
        } else {
            w.get(&own, &[vocabulary, width])?
        };
        let second = format!("{}.bias", names.decoder);
        let bias = if w.contains(names.bias) {
            w.ignore(&second);
            w.get(names.bias, &[vocabulary])?
        } else {
            w.get(&second, &[vocabulary])?
        };
        Ok(Self::Vocabulary {
            dense: Dense {
                linear: Linear::load(w, names.dense, c.hidden_size, width)?,
                activation: names.activation.unwrap_or_else(|| unary(c.hidden_act)),
            },
            norm: LayerNorm::load(w, names.norm, width, c.layer_norm_eps)?,
            decoder: Linear { weight, bias: Some(bias) },
        })
    }

    /// Whether it reads nothing but each row's first token.
    pub fn reads_first_only(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::Pooled(_))
    }

    /// Whether it is a bare encoder's, without a pooler.
    pub fn pooler_is_missing(&self) -> bool {
        matches!(self, Self::Pooled(None))
    }

    /// From the last layer's output to the logits, through the sites `pooled` and `logits`.
    pub fn forward(&self, run: &mut Run<'_, T>, x: Var<T>) -> Result<Var<T>> {
        let logits = match self {
            Self::Text { dense, out } => {
                let first = run.firsts(x); // [B, H]
                let first = run.dropout(first, |rates| rates.head_in); // [B, H]
                let pooled = dense.forward(run, first); // [B, H]
                let pooled = run.site(POOLED, pooled)?;
                let pooled = run.dropout(pooled, |rates| rates.head); // [B, H]
                out.forward(run, pooled) // [B, C]
            }
            Self::Tokens(out) => out.forward(run, x), // [T, C]
            Self::Vocabulary { dense, norm, decoder } => {
                let x = run.wanted(x); // [K, H]
                let x = dense.forward(run, x); // [K, E]
                let x = norm.forward(run, x); // [K, E]
                decoder.forward(run, x) // [K, V]
            }
            Self::Pooled(dense) => {
                let first = run.firsts(x); // [B, H]
                let pooled = match dense {
                    Some(dense) => dense.forward(run, first), // [B, H]
                    None => first,
                };
                run.site(POOLED, pooled)?
            }
        };
        run.site(LOGITS, logits)
    }
}
