//! The weighted linear fit to F of the text with words hidden: the minimum of Σ_z w(z) (F(z) − β₀ − β·z)² + |β|² over
//! presences z of words. M. T. Ribeiro, S. Singh, C. Guestrin, *"Why should I trust you?" Explaining the predictions of
//! any classifier*, 2016; the weights and the ridge are those of the authors' package.
//!
//! `sample` draws texts, `rows` and `choose` fit, `guess` makes the fit need fewer rows, `picture` puts it
//! together with its errors, and `search` goes on until they are small.

mod bag;
mod choose;
mod guess;
mod lasso;
mod picture;
mod rows;
mod sample;
mod search;
#[cfg(test)]
mod tests;

use crate::cost::all_sets;
use crate::effort::{BUDGET, SAMPLES, TOLERANCE};
use crate::parameter::{Parameter, name_of, names};
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::rounding::are_zero;
use crate::{Arguments, Effort, PerturbedPredictions, Question, RawAttribution, RawScores, Stream};
use bag::{Features, InterpretableFeatures};
use choose::Choice;
pub(super) use choose::Choose;
use exegete_core::{Error, Result};
use sample::Sampling;
use search::{FoundPicture, PictureSearch, Size};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "lime",
    summary: "a weighted linear fit to what the model says with words hidden, with error bars and its R²",
    prose: include_str!("lime.md"),
    parameters: &PARAMETERS,
    axioms: &[Axiom::ImplementationInvariance],
    signed: true,
    meaning: Meaning::Other,
    needs: Needs::Predictions,
    new: New::Scores(|arguments| Ok(Box::new(Lime::new(arguments)?))),
};

const FEATURES: [(&str, Features); 2] = [("positions", Features::Positions), ("words", Features::Words)];
const SAMPLINGS: [(&str, Sampling); 2] = [("layers", Sampling::Layers), ("package", Sampling::Package)];

pub(super) const PARAMETERS: [Parameter; 7] = [
    Parameter { help: "the largest standard error, as a share of the largest weight", ..TOLERANCE },
    BUDGET,
    Parameter { help: "exactly so many rows instead, the whole text included", ..SAMPLES },
    Parameter::choice(
        "features",
        &names(&FEATURES),
        "a weight for each unit where it stands, or for each different word wherever it stands",
    ),
    Parameter::choice(
        "choose",
        &names(&Choose::NAMES),
        "how the words of the fit are chosen; `auto` where only `keep` is given",
    ),
    Parameter::count(
        "keep",
        1..=100_000,
        None,
        "the most words that are kept; all without it, and 10 where only `choose` is given",
    ),
    Parameter::choice(
        "sampling",
        &names(&SAMPLINGS),
        "in layers with a guess, or as the package: independent rows without a guess",
    ),
];

/// The package keeps so many words.
pub(super) const KEPT: usize = 10;
/// Below this R² the reader is told that no straight line fits.
const POOR: f64 = 0.5;

pub(super) struct Lime {
    effort: Effort,
    features: Features,
    sampling: Sampling,
    choice: Choice,
}

impl Lime {
    pub(super) fn new(arguments: &mut Arguments) -> Result<Self> {
        Ok(Self {
            effort: Effort::new(arguments)?,
            features: arguments.choice("features", &FEATURES)?,
            sampling: arguments.choice("sampling", &SAMPLINGS)?,
            choice: choice(arguments)?,
        })
    }

    /// Whether every place of a word shows the weight of them all.
    pub(super) fn shares_weights(&self) -> bool {
        self.features == Features::Words
    }

    fn search(&self, job: &Question<'_>, bag: &InterpretableFeatures) -> Result<FoundPicture> {
        let size = match self.effort.samples {
            Some(samples) => Size::Fixed(samples),
            None => Size::Until(self.effort.tolerance, self.effort.budget),
        };
        let search = PictureSearch { sampling: self.sampling, choice: self.choice, size };
        let mut masked =
            PerturbedPredictions::new(&Question { units: bag.pieces.clone().into(), ..job.clone() });
        search.run(&mut bag.game(&mut masked), job.random(Stream::Lime))
    }
}

/// Choosing by `auto` where only the number of words is given, and the package's number where only the way is.
fn choice(arguments: &mut Arguments) -> Result<Choice> {
    let all = arguments.is_given("choose");
    let (choose, keep) = (arguments.choice("choose", &Choose::NAMES)?, arguments.optional_count("keep")?);
    match (choose, keep) {
        (Choose::None, Some(keep)) if all && arguments.is_given("keep") => {
            Err(Error::Request(format!("choose=none keeps every word; leave out keep={keep}")))
        }
        (Choose::None, _) if all => Ok(Choice::ALL),
        (Choose::None, keep) => Ok(keep.map_or(Choice::ALL, |keep| Choice { choose: Choose::Auto, keep })),
        (choose, keep) => Ok(Choice { choose, keep: keep.unwrap_or(KEPT) }),
    }
}

impl Method for Lime {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        let mut all = params([
            ("features", name_of(&FEATURES, &self.features).into()),
            ("sampling", name_of(&SAMPLINGS, &self.sampling).into()),
            ("choose", self.choice.choose.name().into()),
        ]);
        if self.choice != Choice::ALL {
            all.insert("keep".into(), self.choice.keep.into());
        }
        all.extend(self.effort.params());
        all
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let bag = InterpretableFeatures::of(job, self.features);
        if bag.len() == 0 {
            return Ok(RawAttribution::of(RawScores::Units(vec![0.0; job.units.len()]))
                .note(Some("there is no word to hide".into())));
        }
        let FoundPicture { picture, samples, whole, is_exact } = self.search(job, &bag)?;
        let values = bag.units(&job.units, &picture.weights, |weights| weights.iter().sum());
        let errors =
            bag.units(&job.units, &picture.errors, |errors| errors.iter().map(|e| e * e).sum::<f64>().sqrt());
        let masker = job.masker();
        let drawn = masker.draws().then(|| {
            format!("hidden words are replaced by '{masker}' words of one draw; another seed draws others")
        });
        let explained =
            RawAttribution { errors: Some(errors), ..RawAttribution::of(RawScores::Units(values)) }
                .with("samples", samples)
                .with("exact", is_exact)
                .with("intercept", picture.intercept)
                .with("local_prediction", picture.prediction)
                .with("masker", masker.to_string())
                .note(drawn);
        // How well rounding is fitted says nothing.
        if are_zero(&picture.weights, [whole, picture.intercept]) {
            return Ok(explained);
        }
        let explained = explained.with("r2", picture.explained);
        let few = too_few(samples, bag.len()).filter(|_| !is_exact);
        if few.is_some() {
            return Ok(RawAttribution { errors: None, ..explained }.note(few));
        }
        Ok(explained
            .note(poor(picture.explained, picture.prediction, whole))
            .note(self.effort.note(&picture.weights, &picture.errors)))
    }

    fn own_site(&self) -> bool {
        true
    }

    fn most_rows(&self, units: usize) -> Option<usize> {
        Some(self.effort.samples.unwrap_or(self.effort.budget).min(all_sets(units)))
    }
}

/// What the reader must know where there are not more texts than words: then any numbers fit without an error.
fn too_few(samples: usize, words: usize) -> Option<String> {
    (samples <= words).then(|| match samples {
        1 => "one sample is the whole text alone and fits nothing: these weights are a guess, and no error can be given".to_owned(),
        _ => format!("{samples} samples do not tell {words} words apart: the weights are half a guess, and no error can be given"),
    })
}

/// What the reader must know where no straight line fits.
fn poor(explained: f64, prediction: f64, whole: f64) -> Option<String> {
    (explained < POOR).then(|| {
        format!(
            "a sum of word weights explains {:.0} % of how F moves when words are hidden (R²), and gives {prediction:.3} for \
             the whole text, where F is {whole:.3}: words act together here, and weights alone say little",
            100.0 * explained.max(0.0)
        )
    })
}

#[cfg(test)]
mod notes {
    #[test]
    fn too_few_samples_are_said() {
        assert_eq!(super::too_few(13, 12), None);
        assert!(super::too_few(1, 12).unwrap().starts_with("one sample is the whole text alone"));
        let note = super::too_few(12, 12).unwrap();
        assert!(
            note.starts_with("12 samples do not tell 12 words apart") && note.contains("no error"),
            "{note}"
        );
    }

    #[test]
    fn a_poor_fit_is_said() {
        assert_eq!(super::poor(0.7, 0.9, 0.9), None);
        let note = super::poor(0.31, 0.55, 0.9).unwrap();
        assert!(note.contains("31 %") && note.contains("0.550") && note.contains("0.900"), "{note}");
    }
}
