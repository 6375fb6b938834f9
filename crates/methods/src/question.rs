use crate::registry::Method;
use crate::{AskedSets, Baseline, Masker, Request, Stream};
use exegete_core::task::Reading;
use exegete_core::{
    Array, Axis, Card, ContentHash, Driver, Encoded, Error, Example, Explaining, Explanation, Logits, Model,
    Open, Outputs, Plan, Record, Result, Row, Rules, Scale, Scores, Site, SiteInfo, Target, Unit, Units,
};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// One question: why this number, for this text, at this place.
#[derive(Clone)]
pub struct Question<'a> {
    /// The model that is asked.
    pub model: &'a dyn Model,
    /// The driver that runs the model's rows and counts them.
    pub driver: &'a Driver,
    /// The text, with edits at its input where it is to be explained elsewhere than where it lies.
    pub row: Row,
    /// What is explained, resolved against the prediction.
    pub target: Target,
    /// Where the scores are taken.
    pub site: Site,
    /// What the text is compared with.
    pub baselines: Vec<Baseline>,
    /// The pieces of the text that are hidden, scored or changed.
    pub units: Arc<[Unit]>,
    /// How they are hidden, where the user says so.
    pub masker: Option<Masker>,
    /// What the units are.
    pub kind: Units,
    /// The seed of all random numbers, a whole number from 0 up; the same seed gives the same numbers again.
    pub seed: u64,
    /// What the model answers for the text as it is, where that is known already; none after a change of model or text.
    pub output: Option<Arc<Logits>>,
    /// Where the sets of units are noted that are hidden on the way to an answer.
    pub asked: AskedSets,
}

impl<'a> Question<'a> {
    /// About the words of a text, at its word vectors, compared with nothing.
    pub fn new(model: &'a dyn Model, driver: &'a Driver, row: Row, target: Target) -> Self {
        let kind = Units::Word;
        let units = kind.of(&row.encoded).into();
        Self {
            model,
            driver,
            row,
            target,
            site: words_or_input(model),
            baselines: Vec::new(),
            units,
            masker: None,
            kind,
            seed: 0,
            output: None,
            asked: AskedSets::default(),
        }
    }

    /// What a request asks about an example: one question a target, resolved against what the model says of the text.
    pub fn all(
        model: &'a dyn Model,
        driver: &'a Driver,
        example: &Example,
        request: &Request,
    ) -> Result<Vec<Self>> {
        let row = Row::new(model.encoded(example)?);
        Self::about(model, driver, row, (example.label.as_deref(), request))
    }

    /// The same about a text that is encoded already, with its label.
    pub(crate) fn about(
        model: &'a dyn Model,
        driver: &'a Driver,
        row: Row,
        (label, request): (Option<&str>, &Request),
    ) -> Result<Vec<Self>> {
        let output = driver.read_one(model, &row, &Outputs)?;
        let job = Self {
            site: request.site.site(model),
            baselines: request.baselines.clone(),
            units: request.units.of(&row.encoded).into(),
            masker: request.masker.clone(),
            kind: request.units,
            seed: request.seed,
            output: Some(Arc::new(output)),
            ..Self::new(model, driver, row, Target::predicted())
        };
        let targets = job.targets(label, request)?;
        Ok(targets.into_iter().map(|target| Self { target, ..job.clone() }).collect())
    }

    /// The targets of a request, made concrete for this text.
    fn targets(&self, label: Option<&str>, request: &Request) -> Result<Vec<Target>> {
        let (card, logits) = (self.card(), self.output()?);
        let label = label.map(|label| card.task.meant(card, label)).transpose()?;
        let asked = match request.top_labels {
            None => request.targets.clone(),
            Some(count) => most_probable(&self.model.scored(self.encoded(), &logits)?, count, card)?,
        };
        let vocabulary = self.model.open();
        let reading = Reading { card, encoded: self.encoded(), logits: &logits, vocabulary: &vocabulary };
        let resolve = |target: &Target| readable(self.model, target)?.resolve_in(&reading, label.as_ref());
        asked.iter().map(resolve).collect()
    }

    /// What the model answers for the text as it is, without edits.
    pub fn output(&self) -> Result<Arc<Logits>> {
        match &self.output {
            Some(output) => Ok(output.clone()),
            None => {
                let row = Row::new(self.encoded().clone());
                self.driver.read_one(self.model, &row, &Outputs).map(Arc::new)
            }
        }
    }

    /// The same question with the baselines of a method, where the user gave none: those of them that the model has.
    #[must_use]
    pub fn with_baselines_of(&self, method: &dyn Method) -> Self {
        let mut job = self.clone();
        if let (true, Some(open)) = (job.baselines.is_empty(), self.model.open()) {
            let own = method.baselines().iter().cloned();
            job.baselines = own.filter(|baseline| baseline.row(open, self.encoded()).is_ok()).collect();
        }
        job
    }

    /// How units are hidden: as the user says, or as suits text and target.
    pub fn masker(&self) -> Masker {
        self.masker.clone().unwrap_or_else(|| Masker::suited(self))
    }

    /// The model as one whose inside can be read; an error where it is a black box.
    pub fn open(&self) -> Result<&'a dyn Open> {
        self.model.require_open()
    }

    /// What the model is.
    pub fn card(&self) -> &'a Card {
        self.model.card()
    }

    /// The text as the model's tokens.
    pub fn encoded(&self) -> &Arc<Encoded> {
        &self.row.encoded
    }

    /// Random numbers for one use.
    pub fn random(&self, stream: Stream) -> ChaCha8Rng {
        stream.random(self.seed, 0)
    }

    /// Random numbers for one use, others for each text.
    pub fn random_of_text(&self, stream: Stream) -> ChaCha8Rng {
        stream.random(self.seed, self.place())
    }

    /// A number of 40 bits that depends on the text alone.
    pub(crate) fn place(&self) -> u64 {
        let mut hash = ContentHash::default();
        self.encoded().fields.iter().for_each(|field| hash.field(field.text.as_bytes()));
        // Ten hexadecimal digits are the 40 bits that a stream leaves for places.
        let digits = hash.hex();
        let place = digits.chars().take(10).filter_map(|digit| digit.to_digit(16));
        place.fold(0, |sum, digit| 16 * sum + u64::from(digit))
    }

    /// Where the word vectors are.
    pub fn words(&self) -> Result<Site> {
        self.open()?.sites().words()
    }

    /// What is known of a site.
    pub fn info(&self, site: Site) -> Result<&'a SiteInfo> {
        self.open()?.sites().find(site).ok_or_else(|| {
            Error::Request(format!(
                "{} has no site {site}; `exegete model sites` lists them",
                self.card().name
            ))
        })
    }

    /// The row of each baseline.
    pub fn baseline_rows(&self) -> Result<Vec<Row>> {
        let open = self.open()?;
        self.baselines.iter().map(|baseline| baseline.row(open, self.encoded())).collect()
    }

    /// F of some rows, the values of sites and F's slopes at others.
    pub fn read(&self, rows: &[Row], values: &[Site], wrt: &[Site]) -> Result<Vec<Explanation>> {
        self.driver.read_all(self.model, rows, &self.readout(values, wrt, Rules::Gradient)?)
    }

    /// The same for the job's own row, by any rules.
    pub fn read_own(&self, values: &[Site], wrt: &[Site], rules: Rules) -> Result<Explanation> {
        let readout = self.readout(values, wrt, rules)?;
        match self.driver.taken_over(self.model, &self.row, &readout) {
            Some(found) => Ok(found),
            None => self.driver.read_one(self.model, &self.row, &readout),
        }
    }

    /// What a pass must keep for a readout of F and of these sites.
    pub(crate) fn plan(&self, keep: &[Site], record: Record) -> Plan {
        self.model.open().map_or_else(Plan::default, |open| self.target.plan(open.sites(), keep, record))
    }

    /// ∂F/∂value of some rows at one site, by the plain derivative.
    pub fn slopes(&self, rows: &[Row], site: Site) -> Result<Vec<Array>> {
        Ok(self.read(rows, &[], &[site])?.into_iter().flat_map(|found| found.gradients).collect())
    }

    /// What reads the job's F from rows.
    pub(crate) fn readout<'s>(
        &'s self,
        values: &'s [Site],
        wrt: &'s [Site],
        rules: Rules,
    ) -> Result<Explaining<'s>> {
        self.check_path(wrt)?;
        Ok(Explaining { open: self.open()?, card: self.card(), target: &self.target, values, wrt, rules })
    }

    /// A target inside the model can only be moved by what comes before it.
    pub(crate) fn check_path(&self, wrt: &[Site]) -> Result<()> {
        let sites = self.open()?.sites();
        let last = sites.last_of(wrt.iter().copied());
        let (Some(target), Some(site)) = (self.target.site(sites), last) else { return Ok(()) };
        if sites.order(site) <= sites.order(target) {
            return Ok(());
        }
        Err(Error::Request(format!(
            "{site} lies behind the target {}, which does not depend on it; choose an earlier site",
            self.target
        )))
    }

    /// Whether everything that F depends on goes through a site, so that scores there can add up to F.
    pub fn carries_all(&self, site: Site) -> bool {
        self.info(site).is_ok_and(|info| info.carries_all)
    }

    /// The cut sites from the job's own on that everything goes through, for sums by layer.
    pub fn cuts(&self) -> Result<Vec<Site>> {
        let sites = self.open()?.sites();
        let between = sites.order(self.site) + 1..=sites.order(self.target.last_site(sites)?);
        let whole = |site: &Site| between.contains(&sites.order(*site)) && self.carries_all(*site);
        Ok(sites.cuts().filter(whole).collect())
    }
}

/// The targets of the most probable labels.
fn most_probable(scores: &Scores, count: usize, card: &Card) -> Result<Vec<Target>> {
    let Some(classes) = scores.by_class() else {
        let what = format!("{} has no labels to take the most probable of", card.name);
        return Err(Error::Unsupported(what));
    };
    let mut order: Vec<usize> = (0..classes.len()).collect();
    order.sort_by(|&a, &b| classes[b].prob.total_cmp(&classes[a].prob));
    let target = |&index: &usize| Target { scale: None, ..Target::named_class(&classes[index].label, index) };
    Ok(order.iter().take(count).map(target).collect())
}

/// A black box gives probabilities, so its targets are read as these.
fn readable(model: &dyn Model, target: &Target) -> Result<Target> {
    if model.open().is_some() || !model.card().task.gives_probabilities() {
        return Ok(target.clone());
    }
    match target.scale {
        _ if target.is_neuron() => model.require_open().map(|_| target.clone()),
        Some(Scale::Logit) => Err(Error::Unsupported(format!(
            "{} gives probabilities and no logits; use :prob or :logprob",
            model.card().name
        ))),
        scale => Ok(Target { scale: scale.or(Some(Scale::Prob)), ..target.clone() }),
    }
}

/// What scores of units are said to be about, which lie at no place in the model.
pub(crate) const INPUT: Site = Site::named("input");

/// Where a text is explained by default: at its word vectors, where the model has any to look at.
pub(crate) fn words_or_input(model: &dyn Model) -> Site {
    model.open().and_then(|open| open.sites().words().ok()).unwrap_or(INPUT)
}

/// How a site's values become one score a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduce {
    /// The sum of a token's values, with their signs.
    Sum,
    /// The Euclidean length of a token's values.
    L2,
    /// The sum of sizes.
    L1,
}

impl Reduce {
    /// What it is called in parameters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::L2 => "l2",
            Self::L1 => "l1",
        }
    }

    /// One score a token: everything but the axis of positions is summed up, and a position of several tokens shares its
    /// score equally among them. Of two such axes (queries and keys) the last counts: what is attended to. None where the
    /// site has no positions.
    pub fn tokens(self, info: &SiteInfo, encoded: &Encoded, values: &Array) -> Option<Vec<f64>> {
        let axis = info.axes.iter().rposition(|axis| axis.is_position())?;
        let inner: usize = values.shape[axis + 1..].iter().product();
        let count = values.shape[axis];
        let mut scores = vec![0.0f64; count];
        for (i, values) in values.data.chunks(inner.max(1)).enumerate() {
            let values = values.iter().map(|&value| f64::from(value));
            scores[i % count] += match self {
                Self::Sum => values.sum::<f64>(),
                Self::L2 => values.map(|value| value * value).sum(),
                Self::L1 => values.map(f64::abs).sum(),
            };
        }
        if self == Self::L2 {
            scores.iter_mut().for_each(|score| *score = score.sqrt());
        }
        spread(info.axes[axis], encoded, &scores)
    }
}

/// One score a token from one an entry of an axis: the tokens that an entry is about share its score equally. None where
/// the axis has no positions.
pub(crate) fn spread(axis: Axis, encoded: &Encoded, scores: &[f64]) -> Option<Vec<f64>> {
    let mut tokens = vec![0.0; encoded.len()];
    for (place, score) in axis.places(encoded)?.iter().zip(scores) {
        place.iter().for_each(|&token| tokens[token] += score / place.len() as f64);
    }
    Some(tokens)
}
