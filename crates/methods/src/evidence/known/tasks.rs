//! Every task: rankings that know nothing pass in at most 2 % of texts, whatever the model answers.

use super::families;
use crate::evidence::Evidence;
use crate::evidence::chance::Trial;
use crate::evidence::chance::regression::Effects;
use crate::evidence::chance::statistic::Orders;
use crate::{Question, Stream};
use exegete_core::report::ChanceVerdict;
use exegete_core::{Card, Driver, Example, Model, Prediction, Result, Row};
use exegete_testkit::golden;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const TEXTS: usize = 200;
const RANKINGS: usize = 20;

const WORDS: [&str; 16] = [
    "a", "film", "that", "is", "not", "so", "bad", "the", "good", "man", "was", "here", "it", "plot", "and",
    "who",
];

/// A model that only answers.
struct Closed<'m>(&'m dyn Model);

impl Model for Closed<'_> {
    fn card(&self) -> &Card {
        self.0.card()
    }

    fn predict(&self, examples: &[Example]) -> Result<Vec<Prediction>> {
        self.0.predict(examples)
    }
}

fn text(random: &mut ChaCha8Rng) -> String {
    let words: Vec<&str> =
        (0..random.random_range(6..16)).map(|_| WORDS[random.random_range(0..WORDS.len())]).collect();
    words.join(" ")
}

/// The share of random rankings that pass, and of texts that show anything at all.
fn passing(model: &dyn Model, target: &str) -> (f64, f64) {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let (mut passed, mut told) = (0, 0);
    for _ in 0..TEXTS {
        let text = text(&mut random);
        let example = match model.card().task.needs_pair() {
            true => Example::pair("Who was here?", &text),
            false => Example::text(&text),
        };
        let driver = Driver::default();
        let row = Row::new(model.encoded(&example).unwrap());
        let target = match model.open() {
            Some(_) => super::resolved(model, &row, target).unwrap(),
            None => exegete_core::Target::class(0),
        };
        let job = Question::new(model, &driver, row, target);
        let found = Evidence::new(&job).effects().unwrap().expect("six words are enough");
        let effects = Effects { values: found.values, errors: found.errors, intercept: 0.0 };
        told += usize::from(effects.values.iter().any(|c| *c != 0.0));
        let orders = Orders::new(job.units.len(), &mut Stream::Chance.random(0, found.place));
        for ranking in 0..RANKINGS {
            let scores: Vec<f64> = effects.values.iter().map(|_| random.random()).collect();
            let trial = Trial::of(&scores, ranking % 2 == 0, &effects, &orders, &|_| String::new());
            passed += usize::from(trial.verdict == ChanceVerdict::Passed);
        }
    }
    (passed as f64 / (TEXTS * RANKINGS) as f64, told as f64 / TEXTS as f64)
}

#[test]
fn random_rankings_rarely_pass_on_any_task() {
    for (folder, target, closed) in [
        ("bert-sequence", "predicted", false),
        ("bert-sequence", "margin:0,1", false),
        ("bert-sequence", "class:0", true),
        ("bert-pair", "predicted", false),
        ("bert-multilabel", "class:0", false),
        ("bert-token", "tag:2=0", false),
        ("bert-qa", "predicted", false),
        ("bert-mlm", "token:2=the", false),
        ("bert-regression", "class:0", false),
    ] {
        let model = families::opened(&golden::root().join(folder));
        let (rate, told) = if closed { passing(&Closed(&*model), target) } else { passing(&*model, target) };
        assert!(rate <= 0.02, "{folder}, {target}: {rate}");
        assert!(rate > 0.0 && told > 0.9, "{folder}, {target}: {rate} of rankings, {told} of texts");
    }
}
