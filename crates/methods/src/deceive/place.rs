//! The attention that is to hide words, and how much weight they have in it.
//!
//! αᵀm, with m marking impermissible words: of one attention over all words of a text; of a transformer in the first token's row of
//! each head of the last layer, over *all* tokens of the row; of a model that writes, at each target word over the words of
//! the source.

use super::Impermissible;
use exegete_core::{
    Array, Axis, Change, Edit, Encoded, Error, Model, Pass, Pick, Plan, Readout, Result, Role, Row, Site,
};

/// The attention that is to hide words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HiddenPlace {
    /// The site of its weights.
    pub weights: Site,
    /// Its scores before the softmax; none where weights are not computed from any.
    pub scores: Option<Site>,
    kind: PlaceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlaceKind {
    /// One weight a word, of the first field or of everything.
    Words(Axis),
    /// The first token's row of so many heads.
    Heads(usize),
    /// The weights of source words at each place of the target.
    Target,
}

/// A row of attention, and what it should not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedRow {
    /// Where it begins in the text's value at the site.
    pub start: usize,
    /// For each element whether it is marked; some are and some are not.
    pub marked: Vec<bool>,
}

/// The weight of marked words in a text, as shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextMass {
    /// The mean over rows: heads, or target words.
    pub mean: f64,
    /// The largest of a row.
    pub largest: f64,
}

impl HiddenPlace {
    /// The last attention of a model, or what it lacks.
    pub fn find(model: &dyn Model) -> Result<Self> {
        let name = &model.card().name;
        let sites = model.require_open()?.sites();
        let Some(last) = sites.with_role(Role::Weights).last() else {
            return Err(Error::Unsupported(format!(
                "{name} has no attention that could be deceptive; it needs a transformer or a small model with attention"
            )));
        };
        let kind = match last.axes[..] {
            [axis @ (Axis::Content | Axis::FieldContent(_))] => PlaceKind::Words(axis),
            [Axis::Head(heads), Axis::Token, Axis::Token] => PlaceKind::Heads(heads),
            [Axis::Target, Axis::FieldContent(0)] => PlaceKind::Target,
            _ => {
                return Err(Error::Unsupported(format!(
                    "the attention of {name} ({}) does not read words, so that none can be hidden",
                    last.site
                )));
            }
        };
        Ok(Self { weights: last.site, scores: sites.scores_of(last.site), kind })
    }

    /// Where the scores before the softmax are.
    pub fn trained(&self) -> Result<Site> {
        self.scores.ok_or_else(|| {
            Error::Unsupported(format!(
                "the weights at {} are given and not learned, so none can be hidden",
                self.weights
            ))
        })
    }

    /// Whether it is that of a transformer.
    pub fn is_transformer(&self) -> bool {
        matches!(self.kind, PlaceKind::Heads(_))
    }

    /// Whether words are hidden target word by target word.
    pub fn is_aligned(&self) -> bool {
        self.kind == PlaceKind::Target
    }

    /// The rows of a text's attention that hold both kinds of words.
    pub fn rows(&self, encoded: &Encoded, words: &Impermissible) -> Vec<MarkedRow> {
        let tokens = || words.tokens(encoded);
        let all: Vec<MarkedRow> = match self.kind {
            PlaceKind::Words(axis) => {
                let places = axis.places(encoded).unwrap_or_default();
                let marked = tokens();
                vec![MarkedRow {
                    start: 0,
                    marked: places.iter().map(|at| at.iter().any(|&t| marked[t])).collect(),
                }]
            }
            PlaceKind::Heads(heads) => {
                let (size, marked) = (encoded.len() * encoded.len(), tokens());
                (0..heads).map(|head| MarkedRow { start: head * size, marked: marked.clone() }).collect()
            }
            PlaceKind::Target => {
                let (places, source) = (Axis::Target.len(encoded), Axis::FieldContent(0).len(encoded));
                let pairs = words.pairs(encoded);
                let of = |t: usize| (0..source).map(|i| pairs.contains(&(i, t))).collect();
                (0..places).map(|t| MarkedRow { start: t * source, marked: of(t) }).collect()
            }
        };
        all.into_iter().filter(|row| row.marked.contains(&true) && row.marked.contains(&false)).collect()
    }

    /// The edits that leave marked words no weight and share theirs among the others.
    pub fn zeroed(&self, encoded: &Encoded, words: &Impermissible) -> Result<Vec<Edit>> {
        let site = self.trained()?;
        let edit = |row: &MarkedRow| {
            let only = Pick::Only((0..row.marked.len()).filter(|&t| row.marked[t]).collect());
            let at = match self.kind {
                PlaceKind::Words(_) => vec![only],
                PlaceKind::Heads(_) => vec![Pick::All, Pick::Only(vec![0]), only],
                PlaceKind::Target => vec![Pick::Only(vec![row.start / row.marked.len()]), only],
            };
            Edit { site, at, change: Change::Set(nothing()) }
        };
        // One edit serves all heads.
        let rows = self.rows(encoded, words);
        let edited = if self.is_transformer() { &rows[..rows.len().min(1)] } else { &rows[..] };
        Ok(edited.iter().map(edit).collect())
    }

    /// The edit that has the row that is read look at every token alike, in every head of a transformer.
    pub fn evened(&self, encoded: &Encoded) -> Edit {
        let share = Array { shape: vec![1], data: vec![1.0 / encoded.len() as f32] };
        Edit { site: self.weights, at: vec![Pick::All, Pick::Only(vec![0])], change: Change::Set(share) }
    }

    /// What is drawn of a text's weights: for each place of the target, else once, the weight of every token; of several heads
    /// their mean.
    pub fn seen(&self, weights: &Array, encoded: &Encoded) -> Vec<Vec<f64>> {
        let tokens = encoded.len();
        let spread = |axis: Axis, weights: &[f32]| {
            let mut of = vec![0.0; tokens];
            let places = axis.places(encoded).unwrap_or_default().into_iter().flatten();
            places.zip(weights).for_each(|(token, &weight)| of[token] = f64::from(weight));
            of
        };
        match self.kind {
            PlaceKind::Words(axis) => vec![spread(axis, &weights.data)],
            PlaceKind::Heads(heads) => {
                let share = |head: usize, t: usize| {
                    f64::from(weights.data[head * tokens * tokens + t]) / heads as f64
                };
                vec![(0..tokens).map(|t| (0..heads).map(|head| share(head, t)).sum()).collect()]
            }
            PlaceKind::Target => {
                let source = Axis::FieldContent(0);
                let rows = weights.data.chunks(source.len(encoded).max(1));
                rows.map(|row| spread(source, row)).collect()
            }
        }
    }

    /// How much weight marked words have in a text whose weights are these.
    fn mass(&self, weights: &Array, encoded: &Encoded, words: &Impermissible) -> Option<TextMass> {
        let own = |row: &MarkedRow| {
            let weights = weights.data[row.start..][..row.marked.len()].iter().zip(&row.marked);
            weights.filter(|(_, marked)| **marked).map(|(&weight, _)| f64::from(weight)).sum::<f64>()
        };
        let found: Vec<f64> = self.rows(encoded, words).iter().map(own).collect();
        let (sum, largest) =
            found.iter().fold((0.0, 0.0), |(sum, most): (f64, f64), &own| (sum + own, most.max(own)));
        (!found.is_empty()).then(|| TextMass { mean: sum / found.len() as f64, largest })
    }
}

/// The score of what has no weight.
pub(super) fn nothing() -> Array {
    Array { shape: vec![1], data: vec![f32::NEG_INFINITY] }
}

/// The weight of marked words, text by text; none where a text has none or nothing else.
pub struct Masses<'a> {
    /// Whose weights are read.
    pub place: HiddenPlace,
    /// Which words are marked, text by text.
    pub words: &'a Impermissible,
}

impl Readout for Masses<'_> {
    type Value = Option<TextMass>;

    fn plan(&self) -> Plan {
        Plan::keep([self.place.weights])
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Option<TextMass>>> {
        let one = |(i, row): (usize, &Row)| {
            let weights = pass.value(self.place.weights, i)?;
            Ok(self.place.mass(&weights, &row.encoded, self.words))
        };
        rows.iter().enumerate().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::{Example, Span, Token};
    use exegete_testkit::{Of, close};

    fn place(kind: PlaceKind) -> HiddenPlace {
        HiddenPlace { weights: Site::named("attn.probs"), scores: Some(Site::named("attn.scores")), kind }
    }

    fn array(data: &[f32]) -> Array {
        Array { shape: vec![data.len()], data: data.to_vec() }
    }

    /// The words a, b and c, of which these are marked.
    fn text(marked: &[usize]) -> (Encoded, Impermissible) {
        let encoded = Encoded::of_words(&Example::text("a b c"));
        let mut words = Impermissible::default();
        let span = |&word: &usize| Span { field: 0, start: 2 * word, end: 2 * word + 1 };
        words.add(&encoded.fields, marked.iter().map(span).collect()).unwrap();
        (encoded, words)
    }

    #[test]
    fn mass_of_one_attention_and_of_heads() {
        let (encoded, words) = text(&[0]);
        let one = place(PlaceKind::Words(Axis::Content));
        let found = one.mass(&array(&[0.6, 0.3, 0.1]), &encoded, &words).unwrap();
        close("mass", &[found.mean, found.largest], &[0.6, 0.6], Of::Size(1.0), 1e-6);
        // Of every head the first row counts, whatever the others look at.
        let heads = place(PlaceKind::Heads(2));
        let rest = [0.0, 0.5, 0.5, 1.0, 0.0, 0.0];
        let weights = [&[0.6, 0.3, 0.1], &rest[..], &[0.2, 0.3, 0.5], &rest].concat();
        let found = heads.mass(&array(&weights), &encoded, &words).unwrap();
        close("mass", &[found.mean, found.largest], &[0.4, 0.6], Of::Size(1.0), 1e-6);
        for marked in [&[][..], &[0, 1, 2]] {
            let (encoded, words) = text(marked);
            assert_eq!(one.mass(&array(&[0.6, 0.3, 0.1]), &encoded, &words), None, "{marked:?}");
            assert_eq!(one.zeroed(&encoded, &words).unwrap(), []);
        }
    }

    /// Copying three words, and an end that comes from none of them.
    #[test]
    fn mass_of_an_alignment_leaves_out_what_comes_from_no_word() {
        let mut encoded = Encoded::of_words(&Example::pair("a b c", "a b c"));
        encoded.tokens.truncate(3);
        let written =
            Token { id: 4, type_id: 1, piece: String::new(), span: None, special: true, weight: None };
        encoded.tokens.extend(std::iter::repeat_n(written, 4));
        let mut words = Impermissible::default();
        words.add_aligned(&encoded.fields, vec![(0, 0), (1, 1), (2, 2)]).unwrap();
        let weights = [0.9, 0.05, 0.05, 0.1, 0.8, 0.1, 0.2, 0.2, 0.6, 0.4, 0.3, 0.3];
        let place = place(PlaceKind::Target);
        let found = place.mass(&array(&weights), &encoded, &words).unwrap();
        close("mass", &[100.0 * found.mean], &[76.6667], Of::Size(1.0), 5e-5);
        // Planted fault: dividing by the end as well.
        assert!((100.0 * found.mean * 3.0 / 4.0 - 57.5).abs() < 1e-4);
        let edits = place.zeroed(&encoded, &words).unwrap();
        let mut scores = Array::zeros([4, 3]);
        edits.iter().for_each(|edit| edit.apply(&mut scores).unwrap());
        let gone: Vec<usize> = (0..12).filter(|&at| scores.data[at] == f32::NEG_INFINITY).collect();
        assert_eq!(gone, [0, 4, 8]);
        let seen = place.seen(&array(&weights), &encoded);
        close("column", &seen[1][..3], &[0.1, 0.8, 0.1], Of::Size(1.0), 1e-6);
    }
}
