use crate::{Error, Result};
use std::collections::BTreeSet;

/// Parameters that belong together: the embeddings, a layer, the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterGroup {
    /// `embeddings`, `layer.N`, `layers.N` for a set of weights that several layers share, or `head`.
    pub name: String,
    /// What it is, whatever it is called.
    pub kind: GroupKind,
    /// Their Hugging Face names, in the order in which the network asked for them.
    pub parameters: Vec<String>,
}

/// What a group of parameters is to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupKind {
    /// Embeddings below a stack of layers.
    Embeddings,
    /// One of the parts that come one after the other, such as a layer.
    #[default]
    Part,
    /// Word vectors that are a part like the others: what is drawn for parts is numbered with them.
    WordVectors,
    /// Weights that several layers share.
    Shared,
    /// Everything that stands on top of the encoder.
    Head,
}

impl GroupKind {
    /// Whether a text reads a few rows of it and not all.
    pub const fn is_looked_up(self) -> bool {
        matches!(self, Self::Embeddings | Self::WordVectors)
    }
}

impl ParameterGroup {
    /// What the group of everything that stands on top of the encoder is called.
    pub const HEAD: &str = "head";

    /// The parameters that words mean: `all`, `last:K` for the last K groups, or a group by its name such as `head`.
    /// Each comes once, in the order of computation, whatever the order of the words.
    pub fn select(groups: &[Self], words: &[impl AsRef<str>]) -> Result<Vec<String>> {
        if words.is_empty() {
            return Err(Error::Request(format!("no parameters are selected; {}", choices(groups))));
        }
        let mut chosen = BTreeSet::new();
        for word in words {
            chosen.extend(meant(groups, word.as_ref())?);
        }
        Ok(chosen.into_iter().flat_map(|at| groups[at].parameters.iter().cloned()).collect())
    }
}

/// The indices of the groups that a word means.
fn meant(groups: &[ParameterGroup], word: &str) -> Result<std::ops::Range<usize>> {
    if word == "all" {
        return Ok(0..groups.len());
    }
    let found = match word.strip_prefix("last:") {
        Some(count) => {
            let count = count.parse().ok().filter(|count| (1..=groups.len()).contains(count));
            count.map(|count| groups.len() - count..groups.len())
        }
        None => groups.iter().position(|group| group.name == word).map(|at| at..at + 1),
    };
    found.ok_or_else(|| {
        Error::Request(format!("'{word}' means no parameters of this model; {}", choices(groups)))
    })
}

fn choices(groups: &[ParameterGroup]) -> String {
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    format!("choose all, last:K with K up to {}, or a group: {}", groups.len(), names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups() -> Vec<ParameterGroup> {
        [("embeddings", "w e"), ("layer.0", "a b"), ("layer.1", "c"), ("head", "y x")]
            .map(|(name, parameters)| ParameterGroup {
                name: name.into(),
                kind: GroupKind::Part,
                parameters: parameters.split(' ').map(str::to_owned).collect(),
            })
            .into()
    }

    #[test]
    fn words_mean_parameters_in_the_order_of_computation() {
        for (words, expected) in [
            ("all", "w e a b c y x"),
            ("head", "y x"),
            ("embeddings", "w e"),
            ("layer.1", "c"),
            ("last:1", "y x"),
            ("last:3", "a b c y x"),
            ("last:4", "w e a b c y x"),
            ("head,layer.0", "a b y x"),
            ("last:2,head,layer.1", "c y x"),
        ] {
            let words: Vec<&str> = words.split(',').collect();
            assert_eq!(ParameterGroup::select(&groups(), &words).unwrap().join(" "), expected, "{words:?}");
        }
    }

    #[test]
    fn other_words_are_refused_with_the_groups() {
        for word in ["last:0", "last:5", "last:", "last:x", "layer", "layer.2", "Head", ""] {
            let error = ParameterGroup::select(&groups(), &["head", word]).unwrap_err().to_string();
            let choices = "choose all, last:K with K up to 4, or a group: embeddings, layer.0, layer.1, head";
            assert_eq!(error, format!("'{word}' means no parameters of this model; {choices}"));
        }
        let error = ParameterGroup::select(&groups(), &[""; 0]).unwrap_err().to_string();
        assert!(error.starts_with("no parameters are selected; choose all"), "{error}");
    }
}
