//! The toy's numbers, worked out by hand, through the driver and the targets.

use exegete_core::{Array, Change, Driver, Edit, Example, Model, Open, Row, Scores, Site, Target, predict};
use exegete_testkit::{Toy, explaining, outputs};

const OUT: Site = Site::named("layer.0.out");
const INNER: Site = Site::named("layer.0.ffn.inner");

fn row(toy: &Toy, text: &str) -> Row {
    Row::new(toy.encode(&Example::text(text)).expect("a text the toy can read"))
}

#[test]
fn values_and_logits() {
    let toy = Toy::default();
    let rows = [row(&toy, "good film")];
    let sites = [
        Site::named("embed.word"),
        Site::named("embed"),
        INNER,
        OUT,
        Site::named("pooled"),
        Site::named("logits"),
    ];
    let found = Driver::default()
        .read_all(&toy, &rows, &explaining(&toy, &Target::class(0), &sites, &[]))
        .unwrap()
        .remove(0)
        .values;
    let expected: [&[f32]; 6] = [
        &[1.0, 0.5, -0.5, -0.75],
        &[1.0, 0.5, -0.5, -0.5],
        &[1.25, 0.0, 1.125, 0.0, 0.0, 0.0],
        &[1.125, 1.625, -0.5, -0.5],
        &[0.625, 1.125],
        &[1.3125, 1.5],
    ];
    for ((site, found), expected) in sites.iter().zip(found).zip(expected) {
        assert_eq!(found.data, expected, "{site}");
    }
}

#[test]
fn gradients_of_a_class_a_margin_and_a_neuron() {
    let toy = Toy::default();
    let rows = [row(&toy, "good film")];
    let check = |target: &str, value: f64, word: [f32; 4], out: [f32; 4]| {
        let target: Target = target.parse().unwrap();
        let wrt = [Site::named("embed.word"), OUT];
        let found = Driver::default().read_all(&toy, &rows, &explaining(&toy, &target, &[], &wrt)).unwrap();
        assert_eq!(found[0].value, value, "{target}");
        assert_eq!(found[0].gradients[0].data, word, "{target} at embed.word");
        assert_eq!(found[0].gradients[1].data, out, "{target} at layer.0.out");
    };
    // ∂z₁/∂h = U₁ = (−1, 2); through the first token's units 0 and 2: e + W₁ (−1, 0, 3) = (−0.5, 5).
    check("predicted", 1.5, [-0.5, 5.0, -1.0, 2.0], [-1.0, 2.0, -1.0, 2.0]);
    check("class:positive", 1.5, [-0.5, 5.0, -1.0, 2.0], [-1.0, 2.0, -1.0, 2.0]);
    // ∂z₀/∂h = (1, 0.5): a gets (1, 0.5, −0.5), so e gets (1 + 0.75, 0.5 − 0.5).
    check("class:0", 1.3125, [1.75, 0.0, 1.0, 0.5], [1.0, 0.5, 1.0, 0.5]);
    check("margin:positive,negative", 0.1875, [-2.25, 5.0, -2.0, 1.5], [-2.0, 1.5, -2.0, 1.5]);
    check("unit:layer.0.ffn.inner[0,2]", 1.125, [0.5, 1.0, 0.0, 0.0], [0.0; 4]);
    check("unit:layer.0.ffn.inner[*,0]", 1.25, [1.0, 0.0, 0.0, 0.0], [0.0; 4]);
}

#[test]
fn edits_and_parameters() {
    let toy = Toy::default();
    let driver = Driver::default();
    let silent = row(&toy, "good film").edit(Edit::whole(INNER, Change::Zero));
    // Without the inner units h = e, so s = (0.5, 0).
    assert_eq!(outputs(&driver, &toy, &[silent])[0].data, [0.625, -0.625]);
    let moved = toy.with_params(vec![("head.bias".into(), Array::zeros([2]))]).unwrap();
    let logits = |model: &dyn Model| outputs(&driver, model, &[row(&toy, "good film")])[0].data.clone();
    assert_eq!(logits(&*moved), [1.1875, 1.625]);
    assert_eq!(logits(&toy), [1.3125, 1.5], "the original is untouched");
    assert!(toy.with_params(vec![("nothing".into(), Array::zeros([2]))]).is_err());
}

#[test]
fn predictions_come_in_order() {
    let toy = Toy::default();
    let mut driver = Driver::default();
    driver.batch_tokens = 2;
    let texts = ["good film", "bad", "not good film", "unheard-of"];
    let examples: Vec<Example> = texts.iter().map(|text| Example::text(*text)).collect();
    let together = predict(&driver, &toy, &examples).unwrap();
    assert_eq!(together.len(), 4);
    assert_eq!(driver.spent().forward_rows, 4);
    for (example, prediction) in examples.iter().zip(&together) {
        assert_eq!(toy.predict(std::slice::from_ref(example)).unwrap()[0], *prediction);
    }
    let Scores::Classes { scores: classes, .. } = &together[0].scores else { panic!("classes") };
    assert_eq!((classes[1].label.as_str(), classes[1].logit), ("positive", Some(1.5)));
    assert!((classes[1].prob - 1.0 / (1.0 + (-0.1875f64).exp())).abs() < 1e-12);
    assert!(predict(&driver, &toy, &[Example::text(" ")]).is_err());
}
