use super::ground::{Ground, Trial};
use super::measure::{Tally, array_gap, logits_gap};
use crate::{Array, Change, Edit, Pick, Plan, Result, Row};

/// How far noise at a site must move the output: clearly more than rounding does.
const MOVED: f64 = 1e-5;

/// Edits that say the same thing do the same, edits that change nothing leave the output alone, noise moves it.
pub(super) fn take_effect(ground: &Ground, tally: &mut Tally) -> Result<()> {
    for trial in ground.trials() {
        let value = ground.value(trial.info.site, trial.row)?;
        let groups = equivalent(&trial, &value);
        let names: Vec<(usize, &str)> = groups
            .iter()
            .enumerate()
            .flat_map(|(g, group)| group.iter().map(move |case| (g, case.0)))
            .collect();
        let rows = groups.iter().flatten().map(|(_, edits)| with(&trial, edits)).collect::<Vec<Row>>();
        let pass = ground.fast.forward(&rows, &Plan::default())?;
        let untouched = ground.fast.forward(std::slice::from_ref(trial.row), &Plan::default())?;
        let untouched = &untouched.logits()[0];
        let mut first = 0;
        for (i, (group, name)) in names.iter().enumerate() {
            if i > 0 && names[i - 1].0 != *group {
                first = i;
            }
            let expected = if *group == 0 { untouched } else { &pass.logits()[first] };
            let gap = logits_gap(expected, &pass.logits()[i]);
            tally.see(gap, || format!("{}: {name} is not the same as {}", trial.place(), names[first].1));
            let moved = *group < 2 || logits_gap(untouched, &pass.logits()[i]) > MOVED;
            tally.demand(moved, || format!("{}: {name} does not move the output", trial.place()));
        }
    }
    Ok(())
}

/// What was edited is what is kept, at the picked elements and nowhere else, in the edited row and in no other.
pub(super) fn stay_in_place(ground: &Ground, tally: &mut Tally) -> Result<()> {
    for trial in ground.trials() {
        let value = ground.value(trial.info.site, trial.row)?;
        let mut cases: Vec<Case> = equivalent(&trial, &value).into_iter().flatten().collect();
        if !trial.info.in_steps {
            cases.extend(picked(&trial, &value));
        }
        cases.push(("no edit", Vec::new()));
        let rows: Vec<Row> = cases.iter().map(|(_, edits)| with(&trial, edits)).collect();
        let pass = ground.fast.forward(&rows, &Plan::keep([trial.info.site]))?;
        for (i, (name, edits)) in cases.iter().enumerate() {
            let mut expected = value.clone();
            edits.iter().try_for_each(|edit| edit.apply(&mut expected))?;
            let gap = array_gap(&expected, &pass.value(trial.info.site, i)?);
            tally.see(gap, || format!("{}: after {name}", trial.place()));
        }
    }
    Ok(())
}

type Case = (&'static str, Vec<Edit>);

/// Groups of edits with the same effect: none, all to zero, noise added, noise added and doubled.
fn equivalent(trial: &Trial, value: &Array) -> [Vec<Case>; 4] {
    let one = |x: f32| Array::full([1], x);
    let noise = trial.noise_like(value);
    let noisy = value.plus(&noise, 1.0);
    let case = |name, change| (name, vec![Edit::whole(trial.info.site, change)]);
    let twice = ("add then scale", vec![Change::Add(noise.clone()), Change::Scale(2.0)]);
    let twice = (twice.0, twice.1.into_iter().map(|change| Edit::whole(trial.info.site, change)).collect());
    // Of steps that read each other only what is set is known before the run.
    let known = |cases: Vec<Case>| {
        let is_set = |case: &Case| case.0.starts_with("set");
        if trial.info.in_steps { cases.into_iter().filter(is_set).collect() } else { cases }
    };
    [
        vec![
            case("scale by 1", Change::Scale(1.0)),
            case("add 0", Change::Add(one(0.0))),
            case("set to its own value", Change::Set(value.clone())),
        ],
        vec![
            case("zero", Change::Zero),
            case("scale by 0", Change::Scale(0.0)),
            case("set to 0", Change::Set(one(0.0))),
            case("mix wholly with 0", Change::Mix { share: 1.0, toward: one(0.0) }),
        ],
        known(vec![
            case("add noise", Change::Add(noise.clone())),
            case("set to value and noise", Change::Set(noisy.clone())),
            case("mix half with noise", Change::Mix { share: 0.5, toward: value.plus(&noise, 2.0) }),
        ]),
        known(vec![twice, case("set to twice the noisy value", Change::Set(noisy.plus(&noisy, 1.0)))]),
    ]
}

/// Edits of one index of each axis, of two in reverse order, and of one single element.
fn picked(trial: &Trial, value: &Array) -> Vec<Case> {
    let middle: Vec<Pick> = value.shape.iter().map(|len| Pick::Only(vec![len / 2])).collect();
    let size = trial.noise_like(value).data.first().copied().unwrap_or(1.0);
    let edit = |at: Vec<Pick>, change: Change| vec![Edit { site: trial.info.site, at, change }];
    let mut cases = vec![("add at one element", edit(middle.clone(), Change::Add(Array::full([1], size))))];
    for (axis, pick) in middle.iter().enumerate() {
        let mut at = vec![Pick::All; axis];
        at.push(pick.clone());
        cases.push(("zero at one index of an axis", edit(at, Change::Zero)));
    }
    if value.shape.first().is_some_and(|&len| len > 1) {
        let mut shape = value.shape.clone();
        shape[0] = 2;
        let values = super::measure::noise(trial.seed + 1, &shape, 2.0 * size);
        cases.push((
            "set two indices in reverse order",
            edit(vec![Pick::Only(vec![1, 0])], Change::Set(values)),
        ));
    }
    cases
}

fn with(trial: &Trial, edits: &[Edit]) -> Row {
    Row { edits: edits.to_vec(), ..trial.row.clone() }
}
