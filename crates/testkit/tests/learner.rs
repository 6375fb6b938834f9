//! Parameters through the driver, of networks and a task that nothing in core knows: a gated recurrent cell, and the next
//! word of a language model. At the head everything can be worked out by hand.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::{
    Array, Driver, Example, Label, Model, Open, ParameterGroup, Plan, Row, Site, Supervised, Target,
};
use exegete_testkit::{Comparison, Of, Toy};

const TEXTS: [&str; 3] = ["not good film", "good film but bad", "bad"];

/// One output that a loss reads.
struct Decision {
    row: usize,
    /// What the head read for it.
    state: Vec<f64>,
    probs: Vec<f64>,
    /// The right class.
    class: usize,
    /// Its share of the row's loss.
    share: f64,
}

/// A toy with rows, labels, and the site that its head reads.
struct Lesson {
    toy: Toy,
    rows: Vec<Row>,
    labels: Vec<Label>,
    read: Site,
}

impl Lesson {
    fn new(toy: Toy, read: &'static str, labels: [Label; 3]) -> Self {
        let row = |text| Row::new(toy.encode(&Example::text(text)).unwrap());
        Self { rows: TEXTS.map(row).into(), labels: labels.into(), read: Site::named(read), toy }
    }

    fn both() -> [Self; 2] {
        let words = |words: &[Option<usize>]| Label::Tokens(words.to_vec());
        let next =
            [words(&[Some(1), None, Some(2)]), words(&[None, None, Some(4), Some(0)]), words(&[Some(3)])];
        [
            Self::new(Toy::recurrent(), "enc.out", [1, 0, 0].map(Label::Class)),
            Self::new(Toy::language_model(), "layer.0.out", next),
        ]
    }

    fn given<'a>(&'a self, select: &'a [String]) -> Supervised<'a> {
        Supervised { rows: &self.rows, labels: &self.labels, select }
    }

    /// Every output that a loss reads.
    fn decisions(&self) -> Vec<Decision> {
        let pass = self.toy.forward(&self.rows, &Plan::keep([self.read])).unwrap();
        let mut all = Vec::new();
        for (row, label) in self.labels.iter().enumerate() {
            let read = pass.value(self.read, row).unwrap();
            let last = read.shape[0] - 1;
            let labelled: Vec<(usize, usize)> = match label {
                Label::Class(class) => vec![(last, *class)],
                Label::Tokens(words) => (0..words.len()).filter_map(|t| Some((t, words[t]?))).collect(),
                other => panic!("{other:?}"),
            };
            for &(token, class) in &labelled {
                let logits = &pass.logits()[row];
                let own = if logits.shape.len() == 1 { 0..2 } else { logits.at(token).unwrap() };
                let powers: Vec<f64> = logits.data[own].iter().map(|z| z.exp()).collect();
                let total: f64 = powers.iter().sum();
                let probs = powers.iter().map(|power| power / total).collect();
                let state = read.data[2 * token..][..2].iter().map(|&x| f64::from(x)).collect();
                all.push(Decision { row, state, probs, class, share: 1.0 / labelled.len() as f64 });
            }
        }
        all
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// ∂L/∂c = Σ share·(p − y), ∂L/∂U = Σ share·h ⊗ (p − y), and the same of each row alone.
#[test]
fn gradients_are_those_by_hand() {
    let mut comparison = Comparison::default();
    for lesson in Lesson::both() {
        let select = names(&["head.weight", "head.bias"]);
        let driver = Driver::default();
        let (losses, found) = driver.gradient(&lesson.toy, &lesson.given(&select)).unwrap();
        let mut by_row = Vec::new();
        let sink = &mut |row: usize, gradient: Vec<Array>| {
            assert_eq!(row, by_row.len());
            by_row.push(gradient);
            Ok(())
        };
        driver.row_gradients(&lesson.toy, &lesson.given(&select), sink).unwrap();
        let classes = found[1].len();
        let mut expected = vec![[vec![0.0; 2 * classes], vec![0.0; classes]]; TEXTS.len()];
        let mut lost = vec![0.0; TEXTS.len()];
        for Decision { row, state, probs, class, share } in lesson.decisions() {
            lost[row] -= share * probs[class].ln();
            for (k, prob) in probs.iter().enumerate() {
                let slope = share * (prob - f64::from(u8::from(k == class)));
                expected[row][1][k] += slope;
                (0..2).for_each(|unit| expected[row][0][unit * classes + k] += slope * state[unit]);
            }
        }
        comparison.compare("losses", &losses, &lost, Of::Size(1.0));
        for parameter in 0..2 {
            let mut sum = vec![0.0; expected[0][parameter].len()];
            for (own, expected) in by_row.iter().zip(&expected) {
                comparison.compare(
                    "a row",
                    &own[parameter].data,
                    &as_f32(&expected[parameter]),
                    Of::Size(1.0),
                );
                sum.iter_mut().zip(&expected[parameter]).for_each(|(sum, own)| *sum += own);
            }
            comparison.compare("all rows", &found[parameter].data, &as_f32(&sum), Of::Size(1.0));
        }
        assert_eq!(driver.spent().backward_rows, 2 * TEXTS.len());
    }
    comparison.assert_within(4e-7);
    // A gradient of another label is seen to be wrong, and one that is no number cannot pass.
    let [mut lesson, _] = Lesson::both();
    let select = names(&["head.bias"]);
    let right = Driver::default().gradient(&lesson.toy, &lesson.given(&select)).unwrap().1.swap_remove(0);
    lesson.labels[0] = Label::Class(0);
    let mut wrong = Driver::default().gradient(&lesson.toy, &lesson.given(&select)).unwrap().1.swap_remove(0);
    let mut planted = Comparison::default();
    planted.compare("another label", &wrong, &right, Of::Size(1.0));
    planted.assert_beyond(0.1);
    wrong.data[0] = f32::NAN;
    assert!(exegete_testkit::check("nan", &wrong, &right, Of::Size(1.0), f64::INFINITY).is_err());
}

fn as_f32(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}

/// H v = Σ share·(diag p − p pᵀ) v at the head's bias.
#[test]
fn second_derivatives_are_those_by_hand() {
    for lesson in Lesson::both() {
        let select = names(&["head.bias"]);
        let classes = lesson.toy.learner().unwrap().parameter("head.bias").unwrap().len();
        let v: Vec<f32> = (0..classes).map(|k| [0.5, -1.0, 0.25, 2.0, 0.0][k]).collect();
        let direction = [Array::new([classes], v.clone()).unwrap()];
        let found = Driver::default().hvp(&lesson.toy, &lesson.given(&select), &direction).unwrap();
        let mut expected = vec![0.0; classes];
        for Decision { probs, share, .. } in lesson.decisions() {
            let mean: f64 = probs.iter().zip(&v).map(|(p, &v)| p * f64::from(v)).sum();
            for (k, prob) in probs.iter().enumerate() {
                expected[k] += share * prob * (f64::from(v[k]) - mean);
            }
        }
        exegete_testkit::close("hvp", &found[0].data, &as_f32(&expected), Of::Size(1.0), 4e-7);
    }
}

/// All parameters: pieces add up to the whole, slopes along the gradient are its square, and a step down it loses less.
#[test]
fn every_parameter_is_learned_within_the_budget() {
    for lesson in Lesson::both() {
        let learner = lesson.toy.learner().unwrap();
        let all = ParameterGroup::select(&learner.groups(), &["all"]).unwrap();
        assert_eq!(all.len(), learner.parameters().len());
        let given = lesson.given(&all);
        let (losses, gradient) = Driver::default().gradient(&lesson.toy, &given).unwrap();
        assert!(gradient.iter().all(|gradient| gradient.max_abs() > 1e-3), "{gradient:?}");
        let small = Driver::new(lesson.rows.iter().map(|row| learner.learning_bytes(row)).max().unwrap());
        let (_, pieces) = small.gradient(&lesson.toy, &given).unwrap();
        let slopes = Driver::default().directional(&lesson.toy, &given, &gradient).unwrap();
        let mut comparison = Comparison::default();
        for (pieces, whole) in pieces.iter().zip(&gradient) {
            comparison.compare("pieces", pieces, whole, Of::Size(1.0));
        }
        let square: f64 = gradient.iter().map(|gradient| gradient.dot(gradient)).sum();
        comparison.compare("along", &[slopes.iter().sum::<f64>()], &[square], Of::Each(1.0));
        comparison.assert_within(1e-6);
        let step = |(name, gradient): (&String, &Array)| {
            let own = learner.parameter(name).unwrap();
            let data = own.data.iter().zip(&gradient.data).map(|(x, slope)| x - 0.01 * slope).collect();
            (name.clone(), Array::new(own.shape.clone(), data).unwrap())
        };
        let moved = lesson.toy.with_params(all.iter().zip(&gradient).map(step).collect()).unwrap();
        let (after, _) = Driver::default().gradient(&*moved, &given).unwrap();
        let fell = losses.iter().sum::<f64>() - after.iter().sum::<f64>();
        assert!((fell - 0.01 * square).abs() < 0.1 * 0.01 * square, "{fell} for {square}");
    }
}

#[test]
fn a_loss_is_what_the_target_says() {
    let [lesson, next] = Lesson::both();
    let (losses, _) = Driver::default().gradient(&lesson.toy, &lesson.given(&[])).unwrap();
    for ((row, label), loss) in lesson.rows.iter().zip(&lesson.labels).zip(losses) {
        let pass = lesson.toy.forward(std::slice::from_ref(row), &Plan::default()).unwrap();
        let logits = &pass.logits()[0];
        let vocabulary = |piece: &str| lesson.toy.token_id(piece);
        let target = "loss".parse::<Target>().unwrap();
        let target =
            target.resolve(lesson.toy.card(), &row.encoded, logits, Some(label), &vocabulary).unwrap();
        let value = target.value_of(lesson.toy.card(), logits).unwrap();
        assert!((loss + value).abs() < 1e-12, "{loss} {value}");
    }
    let wrong = Supervised { labels: &lesson.labels, ..next.given(&[]) };
    let error = Driver::default().gradient(&next.toy, &wrong).unwrap_err().to_string();
    assert!(error.contains("one class a token"), "{error}");
}
