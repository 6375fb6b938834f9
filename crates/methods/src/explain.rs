use crate::answer;
use crate::evidence::{Evidence, Level};
use crate::foreseen::Foreseen;
use crate::question::words_or_input;
use crate::registry::{Info, METHODS, Needs};
use crate::{Baseline, ConfiguredMethod, Corpus, Kind, Masker, Question, Settings, layers};
use exegete_core::report::Item;
use exegete_core::{Driver, Error, Example, Model, Result, Row, Site, Target, Units};

/// What to explain and how.
pub struct Request {
    /// One or more, side by side; none for the one that suits the model.
    pub methods: Vec<ConfiguredMethod>,
    /// One or more numbers to explain.
    pub targets: Vec<Target>,
    /// Explain this many of the most probable classes instead of the targets.
    pub top_labels: Option<usize>,
    /// Where the scores are taken.
    pub site: SiteChoice,
    /// What scores are summed to.
    pub units: Units,
    /// What a text is compared with; several are averaged, and none means what each method takes by itself.
    pub baselines: Vec<Baseline>,
    /// How units are hidden, where the user says so.
    pub masker: Option<Masker>,
    /// How much evidence is gathered.
    pub check: Level,
    /// The seed of all random numbers, a whole number from 0 up; the same seed gives the same numbers again.
    pub seed: u64,
}

impl Default for Request {
    /// Why the model says what it says: the words' share in it, with the default evidence.
    fn default() -> Self {
        Self {
            methods: Vec::new(),
            targets: vec![Target::predicted()],
            top_labels: None,
            site: SiteChoice::Words,
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
pub enum SiteChoice {
    /// At the word vectors, whatever the model calls them.
    #[default]
    Words,
    /// At a site of this name.
    At(Site),
    /// At the word vectors and at every layer's output.
    AllLayers,
}

impl SiteChoice {
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
    explain_foreseen(model, driver, (example, None), request)
}

/// The same about a text of which something was [foreseen](crate::foresee).
pub fn explain_foreseen(
    model: &dyn Model,
    driver: &Driver,
    (example, foreseen): (&Example, Option<Foreseen>),
    request: &Request,
) -> Result<Vec<Item>> {
    let row = match foreseen {
        Some(foreseen) => foreseen.hand_over(model, driver),
        None => Row::new(model.encoded(example)?),
    };
    let own = match request.methods[..] {
        [] => vec![ConfiguredMethod::new(default_method(model.open().is_some()), Settings::default())?],
        _ => Vec::new(),
    };
    let methods = if own.is_empty() { &request.methods } else { &own };
    methods.iter().try_for_each(|chosen| fits(model, chosen.info))?;
    let mut items = Vec::new();
    for job in Question::about(model, driver, row, (example.label.as_deref(), request))? {
        let mut evidence = Evidence::new(&job);
        for chosen in methods {
            match (&chosen.kind, request.site) {
                (Kind::Finds(method), site) => {
                    changes_text(site.is_words(model), chosen.info)?;
                    items.push(answer::found(&job, chosen.info, &**method)?);
                }
                (_, SiteChoice::AllLayers) => items.push(layers::layer_attribution(&job, chosen)?),
                (Kind::Scores(method), SiteChoice::Words | SiteChoice::At(_)) => {
                    for site in method.places(&job)? {
                        let job = Question { site, ..job.clone() };
                        items.push(answer::attribution(&job, chosen, &mut evidence, request.check)?);
                    }
                }
                (Kind::Surveys(_), _) => return chosen.scores().map(|_| Vec::new()),
            }
        }
    }
    Ok(items)
}

/// What methods of a request find in many texts together.
pub fn survey(corpus: &Corpus<'_>) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    for chosen in &corpus.request.methods {
        let Kind::Surveys(survey) = &chosen.kind else {
            return Err(Error::Request(format!(
                "{} explains one text at a time; run it apart from methods that look at many together",
                chosen.info.name
            )));
        };
        fits(corpus.model, chosen.info)?;
        items.extend(survey.survey(corpus)?);
    }
    Ok(items)
}

/// A search changes words, wherever scores would be taken.
fn changes_text(at_words: bool, info: &Info) -> Result<()> {
    if at_words {
        return Ok(());
    }
    Err(Error::Request(format!("{} changes the text, whatever the site; leave --site out", info.name)))
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
