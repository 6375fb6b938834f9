//! Losses of every kind of label: against transformers, against differences, and however the rows are cut.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::{
    Array, Card, Driver, Error, Example, Label, Learner, Model, Open, ParameterGroup, Prediction, Quantity,
    Result, Row, Supervised, Target,
};
use exegete_models::{LoadOptions, Precision, load};
use exegete_testkit::golden::{self, Golden, Losses};
use exegete_testkit::{Of, check, close};
use std::sync::{Arc, Mutex};

/// What the golden values of other tests are held to: four times what was measured.
const LIMIT: f64 = 4.0 * 3e-6;
const EXACT_LIMIT: f64 = 4.0 * 1e-7;

/// A golden model with its inputs and their labels.
struct Case {
    model: Arc<dyn Model>,
    golden: Losses,
    rows: Vec<Row>,
    labels: Vec<Label>,
}

impl Case {
    fn supervised(&self) -> Supervised<'_> {
        Supervised { rows: &self.rows, labels: &self.labels, select: &self.golden.parameters }
    }

    fn learner(&self) -> &dyn Learner {
        self.model.learner().unwrap()
    }

    fn gradient(&self) -> (Vec<f64>, Vec<Array>) {
        self.learner().gradient(&self.rows, &self.labels, &self.golden.parameters).unwrap()
    }
}

fn cases(precision: Precision, threads: usize) -> Vec<Case> {
    let open = |golden: Losses| {
        let folder = golden::root().join(&golden.folder);
        let model = load(&folder, &LoadOptions { precision, threads }).unwrap();
        let encode = |example: &Example| Row::new(model.open().unwrap().encode(example).unwrap());
        let inputs = Golden::open(&folder).unwrap().described.inputs;
        let rows = inputs.iter().map(|input| encode(&input.example())).collect();
        let labels = golden.labels.iter().map(Label::from).collect();
        Case { model, golden, rows, labels }
    };
    let cases: Vec<Case> = golden::losses().unwrap().into_iter().map(open).collect();
    assert_eq!(cases.len(), 4);
    cases
}

#[test]
fn losses_and_slopes_are_those_of_transformers() {
    for (precision, limit) in [(Precision::F32, LIMIT), (Precision::F64, EXACT_LIMIT)] {
        for case in cases(precision, 2) {
            let (losses, gradients) = case.gradient();
            let folder = &case.golden.folder;
            let worst = close(folder, &losses, &case.golden.losses, Of::Each(1.0), limit);
            println!("{folder:14} {precision:?} losses {worst:e}");
            assert_eq!(gradients.len(), case.golden.gradients.len());
            for (name, (found, expected)) in
                case.golden.parameters.iter().zip(gradients.iter().zip(&case.golden.gradients))
            {
                let worst = close(name, found, expected, Of::Largest(1.0), limit);
                println!("{folder:14} {precision:?} {name} {worst:e}");
            }
        }
    }
}

/// The target `loss` and the learner's loss are one number.
#[test]
fn the_target_is_minus_the_loss() {
    for case in cases(Precision::F64, 1) {
        let (losses, _) = case.gradient();
        let logits = Driver::default().read_all(&*case.model, &case.rows, &exegete_core::Outputs).unwrap();
        let value = |((row, label), logits): ((&Row, &Label), &exegete_core::Logits)| {
            let asked = Target { quantity: Quantity::Loss(None), scale: None };
            let card = case.model.card();
            let target = asked.resolve(card, &row.encoded, logits, Some(label), &|_| None).unwrap();
            assert_eq!(target.quantity, Quantity::Loss(Some(label.clone())));
            -target.value_of(card, logits).unwrap()
        };
        let found: Vec<f64> = case.rows.iter().zip(&case.labels).zip(&logits).map(value).collect();
        close(&case.golden.folder, &found, &losses, Of::Each(1.0), 1e-12);
    }
}

/// The selected parameters moved by up to two thousandths, one way or the other, as far as single precision goes.
fn moved(case: &Case, way: f32) -> (Case, Vec<Array>) {
    let shift = |(i, x): (usize, &f32)| x + way * 2e-3 * ((i * 37 % 19) as f32 - 9.0) / 9.0;
    let move_all = |name: &String| {
        let value = case.learner().parameter(name).unwrap();
        Array { data: value.data.iter().enumerate().map(shift).collect(), ..value }
    };
    let values: Vec<Array> = case.golden.parameters.iter().map(move_all).collect();
    let overrides = case.golden.parameters.iter().cloned().zip(values.iter().cloned()).collect();
    let model = case.model.open().unwrap().with_params(overrides).unwrap();
    let golden = golden::losses().unwrap().into_iter().find(|g| g.folder == case.golden.folder).unwrap();
    (Case { model, golden, rows: case.rows.clone(), labels: case.labels.clone() }, values)
}

fn minus(one: &[Array], other: &[Array]) -> Vec<Array> {
    let minus = |(a, b): (&Array, &Array)| Array {
        shape: a.shape.clone(),
        data: a.data.iter().zip(&b.data).map(|(a, b)| a - b).collect(),
    };
    one.iter().zip(other).map(minus).collect()
}

#[test]
fn slopes_and_curvature_are_those_of_differences() {
    for case in cases(Precision::F64, 2) {
        let ((up, above), (down, below)) = (moved(&case, 1.0), moved(&case, -1.0));
        let step = minus(&above, &below);
        let ((upper, rising), (lower, falling)) = (up.gradient(), down.gradient());
        let (_, gradients) = case.gradient();
        let select = &case.golden.parameters;
        let folder = &case.golden.folder;
        let slopes = case.learner().directional(&case.rows, &case.labels, select, &step).unwrap();
        let differences: Vec<f64> = upper.iter().zip(&lower).map(|(u, l)| u - l).collect();
        let largest = differences.iter().fold(0.0, |most: f64, d| most.max(d.abs()));
        let worst = close(&format!("{folder}: each slope"), &slopes, &differences, Of::Size(largest), 1e-4);
        let along: f64 = gradients.iter().zip(&step).map(|(g, s)| g.dot(s)).sum();
        let all = differences.iter().sum::<f64>();
        let sum = close(&format!("{folder}: their sum"), &[along], &[all], Of::Size(largest), 1e-4);
        let products = case.learner().hvp(&case.rows, &case.labels, select, &step).unwrap();
        let bends = minus(&rising, &falling);
        println!("{folder:14} slopes {worst:e} {sum:e}");
        for (name, (product, bend)) in select.iter().zip(products.iter().zip(&bends)) {
            let worst = close(&format!("{folder}: {name}"), product, bend, Of::Largest(0.0), 1e-3);
            println!("{folder:14} curvature {worst:e}");
        }
    }
}

#[test]
fn rows_alone_give_what_they_give_together_in_order_on_any_threads() {
    for threads in [1, 2, 3] {
        for case in cases(Precision::F32, threads) {
            let (learner, select) = (case.learner(), &case.golden.parameters);
            // More rows than threads, and no multiple of them.
            let rows: Vec<Row> = case.rows.iter().cycle().take(7).cloned().collect();
            let labels: Vec<Label> = case.labels.iter().cycle().take(7).cloned().collect();
            let mut found = Vec::new();
            learner
                .row_gradients(&rows, &labels, select, &mut |row, gradient| {
                    assert_eq!(row, found.len());
                    found.push(gradient);
                    Ok(())
                })
                .unwrap();
            assert_eq!(found.len(), 7);
            let mut sum: Vec<Array> = found[0].iter().map(|g| Array::zeros(g.shape.clone())).collect();
            for (i, found) in found.iter().enumerate() {
                let (_, alone) = learner.gradient(&rows[i..=i], &labels[i..=i], select).unwrap();
                for ((found, alone), sum) in found.iter().zip(&alone).zip(&mut sum) {
                    close(&format!("row {i}"), found, alone, Of::Largest(1.0), LIMIT);
                    sum.data.iter_mut().zip(&found.data).for_each(|(s, g)| *s += g);
                }
            }
            let (_, together) = learner.gradient(&rows, &labels, select).unwrap();
            for (sum, together) in sum.iter().zip(&together) {
                close("the sum", sum, together, Of::Largest(1.0), LIMIT);
            }
        }
    }
}

#[test]
fn a_sink_that_has_enough_stops_the_rows() {
    let case = &cases(Precision::F32, 2)[1];
    let mut seen = 0;
    let stopped = Driver::default().row_gradients(&*case.model, &case.supervised(), &mut |_, _| {
        seen += 1;
        Err(Error::Request("enough".into()))
    });
    assert_eq!((seen, stopped.unwrap_err().to_string().as_str()), (1, "enough"));
}

/// A model that remembers how many rows each call of its learner got.
struct Watched<'a>(&'a dyn Model, Mutex<Vec<usize>>);

impl Watched<'_> {
    fn see(&self, rows: &[Row]) -> &dyn Learner {
        self.1.lock().unwrap().push(rows.len());
        self.0.learner().unwrap()
    }

    fn calls(&self) -> Vec<usize> {
        std::mem::take(&mut *self.1.lock().unwrap())
    }
}

impl Model for Watched<'_> {
    fn card(&self) -> &Card {
        self.0.card()
    }

    fn predict(&self, examples: &[Example]) -> Result<Vec<Prediction>> {
        self.0.predict(examples)
    }

    fn open(&self) -> Option<&dyn Open> {
        self.0.open()
    }

    fn learner(&self) -> Option<&dyn Learner> {
        Some(self)
    }
}

impl Learner for Watched<'_> {
    fn parameters(&self) -> Vec<(String, Vec<usize>)> {
        self.0.learner().unwrap().parameters()
    }

    fn groups(&self) -> Vec<ParameterGroup> {
        self.0.learner().unwrap().groups()
    }

    fn learning_bytes(&self, row: &Row) -> usize {
        self.0.learner().unwrap().learning_bytes(row)
    }

    fn parameter(&self, name: &str) -> Result<Array> {
        self.0.learner().unwrap().parameter(name)
    }

    fn gradient(&self, rows: &[Row], labels: &[Label], select: &[String]) -> Result<(Vec<f64>, Vec<Array>)> {
        self.see(rows).gradient(rows, labels, select)
    }

    fn row_gradients(
        &self,
        rows: &[Row],
        labels: &[Label],
        select: &[String],
        sink: &mut dyn FnMut(usize, Vec<Array>) -> Result<()>,
    ) -> Result<()> {
        self.see(rows).row_gradients(rows, labels, select, sink)
    }

    fn directional(
        &self,
        rows: &[Row],
        labels: &[Label],
        select: &[String],
        v: &[Array],
    ) -> Result<Vec<f64>> {
        self.see(rows).directional(rows, labels, select, v)
    }

    fn hvp(&self, rows: &[Row], labels: &[Label], select: &[String], v: &[Array]) -> Result<Vec<Array>> {
        self.see(rows).hvp(rows, labels, select, v)
    }
}

#[test]
fn pieces_within_a_budget_give_the_sums_of_the_whole() {
    for case in cases(Precision::F32, 2) {
        let (given, learner) = (case.supervised(), case.learner());
        let (losses, gradients) = case.gradient();
        let v = minus(&moved(&case, 1.0).1, &moved(&case, -1.0).1);
        let slopes = learner.directional(given.rows, given.labels, given.select, &v).unwrap();
        let products = learner.hvp(given.rows, given.labels, given.select, &v).unwrap();
        let largest = case.rows.iter().map(|row| learner.learning_bytes(row)).max().unwrap();
        let model = Watched(&*case.model, Mutex::default());
        let small = (Driver::new(largest + largest / 2), Driver::new(3 * largest), 2);
        for (driver, dual, pieces) in [(Driver::default(), Driver::default(), 1), small] {
            let of = |found: &[Array], expected: &[Array]| {
                assert_eq!(found.len(), expected.len());
                for (found, expected) in found.iter().zip(expected) {
                    close(&case.golden.folder, found, expected, Of::Largest(0.0), 1e-5);
                }
                let calls = model.calls();
                assert!(calls.len() >= pieces && calls.iter().sum::<usize>() == 4, "{calls:?}");
                assert!(pieces > 1 || calls.len() == 1, "{calls:?}");
            };
            let found = driver.gradient(&model, &given).unwrap();
            close("losses", &found.0, &losses, Of::Each(1.0), LIMIT);
            of(&found.1, &gradients);
            of(&dual.hvp(&model, &given, &v).unwrap(), &products);
            let found = dual.directional(&model, &given, &v).unwrap();
            close("slopes", &found, &slopes, Of::Each(1.0), LIMIT);
            model.calls();
            let mut order = Vec::new();
            let mut sum: Vec<Array> = gradients.iter().map(|g| Array::zeros(g.shape.clone())).collect();
            let add = &mut |row: usize, found: Vec<Array>| {
                order.push(row);
                for (sum, found) in sum.iter_mut().zip(found) {
                    sum.data.iter_mut().zip(found.data).for_each(|(s, g)| *s += g);
                }
                Ok(())
            };
            driver.row_gradients(&model, &given, add).unwrap();
            of(&sum, &gradients);
            assert_eq!(order, [0, 1, 2, 3]);
            assert_eq!((driver.spent().forward_rows, driver.spent().backward_rows), (8, 8));
            assert_eq!((dual.spent().forward_rows, dual.spent().backward_rows), (8, 4));
        }
        let refused = Driver::new(largest / 4).gradient(&model, &given).unwrap_err().to_string();
        assert!(refused.contains("bytes of activations"), "{refused}");
    }
}

#[test]
fn labels_that_do_not_fit_are_refused_by_what_is_wrong() {
    let cases = cases(Precision::F32, 1);
    let case = |folder: &str| cases.iter().find(|case| case.golden.folder == folder).unwrap();
    let refused = |folder: &str, label: Label, expected: &str| {
        let case = case(folder);
        let (rows, labels) = (&case.rows[1..2], [label.clone()]);
        let given = Supervised { rows, labels: &labels, select: &case.golden.parameters };
        let plain = case.learner().gradient(rows, &labels, given.select).unwrap_err().to_string();
        let driven = Driver::default().gradient(&*case.model, &given).unwrap_err().to_string();
        for error in [plain, driven] {
            assert!(error.contains(expected), "{folder} {label:?}: {error}");
        }
    };
    // The second input of the golden models that label tokens has three.
    refused("bert-token", Label::Tokens(vec![Some(0), None]), "labels for 2 tokens of a text of 3");
    refused("bert-token", Label::Tokens(vec![Some(5), None, None]), "token 0: class 5 of a model with 5");
    refused("bert-mlm", Label::Tokens(vec![None, Some(159), None]), "token 1: class 159 of a model with 159");
    refused("bert-mlm", Label::Tokens(vec![None; 3]), "no token has a label");
    refused("bert-token", Label::Class(0), "one class a token");
    refused("bert-mlm", Label::Span(0, 1), "one class a token");
    refused("bert-qa", Label::Tokens(vec![None; 10]), "a first and a last token");
    refused("bert-qa", Label::Span(3, 10), "an answer from token 3 to 10 of a text of 10");
    refused("bert-qa", Label::Span(3, 2), "an answer from token 3 to 2 of a text of 10");
    refused("bert-sequence", Label::Span(0, 1), "the whole text");
    refused("bert-sequence", Label::Tokens(vec![Some(0); 3]), "the whole text");
    let bare = load(&golden::root().join("bert-bare"), &LoadOptions::default()).unwrap();
    let row = Row::new(bare.open().unwrap().encode(&Example::text("a film")).unwrap());
    let error = bare.learner().unwrap().gradient(&[row], &[Label::Class(0)], &[]).unwrap_err().to_string();
    assert!(error.contains("no loss"), "{error}");
    let case = case("bert-token");
    let given = Supervised { labels: &case.labels[..3], ..case.supervised() };
    let error = Driver::default().gradient(&*case.model, &given).unwrap_err().to_string();
    assert_eq!(error, "4 rows but 3 labels");
    let select = ["nothing".to_owned()];
    let given = Supervised { select: &select, ..case.supervised() };
    let error = Driver::default().gradient(&*case.model, &given).unwrap_err().to_string();
    assert_eq!(error, "the model has no parameter 'nothing'");
}

/// A loss or one element of a gradient that is no number is seen in every kind.
#[test]
fn a_planted_nan_is_noticed() {
    for case in cases(Precision::F32, 1) {
        let (losses, gradients) = case.gradient();
        let mut faulty = losses.clone();
        faulty[0] = f64::NAN;
        assert!(check("losses", &faulty, &losses, Of::Each(1.0), f64::MAX).is_err());
        for (name, gradient) in case.golden.parameters.iter().zip(&gradients) {
            let mut faulty = gradient.clone();
            *faulty.data.last_mut().unwrap() = f32::NAN;
            assert!(check(name, &faulty, gradient, Of::Largest(1.0), f64::MAX).is_err(), "{name}");
        }
    }
}

/// The comparison with transformers can fail: a label that is one class off is seen in every kind.
#[test]
fn another_label_is_another_loss() {
    for mut case in cases(Precision::F32, 1) {
        case.labels[0] = match &case.labels[0] {
            Label::Class(class) => Label::Class((class + 1) % 3),
            Label::Span(first, last) => Label::Span(first + 1, *last),
            Label::Tokens(classes) => {
                let mut classes = classes.clone();
                classes[1] = classes[1].map(|class| (class + 1) % 5);
                Label::Tokens(classes)
            }
            other => other.clone(),
        };
        assert!(check("losses", &case.gradient().0, &case.golden.losses, Of::Each(1.0), LIMIT).is_err());
    }
}
