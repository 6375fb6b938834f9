//! What work costs before it starts.

use crate::parameter::grouped;
use crate::registry::{Info, Needs};
use crate::{Kind, Request};
use exegete_core::{Error, Example, Model, Result};

/// Bytes that a method which hides units keeps of every row, about: what was found, and for every unit whether it was
/// hidden, several times over.
const ROW_BYTES: usize = 800;
const UNIT_BYTES: usize = 48;

/// How much there is for a method over many texts.
#[derive(Debug, Clone, Copy)]
pub struct SurveySize {
    /// Units of one text.
    pub units: usize,
    /// How many texts there are.
    pub texts: usize,
    /// Classes of the model.
    pub classes: usize,
    /// Targets that are asked about.
    pub targets: usize,
}

/// The most rows of the model that each method of a request runs for so many texts like this one, where it knows that beforehand;
/// an error where one text takes more bytes than are allowed.
pub fn most_rows(
    model: &dyn Model,
    memory_bytes: usize,
    (example, texts): (&Example, usize),
    request: &Request,
) -> Result<Vec<(&'static str, usize)>> {
    let encoded = model.encoded(example)?;
    let units = request.units.of(&encoded).len();
    let targets = request.top_labels.unwrap_or(request.targets.len()).max(1);
    let mut known = Vec::new();
    for chosen in &request.methods {
        let rows = match &chosen.kind {
            Kind::Scores(method) if chosen.info.needs == Needs::Inside => method.most_rows(encoded.len()),
            Kind::Scores(method) => method.most_rows(units),
            Kind::Finds(method) => method.most_rows(units),
            Kind::Surveys(survey) => {
                let size = SurveySize { units, texts, classes: model.card().labels.len(), targets };
                known.extend(survey.most_rows(&size).map(|rows| (chosen.info.name, rows)));
                continue;
            }
        };
        afford(chosen.info, rows, units, memory_bytes)?;
        let rows = rows.map(|rows| rows.saturating_mul(targets).saturating_mul(texts));
        known.extend(rows.map(|rows| (chosen.info.name, rows)));
    }
    Ok(known)
}

/// Refuses to hide units in more rows than the memory holds. Methods that look inside a model remember no row.
pub(crate) fn afford(info: &Info, rows: Option<usize>, units: usize, memory_bytes: usize) -> Result<()> {
    let rows = if info.needs == Needs::Predictions { rows.unwrap_or(0) } else { 0 };
    let bytes = rows.saturating_mul(UNIT_BYTES.saturating_mul(units).saturating_add(ROW_BYTES));
    if bytes <= memory_bytes {
        return Ok(());
    }
    let megabytes = |bytes: usize| grouped(bytes.div_ceil(1 << 20));
    Err(Error::Request(format!(
        "{}: up to {} rows of {units} units need about {} MiB, and {} MiB are allowed; ask for fewer rows or coarser units, \
         or allow more memory",
        info.name,
        grouped(rows),
        megabytes(bytes),
        megabytes(memory_bytes)
    )))
}

/// All sets of units, or as many as can be counted.
pub(crate) fn all_sets(units: usize) -> usize {
    1 << units.min(62)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ConfiguredMethod, METHODS, Settings};
    use exegete_testkit::Toy;

    /// A text of twenty units.
    fn text() -> Example {
        Example::text(vec!["film"; 20].join(" "))
    }

    fn rows(method: &str, words: &[&str]) -> Option<usize> {
        rows_of(1, method, words)
    }

    fn rows_of(texts: usize, method: &str, words: &[&str]) -> Option<usize> {
        let methods = vec![ConfiguredMethod::new(method, Settings::parse(words).unwrap()).unwrap()];
        let request = Request { methods, ..Request::default() };
        most_rows(&Toy::default(), 2 << 30, (&text(), texts), &request)
            .unwrap()
            .first()
            .map(|(_, rows)| *rows)
    }

    #[test]
    fn rows_are_known_before_they_run() {
        assert_eq!(rows("lime", &["budget=200000"]), Some(200_000));
        assert_eq!(rows("lime", &["samples=30000"]), Some(30_000));
        assert_eq!(rows("permutation_shap", &["samples=1000"]), Some(1000 * 38 + 2));
        assert_eq!(rows("kernel_shap", &["samples=1000000"]), Some(1_000_002));
        assert_eq!(rows("feature_permutation", &["samples=1000"]), Some(20_002));
        assert_eq!(
            rows("integrated_gradients", &["steps=50", "noise=smooth", "noise_samples=1000"]),
            Some(52_001)
        );
        let sequential = |more: &str| rows("integrated_gradients", &["path=sequential", more]);
        assert_eq!(sequential("steps=50"), Some(20 * 51 + 1));
        assert_eq!(sequential("tolerance=0.1"), Some(20 * 256 + 1));
        assert_eq!(rows("saliency", &["noise=smooth", "noise_samples=1000"]), Some(1001));
        assert_eq!(rows("saliency", &[]), None);
        assert_eq!(rows("hotflip", &["candidates=10000", "beam=10", "random=0"]), Some(10_000 + 2 * 100_000));
        // Over many texts: each in turn, or as many as a search looks at.
        assert_eq!(rows_of(50, "lime", &["samples=3000"]), Some(150_000));
        assert_eq!(rows_of(50, "sp_lime", &["samples=3000"]), Some(150_000));
        let triggers = |texts| rows_of(texts, "triggers", &["attack=0"]).unwrap();
        assert!(triggers(40) < triggers(400) && triggers(40_000) < 100_000, "{}", triggers(40_000));
        assert!(rows_of(400, "triggers", &[]).unwrap() > 400 + 2 * (triggers(400) - 400) - 1);
        assert!(rows_of(400, "triggers", &["rounds=500"]).unwrap() > 100 * (triggers(400) - 400) / 2);
        assert_eq!(rows_of(400, "artifacts", &[]), None);
        // What nobody was told costs little.
        for info in METHODS.iter().filter(|info| info.name != "exact_shap") {
            assert!(rows(info.name, &[]).is_none_or(|rows| rows <= 4096), "{}", info.name);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_figures() {
        let info = crate::find("lime").unwrap();
        let allowed = 64 << 20;
        assert!(afford(info, Some(2000), 500, allowed).is_ok() && afford(info, None, 500, allowed).is_ok());
        let error = afford(info, Some(1_000_000), 20, allowed).unwrap_err().to_string();
        assert_eq!(
            error,
            "lime: up to 1,000,000 rows of 20 units need about 1,679 MiB, and 64 MiB are allowed; ask for fewer rows or coarser \
             units, or allow more memory"
        );
        assert!(afford(info, Some(usize::MAX), usize::MAX >> 20, allowed).is_err());
    }
}
