use super::stages::{Stages, Values};
use exegete_core::{
    Array, Axis, Change, Edit, Error, Logits, Pass, Plan, Record, Result, Row, Rules, Seed, Site, Work,
};
use std::cell::Cell;

/// A finished run of the toy over some rows.
pub(super) struct ToyPass<'a> {
    stages: &'a dyn Stages,
    traces: Vec<Trace>,
    logits: Vec<Logits>,
    plan: Plan,
    backward_ops: Cell<usize>,
}

impl<'a> ToyPass<'a> {
    pub(super) fn run(stages: &'a dyn Stages, rows: &[Row], plan: &Plan) -> Result<Self> {
        for site in plan.keep.iter().chain(&plan.start) {
            stage_of(stages, *site)?;
        }
        let trace = |row| Trace::run(stages, row, plan.start);
        let traces: Vec<Trace> = rows.iter().map(trace).collect::<Result<_>>()?;
        let last = stages.sites().len() - 1;
        let output = |trace: &Trace| {
            let data = trace.output();
            Logits::new(trace.shape(stages, last, data.len()), data)
        };
        let logits = traces.iter().map(output).collect();
        Ok(Self { stages, traces, logits, plan: plan.clone(), backward_ops: Cell::new(0) })
    }

    fn kept(&self, site: Site) -> Result<usize> {
        if site != self.outputs() && !self.plan.keep.contains(&site) {
            return Err(Error::Request(format!("{site} was not kept")));
        }
        stage_of(self.stages, site)
    }
}

impl Pass for ToyPass<'_> {
    fn outputs(&self) -> Site {
        output(self.stages)
    }

    fn logits(&self) -> &[Logits] {
        &self.logits
    }

    fn value(&self, site: Site, row: usize) -> Result<Array> {
        let trace = &self.traces[row];
        Ok(trace.array(self.stages, self.kept(site)?, &trace.values))
    }

    fn backward(&self, seeds: &[Seed], wrt: &[Site], rules: Rules) -> Result<Vec<Vec<Array>>> {
        if rules != Rules::Gradient {
            return Err(Error::Unsupported(format!("the toy knows the gradient only, not {rules:?}")));
        }
        if self.plan.record == Record::Nothing {
            return Err(Error::Request("the pass did not record".into()));
        }
        let stages = wrt.iter().map(|site| self.kept(*site)).collect::<Result<Vec<usize>>>()?;
        let mut found = vec![Vec::new(); wrt.len()];
        for (row, trace) in self.traces.iter().enumerate() {
            let mut cotangents = trace.zeros();
            for seed in seeds.iter().filter(|seed| seed.row == row) {
                let own = &mut cotangents[self.kept(seed.site)?];
                own.iter_mut().zip(&seed.cotangent.data).for_each(|(a, b)| *a += f64::from(*b));
            }
            trace.pull_back(self.stages, &mut cotangents);
            for (found, stage) in found.iter_mut().zip(&stages) {
                found.push(trace.array(self.stages, *stage, &cotangents));
            }
        }
        self.backward_ops.set(self.backward_ops.get() + self.stages.sites().len() * self.traces.len());
        Ok(found)
    }

    fn work(&self) -> Work {
        let ops: usize = self.traces.iter().map(|trace| self.stages.sites().len() - trace.first).sum();
        let elements: usize = self.traces.iter().flat_map(|trace| &trace.values).map(Vec::len).sum();
        Work { ops: ops + self.backward_ops.get(), flops: 0, peak_bytes: elements * size_of::<f64>() }
    }
}

/// One row: every stage's value after edits, and how much of each element's movement survived its edits.
pub(super) struct Trace {
    tokens: usize,
    /// The first stage that was computed.
    first: usize,
    values: Values,
    passed: Values,
}

impl Trace {
    pub(super) fn run(stages: &dyn Stages, row: &Row, start: Option<Site>) -> Result<Self> {
        let ids: Vec<u32> = row.encoded.tokens.iter().map(|token| token.id).collect();
        let first = start.map_or(Ok(0), |site| stage_of(stages, site).map(|stage| stage + 1))?;
        let none = || vec![Vec::new(); stages.sites().len()];
        let mut trace = Self { tokens: ids.len(), first, values: none(), passed: none() };
        for (stage, site) in stages.sites().iter().map(|info| info.site).enumerate() {
            let edits = row.edits.iter().filter(|edit| edit.site == site);
            if stage + 1 < first {
                let none = edits.count() == 0;
                none.then_some(()).ok_or_else(|| Error::Request(format!("{site} lies before the start")))?;
                continue;
            }
            let mut value = match &row.start {
                Some(start) if stage + 1 == first => start.data.iter().map(|&x| f64::from(x)).collect(),
                None if stage + 1 == first => return Err(Error::Request("a row brings no start".into())),
                _ => stages.stage(stage, &ids, &trace.values),
            };
            let mut passed = vec![1.0; value.len()];
            for edit in edits {
                apply(edit, &trace.shape(stages, stage, value.len()), &mut value, &mut passed)?;
            }
            trace.values[stage] = value;
            trace.passed[stage] = passed;
        }
        Ok(trace)
    }

    /// The last stage's value.
    pub(super) fn output(&self) -> Vec<f64> {
        self.values.last().cloned().unwrap_or_default()
    }

    /// How every stage moves when one moves along a direction.
    pub(super) fn tangents(&self, stages: &dyn Stages, from: usize, direction: &Array) -> Values {
        let mut moves = self.zeros();
        moves[from] = direction.data.iter().map(|&x| f64::from(x)).collect();
        for stage in from + 1..self.values.len() {
            let moved = stages.tangent(stage, &self.values, &moves);
            moves[stage] = moved.iter().zip(&self.passed[stage]).map(|(m, share)| m * share).collect();
        }
        moves
    }

    fn pull_back(&self, stages: &dyn Stages, cotangents: &mut Values) {
        for stage in (self.first..self.values.len()).rev() {
            let own = cotangents[stage].iter().zip(&self.passed[stage]).map(|(c, share)| c * share);
            let own: Vec<f64> = own.collect();
            stages.pull(stage, &self.values, &own, cotangents);
        }
    }

    fn zeros(&self) -> Values {
        self.values.iter().map(|value| vec![0.0; value.len()]).collect()
    }

    pub(super) fn array(&self, stages: &dyn Stages, stage: usize, values: &Values) -> Array {
        let data: Vec<f32> = values[stage].iter().map(|&x| x as f32).collect();
        Array { shape: self.shape(stages, stage, data.len()), data }
    }

    fn shape(&self, stages: &dyn Stages, stage: usize, elements: usize) -> Vec<usize> {
        let by_token = stages.sites().iter().nth(stage).is_some_and(|info| info.axes[0] == Axis::Token);
        if by_token { vec![self.tokens, elements / self.tokens.max(1)] } else { vec![elements] }
    }
}

/// The last site.
pub(super) fn output(stages: &dyn Stages) -> Site {
    stages.sites().iter().next_back().map_or(Site::named("logits"), |info| info.site)
}

pub(super) fn stage_of(stages: &dyn Stages, site: Site) -> Result<usize> {
    let found = stages.sites().iter().position(|own| own.site == site);
    found.ok_or_else(|| Error::Request(format!("the toy has no site {site}")))
}

fn apply(edit: &Edit, shape: &[usize], value: &mut [f64], passed: &mut [f64]) -> Result<()> {
    for (k, i) in edit.elements(shape)?.into_iter().enumerate() {
        let given = |values: &Array| f64::from(values.data[if values.len() == 1 { 0 } else { k }]);
        let (share, offset) = match &edit.change {
            Change::Set(values) => (0.0, given(values)),
            Change::Add(values) => (1.0, given(values)),
            Change::Scale(by) => (f64::from(*by), 0.0),
            Change::Zero => (0.0, 0.0),
            Change::Mix { share, toward } => (1.0 - f64::from(*share), f64::from(*share) * given(toward)),
        };
        value[i] = share * value[i] + offset;
        passed[i] *= share;
    }
    Ok(())
}
