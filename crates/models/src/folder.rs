use crate::assemble::{Assembly, assemble};
use crate::blueprint::Blueprint;
use crate::checkpoint::{Checkpoint, MappedFiles};
use crate::fault::fault;
use crate::opened::Opened;
use crate::weights::{TensorSource, Wanted, matrix};
use exegete_core::Result;
use exegete_engine::{Real, Scalar, Tensor};
use std::path::Path;

/// Opens a folder: config, tokenizer, weights, network.
pub(crate) fn open<T: Real>(dir: &Path, threads: usize) -> Result<Opened<T>> {
    let blueprint = Blueprint::read(dir)?;
    // A head that is not supported is said before gigabytes are looked at.
    blueprint.task().map_err(|e| e.at(dir.display()))?;
    let checkpoint = Checkpoint::open(dir)?;
    let tokenizer = Some(blueprint.tokenizer(dir)?);
    let fingerprint = checkpoint.fingerprint(blueprint.source().as_bytes());
    let (name, place) = (name(dir), dir.display().to_string());
    assemble(&checkpoint, Assembly { name, place, blueprint, tokenizer, fingerprint, threads })
}

/// What a model in a folder is called.
pub(crate) fn name(dir: &Path) -> String {
    dir.file_name().map_or_else(|| dir.display().to_string(), |name| name.to_string_lossy().into_owned())
}

impl<T: Scalar> TensorSource<T> for Checkpoint {
    fn find(&self, &Wanted { name, shape, .. }: &Wanted<'_>) -> Result<Option<Tensor<T>>> {
        let Some(stored) = self.shape(name) else { return Ok(None) };
        if stored != shape {
            return Err(fault(
                "weights",
                format!(
                    "tensor '{name}' has shape {stored:?}, expected {shape:?}; is this checkpoint for another model type?"
                ),
            ));
        }
        let (rows, cols) = matrix(shape);
        Ok(Some(Tensor::borrowed(rows, cols, T::from_f32s(Box::new(self.read(name)?)))))
    }

    fn contains(&self, name: &str) -> bool {
        Self::contains(self, name)
    }

    fn names(&self) -> Vec<String> {
        Self::names(self).map(str::to_owned).collect()
    }

    fn mapped(&self) -> MappedFiles {
        Self::mapped(self)
    }
}
