use super::*;
use exegete_core::Error;
use exegete_core::task::{self, Task};
use proptest::prelude::*;
use serde_json::{Value, json};

fn bert() -> Value {
    json!({
        "model_type": "bert", "hidden_size": 8, "num_hidden_layers": 6, "num_attention_heads": 2,
        "intermediate_size": 16, "vocab_size": 30, "max_position_embeddings": 12
    })
}

fn distilbert() -> Value {
    json!({
        "model_type": "distilbert", "dim": 8, "n_layers": 3, "n_heads": 2, "hidden_dim": 16, "vocab_size": 30,
        "max_position_embeddings": 12, "activation": "relu", "layer_norm_eps": 0.1
    })
}

/// The config with some fields replaced; null stands for a field that is not there.
fn with(mut base: Value, changes: Value) -> Result<Config> {
    let map = base.as_object_mut().unwrap();
    map.extend(changes.as_object().unwrap().clone());
    Config::parse(base.to_string())
}

#[test]
fn silent_fields_take_the_defaults_of_transformers() {
    let config = with(bert(), json!({})).unwrap();
    assert_eq!((config.type_vocab_size, config.pad_token_id, config.embedding_size), (2, 0, 8));
    assert_eq!((config.layer_norm_eps, config.hidden_act), (1e-12, Activation::Gelu));
    assert_eq!((config.max_tokens(), config.first_position(), config.num_hidden_groups), (12, 0, 6));
    assert_eq!(config.labels(), ["LABEL_0", "LABEL_1"]);
    assert!(config.tie_word_embeddings);
    let roberta = with(bert(), json!({"model_type": "roberta"})).unwrap();
    assert_eq!((roberta.pad_token_id, roberta.max_tokens(), roberta.first_position()), (1, 10, 2));
    let electra = with(bert(), json!({"model_type": "electra"})).unwrap();
    assert_eq!(electra.embedding_size, 128);
}

#[test]
fn distilbert_has_its_own_names() {
    let config = Config::parse(distilbert().to_string()).unwrap();
    let sizes =
        (config.hidden_size, config.num_hidden_layers, config.num_attention_heads, config.intermediate_size);
    assert_eq!(sizes, (8, 3, 2, 16));
    assert_eq!((config.type_vocab_size, config.layer_norm_eps), (0, 1e-12));
    assert_eq!(config.hidden_act, Activation::Relu);
    let both = with(distilbert(), json!({"hidden_size": 4})).unwrap();
    assert_eq!(both.hidden_size, 8);
}

#[test]
fn albert_layers_map_to_groups() {
    let check = |groups: usize, expected: &[usize]| {
        let config = with(bert(), json!({"model_type": "albert", "num_hidden_groups": groups})).unwrap();
        let found: Vec<usize> = (0..6).map(|layer| config.group(layer)).collect();
        assert_eq!(found, expected);
        assert_eq!(config.hidden_act, Activation::GeluTanh);
    };
    check(1, &[0, 0, 0, 0, 0, 0]);
    check(2, &[0, 0, 0, 1, 1, 1]);
    check(4, &[0, 0, 1, 2, 2, 3]);
    check(6, &[0, 1, 2, 3, 4, 5]);
}

#[test]
fn the_task_follows_the_saved_class() {
    let check = |class: Value, more: Value, expected: &'static dyn Task| {
        let mut changes = json!({"architectures": class});
        changes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(with(bert(), changes).unwrap().task().unwrap(), expected, "{class} {more}");
    };
    let sequence = json!(["BertForSequenceClassification"]);
    check(sequence.clone(), json!({}), &task::CLASSIFICATION);
    check(sequence.clone(), json!({"id2label": {"0": "x"}}), &task::REGRESSION);
    check(sequence.clone(), json!({"num_labels": 1}), &task::REGRESSION);
    check(sequence.clone(), json!({"num_labels": 1, "problem_type": "regression"}), &task::REGRESSION);
    check(sequence.clone(), json!({"problem_type": "multi_label_classification"}), &task::MULTI_LABEL);
    check(
        sequence,
        json!({"num_labels": 1, "problem_type": "single_label_classification"}),
        &task::CLASSIFICATION,
    );
    check(json!(["RobertaForTokenClassification"]), json!({}), &task::TOKEN_CLASSIFICATION);
    check(json!(["AlbertForQuestionAnswering"]), json!({}), &task::QUESTION_ANSWERING);
    check(json!(["XLMRobertaForMaskedLM"]), json!({}), &task::MASKED_LANGUAGE_MODEL);
    check(json!(["BertModel"]), json!({}), &task::ENCODER);
    check(json!(null), json!({}), &task::ENCODER);
    check(json!([]), json!({}), &task::ENCODER);
}

#[test]
fn labels_are_sorted_by_number() {
    let names: Value =
        (0..12).map(|i| (i.to_string(), json!(format!("n{i}")))).collect::<serde_json::Map<_, _>>().into();
    let config = with(bert(), json!({"id2label": names})).unwrap();
    assert_eq!(config.labels()[9..], ["n9", "n10", "n11"]);
    let numbered = with(bert(), json!({"id2label": {"1": 5, "0": "a"}})).unwrap();
    assert_eq!(numbered.labels(), ["a", "5"]);
}

fn one_line(error: &Error) -> String {
    let message = error.to_string();
    assert!(!message.contains('\n'), "{message}");
    message
}

#[test]
fn every_absurd_value_is_named() {
    let check = |changes: Value, part: &str| {
        let message = one_line(&with(bert(), changes).expect_err(part));
        assert!(
            message.starts_with("config.json: ") && message.contains(part),
            "'{part}' is not in: {message}"
        );
    };
    check(
        json!({"model_type": "gpt2"}),
        "model type 'gpt2' is not known; known are bert, roberta, xlm-roberta",
    );
    check(json!({"model_type": null}), "'model_type' is missing");
    check(json!({"model_type": 3}), "'model_type' is 3, expected a text");
    check(json!({"model_type": "a\nb"}), r"model type 'a\nb'");
    check(json!({"hidden_size": null}), "'hidden_size' is missing");
    check(json!({"hidden_size": 0}), "'hidden_size' is 0, expected at least 1");
    check(json!({"hidden_size": 9}), "hidden size 9 is not divisible by 2 attention heads");
    check(json!({"vocab_size": 1_000_001}), "'vocab_size' is 1000001, expected a whole number up to 1000000");
    check(json!({"vocab_size": -1}), "'vocab_size' is -1");
    check(json!({"vocab_size": 1.5}), "'vocab_size' is 1.5");
    check(json!({"vocab_size": "30"}), "'vocab_size' is \"30\"");
    check(json!({"layer_norm_eps": 0}), "layer_norm_eps is 0");
    check(json!({"layer_norm_eps": -1e-5}), "layer_norm_eps is -0.00001");
    check(json!({"hidden_act": "mish"}), "activation 'mish' is not known; known are gelu");
    check(json!({"position_embedding_type": "relative_key"}), "position_embedding_type 'relative_key'");
    check(json!({"is_decoder": true}), "'is_decoder' is set; only encoders");
    check(json!({"pruned_heads": {"1": [0]}}), "pruned attention heads are not supported");
    check(json!({"quantization_config": {"bits": 4}}), "quantised weights are not supported");
    check(json!({"id2label": {"0": "a", "2": "b"}}), "the numbers in 'id2label'");
    check(json!({"id2label": {"x": "a"}}), "the numbers in 'id2label'");
    check(json!({"id2label": {"0": "a", "00": "b"}}), "the numbers in 'id2label'");
    check(json!({"id2label": 3}), "'id2label' is 3");
    check(json!({"architectures": "BertModel"}), "'architectures' is \"BertModel\"");
    check(json!({"model_type": "albert", "inner_group_num": 2}), "inner_group_num 2 is not supported");
    check(
        json!({"model_type": "albert", "num_hidden_groups": 7}),
        "num_hidden_groups 7 is more than the 6 layers",
    );
    check(json!({"model_type": "roberta", "pad_token_id": 11}), "max_position_embeddings 12 leaves no room");
}

#[test]
fn heads_that_are_not_supported_are_named() {
    let check = |changes: Value, part: &str| {
        let message = one_line(&with(bert(), changes).unwrap().task().unwrap_err());
        assert!(message.contains(part), "'{part}' is not in: {message}");
    };
    for class in ["BertForPreTraining", "BertForMultipleChoice", "BertLMHeadModel", "Bert"] {
        check(
            json!({"architectures": [class]}),
            &format!("the head of '{class}' is not supported; supported are For"),
        );
    }
    let sequence = json!(["BertForSequenceClassification"]);
    check(
        json!({"architectures": sequence, "problem_type": "ranking"}),
        "problem_type 'ranking' is not known",
    );
    check(json!({"architectures": sequence, "problem_type": "regression"}), "regression with 2 outputs");
}

#[test]
fn every_broken_folder_is_named() {
    let dir = tempfile::TempDir::new().unwrap();
    let check = |part: &str| {
        let message = one_line(&Config::read(dir.path()).expect_err(part));
        assert!(message.contains(part), "'{part}' is not in: {message}");
    };
    let path = dir.path().join("config.json");
    check("holds no config.json");
    for (bytes, part) in [
        (&b""[..], "no valid JSON"),
        (b"{\"a\":", "no valid JSON"),
        (b"[1]", "not an object"),
        (b"\xff\xfe", "is not UTF-8 text (byte 0)"),
        (b"{}", "'model_type' is missing"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        check(part);
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    check("is not a file");
    let message = one_line(&Config::read(&dir.path().join("none")).unwrap_err());
    assert!(message.contains("there is no such folder"), "{message}");
}

proptest! {
    #[test]
    fn a_damaged_config_never_panics(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), distil: bool,
    ) {
        let mut bytes = if distil { distilbert() } else { bert() }.to_string().into_bytes();
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        match Config::parse(String::from_utf8_lossy(&bytes)) {
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
            Ok(config) => {
                prop_assert!(config.max_tokens() > 0);
                config.task().ok();
                (0..config.num_hidden_layers.min(100)).for_each(|layer| assert!(config.group(layer) < config.num_hidden_groups));
            }
        }
    }
}
