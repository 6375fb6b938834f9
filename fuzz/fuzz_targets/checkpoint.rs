//! Bytes as a config and a safetensors file: both readers must answer with a value or one line, never a panic.
//!
//! Input: a mode byte, two bytes of config length (little-endian), the config, then the weights. In mode 0 the weights
//! are taken as they are. In the other modes they are a header text, a zero byte and the tensors' bytes, and the length
//! in front is computed: otherwise nearly every mutation would die at the first check.
#![no_main]

use exegete_models::checkpoint::Checkpoint;
use exegete_models::config::Config;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&[mode, low, high], rest)) = data.split_first_chunk::<3>() else { return };
    let (config, weights) = rest.split_at(rest.len().min(u16::from_le_bytes([low, high]).into()));
    check_config(config);
    check_weights(if mode == 0 { weights.to_vec() } else { with_length(weights) });
});

fn check_config(bytes: &[u8]) {
    match Config::parse(String::from_utf8_lossy(bytes)) {
        Err(error) => assert_one_line(&error.to_string()),
        Ok(config) => {
            assert!(config.max_tokens() > 0);
            assert!(config.group(config.num_hidden_layers - 1) < config.num_hidden_groups);
            config.task().map_err(|error| assert_one_line(&error.to_string())).ok();
        }
    }
}

fn check_weights(bytes: Vec<u8>) {
    let size = bytes.len();
    let checkpoint = match Checkpoint::from_bytes(bytes) {
        Err(error) => return assert_one_line(&error.to_string()),
        Ok(checkpoint) => checkpoint,
    };
    for name in checkpoint.names() {
        let count: usize = checkpoint.shape(name).unwrap_or_default().iter().product();
        match checkpoint.read(name) {
            Err(error) => assert_one_line(&error.to_string()),
            Ok(values) => assert!(values.as_ref().len() == count && count <= 4 * size),
        }
    }
    assert_eq!(checkpoint.fingerprint(b"").len(), 32);
}

fn with_length(weights: &[u8]) -> Vec<u8> {
    let end = weights.iter().position(|&byte| byte == 0).unwrap_or(weights.len());
    let (header, data) = weights.split_at(end);
    [&(end as u64).to_le_bytes()[..], header, data.get(1..).unwrap_or_default()].concat()
}

fn assert_one_line(message: &str) {
    assert!(!message.is_empty() && !message.contains(['\n', '\r']), "{message:?}");
}
