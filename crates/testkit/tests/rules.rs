//! Rules beyond the gradient on the nets whose answers are published or worked out by hand.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::{Array, LrpRule, Open, Pass, Plan, Record, Row, Rules, Seed, Site};
use exegete_testkit::{Dense, Net, Of, check, close};

const RESCALE: Rules = Rules::DeepLift { reveal_cancel: false };
const REVEAL: Rules = Rules::DeepLift { reveal_cancel: true };

fn run<'a>(net: &'a Net, rows: &[Row], record: Record) -> Box<dyn Pass + 'a> {
    let sites = net.sites().iter().map(|info| info.site).collect::<Vec<Site>>();
    net.forward(rows, &Plan { record, ..Plan::keep(sites) }).unwrap()
}

fn seed(pass: &dyn Pass) -> [Seed; 1] {
    let mut cotangent = Array::zeros(pass.logits()[0].shape.clone());
    cotangent.data[0] = 1.0;
    [Seed { row: 0, site: Site::named("logits"), cotangent }]
}

/// Shares of the first output's difference to that of zeros, at a site.
fn lifted(net: &Net, x: &[f32], site: Site, rules: Rules) -> Vec<f32> {
    let pass = run(net, &[Net::row(x), Net::row(&vec![0.0; x.len()])], Record::Paired);
    let m = pass.backward(&seed(&*pass), &[site], rules).unwrap()[0][0].clone();
    let [x, x0] = [0, 1].map(|row| pass.value(site, row).unwrap());
    (0..m.len()).map(|i| m.data[i] * (x.data[i] - x0.data[i])).collect()
}

/// Relevance at the inputs, and what was booked.
fn relevance(net: &Net, x: &[f32], lrp: LrpRule) -> (Vec<f32>, f64) {
    let pass = run(net, &[Net::row(x)], Record::Lowered);
    let (seed, wrt) = (seed(&*pass), [Site::named("embed.word")]);
    let m = pass.backward(&seed, &wrt, Rules::Lrp(lrp)).unwrap()[0][0].clone();
    let booked = pass.booked(&seed, &wrt, Rules::Lrp(lrp)).unwrap()[0];
    let value = pass.value(Site::named("embed.word"), 0).unwrap();
    (m.data.iter().zip(&value.data).map(|(m, x)| m * x).collect(), booked)
}

/// A share or a relevance that is no number is seen, whatever the rule; an input that is none gives no output to share.
#[test]
fn a_planted_nan_is_noticed() {
    let word = Site::named("embed.word");
    let spoilt = |mut found: Vec<f32>| {
        found[0] = f32::NAN;
        assert!(check("shares", &found.clone(), &found, Of::Size(1.0), f64::MAX).is_err(), "{found:?}");
    };
    for rules in [RESCALE, REVEAL] {
        spoilt(lifted(&Net::rescale(), &[1.0, 2.0], word, rules));
    }
    for lrp in [LrpRule::Epsilon(0.0), LrpRule::Gamma(0.5), LrpRule::AlphaBeta(1.0), LrpRule::ZPlus] {
        spoilt(relevance(&Net::relevance(), &[1.0, 2.0, 3.0], lrp).0);
    }
    let net = Net::rescale();
    assert!(net.forward(&[Net::row(&[f32::NAN, 2.0])], &Plan::keep([word])).is_err());
}

#[test]
fn deep_lift_gives_the_published_shares() {
    let check = |net: &Net, x: &[f32], expected: &[f32]| {
        let found = lifted(net, x, Site::named("embed.word"), RESCALE);
        close("shares", &found, expected, Of::Size(1.0), 1e-6);
    };
    check(&Net::rescale(), &[1.0, 2.0], &[2.0, 1.0]);
    // Two nets of one function, of which DeepLIFT tells which is which.
    let [first, second] = Net::invariance();
    check(&first, &[3.0, 1.0], &[1.5, -0.5]);
    check(&second, &[3.0, 1.0], &[2.0, -1.0]);
    check(&Net::saturating::<2>(), &[1.0, 1.0], &[0.5, 0.5]);
    for x in [2.0, 3.0, 7.0] {
        check(&Net::saturating::<1>(), &[x], &[1.0]);
    }
    check(&Net::sigmoid(), &[1.0, 1.0], &[0.190_398_54, 0.190_398_54]);
    check(&Net::linear([2.0, -3.0]), &[5.0, 7.0], &[10.0, -21.0]);
    let captum = Net::captum();
    check(&captum, &[0.0, 100.0, 0.0], &[0.0, 390.0, 0.0]);
    let at = |site| lifted(&captum, &[0.0, 100.0, 0.0], Site::named(site), RESCALE);
    assert_eq!(
        (at("layer.1.attn.out"), at("layer.1.out")),
        (vec![90.0, 100.0, 100.0, 100.0], vec![90.0, 100.0, 100.0, 100.0])
    );
}

/// min(x₁, x₂) = x₁ − relu(x₁ − x₂): rescale gives all to the smaller, RevealCancel sees that both were needed.
#[test]
fn reveal_cancel_sees_both_sides_of_a_minimum() {
    let minimum = Net::new(vec![Dense::new(&[[1.0, 0.0], [1.0, -1.0]]).relu(), Dense::new(&[[1.0, -1.0]])]);
    assert_eq!(lifted(&minimum, &[1.0, 2.0], Site::named("embed.word"), RESCALE), [1.0, 0.0]);
    assert_eq!(lifted(&minimum, &[1.0, 2.0], Site::named("embed.word"), REVEAL), [0.5, 0.5]);
    assert_eq!(lifted(&minimum, &[2.0, 1.0], Site::named("embed.word"), REVEAL), [0.5, 0.5]);
    // At the layer itself, its unit's whole share.
    let inside = lifted(&minimum, &[2.0, 1.0], Site::named("layer.0.attn.out"), REVEAL);
    assert_eq!(inside, lifted(&minimum, &[2.0, 1.0], Site::named("layer.0.out"), REVEAL));
}

#[test]
fn relevance_is_the_published_one_and_biases_are_booked() {
    for lrp in [
        LrpRule::Epsilon(0.0),
        LrpRule::Epsilon(1e-9),
        LrpRule::Gamma(0.5),
        LrpRule::AlphaBeta(1.0),
        LrpRule::ZPlus,
    ] {
        let (found, booked) = relevance(&Net::relevance(), &[1.0, 2.0, 3.0], lrp);
        close(&format!("{lrp:?}"), &found, &[18.0, 36.0, 54.0], Of::Size(1.0), 1e-4);
        close(&format!("{lrp:?}, booked"), &[booked], &[0.0], Of::Size(1.0), 1e-4);
    }
    // With α = 2 every layer doubles what is above zero, and there is nothing below to take it back.
    let (found, booked) = relevance(&Net::relevance(), &[1.0, 2.0, 3.0], LrpRule::AlphaBeta(2.0));
    assert_eq!((found, booked), (vec![72.0, 144.0, 216.0], 108.0 - 432.0));
    // A bias stands in the sum that is shared, so that its share goes to nobody's input.
    for net in Net::invariance() {
        assert_eq!(relevance(&net, &[3.0, 1.0], LrpRule::Epsilon(0.0)), (vec![3.0, -1.0], -1.0));
    }
    let captum = relevance(&Net::captum(), &[20.0, 50.0, 30.0], LrpRule::Epsilon(0.0));
    assert_eq!(captum, (vec![80.0, 200.0, 120.0], -10.0 + 3.0 - 1.0));
    // The stabiliser takes its share of every layer.
    let (found, booked) = relevance(&Net::linear([1.0, 1.0]), &[1.0, 2.0], LrpRule::Epsilon(1.0));
    assert_eq!((found, booked), (vec![0.75, 1.5], 0.75));
}

#[test]
fn guided_rules_follow_their_definitions() {
    // −relu(x₁) + relu(x₂) + 2·relu(x₃) at (1, −1, 2): a rectifier each.
    let net = Net::new(vec![Dense::identity::<3>().relu(), Dense::new(&[[-1.0, 1.0, 2.0]])]);
    let pulled = |rules| {
        let pass = run(&net, &[Net::row(&[1.0, -1.0, 2.0])], Record::Lowered);
        pass.backward(&seed(&*pass), &[Site::named("embed.word")], rules).unwrap()[0][0].data.clone()
    };
    assert_eq!(pulled(Rules::Gradient), [-1.0, 0.0, 2.0]);
    assert_eq!(pulled(Rules::GuidedBackprop), [0.0, 0.0, 2.0]);
    assert_eq!(pulled(Rules::Deconvolution), [0.0, 1.0, 2.0]);
}
