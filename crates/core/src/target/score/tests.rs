use super::*;
use crate::Site;
use crate::task::{self, Classes, Task};
use crate::{Rules, Work};

fn card(task: &'static dyn Task) -> Card {
    Card {
        name: "toy".into(),
        family: "toy".into(),
        fingerprint: String::new(),
        task,
        labels: Vec::new(),
        parameters: 0,
        max_tokens: 8,
        sizes: crate::Sizes::default(),
        warnings: Vec::new(),
    }
}

fn choice(index: usize) -> Choice {
    Choice { name: index.to_string(), index: Some(index) }
}

/// Every quantity that is read off the logits, with a task and an output shape it fits.
fn cases() -> Vec<(Quantity, &'static dyn Task, Vec<usize>)> {
    use {Label as L, Quantity as Q};
    vec![
        (Q::Class(choice(1)), &task::CLASSIFICATION, vec![3]),
        (Q::Class(choice(1)), &task::MULTI_LABEL, vec![3]),
        (Q::Class(choice(0)), &task::REGRESSION, vec![1]),
        (Q::Margin(choice(0), choice(2)), &task::CLASSIFICATION, vec![3]),
        (Q::Margin(choice(0), choice(2)), &task::MULTI_LABEL, vec![3]),
        (Q::Loss(Some(L::Class(2))), &task::CLASSIFICATION, vec![3]),
        (Q::Loss(Some(L::Soft(vec![0.25, 0.5, 0.25]))), &task::CLASSIFICATION, vec![3]),
        (Q::Loss(Some(L::Class(2))), &task::MULTI_LABEL, vec![3]),
        (Q::Loss(Some(L::Labels(vec![1.0, 0.0, 1.0]))), &task::MULTI_LABEL, vec![3]),
        (Q::Loss(Some(L::Value(0.5))), &task::REGRESSION, vec![1]),
        (Q::Start(Some(2)), &task::QUESTION_ANSWERING, vec![4, 2]),
        (Q::End(Some(3)), &task::QUESTION_ANSWERING, vec![4, 2]),
        (Q::Answer(Some((2, 3))), &task::QUESTION_ANSWERING, vec![4, 2]),
        (Q::Tag(1, choice(2)), &task::TOKEN_CLASSIFICATION, vec![4, 3]),
        (Q::Token(3, choice(4)), &task::MASKED_LANGUAGE_MODEL, vec![4, 5]),
        (Q::Loss(Some(L::Span(1, 3))), &task::QUESTION_ANSWERING, vec![4, 2]),
        (
            Q::Loss(Some(L::Tokens(vec![None, Some(2), Some(0), None]))),
            &task::TOKEN_CLASSIFICATION,
            vec![4, 3],
        ),
        (Q::Loss(Some(L::Tokens(vec![Some(4), None, None, None]))), &task::MASKED_LANGUAGE_MODEL, vec![4, 5]),
    ]
}

fn logits(shape: &[usize]) -> Logits {
    let data = (0..shape.iter().product()).map(|i: usize| ((i * 7 + 3) % 11) as f64 / 4.0 - 1.3).collect();
    Logits::new(shape, data)
}

#[test]
fn slopes_match_central_differences() {
    let h = 1e-5;
    for (quantity, task, shape) in cases() {
        for scale in [Scale::Logit, Scale::Prob, Scale::LogProb] {
            let target = Target { quantity: quantity.clone(), scale: Some(scale) };
            let (card, base) = (card(task), logits(&shape));
            let slopes = match target.slopes(&card, &base) {
                Ok(slopes) => slopes,
                Err(error) => {
                    assert!(!task.gives_probabilities() && scale != Scale::Logit, "{target}: {error}");
                    continue;
                }
            };
            for (i, slope) in slopes.iter().enumerate() {
                let moved = |by: f64| {
                    let mut moved = base.clone();
                    moved.data[i] += by;
                    target.value_of(&card, &moved).unwrap()
                };
                let difference = (moved(h) - moved(-h)) / (2.0 * h);
                assert!(
                    (difference - slope).abs() < 1e-9,
                    "{target} ({task:?}) at {i}: {slope}, not {difference}"
                );
            }
        }
    }
}

#[test]
fn worked_by_hand() {
    let check = |text: &str, task: &'static dyn Task, quantity: Quantity, data: &[f64], expected: f64| {
        let scale = text.parse().ok();
        let logits = Logits::new(vec![data.len()], data.into());
        let found = Target { quantity, scale }.value_of(&card(task), &logits).unwrap();
        assert!((found - expected).abs() < 1e-12, "{text}: {found}, not {expected}");
    };
    let (ln3, class) = (3f64.ln(), Quantity::Class(choice(1)));
    check("logit", &task::CLASSIFICATION, class.clone(), &[0.0, ln3], ln3);
    check("prob", &task::CLASSIFICATION, class.clone(), &[0.0, ln3], 0.75);
    check("logprob", &task::CLASSIFICATION, class.clone(), &[0.0, ln3], 0.75f64.ln());
    check("prob", &task::MULTI_LABEL, class, &[5.0, ln3], 0.75);
    check("prob", &task::CLASSIFICATION, Quantity::Margin(choice(0), choice(1)), &[0.0, ln3], -0.5);
    check("", &task::CLASSIFICATION, Quantity::Loss(Some(Label::Class(0))), &[0.0, ln3], 0.25f64.ln());
    check("", &task::MULTI_LABEL, Quantity::Loss(Some(Label::Labels(vec![0.0]))), &[ln3], 0.25f64.ln());
    check("", &task::REGRESSION, Quantity::Loss(Some(Label::Value(1.0))), &[4.0], -4.5);
    let huge = Quantity::Class(choice(0));
    check("logprob", &task::MULTI_LABEL, huge.clone(), &[-1000.0], -1000.0);
    check("logprob", &task::CLASSIFICATION, huge, &[-1000.0, 1000.0], -2000.0);
}

/// A pass of one row with one kept site.
struct Fixed(Vec<Logits>, Array);

impl Pass for Fixed {
    fn outputs(&self) -> Site {
        Site::named("logits")
    }

    fn logits(&self) -> &[Logits] {
        &self.0
    }
    fn value(&self, _: Site, _: usize) -> Result<Array> {
        Ok(self.1.clone())
    }
    fn backward(&self, _: &[Seed], _: &[Site], _: Rules) -> Result<Vec<Vec<Array>>> {
        Ok(Vec::new())
    }
    fn work(&self) -> Work {
        Work::default()
    }
}

#[test]
fn units_are_sums_of_what_they_name() {
    let kept = Array::new([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let pass = Fixed(vec![Logits::new(vec![2], vec![0.5, -0.5])], kept);
    let card = card(&task::CLASSIFICATION);
    let check = |text: &str, value: f64, cotangent: &[f32]| {
        let target: Target = text.parse().unwrap();
        assert_eq!(target.value(&card, &pass, 0), Ok(value), "{text}");
        assert_eq!(target.seeds(&card, &pass, 0).unwrap()[0].cotangent.data, cotangent, "{text}");
    };
    check("unit:layer.0.out[1,2]", 6.0, &[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    check("unit:layer.0.out[*,0]", 5.0, &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    check("unit:layer.0.out[0,*]", 6.0, &[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    check("unit:logits[1]", -0.5, &[0.0, 1.0]);
    for text in
        ["unit:layer.0.out[2,0]", "unit:layer.0.out[0,3]", "unit:layer.0.out[0]", "predicted", "class:a"]
    {
        assert!(text.parse::<Target>().unwrap().value(&card, &pass, 0).is_err(), "{text}");
    }
    assert!(Target::class(7).value(&card, &pass, 0).is_err());
    assert!(Target::class(0).value(&card, &pass, 1).is_err());
    let info = |name, role| crate::SiteInfo::new(Site::named(name), "p", role, []);
    let sites = crate::Sites::new(vec![
        info("layer.0.out", crate::Role::LayerOutput),
        info("logits", crate::Role::Outputs),
    ]);
    let site = |target: &str| target.parse::<Target>().unwrap().site(&sites);
    assert_eq!(site("unit:layer.0.out[*,0]"), Some(Site::named("layer.0.out")));
    assert_eq!(site("unit:logits[0]"), None);
}

/// What rules that compare two runs rely on: F(x) − F(x′) = m·(z − z′), for far and for near pairs.
#[test]
fn multipliers_between_two_outputs_add_up() {
    for (quantity, task, shape) in cases() {
        for (scale, step) in
            [Scale::Logit, Scale::Prob, Scale::LogProb].into_iter().flat_map(|s| [(s, 1.7), (s, 1e-7)])
        {
            let target = Target { quantity: quantity.clone(), scale: Some(scale) };
            let (card, z) = (card(task), logits(&shape));
            let moved = |(i, z): (usize, &f64)| z + step * ((i as f64) * 0.9 + 0.3).cos();
            let y = Logits { data: z.data.iter().enumerate().map(moved).collect(), ..z.clone() };
            let Ok(multipliers) = target.slopes_between(&card, &z, &y) else { continue };
            let sum: f64 =
                multipliers.iter().zip(z.data.iter().zip(&y.data)).map(|(m, (z, y))| m * (z - y)).sum();
            let difference = target.value_of(&card, &z).unwrap() - target.value_of(&card, &y).unwrap();
            assert!(
                (sum - difference).abs() < 1e-12 + 1e-6 * difference.abs(),
                "{target}: {sum} {difference}"
            );
            if step > 1.0 && scale == Scale::Prob && task.classes() == Classes::One {
                let slopes = target.slopes(&card, &z).unwrap();
                let first_order: f64 =
                    slopes.iter().zip(z.data.iter().zip(&y.data)).map(|(m, (z, y))| m * (z - y)).sum();
                assert!((first_order - difference).abs() > 1e-3, "a plain slope would do as well");
            }
        }
    }
}
