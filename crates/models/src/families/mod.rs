//! One file a family: what it calls its parameters, and what it is built of.

mod albert;
mod bert;
mod distilbert;
mod electra;
mod roberta;

use crate::config::Config;
use crate::encoder::Encoder;
use crate::fault::unsupported;
use crate::weights::Weights;
use exegete_core::{Result, Task};
use exegete_engine::Scalar;

/// The network of a config's family, with its weights.
pub fn build<T: Scalar>(w: &mut Weights<'_, T>, c: &Config, task: &dyn Task) -> Result<Encoder<T>> {
    match c.model_type.as_str() {
        "bert" => bert::build(w, c, task),
        "roberta" | "xlm-roberta" | "camembert" => roberta::build(w, c, task),
        "distilbert" => distilbert::build(w, c, task),
        "electra" => electra::build(w, c, task),
        "albert" => albert::build(w, c, task),
        other => Err(unsupported("config.json", format!("model type '{other}' has no family"))),
    }
}

#[cfg(test)]
mod tests {
    /// A family whose file is there but not in the list would be dead code.
    #[test]
    fn every_family_file_is_built_and_every_known_type_has_a_family() {
        let list = include_str!("mod.rs");
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/families");
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let stem = name.trim_end_matches(".rs");
            assert!(
                stem == "mod" || list.contains(&format!("{stem}::build(w, c, task)")),
                "{stem} is not built"
            );
        }
        for known in crate::config::KNOWN {
            assert!(list.contains(&format!("\"{known}\"")), "{known} has no family");
        }
    }
}
