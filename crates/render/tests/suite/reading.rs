//! Files that are no good reports, and what is said of them.

use super::samples;
use exegete_core::report::Item;
use exegete_render::{Format, RenderOptions, read, render};

fn full() -> String {
    let (_, report) = samples::named().swap_remove(0);
    render(&report, Format::Jsonl, &RenderOptions::default())
}

fn check(json: &str, told: &[&str]) {
    let error = read(json.as_bytes()).unwrap_err().to_string();
    for part in told {
        assert!(error.contains(part), "'{part}' is not in: {error}");
    }
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn other_files_are_told_apart() {
    check("", &["EOF", "JSON document"]);
    check("{\"schema\":", &["EOF"]);
    check("{} {}", &["trailing", "only one"]);
    check("[1]", &["no object", "exegete.report/1"]);
    check("{\"items\":[]}", &["no 'schema'"]);
    check(
        "{\"schema\":\"exegete.predictions/1\"}",
        &["'exegete.predictions/1', expected 'exegete.report/1'"],
    );
    check("{\"schema\":\"\\u001b[31m\"}", &["\\u{1b}"]);
    check("{\"schema\":\"exegete.report/1\"}", &["'provenance' is missing"]);
    assert!(read(b"\xff\xfe").is_err());
}

#[test]
fn what_does_not_fit_together_is_named() {
    for (from, to, told) in [
        ("\"kind\":\"attribution\"", "\"kind\":\"poem\"", &["items[0]", "poem", "attribution"][..]),
        ("\"values\":[0.021,", "\"values\":[", &["items[0]", "'values' has 29 entries, but 'units' has 30"]),
        ("\"values\":[0.021,", "\"values\":[null,", &["items[0].values[0] is null"]),
        (
            "\"token_values\":[",
            "\"token_values\":[0.5,",
            &["'token_values' has 32 entries, but 'tokens' has 31"],
        ),
        ("\"errors\":[", "\"errors\":[0.5,", &["'errors' has 31"]),
        ("\"units\":[{\"text\":\"I\"", "\"units\":[{\"text\":\"J\"", &["units[0] says 'J'", "'I'", "bytes"]),
        (
            "\"field\":0,\"start\":0,\"end\":1}",
            "\"field\":7,\"start\":0,\"end\":1}",
            &["units[0]", "field 7"],
        ),
        (
            "\"field\":0,\"start\":0,\"end\":1}",
            "\"field\":0,\"start\":0,\"end\":999}",
            &["units[0]", "outside"],
        ),
        ("\"flip\":{\"units\":[3,1]", "\"flip\":{\"units\":[99]", &["flip names unit 99"]),
        ("\"measured\":[0,", "\"measured\":[", &["'leave_one_out.drops' has 3", "'measured' has 2"]),
        ("\"bins\":[0.01,", "\"bins\":[", &["checks: comprehensiveness", "'own' has 5", "'bins' has 4"]),
        ("\"shares\":[0.0,", "\"shares\":[", &["deletion", "'shares' has 10"]),
        ("\"seed\":0", "\"seed\":\"x\"", &["provenance", "invalid type"]),
        // A message stays one line whatever it quotes.
        ("\"kind\":\"attribution\"", "\"kind\":\"po\\nem\\u001b\"", &["items[0]", "po em␛"]),
        ("\"seed\":0", "\"a\\nb\":null,\"seed\":\"x\"", &["provenance.a b is null"]),
        ("\"items\":[", "\"items\":4,\"more\":[", &["'items' must be a list"]),
    ] {
        let json = full();
        assert!(json.contains(from), "{from}");
        check(&json.replacen(from, to, 1), told);
    }
}

#[test]
fn rules_and_edits_are_checked_too() {
    for (name, from, to, told) in [
        (
            "rule",
            "\"conditions\":[11,12],\"precision\"",
            "\"conditions\":[11,77],\"precision\"",
            &["conditions names unit 77", "30 units"][..],
        ),
        ("rule", "\"conditions\":[11],", "\"conditions\":[30],", &["steps[1] names unit 30"]),
        ("rule", "\"units\":[{\"text\":\"I\"", "\"units\":[{\"text\":\"J\"", &["units[0] says 'J'"]),
        (
            "rule",
            "\"breaks\":[[",
            "\"breaks\":[[{\"name\":\"more\",\"text\":\"\"},",
            &["'breaks[0]' has 2 entries"],
        ),
        ("rule", "\"threshold\":0.95", "\"threshold\":null", &["items[0].threshold is null"]),
        (
            "edits",
            "\"start\":41,\"end\":49",
            "\"start\":41,\"end\":999",
            &["found[0]: swaps[0]", "outside field 0"],
        ),
        ("edits", "\"start\":41,\"end\":49", "\"start\":49,\"end\":41", &["swaps[0]", "outside"]),
        (
            "edits",
            "\"field\":0,\"start\":41",
            "\"field\":3,\"start\":41",
            &["swaps[0]", "field 3 does not exist"],
        ),
        (
            "edits",
            "\"before\":\"terrible\"",
            "\"before\":\"horrible\"",
            &["'before' says 'horrible'", "are 'terrible'"],
        ),
        (
            "edits",
            "\"start\":50,\"end\":54,\"before\":\"mess\"",
            "\"start\":45,\"end\":49,\"before\":\"ible\"",
            &["swaps[1] begins before", "order"],
        ),
        ("edits", "\"hits\":1", "\"hits\":41", &["41 hits in 40 trials"]),
        (
            "edits",
            "\"found\":[{\"input\":[",
            "\"found\":[{\"input\":[{\"name\":\"\",\"text\":\"\"},",
            &["found[0]", "'input' has 2"],
        ),
        ("hostile", "\"before\":\"נהדר\"", "\"before\":\"\"", &["'before' says ''"]),
    ] {
        let (_, report) = samples::named().into_iter().find(|(other, _)| *other == name).unwrap();
        let json = render(&report, Format::Jsonl, &RenderOptions::default());
        assert!(json.contains(from), "{from}");
        check(&json.replacen(from, to, 1), told);
    }
}

#[test]
fn changes_within_a_character_are_refused() {
    let (_, mut report) = samples::named().into_iter().find(|(name, _)| *name == "hostile").unwrap();
    let edits = report.items.iter_mut().find_map(|item| match item {
        Item::Edits(edits) => Some(edits),
        _ => None,
    });
    let edits = edits.unwrap();
    let swap = edits.found[0].swaps.iter_mut().find(|swap| swap.before == "נהדר").unwrap();
    (swap.start, swap.before) = (swap.start + 1, String::new());
    check(&render(&report, Format::Jsonl, &RenderOptions::default()), &["swaps[1]", "cut a character"]);
}

#[test]
fn maps_and_tables_are_checked_too() {
    for (name, from, to, told) in [
        (
            "map",
            "\"spread\":[{",
            "\"spread\":[{\"min\":0,\"lower\":0,\"median\":0,\"upper\":0,\"max\":0,\"entropy\":0},{",
            "layers[0].spread",
        ),
        ("map", "\"token_values\":[", "\"token_values\":[1.5,", "layers[0].token_values"),
        ("experiment", "\"name\":\"heads\"", "\"name\":\"\"", "'rows' has no 'name'"),
        ("experiment", "\"verdict\":\"says_nothing\"", "\"verdict\":\"\"", "no 'verdict'"),
        ("pictures", "\"series\":\"arm\"", "\"series\":\"arms\"", "names the column 'arms'"),
        ("table", "\"columns\":[", "\"columns\":[\"more\",", "'rows[0]' has 4 entries, but 'columns' has 5"),
    ] {
        let (_, report) = samples::named().into_iter().find(|(other, _)| *other == name).unwrap();
        let json = render(&report, Format::Jsonl, &RenderOptions::default());
        assert!(json.contains(from), "{from}");
        check(&json.replacen(from, to, 1), &[told]);
    }
}
