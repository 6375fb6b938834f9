use crate::{Baseline, Masker};
use exegete_core::{
    Array, Axis, Card, Driver, Encoded, Error, Model, Open, Pass, Plan, Record, Result, Row, Rules, Site,
    SiteInfo, Target, Unit, Units,
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

/// F and the values of some sites, for each row.
pub struct Reading {
    /// F.
    pub values: Vec<f64>,
    /// Indexed `[site][row]`.
    pub sites: Vec<Vec<Array>>,
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

    /// F and the values of sites, forward only.
    pub fn read(&self, rows: &[Row], sites: &[Site]) -> Result<Reading> {
        let mut keep = sites.to_vec();
        keep.extend(self.target.site(self.open()?.sites()).filter(|site| !sites.contains(site)));
        let mut reading = Reading { values: Vec::new(), sites: vec![Vec::new(); sites.len()] };
        self.driver.passes(self.open()?, rows, &Plan::keep(keep), &mut |range, pass| {
            for row in 0..range.len() {
                reading.values.push(self.target.value(self.card(), pass, row)?);
                for (site, values) in sites.iter().zip(&mut reading.sites) {
                    values.push(pass.value(*site, row)?);
                }
            }
            Ok(())
        })?;
        Ok(reading)
    }

    /// ∂F/∂value at some sites, indexed `[site][row]`, by the plain derivative.
    pub fn gradients(&self, rows: &[Row], wrt: &[Site]) -> Result<Vec<Vec<Array>>> {
        self.check_path(wrt)?;
        Ok(self.driver.gradients(self.open()?, self.card(), rows, &self.target, wrt)?.gradients)
    }

    /// Runs rows and hands each pass, with what is kept for going backward, to `visit`.
    pub fn passes(
        &self,
        rows: &[Row],
        keep: &[Site],
        record: Record,
        visit: &mut dyn FnMut(usize, &dyn Pass) -> Result<()>,
    ) -> Result<()> {
        self.check_path(keep)?;
        let mut sites = keep.to_vec();
        sites.extend(self.target.site(self.open()?.sites()).filter(|site| !keep.contains(site)));
        let plan = Plan { keep: sites, start: None, record };
        self.driver.passes(self.open()?, rows, &plan, &mut |range, pass| visit(range.len(), pass))
    }

    /// ∂F/∂value of the job's own row by other rules than the plain derivative, and the values there.
    pub fn pulled(&self, sites: &[Site], rules: Rules) -> Result<(Vec<Array>, Vec<Array>)> {
        let (mut multipliers, mut values) = (Vec::new(), Vec::new());
        self.passes(std::slice::from_ref(&self.row), sites, Record::Lowered, &mut |_, pass| {
            let seeds = self.target.seeds(self.card(), pass, 0)?;
            multipliers = pass.backward(&seeds, sites, rules)?.into_iter().flatten().collect();
            values = sites.iter().map(|&site| pass.value(site, 0)).collect::<Result<_>>()?;
            Ok(())
        })?;
        Ok((multipliers, values))
    }

    /// A target inside the model can only be moved by what comes before it.
    fn check_path(&self, wrt: &[Site]) -> Result<()> {
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
