//! An item for each shape that rows can be drawn in.

use super::HOSTILE;
use exegete_core::report::{Cell, Item, Picture, ReportRow, Rows, Shape, Table};
use serde_json::json;

/// Every shape, on rows that are no random numbers but look like such.
pub(crate) fn items() -> Vec<Item> {
    vec![
        Item::Rows(texts()),
        Item::Rows(words()),
        Item::Table(training()),
        Item::Table(removed()),
        Item::Rows(heads()),
        Item::Rows(alignment()),
    ]
}

fn picture(shape: Shape, title: &str, x: &str, y: &str) -> Picture {
    let y = (!y.is_empty()).then(|| y.to_owned());
    Picture { shape, title: title.to_owned(), x: x.to_owned(), y, ..Picture::default() }
}

/// From −1 to 1, gathered around zero.
fn noise(n: usize) -> f64 {
    let part = |n: usize| (n * 7919 % 1009) as f64 / 1009.0;
    (part(n) + part(n + 401) + part(3 * n + 7)) * 2.0 / 3.0 - 1.0
}

/// A text a row: histograms by class, violins by bin, words by two weightings.
fn texts() -> Rows {
    let row = |n: usize| {
        let class = ["negative", "positive"][n % 2];
        let shift = 0.25 * (n % 2) as f64;
        let weights = [0.05, 0.05, 0.1, 0.5 - 0.02 * n as f64 % 0.4, 0.2, 0.1];
        let reversed: Vec<f64> = weights.iter().rev().copied().collect();
        ReportRow::default()
            .with("tokens", json!(["the", "plot", "is", "terrible", "–", "truly"]))
            .with("alpha", json!(weights))
            .with("predicted", class)
            .with(
                "tau_gradient",
                if n.is_multiple_of(31) {
                    json!(null)
                } else {
                    json!({"tau": (0.7 * noise(n) + shift).min(1.0), "p": 0.03})
                },
            )
            .with("bin", ["0 to .25", ".25 to .5", ".5 to .75", ".75 to 1"][n % 4])
            .with("adversary", adversary(n, reversed))
            .with(
                "permutation",
                json!({"median_tvd": (0.2 + 0.1 * (n % 4) as f64) * (1.0 + noise(n + 3)).abs()}),
            )
    };
    let histogram = Picture {
        series: Some("predicted".to_owned()),
        x_title: Some("Kendall’s τ with gradients".to_owned()),
        ..picture(Shape::Histogram, "Agreement of attention with gradients, by class", "tau_gradient.tau", "")
    };
    let violins = Picture {
        series: Some("predicted".to_owned()),
        x_title: Some("largest weight".to_owned()),
        y_title: Some("median change of output (TVD)".to_owned()),
        ..picture(Shape::Violins, "What permuting the weights changes", "bin", "permutation.median_tvd")
    };
    let boxes = Picture {
        y_title: Some("JSD, at most 0.693 nats".to_owned()),
        ..picture(Shape::Boxes, "How far an adversary moves the weights", "predicted", "adversary.jsd")
    };
    let maps = Picture {
        of: Some("adversary.alpha".to_owned()),
        series: Some("adversary.drawn".to_owned()),
        y_title: Some("as trained".to_owned()),
        x_title: Some("by an adversary, at the same answer".to_owned()),
        ..picture(Shape::Words, "The same answer from other weights", "tokens", "alpha")
    };
    Rows {
        name: "texts".to_owned(),
        title: "One row a text".to_owned(),
        rows: (0..240).map(row).collect(),
        notes: vec!["12 texts of fewer than 6 words are left out".to_owned()],
        pictures: vec![histogram, violins, boxes, maps],
    }
}

/// Two texts are drawn, and say why.
fn adversary(n: usize, alpha: Vec<f64>) -> serde_json::Value {
    let jsd = 0.5 + 0.19 * noise(n + 5);
    match n {
        0 => json!({"jsd": jsd, "alpha": alpha, "drawn": "the first text: JSD 0.412, positive"}),
        7 => json!({"jsd": jsd, "alpha": alpha, "drawn": "the largest JSD: JSD 0.688, negative"}),
        _ => json!({"jsd": jsd, "alpha": alpha}),
    }
}

/// A word a row, as marks with names.
fn words() -> Rows {
    let names =
        ["terrible", "wonderful", "the", "masterpiece", "dull", "of", "boring", "and", "gem", "Überraschung"];
    let row = |n: usize| {
        let name = if n < names.len() { names[n].to_owned() } else { format!("word{n}") };
        let far = if n < names.len() { 1.0 } else { 0.35 };
        ReportRow::default()
            .with("word", name)
            .with("attention", (0.12 + 0.11 * noise(n) * far).max(0.0))
            .with("polarity", far * noise(n + 211))
            .with("label", ["negative", "positive", "neither"][n % 3])
    };
    let scatter = Picture {
        series: Some("label".to_owned()),
        of: Some("word".to_owned()),
        x_title: Some("polarity (slope of the logistic regression)".to_owned()),
        y_title: Some("mean attention".to_owned()),
        ..picture(Shape::Scatter, "Which words get attention", "polarity", "attention")
    };
    let rows = (0..120).map(row).collect();
    Rows {
        name: "words".to_owned(),
        title: "Words".to_owned(),
        rows,
        pictures: vec![scatter],
        ..Rows::default()
    }
}

/// Curves with intervals, and bars side by side.
fn training() -> Table {
    let arms = ["adversarial", "seeds", "uniform"];
    let row = |n: usize| {
        let (arm, step) = (arms[n / 5], (n % 5) as f64);
        let tvd = 0.02 + 0.03 * step * (1.0 + (n / 5) as f64 * 0.6);
        let jsd = 0.68 * (1.0 - (-0.9 * step).exp()) / (1.0 + 0.7 * (n / 5) as f64);
        vec![
            Cell::Word(arm.to_owned()),
            Cell::Number(step * 0.5),
            Cell::Number(tvd),
            Cell::Interval { value: jsd, lower: jsd - 0.04, upper: (jsd + 0.05).min(0.693) },
        ]
    };
    let of_arms = |picture: Picture| Picture { series: Some("arm".to_owned()), ..picture };
    let lines = of_arms(Picture {
        x_title: Some("change of output (TVD)".to_owned()),
        y_title: Some("change of attention (JSD, nats)".to_owned()),
        ..picture(Shape::Lines, "How far attention can move at what price", "tvd", "jsd")
    });
    let bars = of_arms(Picture {
        x_title: Some("λ".to_owned()),
        y_title: Some("JSD in nats".to_owned()),
        ..picture(Shape::Bars, "Change of attention by λ", "lambda", "jsd")
    });
    Table {
        name: "training".to_owned(),
        title: "Trained against the base model".to_owned(),
        columns: ["arm", "lambda", "tvd", "jsd"].map(str::to_owned).to_vec(),
        rows: (0..15).map(row).collect(),
        pictures: vec![lines, bars],
        ..Table::default()
    }
}

/// Rows that are quartiles already.
fn removed() -> Table {
    let row = |name: &str, median: f64| {
        let rest = [median, median - 0.02, median + 0.03, median * 0.6, (median * 1.5).min(1.0)];
        std::iter::once(Cell::Word(name.to_owned())).chain(rest.map(Cell::Number)).collect()
    };
    let rankings =
        [("gradient × attention", 0.21), ("gradient", 0.24), ("attention", 0.38), ("random", 0.83)];
    Table {
        name: "removed".to_owned(),
        title: "Share of words removed before the answer changes".to_owned(),
        columns: ["ranking", "median", "lower", "upper", "q1", "q3"].map(str::to_owned).to_vec(),
        rows: rankings.iter().map(|(name, median)| row(name, *median)).collect(),
        pictures: vec![Picture {
            y_title: Some("share of the words".to_owned()),
            ..picture(Shape::Boxes, "Share removed by ranking", "ranking", "")
        }],
        ..Table::default()
    }
}

/// Heads by layers, with one that is missing.
fn heads() -> Rows {
    let head = |n: usize| {
        ReportRow::default()
            .with("layer", n / 12)
            .with("head", n % 12)
            .with("change", 0.6 * noise(n))
            .with("entropy", 2.0 + noise(n + 9))
    };
    let grid = |title: &str, of: &str| Picture {
        of: Some(of.to_owned()),
        ..picture(Shape::Grid, title, "head", "layer")
    };
    Rows {
        name: "heads".to_owned(),
        title: "Heads".to_owned(),
        rows: (0..72).filter(|n| *n != 40).map(head).collect(),
        pictures: vec![grid("Entropy of each head", "entropy"), grid("What disabling it changes", "change")],
        ..Rows::default()
    }
}

/// Words of a source against words of a target.
fn alignment() -> Rows {
    let source = ["the", "agreement", "on", "the European", "economic", "area", "was", "signed"];
    let target = ["l'accord", "sur", "la", "zone", "économique", "européenne", "a", "été", "signé"];
    let cell = |n: usize| {
        let (row, column) = (n / source.len(), n % source.len());
        let weight = 1.0 / (1.0 + 3.0 * (row as f64 * 0.9 - column as f64).powi(2));
        ReportRow::default().with("target", target[row]).with("source", source[column]).with("weight", weight)
    };
    let rows = (0..source.len() * target.len()).map(cell).collect();
    let grid = Picture {
        of: Some("weight".to_owned()),
        ..picture(Shape::Grid, "Attention of the decoder", "source", "target")
    };
    Rows {
        name: "alignment".to_owned(),
        title: "Source and target".to_owned(),
        rows,
        pictures: vec![grid],
        ..Rows::default()
    }
}

/// Every shape with text that tries everything.
pub(super) fn hostile() -> Item {
    let row = |n: usize| {
        ReportRow::default()
            .with("a", if n == 1 { json!(HOSTILE) } else { json!(n) })
            .with("b", json!({"value": 1e300, "lower": null, "upper": n}))
            .with("c", n)
            .with("d", HOSTILE)
            .with("e", json!([HOSTILE, n]))
            .with("f", json!([0.5, null]))
    };
    let shapes = [
        Shape::Histogram,
        Shape::Boxes,
        Shape::Violins,
        Shape::Scatter,
        Shape::Lines,
        Shape::Bars,
        Shape::Grid,
    ];
    let drawn = |shape| Picture {
        series: Some("d".to_owned()),
        of: Some(if shape == Shape::Grid { "c" } else { "d" }.to_owned()),
        ..picture(shape, HOSTILE, if shape == Shape::Scatter { "c" } else { "a" }, "c")
    };
    let mut pictures: Vec<Picture> = shapes.into_iter().map(drawn).collect();
    pictures.push(picture(Shape::Words, HOSTILE, "e", "f"));
    pictures.push(picture(Shape::Lines, HOSTILE, "b", "nowhere"));
    Item::Rows(Rows {
        name: "hostile".to_owned(),
        rows: (0..7).map(row).collect(),
        pictures,
        ..Rows::default()
    })
}
