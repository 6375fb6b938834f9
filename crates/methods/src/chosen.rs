use crate::job::Reduce;
use crate::noise::Tunnel;
use crate::registry::{Finder, Info, Method, Needs, New, Survey, find};
use crate::{Explained, Job, Settings};
use exegete_core::{Error, Result};
use std::collections::BTreeMap;

/// A method of any kind with its parameters.
pub enum Picked {
    /// It gives scores.
    Scores(Chosen),
    /// It finds a rule or edits.
    Finds(&'static Info, Box<dyn Finder>),
    /// It looks at many texts together.
    Surveys(&'static Info, Box<dyn Survey>),
}

impl Picked {
    /// What is said about it.
    pub fn info(&self) -> &'static Info {
        match self {
            Self::Scores(chosen) => chosen.info,
            Self::Finds(info, _) | Self::Surveys(info, _) => info,
        }
    }

    /// Its scores, or an error that says what it gives instead.
    pub fn scores(&self) -> Result<&Chosen> {
        match self {
            Self::Scores(chosen) => Ok(chosen),
            _ => Err(self.no_scores()),
        }
    }

    fn no_scores(&self) -> Error {
        let instead = match self {
            Self::Surveys(..) => "looks at many texts together",
            _ => "finds a rule or edits",
        };
        let name = self.info().name;
        Error::Unsupported(format!("{name} {instead}; here a method that gives scores is needed"))
    }

    /// Methods side by side under the same `key=value` words. `method.key=value` is for one of them; a bare key is for
    /// all that know it, and an error where none does.
    pub fn all<S: AsRef<str>>(names: &[S], words: &[S]) -> Result<Vec<Self>> {
        let belongs = |word: &str| names.iter().any(|name| word.starts_with(&format!("{}.", name.as_ref())));
        let shared: Vec<&str> = words.iter().map(AsRef::as_ref).filter(|word| !belongs(word)).collect();
        let mut unknown: Option<Vec<String>> = None;
        let (mut all, mut last) = (Vec::new(), None);
        for name in names.iter().map(AsRef::as_ref) {
            let own = words.iter().filter_map(|word| word.as_ref().strip_prefix(name)?.strip_prefix('.'));
            let own: Vec<&str> = own.collect();
            let given: Vec<&str> = shared.iter().copied().chain(own.iter().copied()).collect();
            let (chosen, rest) = Self::with_rest(name, Settings::parse(&given)?)?;
            let keys = rest.keys();
            if own.iter().any(|word| keys.iter().any(|key| word.starts_with(&format!("{key}=")))) {
                return rest.finish(name).map(|()| Vec::new());
            }
            unknown = Some(match unknown {
                None => keys,
                Some(before) => before.into_iter().filter(|key| keys.contains(key)).collect(),
            });
            all.push(chosen);
            last = Some((name, rest));
        }
        match (unknown.is_some_and(|keys| !keys.is_empty()), last) {
            (true, Some((name, rest))) => rest.finish(name).map(|()| Vec::new()),
            _ => Ok(all),
        }
    }

    fn with_rest(name: &str, mut settings: Settings) -> Result<(Self, Settings)> {
        let info = find(name)?;
        let picked = match info.new {
            New::Scores(new) => Self::Scores(Chosen::made(info, new, &mut settings)?),
            New::Finds(new) => Self::Finds(info, new(&mut settings)?),
            New::Surveys(new) => Self::Surveys(info, new(&mut settings)?),
        };
        Ok((picked, settings))
    }
}

/// A method with its parameters and what is done to its scores.
pub struct Chosen {
    /// Which.
    pub info: &'static Info,
    /// The method with its parameters.
    pub method: Box<dyn Method>,
    /// How a site's values become one a token, where the user says so.
    pub reduce: Option<Reduce>,
    /// What scores are divided by.
    pub normalise: Normalise,
}

/// What scores are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalise {
    /// Nothing.
    None,
    /// The sum of their sizes.
    L1,
    /// The largest size.
    Max,
}

impl Chosen {
    /// A method by name; every setting must be one that it knows.
    pub fn new(name: &str, settings: Settings) -> Result<Self> {
        let (picked, rest) = Picked::with_rest(name, settings)?;
        rest.finish(name)?;
        match picked {
            Picked::Scores(chosen) => Ok(chosen),
            other => Err(other.no_scores()),
        }
    }

    fn made(
        info: &'static Info,
        new: fn(&mut Settings) -> Result<Box<dyn Method>>,
        settings: &mut Settings,
    ) -> Result<Self> {
        let normalise = settings.choice(
            "normalise",
            &[("none", Normalise::None), ("l1", Normalise::L1), ("max", Normalise::Max)],
        )?;
        let method = new(settings)?;
        // Scores of units have no elements to reduce, and noise on word vectors is no black box's business.
        if info.needs == Needs::Predictions {
            return Ok(Self { info, method, reduce: None, normalise });
        }
        let reduce = settings.choice(
            "reduce",
            &[("own", None), ("sum", Some(Reduce::Sum)), ("l2", Some(Reduce::L2)), ("l1", Some(Reduce::L1))],
        )?;
        Ok(Self { info, method: Tunnel::around(method, settings)?, reduce, normalise })
    }

    /// The factor that normalises unit values.
    pub(crate) fn factor(&self, values: &[f64]) -> f64 {
        let size = match self.normalise {
            Normalise::None => return 1.0,
            Normalise::L1 => values.iter().map(|v| v.abs()).sum(),
            Normalise::Max => values.iter().fold(0.0, |top: f64, v| top.max(v.abs())),
        };
        if size > 0.0 { 1.0 / size } else { 1.0 }
    }

    /// Its parameters with those that were found on the way.
    pub(crate) fn params(&self, explained: &Explained, job: &Job<'_>) -> BTreeMap<String, serde_json::Value> {
        let mut params = self.method.params();
        let baselines: Vec<String> = job.baselines.iter().map(ToString::to_string).collect();
        if !self.method.baselines().is_empty() {
            params.insert("baselines".into(), baselines.into());
        }
        if let crate::Scores::Elements(_, own) = &explained.scores {
            params.insert("reduce".into(), self.reduce.unwrap_or(*own).name().into());
        }
        match self.normalise {
            Normalise::None => {}
            Normalise::L1 => drop(params.insert("normalise".into(), "l1".into())),
            Normalise::Max => drop(params.insert("normalise".into(), "max".into())),
        }
        params.extend(explained.found.clone());
        params
    }
}
