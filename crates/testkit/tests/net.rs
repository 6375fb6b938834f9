//! The nets compute what they say, and go through edits, starts, batches and gradients like any model.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::{Array, Change, Driver, Edit, Open, Plan, Row, Site, Target};
use exegete_testkit::Net;

fn outputs(net: &Net, rows: &[Row]) -> Vec<Vec<f64>> {
    exegete_testkit::outputs(&Driver::default(), net, rows).into_iter().map(|logits| logits.data).collect()
}

fn gradients(net: &Net, rows: &[Row], site: Site) -> Vec<Vec<f32>> {
    let found = exegete_testkit::slopes(&Driver::default(), net, rows, &Target::class(0), site);
    found.into_iter().map(|array| array.data).collect()
}

#[test]
fn outputs_are_those_of_the_formulas() {
    let check = |net: Net, x: &[f32], expected: &[f64]| {
        assert_eq!(outputs(&net, &[Net::row(x)]), [expected], "{x:?}");
    };
    check(Net::captum(), &[20.0, 50.0, 30.0], &[90.0 + 303.0 - 1.0, 90.0 + 303.0 + 1.0]);
    check(Net::captum(), &[0.0, 100.0, 0.0], &[392.0, 394.0]);
    for net in Net::invariance() {
        check(net.clone(), &[3.0, 1.0], &[1.0]);
        check(net.clone(), &[1.5, 0.25], &[0.25]);
        check(net, &[0.0, 0.0], &[0.0]);
    }
    check(Net::rescale(), &[1.0, 2.0], &[3.0]);
    check(Net::relevance(), &[1.0, 2.0, 3.0], &[108.0]);
    check(Net::saturating::<2>(), &[1.0, 1.0], &[1.0]);
    check(Net::saturating::<2>(), &[0.25, 0.5], &[0.75]);
    check(Net::linear([1.0, -2.0]), &[0.5, 0.25], &[0.0]);
    let sigmoid = outputs(&Net::sigmoid(), &[Net::row(&[1.0, 1.0])])[0][0];
    assert!((sigmoid - 0.880_797_077_977_882_4).abs() < 1e-15, "{sigmoid}");
}

#[test]
fn gradients_saturate() {
    let rows = [1.0, 2.0, 3.0, 0.0, -1.0, 7.0].map(|x| Net::row(&[x]));
    let found = gradients(&Net::saturating::<1>(), &rows, Site::named("embed.word"));
    assert_eq!(found.concat(), [0.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
    assert_eq!(
        gradients(&Net::saturating::<2>(), &[Net::row(&[1.0, 1.0])], Site::named("embed.word")),
        [[0.0, 0.0]]
    );
    // Of Captum's model, at its layers.
    let row = [Net::row(&[0.0, 100.0, 0.0])];
    assert_eq!(gradients(&Net::captum(), &row, Site::named("embed.word")), [[4.0; 3]]);
    assert_eq!(gradients(&Net::captum(), &row, Site::named("layer.1.attn.out")), [[1.0; 4]]);
    let row = [Net::row(&[3.0, 4.0, 0.0])];
    assert_eq!(gradients(&Net::captum(), &row, Site::named("layer.1.attn.out")), [[0.0, 1.0, 1.0, 1.0]]);
}

#[test]
fn edits_starts_and_texts_are_those_of_any_model() {
    let net = Net::captum();
    let row = Net::row(&[20.0, 50.0, 30.0]);
    let plain = outputs(&net, std::slice::from_ref(&row)).remove(0);
    // Setting the numbers over others, starting from them, and writing them as text are the same.
    let values = Array::new([3, 1], vec![20.0, 50.0, 30.0]).unwrap();
    let set = Net::row(&[0.0; 3]).edit(Edit::whole(Site::named("embed.word"), Change::Set(values.clone())));
    assert_eq!(outputs(&net, &[set, row.clone()]), [plain.clone(), plain.clone()]);
    for (site, value) in [
        (Site::named("embed.word"), values.clone()),
        (Site::named("embed"), values),
        (Site::named("layer.0.out"), Array::new([3], vec![20.0, 50.0, 30.0]).unwrap()),
        (Site::named("layer.1.out"), Array::new([4], vec![90.0, 101.0, 101.0, 101.0]).unwrap()),
    ] {
        let started = net
            .forward(&[Net::row(&[7.0; 3]).starting_with(value)], &Plan::default().starting_at(site))
            .unwrap();
        assert_eq!(started.logits()[0].data, plain, "from {site}");
    }
    let encoded = net.encode(&Net::example(&[20.0, 50.0, 30.0])).unwrap();
    assert_eq!(encoded.slice(encoded.tokens[1].span.unwrap()), "50");
    assert_eq!(outputs(&net, &[Row::new(encoded)]), [plain]);
    assert!(net.forward(&[Net::row(&[1.0])], &Plan::default()).is_err(), "one number of three");
    assert!(net.forward(&[], &Plan::default()).unwrap().logits().is_empty());
    let view = net.with_params(vec![("2.bias".into(), Array::zeros([2]))]).unwrap();
    assert_eq!(exegete_testkit::outputs(&Driver::default(), &*view, &[row])[0].data, [393.0, 393.0]);
}
