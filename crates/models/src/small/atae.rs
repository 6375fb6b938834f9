//! Attention that knows what it is asked about: Y. Wang and others, *Attention-based LSTM for aspect-level sentiment
//! classification*, 2016 (ATAE-LSTM). The first field is the text, the second the aspect.
//!
//! v_a = the mean of the aspect's word vectors, which come from a table of their own, h = LSTM over \[e_t; v_a\],
//! M_t = tanh(\[W_h h_t; W_v v_a\]), α = softmax(w·M_t) over words, r = Σ α_t h_t, h* = tanh(W_p r + W_x h_last).
//!
//! B texts, T tokens (packed total), Tf of them in the text, W words among those, Wa words of aspects, d the width of word
//! vectors, m that of states, a that inside the attention, C classes.

use super::Small;
use super::network::{FieldTokens, STATES, elements};
use super::pooling::{PROBS, SCORES};
use super::states::{self, States};
use crate::blocks::Linear;
use crate::encoder::{LOGITS, Network, POOLED, WORDS};
use crate::run::Run;
use crate::small::SmallConfig;
use crate::weights::{Param, Weights};
use exegete_core::{Axis, GroupKind, Plan, Result, Role, Row, Site, SiteInfo, Sites, Task, Token};
use exegete_engine::{Op, Scalar, Unary, Var};
use std::sync::Arc;

/// v_a, the aspect as one vector.
const ASPECT: Site = Site::named("aspect.pooled");
/// r, what the attention read.
const CONTEXT: Site = Site::named("attn.context");

/// A classifier of what a text says about an aspect.
pub(super) struct Atae<T> {
    /// The word vectors of texts, \[V, d\].
    pub(super) word: Param<T>,
    /// The word vectors of aspects, \[V, d\].
    aspect: Param<T>,
    states: States<T>,
    /// W_h: \[m\] → \[a\].
    hidden: Linear<T>,
    /// W_v: \[d\] → \[d\].
    query: Linear<T>,
    /// w, of shape \[1, a + d\].
    score: Linear<T>,
    /// W_p: \[m\] → \[m\].
    context: Linear<T>,
    /// W_x: \[m\] → \[m\].
    last: Linear<T>,
    out: Linear<T>,
    sites: Sites,
}

impl<T: Scalar> Atae<T> {
    pub(super) fn load(w: &mut Weights<'_, T>, small: &Small, task: &dyn Task) -> Result<Self> {
        let Small { config: c, vocabulary, .. } = small;
        let (d, m, a) = (c.embedding, c.width(), c.attention_hidden);
        let table = [vocabulary.len(), d];
        w.group_of(GroupKind::WordVectors, "embed");
        let (word, aspect) = (w.get("embed.weight", &table)?, w.get("aspect.weight", &table)?);
        w.group("encoder");
        // Each step reads a word vector and the aspect beside it.
        let states = States::load(w, "encoder", "", &SmallConfig { embedding: 2 * d, ..c.clone() })?;
        w.group("attention");
        let mut linear = |path: &str, input: usize, output: usize| {
            let weight = w.get(&format!("{path}.weight"), &[output, input])?;
            Ok::<_, exegete_core::Error>(Linear { weight, bias: None })
        };
        let hidden = linear("attention.hidden", m, a)?;
        let query = linear("attention.query", d, d)?;
        let score = linear("attention.score", a + d, 1)?;
        w.head();
        let mut linear = |path: &str| {
            let weight = w.get(&format!("{path}.weight"), &[m, m])?;
            Ok::<_, exegete_core::Error>(Linear { weight, bias: None })
        };
        let (context, last) = (linear("head.context")?, linear("head.last")?);
        let out = Linear::load(w, "head.out", m, c.labels.len())?;
        let sites = sites(c, task.axes(&c.widths(vocabulary.len())));
        Ok(Self { word, aspect, states, hidden, query, score, context, last, out, sites })
    }

    /// The vectors of all tokens, those of each field from its own table: → \[T, d\].
    fn vectors(&self, run: &mut Run<'_, T>, fields: [&FieldTokens; 2]) -> Var<T> {
        let ids = run.ids();
        let (mut parts, mut places, mut before) = (Vec::new(), vec![0; ids.len()], 0);
        for (field, table) in fields.into_iter().zip([&self.word, &self.aspect]) {
            let table = run.param(table); // [V, d]
            let own = field.index.iter().map(|&at| ids[at]).collect();
            parts.push(run.tape.apply(Op::Gather(own), [table])); // [Tf, d], then [Ta, d]
            field.index.iter().zip(before..).for_each(|(&at, place)| places[at] = place);
            before += field.index.len();
        }
        let all = run.tape.apply(Op::JoinRows, parts); // [T, d], field after field
        run.tape.apply(Op::Gather(places.into()), [all]) // [T, d], row after row
    }

    /// The vectors of the aspects' words, \[Wa, d\]. No edit lies on their way where a run starts behind them, so they are then
    /// looked up again.
    fn aspects(&self, run: &mut Run<'_, T>, asked: &FieldTokens, x: &Var<T>) -> Var<T> {
        let places: Arc<[usize]> = asked.content.index.iter().map(|&at| asked.index[at]).collect();
        if !run.skips(WORDS) {
            return run.tape.apply(Op::Gather(places), [x.clone()]); // [Wa, d]
        }
        let (table, ids) = (run.param(&self.aspect), run.ids());
        let ids = places.iter().map(|&at| ids[at]).collect();
        run.tape.apply(Op::Gather(ids), [table]) // [Wa, d]
    }

    /// Weights over words: states \[W, m\] and aspects \[B, d\] → \[W, 1\].
    fn weigh(
        &self,
        run: &mut Run<'_, T>,
        text: &FieldTokens,
        words: Var<T>,
        aspect: Var<T>,
    ) -> Result<Var<T>> {
        let segments = &text.content.segments;
        let hidden = self.hidden.forward(run, words); // [W, a]
        let asked = self.query.forward(run, aspect); // [B, d]
        let asked = run.tape.apply(Op::Gather(segments.owners()), [asked]); // [W, d]
        let inner = run.tape.apply(Op::JoinColumns, [hidden, asked]); // [W, a + d]
        let inner = run.tape.apply(Op::Unary(Unary::Tanh), [inner]); // [W, a + d]
        let scores = self.score.forward(run, inner); // [W, 1]
        let scores = run.site(SCORES, scores)?;
        let probs = run.tape.segment_softmax(segments, scores); // [W, 1]
        run.site(PROBS, probs)
    }
}

impl<T: Scalar> Network<T> for Atae<T> {
    fn sites(&self) -> &Sites {
        &self.sites
    }

    fn forward(&self, run: &mut Run<'_, T>) -> Result<()> {
        let (text, asked) = (FieldTokens::of(run.rows(), 0)?, FieldTokens::of(run.rows(), 1)?);
        for segments in [&text.segments, &text.content.segments, &asked.content.segments] {
            run.lay_out(segments);
        }
        let x = run.cut(WORDS, |run| Ok(self.vectors(run, [&text, &asked])))?; // [T, d]
        let aspect = self.aspects(run, &asked, &x); // [Wa, d]
        let aspect = run.tape.segment_mean(&asked.content.segments, aspect); // [B, d]
        let aspect = run.site(ASPECT, aspect)?;

        let states = run.cut(STATES, |run| {
            let words = run.tape.apply(Op::Gather(text.index.clone()), [x]); // [Tf, d]
            let beside = run.tape.apply(Op::Gather(text.segments.owners()), [aspect.clone()]); // [Tf, d]
            let x = run.tape.apply(Op::JoinColumns, [words, beside]); // [Tf, 2d]
            let x = run.dropout_over(&text.segments, x, |rates| rates.embedding); // [Tf, 2d]
            self.states.forward(run, &text.segments, x) // [Tf, m]
        })?;

        let words = run.tape.apply(Op::Gather(text.content.index.clone()), [states.clone()]); // [W, m]
        let probs = self.weigh(run, &text, words.clone(), aspect)?; // [W, 1]
        let context = run.tape.segment_weighted_sum(&text.content.segments, probs, words); // [B, m]
        let context = run.site(CONTEXT, context)?;

        let last = (0..text.segments.count()).map(|b| text.segments.range(b).end - 1).collect();
        let last = run.tape.apply(Op::Gather(last), [states]); // [B, m]
        let (context, last) = (self.context.forward(run, context), self.last.forward(run, last)); // [B, m]
        let pooled = run.tape.apply(Op::Add, [context, last]); // [B, m]
        let pooled = run.tape.apply(Op::Unary(Unary::Tanh), [pooled]); // [B, m]
        let pooled = run.site(POOLED, pooled)?;
        let pooled = run.dropout(pooled, |rates| rates.head); // [B, m]
        let logits = self.out.forward(run, pooled); // [B, C]
        run.site(LOGITS, logits)?;
        Ok(())
    }

    fn reads_words(&self, token: &Token) -> bool {
        token.type_id == 0
    }

    fn elements(&self, row: &Row, plan: &Plan) -> usize {
        elements(&self.sites, row, plan)
    }

    fn learning_elements(&self, row: &Row) -> usize {
        elements(&self.sites, row, &Plan::default())
    }
}

/// Every place, in the order of computation.
fn sites(c: &SmallConfig, logits: Vec<Axis>) -> Sites {
    let (d, m, unit) = (c.embedding, c.width(), Axis::Neuron);
    let [token, content] = [Axis::FieldToken(0), Axis::FieldContent(0)];
    let mut sites = vec![
        SiteInfo::new(WORDS, "embed", Role::Words, [Axis::Token, unit(d)]).cut(),
        SiteInfo::new(ASPECT, "embed", Role::Inner, [unit(d)]),
    ];
    sites.extend(states::sites(c, "", token));
    sites.extend([
        // A run can start there, but what the aspect says does not go through it.
        SiteInfo { cut: true, ..SiteInfo::new(STATES, "enc", Role::LayerOutput, [token, unit(m)]) },
        SiteInfo::new(SCORES, "attn", Role::Scores, [content]),
        SiteInfo::new(PROBS, "attn", Role::Weights, [content]),
        SiteInfo::new(CONTEXT, "attn", Role::Inner, [unit(m)]),
        SiteInfo::new(POOLED, "head", Role::Inner, [unit(m)]).carrying_all(),
        SiteInfo::new(LOGITS, "head", Role::Outputs, logits).carrying_all(),
    ]);
    Sites::new(sites)
}
