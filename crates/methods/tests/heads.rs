//! What heads do, against maps and models that were worked by hand, and what the faults that it could have would give.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::{Array, Change, Driver, Edit, Example, Model, Row, Target};
use exegete_methods::Method;
use exegete_methods::debate::{Place, PlaceChoice, TestedText};
use exegete_methods::heads::attribution::{TreeEdge, attributions, importance, tree};
use exegete_methods::heads::conllu::TreeSentence;
use exegete_methods::heads::divergence::{HeadDivergence, scaled};
use exegete_methods::heads::lexicon::{places, words};
use exegete_methods::heads::norms::LayerNorms;
use exegete_methods::heads::pattern::HeadHabits;
use exegete_methods::heads::relations::{HeadDirection, RelationCount, predicted, word_weights};
use exegete_methods::heads::{HeadGrid, HeadProjection, TokenPlaces};
use exegete_methods::{ConfiguredMethod, Question, RawScores, Settings};
use exegete_models::{LoadOptions, Precision, load};
use exegete_testkit::{Formula, Of, check, close, golden, toy_attention};
use std::sync::Arc;

const TOKENS: usize = 10;

fn near(what: &str, found: &[f64], expected: &[f64]) {
    close(what, found, expected, Of::Size(1.0), 1e-5);
}

/// \[CLS\], eight words, \[SEP\].
fn ten() -> TokenPlaces {
    let piece = |i: usize| match i {
        0 => "[CLS]".to_owned(),
        9 => "[SEP]".to_owned(),
        i => format!("w{i}"),
    };
    TokenPlaces {
        pieces: (0..TOKENS).map(piece).collect(),
        special: (0..TOKENS).map(|i| i == 0 || i == 9).collect(),
        field: vec![0; TOKENS],
        words: 8,
    }
}

fn map(weight: impl Fn(usize, usize) -> f32) -> Vec<f32> {
    (0..TOKENS * TOKENS).map(|at| weight(at / TOKENS, at % TOKENS)).collect()
}

/// To the token before, to \[SEP\], to all alike, and both of the first.
fn heads() -> [Vec<f32>; 4] {
    let if_so = |holds: bool, weight: f32| if holds { weight } else { 0.0 };
    [
        map(|i, j| if_so(j + 1 == i, 1.0)),
        map(|_, j| 0.01 + if_so(j == 9, 0.9)),
        map(|_, _| 0.1),
        map(|i, j| 0.01 + if_so(j == 9, 0.45) + if_so(j + 1 == i, 0.45)),
    ]
}

#[test]
fn heads_of_known_habits_are_told_apart() {
    let found = heads().map(|map| HeadHabits::of(&map, &ten()));
    let [previous, marker, even, both] = &found;
    near("previous", &[previous.neighbours[0], previous.special(), previous.entropy], &[1.0, 0.125, 0.0]);
    near("[SEP]", &[marker.special(), marker.entropy, marker.relative_entropy], &[0.92, 0.500288, 0.217271]);
    near("even", &[even.entropy], &[10f64.ln()]);
    near("both", &[both.neighbours[0], both.special()], &[0.46, 0.52625]);
    let distances = found.each_ref().map(|habits| habits.distance().unwrap());
    near("distances", &distances, &[1.0, 2.625, 2.625, 1.274406]);
    let patterns = found.each_ref().map(HeadHabits::pattern);
    let classes = patterns.each_ref().map(|pattern| pattern.class);
    assert_eq!(classes, ["diagonal", "vertical", "heterogeneous", "vertical+diagonal"]);
    assert_eq!(
        patterns.each_ref().map(|pattern| pattern.detail),
        [Some("previous"), None, Some("broad"), Some("previous")]
    );
    let sep = Some("[SEP]".to_owned());
    assert_eq!(patterns.map(|pattern| pattern.token), [None, sep.clone(), None, sep]);
}

/// With markers among the columns that distances are measured over, which is wrong, another number comes out.
#[test]
fn markers_have_no_distance() {
    let none = TokenPlaces { special: vec![false; TOKENS], ..ten() };
    let wrong = HeadHabits::of(&heads()[1], &none).distance().unwrap();
    assert!((wrong - 2.625).abs() > 0.1, "{wrong}");
}

/// A weight that is no number reaches every number that is made of its map.
#[test]
fn a_planted_nan_is_noticed() {
    let spoilt = map(|i, j| if (i, j) == (4, 3) { f32::NAN } else { 0.1 });
    let habits = HeadHabits::of(&spoilt, &ten());
    let mut divergence = HeadDivergence::new(2);
    divergence
        .add(&[Array::new([2, TOKENS, TOKENS], [spoilt.clone(), map(|_, _| 0.1)].concat()).unwrap()], &ten());
    let norms = LayerNorms::of(&[f32::NAN, 1.0, 0.5, 0.5], &[vec![vec![3.0, 0.0]], vec![vec![1.0, 2.0]]]);
    let words = word_weights(&spoilt, TOKENS, &[vec![3], vec![4]]);
    for (what, found) in [
        ("neighbours", habits.neighbours[0]),
        ("entropy", habits.entropy),
        ("distance", habits.distance().unwrap_or(f64::NAN)),
        ("divergence", divergence.matrix()[0][1]),
        ("norms", norms.merged[0][0]),
        ("words", words[1][0]),
    ] {
        let why = check(what, &[found], &[0.5], Of::Size(1.0), f64::MAX).unwrap_err();
        assert!(why.contains("NaN"), "{why}");
    }
}

#[test]
fn full_stops_and_pairs_have_their_patterns() {
    let mut places = ten();
    places.pieces[8] = ".".to_owned();
    let stops = HeadHabits::of(&map(|_, j| if j == 8 { 1.0 } else { 0.0 }), &places).pattern();
    assert_eq!((stops.class, stops.token.as_deref()), ("vertical", Some(". ,")));
    let pair = TokenPlaces { field: (0..TOKENS).map(|i| u32::from(i > 4)).collect(), ..ten() };
    let within = |i: usize, j: usize| (i > 4) == (j > 4) && (1..9).contains(&j);
    let block = HeadHabits::of(&map(|i, j| if within(i, j) { 0.25 } else { 0.0 }), &pair).pattern();
    assert_eq!(block.class, "block");
}

#[test]
fn divergences_by_hand_and_their_plane() {
    let mut divergence = HeadDivergence::new(4);
    let all = Array::new([4, TOKENS, TOKENS], heads().concat()).unwrap();
    divergence.add(&[all], &ten());
    let found = divergence.matrix();
    let pairs = [found[0][1], found[0][2], found[1][2], found[0][3], found[3][0], found[2][2]];
    near("JSD", &pairs, &[0.665096, 0.525597, 0.379287, 0.238287, 0.238287, 0.0]);
    // Four corners of a rectangle lie in a plane, so that scaling finds their distances again.
    let corners = [[0.0, 0.0], [3.0, 0.0], [3.0, 1.0], [0.0, 1.0]];
    let distance = |a: [f64; 2], b: [f64; 2]| ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)).sqrt();
    let all = |points: &[[f64; 2]]| -> Vec<Vec<f64>> {
        points.iter().map(|&a| points.iter().map(|&b| distance(a, b)).collect()).collect()
    };
    let placed = scaled(&all(&corners));
    near("distances in the plane", &all(&placed).concat(), &all(&corners).concat());
}

const WEIGHTS: [[f64; 4]; 4] =
    [[0.1, 0.6, 0.2, 0.1], [0.5, 0.1, 0.3, 0.1], [0.1, 0.4, 0.1, 0.4], [0.2, 0.2, 0.3, 0.3]];

fn dog() -> TreeSentence {
    TreeSentence {
        text: "the dog chased cats".to_owned(),
        spans: vec![0..3, 4..7, 8..14, 15..19],
        heads: vec![2, 3, 0, 3],
        relations: ["det", "nsubj", "root", "obj"].map(str::to_owned).to_vec(),
    }
}

#[test]
fn the_head_of_a_word_is_what_it_looks_at() {
    let weights = WEIGHTS.map(|row| row.to_vec()).to_vec();
    let from = |word| predicted(&weights, word, HeadDirection::FromDependent).map(|head| head + 1);
    assert_eq!([from(0), from(1), from(3)], [Some(2), Some(1), Some(3)]);
    let to = |word| predicted(&weights, word, HeadDirection::FromHead).map(|head| head + 1);
    assert_eq!([to(0), to(1), to(3)], [Some(2), Some(1), Some(3)]);
    let one = vec![vec![1.0]];
    assert_eq!(predicted(&one, 0, HeadDirection::FromHead), None);
}

#[test]
fn heads_and_offsets_are_chosen_on_other_sentences() {
    let right = WEIGHTS.map(|row| row.to_vec()).to_vec();
    // A head that looks at nothing in particular: the first of equal ones is the first word.
    let even = vec![vec![0.25; 4]; 4];
    let mut count = RelationCount::new(2);
    (0..120).for_each(|_| count.add(&dog(), &[even.clone(), right.clone()]));
    let found = count.best(0);
    let of = |name: &str| found.iter().find(|found| found.relation == name).unwrap();
    let names: Vec<&str> = found.iter().map(|found| found.relation.as_str()).collect();
    assert_eq!(names, ["det", "nsubj", "obj", "all"]);
    for (name, accuracy, offset) in [("det", 1.0, 1), ("nsubj", 0.0, 1), ("obj", 1.0, -1)] {
        let found = of(name);
        near(name, &[found.accuracy.value, found.offset_accuracy.value], &[accuracy, 1.0]);
        assert_eq!((found.offset, found.cases, found.beats()), (offset, 60, false), "{name}");
    }
    assert_eq!((of("det").head, of("obj").head), (0, 1));
    near("all", &[of("all").accuracy.value, of("all").offset_accuracy.value], &[2.0 / 3.0, 2.0 / 3.0]);
    // What is measured on the sentences that it was chosen on looks better than it is.
    let mut apart = RelationCount::new(1);
    for i in 0..120 {
        apart.add(&dog(), &[if i % 2 == 0 { right.clone() } else { even.clone() }]);
    }
    let obj = apart.best(0).into_iter().find(|found| found.relation == "obj").unwrap();
    assert!(obj.accuracy.value < 0.5, "{obj:?}");
}

#[test]
fn columns_are_summed_and_rows_averaged() {
    let tokens = [[0.4, 0.3, 0.2, 0.1], [0.2, 0.2, 0.2, 0.4], [0.4, 0.1, 0.1, 0.4], [0.1, 0.2, 0.3, 0.4f32]];
    let found = word_weights(tokens.as_flattened(), 4, &[vec![0], vec![1, 2], vec![3]]);
    near("words", &found.concat(), &[0.4, 0.5, 0.1, 0.3, 0.3, 0.4, 0.1, 0.5, 0.4]);
}

#[test]
fn the_norm_of_a_layer_is_that_of_the_sum() {
    // f_h(x) = (x W_V + b_V) W_O of two tokens and two heads.
    let moved = vec![vec![vec![3.0, 0.0], vec![0.0, -1.0]], vec![vec![1.0, 2.0], vec![-2.0, -2.0]]];
    let map = [0.75, 0.25, 0.5, 0.5, 0.1, 0.9, 0.6, 0.4];
    let found = LayerNorms::of(&map, &moved);
    near("‖f‖", &found.lengths.concat(), &[3.0, 2.236068, 1.0, 2.828427]);
    near("merged", &found.merged.concat(), &[2.252221, 2.022993, 1.615549, 0.360555]);
    let sums = [0.75 * 3.0 + 0.1, 0.25 * 2.236068 + 0.9 * 2.828427];
    near("sums of norms, which are wrong", &sums, &[2.35, 3.104601]);
    let survey = exegete_methods::heads::norms::NormSurvey::new(&HeadGrid { sites: Vec::new(), heads: 2 });
    assert_eq!((survey.texts(), survey.pairs(3, 0).len()), (0, 0));
}

fn tiny() -> Arc<dyn Model> {
    let options = LoadOptions { threads: 1, ..LoadOptions::default() };
    load(&golden::root().join("bert-sequence"), &options).unwrap()
}

/// What heads move, by the projection that was found, adds up to what attention adds to the stream.
#[test]
fn the_projection_that_is_found_is_the_models() {
    let (model, driver) = (tiny(), Driver::default());
    let grid = HeadGrid::of(&*model).unwrap();
    let encoded = Arc::new(model.encoded(&Example::text("a warm and honest film")).unwrap());
    let projection = HeadProjection::of(&*model, &driver, &grid, &encoded).unwrap();
    let job = Question::new(&*model, &driver, Row::new(encoded.clone()), Target::predicted());
    let sites = model.open().unwrap().sites();
    let [values, mixed, contexts] =
        [exegete_core::Role::Values, exegete_core::Role::Mixed, exegete_core::Role::Contexts]
            .map(|role| sites.beside(grid.sites[0], role).unwrap());
    let found = job.read(std::slice::from_ref(&job.row), &[grid.sites[0], values, mixed], &[]).unwrap();
    let shape = sites.get(contexts).unwrap().shape(&encoded);
    let none = job.row.clone().edit(Edit::whole(contexts, Change::Set(Array::zeros(shape))));
    let bias = job.read(&[none], &[mixed], &[]).unwrap();
    let [map, values, mixed] = &found[0].values[..] else { panic!("three values") };
    let tokens = encoded.len();
    let width = values.len() / tokens;
    let moved: Vec<_> = values.data.chunks(width).map(|values| projection.moved(0, values)).collect();
    let mut sum = vec![0.0; width];
    for (j, moved) in moved.iter().enumerate() {
        for (h, vector) in moved.iter().enumerate() {
            let weight = f64::from(map.data[(h * tokens) * tokens + j]);
            sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += weight * x);
        }
    }
    let expected = mixed.plus(&bias[0].values[0], -1.0);
    let expected: Vec<f64> = expected.data[..width].iter().map(|&x| f64::from(x)).collect();
    close("what the first token reads", &sum, &expected, Of::Largest(0.0), 1e-4);
}

/// The formula (Σ_h Σ A_h ⊙ M_h)², whose attribution is A ⊙ M times the sum: the vectors of four tokens stand for the rows
/// of two heads.
#[test]
fn heads_are_scaled_together() {
    let a = [[0.75, 0.25], [0.5, 0.5], [0.1, 0.9], [1.0, 0.0]];
    let model = Formula::new(&a, |tape, x| {
        let m = exegete_engine::Tensor::new(1, 8, vec![1.0, 2.0, 0.0, -1.0, 0.5, 0.0, 1.0, 1.0]);
        let sum = tape.apply(exegete_engine::Op::Linear, [x.clone(), m.into()]);
        tape.apply(exegete_engine::Op::Mul, [sum.clone(), sum])
    });
    let driver = Driver::default();
    let method =
        ConfiguredMethod::new("integrated_gradients", Settings::parse(&["steps=8"]).unwrap()).unwrap();
    let job = Question::new(&model, &driver, Formula::row(4), Target::class(0));
    let job = job.with_baselines_of(method.scores().unwrap());
    let found = method.explain(&job).unwrap().elements();
    near("Attr", &found, &[1.35, 0.9, 0.0, -0.9, 0.09, 0.0, 1.8, 0.0]);
    near("sum", &[found.iter().sum()], &[3.24]);
    let array = Array::new([2, 2, 2], found.iter().map(|&x| x as f32).collect()).unwrap();
    near("importance", &importance(&[array], 2), &[1.35, 1.8]);
    // One head scaled at a time: A_h M_h Σ ∫ 2 (β s_h + s_other) dβ, which does not add up.
    let (first, second) = (0.75, 1.05);
    let apart = [first * (first + 2.0 * second), second * (second + 2.0 * first)];
    near("one head at a time", &apart, &[2.1375, 2.6775]);
    assert!((apart.iter().sum::<f64>() - 3.24).abs() > 1.0);
}

/// On a transformer the entries sum to F(A) − F(0·A), by a run without attention; with one head scaled they do not.
#[test]
fn attributions_of_attention_add_up() {
    let (model, driver) = (tiny(), Driver::default());
    let grid = HeadGrid::of(&*model).unwrap();
    let encoded = Arc::new(model.encoded(&Example::text("a warm and honest film")).unwrap());
    let job = Question::new(&*model, &driver, Row::new(encoded.clone()), Target::class(0));
    let found = attributions(&*model, &driver, &grid, &encoded, job.target.clone()).unwrap();
    for (layer, site) in grid.sites.iter().enumerate() {
        let none = job.row.clone().edit(Edit::whole(*site, Change::Scale(0.0)));
        let ends = job.read(&[job.row.clone(), none], &[], &[]).unwrap();
        let difference = ends[0].value - ends[1].value;
        let sum: f64 = found[layer].data.iter().map(|&x| f64::from(x)).sum();
        let size: f64 = found[layer].data.iter().map(|&x| f64::from(x).abs()).sum();
        assert!(
            size > 0.0 && (sum - difference).abs() <= 0.02 * size,
            "layer {layer}: {sum} {difference} {size}"
        );
        // The method is the same, as one score a token: the sum of its column.
        let settings = Settings::parse(&[format!("layer={layer}")]).unwrap();
        let method = ConfiguredMethod::new("attention_attribution", settings).unwrap();
        let explained = method.explain(&job).unwrap();
        let RawScores::Elements(values, _) = &explained.scores else { panic!("a score a weight") };
        assert_eq!(values.shape, [grid.heads, encoded.len(), encoded.len()]);
        let tokens = explained.tokens(&job).unwrap().unwrap();
        let column =
            |t: usize| values.data.iter().skip(t).step_by(encoded.len()).map(|&x| f64::from(x)).sum();
        close(
            "columns",
            &tokens,
            &(0..encoded.len()).map(column).collect::<Vec<f64>>(),
            Of::Largest(0.0),
            1e-6,
        );
    }
}

#[test]
fn a_tree_takes_each_token_once() {
    let last =
        vec![vec![0.0, 0.9, 0.1, 0.5], vec![0.0, 0.0, 0.2, 0.1], vec![0.1, 0.3, 0.0, 0.0], vec![0.0; 4]];
    let first = vec![
        vec![0.2, 0.0, 0.5, 0.1],
        vec![0.0, 0.0, 1.0, 0.3],
        vec![0.0, 0.8, 0.0, 0.1],
        vec![0.0, 0.0, 0.9, 0.0],
    ];
    let edge = |layer, from, to| TreeEdge { layer, from, to };
    assert_eq!(tree(&[first, last]), [edge(1, 0, 1), edge(1, 0, 3), edge(0, 1, 2)]);
    assert_eq!(tree(&[vec![vec![5.0, -1.0], vec![0.0, 3.0]]]), []);
}

#[test]
fn words_of_a_model_worked_by_hand() {
    let model = toy_attention(Precision::F64).unwrap();
    let driver = Driver::default();
    let place = Place::find(&*model, &PlaceChoice::default()).unwrap();
    let text = |number: u64, text: &str| {
        let encoded = model.encoded(&Example::text(text)).unwrap();
        TestedText { number, parts: place.parts(&encoded), encoded: encoded.into() }
    };
    let texts = [text(0, "a b c d e"), text(1, "a a b")];
    let found = places(&*model, &driver, &place, &texts, 1).unwrap();
    let polarity: Vec<f64> = found[..5].iter().map(|place| place.polarity.unwrap()).collect();
    near("polarity", &polarity, &[0.5, -1.75, -0.25, -0.5, -2.0]);
    let alpha = [0.359118, 0.124336, 0.252168, 0.177070, 0.087308];
    let margin: f64 = polarity.iter().zip(alpha).map(|(p, a)| p * a).sum::<f64>() + 0.2;
    near("margin", &[margin], &[-0.164222]);
    // Scores differ as the logarithms of the weights do.
    let scores: Vec<f64> = found[..5].iter().map(|place| place.attention - found[0].attention).collect();
    near("scores", &scores, &alpha.map(|a: f64| (a / alpha[0]).ln()));
    let words = words(&found, 2);
    let a = words.iter().find(|word| word.word == "a").unwrap();
    assert_eq!((words.len(), a.count), (2, 3));
    near("of one value", &[a.polarity.unwrap(), a.sd_attention, a.sd_polarity.unwrap()], &[0.5, 0.0, 0.0]);
    let other = places(&*model, &driver, &place, &texts, 0).unwrap();
    near("the other class", &[other[1].polarity.unwrap()], &[1.75]);
}
