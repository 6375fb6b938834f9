//! One path a token (a sentence, where a place has those): only its own row goes from the baseline to the text, all others
//! stay as the text has them.
//! J. Enguehard, *Sequential integrated gradients*, 2023.
//!
//! s_ij = (x_ij − x′_ij) · ∫₀¹ ∂F/∂x_ij (xⁱ + α(x − xⁱ)) dα, with xⁱ the text whose row i is the baseline's. So Σ_j s_ij =
//! F(x) − F(xⁱ). All paths run together.

use super::integral::{Effort, Growing, Integral, share};
use super::path::{Line, Sum, found, times};
use crate::Question;
use crate::quadrature::QuadratureRule;
use exegete_core::{
    Array, Change, Edit, Error, Explaining, Explanation, Pass, Pick, Plan, Readout, Result, Row, Rules,
};
use std::collections::HashMap;

/// What the paths from each baseline bring.
pub(super) fn integrals(job: &Question<'_>, effort: Effort) -> Result<Vec<Integral>> {
    let info = job.info(job.site)?;
    let axis = info.axes.iter().rposition(|axis| axis.is_position()).ok_or_else(|| {
        Error::Request(format!(
            "path=sequential needs a place with positions of the text, and {} has none; choose another site",
            job.site
        ))
    })?;
    let text = job.read_own(&[job.site], &[job.site], Rules::Gradient)?;
    let line = |line: &Line| {
        let bundle = Bundle::new(job, axis, &text, line)?;
        match effort {
            Effort::Fixed(rule, count) => bundle.fixed(rule, count),
            Effort::Tolerance(tolerance) => bundle.adaptive(tolerance),
        }
    };
    Line::all(job, job.site)?.iter().map(line).collect()
}

/// The paths of all tokens that differ from one baseline.
struct Bundle<'a> {
    job: &'a Question<'a>,
    axis: usize,
    /// What is known of the text, the common end of all paths.
    text: &'a Explanation,
    paths: Vec<TokenPath>,
}

/// The path of one token.
struct TokenPath {
    token: usize,
    /// Its row of x′; none where that is zero.
    start: Option<Array>,
    /// Its row of x − x′.
    delta: Array,
}

/// What was found at a point of a path: which path, where, F, and (x − x′) ⊙ gradient of its own row.
struct Point {
    path: usize,
    alpha: f64,
    value: f64,
    product: Array,
}

impl<'a> Bundle<'a> {
    fn new(job: &'a Question<'a>, axis: usize, text: &'a Explanation, line: &Line) -> Result<Self> {
        let end = found(text.values.first())?;
        let path = |token| {
            let start = line.start.as_ref().map(|start| row_of(start, axis, token));
            let end = row_of(end, axis, token);
            let delta = start.as_ref().map_or_else(|| end.clone(), |start| end.plus(start, -1.0));
            TokenPath { token, start: start.filter(|row| row.max_abs() > 0.0), delta }
        };
        // A token that is its own baseline has nothing to explain.
        let paths = (0..end.shape[axis]).map(path).filter(|path| path.delta.max_abs() > 0.0).collect();
        Ok(Self { job, axis, text, paths })
    }

    /// The text with one token's row somewhere on its path.
    fn row(&self, path: usize, alpha: f64) -> Row {
        let TokenPath { token, start, .. } = &self.paths[path];
        let change = match start {
            None => Change::Scale(alpha as f32),
            Some(start) => Change::Mix { share: (1.0 - alpha) as f32, toward: start.clone() },
        };
        let mut at = vec![Pick::All; self.axis];
        at.push(Pick::Only(vec![*token]));
        self.job.row.clone().edit(Edit { site: self.job.site, at, change })
    }

    /// Runs points of paths together. The end of every path is the text itself, which was run before.
    fn run(&self, points: &[(usize, f64)], mut take: impl FnMut(Point)) -> Result<()> {
        let (job, sites) = (self.job, [self.job.site]);
        let rest: Vec<(usize, f64)> = points.iter().copied().filter(|(_, alpha)| *alpha != 1.0).collect();
        let slope = found(self.text.gradients.first())?;
        let mut point = |(path, alpha): (usize, f64), value: f64, slope: Array| {
            take(Point { path, alpha, value, product: times(slope, &self.paths[path].delta) });
        };
        for &(path, alpha) in points.iter().filter(|(_, alpha)| *alpha == 1.0) {
            point((path, alpha), self.text.value, row_of(slope, self.axis, self.paths[path].token));
        }
        let readout = OwnSlope { inner: job.readout(&[], &sites, Rules::Gradient)?, axis: self.axis };
        let mut places = rest.iter().copied();
        let rows = rest.iter().map(|&(path, alpha)| Ok(self.row(path, alpha)));
        job.driver.read(job.model, rows, &readout, &mut |(value, slope)| {
            point(found(places.next())?, value, slope);
            Ok(())
        })
    }

    fn fixed(&self, rule: QuadratureRule, count: usize) -> Result<Integral> {
        let rule = rule.points(count);
        // F at the start is asked for even where the rule does not: it says what a path should sum to.
        let start = rule.iter().all(|(alpha, _)| *alpha != 0.0).then_some((0.0, 0.0));
        let rule: Vec<(f64, f64)> = rule.into_iter().chain(start).collect();
        let points: Vec<(usize, f64)> = (0..self.paths.len())
            .flat_map(|path| rule.iter().map(move |(alpha, _)| (path, *alpha)))
            .collect();
        let weights: HashMap<u64, f64> =
            rule.iter().map(|(alpha, weight)| (alpha.to_bits(), *weight)).collect();
        let (mut sums, mut starts) = (self.paths.iter().map(|_| Sum::default()).collect::<Vec<_>>(), 0.0);
        self.run(&points, |Point { path, alpha, value, product }| {
            sums[path].add(&product, weights.get(&alpha.to_bits()).copied().unwrap_or(0.0));
            starts += if alpha == 0.0 { value } else { 0.0 };
        })?;
        let rows = sums.into_iter().map(Sum::array).collect::<Result<Vec<Array>>>()?;
        let difference = self.paths.len() as f64 * self.text.value - starts;
        let points = count * self.paths.len();
        Ok(Integral { scores: self.scores(&rows)?, difference, points, change: None, note: None })
    }

    /// Every path gets more points until its own token's gap and change are small beside the largest token.
    fn adaptive(&self, tolerance: f64) -> Result<Integral> {
        let mut all: Vec<Walk> = self.paths.iter().map(|_| Walk::new()).collect();
        let bytes = self.job.driver.memory_bytes / 2 / all.len().max(1);
        loop {
            let next = |(path, walk): (usize, &Walk)| {
                walk.growing.next().iter().map(|&alpha| (path, alpha)).collect::<Vec<_>>()
            };
            let points: Vec<(usize, f64)> = all.iter().enumerate().flat_map(next).collect();
            self.run(&points, |point| {
                let walk = &mut all[point.path];
                walk.start = if point.alpha == 0.0 { Some(point.value) } else { walk.start };
                walk.new.push((point.alpha, point.product));
            })?;
            all.iter_mut().try_for_each(|walk| walk.update(self.text.value))?;
            let largest = all.iter().fold(0.0, |top: f64, walk| top.max(walk.sum.abs()));
            let wanting = all.iter_mut().filter(|walk| walk.wants(largest) > tolerance);
            if wanting.map(|walk| walk.growing.grow(bytes)).filter(|&more| more).count() == 0 {
                return self.integral(&all, largest, tolerance);
            }
        }
    }

    fn integral(&self, all: &[Walk], largest: f64, tolerance: f64) -> Result<Integral> {
        let rows: Vec<Array> = all.iter().map(|walk| walk.scores.clone()).collect();
        let short: Vec<&Walk> = all.iter().filter(|walk| walk.wants(largest) > tolerance).collect();
        let change = all.iter().fold(0.0, |top: f64, walk| top.max(share(walk.change, largest)));
        let note = short.iter().max_by_key(|walk| walk.growing.points()).map(|walk| {
            format!(
                "the tolerance was not reached on {} of {} paths with up to {} points{}; the largest change of a token was \
                 {:.1} %",
                short.len(),
                all.len(),
                walk.growing.points(),
                walk.growing.end(),
                100.0 * change
            )
        });
        Ok(Integral {
            scores: self.scores(&rows)?,
            difference: all.iter().map(|walk| walk.difference).sum(),
            points: all.iter().map(|walk| walk.growing.points()).sum(),
            change: Some(change),
            note,
        })
    }

    /// The rows of all paths where they belong; tokens without a path have zeros.
    fn scores(&self, rows: &[Array]) -> Result<Array> {
        let mut scores = Array::zeros(found(self.text.values.first())?.shape.clone());
        for (path, row) in self.paths.iter().zip(rows) {
            let inner: usize = scores.shape[self.axis + 1..].iter().product();
            let places = starts_of(&scores, self.axis, path.token);
            for (at, part) in places.into_iter().zip(row.data.chunks(inner.max(1))) {
                scores.data[at..][..inner].copy_from_slice(part);
            }
        }
        Ok(scores)
    }
}

/// The integral along one token's path so far.
struct Walk {
    growing: Growing,
    /// What the points that were asked for gave, in any order.
    new: Vec<(f64, Array)>,
    /// F at its start.
    start: Option<f64>,
    scores: Array,
    /// The token's score, how far it is from F(x) − F(xⁱ), and how far it moved last.
    sum: f64,
    gap: f64,
    change: f64,
    difference: f64,
}

impl Walk {
    fn new() -> Self {
        let (growing, scores) = (Growing::new(), Array::zeros([0]));
        Self {
            growing,
            new: Vec::new(),
            start: None,
            scores,
            sum: 0.0,
            gap: 0.0,
            change: 0.0,
            difference: 0.0,
        }
    }

    /// Takes the new points in, in the order in which they were asked for.
    fn update(&mut self, end: f64) -> Result<()> {
        if self.new.is_empty() {
            return Ok(());
        }
        let mut products = Vec::new();
        for alpha in self.growing.next() {
            let place = found(self.new.iter().position(|(at, _)| at == alpha))?;
            products.push(self.new.swap_remove(place).1);
        }
        let total = |row: &Array| row.data.iter().map(|&x| f64::from(x)).sum::<f64>();
        self.growing.add(products, |row| vec![total(row)]);
        let [scores, before] = self.growing.levels()?;
        self.sum = total(&scores);
        self.difference = end - found(self.start)?;
        self.gap = (self.sum - self.difference).abs();
        self.change = (self.sum - total(&before)).abs();
        self.scores = scores;
        Ok(())
    }

    /// How far it is from being good enough, beside the largest token.
    fn wants(&self, largest: f64) -> f64 {
        share(self.gap.max(self.change), largest)
    }
}

/// F of each row and its slope at the token that the row's last edit moves.
struct OwnSlope<'a> {
    inner: Explaining<'a>,
    axis: usize,
}

impl Readout for OwnSlope<'_> {
    type Value = (f64, Array);

    fn plan(&self) -> Plan {
        self.inner.plan()
    }

    fn places(&self) -> Option<Vec<usize>> {
        self.inner.places()
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Self::Value>> {
        let own = |(row, read): (&Row, Explanation)| {
            let Some(Pick::Only(tokens)) = row.edits.last().and_then(|edit| edit.at.get(self.axis)) else {
                return Err(Error::Model("a row that moves no token".into()));
            };
            let slope = found(read.gradients.first())?;
            Ok((read.value, row_of(slope, self.axis, *found(tokens.first())?)))
        };
        rows.iter().zip(self.inner.read(rows, pass)?).map(own).collect()
    }
}

/// Where the parts of one token begin.
fn starts_of(values: &Array, axis: usize, token: usize) -> Vec<usize> {
    let inner: usize = values.shape[axis + 1..].iter().product();
    let outer: usize = values.shape[..axis].iter().product();
    (0..outer).map(|at| (at * values.shape[axis] + token) * inner).collect()
}

/// What belongs to one token, part after part.
fn row_of(values: &Array, axis: usize, token: usize) -> Array {
    let inner: usize = values.shape[axis + 1..].iter().product();
    let data: Vec<f32> = starts_of(values, axis, token)
        .into_iter()
        .flat_map(|at| values.data[at..][..inner].to_vec())
        .collect();
    Array { shape: vec![data.len()], data }
}
