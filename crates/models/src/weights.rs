use crate::checkpoint::MappedFiles;
use exegete_core::{Error, GroupKind, ParameterGroup, Result};
use exegete_engine::{Dual, PanelBudget, Real, Scalar, Tensor};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One named parameter of a network. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Param<T> {
    /// Its Hugging Face name.
    pub name: Arc<str>,
    /// Its shape as stored; the value is a matrix.
    pub shape: Vec<usize>,
    /// The parameter's value as a matrix.
    pub value: Tensor<T>,
}

/// A parameter that a network asks for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Its Hugging Face name.
    pub name: &'a str,
    /// The shape that it must have.
    pub shape: &'a [usize],
    /// The group that it belongs to.
    pub group: &'a str,
}

/// Where parameters come from: a checkpoint, random numbers, another model with some values replaced.
pub trait TensorSource<T>: Send + Sync {
    /// The value of a parameter as a matrix; none where there is none of this name.
    fn find(&self, wanted: &Wanted<'_>) -> Result<Option<Tensor<T>>>;

    /// Whether a name exists.
    fn contains(&self, name: &str) -> bool;

    /// Every name there is, where somebody should be told of those that are not used.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The memory-mapped files that values are slices of.
    fn mapped(&self) -> MappedFiles {
        MappedFiles::default()
    }
}

/// The group of a network that opens none.
const WHOLE: &str = "model";

/// Hands out parameters while a network is built, and remembers which and in what groups.
pub struct Weights<'a, T> {
    source: &'a dyn TensorSource<T>,
    panels: Option<Arc<PanelBudget>>,
    root: &'static str,
    taken: BTreeMap<String, Param<T>>,
    /// What is handed out belongs to this group.
    open: ParameterGroup,
    closed: Vec<ParameterGroup>,
    ignored: BTreeSet<String>,
}

impl<'a, T: Scalar> Weights<'a, T> {
    /// Weights from a source.
    pub fn new(source: &'a dyn TensorSource<T>) -> Self {
        Self {
            source,
            panels: None,
            root: "",
            taken: BTreeMap::new(),
            open: ParameterGroup { name: WHOLE.into(), kind: GroupKind::Part, parameters: Vec::new() },
            closed: Vec::new(),
            ignored: BTreeSet::new(),
        }
    }

    /// Lets products keep copies of these weights in a layout of their own, of this many bytes together.
    pub fn keeping_panels(mut self, bytes: usize) -> Self {
        self.panels = Some(PanelBudget::new(bytes));
        self
    }

    /// Opens a group: what is handed out from here on belongs to it, except what another group had first.
    pub fn group(&mut self, name: impl Into<String>) {
        self.group_of(GroupKind::Part, name);
    }

    /// Opens the group of the head, which comes last.
    pub fn head(&mut self) {
        self.group_of(GroupKind::Head, ParameterGroup::HEAD);
    }

    /// Opens a group that is more than one part of many.
    pub fn group_of(&mut self, kind: GroupKind, name: impl Into<String>) {
        let open = ParameterGroup { name: name.into(), kind, parameters: Vec::new() };
        self.closed.push(std::mem::replace(&mut self.open, open));
    }

    /// A parameter that must be there, of this shape.
    pub fn get(&mut self, name: &str, shape: &[usize]) -> Result<Param<T>> {
        if let Some(param) = self.taken.get(name) {
            return Ok(param.clone());
        }
        let found = self.source.find(&Wanted { name, shape, group: &self.open.name })?;
        let value = found.ok_or_else(|| missing(name))?;
        self.open.parameters.push(name.to_owned());
        let value = match &self.panels {
            Some(budget) => value.keeping_panels(budget),
            None => value,
        };
        let param = Param { name: name.into(), shape: shape.to_vec(), value };
        self.taken.insert(name.to_owned(), param.clone());
        Ok(param)
    }

    /// Says that a tensor is rightly left aside, so that nobody warns of it.
    pub fn ignore(&mut self, name: &str) {
        self.ignored.insert(name.to_owned());
    }

    /// Whether a tensor was neither used nor rightly left aside.
    pub fn forgot(&self, name: &str) -> bool {
        !self.taken.contains_key(name) && !self.ignored.contains(name)
    }

    /// Whether a name exists.
    pub fn contains(&self, name: &str) -> bool {
        self.source.contains(name)
    }

    /// Finds out whether the encoder's own parameters have their prefix, by whether the one at the pattern `probe` has:
    /// those of models with a head do, those of bare encoders usually not.
    pub fn find_root(&mut self, prefix: &'static str, probe: &str) {
        self.root = prefix;
        if !self.contains(&self.path(probe)) {
            self.root = "";
        }
    }

    /// A pattern as a path, with the prefix of the encoder's own parameters in the place of `{root}`.
    pub fn path(&self, pattern: &str) -> String {
        pattern.replace("{root}", self.root)
    }

    /// Everything that was handed out: by name, and in the groups that got anything.
    pub fn into_taken(mut self) -> (BTreeMap<String, Param<T>>, Vec<ParameterGroup>) {
        self.closed.push(self.open);
        self.closed.retain(|group| !group.parameters.is_empty());
        (self.taken, self.closed)
    }
}

fn missing(name: &str) -> Error {
    Error::Model(format!(
        "the tensor '{name}' is missing; is this checkpoint for another head or model type than config.json says?"
    ))
}

/// Rows and columns of a parameter as a matrix: vectors become one row.
pub(crate) fn matrix(shape: &[usize]) -> (usize, usize) {
    let cols = shape.last().copied().unwrap_or(1);
    (shape.iter().product::<usize>() / cols.max(1), cols)
}

/// The parameters of a built network with some of them replaced.
pub(crate) struct Replaced<'a, T> {
    pub(crate) base: &'a BTreeMap<String, Param<T>>,
    pub(crate) by: BTreeMap<String, Tensor<T>>,
}

impl<T: Scalar> TensorSource<T> for Replaced<'_, T> {
    fn find(&self, &Wanted { name, .. }: &Wanted<'_>) -> Result<Option<Tensor<T>>> {
        Ok(self.by.get(name).or_else(|| self.base.get(name).map(|p| &p.value)).cloned())
    }

    fn contains(&self, name: &str) -> bool {
        self.base.contains_key(name)
    }
}

/// The parameters of a built network as dual numbers that do not move.
pub(crate) struct Still<'a, R>(pub(crate) &'a BTreeMap<String, Param<R>>);

impl<R: Real> TensorSource<Dual<R>> for Still<'_, R> {
    fn find(&self, &Wanted { name, .. }: &Wanted<'_>) -> Result<Option<Tensor<Dual<R>>>> {
        let dual = |&v: &R| Dual { v, t: R::default() };
        let tensor = |value: &Tensor<R>| {
            Tensor::new(value.rows(), value.cols(), value.data().iter().map(dual).collect())
        };
        Ok(self.0.get(name).map(|param| tensor(&param.value)))
    }

    fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// Checks that replacements or directions name parameters of the model and fit their shapes.
pub(crate) fn check_shapes<'a, T>(
    params: &BTreeMap<String, Param<T>>,
    given: impl Iterator<Item = (&'a str, &'a [usize])>,
) -> Result<()> {
    let mut seen = BTreeSet::new();
    for (name, shape) in given {
        let param = params.get(name).ok_or_else(|| unknown(name))?;
        if param.shape != shape {
            return Err(Error::Request(format!(
                "parameter '{name}' has shape {:?}, {shape:?} was given",
                param.shape
            )));
        }
        if !seen.insert(name) {
            return Err(Error::Request(format!("parameter '{name}' is named twice")));
        }
    }
    Ok(())
}

pub(crate) fn unknown(name: &str) -> Error {
    Error::Request(format!("the model has no parameter '{name}'"))
}
