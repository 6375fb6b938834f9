use super::*;
use crate::gradient::saliency;
use crate::perturbation::occlusion;
use crate::{ConfiguredMethod, Info, METHODS, Method, Settings};

/// Makes a method from words, as a user does.
fn made(info: &'static Info, words: &[String]) -> Result<ConfiguredMethod> {
    let (chosen, rest) = ConfiguredMethod::of(info, Settings::parse(words)?)?;
    rest.finish()?;
    Ok(chosen)
}

#[test]
fn errors_are_one_line_that_says_what_is_taken() {
    let check = |method: &str, words: &[&str], expected: &str| {
        let error = ConfiguredMethod::new(method, Settings::parse(words).unwrap()).err().unwrap().to_string();
        assert_eq!(error, expected, "{method} {words:?}");
    };
    let points = "must be a whole number from 1 to 10,000";
    let rows = "must be a whole number from 1 to 1,000,000";
    check("integrated_gradients", &["steps=999999999999"], &format!("steps=999999999999: {points}"));
    check("integrated_gradients", &["steps=1e3"], &format!("steps=1e3: {points}"));
    check("integrated_gradients", &["steps="], &format!("steps=: {points}"));
    check("integrated_gradients", &["steps=-1"], &format!("steps=-1: {points}"));
    check("conductance", &["steps=0"], &format!("steps=0: {points}"));
    check("lime", &["budget=1000001"], &format!("budget=1000001: {rows}"));
    check(
        "permutation_shap",
        &["samples=99999999999999999999999"],
        &format!("samples=99999999999999999999999: {rows}"),
    );
    check("lime", &["tolerance=0"], "tolerance=0: must be a number above 0");
    check("lime", &["tolerance=NaN"], "tolerance=NaN: must be a number above 0");
    check("lime", &["tolerance=inf"], "tolerance=inf: must be a number above 0");
    check("anchors", &["delta=1"], "delta=1: must be a number from 0.000001 to 0.9999");
    check("lrp", &["rule=alpha_beta", "alpha=0.5"], "alpha=0.5: must be a number of at least 1");
    check("lrp", &["rule=x"], "rule=x: must be one of epsilon, gamma, alpha_beta, z_plus");
    check(
        "lrp",
        &["gamma=1"],
        "lrp does not use gamma as the rest is set; gamma: with `rule=gamma`: contributions of z_j's own sign count 1 + γ \
         times",
    );
    check(
        "occlusion",
        &["windows=3"],
        "occlusion knows no 'windows' (windows=3); it knows normalise, stride, window; did you mean window=3?",
    );
    check("saliency", &["noise=smooth", "sigma=1", "sigma_absolute=1"], "sigma and sigma_absolute: give one");
}

/// Values that a parameter takes; a choice must work with each of its words, others with one.
fn values(parameter: &Parameter) -> Vec<String> {
    let name = parameter.name;
    match parameter.takes {
        Takes::Count { least, most, .. } => vec![format!("{name}={most}"), format!("{name}={least}")],
        Takes::Number { .. } => vec![format!("{name}=0.5"), format!("{name}=1.5")],
        Takes::Choice { of, .. } => of.iter().map(|word| format!("{name}={word}")).collect(),
        Takes::Text { example, .. } => vec![format!("{name}={example}")],
    }
}

/// The words that are of no use to a method: alone or with one other, they are refused or not read. Whatever it reads
/// must be listed.
fn unused(info: &'static Info) -> Result<Vec<String>> {
    let listed = info.all_parameters();
    let mut unused = Vec::new();
    for parameter in &listed {
        let others = listed.iter().filter(|other| other.name != parameter.name);
        let others: Vec<String> = others.flat_map(|other| values(other)).collect();
        let works = |word: &String| -> Result<bool> {
            let alone = std::iter::once(vec![word.clone()]);
            for words in alone.chain(others.iter().map(|other| vec![word.clone(), other.clone()])) {
                match made(info, &words) {
                    Ok(_) => return Ok(true),
                    Err(error) if error.to_string().contains("a defect") => return Err(error),
                    Err(_) => {}
                }
            }
            Ok(false)
        };
        let mut idle = Vec::new();
        for word in &values(parameter) {
            idle.extend((!works(word)?).then(|| word.clone()));
        }
        if matches!(parameter.takes, Takes::Choice { .. }) || idle.len() == values(parameter).len() {
            unused.extend(idle);
        }
    }
    Ok(unused)
}

#[test]
fn methods_read_what_they_list_and_list_what_they_read() {
    for info in METHODS {
        made(info, &[]).unwrap();
        assert_eq!(unused(info).unwrap(), [""; 0], "{}", info.name);
    }
    static LACKS: Info = Info { parameters: &[], ..occlusion::INFO };
    assert!(unused(&LACKS).unwrap_err().to_string().contains("reads 'window', which it does not list"));
    static IDLE: Info =
        Info { parameters: &[Parameter::count("idle", 1..=2, None, "does nothing")], ..saliency::INFO };
    assert_eq!(unused(&IDLE).unwrap(), ["idle=2", "idle=1"]);
}

/// The cells of the table of a page.
fn cells(page: &str) -> Vec<Vec<String>> {
    let section = page.split("## Parameters\n").nth(1).unwrap();
    let table = section.lines().skip(1).take_while(|line| line.starts_with('|')).skip(2);
    let cell = |cell: &str| cell.trim().replace("\\|", "|");
    let cells = |line: &str| line.trim_matches('|').split(" | ").map(cell).collect();
    table.map(cells).collect()
}

#[test]
fn the_table_of_a_page_is_the_description() {
    for info in METHODS {
        let (page, listed) = (info.page(), info.all_parameters());
        let found = cells(&page);
        assert_eq!(found.len(), listed.len(), "{}", info.name);
        for (row, parameter) in found.iter().zip(listed) {
            assert_eq!(row.len(), 4, "{row:?}");
            assert_eq!(row[0], format!("`{}`", parameter.name));
            let default = parameter.default();
            let written = default.as_str().map_or_else(|| default.to_string(), ToOwned::to_owned);
            let expected = if default.is_null() {
                "—"
            } else if written.is_empty() {
                "none"
            } else {
                &written
            };
            assert_eq!(row[1].trim_matches('`'), expected, "{} {}", info.name, parameter.name);
            assert!(parameter.range().ends_with(&row[2]) && !row[2].is_empty(), "{row:?}");
            assert_eq!(row[3], parameter.help);
            assert!(
                !parameter.help.contains('\n') && parameter.help.chars().count() <= 120,
                "{}",
                parameter.help
            );
        }
        // Names and defaults stand in the table alone.
        let prose = info.prose.split("## Parameters\n").nth(1).unwrap();
        let prose = prose.split("\n## ").next().unwrap();
        assert!(!prose.contains("- `"), "{}: a list of parameters beside the table", info.name);
    }
}

#[test]
fn the_defaults_of_the_schema_are_those_in_use() {
    let (mut equal, mut silent) = (0, Vec::new());
    for info in METHODS {
        let (schema, used) = (info.schema(), made(info, &[]).unwrap().params());
        assert_eq!(schema["properties"].as_object().unwrap().len(), info.all_parameters().len());
        for parameter in info.parameters {
            let own = &schema["properties"][parameter.name];
            match (&own["default"], used.get(parameter.name)) {
                (Value::Null, None | Some(Value::Null)) => {}
                (Value::Null, Some(value)) => {
                    assert!(["last", "mean", "all"].iter().any(|word| value == word), "{value}")
                }
                (default, Some(value)) => {
                    assert_eq!(default, value, "{} {}", info.name, parameter.name);
                    equal += 1;
                }
                (_, None) => silent.push(format!("{} {}", info.name, parameter.name)),
            }
        }
    }
    assert!(equal > 50, "{equal}");
    // Parameters of other rules, defaults that reports leave out, and empty lists.
    let expected = [
        "integrated_gradients path",
        "lrp bias",
        "lrp gamma",
        "lrp alpha",
        "attention_attribution tree",
        "hotflip keep",
        "hotflip forbid",
        "hotflip same",
        "triggers forbid",
    ];
    assert_eq!(silent, expected);
}

#[test]
fn a_schema_says_type_range_and_help() {
    let schema = |parameter: &Parameter| parameter.schema();
    let count = Parameter::count("n", 1..=9, Some(3), "how many");
    let expected =
        json!({"type": "integer", "minimum": 1, "maximum": 9, "default": 3, "description": "how many"});
    assert_eq!(schema(&count), expected);
    let open = Parameter { name: "w", takes: Takes::Choice { of: &["a", "b"], default: None }, help: "x" };
    let expected =
        json!({"type": ["string", "null"], "enum": ["a", "b", null], "default": null, "description": "x"});
    assert_eq!(schema(&open), expected);
    let share = schema(&Parameter::number("s", between(0.01, 0.5), Some(0.5), "y"));
    assert_eq!((&share["minimum"], &share["maximum"]), (&json!(0.01), &json!(0.5)));
    let size = schema(&Parameter::number("s", POSITIVE, Some(0.5), "y"));
    assert_eq!((&size["exclusiveMinimum"], &size["maximum"]), (&json!(0.0), &Value::Null));
    for parameter in METHODS.iter().flat_map(|info| info.all_parameters()) {
        // Every default and every example is one that a user may give.
        let default = parameter.default();
        let word = default.as_str().map_or_else(|| default.to_string(), ToOwned::to_owned);
        assert!(default.is_null() || parameter.read(&word).unwrap() == default, "{}", parameter.name);
    }
    assert_eq!([7, 1_000, 1_234_567].map(grouped), ["7", "1,000", "1,234,567"]);
}
