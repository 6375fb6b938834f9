use super::*;
use proptest::prelude::*;
use std::fs;
use tempfile::TempDir;

/// A safetensors file with an honest header length.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

fn tensor(name: &str, dtype: &str, shape: &str, from: u64, to: u64) -> String {
    format!(r#""{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{from},{to}]}}"#)
}

fn header(tensors: &[String]) -> String {
    format!("{{{}}}", tensors.join(","))
}

fn one(dtype: &str, shape: &str, from: u64, to: u64, data: usize) -> Vec<u8> {
    file(&header(&[tensor("w", dtype, shape, from, to)]), &vec![0; data])
}

fn two(first: (u64, u64), second: (u64, u64), data: usize) -> Vec<u8> {
    let shape = |(from, to): (u64, u64)| format!("[{}]", (to - from) / 4);
    let a = tensor("a", "F32", &shape(first), first.0, first.1);
    let b = tensor("b", "F32", &shape(second), second.0, second.1);
    file(&header(&[a, b]), &vec![0; data])
}

/// One line that holds every expected part.
fn check_message(error: &Error, parts: &[&str]) {
    let message = error.to_string();
    assert!(matches!(error, Error::Model(_)), "{message}");
    assert!(!message.contains('\n'), "more than one line: {message}");
    for part in parts {
        assert!(message.contains(part), "'{part}' is not in: {message}");
    }
}

#[test]
fn every_lie_of_a_file_is_named() {
    let check = |bytes: Vec<u8>, part: &str| {
        let error = Checkpoint::from_bytes(bytes).expect_err(part);
        check_message(&error, &["safetensors: ", part]);
    };
    let valid = one("F32", "[2]", 0, 8, 8);
    let length = |n: u64| [&n.to_le_bytes()[..], &valid[8..]].concat();

    check(vec![], "has 0 bytes, too few");
    check(vec![1; 7], "has 7 bytes, too few");
    check(length(u64::MAX), "claims a header of 18446744073709551615 bytes, more than the format allows");
    check(length(100_000_000), "claims a header of 100000000 bytes but only");
    check(length(valid.len() as u64), "but only");
    check(length(20), "no valid JSON");
    check(length(0), "no valid JSON");
    check(valid[..valid.len() - 1].to_vec(), "ends at byte 8 of the data but only 7 are there");
    check([&valid[..], &[0]].concat(), "1 bytes at the end belong to no tensor");
    check([&8u64.to_le_bytes()[..], &[0xff; 8]].concat(), "not UTF-8");
    check(file("[]", &[]), "no valid JSON");
    check(file(r#"{"w":3}"#, &[]), "no valid JSON");
    check(file(&header(&[tensor("w", "F32", "[-1]", 0, 0)]), &[]), "no valid JSON");
    check(one("F32", "[2]", 8, 0, 8), "tensor 'w' has offsets that run backward, 8 to 0");
    check(one("F32", "[2]", 0, u64::MAX, 8), "tensor 'w' ends at byte 18446744073709551615");
    check(one("F32", "[3]", 0, 8, 8), "of shape [3] and type F32 needs 12 bytes, its offsets give 8");
    check(one("F16", "[2]", 0, 8, 8), "of shape [2] and type F16 needs 4 bytes");
    check(one("F32", "[4294967296,4294967296]", 0, 8, 8), "which no memory can hold");
    check(one("F32", "[9223372036854775807,3,0]", 0, 0, 0), "which no memory can hold");
    check(one("F32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]", 0, 8, 8), "has 17 axes");
    check(two((0, 8), (4, 12), 12), "tensors 'a' and 'b' overlap");
    check(two((0, 8), (0, 8), 8), "tensors 'a' and 'b' overlap");
    check(two((0, 4), (8, 12), 12), "4 bytes before tensor 'b' belong to no tensor");
    let twice = tensor("w", "F32", "[1]", 0, 4);
    check(file(&header(&[twice.clone(), twice]), &[0; 4]), "tensor 'w' is listed twice");
    let newline = tensor(r"a\nb", "F32", "[2]", 0, 4);
    check(file(&header(&[newline]), &[0; 4]), r"tensor 'a\nb'");
    let both =
        [tensor("x.LayerNorm.gamma", "F32", "[1]", 0, 4), tensor("x.LayerNorm.weight", "F32", "[1]", 4, 8)];
    check(file(&header(&both), &[0; 8]), "tensor 'x.LayerNorm.weight' is there twice");
    let deep = format!("{{\"w\":{}", "[".repeat(100_000));
    check(file(&deep, &[]), "no valid JSON");
}

#[test]
fn other_types_may_be_present_but_are_no_weights() {
    for dtype in ["I64", "F8_E4M3", "Q99"] {
        let width = if dtype == "I64" { 8 } else { 1 };
        let checkpoint = Checkpoint::from_bytes(one(dtype, "[2]", 0, 2 * width, 2 * width as usize)).unwrap();
        assert_eq!((checkpoint.dtype("w"), checkpoint.shape("w")), (Some(dtype), Some(&[2][..])));
        check_message(&checkpoint.read("w").unwrap_err(), &["tensor 'w' has type", dtype, "must be F32"]);
    }
    let checkpoint = Checkpoint::from_bytes(one("F32", "[2]", 0, 8, 8)).unwrap();
    check_message(&checkpoint.read("v").unwrap_err(), &["there is no tensor 'v'"]);
}

#[test]
fn every_width_is_read_as_f32() {
    let expected = [1.0, -2.5, 65504.0, 0.0, f32::INFINITY];
    // A misaligned header makes the f32 path copy, an aligned one lets it view the buffer.
    for padding in ["", " ", "  ", "   "] {
        for dtype in ["F64", "F32", "F16", "BF16"] {
            let data: Vec<u8> = match dtype {
                "F64" => expected.iter().flat_map(|&v| f64::from(v).to_le_bytes()).collect(),
                "F32" => expected.iter().flat_map(|v| v.to_le_bytes()).collect(),
                "F16" => expected.iter().flat_map(|&v| half::f16::from_f32(v).to_le_bytes()).collect(),
                _ => expected.iter().flat_map(|&v| half::bf16::from_f32(v).to_le_bytes()).collect(),
            };
            let text = header(&[tensor("w", dtype, "[5]", 0, data.len() as u64)]) + padding;
            let checkpoint = Checkpoint::from_bytes(file(&text, &data)).unwrap();
            let values = checkpoint.read("w").unwrap();
            let expected =
                expected.map(|v| if dtype == "BF16" { half::bf16::from_f32(v).to_f32() } else { v });
            assert_eq!(values.as_ref(), expected, "{dtype}");
        }
    }
}

#[test]
fn long_halves_are_converted_across_blocks() {
    let values: Vec<f32> = (0..5000).map(|i| (i % 2048) as f32).collect();
    let data: Vec<u8> = values.iter().flat_map(|&v| half::f16::from_f32(v).to_le_bytes()).collect();
    let checkpoint = Checkpoint::from_bytes(file(&header(&[tensor("w", "F16", "[5000]", 0, 10_000)]), &data));
    assert_eq!(checkpoint.unwrap().read("w").unwrap().as_ref(), values);
}

#[test]
fn a_mapped_file_is_viewed_and_not_copied() {
    let dir = TempDir::new().unwrap();
    let mut text = header(&[tensor("w", "F32", "[2]", 0, 8)]);
    text.push_str(&" ".repeat(8 - text.len() % 8));
    fs::write(dir.path().join("model.safetensors"), file(&text, &[0, 0, 128, 63, 0, 0, 0, 64])).unwrap();
    let values = Checkpoint::open(dir.path()).unwrap().read("w").unwrap();
    assert!(values.is_mapped());
    assert_eq!(values.as_ref(), [1.0, 2.0]);
}

#[test]
fn every_broken_folder_is_named() {
    let index = "model.safetensors.index.json";
    let check = |files: &[(&str, &[u8])], parts: &[&str]| {
        let dir = TempDir::new().unwrap();
        for (name, bytes) in files {
            fs::write(dir.path().join(name), bytes).unwrap();
        }
        check_message(&Checkpoint::open(dir.path()).expect_err(parts[0]), parts);
    };
    let shard = one("F32", "[2]", 0, 8, 8);
    check(&[], &["holds no weights: looked for model.safetensors and model.safetensors.index.json"]);
    check(
        &[("adapter_model.safetensors", &shard)],
        &["holds no weights", "'adapter_model.safetensors' is not read"],
    );
    for pickle in ["pytorch_model.bin", "pytorch_model.bin.index.json", "model.pt"] {
        check(
            &[(pickle, b"x")],
            &[pickle, "a pickle", "refused", "save_pretrained(d, safe_serialization=True)"],
        );
    }
    check(&[("model.safetensors", &shard[..20])], &["model.safetensors: claims a header"]);
    check(&[("model.safetensors", b"")], &["model.safetensors: has 0 bytes"]);
    check(&[(index, b"{")], &[index, "no valid shard index"]);
    check(&[(index, b"\xff")], &[index, "not UTF-8"]);
    check(&[(index, br#"{"weight_map":{}}"#)], &[index, "names no shard"]);
    check(
        &[(index, br#"{"weight_map":{"w":"a.safetensors"}}"#)],
        &["the shard 'a.safetensors', which is not there"],
    );
    for foreign in ["../a", "/etc/passwd", "b/c", ".", ""] {
        let text = format!(r#"{{"weight_map":{{"w":"{foreign}"}}}}"#);
        check(&[(index, text.as_bytes())], &["is not a file of this folder"]);
    }
    let missing = br#"{"weight_map":{"w":"a","v":"a"}}"#;
    check(&[(index, missing), ("a", &shard)], &["lacks tensor 'v', which the shard index promises"]);
    let moved = br#"{"weight_map":{"w":"a","v":"b"}}"#;
    check(&[(index, moved), ("a", &shard), ("b", &shard)], &["tensor 'w' is there twice"]);
}

#[test]
fn what_is_no_folder_is_named() {
    let dir = TempDir::new().unwrap();
    check_message(&Checkpoint::open(&dir.path().join("none")).unwrap_err(), &["there is no such folder"]);
    let plain = dir.path().join("plain");
    fs::write(&plain, "").unwrap();
    check_message(&Checkpoint::open(&plain).unwrap_err(), &["is not a folder"]);
    fs::create_dir(dir.path().join("model.safetensors")).unwrap();
    check_message(&Checkpoint::open(dir.path()).unwrap_err(), &["is not a file"]);
}

#[test]
fn legacy_names_are_found_under_the_canonical_ones() {
    let names = ["x.LayerNorm.gamma", "x.LayerNorm.beta", "crf.gamma", "LayerNorm.beta"];
    let listed: Vec<String> =
        (0..).zip(names).map(|(i, name)| tensor(name, "F32", "[1]", 4 * i, 4 * i + 4)).collect();
    let checkpoint = Checkpoint::from_bytes(file(&header(&listed), &[0; 16])).unwrap();
    let found: Vec<&str> = checkpoint.names().collect();
    assert_eq!(found, ["LayerNorm.bias", "crf.gamma", "x.LayerNorm.bias", "x.LayerNorm.weight"]);
}

#[test]
fn the_fingerprint_sees_every_part() {
    let open = |bytes| Checkpoint::from_bytes(bytes).unwrap();
    let print = |bytes| open(bytes).fingerprint(b"config");
    let base = one("F32", "[2]", 0, 8, 8);
    assert_eq!(print(base.clone()), print(base.clone()));
    assert_eq!(print(base.clone()).len(), 32);
    assert_ne!(print(base.clone()), open(base.clone()).fingerprint(b"other"));
    assert_ne!(print(base.clone()), print(one("F32", "[2,1]", 0, 8, 8)));
    assert_ne!(print(base.clone()), print(one("F16", "[4]", 0, 8, 8)));
    assert_ne!(print(base), print(file(&header(&[tensor("v", "F32", "[2]", 0, 8)]), &[0; 8])));
    // The first and the last byte of a large tensor are always in the sample.
    let large = one("F32", "[100000]", 0, 400_000, 400_000);
    for at in [large.len() - 400_000, large.len() - 1] {
        let mut changed = large.clone();
        changed[at] ^= 1;
        assert_ne!(print(large.clone()), print(changed));
    }
}

#[test]
fn replaced_parameters_change_the_fingerprint() {
    let array = |value: f32| exegete_core::Array::full([3], value);
    let print = |overrides: &[(&str, f32)]| {
        let overrides: Vec<_> =
            overrides.iter().map(|&(name, value)| (name.to_owned(), array(value))).collect();
        extend_fingerprint("base", &overrides)
    };
    let plain = print(&[("a", 1.0), ("b", 2.0)]);
    assert_eq!(plain, print(&[("b", 2.0), ("a", 1.0)]));
    assert_ne!(plain, print(&[("a", 1.0), ("b", 2.0f32.next_up())]));
    assert_ne!(plain, print(&[("a", 1.0)]));
    assert_ne!(plain, print(&[("a", 2.0), ("b", 1.0)]));
}

/// Codes and scales worked out by hand.
#[test]
fn packed_weights_are_unpacked() {
    // 5 bits: codes 0, 31, 1, 0, … in five bytes, lowest bits first; 0 → −15.5, 31 → 15.5, 1 → −14.5.
    let word: u64 = 31 << 5 | 1 << 10;
    let halves = |values: &[f32]| -> Vec<u8> {
        values.iter().flat_map(|&v| half::f16::from_f32(v).to_le_bytes()).collect()
    };
    let text = |codes: &str, scale: &str| {
        header(&[tensor("w.q5", "U8", codes, 0, 5), tensor("w.scale", "F16", scale, 5, 9)])
    };
    let data = [&word.to_le_bytes()[..5], &halves(&[2.0, 0.5])].concat();
    let checkpoint = Checkpoint::from_bytes(file(&text("[1,5]", "[1,2]"), &data)).unwrap();
    assert_eq!(checkpoint.shape("w"), Some(&[1, 8][..]));
    assert_eq!(checkpoint.names().collect::<Vec<_>>(), ["w"]);
    let expected = [-31.0, 31.0, -29.0, -31.0, -7.75, -7.75, -7.75, -7.75];
    assert_eq!(checkpoint.read("w").unwrap().as_ref(), expected);
    // Two bits: every code.
    let two = header(&[tensor("v.q2", "U8", "[1,2]", 0, 2), tensor("v.scale", "F16", "[1,1]", 2, 4)]);
    let data = [&[0b1110_0100, 0b0001_1011][..], &halves(&[1.0])].concat();
    let checkpoint = Checkpoint::from_bytes(file(&two, &data)).unwrap();
    assert_eq!(checkpoint.read("v").unwrap().as_ref(), [-1.5, -0.5, 0.5, 1.5, 1.5, 0.5, -0.5, -1.5]);

    for (codes, scale, told) in [
        ("[5]", "[1,2]", "no matrix"),
        ("[5,1]", "[1,2]", "does not fit"),
        ("[1,5]", "[2,1]", "does not fit"),
    ] {
        let error = Checkpoint::from_bytes(file(&text(codes, scale), &[0; 9])).unwrap_err();
        check_message(&error, &["'w.q5' is packed", told]);
    }
    let alone = file(&header(&[tensor("w.q5", "U8", "[1,5]", 0, 5)]), &[0; 5]);
    check_message(&Checkpoint::from_bytes(alone).unwrap_err(), &["has no scale"]);
    // A scale without codes is a tensor like any other.
    let plain = file(&header(&[tensor("w.scale", "F32", "[1]", 0, 4)]), &[0; 4]);
    assert!(Checkpoint::from_bytes(plain).unwrap().contains("w.scale"));
}

/// Codes whose lowest bit lies apart, and scales whose bytes do, are the same model: weight for weight, and by name.
#[test]
fn low_bits_and_bytes_may_lie_apart() {
    // Few codes, which the fingerprint takes whole, and many, of which it takes pieces that start within a code.
    for rows in [64, 512] {
        let code = |place: usize| (place * 7 + place / 32) % 32;
        let codes: Vec<usize> = (0..rows * 8).map(code).collect();
        let packed = |bits: usize, part: &dyn Fn(usize) -> usize| -> Vec<u8> {
            let word =
                |eight: &[usize]| eight.iter().rev().fold(0, |word, code| word << bits | part(*code) as u64);
            codes.chunks(8).flat_map(|eight| word(eight).to_le_bytes().into_iter().take(bits)).collect()
        };
        let scale: Vec<[u8; 2]> =
            (0..rows).map(|row| half::f16::from_f32(row as f32).to_le_bytes()).collect();
        let scale_apart: Vec<u8> =
            [1, 0].iter().flat_map(|&i| scale.iter().map(move |half| half[i])).collect();
        let scale_apart = ("w.scale", "U8", format!("[2,{rows},1]"), scale_apart);
        let opened = |parts: &[(&str, &str, String, Vec<u8>)]| {
            let (mut listed, mut data) = (Vec::new(), Vec::new());
            for (name, kind, shape, bytes) in parts {
                let start = data.len();
                data.extend(bytes);
                listed.push(tensor(name, kind, shape, start as u64, data.len() as u64));
            }
            Checkpoint::from_bytes(file(&header(&listed), &data))
        };
        let matrix = |name, cols: usize, bytes| (name, "U8", format!("[{rows},{cols}]"), bytes);
        let scale = ("w.scale", "F16", format!("[{rows},1]"), scale.concat());
        let whole = opened(&[matrix("w.q5", 5, packed(5, &|code| code)), scale.clone()]).unwrap();
        let high = matrix("w.q4", 4, packed(4, &|code| code >> 1));
        let apart = |low| opened(&[high.clone(), matrix("w.low", 1, low), scale_apart.clone()]).unwrap();
        let same = apart(packed(1, &|code| code & 1));
        assert_eq!(same.read("w").unwrap().as_ref(), whole.read("w").unwrap().as_ref());
        assert_eq!(same.fingerprint(b""), whole.fingerprint(b""));
        assert_eq!(same.names().collect::<Vec<_>>(), ["w"]);
        let other = apart(vec![0; rows]);
        assert_ne!(other.read("w").unwrap().as_ref(), whole.read("w").unwrap().as_ref());
        assert_ne!(other.fingerprint(b""), whole.fingerprint(b""));
        // No bit a code, and more than there is room for.
        for cols in [0, 5] {
            let low = matrix("w.low", cols, vec![0; rows * cols]);
            let error = opened(&[high.clone(), low, scale.clone()]).unwrap_err();
            check_message(&error, &["'w.q4' is packed", "low bits do not fit"]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever happens to a valid file, the reader answers with tensors of their promised size or with one line.
    #[test]
    fn a_damaged_file_never_panics(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let listed = [
            tensor("a", "F32", "[2,3]", 0, 24),
            tensor("b", "BF16", "[4]", 24, 32),
            tensor("c.q5", "U8", "[2,5]", 32, 42),
            tensor("c.scale", "F16", "[2,1]", 42, 46),
            tensor("c.low", "U8", "[2,2]", 46, 50),
            tensor("d.q4", "U8", "[1,4]", 50, 54),
            tensor("d.scale", "U8", "[2,1,1]", 54, 56),
        ];
        let mut bytes = file(&header(&listed), &[7; 56]);
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        match Checkpoint::from_bytes(bytes) {
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
            Ok(checkpoint) => {
                for name in checkpoint.names() {
                    let count: usize = checkpoint.shape(name).unwrap().iter().product();
                    if let Ok(values) = checkpoint.read(name) {
                        prop_assert_eq!(values.as_ref().len(), count);
                    }
                }
                checkpoint.fingerprint(b"");
            }
        }
    }
}
