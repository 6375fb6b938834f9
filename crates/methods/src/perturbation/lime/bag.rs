use crate::perturbation::Game;
use crate::{Question, Set};
use exegete_core::{Result, Span, Token, Unit};

/// What is present or hidden as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Features {
    /// Each unit where it stands.
    Positions,
    /// Each different word, wherever it stands.
    Words,
}

/// The features of a text: which pieces each of them hides.
pub(super) struct InterpretableFeatures {
    /// The pieces that are hidden.
    pub(super) pieces: Vec<Unit>,
    /// Indices into the pieces, one list a feature.
    groups: Vec<Set>,
}

impl InterpretableFeatures {
    pub(super) fn of(job: &Question<'_>, features: Features) -> Self {
        match features {
            Features::Positions => {
                let groups = (0..job.units.len()).map(|unit| vec![unit]).collect();
                Self { pieces: job.units.to_vec(), groups }
            }
            Features::Words => Self::of_words(job),
        }
    }

    fn of_words(job: &Question<'_>) -> Self {
        let (mut pieces, mut groups, mut known) = (Vec::new(), Vec::<Set>::new(), Vec::new());
        for (field, text) in job.encoded().fields.iter().enumerate() {
            for (start, end) in words(&text.text) {
                let span = Span { field, start, end };
                let tokens = tokens(&job.encoded().tokens, span, &pieces);
                if tokens.is_empty() {
                    continue;
                }
                let word = (field, &text.text[start..end]);
                let group = known.iter().position(|other| *other == word).unwrap_or_else(|| {
                    known.push(word);
                    groups.push(Set::new());
                    groups.len() - 1
                });
                groups[group].push(pieces.len());
                pieces.push(Unit { span, tokens });
            }
        }
        Self { pieces, groups }
    }

    /// How many features there are.
    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// The game of the features of a game of the pieces.
    pub(super) fn game<'a>(&'a self, pieces: &'a mut dyn Game) -> Grouped<'a> {
        Grouped { groups: &self.groups, pieces }
    }

    /// A number for each unit: `joined` of those of the features that have tokens in it.
    pub(super) fn units(&self, units: &[Unit], values: &[f64], joined: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        let inside = |unit: &Unit, group: &Set| {
            let mut tokens = group.iter().flat_map(|&piece| &self.pieces[piece].tokens);
            tokens.any(|token| unit.tokens.contains(token))
        };
        let of = |unit: &Unit| {
            let own = self.groups.iter().zip(values).filter(|(group, _)| inside(unit, group));
            joined(&own.map(|(_, value)| *value).collect::<Vec<f64>>())
        };
        units.iter().map(of).collect()
    }
}

/// Features of pieces as players.
pub(super) struct Grouped<'a> {
    groups: &'a [Set],
    pieces: &'a mut dyn Game,
}

impl Game for Grouped<'_> {
    fn players(&self) -> usize {
        self.groups.len()
    }

    fn values(&mut self, hidden: &[Set]) -> Result<Vec<f64>> {
        let pieces = |set: &Set| {
            let mut pieces: Set = set.iter().flat_map(|&feature| self.groups[feature].clone()).collect();
            pieces.sort_unstable();
            pieces
        };
        let hidden: Vec<Set> = hidden.iter().map(pieces).collect();
        self.pieces.values(&hidden)
    }
}

/// Where the words of a text stand: runs of letters, digits and underscores.
fn words(text: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, c) in text.char_indices().filter(|(_, c)| c.is_alphanumeric() || *c == '_') {
        match found.last_mut() {
            Some((_, end)) if *end == at => *end += c.len_utf8(),
            _ => found.push((at, at + c.len_utf8())),
        }
    }
    found
}

/// The tokens that have bytes of a word, but for those that an earlier word has.
fn tokens(tokens: &[Token], word: Span, earlier: &[Unit]) -> Vec<usize> {
    let taken = |token: usize| earlier.last().is_some_and(|unit| unit.tokens.contains(&token));
    let has = |span: &Span| span.field == word.field && span.start < word.end && word.start < span.end;
    let inside = |(index, token): (usize, &Token)| token.span.as_ref().is_some_and(has).then_some(index);
    tokens.iter().enumerate().filter_map(inside).filter(|&token| !taken(token)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The package's own words of the same texts.
    #[test]
    fn words_are_those_of_the_package() {
        let golden: serde_json::Value =
            serde_json::from_str(include_str!("../../../../../golden/lime.json")).unwrap();
        for case in golden["texts"].as_array().unwrap() {
            let text = case["text"].as_str().unwrap();
            let mut found: Vec<&str> = Vec::new();
            for (start, end) in words(text) {
                let word = &text[start..end];
                if !found.contains(&word) {
                    found.push(word);
                }
            }
            assert_eq!(serde_json::json!(found), case["words"], "{text}");
        }
    }
}
