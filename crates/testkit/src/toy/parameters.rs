use exegete_core::{Array, Error, GroupKind, ParameterGroup, Result};

/// The parameters of a toy by name, in the order of computation: everything about them that is not arithmetic.
#[derive(Debug, Clone)]
pub(super) struct Parameters(Vec<Parameter>);

#[derive(Debug, Clone)]
struct Parameter {
    group: &'static str,
    name: &'static str,
    shape: Vec<usize>,
    values: Vec<f64>,
}

impl Parameters {
    /// E [5, 2], which is the same for every toy, and others by group, name, shape and values.
    pub(super) fn new(others: &[(&'static str, &'static str, &[usize], &[f64])]) -> Self {
        const WORDS: &[f64] = &[0.5, -0.25, 1.0, 0.5, -1.0, 0.75, 0.25, -1.5, -0.5, -0.75];
        let words = ("embeddings", "word.weight", &[5, 2][..], WORDS);
        let all = [words].into_iter().chain(others.iter().copied());
        let one = |(group, name, shape, values): (_, _, &[usize], &[f64])| Parameter {
            group,
            name,
            shape: shape.to_vec(),
            values: values.to_vec(),
        };
        Self(all.map(one).collect())
    }

    /// The values of one that is there.
    pub(super) fn of(&self, name: &str) -> &[f64] {
        self.0.iter().find(|own| own.name == name).map_or(&[], |own| &own.values)
    }

    /// The vectors of some words.
    pub(super) fn words(&self, ids: &[u32]) -> Vec<f64> {
        let words = self.of("word.weight");
        ids.iter().flat_map(|&id| words[2 * id as usize..][..2].to_vec()).collect()
    }

    /// The number of elements of all.
    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|own| own.values.len()).sum()
    }

    /// Names and shapes.
    pub(super) fn shapes(&self) -> Vec<(String, Vec<usize>)> {
        self.0.iter().map(|own| (own.name.to_owned(), own.shape.clone())).collect()
    }

    /// Names by group.
    pub(super) fn groups(&self) -> Vec<ParameterGroup> {
        let group = |some: &[Parameter]| ParameterGroup {
            name: some[0].group.to_owned(),
            kind: match some[0].group {
                "embeddings" => GroupKind::Embeddings,
                ParameterGroup::HEAD => GroupKind::Head,
                _ => GroupKind::Part,
            },
            parameters: some.iter().map(|own| own.name.to_owned()).collect(),
        };
        self.0.chunk_by(|a, b| a.group == b.group).map(group).collect()
    }

    /// One as others see it.
    pub(super) fn array(&self, name: &str) -> Result<Array> {
        let Parameter { shape, values, .. } =
            self.0.iter().find(|own| own.name == name).ok_or_else(unknown(name))?;
        Array::new(shape.clone(), values.iter().map(|&x| x as f32).collect())
    }

    /// The same with some elements of one changed, all of which come with what is given for them.
    pub(super) fn changed(
        &self,
        name: &str,
        given: &Array,
        change: impl Fn(f64, f64) -> f64,
    ) -> Result<Self> {
        let mut all = self.clone();
        let own = all.0.iter_mut().find(|own| own.name == name).ok_or_else(unknown(name))?;
        if own.shape != given.shape {
            return Err(Error::Request(format!("'{name}' is {:?}, not {:?}", own.shape, given.shape)));
        }
        own.values.iter_mut().zip(&given.data).for_each(|(x, &given)| *x = change(*x, f64::from(given)));
        Ok(all)
    }
}

fn unknown(name: &str) -> impl FnOnce() -> Error {
    let error = Error::Request(format!("there is no parameter '{name}'"));
    || error
}
