//! A checked request: rows in, models trained one after the other, tables and maps out.

use super::arms::{Arm, ArmKind, named, train};
use super::measure::{ArmResult, TrainedArm, closer, measurements};
use super::rows::{self, DeceiveRows};
use super::{AttentionDeceiveRequest, DeceivePenalty, published};
use crate::methods::deceive::{DrawnModel, HiddenPlace, Measurements, notices, weight_maps};
use crate::report::{Cell, Item, Picture, Provenance, Report, SCHEMA, Shape, Table};
use crate::request::cost::duration;
use crate::request::{
    Listener, Notice, RunIdentity, Stop, check_stop, differences, needed, record, refuse_reads,
};
use crate::{Card, Example, Spent, partial};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::time::Instant;

/// How many texts are drawn as maps.
const MAPS: usize = 4;
/// What the folder of models says it belongs to.
const IDENTITY: &str = "deceive.json";

/// Trains every model into `work` and says what they come to. What an earlier run left there is taken up.
pub fn run(
    request: &AttentionDeceiveRequest,
    work: &Path,
    stop: &Stop,
    tell: Listener<'_>,
) -> Result<Report> {
    let train = needed(&request.train, "there are no rows to learn from; give them with --train FILE")?;
    let dev = needed(&request.dev, "there are no rows to measure on; give them with --dev FILE")?;
    request.check()?;
    let recorded = record::files(&request.named_files())?;
    let rows = DeceiveRows::read(request, train, dev)?;
    refuse_reads(&rows::FILES.map(|name| rows::file(work, name)), &request.reads())?;
    claim(request, work)?;
    rows.write(work)?;
    let mut session =
        DeceiveRun { request, rows, work, stop, started: Instant::now(), spent: Spent::default() };
    let found = session.arms(tell)?;
    let mut items = vec![Item::Table(session.table(&found)), Item::Table(summary(&found))];
    items.extend(published::table(request, &session.rows, &found).map(Item::Table));
    let card = session.closer_items(&mut items, tell)?;
    let request_recorded = record::recorded("attention deceive", request, recorded);
    let seconds = session.started.elapsed().as_secs_f64();
    let provenance = Provenance::new(&card, request.seed, request.resources.count(), seconds, session.spent);
    Ok(Report { schema: SCHEMA.to_owned(), provenance, request: request_recorded, items })
}

/// Says in the folder of models whose it is; an error where it is another run's.
fn claim(request: &AttentionDeceiveRequest, work: &Path) -> Result<()> {
    let own = request.identity()?;
    let (path, folder) = (work.join(IDENTITY), work.display());
    if let Ok(earlier) = std::fs::read_to_string(&path) {
        let told = match serde_json::from_str::<RunIdentity>(&earlier) {
            Ok(then) if then == own => return Ok(()),
            Ok(then) => format!(", which differs in: {}", differences(&then, &own).join(", ")),
            Err(_) => String::new(),
        };
        bail!(
            "{folder}: holds the models of another run{told}; finish that one, remove it or give another --work"
        );
    }
    // The folder may be removed in the end, and with it whatever else it holds.
    if std::fs::read_dir(work).is_ok_and(|mut entries| entries.next().is_some()) {
        bail!("{folder}: holds something else than a run's models; give a folder of its own with --work");
    }
    std::fs::create_dir_all(work).with_context(|| format!("{folder}: cannot be made"))?;
    partial::write(&path, serde_json::to_string_pretty(&own)?.as_bytes())
        .with_context(|| format!("{}: cannot be written", path.display()))
}

/// A run with its rows read.
struct DeceiveRun<'a> {
    request: &'a AttentionDeceiveRequest,
    rows: DeceiveRows,
    work: &'a Path,
    stop: &'a Stop,
    started: Instant,
    spent: Spent,
}

impl DeceiveRun<'_> {
    /// Trains all models and measures each.
    fn arms(&mut self, tell: Listener<'_>) -> Result<Vec<ArmResult>> {
        let Self { request, rows, work, stop, .. } = self;
        let (mut found, arms) = (Vec::new(), Arm::all(request)?);
        let (mut seconds, mut trained_now) = (0.0, 0);
        for (number, &arm) in arms.iter().enumerate() {
            check_stop(stop)?;
            tell(Notice::Stage(&format!("model {} of {}: {}", number + 1, arms.len(), arm.said())));
            let (first, began, mut learned) = (number == 0, Instant::now(), false);
            let folder = train(request, arm, work, &rows.words, stop, &mut |notice| {
                learned |= matches!(notice, Notice::Training(_));
                // What is said of the rows and settings is the same for every model.
                if first || !matches!(notice, Notice::Note(_) | Notice::Warning(_)) {
                    tell(notice);
                }
            });
            let folder = folder.with_context(|| arm.said())?;
            let trained = TrainedArm::open(request, arm, &folder, rows, stop)?;
            let examples = if arm.kind == ArmKind::Removed { &rows.removed[1] } else { &rows.dev };
            let mut own = vec![trained.result(request, examples, rows, false)?];
            if arm.lambda().is_some() {
                own.push(trained.result(request, examples, rows, true)?);
            }
            self.spent = add(self.spent, trained.driver.spent());
            // Models of an earlier run take no time, and say nothing about how long the others will.
            if learned {
                (seconds, trained_now) = (seconds + began.elapsed().as_secs_f64(), trained_now + 1);
            }
            let each = (trained_now > 0).then(|| seconds / f64::from(trained_now));
            tell(Notice::Note(&said(number + 1, arms.len(), arm, &own[0], each)));
            found.extend(own);
        }
        Ok(found)
    }

    /// The table of all models.
    fn table(&self, found: &[ArmResult]) -> Table {
        let worst = self.request.penalty == DeceivePenalty::Worst;
        let mut columns = vec!["arm", "lambda", "seed", "accuracy", "mass"];
        columns.extend(worst.then_some("largest"));
        let cells = |result: &ArmResult| {
            let mut cells = vec![
                Cell::Word(result.arm.to_owned()),
                number(result.lambda),
                Cell::Number(result.seed as f64),
                Cell::Number(result.accuracy),
                number(result.mass),
            ];
            cells.extend(worst.then(|| number(result.largest)));
            cells
        };
        Table {
            name: "arms".to_owned(),
            title: "What attention shows of impermissible words, and what it costs".to_owned(),
            columns: columns.into_iter().map(str::to_owned).collect(),
            rows: found.iter().map(cells).collect(),
            notes: self.notes(found),
            pictures: vec![Picture {
                title: "weight of impermissible words and accuracy".to_owned(),
                shape: Shape::Scatter,
                x: "mass".to_owned(),
                y: Some("accuracy".to_owned()),
                series: Some("arm".to_owned()),
                of: Some("lambda".to_owned()),
                x_title: Some("mass: weight of impermissible words".to_owned()),
                y_title: Some("accuracy on --dev".to_owned()),
            }],
        }
    }

    fn notes(&self, found: &[ArmResult]) -> Vec<String> {
        let (dev, train) = (self.rows.dev.len(), self.rows.train.len());
        let mut notes = vec![format!(
            "{train} rows to learn from, {dev} to measure on; the epoch of the lowest loss on these, penalty included, is kept"
        )];
        notes.push(if self.request.writes() {
            "mass: the weight of the source words that a target word comes from, mean over target words and rows; accuracy: the share of \
             target places, ends included, that are written rightly without help"
                .to_owned()
        } else {
            "mass: the weight of impermissible words, mean over rows that have some and others too".to_owned()
        });
        let mixed = found.iter().filter(|result| result.mass.is_some()).map(|result| result.rows).max();
        if let Some(gone) = mixed.map(|mixed| dev.saturating_sub(mixed)).filter(|&gone| gone > 0) {
            notes.push(format!(
                "{gone} of {dev} rows have no impermissible word or no other: no penalty, and not in the mass"
            ));
        }
        let emptied = self.rows.train.len() - self.rows.removed[0].len();
        if emptied > 0 && !self.request.writes() {
            notes.push(format!("removed: {emptied} rows to learn from have no other word and are left out"));
        }
        notes.push(
            "zeroed: the trained model, the weight of impermissible words set to 0 and shared among the others; removed: trained without \
             the words; uniform: equal weights; none: no attention"
                .to_owned(),
        );
        if self.request.kind.is_none() {
            notes.push(
                "of a transformer: the first token's row of the last layer over all tokens, mean over heads; uniform looks at all tokens \
                 alike there"
                    .to_owned(),
            );
        }
        if self.request.restricted {
            notes.push(
                "restricted: in every layer impermissible words and the others read nothing of each other"
                    .to_owned(),
            );
        }
        notes
    }

    /// What notices the deception, and maps of some texts; the card of the model that deceives most.
    fn closer_items(&mut self, items: &mut Vec<Item>, tell: Listener<'_>) -> Result<Card> {
        let request = self.request;
        let lambdas = request.lambdas()?;
        let (honest, deceiving) = (lambdas[0], lambdas[lambdas.len() - 1]);
        let first: Vec<TrainedArm> =
            lambdas.iter().map(|&lambda| self.open(lambda, request.seed)).collect::<Result<_>>()?;
        let last = &first[first.len() - 1];
        let texts = closer(request, &*last.model, &self.rows)?;
        if lambdas.len() > 1 && !request.writes() && !texts.is_empty() {
            let sides = [self.measured(honest, &texts, tell)?, self.measured(deceiving, &texts, tell)?];
            let mut table = notices(&sides[0], &sides[1], request.seed);
            table.notes = self.notices_notes(honest, deceiving, texts.len());
            items.push(Item::Table(table));
        }
        for example in texts.iter().take(MAPS) {
            items.extend(self.maps(&first, example)?);
        }
        self.spent = first.iter().fold(self.spent, |sum, trained| add(sum, trained.driver.spent()));
        Ok(last.model.card().clone())
    }

    fn open(&self, lambda: f64, seed: u64) -> Result<TrainedArm> {
        let arm = Arm { kind: ArmKind::Trained(lambda), seed };
        TrainedArm::open(self.request, arm, &arm.folder(self.work), &self.rows, self.stop)
    }

    /// What is measured of the models of every seed with this λ.
    fn measured(&mut self, lambda: f64, texts: &[Example], tell: Listener<'_>) -> Result<Vec<Measurements>> {
        let mut found = Vec::new();
        for seed in self.request.seed..self.request.seed.saturating_add(self.request.seeds as u64) {
            let trained = self.open(lambda, seed)?;
            tell(Notice::Stage(&format!("what notices {}, seed {seed}", named(lambda))));
            found.push(measurements(self.request, &trained, texts, tell)?);
            self.spent = add(self.spent, trained.driver.spent());
        }
        Ok(found)
    }

    fn notices_notes(&self, honest: f64, deceiving: f64, texts: usize) -> Vec<String> {
        let over = if self.request.seeds >= 3 { "seeds" } else { "texts" };
        let mut notes = vec![
            format!(
                "honest: {}; deceived: {}; {texts} texts of --dev drawn by the seed",
                named(honest),
                named(deceiving)
            ),
            format!("95 % intervals over {over}; notices: they do not overlap"),
            "card: the evidence for attention as an explanation; the others: the experiments of attention test".to_owned(),
        ];
        if self.request.kind.is_none() {
            notes.push(
                "permutation and adversary are left out: a transformer would run thousands of times a text"
                    .to_owned(),
            );
        }
        notes
    }

    /// The weights of one text under every λ, first seed.
    fn maps(&self, models: &[TrainedArm], example: &Example) -> Result<Vec<Item>> {
        let Some(first) = models.first() else { return Ok(Vec::new()) };
        let place = HiddenPlace::find(&*first.model)?;
        let encoded = first.model.encoded(example)?;
        let marked = self.rows.words.tokens(&encoded);
        let hidden: Vec<&str> = encoded
            .tokens
            .iter()
            .zip(&marked)
            .filter(|(_, marked)| **marked)
            .filter_map(|(token, _)| Some(encoded.slice(token.span?)))
            .collect();
        let mut notes = vec!["attention of the same text in each model".to_owned()];
        if !hidden.is_empty() {
            notes.push(format!("impermissible: {}", hidden.join(" ")));
        }
        let drawn: Vec<DrawnModel<'_>> = models
            .iter()
            .map(|trained| DrawnModel {
                name: named(trained.arm.lambda().unwrap_or_default()),
                model: &*trained.model,
                driver: &trained.driver,
            })
            .collect();
        Ok(weight_maps(&drawn, place, &encoded, &notes)?)
    }
}

/// How far the run is, in one line.
fn said(done: usize, all: usize, arm: Arm, result: &ArmResult, seconds_each: Option<f64>) -> String {
    let mass = result.mass.map_or_else(String::new, |mass| format!(", mass {mass:.4}"));
    let left = seconds_each.filter(|_| done < all).map_or_else(String::new, |seconds| {
        format!("; about {} left", duration(seconds * (all - done) as f64))
    });
    format!("{done} of {all} models ({}): accuracy {:.4}{mass}{left}", arm.said(), result.accuracy)
}

/// Accuracy and mass of each arm over its seeds.
fn summary(found: &[ArmResult]) -> Table {
    use crate::methods::statistics::interval::{Interval, over_seeds};
    let mut groups: Vec<(&str, Option<f64>)> = Vec::new();
    for result in found {
        if !groups.contains(&(result.arm, result.lambda)) {
            groups.push((result.arm, result.lambda));
        }
    }
    let estimate = |values: Vec<f64>| match (over_seeds(&values), &values[..]) {
        (Some(Interval { value, lower, upper }), _) => Cell::Interval { value, lower, upper },
        (None, [one]) => Cell::Number(*one),
        _ => Cell::Empty,
    };
    let row = |&(arm, lambda): &(&str, Option<f64>)| {
        let own = || found.iter().filter(move |result| (result.arm, result.lambda) == (arm, lambda));
        vec![
            Cell::Word(arm.to_owned()),
            number(lambda),
            estimate(own().map(|result| result.accuracy).collect()),
            estimate(own().filter_map(|result| result.mass).collect()),
        ]
    };
    Table {
        name: "seeds".to_owned(),
        title: "The same over all seeds".to_owned(),
        columns: ["arm", "lambda", "accuracy", "mass"].map(str::to_owned).to_vec(),
        rows: groups.iter().map(row).collect(),
        notes: vec!["means over seeds with 95 % intervals (Student's t)".to_owned()],
        pictures: Vec::new(),
    }
}

fn number(value: Option<f64>) -> Cell {
    value.map_or(Cell::Empty, Cell::Number)
}

/// What two drivers spent together.
fn add(a: Spent, b: Spent) -> Spent {
    Spent {
        forward_rows: a.forward_rows + b.forward_rows,
        remembered_rows: a.remembered_rows + b.remembered_rows,
        backward_rows: a.backward_rows + b.backward_rows,
        flops: a.flops + b.flops,
        ops: a.ops + b.ops,
        peak_bytes: a.peak_bytes.max(b.peak_bytes),
    }
}
