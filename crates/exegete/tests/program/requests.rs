//! `exegete schema`.

use crate::harness::{assert_error, exegete};
use exegete::request::SCHEMAS;
use exegete::request::methods::{self, MethodsRequest};
use serde_json::Value;

/// What the program does has a request, whose schema can be asked for by the command's own name.
#[test]
fn every_command_has_a_request() {
    for command in ["methods", "explain again", "show", "bench"] {
        assert!(SCHEMAS.iter().any(|(name, _)| *name == command), "{command}");
    }
    let all = methods::run(&MethodsRequest::default()).unwrap();
    assert_eq!(all.len(), exegete::methods::METHODS.len());
    let one = methods::run(&serde_json::from_str(r#"{"name": "lime"}"#).unwrap()).unwrap();
    assert_eq!(one.iter().map(|info| info.name).collect::<Vec<_>>(), ["lime"]);
    assert!(methods::run(&MethodsRequest { name: Some("limes".to_owned()) }).is_err());
}

#[test]
fn every_schema_is_printed() {
    for (name, schema) in SCHEMAS {
        let args: Vec<&str> = std::iter::once("schema").chain(name.split(' ')).collect();
        let run = exegete(&args);
        let printed: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((run.code, &printed), (0, &schema()), "{name}");
        assert_eq!(printed["$schema"], "https://json-schema.org/draft/2020-12/schema");
        for (field, said) in printed["properties"].as_object().unwrap().iter().filter(|_| name != "report") {
            let typed = |said: &Value| said["type"].is_string() || said["type"].is_array();
            let choices = said["anyOf"].as_array();
            let whole = typed(said) || choices.is_some_and(|choices| choices.iter().all(typed));
            assert!(
                whole && said.get("default").is_some() && said["description"].is_string(),
                "{name} {field}: {said}"
            );
        }
    }
}

/// The defaults of a schema are a request that fits it, and nothing unknown does.
#[test]
fn defaults_fit_their_schema() {
    for (name, schema) in SCHEMAS.into_iter().filter(|(name, _)| *name != "report") {
        let schema = schema();
        let defaults = schema["properties"].as_object().unwrap().iter();
        let mut request: Value = defaults
            .map(|(field, said)| (field.clone(), said["default"].clone()))
            .collect::<serde_json::Map<_, _>>()
            .into();
        assert_eq!(exegete_testkit::misfits(&schema, &request), [""; 0], "{name}");
        request["colour"] = "red".into();
        assert_eq!(exegete_testkit::misfits(&schema, &request).len(), 1, "{name}");
    }
}

/// A command with one subcommand is clear without it; one with several is not.
#[test]
fn a_lone_subcommand_may_be_left_out() {
    let [short, long] = [&["schema", "data"][..], &["schema", "data", "make"]].map(exegete);
    assert_eq!((short.code, short.stdout), (0, long.stdout));
    assert_eq!(exegete(&["schema", "model"]).code, 2);
}

#[test]
fn an_unknown_schema_has_a_near_one() {
    for (args, said) in [
        (&["explian"][..], "did you mean 'explain'?"),
        (&["model", "inof"], "did you mean 'model info'?"),
        (&["model"], "model info"),
        (&["method"], "did you mean 'methods'?"),
        (&["weather"], "they are explain, eval"),
        (&[], "NAME"),
    ] {
        assert_error(&exegete(&[&["schema"], args].concat()), &[said]);
    }
}
