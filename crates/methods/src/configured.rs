use crate::cost::afford;
use crate::noise::Tunnel;
use crate::parameter::{Parameter, name_of, names};
use crate::question::Reduce;
use crate::registry::{CorpusMethod, Info, Method, Needs, New, OwnReading, SearchMethod, Unread, find};
use crate::softplus::Softplus;
use crate::{Arguments, AskedSets, Baseline, Question, RawAttribution, RawScores, Settings};
use exegete_core::report::{Item, Subject};
use exegete_core::{Error, Result, Site};
use std::collections::BTreeMap;

/// A method of the list with its parameters, and what is done to its scores.
pub struct ConfiguredMethod {
    /// What is said about it.
    pub info: &'static Info,
    /// The method with its parameters, by what it answers with.
    pub kind: Kind,
    /// How a site's values become one a token, where the user says so.
    pub reduce: Option<Reduce>,
    /// What scores are divided by.
    pub normalise: Normalise,
    /// The parameters that were set, as `key=value` words.
    pub set: Vec<String>,
}

/// What a method answers with.
pub enum Kind {
    /// Scores for the pieces of a text.
    Scores(Box<dyn Method>),
    /// A rule or edits of a text.
    Finds(Box<dyn SearchMethod>),
    /// Something about many texts together.
    Surveys(Box<dyn CorpusMethod>),
}

/// What scores are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalise {
    /// Scores stay as they are.
    None,
    /// Scores are divided by the sum of their sizes.
    L1,
    /// Scores are divided by the largest of their sizes.
    Max,
}

impl Kind {
    /// The parts of a request that say nothing to it.
    pub fn unread(&self) -> &'static [Unread] {
        match self {
            Self::Scores(_) => &[Unread::HeldOut],
            Self::Finds(method) => method.unread(),
            Self::Surveys(survey) => survey.unread(),
        }
    }
}

impl ConfiguredMethod {
    /// A method by name; every setting must be one that it knows.
    pub fn new(name: &str, settings: Settings) -> Result<Self> {
        let (chosen, rest) = Self::with_rest(name, settings)?;
        rest.finish()?;
        Ok(chosen)
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
            let keys = rest.left();
            if own.iter().any(|word| keys.iter().any(|key| word.starts_with(&format!("{key}=")))) {
                return rest.finish().map(|()| Vec::new());
            }
            unknown = Some(match unknown {
                None => keys,
                Some(before) => before.into_iter().filter(|key| keys.contains(key)).collect(),
            });
            all.push(chosen);
            last = Some(rest);
        }
        match (unknown.is_some_and(|keys| !keys.is_empty()), last) {
            (true, Some(rest)) => rest.finish().map(|()| Vec::new()),
            _ => Ok(all),
        }
    }

    fn with_rest(name: &str, settings: Settings) -> Result<(Self, Arguments)> {
        Self::of(find(name)?, settings)
    }

    /// The method of an entry, and the arguments, which know what of them was not read.
    pub(crate) fn of(info: &'static Info, settings: Settings) -> Result<(Self, Arguments)> {
        let mut arguments = Arguments::new(info, settings.clone())?;
        let set = settings.words_of(&info.all_parameters());
        let (mut reduce, mut normalise) = (None, Normalise::None);
        let kind = match info.new {
            New::Finds(new) => Kind::Finds(new(&mut arguments)?),
            New::Surveys(new) => Kind::Surveys(new(&mut arguments)?),
            New::Scores(new) => {
                normalise = arguments.choice("normalise", &NORMALISE)?;
                let method = new(&mut arguments)?;
                Kind::Scores(match info.needs {
                    Needs::Predictions => method,
                    Needs::Inside => {
                        if !scores_tokens(info) {
                            reduce = arguments.choice("reduce", &REDUCE)?;
                        }
                        Softplus::around(Tunnel::around(method, &mut arguments)?, &mut arguments)?
                    }
                })
            }
        };
        Ok((Self { info, kind, reduce, normalise, set }, arguments))
    }

    /// The method where it gives scores, else an error that says what it gives instead.
    pub fn scores(&self) -> Result<&dyn Method> {
        let instead = match &self.kind {
            Kind::Scores(method) => return Ok(&**method),
            Kind::Finds(_) => "finds a rule or edits",
            Kind::Surveys(_) => "looks at many texts together",
        };
        let name = self.info.name;
        Err(Error::Unsupported(format!("{name} {instead}; here a method that gives scores is needed")))
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
    pub(crate) fn reported(
        &self,
        explained: &RawAttribution,
        job: &Question<'_>,
    ) -> BTreeMap<String, serde_json::Value> {
        let mut params = self.params();
        let baselines: Vec<String> = job.baselines.iter().map(ToString::to_string).collect();
        if !self.baselines().is_empty() {
            params.insert("baselines".into(), baselines.into());
        }
        if let RawScores::Elements(_, reduce) = &explained.scores {
            params.insert("reduce".into(), reduce.name().into());
        }
        if self.normalise != Normalise::None {
            params.insert("normalise".into(), name_of(&NORMALISE, &self.normalise).into());
        }
        params.extend(explained.found.clone());
        params
    }
}

/// How the user says that values are reduced; a method's own way where not.
const REDUCE: [(&str, Option<Reduce>); 4] =
    [("own", None), ("sum", Some(Reduce::Sum)), ("l2", Some(Reduce::L2)), ("l1", Some(Reduce::L1))];

const NORMALISE: [(&str, Normalise); 3] =
    [("none", Normalise::None), ("l1", Normalise::L1), ("max", Normalise::Max)];

/// What every method that gives scores takes.
pub(crate) const OF_SCORES: [Parameter; 1] = [Parameter::choice(
    "normalise",
    &names(&NORMALISE),
    "divides scores by the sum of the units' sizes (l1) or the largest size; the evidence is measured before it",
)];

/// The methods that look inside a model and give one score a token, in which nothing is left to reduce.
const BY_TOKEN: [&str; 6] = [
    "attention",
    "attention_mean",
    "attention_norm",
    "attention_rollout",
    "gradient_x_attention",
    "grad_cam",
];

/// Whether a method gives one score a token, whatever it looks at.
pub(crate) fn scores_tokens(info: &Info) -> bool {
    BY_TOKEN.contains(&info.name)
}

/// What every method takes whose scores lie inside a model.
pub(crate) const OF_ELEMENTS: [Parameter; 1] = [Parameter::choice(
    "reduce",
    &names(&REDUCE),
    "how the values of a token become one score; without effect where there is one score a token anyway",
)];

/// The method as the user wants it: what its scores mean, and how they are reduced, is part of what it finds.
impl Method for ConfiguredMethod {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        match &self.kind {
            Kind::Scores(method) => method.params(),
            Kind::Finds(method) => method.params(),
            Kind::Surveys(survey) => survey.params(),
        }
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let method = self.scores()?;
        let units = job.units.len();
        afford(self.info, method.most_rows(units), units, job.driver.memory_bytes)?;
        let job = Question { asked: AskedSets::noting(), ..job.with_baselines_of(method) };
        let mut explained = method.explain(&job)?;
        explained.asked = job.asked.noted();
        explained.meaning.get_or_insert(self.info.meaning);
        match &mut explained.scores {
            // A sum has a sign that means something, whoever asked for it; a size has none, and no error of a sum.
            RawScores::Elements(_, reduce) => {
                *reduce = self.reduce.unwrap_or(*reduce);
                explained.errors = explained.errors.filter(|_| *reduce == Reduce::Sum);
            }
            RawScores::Tokens(_) | RawScores::Units(_) => explained.unsigned |= !self.info.signed,
        }
        Ok(explained)
    }

    fn baselines(&self) -> &'static [Baseline] {
        self.scores().map_or(&[], Method::baselines)
    }

    fn own_site(&self) -> bool {
        self.scores().is_ok_and(Method::own_site)
    }

    fn beside(&self, job: &Question<'_>, explained: &RawAttribution, subject: Subject) -> Result<Vec<Item>> {
        self.scores()?.beside(job, explained, subject)
    }

    fn reads(&self) -> Option<OwnReading> {
        self.scores().ok()?.reads()
    }

    fn places(&self, job: &Question<'_>) -> Result<Vec<Site>> {
        self.scores()?.places(job)
    }

    fn most_rows(&self, units: usize) -> Option<usize> {
        self.scores().ok()?.most_rows(units)
    }

    fn steps_beside_rows(&self, units: usize) -> usize {
        self.scores().map_or(0, |method| method.steps_beside_rows(units))
    }
}
