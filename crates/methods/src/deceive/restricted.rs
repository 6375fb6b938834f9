//! Self-attention in which impermissible words and the others read nothing of each other: in every layer and head
//! M_ij = 1 where i and j are both impermissible or both not; the first token reads everything and nothing else reads it, so that
//! what it saw of either side cannot come back. Scores with M_ij = 0 become −∞ before the softmax: masked behind it, the weights that are left would
//! still say how large the others were.

use super::Impermissible;
use super::place::nothing;
use exegete_core::{
    Array, Axis, Card, Change, Edit, Encoded, Error, Example, Logits, Model, Open, Pass, Pick, Plan,
    Prediction, Result, Role, Row, Scores, Site, Sites, Tangents, predict,
};
use std::sync::Arc;

/// A transformer whose self-attention is restricted, whatever is asked of it.
pub struct Restricted {
    model: Arc<dyn Model>,
    words: Arc<Impermissible>,
    scores: Vec<Site>,
    card: Card,
}

/// The scores of all self-attention of a model; an error where it has none.
pub fn restricted_sites(model: &dyn Model) -> Result<Vec<Site>> {
    let of_tokens = |axes: &[Axis]| matches!(axes, [Axis::Head(_), Axis::Token, Axis::Token]);
    let scores = model.require_open()?.sites().with_role(Role::Scores);
    let scores: Vec<Site> = scores.filter(|info| of_tokens(&info.axes)).map(|info| info.site).collect();
    match scores.is_empty() {
        true => Err(Error::Unsupported(format!(
            "{} has no self-attention that could be restricted; it needs a transformer",
            model.card().name
        ))),
        false => Ok(scores),
    }
}

/// The edits that restrict the self-attention of a text whose marked tokens these are, at these scores.
pub fn restrictions(scores: &[Site], marked: &[bool]) -> Vec<Edit> {
    let rest = |wanted: bool| (1..marked.len()).filter(|&t| marked[t] == wanted).collect::<Vec<usize>>();
    let (hidden, shown, all) = (rest(true), rest(false), (1..marked.len()).collect::<Vec<usize>>());
    let blocks = [(&all, &vec![0]), (&hidden, &shown), (&shown, &hidden)];
    let blocks = blocks.into_iter().filter(|(rows, columns)| !rows.is_empty() && !columns.is_empty());
    let edit = |site: Site, rows: &[usize], columns: &[usize]| Edit {
        site,
        at: vec![Pick::All, Pick::Only(rows.to_vec()), Pick::Only(columns.to_vec())],
        change: Change::Set(nothing()),
    };
    let each = |(rows, columns): (&Vec<usize>, &Vec<usize>)| {
        scores.iter().map(|&site| edit(site, rows, columns)).collect::<Vec<_>>()
    };
    blocks.flat_map(each).collect()
}

impl Restricted {
    /// A model under the restriction that these words mean.
    pub fn new(model: Arc<dyn Model>, words: Arc<Impermissible>) -> Result<Self> {
        let scores = restricted_sites(&*model)?;
        let own = model.card();
        // What was remembered of the model as it is would be wrong here.
        let card = Card { fingerprint: format!("{}-restricted", own.fingerprint), ..own.clone() };
        Ok(Self { model, words, scores, card })
    }

    fn inside(&self) -> Result<&dyn Open> {
        self.model.require_open()
    }

    /// The rows with the restriction before their own edits, as far as a run from there computes it.
    fn rows(&self, rows: &[Row], start: Option<Site>) -> Result<Vec<Row>> {
        let sites = self.inside()?.sites();
        let computed = |site: &&Site| start.is_none_or(|start| sites.order(**site) > sites.order(start));
        let scores: Vec<Site> = self.scores.iter().filter(computed).copied().collect();
        let restricted = |row: &Row| {
            let mut edits = restrictions(&scores, &self.words.tokens(&row.encoded));
            edits.extend(row.edits.iter().cloned());
            Row { edits, ..row.clone() }
        };
        Ok(rows.iter().map(restricted).collect())
    }
}

impl Model for Restricted {
    fn card(&self) -> &Card {
        &self.card
    }

    fn predict(&self, examples: &[Example]) -> Result<Vec<Prediction>> {
        predict(&exegete_core::Driver::default(), self, examples)
    }

    fn open(&self) -> Option<&dyn Open> {
        Some(self)
    }
}

impl Open for Restricted {
    fn encode(&self, example: &Example) -> Result<Encoded> {
        self.inside()?.encode(example)
    }

    fn token_id(&self, piece: &str) -> Option<u32> {
        self.inside().ok()?.token_id(piece)
    }

    fn piece(&self, id: u32) -> Option<String> {
        self.inside().ok()?.piece(id)
    }

    fn mask_id(&self) -> Option<u32> {
        self.inside().ok()?.mask_id()
    }

    fn word_embeddings(&self) -> Option<Array> {
        self.inside().ok()?.word_embeddings()
    }

    fn sites(&self) -> &Sites {
        static NONE: Sites = Sites::new(Vec::new());
        self.inside().map_or(&NONE, Open::sites)
    }

    fn forward<'a>(&'a self, rows: &[Row], plan: &Plan) -> Result<Box<dyn Pass + 'a>> {
        self.inside()?.forward(&self.rows(rows, plan.start)?, plan)
    }

    fn jvp(&self, rows: &[Row], site: Site, directions: &[Array], keep: &[Site]) -> Result<Tangents> {
        self.inside()?.jvp(&self.rows(rows, None)?, site, directions, keep)
    }

    fn scores(&self, encoded: &Encoded, logits: &Logits) -> Result<Scores> {
        self.inside()?.scores(encoded, logits)
    }

    fn bytes(&self, row: &Row, plan: &Plan) -> usize {
        let restricted = self.rows(std::slice::from_ref(row), plan.start);
        let bytes = |rows: Vec<Row>| self.inside().map_or(usize::MAX, |open| open.bytes(&rows[0], plan));
        restricted.map_or(usize::MAX, bytes)
    }

    fn with_params(&self, overrides: Vec<(String, Array)>) -> Result<Arc<dyn Model>> {
        let model = self.inside()?.with_params(overrides)?;
        Ok(Arc::new(Self::new(model, self.words.clone())?))
    }
}
