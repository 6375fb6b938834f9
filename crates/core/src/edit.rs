use crate::{Array, Error, Result, Site};
use serde::{Deserialize, Serialize};

/// Which indices of one axis an edit touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pick {
    /// Every index along the axis.
    All,
    /// These, in this order.
    Only(Vec<usize>),
}

impl Pick {
    /// How many indices of an axis of length `len` are picked.
    pub fn count(&self, len: usize) -> usize {
        match self {
            Self::All => len,
            Self::Only(indices) => indices.len(),
        }
    }
}

/// What happens to the picked elements x. Arrays have the shape of the selection, or one element for all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// Puts values in the place of what is there: x ← v.
    Set(Array),
    /// x ← x + v
    Add(Array),
    /// Multiplies what is there by a number: x ← s·x.
    Scale(f32),
    /// Puts zeros in the place of what is there: x ← 0.
    Zero,
    /// x ← (1 − share)·x + share·toward
    Mix {
        /// How far to go.
        share: f32,
        /// The values to mix in, of the site's own shape.
        toward: Array,
    },
}

/// A change of the value at a site, for chosen positions, heads or units of one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    /// The place whose values are changed.
    pub site: Site,
    /// One entry an axis of the site; missing trailing axes mean all of them.
    pub at: Vec<Pick>,
    /// What is done to the values there.
    pub change: Change,
}

impl Edit {
    /// A change of the whole value at a site.
    pub fn whole(site: Site, change: Change) -> Self {
        Self { site, at: Vec::new(), change }
    }

    /// The shape of the selection within a value of `shape`; an error where it does not fit.
    pub fn selection_shape(&self, shape: &[usize]) -> Result<Vec<usize>> {
        if self.at.len() > shape.len() {
            return Err(self.misfit(format!(
                "picks on {} axes, the site has {}",
                self.at.len(),
                shape.len()
            )));
        }
        for (axis, pick) in self.at.iter().enumerate() {
            if let Pick::Only(indices) = pick
                && let Some(index) = indices.iter().find(|&&i| i >= shape[axis])
            {
                return Err(self.misfit(format!("index {index} on axis {axis} of length {}", shape[axis])));
            }
        }
        let count = |(axis, &len): (usize, &usize)| self.at.get(axis).unwrap_or(&Pick::All).count(len);
        let selected: Vec<usize> = shape.iter().enumerate().map(count).collect();
        self.check_values(&selected)?;
        Ok(selected)
    }

    /// The picked elements of a value of `shape` as flat indices, in the order of the picks.
    pub fn elements(&self, shape: &[usize]) -> Result<Vec<usize>> {
        self.selection_shape(shape)?;
        let mut flat = vec![0];
        for (axis, &len) in shape.iter().enumerate() {
            let picked: Vec<usize> = match self.at.get(axis).unwrap_or(&Pick::All) {
                Pick::All => (0..len).collect(),
                Pick::Only(indices) => indices.clone(),
            };
            flat = flat.iter().flat_map(|base| picked.iter().map(move |i| base * len + i)).collect();
        }
        Ok(flat)
    }

    /// Changes a value as the definition says, without any engine: what engines are compared with.
    pub fn apply(&self, value: &mut Array) -> Result<()> {
        let elements = self.elements(&value.shape)?;
        for (k, &i) in elements.iter().enumerate() {
            let given = |values: &Array| values.data[if values.len() == 1 { 0 } else { k }];
            let x = value.data[i];
            value.data[i] = match &self.change {
                Change::Set(values) => given(values),
                Change::Add(values) => x + given(values),
                Change::Scale(by) => by * x,
                Change::Zero => 0.0,
                Change::Mix { share, toward } => (1.0 - share) * x + share * given(toward),
            };
        }
        Ok(())
    }

    /// Whether every number in it is finite.
    pub fn is_finite(&self) -> bool {
        match &self.change {
            Change::Set(values) | Change::Add(values) => values.data.iter().all(|x| x.is_finite()),
            Change::Scale(factor) => factor.is_finite(),
            Change::Zero => true,
            Change::Mix { share, toward } => share.is_finite() && toward.data.iter().all(|x| x.is_finite()),
        }
    }

    fn check_values(&self, selected: &[usize]) -> Result<()> {
        let values = match &self.change {
            Change::Set(values) | Change::Add(values) | Change::Mix { toward: values, .. } => values,
            Change::Scale(_) | Change::Zero => return Ok(()),
        };
        let expected: usize = selected.iter().product();
        if values.len() == 1 || values.len() == expected {
            return Ok(());
        }
        Err(self.misfit(format!("values of shape {:?} for a selection of shape {selected:?}", values.shape)))
    }

    fn misfit(&self, what: String) -> Error {
        Error::Request(format!("edit at {}: {what}", self.site))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(shape: &[usize], data: &[f32]) -> Array {
        Array::new(shape, data.to_vec()).unwrap()
    }

    fn check(at: &[Pick], change: Change, expected: &[f32]) {
        let mut value = array(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let edit = Edit { site: Site::named("embed.word"), at: at.to_vec(), change };
        edit.apply(&mut value).unwrap();
        assert_eq!(value.data, expected, "{edit:?}");
    }

    #[test]
    fn changes_touch_what_is_picked() {
        let only = |indices: &[usize]| Pick::Only(indices.to_vec());
        check(&[], Change::Zero, &[0.0; 6]);
        check(&[], Change::Add(array(&[1], &[1.0])), &[2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        check(&[only(&[1])], Change::Scale(2.0), &[1.0, 2.0, 3.0, 8.0, 10.0, 12.0]);
        let pair = array(&[2, 1], &[8.0, 9.0]);
        check(&[Pick::All, only(&[2])], Change::Set(pair), &[1.0, 2.0, 8.0, 4.0, 5.0, 9.0]);
        let swapped = array(&[1, 2], &[8.0, 9.0]);
        check(&[only(&[0]), only(&[2, 0])], Change::Set(swapped), &[9.0, 2.0, 8.0, 4.0, 5.0, 6.0]);
        let mix = Change::Mix { share: 0.25, toward: array(&[1], &[5.0]) };
        check(&[only(&[0]), only(&[0])], mix, &[2.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |at: &[Pick], change: Change| {
            let edit = Edit { site: Site::named("embed.word"), at: at.to_vec(), change };
            assert!(edit.apply(&mut Array::zeros([2, 3])).is_err(), "{edit:?}");
        };
        refused(&[Pick::Only(vec![2])], Change::Zero);
        refused(&[Pick::All, Pick::All, Pick::All], Change::Zero);
        refused(&[Pick::Only(vec![0])], Change::Set(array(&[2], &[1.0, 2.0])));
    }
}
