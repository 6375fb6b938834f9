//! Attention over words, then over sentences: Z. Yang and others, *Hierarchical attention networks for document
//! classification*, 2016, in the form and with the numbers of S. Serrano and N. A. Smith, *Is attention interpretable?*,
//! 2019.
//!
//! Each sentence stands between markers of its own. Its words are encoded by themselves and weighed to one vector; these
//! vectors, without markers, are encoded and weighed in the same way; what comes out is what a linear head reads.
//!
//! B texts, T tokens (packed total), W words among them, S sentences, d the width of word vectors, m that of states at both
//! levels, C classes.

use super::network::elements;
use super::pooling::{Attention, Content};
use super::states::{self, States, site};
use super::{Small, SmallAttention, SmallConfig};
use crate::blocks::Linear;
use crate::encoder::{LOGITS, Network, WORDS};
use crate::run::Run;
use crate::weights::{Param, Weights};
use exegete_core::{Axis, GroupKind, Plan, Result, Role, Row, Site, SiteInfo, Sites, Task};
use exegete_engine::{Op, Scalar, Segments};

/// What the places and tensors of the two levels are called after.
const LEVELS: [&str; 2] = ["word.", "sentence."];
/// The states of tokens, each read within its sentence.
const WORD_STATES: Site = Site::named("word.enc.out");
/// Sentences as vectors, before they read each other.
const SENTENCES: Site = Site::named("word.pooled");
/// The states of sentences.
const SENTENCE_STATES: Site = Site::named("sentence.enc.out");
/// The text as one vector.
const TEXT: Site = Site::named("sentence.pooled");

/// A classifier of texts of several sentences.
pub(super) struct Han<T> {
    /// The word vectors, \[V, d\].
    pub(super) word: Param<T>,
    /// From words to a sentence, from sentences to a text.
    levels: [Level<T>; 2],
    head: Linear<T>,
    sites: Sites,
}

struct Level<T> {
    states: States<T>,
    attention: Attention<T>,
}

impl<T: Scalar> Han<T> {
    pub(super) fn load(w: &mut Weights<'_, T>, small: &Small, task: &dyn Task) -> Result<Self> {
        let Small { config: c, vocabulary, .. } = small;
        w.group_of(GroupKind::WordVectors, "embed");
        let word = w.get("embed.weight", &[vocabulary.len(), c.embedding])?;
        let mut level = |prefix: &'static str, input: usize| {
            let given = SmallConfig { embedding: input, ..c.clone() };
            w.group(format!("{prefix}encoder"));
            let states = States::load(w, &format!("{prefix}encoder"), prefix, &given)?;
            w.group(format!("{prefix}attention"));
            Ok::<_, exegete_core::Error>(Level { states, attention: Attention::load(w, prefix, &given)? })
        };
        let levels = [level(LEVELS[0], c.embedding)?, level(LEVELS[1], c.width())?];
        w.head();
        let head = Linear::load(w, "head", c.width(), c.labels.len())?;
        let sites = sites(c, task.axes(&c.widths(vocabulary.len())));
        Ok(Self { word, levels, head, sites })
    }
}

impl<T: Scalar> Network<T> for Han<T> {
    fn sites(&self) -> &Sites {
        &self.sites
    }

    fn forward(&self, run: &mut Run<'_, T>) -> Result<()> {
        let Layout { tokens, words, content, sentences } = Layout::of(run.rows());
        run.lay_out(&content);
        run.lay_out(&sentences.segments);
        let [word, sentence] = &self.levels;
        let x = run.cut(WORDS, |run| {
            let (table, ids) = (run.param(&self.word), run.ids());
            Ok(run.tape.apply(Op::Gather(ids), [table])) // [T, d]
        })?;
        let states = run.cut(WORD_STATES, |run| {
            let x = run.dropout(x, |rates| rates.embedding); // [T, d]
            word.states.forward(run, &tokens, x) // [T, m]
        })?;
        let states = run.cut(SENTENCE_STATES, |run| {
            let x = word.attention.forward(run, &words, states, None, None)?; // [S, m]
            let x = run.site(SENTENCES, x)?;
            let x = run.dropout_over(&sentences.segments, x, |rates| rates.attention_out); // [S, m]
            sentence.states.forward(run, &sentences.segments, x) // [S, m]
        })?;
        let pooled = sentence.attention.forward(run, &sentences, states, None, None)?; // [B, m]
        let pooled = run.site(TEXT, pooled)?;
        let ones = Segments::new(run.rows().iter().map(|_| 1));
        let pooled = run.dropout_over(&ones, pooled, |rates| rates.head); // [B, m]
        let logits = self.head.forward(run, pooled); // [B, C]
        run.site(LOGITS, logits)?;
        Ok(())
    }

    fn elements(&self, row: &Row, plan: &Plan) -> usize {
        elements(&self.sites, row, plan)
    }

    fn learning_elements(&self, row: &Row) -> usize {
        elements(&self.sites, row, &Plan::default())
    }
}

/// Where the sentences of all rows lie.
struct Layout {
    /// Stretches of tokens that are encoded by themselves: sentences with their markers, and whatever lies between them.
    tokens: Segments,
    /// The words of each sentence, \[W\] in S parts.
    words: Content,
    /// The words of each text, \[W\] in B parts.
    content: Segments,
    /// The sentences of each text, \[S\] in B parts.
    sentences: Content,
}

impl Layout {
    fn of(rows: &[Row]) -> Self {
        let (mut tokens, mut words, mut content, mut sentences) = (vec![], vec![], vec![], vec![]);
        let (mut index, mut first) = (Vec::new(), 0);
        for row in rows {
            let (len, mut end, mut count) = (row.encoded.len(), 0, 0);
            let known = index.len();
            for range in row.encoded.sentences() {
                // A sentence has the marker before it, where no other has it, and the one after it.
                let start = range.start.saturating_sub(1).max(end);
                tokens.extend([start - end, (range.end + 1).min(len) - start]);
                end = (range.end + 1).min(len);
                words.push(range.len());
                index.extend(range.map(|at| first + at));
                count += 1;
            }
            tokens.push(len - end);
            content.push(index.len() - known);
            sentences.push(count);
            first += len;
        }
        let every = (0..words.len()).collect();
        Self {
            tokens: Segments::new(tokens.into_iter().filter(|&len| len > 0)),
            words: Content { index: index.into(), segments: Segments::new(words) },
            content: Segments::new(content),
            sentences: Content { index: every, segments: Segments::new(sentences) },
        }
    }
}

/// Every place, in the order of computation.
fn sites(c: &SmallConfig, logits: Vec<Axis>) -> Sites {
    let (d, m, unit) = (c.embedding, c.width(), Axis::Neuron);
    let mut sites = vec![SiteInfo::new(WORDS, "embed", Role::Words, [Axis::Token, unit(d)]).cut()];
    let levels = [
        (WORD_STATES, [Axis::Token, Axis::Content], SENTENCES, vec![Axis::Sentence, unit(m)]),
        (SENTENCE_STATES, [Axis::Sentence; 2], TEXT, vec![unit(m)]),
    ];
    for (prefix, (states, [encoded, weighed], pooled, axes)) in LEVELS.into_iter().zip(levels) {
        let attention = format!("{prefix}attn");
        sites.extend(states::sites(c, prefix, encoded));
        sites
            .push(SiteInfo::new(states, format!("{prefix}enc"), Role::LayerOutput, [encoded, unit(m)]).cut());
        if c.attention != SmallAttention::Uniform {
            sites.push(SiteInfo::new(site(prefix, "attn.scores"), &attention, Role::Scores, [weighed]));
        }
        sites.push(SiteInfo::new(site(prefix, "attn.probs"), &attention, Role::Weights, [weighed]));
        sites.push(SiteInfo::new(pooled, attention, Role::Inner, axes).carrying_all());
    }
    sites.push(SiteInfo::new(LOGITS, "head", Role::Outputs, logits).carrying_all());
    Sites::new(sites)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::Encoded;

    /// A row of words (1) and special tokens (0).
    fn row(pattern: &[u8]) -> Row {
        let ids: Vec<u32> = pattern.iter().map(|&is_word| is_word.into()).collect();
        let mut encoded = Encoded::from_ids(&ids);
        encoded.tokens.iter_mut().for_each(|token| token.special = token.id == 0);
        Row::new(encoded)
    }

    #[test]
    fn sentences_keep_their_markers_and_empty_ones_are_none() {
        let check = |pattern: &[u8], tokens: &[usize], words: &[usize]| {
            let layout = Layout::of(&[row(&[0, 1, 0]), row(pattern)]);
            let all = |own: &[usize], first: usize| [&[first], own].concat();
            assert_eq!(layout.tokens.lengths().collect::<Vec<_>>(), all(tokens, 3), "{pattern:?}");
            assert_eq!(layout.words.segments.lengths().collect::<Vec<_>>(), all(words, 1), "{pattern:?}");
            assert_eq!(layout.tokens.total(), 3 + pattern.len());
            assert_eq!(layout.sentences.segments.lengths().collect::<Vec<_>>(), [1, words.len()]);
            assert_eq!(layout.content.lengths().collect::<Vec<_>>(), [1, words.iter().sum()]);
            assert!(layout.words.index.iter().skip(1).all(|&at| pattern[at - 3] == 1));
        };
        check(&[0, 1, 1, 0, 0, 1, 0], &[4, 3], &[2, 1]);
        check(&[0, 1, 0, 0, 0, 0, 1, 0], &[3, 2, 3], &[1, 1]);
        check(&[0, 0, 0, 1, 0, 0, 0], &[2, 3, 2], &[1]);
        check(&[1, 1, 0, 1], &[3, 1], &[2, 1]);
        check(&[0, 0], &[2], &[]);
    }
}
