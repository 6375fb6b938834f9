use super::tree::groups;
use crate::{Parameter, PerturbedPredictions, Question, RawAttribution, RawScores, Set};
use exegete_core::{Error, Result, Units};
use std::fmt;
use std::str::FromStr;

/// Sets of units that are hidden together; a unit may lie in several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Groups(pub(super) Vec<Set>);

impl Groups {
    /// Every unit by itself.
    pub(super) fn single(units: usize) -> Self {
        Self((0..units).map(|unit| vec![unit]).collect())
    }

    /// Each unit's mean over the groups that it lies in.
    pub(super) fn spread(&self, units: usize, values: &[f64]) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); units];
        for (group, value) in self.0.iter().zip(values) {
            group.iter().for_each(|&unit| sums[unit] = (sums[unit].0 + value, sums[unit].1 + 1.0));
        }
        sums.iter().map(|(sum, count)| sum / f64::max(*count, 1.0)).collect()
    }
}

/// How far F falls when each group is hidden.
pub(super) fn ablated(job: &Question<'_>, groups: &Groups) -> Result<RawAttribution> {
    let mut masked = PerturbedPredictions::new(job);
    let hidden = masked.outcomes(&groups.0)?;
    let whole = masked.whole()?.value;
    let drops: Vec<f64> = hidden.iter().map(|outcome| whole - outcome.value).collect();
    let values = groups.spread(job.units.len(), &drops);
    let masker = job.masker();
    let drawn = || {
        format!(
            "hidden words are replaced by '{masker}' words of one draw; feature_permutation takes the mean of many"
        )
    };
    Ok(RawAttribution::of(RawScores::Units(values))
        .with("masker", masker.to_string())
        .note(masker.draws().then(drawn)))
}

/// The parameter that [`Grouping`] is read from.
pub(super) const GROUPS: Parameter = Parameter::text(
    "groups",
    "0-2|3,4",
    Some("none"),
    "units that are hidden together: by number, or those of each phrase, sentence or field",
);

/// Which units the user groups.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Grouping {
    /// No groups: every unit is by itself.
    #[default]
    Single,
    /// Those of one larger unit.
    By(Units),
    /// Those listed; every other unit is a group of its own.
    Listed(Vec<Set>),
}

impl Grouping {
    /// The groups of a text.
    pub(super) fn of(&self, job: &Question<'_>) -> Result<Groups> {
        let units = job.units.len();
        match self {
            Self::Single => Ok(Groups::single(units)),
            Self::By(kind) => {
                let home = groups(job, *kind);
                let all: Vec<usize> = (0..units).collect();
                Ok(Groups(all.chunk_by(|&a, &b| home[a] == home[b]).map(<[usize]>::to_vec).collect()))
            }
            Self::Listed(listed) => {
                let mut free = vec![true; units];
                for &unit in listed.iter().flatten() {
                    let free = free.get_mut(unit).ok_or_else(|| {
                        Error::Request(format!(
                            "groups: there is no unit {unit}, there are {units} from 0 on"
                        ))
                    })?;
                    *free = false;
                }
                let single = (0..units).filter(|&unit| free[unit]).map(|unit| vec![unit]);
                Ok(Groups(listed.iter().cloned().chain(single).collect()))
            }
        }
    }
}

impl FromStr for Grouping {
    type Err = Error;

    /// `0-2|3,4`, or `phrase`, `sentence`, `field`.
    fn from_str(text: &str) -> Result<Self> {
        match text.parse::<Units>() {
            Ok(kind @ (Units::Phrase | Units::Sentence | Units::Field)) => return Ok(Self::By(kind)),
            _ if text == "none" => return Ok(Self::Single),
            _ => {}
        }
        let listed = text.split('|').map(set).collect::<Option<Vec<Set>>>();
        let listed = listed.ok_or_else(|| {
            Error::Request("write groups of units such as 0-2|3,4, or phrase, sentence or field".into())
        })?;
        let mut all = listed.concat();
        all.sort_unstable();
        match all.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Error::Request(format!("unit {} is in two groups", pair[0]))),
            None => Ok(Self::Listed(listed)),
        }
    }
}

/// The units of `0-2,5`.
fn set(text: &str) -> Option<Set> {
    let mut units = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        // A text has fewer units than this, and a wrong number must not fill the memory.
        if first > last || last >= 1 << 20 {
            return None;
        }
        units.extend(first..=last);
    }
    units.sort_unstable();
    Some(units)
}

impl fmt::Display for Grouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Single => f.write_str("none"),
            Self::By(kind) => kind.fmt(f),
            Self::Listed(listed) => {
                let list = |set: &Set| set.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
                f.write_str(&listed.iter().map(list).collect::<Vec<_>>().join("|"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::{Driver, Example, Model, Row, Target};
    use exegete_testkit::Toy;

    #[test]
    fn groups_are_read_and_written() {
        let check = |text: &str, written: &str| {
            assert_eq!(text.parse::<Grouping>().unwrap().to_string(), written);
        };
        check("0-2|3,4", "0,1,2|3,4");
        check("5 , 1-2", "1,2,5");
        check("sentence", "sentence");
        check("none", "none");
        for wrong in ["", "1|", "2-1", "a", "0-3|3", "1,1", "0-99999999999", "word", "-1"] {
            assert!(wrong.parse::<Grouping>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn units_outside_of_groups_stay_alone() {
        let (toy, driver) = (Toy::default(), Driver::default());
        let row = Row::new(toy.encoded(&Example::text("not good , a film")).unwrap());
        let job = Question::new(&toy, &driver, row, Target::class(0));
        let check = |text: &str, expected: &[&[usize]]| {
            assert_eq!(text.parse::<Grouping>().unwrap().of(&job).unwrap().0, expected);
        };
        check("1,3", &[&[1, 3], &[0], &[2], &[4]]);
        check("phrase", &[&[0, 1], &[2], &[3, 4]]);
        check("field", &[&[0, 1, 2, 3, 4]]);
        let error = "4-5".parse::<Grouping>().unwrap().of(&job).unwrap_err();
        assert!(error.to_string().contains("no unit 5"), "{error}");
        let groups = Groups(vec![vec![0, 1], vec![1]]);
        assert_eq!(groups.spread(3, &[2.0, 4.0]), [2.0, 3.0, 0.0]);
    }
}
