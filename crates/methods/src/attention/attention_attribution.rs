//! Attr_h = A_h ⊙ ∫₀¹ ∂F(βA)/∂A_h dβ with A the attention probabilities of all heads of one layer, scaled together. Y. Hao,
//! L. Dong, F. Wei, K. Xu, *Self-attention attribution: interpreting information interactions inside Transformer*, 2021.
//! The paper takes the probability as F, 20 points and their left ends; here F is the target and the points are adaptive. Behind the
//! scores stand the matrix Σ_h Attr_h of the layer and, where it is asked for, the paper's tree of all layers.

use super::{Attention, PARAMETERS, layer, no_self_attention};
use crate::gradient::integrated_gradients::from_nothing;
use crate::heads::attribution::tree;
use crate::matrix::between_tokens;
use crate::parameter::{POSITIVE, names};
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Parameter, Question, RawAttribution, RawScores};
use exegete_core::report::{Cell, Item, Subject, Table};
use exegete_core::{Array, Error, Result, Site};
use std::collections::BTreeMap;

/// Whether the tree of all layers is worked out.
const TREE: [(&str, bool); 2] = [("no", false), ("yes", true)];

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "attention_attribution",
    summary: "attention times its gradient along the way from no attention in one layer to the text's own",
    prose: include_str!("attention_attribution.md"),
    parameters: &[
        PARAMETERS[0],
        Parameter::number(
            "tolerance",
            POSITIVE,
            Some(0.01),
            "of the gap to the claimed sum and of the change of any token, at which no point is added",
        ),
        Parameter::choice(
            "tree",
            &names(&TREE),
            "also which token took what from which, from the first token at the last layer down; it takes the integral of every layer",
        ),
    ],
    axioms: &[Axiom::Completeness],
    signed: true,
    meaning: Meaning::Other,
    needs: Needs::Inside,
    new: New::Scores(|arguments| {
        Ok(Box::new(AttentionAttribution {
            layer: arguments.optional_count("layer")?,
            tolerance: arguments.number("tolerance")?,
            tree: arguments.choice("tree", &TREE)?,
        }))
    }),
};

/// Integrated gradients of one layer's attention, from none of it.
struct AttentionAttribution {
    layer: Option<usize>,
    tolerance: f64,
    tree: bool,
}

impl AttentionAttribution {
    /// Where the weights of the layer lie.
    fn site(&self, job: &Question<'_>) -> Result<Site> {
        match Attention::of(job)? {
            Attention::Between(maps, _) => Ok(maps[layer(self.layer, maps.len())?]),
            Attention::Pooling(_) if self.tree => Err(Error::Unsupported(format!(
                "{} has no self-attention, from words to words, so that there is no tree; leave tree=yes out",
                job.card().name
            ))),
            Attention::Pooling(pooling) => layer(self.layer, 1).map(|_| pooling.words()),
            Attention::Written(_) => Err(no_self_attention(job)),
        }
    }

    /// The connections by which tokens reach the first one, over all layers before the target.
    fn tree(&self, job: &Question<'_>, sites: &[Site]) -> Result<Item> {
        let of = |&site: &Site| match from_nothing(job, site, self.tolerance)?.scores {
            RawScores::Elements(values, _) => Ok(over_heads(&values)),
            RawScores::Tokens(_) | RawScores::Units(_) => Err(no_self_attention(job)),
        };
        let layers = sites.iter().map(of).collect::<Result<Vec<_>>>()?;
        let piece = |token: usize| Cell::Word(job.encoded().tokens[token].piece.clone());
        let rows: Vec<Vec<Cell>> = tree(&layers)
            .into_iter()
            .map(|edge| {
                let number = |at: usize| Cell::Number(at as f64);
                let taken = Cell::Number(layers[edge.layer][edge.from][edge.to]);
                let [from, to] = [piece(edge.from), piece(edge.to)];
                vec![number(edge.layer), from, to, number(edge.from), number(edge.to), taken]
            })
            .collect();
        let mut notes = vec![
            "from the first token at the last layer down: each row is a token (to) that one already in the tree (from) took something \
             from; entries above .4 of the largest of their layer, each token once"
                .to_owned(),
        ];
        notes.extend(rows.is_empty().then(|| "no layer has a connection above zero".to_owned()));
        Ok(Item::Table(Table {
            name: "tree".to_owned(),
            title: format!("Attribution tree of {}", job.target),
            columns: ["layer", "from", "to", "from_token", "to_token", "attribution"]
                .map(str::to_owned)
                .to_vec(),
            rows,
            notes,
            ..Table::default()
        }))
    }
}

/// Σ_h of what the heads of a layer have, \[N, T, T\] to \[T, T\].
fn over_heads(values: &Array) -> Vec<Vec<f64>> {
    let tokens = values.shape[2];
    let mut sums = vec![vec![0.0; tokens]; values.shape[1]];
    for (at, row) in values.data.chunks(tokens.max(1)).enumerate() {
        let sums = &mut sums[at % values.shape[1]];
        sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
    }
    sums
}

impl Method for AttentionAttribution {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        let layer = self.layer.map_or("last".into(), serde_json::Value::from);
        let mut params = params([("layer", layer), ("tolerance", self.tolerance.into())]);
        if self.tree {
            params.insert("tree".into(), "yes".into());
        }
        params
    }

    fn own_site(&self) -> bool {
        true
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let site = self.site(job)?;
        let found = from_nothing(job, site, self.tolerance)?;
        Ok(RawAttribution { site: Some(site), ..found })
    }

    fn beside(&self, job: &Question<'_>, explained: &RawAttribution, subject: Subject) -> Result<Vec<Item>> {
        let (Attention::Between(sites, _), RawScores::Elements(values, _)) =
            (Attention::of(job)?, &explained.scores)
        else {
            return Ok(Vec::new());
        };
        let matrix = between_tokens(subject, job.encoded(), &over_heads(values));
        let tree = self.tree.then(|| self.tree(job, &sites)).transpose()?;
        Ok(std::iter::once(matrix).chain(tree).collect())
    }
}
