use crate::{Baseline, Masker};
use exegete_core::{
    Array, Axis, Card, Driver, Encoded, Error, Explaining, Explanation, Model, Open, Result, Row, Rules,
    Site, SiteInfo, Target, Unit, Units,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// One question: why this number, for this text, at this place.
#[derive(Clone)]
pub struct Job<'a> {
    /// Whom.
    pub model: &'a dyn Model,
    /// Runs and counts.
    pub driver: &'a Driver,
    /// The text, with edits at its input where it is to be explained elsewhere than where it lies.
    pub row: Row,
    /// F, resolved.
    pub target: Target,
    /// Where the scores are taken.
    pub site: Site,
    /// What the text is compared with.
    pub baselines: Vec<Baseline>,
    /// The pieces of the text that are hidden, scored or changed.
    pub units: Arc<[Unit]>,
    /// How they are hidden, where the user says so.
    pub masker: Option<Masker>,
    /// Of everything random.
    pub seed: u64,
}

impl<'a> Job<'a> {
    /// About the words of a text, at its word vectors, compared with nothing.
    pub fn new(model: &'a dyn Model, driver: &'a Driver, row: Row, target: Target) -> Self {
        let units = Units::Word.of(&row.encoded).into();
        Self {
            model,
            driver,
            row,
            target,
            site: words_or_input(model),
            baselines: Vec::new(),
            units,
            masker: None,
            seed: 0,
        }
    }

    /// How units are hidden: as the user says, or as suits text and target.
    pub fn masker(&self) -> Masker {
        self.masker.clone().unwrap_or_else(|| Masker::suited(self))
    }

    /// The model's inside.
    pub fn open(&self) -> Result<&'a dyn Open> {
        self.model.require_open()
    }

    /// What the model is.
    pub fn card(&self) -> &'a Card {
        self.model.card()
    }

    /// The tokens.
    pub fn encoded(&self) -> &Arc<Encoded> {
        &self.row.encoded
    }

    /// Random numbers of one stage of the work.
    pub fn random(&self, stage: u64) -> ChaCha8Rng {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(stage);
        random
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
        let rows = std::slice::from_ref(&self.row);
        let found = self.driver.read_all(self.model, rows, &self.readout(values, wrt, rules)?)?;
        found.into_iter().next().ok_or_else(|| Error::Model("the model ran no row".into()))
    }

    /// ∂F/∂value of some rows at one site, by the plain derivative.
    pub fn slopes(&self, rows: &[Row], site: Site) -> Result<Vec<Array>> {
        Ok(self.read(rows, &[], &[site])?.into_iter().flat_map(|found| found.gradients).collect())
    }

    /// What reads the job's F from rows.
    fn readout<'s>(&'s self, values: &'s [Site], wrt: &'s [Site], rules: Rules) -> Result<Explaining<'s>> {
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

    /// The cut sites from the job's own on, for sums by layer.
    pub fn cuts(&self) -> Result<Vec<Site>> {
        let sites = self.open()?.sites();
        let between = sites.order(self.site) + 1..=sites.order(self.target.last_site(sites)?);
        Ok(sites.cuts().filter(|&site| between.contains(&sites.order(site))).collect())
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
    /// The signed sum.
    Sum,
    /// The length.
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

    /// One score a token: everything but the token axis is summed up. Of two token axes (queries and keys) the last
    /// counts: what is attended to. None where the site has no token axis.
    pub fn tokens(self, info: &SiteInfo, values: &Array) -> Option<Vec<f64>> {
        let axis = info.axes.iter().rposition(|axis| *axis == Axis::Token)?;
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
        Some(scores)
    }
}
