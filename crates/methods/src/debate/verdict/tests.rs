use super::*;

fn interval(lower: f64, upper: f64) -> Interval {
    Interval { value: 0.5 * (lower + upper), lower, upper }
}

/// The statistics that support.
fn supporting() -> DebateStatistics {
    DebateStatistics {
        metric: "F1",
        gain: interval(0.05, 0.11),
        moved: interval(0.3, 0.5),
        tau: Some(interval(0.7, 0.9)),
        decisive: 0.8,
        ratio: Some(interval(8.0, 20.0)),
        flips: interval(0.3, 0.5),
        removed: Some(interval(-0.8, -0.6)),
        beyond_product: Some(interval(-0.1, 0.1)),
        other_weights: interval(0.1, 0.2),
        adversary: None,
        guide: Some(interval(-0.1, 0.1)),
    }
}

type Change = fn(&mut DebateStatistics);

/// Statistics that support, but for a change, and the rule that must hold.
const TABLE: [(u32, &str, Change); 12] = [
    (4, "supports", |_| ()),
    (1, "contradicts", |found| found.ratio = Some(interval(0.05, 0.3))),
    (1, "contradicts", |found| found.tau = Some(interval(-0.3, -0.01))),
    // The deceived model: its weights are idle too, and rule 1 comes first.
    (1, "contradicts", |found| {
        (found.ratio, found.decisive, found.moved) = (Some(interval(0.1, 0.16)), 0.55, interval(0.0, 0.002));
    }),
    (2, "says_nothing", |found| {
        (found.ratio, found.moved) = (Some(interval(0.4, 0.6)), interval(0.0, 0.01));
    }),
    (3, "says_nothing", |found| {
        found.moved = interval(0.2, 0.4);
        found.gain = Interval { value: 0.012, lower: -0.01, upper: 0.03 };
    }),
    // Surely above 0, but too small to count.
    (3, "says_nothing", |found| found.gain = interval(0.01, 0.02)),
    (5, "says_nothing", |found| found.tau = Some(interval(0.25, 0.4))),
    (5, "says_nothing", |found| (found.ratio, found.decisive) = (Some(interval(0.1, 0.4)), 0.1)),
    // Where no text has a decisive word, nothing about its weight holds: neither rule 1 nor rule 4.
    (5, "says_nothing", |found| (found.ratio, found.decisive) = (None, 0.0)),
    (5, "says_nothing", |found| found.flips = interval(-0.1, 0.1)),
    (5, "says_nothing", |found| found.removed = Some(interval(0.01, 0.2))),
];

/// The first line of the table that some rules get wrong.
fn wrong(rules: &[DebateRule]) -> Option<usize> {
    TABLE.iter().position(|(rule, verdict, change)| {
        let mut found = supporting();
        change(&mut found);
        let judged = ruled(&found, rules);
        (judged.rule, judged.verdict.as_str()) != (Some(*rule), verdict)
    })
}

#[test]
fn the_first_rule_that_holds_decides() {
    assert_eq!(wrong(&RULES), None);
    let [one, two, three, four, five] = RULES;
    assert_eq!(wrong(&[two, one, three, four, five]), Some(3), "rule 2 must not come before rule 1");
}

#[test]
fn sentences_say_what_held_and_nothing_else() {
    let said = |change: Change| {
        let mut found = supporting();
        change(&mut found);
        judge(&found).sentences.join("\n")
    };
    let plain = said(|_| ());
    assert!(plain.starts_with("Attention supports") && plain.contains("14.0 (8.0 to 20.0)"), "{plain}");
    assert_eq!(plain.lines().count(), 1, "{plain}");
    let checks: [(&str, Change); 9] = [
        ("Other weights would do: in 70.0 %", |found| found.other_weights = interval(0.6, 0.8)),
        ("Other weights would do: a model", |found| {
            found.adversary = Some(FarAdversary { jsd: 0.5, loss: 0.02 });
        }),
        ("The weights carry information alone", |found| found.guide = Some(interval(0.1, 0.2))),
        ("Gradients point better", |found| found.beyond_product = Some(interval(0.1, 0.2))),
        ("against what leaving them out does", |found| found.tau = Some(interval(-0.2, -0.1))),
        ("Uniform weights do as well on these data", |found| {
            (found.tau, found.gain) = (Some(interval(-0.2, -0.1)), interval(-0.1, 0.1));
        }),
        ("uniform weights do as well on these data", |found| found.gain = interval(-0.1, 0.1)),
        ("the word that decides has", |found| found.ratio = Some(interval(1.0, 3.0))),
        ("no answer flips whatever is erased", |found| found.removed = None),
    ];
    for (expected, change) in checks {
        let sentences = said(change);
        assert!(sentences.contains(expected) && !plain.contains(expected), "{expected}: {sentences}");
    }
    let near = said(|found| found.adversary = Some(FarAdversary { jsd: 0.3, loss: 0.0 }));
    assert_eq!(near, plain, "an adversary with much the same weights shows nothing");
}

#[test]
fn findings_name_every_condition_once() {
    let found = DebateStatistics { ratio: None, ..supporting() };
    let findings = judge(&found).findings;
    let names: std::collections::BTreeSet<&str> = findings.iter().map(|f| f.check.as_str()).collect();
    assert_eq!((names.len(), findings.len()), (13, 13), "{names:?}");
    let of = |name: &str| findings.iter().find(|finding| finding.check == name).unwrap();
    assert_eq!(of("decisive_words_have_much_weight").passed, None);
    assert_eq!(of("attention_is_needed").passed, Some(true));
    assert_eq!(of("weights_are_idle").passed, Some(false));
}
