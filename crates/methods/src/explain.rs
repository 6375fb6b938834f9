use crate::asked::Asked;
use crate::evidence::{Evidence, Level};
use crate::job::words_or_input;
use crate::registry::{Corpus, Info, METHODS, Needs};
use crate::{Baseline, Masker, Picked, story};
use exegete_core::report::Item;
use exegete_core::{Driver, Error, Example, Model, Result, Site, Target, Units};

/// What to explain and how.
pub struct Request {
    /// One or more, side by side; none for the one that suits the model.
    pub methods: Vec<Picked>,
    /// One or more numbers to explain.
    pub targets: Vec<Target>,
    /// Explain this many of the most probable classes instead of the targets.
    pub top_labels: Option<usize>,
    /// Where the scores are taken.
    pub site: Place,
    /// What scores are summed to.
    pub units: Units,
    /// What a text is compared with; several are averaged, and none means what each method takes by itself.
    pub baselines: Vec<Baseline>,
    /// How units are hidden, where the user says so.
    pub masker: Option<Masker>,
    /// How much evidence is gathered.
    pub check: Level,
    /// Of everything random.
    pub seed: u64,
}

impl Default for Request {
    /// Why the model says what it says: the words' share in it, with the default evidence.
    fn default() -> Self {
        Self {
            methods: Vec::new(),
            targets: vec![Target::predicted()],
            top_labels: None,
            site: Place::Words,
            units: Units::Word,
            baselines: Vec::new(),
            masker: None,
            check: Level::Default,
            seed: 0,
        }
    }
}

/// The method that suits a model where the user names none.
pub fn default_method(opens: bool) -> &'static str {
    if opens { "integrated_gradients" } else { "partition_shap" }
}

/// Where scores are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Place {
    /// At the word vectors, whatever the model calls them.
    #[default]
    Words,
    /// At a site of this name.
    At(Site),
    /// At the word vectors and at every layer's output.
    AllLayers,
}

impl Place {
    /// The site, or that of the words where there are several.
    pub(crate) fn site(self, model: &dyn Model) -> Site {
        match self {
            Self::At(site) => site,
            Self::Words | Self::AllLayers => words_or_input(model),
        }
    }

    /// Whether it is where the words are, and nowhere else.
    pub(crate) fn is_words(self, model: &dyn Model) -> bool {
        self != Self::AllLayers && self.site(model) == words_or_input(model)
    }
}

/// Explains one example: an item for each target and method, in that order.
pub fn explain(
    model: &dyn Model,
    driver: &Driver,
    example: &Example,
    request: &Request,
) -> Result<Vec<Item>> {
    let own = match request.methods[..] {
        [] => Picked::all(&[default_method(model.open().is_some())], &[])?,
        _ => Vec::new(),
    };
    let methods = if own.is_empty() { &request.methods } else { &own };
    methods.iter().try_for_each(|picked| fits(model, picked.info()))?;
    let asked = Asked::new(model, driver, example, request)?;
    let mut items = Vec::new();
    for target in asked.targets()? {
        let job = asked.job(target);
        let mut evidence = Evidence::new(&job, request.units);
        for picked in methods {
            items.push(match (picked, request.site) {
                (Picked::Finds(info, finder), _) => asked.found(&job, info, &**finder)?,
                (_, Place::AllLayers) => story::tell(&asked, &job, picked.scores()?)?,
                (_, Place::Words | Place::At(_)) => asked.answer(&job, picked.scores()?, &mut evidence)?,
            });
        }
    }
    Ok(items)
}

/// What the methods of a request find in many texts together.
pub fn survey(corpus: &Corpus<'_>) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    for picked in &corpus.request.methods {
        let Picked::Surveys(info, survey) = picked else {
            return Err(Error::Request(format!(
                "{} explains one text at a time; run it apart from methods that look at many together",
                picked.info().name
            )));
        };
        fits(corpus.model, info)?;
        items.extend(survey.survey(corpus)?);
    }
    Ok(items)
}

/// A model that gives predictions only cannot be asked for its inside.
fn fits(model: &dyn Model, info: &Info) -> Result<()> {
    if info.needs == Needs::Predictions || model.open().is_some() {
        return Ok(());
    }
    let able = METHODS.iter().filter(|info| info.needs == Needs::Predictions).map(|info| info.name);
    Err(Error::Unsupported(format!(
        "{} gives predictions only, and {} needs a model's inside; these need none: {}",
        model.card().name,
        info.name,
        able.collect::<Vec<_>>().join(", ")
    )))
}
