use super::lasso::lasso_path;
use super::rows::Moments;
use crate::parameter::name_of;

/// Which words the linear picture is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::perturbation) enum Choose {
    /// No choice is made: every word stays in the fit.
    None,
    /// The word that explains most, then the one that adds most to it, and so on.
    Forward,
    /// The largest weights of a fit with all words.
    HighestWeights,
    /// The last step of the lasso path with few enough words.
    LassoPath,
    /// Forward up to six words, else the highest weights.
    Auto,
}

impl Choose {
    /// What each is called.
    pub(in crate::perturbation) const NAMES: [(&'static str, Self); 5] = [
        ("none", Self::None),
        ("auto", Self::Auto),
        ("forward_selection", Self::Forward),
        ("highest_weights", Self::HighestWeights),
        ("lasso_path", Self::LassoPath),
    ];

    pub(super) fn name(self) -> &'static str {
        name_of(&Self::NAMES, &self)
    }
}

/// A choice and how many words it keeps at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) choose: Choose,
    pub(super) keep: usize,
}

impl Choice {
    /// Keeps all words of the text.
    pub(super) const ALL: Self = Self { choose: Choose::None, keep: usize::MAX };

    /// The words that are kept. The weights of the rows are those of as many `samples`, on which the path's end depends.
    pub(super) fn of(self, moments: &Moments, samples: f64) -> Vec<usize> {
        let Self { choose, keep } = self;
        match choose {
            Choose::None => (0..moments.words()).collect(),
            Choose::Auto if keep <= 6 => forward(moments, keep),
            Choose::Forward => forward(moments, keep),
            Choose::Auto | Choose::HighestWeights => highest_weights(moments, keep),
            Choose::LassoPath => last_with(&lasso_path(&moments.gram, &moments.cross, samples), keep),
        }
    }
}

fn forward(moments: &Moments, keep: usize) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < keep.min(moments.words()) {
        let mut best: Option<(f64, usize)> = None;
        for word in (0..moments.words()).filter(|word| !chosen.contains(word)) {
            let with: Vec<usize> = chosen.iter().copied().chain([word]).collect();
            let explained = moments.explained(&moments.ridge(&with, 0.0));
            // Where nothing moved nothing is explained (NaN), and the first words are as good as any.
            if best.is_none_or(|(most, _)| explained > most) {
                best = Some((explained, word));
            }
        }
        chosen.extend(best.map(|(_, word)| word));
    }
    chosen
}

fn highest_weights(moments: &Moments, keep: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..moments.words()).collect();
    let weights = moments.ridge(&order, 0.01).coefficients;
    order.sort_by(|&a, &b| weights[b].abs().total_cmp(&weights[a].abs()));
    order.truncate(keep);
    order
}

/// The words of the last step with few enough of them: the first step where all have too many, and every word where the
/// path has no step.
fn last_with(path: &[Vec<f64>], keep: usize) -> Vec<usize> {
    let words = |step: &Vec<f64>| (0..step.len()).filter(|&i| step[i] != 0.0).collect::<Vec<usize>>();
    let [start, steps @ ..] = path else { return Vec::new() };
    let few = steps.iter().rev().map(words).find(|words| words.len() <= keep);
    few.or_else(|| steps.first().map(words)).unwrap_or_else(|| (0..start.len()).collect())
}
