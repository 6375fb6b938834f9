use crate::blueprint::{Blueprint, Built};
use crate::checkpoint::MappedFiles;
use crate::duals::Duals;
use crate::encoder::Network;
use crate::forward;
use crate::pass::{Done, work};
use crate::run::{Finished, Request};
use crate::softened::{check_beta, soften};
use crate::tokenizer::Tokenize;
use crate::weights::{Param, Replaced, Weights, check_shapes, matrix};
use exegete_core::task::Reading;
use exegete_core::{
    Array, Card, Driver, Encoded, Error, Example, Learner, Logits, Model, Open, ParameterGroup, Pass, Plan,
    Prediction, Record, Result, Row, Scores, Site, Sites, Tangents, Token,
};
use exegete_engine::{Context, Dual, Real, Scalar, Tensor};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// A model whose inside is open. Views with other parameters share everything that did not change.
pub(crate) struct Opened<T> {
    pub(crate) parts: Parts<T>,
    /// Second-order runs compute in dual numbers; made when the first asks for them.
    dual: OnceLock<Duals<T>>,
}

/// What an opened model consists of.
pub(crate) struct Parts<T> {
    pub(crate) card: Card,
    pub(crate) blueprint: Blueprint,
    pub(crate) tokenizer: Option<Arc<dyn Tokenize>>,
    pub(crate) network: Box<dyn Network<T>>,
    /// The matrix that word vectors are rows of.
    pub(crate) word: Param<T>,
    pub(crate) params: BTreeMap<String, Param<T>>,
    pub(crate) groups: Arc<[ParameterGroup]>,
    /// What parameters may be slices of.
    pub(crate) files: MappedFiles,
    /// The β of the softplus that stands for every ReLU, where one does.
    pub(crate) softplus: Option<f64>,
    pub(crate) ctx: Arc<Context<T>>,
}

impl<T: Real> Opened<T> {
    pub(crate) fn new(parts: Parts<T>) -> Self {
        Self { parts, dual: OnceLock::new() }
    }

    /// Runs rows together on any network of this model's shape, and checks that the output is finite.
    pub(crate) fn run<S: Scalar>(
        &self,
        ctx: &Arc<Context<S>>,
        network: &dyn Network<S>,
        request: Request<'_, S>,
    ) -> Result<Finished<S>> {
        let rows = request.rows;
        self.check_rows(rows)?;
        let finished = forward::together(ctx, network, request)?;
        match finished.finite() {
            true => Ok(finished),
            false => Err(self.not_finite(rows)),
        }
    }

    /// Rows can be made by hand, so that nothing about their tokens is certain; and weights may lie in a file that somebody
    /// cut off since the last run.
    fn check_rows(&self, rows: &[Row]) -> Result<()> {
        self.parts.files.check()?;
        let limits = self.parts.blueprint.limits();
        for (i, row) in rows.iter().enumerate() {
            let wrong = |what: String| Err(Error::Request(format!("row {i}: {what}")));
            let tokens = &row.encoded.tokens;
            if tokens.is_empty() {
                return wrong("there are no tokens".into());
            }
            if tokens.len() > limits.tokens {
                return wrong(format!("{} tokens, the model reads at most {}", tokens.len(), limits.tokens));
            }
            let known = |token: &Token| match limits.target {
                Some(target) if token.type_id == 1 => target,
                _ => limits.vocabulary,
            };
            if let Some(token) = tokens.iter().find(|token| token.id as usize >= known(token)) {
                return wrong(format!("token id {} in a vocabulary of {}", token.id, known(token)));
            }
            let kinds = limits.kinds;
            if let Some(token) = tokens.iter().find(|token| token.type_id as usize >= kinds) {
                return wrong(format!("token type {} in a model of {kinds} types", token.type_id));
            }
        }
        Ok(())
    }

    /// Finds out why an output is not finite: a weight, an edit, or an overflow.
    fn not_finite(&self, rows: &[Row]) -> Error {
        let name = &self.parts.card.name;
        for (tensor, param) in &self.parts.params {
            if let Some(at) = param.value.data().iter().position(|x| !x.value().is_finite()) {
                let value = param.value.data()[at].value();
                return Error::Model(format!(
                    "{name}: tensor '{tensor}' holds {value} at index {at}; the weights are damaged or training diverged"
                ));
            }
        }
        let given = rows.iter().any(|row| row.edits.iter().any(|edit| !edit.is_finite()));
        let start =
            rows.iter().any(|row| row.start.iter().any(|array| array.data.iter().any(|x| !x.is_finite())));
        if given || start {
            return Error::Request(format!("{name}: an edit or a start value is not finite"));
        }
        Error::Model(format!("{name}: the output is not finite though every weight is; the values overflow"))
    }

    /// The same network in dual numbers, kept from call to call.
    pub(crate) fn duals(&self) -> Result<&Duals<T>> {
        if let Some(duals) = self.dual.get() {
            return Ok(duals);
        }
        let made = Duals::new(&self.parts)?;
        Ok(self.dual.get_or_init(|| made))
    }
}

/// So many texts are written together: enough for products that are worth their start.
const ROWS_WRITTEN: usize = 128;

impl<T: Real> Model for Opened<T> {
    fn card(&self) -> &Card {
        &self.parts.card
    }

    fn predict(&self, examples: &[Example]) -> Result<Vec<Prediction>> {
        exegete_core::predict(&Driver::default(), self, examples)
    }

    fn open(&self) -> Option<&dyn Open> {
        Some(self)
    }

    fn learner(&self) -> Option<&dyn Learner> {
        Some(self)
    }
}

impl<T: Real> Open for Opened<T> {
    fn encode(&self, example: &Example) -> Result<Encoded> {
        match &self.parts.tokenizer {
            Some(tokenizer) => self.completed(tokenizer.encode_within(example, usize::MAX)?),
            None => Err(Error::Unsupported(format!("{} has no tokenizer", self.parts.card.name))),
        }
    }

    fn token_id(&self, piece: &str) -> Option<u32> {
        self.parts.tokenizer.as_ref()?.token_id(piece)
    }

    fn piece(&self, id: u32) -> Option<String> {
        self.parts.tokenizer.as_ref()?.piece(id)
    }

    fn output_id(&self, piece: &str) -> Option<u32> {
        self.parts.tokenizer.as_ref()?.output_id(piece)
    }

    fn output_piece(&self, id: u32) -> Option<String> {
        self.parts.tokenizer.as_ref()?.output_piece(id)
    }

    fn writes(&self, rows: &[Row]) -> Result<Option<Vec<Vec<usize>>>> {
        self.check_rows(rows)?;
        let mut written = Vec::with_capacity(rows.len());
        for rows in rows.chunks(ROWS_WRITTEN) {
            let Some(some) = self.parts.network.writes(&self.parts.ctx, rows)? else { return Ok(None) };
            written.extend(some);
        }
        Ok(Some(written))
    }

    fn mask_id(&self) -> Option<u32> {
        self.parts.tokenizer.as_ref()?.mask_id()
    }

    fn word_embeddings(&self) -> Option<Array> {
        self.parts.files.check().ok()?;
        let word = &self.parts.word;
        let data = word.value.data().iter().map(|x| x.value() as f32).collect();
        Some(Array { shape: word.shape.clone(), data })
    }

    fn sites(&self) -> &Sites {
        self.parts.network.sites()
    }

    fn forward<'a>(&'a self, rows: &[Row], plan: &Plan) -> Result<Box<dyn Pass + 'a>> {
        self.check_rows(rows)?;
        let Parts { ctx, network, .. } = &self.parts;
        let done = Done::run(ctx, &**network, rows, plan)?;
        if done.finite() { Ok(Box::new(done)) } else { Err(self.not_finite(rows)) }
    }

    fn jvp(&self, rows: &[Row], site: Site, directions: &[Array], keep: &[Site]) -> Result<Tangents> {
        self.check_directions(rows, site, directions)?;
        let duals = self.duals()?;
        let tangent = |&t: &f32| Dual { v: T::default(), t: T::from_f64(t.into()) };
        let shifts = directions.iter().map(|d| d.data.iter().map(tangent).collect()).collect();
        let plan = Plan { keep: keep.to_vec(), start: None, record: Record::Nothing };
        let request = Request { shifts: Some((site, shifts)), ..Request::new(rows, &plan) };
        let before = duals.ctx.counts();
        duals.ctx.reset_peak();
        let finished = self.run(&duals.ctx, &*duals.network, request)?;
        let work = work(finished.tape.ops(), before, duals.ctx.counts());
        let sites = keep.iter().copied().chain([finished.outputs]);
        Ok(Tangents { moved: sites.map(|site| finished.arrays(site, |x| x.tangent())).collect(), work })
    }

    fn scores(&self, encoded: &Encoded, logits: &Logits) -> Result<Scores> {
        let Parts { card, .. } = &self.parts;
        card.task.scores(&Reading { card, encoded, logits, vocabulary: &Some(self as &dyn Open) })
    }

    fn bytes(&self, row: &Row, plan: &Plan) -> usize {
        let network = &self.parts.network;
        // Outputs travel in double precision.
        network.elements(row, plan) * size_of::<T>() + network.output_elements(row, plan) * size_of::<f64>()
    }

    fn with_params(&self, overrides: Vec<(String, Array)>) -> Result<Arc<dyn Model>> {
        check_shapes(
            &self.parts.params,
            overrides.iter().map(|(name, value)| (name.as_str(), &value.shape[..])),
        )?;
        let mut card = self.parts.card.clone();
        card.fingerprint = crate::checkpoint::extend_fingerprint(&card.fingerprint, &overrides);
        let tensor = |value: Array| {
            let (rows, cols) = matrix(&value.shape);
            Tensor::borrowed(rows, cols, T::from_f32s(Box::new(value.data)))
        };
        let by = overrides.into_iter().map(|(name, value)| (name, tensor(value))).collect();
        Ok(Arc::new(self.replaced(card, by)?))
    }

    fn softened(&self, beta: f64) -> Result<Arc<dyn Model>> {
        check_beta(beta)?;
        let mut card = self.parts.card.clone();
        // Both halves of β, so that no two have one fingerprint.
        let high = beta as f32;
        let value = Array { shape: vec![2], data: vec![high, (beta - f64::from(high)) as f32] };
        card.fingerprint =
            crate::checkpoint::extend_fingerprint(&card.fingerprint, &[("softplus".into(), value)]);
        Ok(Arc::new(self.viewed(card, BTreeMap::new(), Some(beta))?))
    }
}

impl<T: Real> Opened<T> {
    /// A text with what the model writes of it, each word under its name.
    fn completed(&self, encoded: Encoded) -> Result<Encoded> {
        self.parts.files.check()?;
        let told = encoded.len();
        let mut encoded = self.parts.network.complete(&self.parts.ctx, encoded)?;
        for token in &mut encoded.tokens[told..] {
            token.piece = self.output_piece(token.id).unwrap_or_default();
        }
        Ok(encoded)
    }

    /// The same model under another card, with some parameters replaced.
    pub(crate) fn replaced(&self, card: Card, by: BTreeMap<String, Tensor<T>>) -> Result<Self> {
        self.viewed(card, by, self.parts.softplus)
    }

    /// The same with this softplus for every ReLU.
    fn viewed(&self, card: Card, by: BTreeMap<String, Tensor<T>>, softplus: Option<f64>) -> Result<Self> {
        let source = Replaced { base: &self.parts.params, by };
        let mut weights = Weights::new(&source);
        let Built { network, word, .. } = self.parts.blueprint.build(&mut weights, card.task)?;
        let network = soften(network, softplus, &card.name);
        Ok(Self::new(Parts {
            card,
            blueprint: self.parts.blueprint.clone(),
            tokenizer: self.parts.tokenizer.clone(),
            network,
            word,
            params: weights.into_taken().0,
            groups: self.parts.groups.clone(),
            files: self.parts.files.clone(),
            softplus,
            ctx: self.parts.ctx.clone(),
        }))
    }

    fn check_directions(&self, rows: &[Row], site: Site, directions: &[Array]) -> Result<()> {
        let info = self.sites().get(site)?;
        if rows.len() != directions.len() {
            return Err(Error::Request(format!("{} rows but {} directions", rows.len(), directions.len())));
        }
        for (i, (row, direction)) in rows.iter().zip(directions).enumerate() {
            let shape = info.shape(&row.encoded);
            if direction.shape != shape {
                return Err(Error::Request(format!(
                    "row {i}: a direction of shape {:?} at {site}, whose value has shape {shape:?}",
                    direction.shape
                )));
            }
        }
        Ok(())
    }
}
