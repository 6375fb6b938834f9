//! Which parameters belong together, in every golden model.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::Model;
use exegete_models::{LoadOptions, load};
use exegete_testkit::golden::folders;
use std::path::Path;

fn open(folder: &Path) -> std::sync::Arc<dyn Model> {
    load(folder, &LoadOptions { threads: 1, ..LoadOptions::default() }).unwrap()
}

/// What a parameter's name lets one expect, written without a look at any family's layout.
fn expected(name: &str) -> String {
    let pieces: Vec<&str> = name.split('.').collect();
    for (before, group) in [("layer", "layer"), ("albert_layer_groups", "layers")] {
        if let Some(at) = pieces.iter().position(|&piece| piece == before) {
            return format!("{group}.{}", pieces[at + 1]);
        }
    }
    if pieces.iter().any(|piece| piece.contains("embedding")) { "embeddings".into() } else { "head".into() }
}

#[test]
fn every_parameter_is_in_the_group_that_its_name_suggests_and_in_no_other() {
    let mut seen = 0;
    for folder in folders().unwrap() {
        let model = open(&folder);
        let learner = model.learner().unwrap();
        let groups = learner.groups();
        for group in &groups {
            for name in &group.parameters {
                assert_eq!(group.name, expected(name), "{}: {name}", folder.display());
                seen += 1;
            }
        }
        let mut grouped: Vec<String> = groups.into_iter().flat_map(|group| group.parameters).collect();
        grouped.sort_unstable();
        let all: Vec<String> = learner.parameters().into_iter().map(|(name, _)| name).collect();
        assert_eq!(grouped, all, "{}", folder.display());
    }
    assert!(seen > 0);
}

#[test]
fn groups_follow_the_computation_and_views_keep_them() {
    for folder in folders().unwrap() {
        let model = open(&folder);
        let card = model.card();
        let groups = model.learner().unwrap().groups();
        let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        let layers: Vec<String> = match card.family.as_str() {
            "albert" => vec!["layers.0".into()],
            _ => (0..card.sizes.0[0].1).map(|n| format!("layer.{n}")).collect(),
        };
        // A bare encoder without a pooler has nothing on top.
        let bare = card.task.name() == "encoder" && !card.warnings.is_empty();
        let mut order = vec!["embeddings"];
        order.extend(layers.iter().map(String::as_str));
        order.extend((!bare).then_some("head"));
        assert_eq!(names, order, "{}", folder.display());
        let view = model.open().unwrap().with_params(Vec::new()).unwrap();
        assert_eq!(view.learner().unwrap().groups(), groups, "{}", folder.display());
    }
}
