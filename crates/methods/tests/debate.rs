//! The experiments about attention on a model whose every number was worked out by hand, and what the faults that they could
//! have would give.

use exegete_core::{Driver, Example, Explaining, Model, Row, Rules, Scale, Target};
use exegete_methods::debate::adversary::{Search, search_from};
use exegete_methods::debate::correlation::{gradients, tau};
use exegete_methods::debate::distance::{jensen_shannon, softmax, total_variation};
use exegete_methods::debate::look::{SeenText, linear_heads, look};
use exegete_methods::debate::permutation::median_tvd;
use exegete_methods::debate::share::{predicted_slopes, removed};
use exegete_methods::debate::{
    Experiment, Imposed, LinearHead, Measuring, Place, PlaceChoice, Reweighed, RunHead, TestedText,
    TextRecord, WordSpread, concentration, erase, measure,
};
use exegete_models::{LoadOptions, Precision, load};
use exegete_testkit::{Comparison, Of, check, close, golden, toy_attention};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

const ALPHA: [f64; 5] = [0.359118, 0.124336, 0.252168, 0.177070, 0.087308];
const OWN: [f64; 2] = [0.540963, 0.459037];
const GRADIENTS: [f64; 5] = [0.044588, 0.054032, 0.015655, 0.021985, 0.043361];

struct Bench {
    model: Arc<dyn Model>,
    driver: Driver,
    place: Place,
}

impl Bench {
    fn new() -> Self {
        let model = toy_attention(Precision::F64).expect("a model");
        let place = Place::find(&*model, &PlaceChoice::default()).expect("attention");
        Self { model, driver: Driver::default(), place }
    }

    fn text(&self, text: &str) -> TestedText {
        let encoded = self.model.encoded(&Example::text(text)).expect("a text");
        let parts = self.place.parts(&encoded);
        TestedText { number: 0, encoded: encoded.into(), parts }
    }

    fn look(&self, text: &str) -> SeenText {
        let mut looks =
            look(&*self.model, &self.driver, &self.place, &[self.text(text)], true).expect("a run");
        looks.swap_remove(0)
    }

    fn head(&self, look: &SeenText) -> LinearHead {
        let looks = std::slice::from_ref(look);
        let heads = linear_heads(&*self.model, &self.driver, &self.place, looks).expect("two runs");
        heads.into_iter().next().flatten().expect("logits that are linear in the weights")
    }

    /// The same text with its weights edited in the model.
    fn run<'a>(&'a self, look: &'a SeenText) -> RunHead<'a> {
        let SeenText { text: TestedText { encoded, parts, .. }, spread, .. } = look;
        let (model, driver, place) = (&*self.model, &self.driver, &self.place);
        RunHead { model, driver, place, encoded: encoded.clone(), parts, spread }
    }

    fn measured(&self, experiments: &[Experiment], text: &str) -> TextRecord {
        let (model, driver, place) = (&*self.model, &self.driver, &self.place);
        let asked = Measuring { model, driver, place, experiments, seed: 0, threads: 2 };
        measure(&asked, &[self.text(text)]).expect("a record").swap_remove(0)
    }

    /// g of each word; with the weights free to move where `held` is false, which is wrong.
    fn gradients(&self, held: bool) -> Vec<f64> {
        if held {
            return self.measured(&[Experiment::Correlation], "a b c d e").gradient.expect("gradients");
        }
        let TestedText { encoded, parts, .. } = self.text("a b c d e");
        let open = self.model.open().expect("an inside");
        let words = [open.sites().words().expect("words")];
        let target = Target { scale: Some(Scale::Prob), ..Target::predicted() };
        let card = self.model.card();
        let (values, wrt, rules) = (&words[..], &words[..], Rules::Gradient);
        let readout = Explaining { open, card, target: &target, values, wrt, rules };
        let found = self.driver.read_one(&*self.model, &Row::new(encoded), &readout).expect("a run");
        gradients(&found.values[0], &found.gradients[0], &parts)
    }
}

fn near(what: &str, found: &[f64], expected: &[f64]) {
    close(what, found, expected, Of::Size(1.0), 1e-5);
}

/// What a planted fault gives, which is a number and another one.
fn apart(what: &str, found: &[f64], expected: &[f64]) {
    let mut comparison = Comparison::default();
    comparison.compare(what, found, expected, Of::Size(1.0));
    comparison.assert_beyond(1e-5);
}

/// Numbers that are none reach every experiment's answer, and nothing is near them.
#[test]
fn a_planted_nan_is_noticed() {
    let bench = Bench::new();
    let look = bench.look("a b c d e");
    let mut head = bench.head(&look);
    head.slopes[2][1] = f64::NAN;
    let outputs = head.outputs(&[Imposed::Permuted((0..5).collect())]).expect("outputs").remove(0);
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let median = median_tvd(&head, &OWN, 5, 120, &mut random).unwrap_or(f64::NAN);
    for (what, found, expected) in [
        ("p", outputs, &OWN[..]),
        ("the farthest order", vec![farthest(&head)], &[0.197017]),
        ("all 120", vec![median], &[0.107158]),
        ("JSD", vec![jensen_shannon(&[f64::NAN, 0.5], &OWN)], &[0.029142]),
    ] {
        let why = check(what, &found[..], expected, Of::Size(1.0), f64::MAX).unwrap_err();
        assert!(why.contains("NaN"), "{why}");
    }
}

#[test]
fn weights_and_answer_are_those_of_the_words_alone() {
    let look = Bench::new().look("a b c d e");
    near("α", &look.alpha, &ALPHA);
    near("p", &softmax(&look.logits), &OWN);
    // With the markers among what is weighed, which is wrong, the answer would be another.
    let states = [[2.0, 2.0], [1.0, -1.0], [-0.5, -1.0], [0.5, -1.0], [-1.0, 1.0], [-2.0, 1.0], [-2.0, 2.0]];
    let scores: Vec<f64> = states.iter().map(|[x, y]| (x + 0.5 * y) / 2f64.sqrt()).collect();
    let slopes = states.iter().map(|[x, y]| vec![0.0, 1.5 * x + y]).collect();
    let marked = LinearHead { alpha: softmax(&scores), slopes, bias: vec![0.0, 0.2] };
    let wrong = softmax(&marked.logits(&marked.alpha));
    near("markers left in", &wrong, &[0.035329, 0.964671]);
    apart("markers left in", &wrong, &OWN);
}

#[test]
fn attention_is_held_fixed_where_gradients_are_taken() {
    let bench = Bench::new();
    let found = bench.measured(&[Experiment::Correlation], "a b c d e");
    near("g", &bench.gradients(true), &GRADIENTS);
    let by_gradient = found.tau_gradient.expect("τ");
    near("τ_g", &[by_gradient.tau, by_gradient.p], &[-0.2, 0.816667]);
    // The fault: weights that move with the word vectors.
    let wrong = bench.gradients(false);
    near("not held fixed", &wrong, &[0.071836, 0.023777, 0.015655, 0.019874, 0.005745]);
    apart("not held fixed", &wrong, &GRADIENTS);
    near("its τ", &[tau(&ALPHA, &wrong).expect("τ").tau], &[0.4]);
}

#[test]
fn leaving_words_out_runs_everything_again() {
    let bench = Bench::new();
    let found = bench.measured(&[Experiment::Correlation, Experiment::Concentration], "a b c d e");
    let effects = found.leave_one_out.expect("ℓ");
    near("ℓ", &effects, &[0.115706, 0.049099, 0.009548, 0.007263, 0.039027]);
    let by_effect = found.tau_leave_one_out.expect("τ");
    near("τ_loo", &[by_effect.tau, by_effect.p], &[0.2, 0.816667]);
    assert_eq!(found.words_90, Some(4));
    assert_eq!(concentration::words_90(&ALPHA), 4);
    let decisive = found.decisive.expect("a word above .1");
    assert_eq!(decisive.index, 0);
    near("decisive", &[decisive.effect, decisive.ratio], &[0.115706, 5.0 * 0.359118]);
    let shorter = bench.measured(&[Experiment::Correlation], "a b c d");
    near("α of four", &shorter.alpha, &[0.393471, 0.136230, 0.276291, 0.194008]);
    near("ℓ of four", &shorter.leave_one_out.expect("ℓ"), &[0.112708, 0.060539, 0.004033, 0.017582]);
}

#[test]
fn orders_of_weights() {
    let bench = Bench::new();
    let look = bench.look("a b c d e");
    let head = bench.head(&look);
    let mut random = ChaCha8Rng::seed_from_u64(0);
    near("all 120", &[median_tvd(&head, &OWN, 5, 120, &mut random).expect("a median")], &[0.107158]);
    let some = bench.measured(&[Experiment::Permutation], "a b c d");
    near("all 24", &[some.median_tvd.expect("a median")], &[0.065142]);
    near("the farthest order", &[farthest(&head)], &[0.197017]);
}

/// The largest distance of all: the heaviest weights on the words that speak for yes. NaN where one is.
fn farthest(head: &LinearHead) -> f64 {
    let most = |order: Vec<usize>| {
        total_variation(&head.outputs(&[Imposed::Permuted(order)]).expect("outputs")[0], &OWN).abs()
    };
    (0..120).map(|k| most(nth_order(k))).max_by(f64::total_cmp).expect("orders")
}

/// The k-th of all orders of five.
fn nth_order(mut k: usize) -> Vec<usize> {
    let mut left: Vec<usize> = (0..5).collect();
    (1..=5)
        .rev()
        .map(|n| {
            let at = k % n;
            k /= n;
            left.remove(at)
        })
        .collect()
}

#[test]
fn the_adversary_takes_the_steps_of_the_paper() {
    let bench = Bench::new();
    let look = bench.look("a b c d e");
    let start = vec![0.0, 0.0, 0.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 2.0];
    let head = bench.head(&look);
    let first: Vec<Vec<f64>> = start.chunks(5).map(softmax).collect();
    let outputs = head.outputs(&[0, 1].map(|i| Imposed::Replaced(first[i].clone()))).expect("outputs");
    let own = softmax(&look.logits);
    near("TVD", &[0, 1].map(|i| total_variation(&outputs[i], &own)), &[0.104693, 0.187606]);
    near("JSD", &[0, 1].map(|i| jensen_shannon(&first[i], &look.alpha)), &[0.029142, 0.162420]);
    let settings = Search { count: 2, steps: 3, ..Search::published(false) };
    let run = bench.run(&look);
    for head in [&head as &dyn Reweighed, &run] {
        let mut losses = Vec::new();
        let tell = &mut |loss| losses.push(loss);
        let found = search_from(head, &look.alpha, &own, &settings, start.clone(), tell).expect("a search");
        close("L", &losses, &[135.901227, 133.932313, 131.955713, 129.971661], Of::Size(1.0), 1e-4);
        assert_eq!((found.jsd, found.alpha), (0.0, None), "three steps reach no admissible weights");
    }
    let found = bench.measured(&[Experiment::Adversary], "a b c d e").adversary.expect("a search");
    let alpha = found.alpha.expect("admissible weights");
    let p = &head.outputs(&[Imposed::Replaced(alpha.clone())]).expect("outputs")[0];
    assert!(found.jsd > 0.1 && total_variation(p, &own) <= 0.01 + 1e-9, "{}", found.jsd);
    near("its JSD", &[jensen_shannon(&alpha, &look.alpha)], &[found.jsd]);
}

#[test]
fn erasing_divides_what_is_left_by_its_sum() {
    let bench = Bench::new();
    let look = bench.look("a b c d e");
    let own = softmax(&look.logits);
    let (head, run) = (bench.head(&look), bench.run(&look));
    near(
        "∂p/∂α",
        &predicted_slopes(&own, &look.slopes),
        &[-0.124161, 0.434563, 0.062080, 0.124161, 0.496644],
    );
    for head in [&head as &dyn Reweighed, &run] {
        let pair = erase::pair_of(head, &look.alpha, &own, [0, 1]).expect("a pair");
        near("JS", &[pair.top.js, pair.random.js], &[0.006985, 0.001207]);
        near("Δα", &[pair.top.alpha - pair.random.alpha], &[0.234782]);
        assert_eq!([pair.top.flip, pair.random.flip], [false, true]);
        let erased =
            |gone: &[usize]| head.outputs(&[Imposed::Erased(gone.to_vec())]).expect("outputs").remove(0);
        near("without a", &erased(&[0]), &[0.656670, 0.343330]);
        near("without b", &erased(&[1]), &[0.491864, 0.508136]);
        near("without e", &erased(&[4]), &[0.501936, 0.498064]);
        near("without any", &erased(&[0, 1, 2, 3, 4]), &[0.450166, 0.549834]);
        assert_eq!(shares(head, &look, &own), [Some(1.0), Some(0.4), Some(0.2)]);
    }
    // The fault: what is left keeps its weight.
    let wrong = shares(&Unnormalised(head), &look, &own);
    assert_eq!((wrong[0], wrong[1]), (Some(0.8), Some(0.2)));
}

/// The shares of attention, gradient and product.
fn shares(head: &dyn Reweighed, look: &SeenText, own: &[f64]) -> [Option<f64>; 3] {
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let [_, rest @ ..] = removed(head, &look.alpha, own, &look.slopes, &mut random).expect("shares");
    rest
}

/// Erasing without dividing by the rest.
struct Unnormalised(LinearHead);

impl Reweighed for Unnormalised {
    fn outputs(&self, imposed: &[Imposed]) -> exegete_core::Result<Vec<Vec<f64>>> {
        let without = |imposed: &Imposed| match imposed {
            Imposed::Erased(gone) => {
                let kept = |(i, &alpha): (usize, &f64)| if gone.contains(&i) { 0.0 } else { alpha };
                Imposed::Replaced(self.0.alpha.iter().enumerate().map(kept).collect())
            }
            other => other.clone(),
        };
        let imposed: Vec<Imposed> = imposed.iter().map(without).collect();
        // Weights that do not sum to one are taken as they are.
        let words = (0..5).map(|w| vec![w]).collect();
        let plain = WordSpread { rows: vec![vec![0.2; 5]], words };
        let alphas = imposed.iter().map(|imposed| plain.with(imposed).concat());
        Ok(alphas.map(|alpha| softmax(&self.0.logits(&alpha))).collect())
    }

    fn pull(
        &self,
        alphas: &[f64],
        outputs: &mut [f64],
        slopes: &mut [f64],
        push: exegete_methods::debate::head::Push<'_>,
    ) -> exegete_core::Result<()> {
        self.0.pull(alphas, outputs, slopes, push)
    }
}

#[test]
fn the_same_seed_and_text_give_the_same_whatever_runs_beside() {
    let bench = Bench::new();
    let text = |(number, text): (u64, &str)| TestedText { number, ..bench.text(text) };
    let texts: Vec<TestedText> = (0..).zip(["a b c d e", "e d c b a a b", "c c a b d e"]).map(text).collect();
    let all = [
        Experiment::Correlation,
        Experiment::Permutation,
        Experiment::Adversary,
        Experiment::Concentration,
        Experiment::Erase,
        Experiment::Share,
    ];
    let (model, driver, place) = (&*bench.model, &bench.driver, &bench.place);
    let asked = |threads, experiments| Measuring { model, driver, place, experiments, seed: 7, threads };
    let together = measure(&asked(3, &all), &texts).expect("records");
    let apart = (0..3).map(|i| measure(&asked(1, &all), &texts[i..=i]).expect("a record").remove(0));
    assert_eq!(together, apart.collect::<Vec<_>>());
    let alone = measure(&asked(1, &all[5..]), &texts).expect("records");
    assert!(
        together.iter().zip(&alone).all(|(a, b)| a.share == b.share),
        "draws do not depend on what else runs"
    );
}

/// A transformer and a pair model, which are run and not worked out: weights in their own order change nothing, and slopes
/// are those of differences.
#[test]
fn weights_that_are_run_are_those_that_were_asked_for() {
    let pair = Example::pair("the film is good", "a bad plot");
    for (folder, example) in [
        ("bert-sequence", Example::text("A warm and honest film.")),
        ("../small/pair-gru-dot", pair.clone()),
        ("../small/pair-lstm-additive", pair),
    ] {
        let options = LoadOptions { precision: Precision::F64, threads: 1 };
        let model = load(&golden::root().join(folder), &options).expect("a model");
        let place = Place::find(&*model, &PlaceChoice::default()).expect("attention");
        let bench = Bench { model, driver: Driver::default(), place };
        let encoded = bench.model.encoded(&example).expect("a text");
        let parts = bench.place.parts(&encoded);
        let text = TestedText { number: 0, encoded: encoded.into(), parts };
        let mut seen = look(&*bench.model, &bench.driver, &bench.place, &[text], true).expect("a run");
        let seen = seen.swap_remove(0);
        let (own, words) = (softmax(&seen.logits), seen.alpha.len());
        let run = bench.run(&seen);
        let same = Imposed::Permuted((0..words).collect());
        let other = Imposed::Permuted((0..words).rev().collect());
        let outputs = run.outputs(&[same, other]).expect("outputs");
        close(folder, &outputs[0], &own, Of::Size(1.0), 1e-6);
        assert!(total_variation(&outputs[1], &own) > 1e-5, "{folder}: another order changes nothing");
        let push = |_: &[f64], slopes: &mut [f64]| {
            slopes.fill(0.0);
            slopes[0] = 1.0;
            true
        };
        let alphas: Vec<f64> =
            (0..words).map(|w| (w + 1) as f64 / (words * (words + 1) / 2) as f64).collect();
        let (mut p, mut slopes) = (vec![0.0; own.len()], vec![0.0; words]);
        run.pull(&alphas, &mut p, &mut slopes, &push).expect("slopes");
        let step = 1e-3;
        let moved = |w: usize, by: f64| {
            let mut alphas = alphas.clone();
            alphas[w] += by;
            run.outputs(&[Imposed::Replaced(alphas)]).expect("outputs")[0][0]
        };
        let expected: Vec<f64> =
            (0..words).map(|w| (moved(w, step) - moved(w, -step)) / (2.0 * step)).collect();
        close(folder, &slopes, &expected, Of::Largest(1e-3), 2e-2);
    }
}
