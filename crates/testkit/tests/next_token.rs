//! A task that no list names: a language model's outputs are read, targeted and checked all the same.

use exegete_core::conformance::{ConformanceSubject, check};
use exegete_core::task::Reading;
use exegete_core::{Driver, Example, Model, Result, Row, Scores, TASKS, Target};
use exegete_testkit::{NEXT_TOKEN, Toy};

/// The running mean at the last of "not good" is (0.625, −0.5), so that z = (−0.25, 0.8125, 0.5, −0.125, 0.875).
const TEXT: &str = "not good";
const LOGITS: [f64; 5] = [-0.25, 0.8125, 0.5, -0.125, 0.875];

fn prob(word: usize) -> f64 {
    LOGITS[word].exp() / LOGITS.iter().map(|z| z.exp()).sum::<f64>()
}

#[test]
fn predicts_the_word_after_the_last() {
    assert!(!TASKS.contains(&(&NEXT_TOKEN as &dyn exegete_core::Task)));
    let answers = Toy::language_model().predict(&[Example::text(TEXT)]).unwrap();
    let Scores::Fills { masks: fills } = &answers[0].scores else { panic!("{answers:?}") };
    assert_eq!((fills.len(), fills[0].position), (1, 1));
    let best = &fills[0].top[0];
    assert_eq!((best.piece.as_str(), best.logit), ("film", 0.875));
    assert!((best.prob - prob(4)).abs() < 1e-12);
}

fn read(target: &str) -> Result<(String, f64)> {
    let toy = Toy::language_model();
    let encoded = toy.encoded(&Example::text(TEXT))?;
    let logits =
        exegete_testkit::outputs(&Driver::default(), &toy, &[Row::new(encoded.clone())]).swap_remove(0);
    let reading = Reading { card: toy.card(), encoded: &encoded, logits: &logits, vocabulary: &toy.open() };
    let target = target.parse::<Target>()?.resolve_in(&reading, None)?;
    Ok((target.to_string(), target.value_of(toy.card(), &logits)?))
}

#[test]
fn targets_are_words_at_tokens() {
    let check = |target: &str, resolved: &str, value: f64| {
        let (found, read) = read(target).unwrap();
        assert_eq!(found, resolved);
        assert!((read - value).abs() < 1e-12, "{target}: {read}, not {value}");
    };
    check("predicted", "token:1=film:logit", 0.875);
    check("token:1=good", "token:1=good:logit", 0.8125);
    check("token:1=good:prob", "token:1=good:prob", prob(1));
    check("predicted:logprob", "token:1=film:logprob", prob(4).ln());
    for (target, part) in [
        ("class:good", "token:POS=WORD"),
        ("loss", "token:POS=WORD"),
        ("answer", "question-answering"),
        ("token:2=good", "there is no token 2"),
        ("token:1=excellent", "vocabulary"),
    ] {
        let error = read(target).unwrap_err().to_string();
        assert!(error.contains(part), "{target}: {error}");
    }
}

#[test]
fn keeps_to_what_every_open_model_must() {
    let toy = Toy::language_model();
    let examples = ["good film but bad", "not good film", "bad film not good not bad"].map(Example::text);
    for check in check(&ConformanceSubject { fast: &toy, exact: &toy, examples: &examples }).unwrap() {
        assert!(check.passed && check.worst <= check.limit, "{check:?}");
    }
}
