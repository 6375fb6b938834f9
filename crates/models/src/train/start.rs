//! Where a training run gets its parameters: a folder, or a folder's config and tokenizer with random numbers.

use super::TrainingSettings;
use crate::assemble::{Assembly, assemble};
use crate::blueprint::Blueprint;
use crate::checkpoint::{Checkpoint, MappedFiles};
use crate::config::{Config, TEXT_FIELDS};
use crate::default::{self, DEFAULT};
use crate::folder;
use crate::opened::Opened;
use crate::random::initial;
use crate::save::companions;
use crate::small::{FirstValues, SmallStart, WordVectors};
use crate::weights::{TensorSource, Wanted};
use exegete_core::{Error, ParameterGroup, Result, Task};
use exegete_engine::Tensor;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where the parameters come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// A Hugging Face folder of any head; what the new head lacks starts from random numbers.
    Folder(PathBuf),
    /// The model that is part of the program.
    Default,
    /// The config and the tokenizer of a folder; every parameter starts from random numbers.
    Scratch(PathBuf),
    /// A small model over the words of its training texts; every parameter starts from random numbers or word vectors.
    Small(Box<SmallStart>),
}

/// What the trained model answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainedHead {
    /// Classification, multi-label or regression.
    pub task: &'static dyn Task,
    /// The classes in the order of the logits; one name for regression.
    pub labels: Vec<String>,
}

/// A model at the start of its training.
pub(super) struct Started {
    pub(super) model: Opened<f32>,
    pub(super) fresh: Vec<String>,
    pub(super) companions: Vec<(String, Vec<u8>)>,
}

pub(super) fn open(start: &Start, head: &TrainedHead, settings: &TrainingSettings) -> Result<Started> {
    let given = match start {
        Start::Folder(dir) | Start::Scratch(dir) => Blueprint::read(dir)?,
        Start::Default => Blueprint::Encoder(default::config()?),
        Start::Small(small) => Blueprint::Small(small.small()),
    };
    let blueprint = retarget(&given, head, settings.text_fields)?;
    let tokenizer = match start {
        Start::Folder(dir) | Start::Scratch(dir) => blueprint.tokenizer(dir)?,
        Start::Default => default::tokenizer(&blueprint)?,
        Start::Small(small) => Arc::new(small.small().tokenizer()),
    };
    let stored = match start {
        Start::Folder(dir) => Some(Checkpoint::open(dir)?),
        Start::Default => Some(default::checkpoint()?),
        Start::Scratch(_) | Start::Small(_) => None,
    };
    let (name, place, companions) = match start {
        Start::Folder(dir) | Start::Scratch(dir) => {
            (folder::name(dir), dir.display().to_string(), companions(dir)?)
        }
        Start::Default => (DEFAULT.to_owned(), "default model".to_owned(), default::companions()),
        Start::Small(small) => (blueprint.family().to_owned(), "new model".to_owned(), small.companions()),
    };
    let vectors = match start {
        Start::Small(small) => small.vectors.clone(),
        _ => None,
    };
    let fingerprint = match &stored {
        Some(checkpoint) => checkpoint.fingerprint(blueprint.source().as_bytes()),
        None => {
            let words = vectors.as_ref().map_or_else(String::new, |vectors| format!("-{}", vectors.digest()));
            format!("scratch-{}{words}", settings.seed)
        }
    };
    let first = first_values(&given, vectors, settings.seed)?;
    let source = Starting { stored, first, fresh: Mutex::default(), drawn: AtomicUsize::default() };
    let (threads, tokenizer) = (settings.threads, Some(tokenizer));
    let model = assemble(&source, Assembly { name, place, blueprint, tokenizer, fingerprint, threads })?;
    let fresh = source.fresh.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Started { model, fresh, companions })
}

/// The first value of a parameter by its name and shape.
type FirstValue = Box<dyn Fn(&str, &[usize]) -> Tensor<f32> + Send + Sync>;

fn first_values(blueprint: &Blueprint, vectors: Option<WordVectors>, seed: u64) -> Result<FirstValue> {
    Ok(match blueprint {
        Blueprint::Encoder(config) => {
            let deviation = initializer_range(config)?;
            Box::new(move |name, shape| initial(name, shape, seed, deviation))
        }
        Blueprint::Small(small) => {
            let values = FirstValues::new(small.clone(), vectors, seed);
            Box::new(move |name, shape| values.of(name, shape))
        }
    })
}

/// Parameters of a classifier: stored ones where they fit, random ones for a head that the file does not hold.
struct Starting {
    stored: Option<Checkpoint>,
    first: FirstValue,
    fresh: Mutex<Vec<String>>,
    drawn: AtomicUsize,
}

/// The most random numbers that a model may start from: 4 GiB in f32, before gradients and moments.
const MOST_DRAWN: usize = 1 << 30;

impl Starting {
    /// Sizes that no memory holds are told before anything is allocated.
    fn count(&self, name: &str, shape: &[usize]) -> Result<()> {
        let numbers = shape.iter().fold(1usize, |product, &size| product.saturating_mul(size));
        let before = self.drawn.fetch_add(numbers.min(MOST_DRAWN), Ordering::Relaxed);
        if before.saturating_add(numbers) > MOST_DRAWN {
            return Err(Error::Request(format!(
                "'{name}' has {numbers} numbers, and a model may start from {MOST_DRAWN} random ones at most: \
                 smaller sizes in the config, or a folder's own weights"
            )));
        }
        Ok(())
    }
}

impl TensorSource<f32> for Starting {
    fn find(&self, wanted: &Wanted<'_>) -> Result<Option<Tensor<f32>>> {
        let &Wanted { name, shape, group } = wanted;
        let random = || {
            self.count(name, shape)?;
            self.fresh.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
            Ok(Some((self.first)(name, shape)))
        };
        let Some(stored) = &self.stored else { return random() };
        // A bare encoder's file leaves out the prefix that a classifier's has.
        let bare = name.split_once('.').map_or(name, |(_, bare)| bare);
        let is_head = group == ParameterGroup::HEAD;
        match [name, bare].into_iter().find(|name| stored.contains(name)) {
            Some(name) if !is_head || stored.shape(name) == Some(shape) => {
                stored.find(&Wanted { name, ..*wanted })
            }
            _ if is_head => random(),
            _ => Ok(None),
        }
    }

    /// Everything can be had, and under the names that a classifier's file has.
    fn contains(&self, _: &str) -> bool {
        true
    }

    fn mapped(&self) -> MappedFiles {
        self.stored.as_ref().map_or_else(MappedFiles::default, Checkpoint::mapped)
    }
}

/// The same network as a classifier with these answers.
fn retarget(given: &Blueprint, head: &TrainedHead, text_fields: Option<usize>) -> Result<Blueprint> {
    let least = head.task.least_labels();
    if head.labels.len() < least {
        return Err(Error::Request(format!("{} labels, at least {least} are needed", head.labels.len())));
    }
    match given {
        Blueprint::Encoder(config) => {
            Ok(Blueprint::Encoder(Config::parse(classifier(config, head, text_fields)?)?))
        }
        Blueprint::Small(_) if head.task != given.task()? => {
            let what = format!("this small model cannot be trained for {:?}", head.task);
            Err(Error::Unsupported(what))
        }
        Blueprint::Small(small) => Ok(Blueprint::Small(small.with_labels(&head.labels)?)),
    }
}

/// The config of the same encoder as a classifier of so many texts with these answers.
fn classifier(given: &Config, head: &TrainedHead, text_fields: Option<usize>) -> Result<String> {
    let class = given.family.class(&given.model_type).ok_or_else(|| {
        Error::Unsupported(format!("the model type '{}' cannot be trained", given.model_type))
    })?;
    let spelled = head.task.spelling().and_then(|spelling| Some((spelling.head?, spelling.problem?)));
    let Some((kind, problem)) = spelled else {
        return Err(Error::Unsupported(format!("training for {:?} is not supported", head.task)));
    };
    let mut map: Map<String, Value> = serde_json::from_str(&given.source)
        .map_err(|e| Error::Model(format!("config.json: is no JSON object: {e}")))?;
    for stale in ["_name_or_path", "num_labels", "_num_labels", "torch_dtype", "dtype", TEXT_FIELDS] {
        map.remove(stale);
    }
    let names = || head.labels.iter().enumerate();
    let numbers: Map<String, Value> = names().map(|(i, name)| (name.clone(), i.into())).collect();
    let labels: Map<String, Value> = names().map(|(i, name)| (i.to_string(), name.as_str().into())).collect();
    map.insert("architectures".into(), json!([format!("{class}For{kind}")]));
    map.insert("problem_type".into(), problem.into());
    map.insert("id2label".into(), labels.into());
    map.insert("label2id".into(), numbers.into());
    if let Some(fields) = text_fields {
        map.insert(TEXT_FIELDS.into(), fields.into());
    }
    let text = serde_json::to_string_pretty(&map);
    text.map_err(|e| Error::Model(format!("config.json: cannot be written: {e}")))
}

fn initializer_range(config: &Config) -> Result<f64> {
    crate::config::Fields::parse("config.json", &config.source)?.number_or("initializer_range", 0.02)
}
