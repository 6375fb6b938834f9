//! LIME and SP-LIME of a black box that answers by one word.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::report::{Cell, Item};
use exegete_core::{
    Card, ClassScore, Driver, Example, Model, Prediction, Result, Row, Scale, Scores, Target, Units,
};
use exegete_methods::evidence::Level;
use exegete_methods::{
    ConfiguredMethod, Corpus, Method, Question, RawAttribution, Request, Settings, survey,
};

/// Says yes with 0.9 where a text has the word great, else with 0.2.
struct Planted(Card);

impl Planted {
    fn new() -> Self {
        Self(Card {
            name: "planted".into(),
            family: "none".into(),
            fingerprint: "planted".into(),
            task: &exegete_core::task::CLASSIFICATION,
            labels: vec!["no".into(), "yes".into()],
            parameters: 0,
            max_tokens: 512,
            sizes: exegete_core::Sizes::default(),
            warnings: Vec::new(),
        })
    }
}

impl Model for Planted {
    fn card(&self) -> &Card {
        &self.0
    }

    fn predict(&self, examples: &[Example]) -> Result<Vec<Prediction>> {
        let answer = |example: &Example| {
            let great = example.fields[0].text.to_lowercase().split_whitespace().any(|word| word == "great");
            let yes: f64 = if great { 0.9 } else { 0.2 };
            let score = |label: &str, prob: f64| ClassScore { label: label.into(), logit: None, prob };
            let scores = Scores::classes(vec![score("no", 1.0 - yes), score("yes", yes)]);
            Ok(Prediction { scores, truncated: false, unknown: 0 })
        };
        examples.iter().map(answer).collect()
    }
}

const TEXT: &str = "It was a great film and I had a great time , all of it";

fn explained(set: &[&str], text: &str) -> (RawAttribution, Vec<(String, f64)>) {
    let (model, driver) = (Planted::new(), Driver::default());
    let row = Row::new(model.encoded(&Example::text(text)).unwrap());
    let target = Target { scale: Some(Scale::Prob), ..Target::named_class("yes", 1) };
    let job = Question::new(&model, &driver, row, target);
    let chosen = ConfiguredMethod::new("lime", Settings::parse(set).unwrap()).unwrap();
    let found = chosen.explain(&job).unwrap();
    let exegete_methods::RawScores::Units(values) = &found.scores else { panic!("lime scores units") };
    let word = |span: exegete_core::Span| text[span.start..span.end].to_owned();
    let words = job.units.iter().map(|unit| word(unit.span)).zip(values.iter().copied()).collect();
    (found, words)
}

#[test]
fn the_planted_word_comes_first() {
    // As one word its two places go together; each alone leaves the other, and they share the weight.
    for (set, least) in
        [(vec!["features=words"], 0.65), (vec!["features=words", "keep=3"], 0.65), (vec![], 0.15)]
    {
        let (found, words) = explained(&set, TEXT);
        let top = words.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).unwrap();
        assert!(top.0 == "great" && top.1 > least, "{set:?}: {words:?}");
        let number = |name: &str| found.found[name].as_f64().unwrap();
        assert!(number("samples") <= 2000.0 && number("r2") > 0.5, "{:?}", found.found);
        assert!(number("local_prediction") > 0.8 && number("intercept") < 0.5, "{:?}", found.found);
        let errors = found.errors.unwrap();
        assert!(errors.len() == words.len() && errors.iter().all(|error| *error <= 0.05 * top.1.abs()));
    }
}

#[test]
fn settings() {
    let (found, _) = explained(&["sampling=package", "samples=50"], TEXT);
    assert_eq!(found.found["samples"], 50);
    let (found, _) = explained(&["samples=50", "choose=lasso_path", "keep=2"], TEXT);
    let exegete_methods::RawScores::Units(values) = found.scores else { panic!("lime scores units") };
    assert!(values.iter().filter(|value| **value != 0.0).count() <= 2, "{values:?}");
    let (found, _) = explained(&["budget=40", "tolerance=0.001"], TEXT);
    assert!(found.notes.iter().any(|note| note.contains("budget of 40 rows")), "{:?}", found.notes);
    let refused = |set: &[&str]| {
        ConfiguredMethod::new("lime", Settings::parse(set).unwrap()).err().unwrap().to_string()
    };
    assert!(refused(&["choose=none", "keep=3"]).contains("keep=3"));
    assert!(refused(&["choose=best"]).contains("lasso_path"));
    assert!(refused(&["samples=9", "budget=9"]).contains("give one"));
}

#[test]
fn tiny_and_wordless_texts() {
    let (found, words) = explained(&[], "great");
    assert!(words[0].1 > 0.0 && found.found["exact"] == true, "{words:?}");
    let (found, words) = explained(&["features=words"], "... !");
    assert!(words.iter().all(|(_, value)| *value == 0.0) && found.notes[0].contains("no word"), "{words:?}");
}

#[test]
fn a_few_texts_that_show_the_word() {
    let (model, driver) = (Planted::new(), Driver::default());
    let texts = ["a film", "what a Great film", "the plot was thin", "great acting"];
    let examples = texts.map(Example::text);
    let request = Request {
        methods: ConfiguredMethod::all(&["sp_lime"], &["texts=2", "keep=1"]).unwrap(),
        targets: vec!["class:yes:prob".parse().unwrap()],
        top_labels: None,
        site: exegete_methods::SiteChoice::Words,
        units: Units::Word,
        baselines: Vec::new(),
        masker: None,
        check: Level::None,
        seed: 0,
    };
    let corpus =
        Corpus { model: &model, driver: &driver, examples: &examples, held_out: None, request: &request };
    let items = survey(&corpus).unwrap();
    let [Item::Table(picked), Item::Table(words), Item::Attribution(first), ..] = &items[..] else {
        panic!("{items:?}")
    };
    assert_eq!(picked.rows[0][0], Cell::Number(2.0), "{picked:?}");
    assert_eq!(words.rows[0][0], Cell::Word("great".into()), "{words:?}");
    assert_eq!(first.subject.input[0].text, texts[1]);
}
