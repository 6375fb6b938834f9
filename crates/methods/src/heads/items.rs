//! Rows and tables of what heads do.

use super::disable::{HeadOff, TextLoss};
use super::divergence::{HeadDivergence, scaled};
use super::norms::{ALL, NormSurvey};
use super::pattern::HeadHabits;
use super::relations::RelationHead;
use super::{HeadGrid, TokenPlaces};
use crate::Stream;
use crate::statistics::interval::{Interval, bootstrap, mean};
use exegete_core::Array;
use exegete_core::report::{Cell, Item, Picture, ReportRow, Rows, Shape, Table};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Patterns and divergences of all heads over a corpus.
#[derive(Debug, Clone)]
pub struct HeadSurvey {
    grid: HeadGrid,
    found: HeadFindings,
}

/// What some texts show of all heads, summed up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeadFindings {
    habits: Vec<HeadHabits>,
    divergence: HeadDivergence,
    importance: Vec<f64>,
    attributed: usize,
}

impl HeadFindings {
    /// Of so many heads, before any text.
    pub fn new(heads: usize) -> Self {
        let (habits, importance) = (vec![HeadHabits::default(); heads], vec![0.0; heads]);
        Self { habits, divergence: HeadDivergence::new(heads), importance, attributed: 0 }
    }

    /// Adds a text by its maps.
    pub fn add(&mut self, maps: &[Array], places: &TokenPlaces) {
        let heads = maps.iter().flat_map(|map| map.data.chunks(places.len() * places.len()));
        self.habits.iter_mut().zip(heads).for_each(|(habits, map)| habits.add(&HeadHabits::of(map, places)));
        self.divergence.add(maps, places);
    }

    /// Adds how important each head is for a text.
    pub fn add_importance(&mut self, importance: &[f64]) {
        self.importance.iter_mut().zip(importance).for_each(|(sum, own)| *sum += own);
        self.attributed += 1;
    }
}

impl HeadSurvey {
    /// Of the heads of a model, before any text.
    pub fn new(grid: &HeadGrid) -> Self {
        Self { grid: grid.clone(), found: HeadFindings::new(grid.count()) }
    }

    /// Adds what some texts show.
    pub fn add(&mut self, texts: &HeadFindings) {
        let HeadFindings { habits, divergence, importance, attributed } = &mut self.found;
        habits.iter_mut().zip(&texts.habits).for_each(|(sum, own)| sum.add(own));
        divergence.join(&texts.divergence);
        importance.iter_mut().zip(&texts.importance).for_each(|(sum, own)| *sum += own);
        *attributed += texts.attributed;
    }

    /// The rows `heads` and the table `jsd`.
    pub fn items(&self) -> Vec<Item> {
        vec![Item::Rows(self.heads()), Item::Table(self.patterns()), Item::Table(self.jsd())]
    }

    fn heads(&self) -> Rows {
        let matrix = self.found.divergence.matrix();
        let row = |(index, habits): (usize, &HeadHabits)| {
            let ((layer, head), pattern) = (self.grid.place(index), habits.pattern());
            let row = ReportRow::default()
                .with("layer", layer)
                .with("head", head)
                .with("pattern", pattern.class)
                .with("detail", json!(pattern.detail))
                .with("token", json!(pattern.token))
                .with("entropy", habits.mean(habits.entropy))
                .with("relative_entropy", habits.mean(habits.relative_entropy))
                .with("distance", json!(habits.distance()))
                .with("markers", habits.special());
            let row = match self.found.attributed {
                0 => row,
                texts => row.with("importance", self.found.importance[index] / texts as f64),
            };
            row.with("jsd", json!(matrix[index]))
        };
        Rows {
            name: "heads".to_owned(),
            title: "Where each head looks".to_owned(),
            rows: self.found.habits.iter().enumerate().map(row).collect(),
            notes: vec![
                "means over the rows of the text's own tokens, then over texts; entropy in nats, relative to the largest that there can be; distance in tokens, among the text's own; markers: the weight on special tokens".to_owned(),
                "diagonal: at least .5 on one neighbour; vertical: at least .6 on markers, or on full stops and commas; block: within one text of a pair; broad: relative entropy of at least .78".to_owned(),
                "jsd in JSON: the divergence from every head, in the order of these rows".to_owned(),
            ],
            pictures: self.pictures(),
        }
    }

    fn pictures(&self) -> Vec<Picture> {
        let importance =
            (self.found.attributed > 0).then_some(("importance: largest attribution", "importance"));
        let grids = [
            ("relative entropy of each head", "relative_entropy"),
            ("distance of what each head looks at, in tokens", "distance"),
            ("weight on markers", "markers"),
        ];
        grids.into_iter().chain(importance).map(|(title, of)| grid_of(title, of)).collect()
    }

    /// How many heads of each pattern there are, by layer.
    fn patterns(&self) -> Table {
        let classes = ["diagonal", "vertical", "vertical+diagonal", "block", "heterogeneous"];
        let found: Vec<&str> = self.found.habits.iter().map(|habits| habits.pattern().class).collect();
        let row = |(layer, heads): (usize, &[&str])| {
            let count = |class: &&str| Cell::Number(heads.iter().filter(|own| *own == class).count() as f64);
            std::iter::once(Cell::Number(layer as f64)).chain(classes.iter().map(count)).collect()
        };
        Table {
            rows: found.chunks(self.grid.heads).enumerate().map(row).collect(),
            ..Table::new(
                "patterns",
                "How many heads of a layer have which pattern",
                &[&["layer"][..], &classes].concat(),
            )
        }
    }

    fn jsd(&self) -> Table {
        let matrix = self.found.divergence.matrix();
        let points = scaled(&matrix);
        let row = |(index, own): (usize, &Vec<f64>)| {
            let (layer, head) = self.grid.place(index);
            let others = (0..own.len()).filter(|&other| other != index);
            let nearest = others.reduce(|best, other| if own[other] < own[best] { other } else { best });
            let name = nearest.map(|nearest| self.grid.place(nearest));
            vec![
                Cell::Number(layer as f64),
                Cell::Number(head as f64),
                name.map_or(Cell::Empty, |(layer, head)| Cell::Word(format!("{layer}.{head}"))),
                nearest.map_or(Cell::Empty, |nearest| Cell::Number(own[nearest])),
                Cell::Number(points[index][0]),
                Cell::Number(points[index][1]),
                Cell::Word(layers_with(layer, self.grid.sites.len())),
                Cell::Word(format!("{layer}.{head}")),
            ]
        };
        let mut table = Table::new(
            "jsd",
            "How heads differ (Jensen-Shannon divergence of their rows)",
            &["layer", "head", "nearest", "jsd", "x", "y", "of", "layer.head"],
        );
        table.rows = matrix.iter().enumerate().map(row).collect();
        table.notes.push("nearest: the most similar head, and the divergence from it in nats; x and y: all divergences in the plane, by classical scaling".to_owned());
        table.pictures.push(Picture {
            title: "heads that look alike lie together".to_owned(),
            shape: Shape::Scatter,
            x: "x".to_owned(),
            y: Some("y".to_owned()),
            series: Some("of".to_owned()),
            of: Some("layer.head".to_owned()),
            ..Picture::default()
        });
        table
    }
}

/// How many colours and marks a picture has.
const APART: usize = 7;

/// What a layer is called in a picture, which of many layers draws neighbours alike.
fn layers_with(layer: usize, layers: usize) -> String {
    let together = layers.div_ceil(APART);
    let (first, last) =
        (layer / together * together, (layer / together * together + together).min(layers) - 1);
    if first == last { format!("layer {layer}") } else { format!("layers {first} to {last}") }
}

/// The published accuracies of BERT-base on the Wall Street Journal by the names of Universal Dependencies, best head and
/// best offset, chosen and measured on the same sentences. K. Clark and others, 2019, table 1.
const PUBLISHED: [(&str, f64, f64); 7] = [
    ("det", 0.943, 0.517),
    ("obj", 0.868, 0.400),
    ("aux", 0.811, 0.715),
    ("amod", 0.756, 0.683),
    ("nsubj", 0.585, 0.455),
    ("mark", 0.507, 0.145),
    ("all", 0.347, 0.267),
];

/// The table of dependency relations, a row a relation.
pub fn relations_table(found: &[RelationHead], grid: &HeadGrid) -> Table {
    let row = |found: &RelationHead| {
        let (layer, head) = grid.place(found.head);
        let published = PUBLISHED.iter().find(|(name, ..)| *name == found.relation);
        let number = |of: Option<f64>| of.map_or(Cell::Empty, Cell::Number);
        vec![
            Cell::Word(found.relation.clone()),
            Cell::Number(layer as f64),
            Cell::Number(head as f64),
            Cell::Word(found.direction.name().to_owned()),
            interval(Some(found.accuracy)),
            Cell::Word(format!("{:+}", found.offset)),
            interval(Some(found.offset_accuracy)),
            Cell::Number(found.difference.lower),
            Cell::Number(found.difference.upper),
            Cell::Word(if found.beats() { "yes" } else { "no" }.to_owned()),
            Cell::Number(found.cases as f64),
            number(published.map(|(_, head, _)| *head)),
            number(published.map(|(.., offset)| *offset)),
        ]
    };
    let columns = [
        "relation",
        "layer",
        "head",
        "direction",
        "accuracy",
        "offset",
        "offset_accuracy",
        "lower",
        "upper",
        "beats",
        "cases",
        "published",
        "published_offset",
    ];
    let mut table =
        Table::new("relations", "Which head follows which relation, against the best fixed offset", &columns);
    table.rows = found.iter().map(row).collect();
    table.notes = vec![
        "head, direction and offset are chosen on the odd sentences and measured on the even ones; intervals over sentences; lower and upper: of the difference, which a head that beats the offset has above 0".to_owned(),
        "published: BERT-base on Stanford Dependencies of the Wall Street Journal (Clark and others, 2019), chosen and measured on the same sentences; obj is their dobj".to_owned(),
    ];
    table
}

/// The table of heads that were disabled, a row a head.
pub fn disabled_table(losses: &[TextLoss], grid: &HeadGrid, how: HeadOff, labels: bool, seed: u64) -> Table {
    let columns = ["layer", "head", "how", "accuracy_change", "log_prob_change"];
    let mut table = Table::new("disabled", "What the model loses without each head", &columns);
    for index in 0..grid.count() {
        let (layer, head) = grid.place(index);
        let change = |of: &dyn Fn(&TextLoss) -> f64, which: u64| {
            let values: Vec<f64> = losses.iter().map(of).collect();
            let random = &mut Stream::HeadResamples.random(seed, 10_000 + 2 * index as u64 + which);
            interval(bootstrap(&values, |values| mean(values), random))
        };
        table.rows.push(vec![
            Cell::Number(layer as f64),
            Cell::Number(head as f64),
            Cell::Word(how.name().to_owned()),
            change(&|loss| loss.right[index], 0),
            change(&|loss| loss.log_prob[index], 1),
        ]);
    }
    let of =
        if labels { "the given label" } else { "the whole model's own answer, as the texts have no labels" };
    table.notes.push(format!("accuracy and mean log-probability of {of}, without the head minus with it; 95 % intervals over {} texts", losses.len()));
    table.pictures.push(grid_of("change of log-probability without each head", "log_prob_change"));
    table
}

/// The tables `layers`, `correlation`, `spearman` and `heads` and the rows `pairs` of norms.
pub fn norm_items(survey: &NormSurvey, grid: &HeadGrid, pairs: usize, seed: u64) -> Vec<Item> {
    let mut layers = Table::new(
        "layers",
        "Weight and norm by layer and category of what is looked at",
        &["layer", "category", "weight", "norm", "share", "merged_share"],
    );
    for layer in 0..grid.sites.len() {
        for (kind, name) in survey.categories.iter().enumerate() {
            let (sums, merged) = survey.layer(layer, kind);
            let numbers = [sums.weight, sums.norm, sums.share, merged].map(Cell::Number);
            layers.rows.push(
                [Cell::Number(layer as f64), Cell::Word(name.clone())].into_iter().chain(numbers).collect(),
            );
        }
    }
    layers.notes.push("weight: the sum of attention weights in the category; norm: of ‖α f(x)‖; share: the norm as a share of all; means over rows, texts and heads; merged_share: the share of ‖Σ_h α f_h(x)‖, the vector of all heads together".to_owned());
    for (title, y) in [("weight by layer", "weight"), ("share of norm by layer", "share")] {
        layers.pictures.push(Picture {
            title: title.to_owned(),
            shape: Shape::Lines,
            x: "layer".to_owned(),
            y: Some(y.to_owned()),
            series: Some("category".to_owned()),
            ..Picture::default()
        });
    }
    let kinds: Vec<Option<usize>> = (0..survey.categories.len()).map(Some).chain([None]).collect();
    let of_head = |head: usize| kinds.iter().map(|kind| survey.spearman(head, *kind)).collect();
    let found: Vec<Vec<Option<f64>>> = (0..grid.count()).map(of_head).collect();
    let (correlation, heads) = (norm_correlations(survey, &found), norm_heads(survey, grid, &found));
    vec![
        Item::Table(layers),
        Item::Table(correlation),
        Item::Table(norm_grid(survey, grid, &found)),
        Item::Table(heads),
        Item::Rows(norm_pairs(survey, grid, pairs, seed)),
    ]
}

/// The mean over heads of ρ, overall and by category.
fn norm_correlations(survey: &NormSurvey, by_head: &[Vec<Option<f64>>]) -> Table {
    let mut table = Table::new(
        "correlation",
        "Do heads weigh long vectors less? Spearman of α and ‖f(x)‖, mean over heads",
        &["category", "spearman", "heads"],
    );
    for at in 0..=survey.categories.len() {
        let found: Vec<f64> = by_head.iter().filter_map(|head| head[at]).collect();
        let name = survey.categories.get(at).map_or(ALL, |name| name);
        let value = if found.is_empty() { Cell::Empty } else { Cell::Number(mean(&found)) };
        table.rows.push(vec![Cell::Word(name.to_owned()), value, Cell::Number(found.len() as f64)]);
    }
    table.notes.push("published of BERT-base: negative, strongest on [SEP] (≈ −.7), about 0 on other words (Kobayashi and others, 2020)".to_owned());
    table
}

/// ρ of every head, a row a head, for the grids: all pairs first, then each category.
fn norm_grid(survey: &NormSurvey, grid: &HeadGrid, by_head: &[Vec<Option<f64>>]) -> Table {
    let kinds = survey.categories.len();
    let names: Vec<&str> = std::iter::once(ALL).chain(survey.categories.iter().map(String::as_str)).collect();
    let mut table = Table::new(
        "spearman",
        "Spearman of α and ‖f(x)‖, by head",
        &[&["layer", "head"][..], &names].concat(),
    );
    for (index, found) in by_head.iter().enumerate() {
        let (layer, head) = grid.place(index);
        let cells = std::iter::once(kinds).chain(0..kinds).map(|at| found[at]);
        let cells = cells.map(|value| value.map_or(Cell::Empty, Cell::Number));
        let place = [layer, head].map(|place| Cell::Number(place as f64));
        table.rows.push(place.into_iter().chain(cells).collect());
    }
    table.notes.push("empty: all weights or all lengths there are the same".to_owned());
    let title = |name: &str| match name {
        ALL => "Spearman of α and ‖f(x)‖".to_owned(),
        name => format!("the same where {name} is looked at"),
    };
    table.pictures = names.iter().map(|name| grid_of(&title(name), name)).collect();
    table
}

fn norm_heads(survey: &NormSurvey, grid: &HeadGrid, by_head: &[Vec<Option<f64>>]) -> Table {
    let columns = ["layer", "head", "category", "weight", "share", "spearman"];
    let mut table = Table::new("heads", "Weight, share of norm and Spearman of both, by head", &columns);
    for (index, by_category) in by_head.iter().enumerate() {
        let (layer, head) = grid.place(index);
        for (at, &spearman) in by_category.iter().enumerate() {
            let name = survey.categories.get(at).map_or(ALL, |name| name);
            let sums = (at < survey.categories.len()).then(|| survey.head(index, at));
            let number = |value: Option<f64>| value.map_or(Cell::Empty, Cell::Number);
            table.rows.push(vec![
                Cell::Number(layer as f64),
                Cell::Number(head as f64),
                Cell::Word(name.to_owned()),
                number(sums.map(|sums| sums.weight)),
                number(sums.map(|sums| sums.share)),
                number(spearman),
            ]);
        }
    }
    table.notes.push("spearman: of the weight α and the length of the vector ‖f(x)‖, over all pairs of tokens of all texts, ties at their mean rank".to_owned());
    table
}

fn norm_pairs(survey: &NormSurvey, grid: &HeadGrid, count: usize, seed: u64) -> Rows {
    let pairs = survey.pairs(count, seed);
    let row = |pair: &super::norms::NormPair| {
        let (layer, head) = grid.place(pair.head);
        ReportRow::default()
            .with("layer", layer)
            .with("head", head)
            .with("category", pair.category.clone())
            .with("weight", pair.weight)
            .with("norm", pair.norm)
    };
    Rows {
        name: "pairs".to_owned(),
        title: "Some pairs of tokens: the weight, and the length of the vector that it weighs".to_owned(),
        rows: pairs.iter().map(row).collect(),
        notes: vec![format!("at most {count}, drawn evenly over all heads and pairs of tokens")],
        pictures: vec![Picture {
            title: "weight against the length of what is weighed".to_owned(),
            shape: Shape::Scatter,
            x: "norm".to_owned(),
            y: Some("weight".to_owned()),
            series: Some("category".to_owned()),
            ..Picture::default()
        }],
    }
}

fn grid_of(title: &str, of: &str) -> Picture {
    Picture {
        title: title.to_owned(),
        shape: Shape::Grid,
        x: "head".to_owned(),
        y: Some("layer".to_owned()),
        of: Some(of.to_owned()),
        ..Picture::default()
    }
}

fn interval(found: Option<Interval>) -> Cell {
    found.map_or(Cell::Empty, |Interval { value, lower, upper }| Cell::Interval { value, lower, upper })
}
