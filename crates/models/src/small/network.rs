//! The whole classifier, from word vectors to logits.
//!
//! B texts, T tokens (packed total), W words among them, d the width of word vectors, m that of states, C classes.

use super::pooling::{Attention, Content, PROBS, SCORES};
use super::states::{self, States};
use super::{Small, SmallAttention, SmallConfig, SmallHead};
use crate::blocks::Linear;
use crate::encoder::{LOGITS, Network, POOLED, WORDS};
use crate::run::Run;
use crate::weights::{Param, Weights};
use exegete_core::{
    Axis, Encoded, Error, GroupKind, Plan, Record, Result, Role, Row, Site, SiteInfo, Sites, Task,
};
use exegete_engine::{Op, Patch, Scalar, Segments, Unary, Var};

/// The states of the attended field.
pub(super) const STATES: Site = Site::named("enc.out");
/// The states of the query.
const QUERY_STATES: Site = Site::named("query.enc.out");
/// The query as one vector.
const QUERY: Site = Site::named("query.pooled");
/// What stands for −∞ in an answer that the story rules out: its probability is 0, and every number stays finite.
const RULED_OUT: f64 = -1e9;

/// A classifier of one text or of two.
pub(super) struct Classifier<T> {
    word: Param<T>,
    states: States<T>,
    attention: Attention<T>,
    query: Option<States<T>>,
    head: Head<T>,
    sites: Sites,
    /// The words of each class, where classes that do not occur in the first text are ruled out.
    answers: Option<Vec<Vec<u32>>>,
}

enum Head<T> {
    Text(Linear<T>),
    Pair(Box<PairHead<T>>),
}

/// Where the second field is added to the first.
struct PairHead<T> {
    first: Linear<T>,
    second: Linear<T>,
    out: Linear<T>,
}

impl<T: Scalar> Classifier<T> {
    pub(super) fn load(w: &mut Weights<'_, T>, small: &Small, task: &dyn Task) -> Result<Self> {
        let Small { config: c, vocabulary, .. } = small;
        let (m, classes, asked) = (c.width(), c.labels.len(), c.fields() == 2);
        w.group_of(GroupKind::WordVectors, "embed");
        let word = w.get("embed.weight", &[vocabulary.len(), c.embedding])?;
        w.group("encoder");
        let states = States::load(w, "encoder", "", c)?;
        let query = asked.then(|| States::load(w, "query_encoder", "query.", c)).transpose()?;
        w.group("attention");
        let attention = Attention::load(w, "", c)?;
        w.head();
        let inner = (m / 2).max(1);
        let head = if asked {
            Head::Pair(Box::new(PairHead {
                first: Linear::load(w, "head.first", m, inner)?,
                second: Linear::load(w, "head.second", m, inner)?,
                out: Linear::load(w, "head.out", inner, classes)?,
            }))
        } else {
            Head::Text(Linear::load(w, "head", m, classes)?)
        };
        let tokenizer = small.tokenizer();
        let answers = (c.head == SmallHead::EntityQa)
            .then(|| c.labels.iter().map(|label| tokenizer.ids(label)).collect());
        let sites = sites(c, task.axes(&c.widths(vocabulary.len())));
        Ok(Self { word, states, attention, query, head, sites, answers })
    }

    /// The matrix that word vectors are rows of.
    pub(super) fn word(&self) -> &Param<T> {
        &self.word
    }

    /// The word vectors of all tokens, \[T, d\].
    fn vectors(&self, run: &mut Run<'_, T>) -> Var<T> {
        let (table, ids) = (run.param(&self.word), run.ids());
        run.tape.apply(Op::Gather(ids), [table]) // [T, d]
    }

    /// The word vectors of one field \[Tf, d\] → its states \[Tf, m\].
    fn encode(
        &self,
        run: &mut Run<'_, T>,
        states: &States<T>,
        field: &FieldTokens,
        x: Var<T>,
    ) -> Result<Var<T>> {
        let x = match &self.query {
            Some(_) => run.tape.apply(Op::Gather(field.index.clone()), [x]), // [Tf, d]
            None => x,
        };
        run.lay_out(&field.segments);
        run.lay_out(&field.content.segments);
        let x = run.dropout_over(&field.segments, x, |rates| rates.embedding); // [Tf, d]
        states.forward(run, &field.segments, x) // [Tf, m]
    }

    /// The second field as one vector: its last states, else the mean over its words. No edit lies on this way where a run
    /// starts behind it, so the query is then made from its words again.
    fn ask(&self, run: &mut Run<'_, T>, states: &States<T>, x: &Var<T>) -> Result<Var<T>> {
        let field = FieldTokens::of(run.rows(), 1)?;
        let x = if run.skips(WORDS) { self.vectors(run) } else { x.clone() }; // [T, d]
        let encoded = self.encode(run, states, &field, x)?; // [Tq, m]
        let encoded = run.site(QUERY_STATES, encoded)?;
        let query = match states.ends(run, &field.segments, &encoded) {
            Some(ends) => ends, // [B, m]
            None => {
                let words = run.tape.apply(Op::Gather(field.content.index.clone()), [encoded]); // [Wq, m]
                run.tape.segment_mean(&field.content.segments, words) // [B, m]
            }
        };
        run.site(QUERY, query)
    }

    fn logits(&self, run: &mut Run<'_, T>, pooled: Var<T>, query: Option<Var<T>>) -> Var<T> {
        match (&self.head, query) {
            (Head::Text(out), _) => out.forward(run, pooled), // [B, C]
            (Head::Pair(head), query) => {
                let PairHead { first, second, out } = &**head;
                let mut inner = first.forward(run, pooled); // [B, m/2]
                if let Some(query) = query {
                    let asked = second.forward(run, query); // [B, m/2]
                    inner = run.tape.apply(Op::Add, [inner, asked]); // [B, m/2]
                }
                let inner = run.tape.apply(Op::Unary(Unary::Tanh), [inner]); // [B, m/2]
                out.forward(run, inner) // [B, C]
            }
        }
    }

    /// Takes answers out of the race that the story does not hold; none where it holds none of them.
    fn ruled(&self, run: &mut Run<'_, T>, logits: Var<T>) -> Var<T> {
        let Some(answers) = &self.answers else { return logits };
        let mut patch = Patch::default();
        for (b, row) in run.rows().iter().enumerate() {
            let there: Vec<bool> = answers.iter().map(|answer| occurs(&row.encoded, answer)).collect();
            let gone = |class: &usize| there.contains(&true) && !there[*class];
            for class in (0..answers.len()).filter(gone) {
                patch.push(b * answers.len() + class, 1, T::default(), &[T::from_f64(RULED_OUT)]);
            }
        }
        if patch.is_empty() { logits } else { run.tape.apply(Op::Patch(patch.into()), [logits]) }
    }
}

impl<T: Scalar> Network<T> for Classifier<T> {
    fn sites(&self) -> &Sites {
        &self.sites
    }

    fn forward(&self, run: &mut Run<'_, T>) -> Result<()> {
        let field = FieldTokens::of(run.rows(), 0)?;
        let x = run.cut(WORDS, |run| Ok(self.vectors(run)))?; // [T, d]
        let query = self.query.as_ref().map(|states| self.ask(run, states, &x)).transpose()?; // [B, m]
        let states = run.cut(STATES, |run| self.encode(run, &self.states, &field, x))?; // [Tf, m]
        let ends = self.states.ends(run, &field.segments, &states); // [B, m]
        let pooled = self.attention.forward(run, &field.content, states, query.clone(), ends)?; // [B, m]
        let pooled = run.site(POOLED, pooled)?;
        let pooled = run.dropout(pooled, |rates| rates.head); // [B, m]
        let logits = self.logits(run, pooled, query); // [B, C]
        let logits = self.ruled(run, logits); // [B, C]
        run.site(LOGITS, logits)?;
        Ok(())
    }

    fn elements(&self, row: &Row, plan: &Plan) -> usize {
        elements(&self.sites, row, plan)
    }

    fn learning_elements(&self, row: &Row) -> usize {
        2 * self.sites.iter().map(|info| info.elements(&row.encoded)).sum::<usize>()
    }
}

/// An upper estimate of the activations of a row: every place once, gates included, and as often as derivatives copy it.
pub(super) fn elements(sites: &Sites, row: &Row, plan: &Plan) -> usize {
    let places: usize = sites.iter().map(|info| info.elements(&row.encoded)).sum();
    let copies = match plan.record {
        Record::Nothing => 3,
        Record::Gradient => 6,
        Record::Lowered | Record::Paired => 24,
    };
    places * copies
}

/// The tokens of one field among those of all rows.
pub(super) struct FieldTokens {
    /// Rows of the packed word vectors.
    pub(super) index: std::sync::Arc<[usize]>,
    pub(super) segments: Segments,
    /// Which of the field's own rows are words.
    pub(super) content: Content,
}

impl FieldTokens {
    pub(super) fn of(rows: &[Row], field: u32) -> Result<Self> {
        let (mut index, mut content) = (Vec::new(), Vec::new());
        let (mut lens, mut words, mut first) = (Vec::new(), Vec::new(), 0);
        for (i, row) in rows.iter().enumerate() {
            let (tokens, known) = (index.len(), content.len());
            for (at, token) in row.encoded.tokens.iter().enumerate().filter(|(_, t)| t.type_id == field) {
                if !token.special {
                    content.push(index.len());
                }
                index.push(first + at);
            }
            if index.len() == tokens {
                return Err(Error::Request(format!("row {i}: there are no tokens of field {field}")));
            }
            lens.push(index.len() - tokens);
            words.push(content.len() - known);
            first += row.encoded.len();
        }
        let content = Content { index: content.into(), segments: Segments::new(words) };
        Ok(Self { index: index.into(), segments: Segments::new(lens), content })
    }
}

/// Whether the words of an answer stand one after the other in the first field.
fn occurs(encoded: &Encoded, answer: &[u32]) -> bool {
    let story = encoded.tokens.iter().filter(|token| token.type_id == 0 && !token.special);
    let story: Vec<u32> = story.map(|token| token.id).collect();
    !answer.is_empty() && story.windows(answer.len()).any(|words| words == answer)
}

/// Every place, in the order of computation.
fn sites(c: &SmallConfig, logits: Vec<Axis>) -> Sites {
    let asked = c.fields() == 2;
    let (m, unit) = (c.width(), Axis::Neuron);
    let [token, content] =
        if asked { [Axis::FieldToken(0), Axis::FieldContent(0)] } else { [Axis::Token, Axis::Content] };
    let mut sites = vec![SiteInfo::new(WORDS, "embed", Role::Words, [Axis::Token, unit(c.embedding)]).cut()];
    if asked {
        sites.extend(states::sites(c, "query.", Axis::FieldToken(1)));
        sites.push(SiteInfo::new(QUERY_STATES, "query.enc", Role::Inner, [Axis::FieldToken(1), unit(m)]));
        sites.push(SiteInfo::new(QUERY, "query.enc", Role::Inner, [unit(m)]));
    }
    sites.extend(states::sites(c, "", token));
    let out = SiteInfo::new(STATES, "enc", Role::LayerOutput, [token, unit(m)]);
    // A run can start there, but what the query says does not go through it.
    sites.push(if asked { SiteInfo { cut: true, ..out } } else { out.cut() });
    if matches!(c.attention, SmallAttention::Additive | SmallAttention::Dot) {
        sites.push(SiteInfo::new(SCORES, "attn", Role::Scores, [content]));
    }
    if !matches!(c.attention, SmallAttention::None | SmallAttention::Max) {
        sites.push(SiteInfo::new(PROBS, "attn", Role::Weights, [content]));
    }
    let pooled = SiteInfo::new(POOLED, "head", Role::Inner, [unit(m)]);
    sites.push(if asked { pooled } else { pooled.carrying_all() });
    sites.push(SiteInfo::new(LOGITS, "head", Role::Outputs, logits).carrying_all());
    Sites::new(sites)
}
