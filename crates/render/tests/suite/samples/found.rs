use super::{HOSTILE, REVIEW, attribution, review_words, subject};
use exegete_core::report::{Bounded, Chance, Edited, Edits, Item, Rule, RuleStep, Swap, UnitText, Verdict};
use exegete_core::{ClassScore, Field, Scores};

/// Two words that hold the answer.
pub(crate) fn rule() -> Rule {
    let units = attribution(&[("text", REVIEW)], &review_words(), Default::default()).units;
    let step = |conditions: &[usize], precision, coverage| RuleStep {
        conditions: conditions.to_vec(),
        precision,
        coverage,
    };
    let text = |text: &str| vec![Field { name: "text".to_owned(), text: text.to_owned() }];
    let mut subject = subject(&[("text", REVIEW)], "anchors");
    subject.params.insert("draws".to_owned(), 1240.into());
    Rule {
        subject,
        units,
        conditions: vec![11, 12],
        precision: share(0.973, 0.952, 0.989),
        coverage: share(0.248, 0.241, 0.255),
        threshold: 0.95,
        met: true,
        steps: vec![
            step(&[], share(0.571, 0.524, 0.617), share(1.0, 1.0, 1.0)),
            step(&[11], share(0.874, 0.843, 0.901), share(0.497, 0.489, 0.505)),
            step(&[11, 12], share(0.973, 0.952, 0.989), share(0.248, 0.241, 0.255)),
        ],
        keeps: vec![
            text(
                "UNK expected UNK like it, UNK the UNK UNK a terrible mess UNK the jokes UNK land. UNK few good UNK cannot UNK it; I UNK before the UNK.",
            ),
            text("UNK UNK UNK UNK UNK UNK UNK UNK UNK UNK terrible mess"),
        ],
        breaks: vec![text(
            "I UNK to like it, UNK the plot UNK a terrible mess UNK the UNK UNK land. A few good songs UNK save it; UNK left before UNK end.",
        )],
        random: Some(share(0.612, 0.431, 0.793)),
        verdict: verdict("The rule holds where it was tried; random rules of its size reach 61.2 %.", &[]),
    }
}

/// A rule over two texts that is not sure enough, and no better than random ones.
pub(crate) fn weak_rule() -> Rule {
    let fields = [("premise", "Two dogs run across a field."), ("hypothesis", "Animals are outdoors.")];
    let unit = |text: &str, field: usize| {
        let start = fields[field].1.find(text).unwrap();
        UnitText { text: text.to_owned(), field, start, end: start + text.len() }
    };
    let example = |premise: &str| {
        let field = |name: &str, text: &str| Field { name: name.to_owned(), text: text.to_owned() };
        vec![field("premise", premise), field("hypothesis", "Animals UNK UNK.")]
    };
    Rule {
        subject: subject(&fields, "anchors"),
        units: vec![unit("Two", 0), unit("dogs", 0), unit("field", 0), unit("Animals", 1)],
        conditions: vec![1, 3],
        precision: share(0.71, 0.62, 0.79),
        met: false,
        steps: Vec::new(),
        keeps: vec![example("UNK dogs UNK UNK UNK UNK."); 7],
        breaks: Vec::new(),
        verdict: verdict(
            "Do not rely on this rule.",
            &["the precision is 71.0 %, asked for 95.0 %", "random rules of its size reach 73.0 %"],
        ),
        random: Some(share(0.73, 0.6, 0.86)),
        ..rule()
    }
}

/// A removal, a replacement and an insertion.
pub(crate) fn edits() -> Edits {
    let swaps = [("terrible", "terrific"), ("mess", "")].map(|(before, after)| swap(REVIEW, before, after));
    let second = [("terrible", ""), ("mess", ""), ("don't", "")].map(|(old, new)| swap(REVIEW, old, new));
    let put = Swap { field: 0, start: 0, end: 0, before: String::new(), after: "Honestly, ".to_owned() };
    let third = vec![put, swap(REVIEW, "cannot save it", "might just save it")];
    Edits {
        subject: subject(&[("text", REVIEW)], "hotflip"),
        goal: "the fewest words whose change turns the decision".to_owned(),
        found: vec![
            edited(swaps.to_vec(), 0.39, -0.447, true),
            edited(second.to_vec(), 0.45, -0.2, true),
            edited(third, 0.962, 1.62, false),
        ],
        smallest: true,
        random: Some(Chance { hits: 1, trials: 40 }),
        verdict: verdict("Two changes turn the decision; 1 of 40 random pairs does so too.", &[]),
    }
}

/// Little is left of the text.
pub(crate) fn reduction() -> Edits {
    let words = attribution(&[("text", REVIEW)], &review_words(), Default::default()).units;
    let gone = words.iter().filter(|unit| !["terrible", "mess"].contains(&unit.text.as_str()));
    let swap = |unit: &UnitText| Swap {
        field: 0,
        start: unit.start,
        end: unit.end,
        before: unit.text.clone(),
        after: String::new(),
    };
    let mut reduced = edited(gone.map(swap).collect(), 0.91, 1.1, true);
    reduced.input[0].text = "terrible mess before the .".to_owned();
    Edits {
        subject: subject(&[("text", REVIEW)], "input_reduction"),
        goal: "the fewest words that keep the decision".to_owned(),
        found: vec![reduced],
        smallest: false,
        random: Some(Chance { hits: 3, trials: 20 }),
        verdict: verdict("Two words of 30 keep the decision.", &[]),
    }
}

/// The best that was found does not reach the goal.
pub(crate) fn missed() -> Edits {
    let mut edits = edits();
    edits.found = vec![edited(vec![swap(REVIEW, "terrible", "")], 0.94, 1.4, false)];
    edits.smallest = false;
    edits.random = Some(Chance { hits: 0, trials: 0 });
    edits.verdict = verdict("Nothing that was tried turns the decision.", &["stopped after 20 changes"]);
    edits
}

pub(crate) fn nothing() -> Edits {
    Edits { found: Vec::new(), random: None, ..missed() }
}

/// A rule and edits over text that tries everything.
pub(crate) fn hostile() -> [Item; 2] {
    let rule = {
        let mut rule = rule();
        let start = HOSTILE.find("נהדר").unwrap();
        rule.units = vec![
            UnitText { text: "<script>alert('x')</script>".to_owned(), field: 0, start: 0, end: 27 },
            UnitText { text: "נהדר".to_owned(), field: 0, start, end: start + "נהדר".len() },
        ];
        rule.subject.input[0].text = HOSTILE.to_owned();
        rule.conditions = vec![0, 1];
        rule.steps.iter_mut().for_each(|step| step.conditions.retain(|_| false));
        let text = |text: &str| vec![Field { name: "<b>name".to_owned(), text: text.to_owned() }];
        rule.keeps = vec![text(HOSTILE), text("")];
        rule.breaks = vec![text(&HOSTILE.replace("alert", "confirm"))];
        rule
    };
    let edits = {
        let mut edits = edits();
        edits.subject.input[0].text = HOSTILE.to_owned();
        edits.goal = "<img src=x>\u{1b}[2J".to_owned();
        let swaps = [("<script>alert('x')</script>", "</ins><b>\u{1b}[31m"), ("נהדר", "גרוע"), ("很好", "")];
        let swaps = swaps.map(|(before, after)| swap(HOSTILE, before, after)).to_vec();
        edits.found = vec![edited(swaps, 0.3, f64::from(-0.5f32), true)];
        edits
    };
    [Item::Rule(Box::new(rule)), Item::Edits(Box::new(edits))]
}

fn share(value: f64, low: f64, high: f64) -> Bounded {
    Bounded { value, low, high }
}

fn verdict(sentence: &str, failures: &[&str]) -> Verdict {
    Verdict::new(sentence.to_owned(), failures.iter().map(|f| (*f).to_owned()).collect())
}

fn swap(text: &str, before: &str, after: &str) -> Swap {
    let start = text.find(before).unwrap();
    let [before, after] = [before, after].map(str::to_owned);
    Swap { field: 0, start, end: start + before.len(), before, after }
}

fn edited(swaps: Vec<Swap>, negative: f64, value: f64, reached: bool) -> Edited {
    let score = |label: &str, prob| ClassScore { label: label.to_owned(), logit: None, prob };
    let label = if negative < 0.5 { "positive" } else { "negative" };
    let scores = vec![score("negative", negative), score("positive", 1.0 - negative)];
    let text = swaps.iter().fold(REVIEW.to_owned(), |text, swap| text.replacen(&swap.before, &swap.after, 1));
    Edited {
        input: vec![Field { name: "text".to_owned(), text }],
        swaps,
        prediction: Scores::Classes { label: label.to_owned(), scores },
        value,
        reached,
    }
}
