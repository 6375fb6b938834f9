use super::{special, subject};
use exegete_core::report::{Completeness, Map, MapLayer, MatrixAxes, Spread, TokenText};

const PIECES: [&str; 7] = ["the", "plot", "is", "terrible", "##ly", "dull", "."];
const TEXT: &str = "the plot is terribly dull.";

/// Seven pieces between special tokens, at the embeddings and six layers.
pub(crate) fn map() -> Map {
    let mut tokens = vec![special("[CLS]")];
    let spans = [(0, 3), (4, 8), (9, 11), (12, 18), (18, 20), (21, 25), (25, 26)];
    tokens.extend(PIECES.iter().zip(spans).map(|(piece, (start, end))| TokenText {
        piece: (*piece).to_owned(),
        text: Some(TEXT[start..end].to_owned()),
        field: Some(0),
        start: Some(start),
        end: Some(end),
        special: false,
    }));
    tokens.push(special("[SEP]"));
    let layers = (0..6).map(|n| layer(n, tokens.len())).collect();
    Map { subject: subject(&[("text", TEXT)], "conductance"), tokens, layers, axes: None }
}

fn layer(n: usize, tokens: usize) -> MapLayer {
    let words = [0.05, 0.02, 0.4, -0.12, 1.3, 0.5, 0.9, -0.02, 0.1];
    // Scores gather at [CLS] towards the top.
    let gathered = n as f64 / 5.0;
    let value =
        |token: usize| words[token] * (1.0 - gathered) + if token == 0 { 3.0 * gathered } else { -0.05 };
    let token_values: Vec<f64> = (0..tokens).map(value).collect();
    let spread = token_values.iter().map(|v| Spread {
        min: v * 0.1 - 0.2,
        lower: v * 0.2 - 0.05,
        median: v * 0.25,
        upper: v * 0.3 + 0.06,
        max: v * 0.6 + 0.25,
        entropy: 7.5,
    });
    let completeness =
        Completeness { sum: 3.05, difference: 3.06, gap: 0.0033, bias: None, layers: Vec::new() };
    MapLayer {
        site: format!("layer.{n}.out"),
        spread: spread.collect(),
        entropy: 2.6 - 2.0 * gathered,
        completeness: Some(completeness),
        token_values,
    }
}

/// What each piece takes from each other, some of it against the answer.
pub(crate) fn matrix() -> Map {
    let map = map();
    let row = |(i, token): (usize, &TokenText)| {
        let near = |j: usize| 1.0 / (1.0 + (i as f64 - j as f64 + 1.0).powi(2));
        let value = |j: usize| if (i + 2 * j).is_multiple_of(7) { -0.5 * near(j) } else { near(j) };
        let token_values = (0..map.tokens.len()).map(value).collect();
        MapLayer {
            site: token.piece.clone(),
            token_values,
            spread: Vec::new(),
            entropy: 2.5,
            completeness: None,
        }
    };
    let layers = map.tokens.iter().enumerate().map(row).collect();
    let axes = MatrixAxes { rows: "token that reads".to_owned(), columns: "token that is read".to_owned() };
    Map { subject: subject(&[("text", TEXT)], "attention_attribution"), layers, axes: Some(axes), ..map }
}
