//! The attention maps of all layers, and what the tokens of a text are to them.

use exegete_core::{Array, Axis, Encoded, Error, Model, Pass, Plan, Readout, Result, Role, Row, Site, Units};

/// Where the self-attention of a model lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadGrid {
    /// The sites of the probabilities, one a layer, each \[N, T, T\].
    pub sites: Vec<Site>,
    /// How many heads a layer has.
    pub heads: usize,
}

impl HeadGrid {
    /// The heads of a model, or that it has none.
    pub fn of(model: &dyn Model) -> Result<Self> {
        let weights = model.require_open()?.sites().with_role(Role::Weights);
        let map = |info: &exegete_core::SiteInfo| match info.axes[..] {
            [Axis::Head(heads), Axis::Token, Axis::Token] => Some((info.site, heads)),
            _ => None,
        };
        let (sites, heads): (Vec<Site>, Vec<usize>) = weights.filter_map(map).unzip();
        match heads.first() {
            Some(&heads) => Ok(Self { sites, heads }),
            None => Err(Error::Unsupported(format!(
                "{} has no self-attention, from words to words, so there are no heads to look at; it needs a transformer",
                model.card().name
            ))),
        }
    }

    /// How many heads there are in all layers.
    pub fn count(&self) -> usize {
        self.sites.len() * self.heads
    }

    /// Layer and head of a number below [`Self::count`].
    pub fn place(&self, index: usize) -> (usize, usize) {
        (index / self.heads, index % self.heads)
    }
}

/// Reads the attention maps of texts, one \[N, T, T\] a layer.
pub struct HeadMaps<'a>(
    /// The heads that are read.
    pub &'a HeadGrid,
);

impl Readout for HeadMaps<'_> {
    type Value = Vec<Array>;

    fn plan(&self) -> Plan {
        Plan::keep(self.0.sites.clone())
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Vec<Array>>> {
        let of = |row: usize| self.0.sites.iter().map(|&site| pass.value(site, row)).collect();
        (0..rows.len()).map(of).collect()
    }
}

/// What the tokens of a text are to attention.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TokenPlaces {
    /// The piece of each token.
    pub pieces: Vec<String>,
    /// Whether it is a marker such as \[SEP\].
    pub special: Vec<bool>,
    /// Which text of a pair it belongs to.
    pub field: Vec<u32>,
    /// How many words the text has.
    pub words: usize,
}

impl TokenPlaces {
    /// The kinds and places of the tokens of a text.
    pub fn of(encoded: &Encoded) -> Self {
        let tokens = &encoded.tokens;
        Self {
            pieces: tokens.iter().map(|token| token.piece.clone()).collect(),
            special: tokens.iter().map(|token| token.special).collect(),
            field: tokens.iter().map(|token| token.type_id).collect(),
            words: Units::Word.of(encoded).len(),
        }
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The tokens of the text itself.
    pub fn content(&self) -> Vec<usize> {
        (0..self.len()).filter(|&i| !self.special[i]).collect()
    }

    /// Whether a token is a full stop or a comma.
    pub fn is_mark(&self, token: usize) -> bool {
        let piece = self.pieces[token].trim_start_matches(['\u{120}', '\u{2581}']);
        !self.special[token] && matches!(piece, "." | ",")
    }
}
