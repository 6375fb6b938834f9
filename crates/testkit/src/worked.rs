//! Small models whose every number can be worked out by hand, written as folders and opened like any other.

use exegete_core::{Model, Result};
use exegete_models::{LoadOptions, Precision, load};
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
