"""Makes the golden models: tiny random models of every family and head, with what transformers computes for them.

    python golden/make.py                            rewrites golden/models
    python golden/make.py --folder DIR --out OUT     records the expected values of an existing Hugging Face folder
"""

import argparse
import json
import shutil
import zlib
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file

import corpus
from record import SUFFIXES, load_model, load_tokenizer, record, record_learning

MODELS = Path(__file__).parent / "models"
POSITIONS = 48
# The inputs for which everything is stored; of the others only the outputs.
SHORT, MOST = {0, 1}, {0, 1, 3}

# head: (kind, labels, inputs)
HEADS = {
    "sequence": ("sequence", ["negative", "neutral", "positive"], corpus.TEXTS),
    "token": ("token", ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"], corpus.TEXTS),
    "qa": ("qa", None, corpus.QUESTIONS),
    "mlm": ("mlm", None, corpus.MASKED),
    "bare": ("bare", None, corpus.TEXTS),
}
BERT_HEADS = {
    "pair": ("sequence", ["other", "entailed"], corpus.PAIRS),
    "multilabel": ("sequence", ["funny", "sad", "long", "loud"], corpus.TEXTS),
    "regression": ("sequence", ["score"], corpus.TEXTS),
}
PROBLEMS = {"multilabel": "multi_label_classification", "regression": "regression"}

BERT_TOKENS = dict(pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")
ALBERT_TOKENS = BERT_TOKENS | dict(pad_token="<pad>", unk_token="<unk>", bos_token="[CLS]", eos_token="[SEP]")
ROBERTA_TOKENS = dict(
    bos_token="<s>",
    eos_token="</s>",
    pad_token="<pad>",
    unk_token="<unk>",
    cls_token="<s>",
    sep_token="</s>",
    mask_token="<mask>",
)
# Widths differ from family to family, and most are no multiple of a vector register.
# family: (class prefix, tokenizer, its special tokens, sizes)
FAMILIES = {
    "bert": (
        "Bert",
        corpus.wordpiece,
        BERT_TOKENS,
        dict(hidden_size=18, num_attention_heads=3, num_hidden_layers=3, intermediate_size=30),
    ),
    "roberta": (
        "Roberta",
        corpus.byte_level_bpe,
        ROBERTA_TOKENS,
        dict(hidden_size=20, num_attention_heads=2, num_hidden_layers=3, intermediate_size=28, type_vocab_size=1)
        | dict(max_position_embeddings=POSITIONS + 2, layer_norm_eps=1e-5),
    ),
    "xlm-roberta": (
        "XLMRoberta",
        corpus.xlm_roberta_unigram,
        ROBERTA_TOKENS,
        dict(hidden_size=18, num_attention_heads=3, num_hidden_layers=3, intermediate_size=26, type_vocab_size=1)
        | dict(max_position_embeddings=POSITIONS + 2, layer_norm_eps=1e-5),
    ),
    "distilbert": (
        "DistilBert",
        corpus.wordpiece,
        BERT_TOKENS,
        dict(dim=20, n_heads=2, n_layers=3, hidden_dim=34),
    ),
    "electra": (
        "Electra",
        corpus.wordpiece,
        BERT_TOKENS,
        dict(embedding_size=14, hidden_size=18, num_attention_heads=3, num_hidden_layers=3, intermediate_size=30),
    ),
    "albert": (
        "Albert",
        corpus.albert_unigram,
        ALBERT_TOKENS,
        dict(embedding_size=14, hidden_size=24, num_attention_heads=3, num_hidden_layers=3, intermediate_size=38)
        | dict(hidden_act="gelu_new"),
    ),
}
CURVATURE = ["classifier.weight", "bert.encoder.layer.1.attention.self.query.weight"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="an existing Hugging Face folder")
    parser.add_argument("--out", type=Path, help="where its golden files go")
    parser.add_argument("--pairs", action="store_true", help="give a sequence classifier pairs of texts")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    if arguments.folder:
        record_existing(arguments.folder, arguments.out or arguments.folder, arguments.pairs)
    else:
        make_all()


def record_existing(folder, out, pairs):
    out.mkdir(parents=True, exist_ok=True)
    _, kind = load_model(folder)
    inputs = corpus.PAIRS if pairs else HEADS[kind][2]
    if kind == "mlm":
        inputs = fill_masks(inputs, transformers.AutoTokenizer.from_pretrained(folder).mask_token)
    record(folder, out, inputs, detailed=range(len(inputs)))


def make_all():
    shutil.rmtree(MODELS, ignore_errors=True)
    for family in FAMILIES:
        for head in HEADS | (BERT_HEADS if family == "bert" else {}):
            make_golden(family, head)
    make_variants()
    for file in MODELS.glob("*/*"):
        file.chmod(0o644)  # safetensors writes files that only their owner can read


def make_golden(family, head):
    folder = new_folder(f"{family}-{head}")
    save_plain(make_model(family, head), folder)
    make_tokenizer(family, folder)
    inputs = fill_masks((HEADS | BERT_HEADS)[head][2], FAMILIES[family][2]["mask_token"])
    golden = record(folder, folder, inputs, detailed=MOST if head == "sequence" else SHORT)
    if head == "sequence" and family in ("bert", "albert"):
        record_learning(folder, folder, golden, CURVATURE if family == "bert" else [])


def save_plain(model, folder):
    model.save_pretrained(folder)


def save_f16(model, folder):
    model.half().save_pretrained(folder)


def save_bf16(model, folder):
    model.bfloat16().save_pretrained(folder)


def save_sharded(model, folder):
    model.save_pretrained(folder, max_shard_size="20KB")


def save_legacy(model, folder):
    """Layer norms as the first BERT checkpoints named them, and the buffer of positions that many files still carry."""
    model.save_pretrained(folder)
    file = folder / "model.safetensors"
    tensors = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in load_file(file).items()
    }
    tensors["bert.embeddings.position_ids"] = torch.arange(POSITIONS).unsqueeze(0)
    save_file(tensors, file, metadata={"format": "pt"})


def make_variants():
    """The same weights as bert-sequence or roberta-sequence, stored in the other ways that are found in the wild."""
    make_variant("bert", "f16", save=save_f16)
    make_variant("bert", "bf16", save=save_bf16)
    make_variant("bert", "sharded", save=save_sharded, hidden_act="relu")
    make_variant("bert", "legacy", save=save_legacy, hidden_act="gelu_new")
    make_variant("bert", "vocab", strip=keep_vocab_txt)
    make_variant("roberta", "vocab", strip=keep_vocab_and_merges)


def make_variant(family, name, save=save_plain, strip=None, **settings):
    folder = new_folder(f"{family}-sequence-{name}")
    save(make_model(family, "sequence", **settings), folder)
    make_tokenizer(family, folder)
    if strip:
        expected = encodings(folder)
        strip(folder)
        assert encodings(folder) == expected, f"{folder.name}: the vocabulary files alone give other tokens"
    record(folder, folder, corpus.TEXTS, detailed=SHORT)


def make_model(family, head, **changes):
    """A seeded random model; weights are large enough for attention and outputs to be far from uniform."""
    prefix, tokenizer, tokens, sizes = FAMILIES[family]
    kind, labels, _ = (HEADS | BERT_HEADS)[head]
    vocabulary = tokenizer().get_vocab()
    settings = dict(vocab_size=len(vocabulary), max_position_embeddings=POSITIONS) | sizes | changes
    for name in ("pad_token", "bos_token", "eos_token"):
        settings |= {f"{name}_id": vocabulary[tokens[name]]} if name in tokens else {}
    if labels:
        settings |= dict(id2label=dict(enumerate(labels)), label2id={label: id for id, label in enumerate(labels)})
    if head in PROBLEMS:
        settings["problem_type"] = PROBLEMS[head]
    config = getattr(transformers, prefix + "Config")(**settings)
    model = getattr(transformers, prefix + SUFFIXES[kind])(config)
    randomise(model, seed=zlib.crc32(f"{family}-{head}".encode()))
    return model


def randomise(model, seed):
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        is_norm = parameter.dim() == 1 and name.endswith("weight")
        parameter.data = 1 + 0.2 * noise if is_norm else (0.25 if parameter.dim() == 2 else 0.2) * noise


def make_tokenizer(family, folder):
    prefix, tokenizer, tokens, _ = FAMILIES[family]
    (folder / "tokenizer.json").write_text(tokenizer().to_str() + "\n", encoding="utf-8")
    lower = {"do_lower_case": True} if "[CLS]" in tokens.values() else {}
    settings = dict(tokenizer_class=f"{prefix}Tokenizer", model_max_length=POSITIONS) | lower | tokens
    write_settings(folder / "tokenizer_config.json", settings)


def keep_vocab_txt(folder):
    vocabulary = load_tokenizer(folder).get_vocab()
    lines = sorted(vocabulary, key=vocabulary.get)
    (folder / "vocab.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_special_tokens_map(folder)
    (folder / "tokenizer.json").unlink()


def keep_vocab_and_merges(folder):
    tokenizer = load_tokenizer(folder)
    tokenizer.model.save(str(folder))
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    (folder / "vocab.json").write_text(json.dumps(dict(vocabulary), ensure_ascii=False) + "\n", encoding="utf-8")
    write_special_tokens_map(folder)
    (folder / "tokenizer.json").unlink()


def write_special_tokens_map(folder):
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    tokens = {name: value for name, value in settings.items() if name.endswith("_token")}
    write_settings(folder / "special_tokens_map.json", tokens)


def write_settings(file, settings):
    file.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def encodings(folder):
    tokenizer = load_tokenizer(folder)
    results = [tokenizer.encode(text) for text in corpus.TEXTS] + [tokenizer.encode(*pair) for pair in corpus.PAIRS]
    return [(result.ids, result.type_ids, result.offsets, result.special_tokens_mask) for result in results]


def fill_masks(inputs, mask):
    return [text.format(mask=mask) if isinstance(text, str) else text for text in inputs]


def new_folder(name):
    print(name, flush=True)
    folder = MODELS / name
    folder.mkdir(parents=True)
    return folder


if __name__ == "__main__":
    main()
