use super::*;
use exegete_core::report::{
    Completeness, Curve, Erasure, Flip, Infidelity, Judgement, RankAgreement, UnitDrop,
};

fn drops(own: f64, reversed: f64, random: [f64; 2]) -> Option<Erasure> {
    let drop = |mean: f64| UnitDrop { values: vec![mean], mean };
    Some(Erasure {
        bins: vec![0.5],
        own: drop(own),
        reversed: drop(reversed),
        random: random.map(drop).to_vec(),
        log_odds: Some(-own),
    })
}

fn flip(units: &[usize], random_share: f64) -> Option<Flip> {
    let said = || ("a".to_owned(), 0.9);
    Some(Flip {
        units: units.to_vec(),
        tried: 4,
        before: said(),
        after: said(),
        random_share,
        random_sets: 9,
    })
}

fn weighed(tau: f64, p: f64) -> Option<RankAgreement> {
    Some(RankAgreement { tau: Some(tau), p_value: Some(p), units: 4, drops: vec![], measured: vec![] })
}

fn text(measured: Vec<Measured>) -> Text {
    let random = Some(Measured::new(true, vec![0.5; 4], &Checks::default(), None));
    Text { truncated: false, cost: Cost::default(), measured, random, effects: None }
}

fn tables(contest: &MethodComparison<'_>, texts: &[Text]) -> Vec<Table> {
    let table = |item| if let Item::Table(table) = item { Some(table) } else { None };
    items(contest, texts).into_iter().filter_map(table).collect()
}

/// A column of the first table, by its head.
fn column(table: &Table, head: &str) -> Vec<Cell> {
    let at = table.columns.iter().position(|column| column == head).unwrap_or_else(|| panic!("no {head}"));
    table.rows.iter().map(|row| row[at].clone()).collect()
}

fn near(cell: &Cell, mean: f64, error: f64) {
    let Cell::Estimate { mean: m, error: e } = cell else { panic!("{cell:?} is no estimate") };
    assert!((m - mean).abs() < 1e-12 && (e - error).abs() < 1e-12, "{m} ± {e} is not {mean} ± {error}");
}

fn contest<'a>(names: &'a [String]) -> MethodComparison<'a> {
    MethodComparison { names, target: "predicted", units: Units::Word, seed: 0, calibrate: false }
}

/// Two texts of four units, worked out by hand.
#[test]
fn means_and_standard_errors() {
    let one = Checks {
        completeness: Some(Completeness::new([1.0], 1.0)),
        comprehensiveness: drops(0.6, 0.1, [0.2, 0.4]),
        sufficiency: drops(0.1, 0.5, [0.3, 0.1]),
        flip: flip(&[2], 0.25),
        leave_one_out: weighed(0.8, 0.01),
        ..Checks::default()
    };
    let two = Checks {
        comprehensiveness: drops(0.2, 0.3, [0.0, 0.2]),
        sufficiency: drops(0.3, 0.3, [0.3, 0.3]),
        flip: flip(&[], 0.0),
        leave_one_out: weighed(0.2, 0.4),
        ..one.clone()
    };
    let cost = |seconds, forward_rows| {
        Some(Cost { seconds, asked_rows: 2 * forward_rows, forward_rows, backward_rows: 3 })
    };
    let values = vec![4.0, 3.0, 2.0, 1.0];
    let texts = [
        text(vec![Measured::new(true, values.clone(), &one, cost(1.0, 10))]),
        text(vec![Measured::new(true, values, &two, cost(2.0, 20))]),
    ];
    let names = ["own".to_owned()];
    let [table] = &tables(&contest(&names), &texts)[..] else {
        panic!("one explanation has none to agree with")
    };
    assert_eq!(table.title, "1 explanation on 2 texts, target predicted, by word");
    assert_eq!(column(table, "method"), ["own", RANDOM].map(|name| Cell::Word(name.into())));
    // Of two values the standard error is half their difference.
    for (head, mean, error) in [
        ("completeness gap", 0.0, 0.0),
        ("comprehensiveness", 0.4, 0.2),
        ("comp minus random", 0.2, 0.1),
        ("comp reversed", 0.2, 0.1),
        ("log odds", -0.4, 0.2),
        ("sufficiency", 0.2, 0.1),
        ("suff minus random", -0.05, 0.05),
        ("suff reversed", 0.4, 0.1),
        ("flips", 0.5, 0.5),
        // A quarter of the units for the first; the second never flips.
        ("share to flip", 0.625, 0.375),
        ("tau", 0.5, 0.3),
        ("tau significant", 0.5, 0.5),
        ("seconds", 1.5, 0.5),
        ("rows asked", 30.0, 10.0),
        ("rows run", 15.0, 5.0),
        ("backward rows", 3.0, 0.0),
    ] {
        let cells = column(table, head);
        near(&cells[0], mean, error);
        assert_eq!(cells[1], Cell::Empty, "{head}");
    }
    assert_eq!(column(table, "units to flip")[0], Cell::Number(1.0));
    assert_eq!(column(table, "random flips")[0], Cell::Number(0.25));
    assert!(!table.columns.iter().any(|column| column == "stability"), "nobody measured it");
    assert!(!table.notes.iter().any(|note| note.contains("exists for")), "{:?}", table.notes);
}

#[test]
fn what_is_missing_is_said() {
    let area = |area| Some(Curve { shares: vec![], values: vec![], random: vec![], area, random_area: 0.5 });
    let infidelity = |zero| Some(Infidelity { value: 2.0, scaled: 1.0, factor: 1.0, zero, samples: 9 });
    let checks = |infidelity| Checks { deletion: area(0.25), infidelity, ..Checks::default() };
    let measured = |checks| Measured::new(true, vec![1.0, 2.0], &checks, None);
    let mut texts = vec![text(vec![measured(checks(infidelity(4.0)))]); 3];
    texts[1] = text(vec![measured(checks(infidelity(0.0)))]);
    texts[2].truncated = true;
    texts.push(Text {
        truncated: true,
        cost: Cost::default(),
        measured: Vec::new(),
        random: None,
        effects: None,
    });
    let names = ["own".to_owned()];
    let table = &tables(&contest(&names), &texts)[0];
    near(&column(table, "infidelity scaled")[0], 0.25, 0.0);
    near(&column(table, "deletion area")[0], 0.25, 0.0);
    let notes = table.notes.join("\n");
    for told in [
        "over 3 texts",
        "2 cut to the tokens that the model reads",
        "1 skipped because no word",
        "infidelity scaled of own exists for 2 texts",
        "low is good: deletion area, infidelity",
    ] {
        assert!(notes.contains(told), "'{told}' is not in {notes}");
    }
}

#[test]
fn numbers_that_are_none_are_left_out() {
    let gap = Completeness { gap: f64::NAN, ..Completeness::new([], 0.0) };
    let checks = Checks { completeness: Some(gap), ..Checks::default() };
    assert!(Measured::new(true, vec![1.0], &checks, None).metrics.is_empty());
}

#[test]
fn agreement_by_hand() {
    let scores = |signed, values: [f64; 3]| Measured::new(signed, values.to_vec(), &Checks::default(), None);
    // By value the first two have two of three pairs in the same order, then none; the third has no sign.
    let texts = [
        text(vec![
            scores(true, [3.0, 2.0, 1.0]),
            scores(true, [3.0, 1.0, 2.0]),
            scores(false, [3.0, 2.0, 1.0]),
        ]),
        text(vec![
            scores(true, [1.0, 2.0, -3.0]),
            scores(true, [-3.0, -2.0, 1.0]),
            scores(false, [1.0, 2.0, 3.0]),
        ]),
        text(vec![scores(true, [1.0, 1.0, 1.0]), scores(true, [1.0, 2.0, 3.0]), scores(false, [0.0; 3])]),
    ];
    let names = ["a", "b", "c"].map(str::to_owned);
    let table = &tables(&contest(&names), &texts)[1];
    assert_eq!(table.columns, ["method", "a", "b", "c"]);
    // Pairs of the second text, a: 1 < 2, 1 > −3, 2 > −3; b: −3 < −2, −3 < 1, −2 < 1: τ = (1 − 2) / 3.
    near(&column(table, "b")[0], 0.0, 1.0 / 3.0);
    near(&column(table, "a")[2], 1.0, 0.0);
    // Sizes of b in the second text are 3, 2, 1: upside down.
    near(&column(table, "c")[1], (1.0 / 3.0 - 1.0) / 2.0, 2.0 / 3.0);
    assert_eq!(column(table, "a")[0], Cell::Number(1.0));
    for row in 0..3 {
        for other in 0..3 {
            assert_eq!(table.rows[row][other + 1], table.rows[other][row + 1]);
        }
    }
}

/// A name is the key of a journal's line and of a column.
#[test]
fn metrics_have_names_of_their_own() {
    let names: std::collections::BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
    assert_eq!(names.len(), METRICS.len());
}

#[test]
fn a_text_survives_its_line() {
    let checks = Checks { comprehensiveness: drops(1.0 / 3.0, 0.1, [0.2, 0.3]), ..Checks::default() };
    let cost = Cost { seconds: 0.1 + 0.2, asked_rows: 9, forward_rows: 7, backward_rows: 0 };
    let text = text(vec![Measured::new(false, vec![1.0 / 7.0, -0.0], &checks, Some(cost))]);
    let line = serde_json::to_string(&text).unwrap();
    assert_eq!(serde_json::from_str::<Text>(&line).unwrap(), text);
}

/// Texts of eight units whose effects are known, with an explanation that knows them.
fn known(texts: usize) -> Vec<Text> {
    let one = |place: usize| {
        let values: Vec<f64> =
            (0..8).map(|i| ((place * 31 + i * 17) % 23) as f64 - 11.0 + 0.1 * i as f64).collect();
        let metrics = [("clean", 1.0), ("undecided", 0.0), ("z", 2.5)].map(|(name, v)| (name.to_owned(), v));
        let own = Measured { signed: true, values: values.clone(), metrics: metrics.into() };
        let none = [("clean", 0.0), ("undecided", 0.0), ("z", 0.1)].map(|(name, v)| (name.to_owned(), v));
        let random = Some(Measured { metrics: none.into(), ..own.clone() });
        let effects = Some(TextEffects { errors: vec![0.01; 8], values, place: place as u64 });
        Text { random, effects, ..text(vec![own]) }
    };
    (0..texts).map(one).collect()
}

#[test]
fn clean_cards_stand_beside_those_that_know_nothing() {
    let names = ["own".to_owned()];
    let tables = tables(&contest(&names), &known(40));
    let table = tables.iter().find(|table| table.title == "Clean cards").unwrap();
    let names: Vec<Cell> =
        ["own", RANDOM, "reversed own", "constant", "other"].map(|name| Cell::Word(name.into())).to_vec();
    assert_eq!(column(table, "method"), names);
    let clean = column(table, "clean");
    assert_eq!(clean[0], Cell::Number(1.0));
    [1, 2, 3].iter().for_each(|&row| assert_eq!(clean[row], Cell::Number(0.0), "{row}"));
    assert_eq!(column(table, "8–14"), clean);
    assert_eq!(column(table, "5–7")[0], Cell::Empty);
    // Wilson: 40 of 40.
    let Cell::Number(low) = column(table, "lower")[0] else { panic!("a number") };
    assert!((low - 0.912).abs() < 1e-3, "{low}");
    let told = &table.notes[0];
    assert!(
        told.starts_with("own: 100 % of 40 cards are clean (95 % interval 91 % to 100 %), 0 % undecided;"),
        "{told}"
    );
    assert!(told.contains("better than chance: mean z 2.50 (2.50 to 2.50)."), "{told}");
    assert!(tables.iter().all(|table| table.title != "calibration"), "nobody asked for it");
}

#[test]
fn error_rates_and_power_are_measured() {
    let names = ["own".to_owned()];
    let contest = MethodComparison { calibrate: true, ..contest(&names) };
    let tables = tables(&contest, &known(60));
    let table = tables.last().unwrap();
    assert_eq!(table.title, "calibration");
    let heads = ["method", "length", "error_rate", "power", "lower", "upper", "undecided", "texts", "draws"];
    assert_eq!(table.columns, heads);
    let cell = |method: &str, head: &str| {
        let is = |row: &&Vec<Cell>| row[..2] == [Cell::Word(method.into()), Cell::Word("all".into())];
        let at = heads.iter().position(|column| *column == head).unwrap();
        match table.rows.iter().find(is).unwrap()[at] {
            Cell::Number(value) => Some(value),
            _ => None,
        }
    };
    assert_eq!((cell("own", "power"), cell("own", "error_rate")), (Some(1.0), None));
    for (method, draws) in [("random", 1200.0), ("random unsigned", 1200.0)] {
        assert_eq!((cell(method, "texts"), cell(method, "draws")), (Some(60.0), Some(draws)));
        let rate = cell(method, "error_rate").unwrap();
        assert!(rate > 0.0 && rate < 0.03, "{method}: {rate}");
        assert!(cell(method, "lower").unwrap() <= rate && rate <= cell(method, "upper").unwrap());
    }
    for method in ["constant", "reversed own"] {
        assert_eq!((cell(method, "error_rate"), cell(method, "upper")), (Some(0.0), Some(0.05)), "3 in 60");
        assert_eq!(cell(method, "draws"), Some(60.0));
    }
    assert!(cell("other", "draws") == Some(1200.0));
}

/// Texts of three words can show nothing: they count as not clean for methods and for controls alike.
#[test]
fn short_texts_are_undecided_in_every_row() {
    let undecided = [("clean", 0.0), ("undecided", 1.0)].map(|(name, value)| (name.to_owned(), value));
    let short = || {
        let own = Measured { signed: true, values: vec![3.0, 1.0, 2.0], metrics: undecided.clone().into() };
        Text { random: Some(own.clone()), ..text(vec![own]) }
    };
    let names = ["own".to_owned()];
    let contest = MethodComparison { calibrate: true, ..contest(&names) };
    let rates = |tables: &[Table], title: &str, heads: [&str; 2]| -> Vec<(Cell, Cell)> {
        let table = tables.iter().find(|table| table.title == title).unwrap_or_else(|| panic!("no {title}"));
        column(table, heads[0]).into_iter().zip(column(table, heads[1])).collect()
    };
    let all_short = tables(&contest, &[short(), short(), short()]);
    let clean = rates(&all_short, "Clean cards", ["texts", "undecided"]);
    assert_eq!(clean, vec![(Cell::Number(3.0), Cell::Number(1.0)); 5]);
    let calibration = rates(&all_short, "calibration", ["texts", "undecided"]);
    assert_eq!(
        calibration,
        vec![(Cell::Number(3.0), Cell::Number(1.0)); 6],
        "no length of theirs is told apart"
    );
    let mixed: Vec<Text> = known(9).into_iter().chain([short()]).collect();
    let tables = tables(&contest, &mixed);
    for (texts, _) in rates(&tables, "Clean cards", ["texts", "clean"]) {
        assert_eq!(texts, Cell::Number(10.0));
    }
    let table = tables.iter().find(|table| table.title == "calibration").unwrap();
    let all = table.rows.iter().filter(|row| row[1] == Cell::Word("all".into()));
    let texts: Vec<&Cell> = all.map(|row| &row[7]).collect();
    assert_eq!(texts, vec![&Cell::Number(10.0); 6]);
}

#[test]
fn a_comparison_ends_with_its_conclusion() {
    let names = ["own".to_owned()];
    let conclusion = |texts: &[Text]| -> Judgement {
        let all = items(&contest(&names), texts);
        let Some(Item::Verdict(judgement)) = all.last() else { panic!("the last item is {:?}", all.last()) };
        assert!(all.iter().all(|item| item.consistent().is_ok()), "columns of pictures exist");
        judgement.clone()
    };
    let good = conclusion(&known(40));
    assert_eq!((good.name.as_str(), good.verdict.as_str()), ("conclusion", "better_than_chance"));
    assert_eq!(
        good.sentences,
        [
            "More clean cards than random rankings (0 %, at most 9 %): own 100 % (91 to 100).",
            "By mean z over all texts, better than chance at finding what moves the model: own.",
        ]
    );
    assert_eq!(good.findings[0].passed, Some(true));
    // The planted fault: an explanation whose rankings are upside down.
    let mut wrong = known(40);
    for text in &mut wrong {
        text.measured[0].metrics.insert("clean".to_owned(), 0.0);
        text.measured[0].metrics.insert("z".to_owned(), -2.0);
    }
    let wrong = conclusion(&wrong);
    assert_eq!(wrong.verdict, "not_better_than_chance");
    assert_eq!(
        wrong.sentences,
        [
            "No more clean cards than random rankings (0 %, at most 9 %): own 0 % (0 to 9).",
            "By mean z over all texts, upside down: own.",
        ]
    );
    assert_eq!(wrong.findings[0].passed, Some(false));
}
