//! Restricted self-attention in a transformer: its weights, and derivatives that are exactly zero.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use exegete_core::{
    Array, Change, Driver, Edit, Encoded, Field, Model, Pick, Plan, Record, Row, Rules, Seed, Site, Span,
    Token,
};
use exegete_methods::deceive::{Impermissible, Restricted, restricted_sites, restrictions};
use exegete_models::{LoadOptions, load};
use exegete_testkit::{Of, check, close, golden};
use std::sync::Arc;

/// Which of [CLS] a b c [SEP] is impermissible.
const MARKED: [bool; 5] = [false, false, true, false, false];

fn model() -> Arc<dyn Model> {
    load(&golden::root().join("bert-sequence"), &LoadOptions::default()).unwrap()
}

fn encoded() -> Encoded {
    let token = |at: usize| {
        let word = (1..4).contains(&at).then(|| Span { field: 0, start: 2 * at - 2, end: 2 * at - 1 });
        Token {
            id: 5 + at as u32,
            type_id: 0,
            piece: String::new(),
            span: word,
            special: word.is_none(),
            weight: None,
        }
    };
    let fields = vec![Field { name: "text".into(), text: "a b c".into() }];
    Encoded { fields, tokens: (0..5).map(token).collect(), truncated: false }
}

fn words() -> Arc<Impermissible> {
    let mut words = Impermissible::default();
    words.add(&encoded().fields, vec![Span { field: 0, start: 2, end: 3 }]).unwrap();
    words.into()
}

fn site(name: &str) -> Site {
    name.parse().unwrap()
}

/// The same blocks taken out behind the softmax: the planted fault.
fn behind_the_softmax(edits: &[Edit]) -> Vec<Edit> {
    let moved = |edit: &Edit| Edit {
        site: site(&edit.site.name().replace("scores", "probs")),
        at: edit.at.clone(),
        change: Change::Zero,
    };
    edits.iter().map(moved).collect()
}

#[test]
fn weights_are_masked_before_the_softmax() {
    let model = model();
    let given = Array { shape: vec![1, 1, 5], data: vec![0.0, 1.0, 2.0, 0.5, -1.0] };
    let at = vec![Pick::Only(vec![0]), Pick::Only(vec![1]), Pick::All];
    let given = Edit { site: site("layer.0.attn.scores"), at, change: Change::Set(given) };
    let weights = |edits: Vec<Edit>| {
        let mut row = Row::new(encoded()).edit(given.clone());
        row.edits.extend(edits);
        let probs = site("layer.0.attn.probs");
        let pass = model.open().unwrap().forward(&[row], &Plan::keep([probs])).unwrap();
        pass.value(probs, 0).unwrap().data[5..10].to_vec()
    };
    let edits = restrictions(&restricted_sites(&*model).unwrap(), &MARKED);
    let expected = [0.0, 0.574097, 0.0, 0.348207, 0.077696f32];
    close("weights", &weights(edits.clone()), &expected, Of::Size(1.0), 1e-6);
    let wrong = weights(behind_the_softmax(&edits));
    close("masked too late", &wrong, &[0.0, 0.207124, 0.0, 0.125627, 0.028031f32], Of::Size(1.0), 1e-6);
}

/// The largest slope of each token's last state with respect to b's vector and to a's; NaN where one is.
fn slopes(model: &dyn Model, edits: &[Edit]) -> Vec<[f32; 2]> {
    let open = model.open().unwrap();
    let (last, first) = (site("layer.2.out"), open.sites().words().unwrap());
    let row = Row { edits: edits.to_vec(), ..Row::new(encoded()) };
    let plan = Plan { keep: vec![first, last], start: None, record: Record::Gradient };
    let pass = open.forward(&[row], &plan).unwrap();
    let states = pass.value(last, 0).unwrap();
    let width = states.shape[1];
    let of = |token: usize| {
        let mut largest = [0f32; 2];
        for unit in 0..width {
            let mut cotangent = Array::zeros(states.shape.clone());
            cotangent.data[token * width + unit] = 1.0;
            let seed = Seed { row: 0, site: last, cotangent };
            let found =
                pass.backward(&[seed], &[first], Rules::Gradient).unwrap().swap_remove(0).swap_remove(0);
            let wide = found.shape[1];
            for (largest, from) in largest.iter_mut().zip([2, 1]) {
                let own = found.data[from * wide..][..wide].iter().map(|slope| slope.abs());
                *largest = own
                    .fold(*largest, |most, slope| if slope.total_cmp(&most).is_gt() { slope } else { most });
            }
        }
        largest
    };
    (0..5).map(of).collect()
}

/// Whether nothing but b and the first token reads b, exactly.
fn unread(found: &[[f32; 2]]) -> Result<f64, String> {
    let of_b = [1, 3, 4].map(|token| found[token][0]);
    check("slopes of b", &of_b, &[0.0f32; 3], Of::Size(1.0), 0.0)
}

#[test]
fn a_planted_nan_is_noticed() {
    let model = model();
    let edits = restrictions(&restricted_sites(&*model).unwrap(), &MARKED);
    let mut found = slopes(&*model, &edits);
    assert!(unread(&found).is_ok());
    found[3][0] = f32::NAN;
    let why = unread(&found).unwrap_err();
    assert!(why.contains("NaN"), "{why}");
}

#[test]
fn nothing_permissible_depends_on_an_impermissible_word() {
    let model = model();
    let edits = restrictions(&restricted_sites(&*model).unwrap(), &MARKED);
    let restricted = Restricted::new(model.clone(), words()).unwrap();
    for found in [slopes(&*model, &edits), slopes(&restricted, &[])] {
        let of_b: Vec<f32> = found.iter().map(|slopes| slopes[0]).collect();
        assert!(of_b[0] > 0.0 && of_b[2] > 0.0, "[CLS] and b itself read b: {of_b:?}");
        unread(&found).unwrap();
        let of_a: Vec<f32> = found.iter().map(|slopes| slopes[1]).collect();
        assert!(of_a[0] > 0.0 && of_a[1] > 0.0 && of_a[3] > 0.0 && of_a[4] > 0.0, "{of_a:?}");
        assert_eq!(of_a[2], 0.0, "nor the other way round");
    }
    let late = slopes(&*model, &behind_the_softmax(&edits));
    assert!(late[1][0] > 0.0 && late[3][0] > 0.0, "masked behind the softmax b still tells: {late:?}");
}

/// Whatever is asked of it, a restricted model restricts: answers, runs from a cut, and a memory of its own.
#[test]
fn a_restricted_model_is_one_everywhere() {
    let model = model();
    let restricted = Restricted::new(model.clone(), words()).unwrap();
    assert_ne!(restricted.card().fingerprint, model.card().fingerprint);
    let edits = restrictions(&restricted_sites(&*model).unwrap(), &MARKED);
    let cut = site("layer.0.out");
    let by_hand = Row { edits, ..Row::new(encoded()) };
    let pass = model.open().unwrap().forward(&[by_hand], &Plan::keep([cut])).unwrap();
    let (expected, start) = (pass.logits()[0].data.clone(), pass.value(cut, 0).unwrap());
    let plain = Row::new(encoded());
    let outputs = |row: Row, plan: &Plan| {
        restricted.open().unwrap().forward(&[row], plan).unwrap().logits()[0].data.clone()
    };
    close("whole", &outputs(plain.clone(), &Plan::default()), &expected, Of::Size(1.0), 1e-9);
    let resumed = Plan::default().starting_at(cut);
    close("resumed", &outputs(plain.clone().starting_with(start), &resumed), &expected, Of::Size(1.0), 1e-6);
    let unrestricted = model.open().unwrap().forward(std::slice::from_ref(&plain), &Plan::default()).unwrap();
    let difference = unrestricted.logits()[0].data[0] - expected[0];
    assert!(difference.abs() > 1e-6, "the restriction changes nothing");
    let found = Driver::default().read_one(&restricted, &plain, &exegete_core::Outputs).unwrap();
    close("driver", &found.data, &expected, Of::Size(1.0), 1e-9);
}
