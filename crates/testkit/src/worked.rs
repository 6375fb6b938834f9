//! Small models whose every number can be worked out by hand, written as folders and opened like any other.

use exegete_core::{Model, Result};
use exegete_models::{LoadOptions, Precision, load};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView, serialize};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A parameter by its name, with its shape and its values.
pub type Parameter<'a> = (&'a str, &'a [usize], &'a [f32]);

/// Writes the folder of a small model. `words` are those of the vocabulary behind the four markers.
pub fn write_small(
    folder: &Path,
    config: &Value,
    words: &[&str],
    parameters: &[Parameter<'_>],
) -> std::io::Result<()> {
    let bytes: Vec<Vec<u8>> = parameters
        .iter()
        .map(|(_, _, values)| values.iter().flat_map(|value| value.to_le_bytes()).collect())
        .collect();
    let views = parameters.iter().zip(&bytes).map(|((name, shape, _), bytes)| {
        TensorView::new(Dtype::F32, shape.to_vec(), bytes).map(|view| (*name, view))
    });
    let views = views.collect::<Result<Vec<_>, _>>().map_err(std::io::Error::other)?;
    let file = serialize(views, None).map_err(std::io::Error::other)?;
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("model.safetensors"), file)?;
    std::fs::write(folder.join("config.json"), config.to_string())?;
    let vocabulary = [&["<pad>", "<unk>", "<s>", "</s>"], words].concat().join("\n");
    std::fs::write(folder.join("vocab.txt"), vocabulary + "\n")
}

/// Dot attention over bare word vectors of two numbers, for the words a to e and two classes: its context, its weights and all
/// that is said of them fit on a page.
pub fn write_toy_attention(folder: &Path) -> std::io::Result<()> {
    let config = json!({
        "kind": "none", "attention": "dot", "embedding": 2, "lowercase": true, "labels": ["no", "yes"],
    });
    #[rustfmt::skip]
    let vectors = [
        0.0, 0.0, 0.0, 0.0, 2.0, 2.0, -2.0, 2.0, // the markers
        1.0, -1.0, -0.5, -1.0, 0.5, -1.0, -1.0, 1.0, -2.0, 1.0,
    ];
    let parameters: [Parameter<'_>; 4] = [
        ("embed.weight", &[9, 2], &vectors),
        ("attention.score.weight", &[1, 2], &[1.0, 0.5]),
        ("head.weight", &[2, 2], &[0.0, 0.0, 1.5, 1.0]),
        ("head.bias", &[2], &[0.0, 0.2]),
    ];
    write_small(folder, &config, &["a", "b", "c", "d", "e"], &parameters)
}

/// The same, opened.
pub fn toy_attention(precision: Precision) -> Result<Arc<dyn Model>> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("exegete-toy-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let folder = std::env::temp_dir().join(name);
    let written = write_toy_attention(&folder).map_err(|error| exegete_core::Error::Model(error.to_string()));
    let model = written.and_then(|()| load(&folder, &LoadOptions { precision, threads: 1 }));
    // What is left behind in a folder for temporary files does no harm.
    let _ = std::fs::remove_dir_all(&folder);
    model
}

/// The width of a state of the model that heads are planted in, and of a head.
const STATE: usize = 18;
const HEAD: usize = STATE / 3;
/// How sure planted heads are.
const SURE: f64 = 40.0;
/// What turns with the place of a token: once around for all places, and once every seven.
const TURNS: [f64; 2] = [1.0 / 48.0, 1.0 / 7.0];

/// A tiny BERT whose first layer has a head that looks at the token before, one that looks at \[SEP\], and one that looks at
/// everything alike. A place is a point on two circles, each with its opposite, so that every state has the mean 0 and the same
/// length: what layer normalisation does is the same everywhere.
pub fn write_planted_heads(folder: &Path) -> std::io::Result<()> {
    let from = crate::golden::root().join("bert-sequence");
    std::fs::create_dir_all(folder)?;
    for name in ["config.json", "tokenizer.json", "tokenizer_config.json"] {
        std::fs::copy(from.join(name), folder.join(name))?;
    }
    let bytes = std::fs::read(from.join("model.safetensors"))?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(std::io::Error::other)?;
    let views = tensors.tensors().into_iter().map(|(name, view)| {
        let data = match planted(&name, view.shape()) {
            Some(values) => values.iter().flat_map(|&value| (value as f32).to_le_bytes()).collect(),
            None => view.data().to_vec(),
        };
        (name, view.shape().to_vec(), data)
    });
    let views: Vec<(String, Vec<usize>, Vec<u8>)> = views.collect();
    let views = views
        .iter()
        .map(|(name, shape, data)| TensorView::new(Dtype::F32, shape.clone(), data).map(|view| (name, view)));
    let views = views
        .collect::<std::result::Result<Vec<_>, safetensors::SafeTensorError>>()
        .map_err(std::io::Error::other)?;
    let file = serialize(views, None).map_err(std::io::Error::other)?;
    std::fs::write(folder.join("model.safetensors"), file)
}

/// What stands in the place of a parameter; none where it stays.
fn planted(name: &str, shape: &[usize]) -> Option<Vec<f64>> {
    let name = name.strip_prefix("bert.").unwrap_or(name);
    let mut values = vec![0.0; shape.iter().product()];
    let own = |row: usize, column: usize| row * STATE + column;
    match name {
        "embeddings.position_embeddings.weight" => {
            for place in 0..shape[0] {
                for (turn, share) in TURNS.into_iter().enumerate() {
                    let (sine, cosine) = (std::f64::consts::TAU * share * place as f64).sin_cos();
                    let point = [cosine, sine, -cosine, -sine];
                    values[own(place, 4 * turn)..][..4].copy_from_slice(&point);
                }
            }
        }
        "embeddings.word_embeddings.weight" => {
            let sep = 3;
            for word in 0..shape[0] {
                let side = if word == sep { 1.0 } else { -1.0 };
                values[own(word, 8)..][..2].copy_from_slice(&[side, -side]);
            }
        }
        "embeddings.LayerNorm.weight" => values.fill(1.0),
        // A place turned back by one, as the head that looks there asks for it.
        "encoder.layer.0.attention.self.query.weight" => {
            for (turn, share) in TURNS.into_iter().enumerate() {
                let (sine, cosine) = (std::f64::consts::TAU * share).sin_cos();
                let at = 4 * turn;
                values[own(2 * turn, at)..][..2].copy_from_slice(&[SURE * cosine, SURE * sine]);
                values[own(2 * turn + 1, at)..][..2].copy_from_slice(&[-SURE * sine, SURE * cosine]);
            }
        }
        "encoder.layer.0.attention.self.query.bias" => values[HEAD] = SURE,
        "encoder.layer.0.attention.self.key.weight" => {
            for turn in 0..TURNS.len() {
                values[own(2 * turn, 4 * turn)] = 1.0;
                values[own(2 * turn + 1, 4 * turn + 1)] = 1.0;
            }
            values[own(HEAD, 8)] = 1.0;
        }
        "embeddings.token_type_embeddings.weight"
        | "embeddings.LayerNorm.bias"
        | "encoder.layer.0.attention.self.key.bias" => {}
        _ => return None,
    }
    Some(values)
}
