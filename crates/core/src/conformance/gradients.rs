use super::ground::{Ground, Trial, gradients, weights};
use super::measure::{Tally, array_gap, reading};
use crate::{Array, Change, Edit, Open, Pick, Plan, Record, Result, Row, Site};

/// Steps of the central differences. Kinks between the ends of a step spoil one of them, so the better one counts.
const STEPS: [f32; 2] = [1.0 / 16_384.0, 1.0 / 1_048_576.0];

/// In double precision the gradient at every site is what central differences along a random direction say.
pub(super) fn match_differences(ground: &Ground, tally: &mut Tally) -> Result<()> {
    let all = gradients_everywhere(ground, ground.exact)?;
    for trial in ground.trials() {
        let direction = trial.noise_like(&ground.value(trial.info.site, trial.row)?);
        let gradient = &all[trial.text][position(ground, trial.info.site)];
        let error = difference_error(ground.exact, trial.row, trial.info.site, &direction, gradient)?;
        tally.see(error, || trial.place());
    }
    Ok(())
}

/// The same for rows with an edit at each site in turn: at the edited site itself, and upstream of it.
pub(super) fn pass_through_edits(ground: &Ground, tally: &mut Tally) -> Result<()> {
    for trial in ground.trials() {
        let value = ground.value(trial.info.site, trial.row)?;
        let row = trial.row.clone().edit(some_edit(&trial, &value));
        let wrt = [ground.sites.words()?, trial.info.site];
        let wrt = &wrt[usize::from(wrt[0] == wrt[1])..];
        let found = gradients(ground.exact, std::slice::from_ref(&row), wrt, Record::Gradient)?;
        for (site, gradient) in wrt.iter().zip(found) {
            let Some(gradient) = gradient.first() else { continue };
            let direction = trial.noise_like(&ground.value(*site, trial.row)?);
            let error = difference_error(ground.exact, &row, *site, &direction, gradient)?;
            tally.see(error, || format!("{site}, edited at {}", trial.place()));
        }
    }
    Ok(())
}

/// The Jacobian-vector product is the transpose of the gradient: ⟨u, J v⟩ = ⟨Jᵀ u, v⟩.
pub(super) fn match_tangents(ground: &Ground, tally: &mut Tally) -> Result<()> {
    let all = gradients_everywhere(ground, ground.exact)?;
    for trial in ground.trials().filter(|trial| is_sampled(ground, &trial.info.part)) {
        let site = trial.info.site;
        let direction = trial.noise_like(&ground.value(trial.info.site, trial.row)?);
        let rows = std::slice::from_ref(trial.row);
        let moved = ground.exact.jvp(rows, site, std::slice::from_ref(&direction), &[site])?.moved;
        let [at_site, at_logits] = &moved[..] else {
            tally.demand(false, || format!("{site}: tangents at {} sites instead of 2", moved.len()));
            continue;
        };
        // A direction at one step moves the steps after it.
        let gap = if trial.info.in_steps { 0.0 } else { array_gap(&direction, &at_site[0]) };
        tally.see(gap, || format!("the tangent at {} itself", trial.place()));
        let logits = ground.exact.forward(rows, &Plan::default())?.logits()[0].clone();
        let gradient = &all[trial.text][position(ground, site)];
        let forward = weights(&logits).dot(&at_logits[0]);
        tally.see(relative(forward, gradient, &direction, 0.0), || trial.place());
    }
    Ok(())
}

/// Gradients as they are used agree with those in double precision, relative to the largest element.
pub(super) fn match_exact(ground: &Ground, tally: &mut Tally) -> Result<()> {
    let fast = gradients_everywhere(ground, ground.fast)?;
    let exact = gradients_everywhere(ground, ground.exact)?;
    for (text, (fast, exact)) in fast.iter().zip(&exact).enumerate() {
        for (site, (fast, exact)) in ground.all().into_iter().zip(fast.iter().zip(exact)) {
            let error = fast.max_abs_diff(exact) / exact.max_abs().max(1e-6);
            tally.see(error, || format!("{site}, text {text}"));
        }
    }
    Ok(())
}

/// The gradient of the reading at every site, `[text][site]`.
fn gradients_everywhere(ground: &Ground, open: &dyn Open) -> Result<Vec<Vec<Array>>> {
    let one = |row: &Row| {
        let found = gradients(open, std::slice::from_ref(row), &ground.all(), Record::Gradient)?;
        Ok(found.into_iter().flatten().collect())
    };
    ground.short.iter().map(one).collect()
}

fn position(ground: &Ground, site: Site) -> usize {
    ground.sites.order(site)
}

/// Tangents run the plain kernels: of many parts of a model the outer ones and those in the middle must do.
fn is_sampled(ground: &Ground, part: &str) -> bool {
    let mut parts: Vec<&str> = ground.sites.iter().map(|info| info.part.as_str()).collect();
    parts.dedup();
    let (count, place) = (parts.len(), parts.iter().position(|own| *own == part).unwrap_or(0));
    count <= 5 || place <= 1 || place + 2 >= count || place == count / 2
}

/// The error of a gradient along a direction, against central differences of the reading.
fn difference_error(
    open: &dyn Open,
    row: &Row,
    site: Site,
    direction: &Array,
    gradient: &Array,
) -> Result<f64> {
    let steps = STEPS.iter().flat_map(|&step| [step, -step]);
    let rows: Vec<Row> = steps.map(|step| row.clone().edit(shift(site, direction, step))).collect();
    let pass = open.forward(&rows, &Plan::default())?;
    let weights = weights(&pass.logits()[0]);
    let f: Vec<f64> = pass.logits().iter().map(|logits| reading(&weights, logits)).collect();
    // Below this a slope drowns in the rounding of F.
    let floor = 1e-5
        * weights
            .data
            .iter()
            .zip(&pass.logits()[0].data)
            .map(|(u, z)| (f64::from(*u) * z).abs())
            .sum::<f64>();
    let error = |(k, &step): (usize, &f32)| {
        let slope = (f[2 * k] - f[2 * k + 1]) / (2.0 * f64::from(step));
        relative(slope, gradient, direction, floor)
    };
    Ok(STEPS.iter().enumerate().map(error).fold(f64::INFINITY, f64::min))
}

fn shift(site: Site, direction: &Array, step: f32) -> Edit {
    let data = direction.data.iter().map(|x| x * step).collect();
    Edit::whole(site, Change::Add(Array { shape: direction.shape.clone(), data }))
}

/// |slope − ⟨g, v⟩| relative to both and to the size of the products, which may cancel by chance.
fn relative(slope: f64, gradient: &Array, direction: &Array, floor: f64) -> f64 {
    if gradient.shape != direction.shape {
        return f64::INFINITY;
    }
    let along = gradient.dot(direction);
    let product = |(g, v): (&f32, &f32)| (f64::from(*g) * f64::from(*v)).powi(2);
    let typical = gradient.data.iter().zip(&direction.data).map(product).sum::<f64>().sqrt();
    let size = slope.abs().max(along.abs()).max(typical).max(floor);
    if slope == along { 0.0 } else { (slope - along).abs() / size }
}

/// Another kind of edit from site to site. None cuts the site off altogether, none zeroes a whole vector, and none makes a
/// unit the same in all tokens: where biases are zero the one would put every relu on its kink, the other every maximum,
/// and a difference there is no derivative.
fn some_edit(trial: &Trial, value: &Array) -> Edit {
    let noise = trial.noise_like(value);
    let first = Pick::Only(vec![0]);
    let unit = [vec![Pick::All; value.shape.len().saturating_sub(1)], vec![first.clone()]].concat();
    let (at, change) = match trial.seed / 16 % 5 {
        0 => (vec![], Change::Scale(0.75)),
        1 => (vec![], Change::Mix { share: 0.25, toward: noise }),
        2 => (unit, Change::Scale(0.5)),
        3 => (vec![first], Change::Set(Array::full([1], noise.data[0]))),
        _ => (vec![], Change::Add(noise)),
    };
    Edit { site: trial.info.site, at, change }
}
