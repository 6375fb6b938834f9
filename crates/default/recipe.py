"""How the default model was made, from public data and weights to the files beside this script.

    python recipe.py --data DATA --base MINILM --work WORK [--exegete PATH] [prepare] [train] [finish] [pack] [measure]

DATA holds sst2, sst2_sentences, imdb_counterfactual, movie_reviews, ud_ewt and lexicons; MINILM is the Hugging Face folder
of all-MiniLM-L6-v2. Needs numpy, safetensors and tokenizers. All training is done by `exegete train`; this script cuts the
data, chooses the vocabulary, packs the weights and counts. Settings were chosen on sentences held out of SST-2's training
rows; `measure` looks at the dev sets and is run once, at the end.
"""

import argparse
import csv
import hashlib
import json
import math
import random
import re
import struct
import subprocess
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
HELD_OUT = 800
VOCABULARY = 15_000
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# Bits a weight, and how many neighbours share a scale.
WORDS = dict(bits=4, group=32)
LAYERS = dict(bits=5, group=64)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ["data", "base", "work"]:
        arguments.add_argument(f"--{name}", type=Path, required=True)
    arguments.add_argument("--exegete", default="exegete")
    arguments.add_argument("stages", nargs="*", choices=["prepare", "train", "finish", "pack", "measure"])
    options = arguments.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    stages = dict(prepare=prepare, train=train, finish=finish, pack=pack, measure=measure)
    for stage in options.stages or stages:
        stages[stage](options)


# --- Data -------------------------------------------------------------------------------------------------------------


def normal(text):
    """Two texts that agree in this are the same text."""
    return "".join(letter for letter in text.lower() if letter.isalnum())


def words(text):
    return " " + " ".join(re.findall(r"[a-z0-9]+", text.lower())) + " "


def read_tsv(path):
    header, *lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    return [dict(zip(header.split("\t"), line.split("\t"))) for line in lines]


def write_tsv(path, rows):
    path.write_text("label\ttext\n" + "".join(f"{label}\t{text}\n" for label, text in rows), encoding="utf-8")


def reviews(data, name):
    """IMDB reviews, without the line breaks that the site's HTML left in them."""
    numbers = {"Negative": 0, "Positive": 1}
    rows = read_tsv(data / "imdb_counterfactual" / f"{name}.tsv")
    return [(numbers[row["Sentiment"]], re.sub(r"<br\s*/?>", " ", row["Text"]).strip()) for row in rows]


def prepare(options):
    """Training rows without a trace of the dev sets, and sentences held out of them to choose settings by."""
    data, work = options.data, options.work
    dev = [(row["label"], row["content"].strip()) for row in read_tsv(data / "sst2/dev.tsv")]
    measured = {"sst2_dev": dev, "imdb_original": reviews(data, "orig_dev"), "imdb_revised": reviews(data, "new_dev")}
    forbidden = {normal(text) for rows in measured.values() for _, text in rows}
    rows = [(row["label"], row["sentence"].strip()) for row in read_tsv(data / "sst2/train.tsv")]
    phrases = [row for row in rows if normal(row[1]) not in forbidden]
    by_form = {normal(text): (label, text) for label, text in phrases}
    whole = [line.rsplit("\t", 1)[0] for line in (data / "sst2_sentences/train.tsv").read_text("utf-8").split("\n") if line]
    sentences = [by_form[normal(text)] for text in whole if normal(text) in by_form]
    random.Random(0).shuffle(sentences)
    held = sentences[:HELD_OUT]
    # SST-2 holds the phrases of its sentences as rows of their own: those of a held-out sentence would give it away.
    inside = "\n".join(words(text) for _, text in held)
    chosen = {normal(text) for _, text in held}
    given_away = lambda text: normal(text) in chosen or len(words(text).split()) >= 3 and words(text) in inside
    removed = [row for row in phrases if given_away(row[1])]
    phrases = [row for row in phrases if not given_away(row[1])]
    phrases = [(label, contracted(text) if place % 2 else text) for place, (label, text) in enumerate(phrases)]
    original, revised = reviews(data, "orig_train"), reviews(data, "new_train")
    essays = [(label, path.read_text("latin-1")) for label, kind in enumerate(["neg", "pos"])
              for path in sorted(data.glob(f"movie_reviews/{kind}/*.txt"))]
    ends = [(label, last_sentences(text)) for label, text in essays + original]
    parts = {"phrases": phrases, "reviews": original + revised, "ends": ends}
    parts = {name: [row for row in part if normal(row[1]) not in forbidden] for name, part in parts.items()}
    learned = {normal(text) for part in parts.values() for _, text in part}
    assert not learned & forbidden, "a training text occurs in a dev set"
    assert not learned & chosen, "a training text is held out"
    assert not forbidden & {normal(text) for _, text in removed}, "a training text occurs in a dev set"
    write_hashes("learned", learned | {normal(text) for _, text in removed})
    write_hashes("measured", forbidden)
    for name, part in {**parts, "held": held, "removed": removed, **measured}.items():
        write_tsv(work / f"{name}.tsv", part)
        print(f"{name}: {len(part)} rows")
    choose_vocabulary(options, [text for part in parts.values() for _, text in part])


def write_hashes(name, forms):
    """Four bytes a text, so that a test can show that no measured text was learned from without holding any text."""
    hashes = sorted({hashlib.sha256(form.encode()).digest()[:4] for form in forms})
    (HERE.parent / "models/tests/default" / f"{name}.hashes").write_bytes(b"".join(hashes))


def contracted(text):
    """SST-2 writes "do n't"; people write "don't"."""
    return text.replace(" n't", "n't")


def last_sentences(text, least=45):
    """Where a review says what it thinks: its last sentences, about as long as a short text."""
    sentences, end = re.split(r"(?<=[.!?]) ", " ".join(text.split())), []
    while sentences and sum(len(sentence.split()) for sentence in end) < least:
        end.insert(0, sentences.pop())
    return " ".join(" ".join(end).split()[-150:])


def choose_vocabulary(options, texts):
    """The pieces that English reviews need most. Other words are spelled with smaller pieces, down to letters."""
    import numpy
    from safetensors.numpy import load_file, save_file
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(options.base / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    texts = list(texts)
    texts += [path.read_text("latin-1") for path in sorted(options.data.glob("movie_reviews/*/*.txt"))]
    trees = (options.data / "ud_ewt/en_ewt-ud-train.conllu").read_text("utf-8").split("\n")
    texts += [line.removeprefix("# text = ") for line in trees if line.startswith("# text = ")]
    for kind in ["positive", "negative"]:
        lines = (options.data / f"lexicons/{kind}-words.txt").read_text("latin-1").split("\n")
        texts += 3 * [line.strip() for line in lines if line.strip() and not line.startswith(";")]
    counts = Counter(id for one in tokenizer.encode_batch(texts, add_special_tokens=False) for id in one.ids)

    stored = json.loads((options.base / "tokenizer.json").read_text("utf-8"))
    pieces = stored["model"]["vocab"]
    letters = {chr(code) for code in range(33, 127)} | set("‘’“”–—…•£€°é½¼")
    kept = {id for piece, id in pieces.items() if piece in SPECIALS or piece.removeprefix("##") in letters}
    for id, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if len(kept) == VOCABULARY:
            break
        kept.add(id)
    covered = sum(count for id, count in counts.items() if id in kept) / sum(counts.values())
    print(f"vocabulary: {len(kept)} of {len(pieces)} pieces, {covered:.3f} of the running text")

    ids = sorted(kept)
    names = {id: piece for piece, id in pieces.items()}
    stored["model"]["vocab"] = new = {names[id]: place for place, id in enumerate(ids)}
    stored["truncation"] = stored["padding"] = None
    for token in stored["added_tokens"]:
        token["id"] = new[token["content"]]
    for token in stored["post_processor"]["special_tokens"].values():
        token["ids"] = [new[piece] for piece in token["tokens"]]
    start = options.work / "start"
    start.mkdir(exist_ok=True)
    (start / "tokenizer.json").write_text(json.dumps(stored, ensure_ascii=False), encoding="utf-8")
    config = json.loads((options.base / "config.json").read_text())
    (start / "config.json").write_text(json.dumps(config | {"vocab_size": len(ids)}, indent=1))
    weights = load_file(options.base / "model.safetensors")
    weights = {name: value for name, value in weights.items() if "position_ids" not in name}
    key = "embeddings.word_embeddings.weight"
    weights[key] = numpy.ascontiguousarray(weights[key][ids])
    save_file(weights, start / "model.safetensors")


# --- Training ---------------------------------------------------------------------------------------------------------


def train(options):
    """One run of `exegete train`; the best epoch on the held-out sentences is kept."""
    work = options.work
    files = [["--train", work / f"{name}.tsv"] for name in ["phrases", "reviews", "ends"]]
    files += [["--exclude", work / f"{name}.tsv"] for name in ["held", "sst2_dev", "imdb_original", "imdb_revised"]]
    command = [options.exegete, "train", *sum(files, []), "--dev", work / "held.tsv", "--model", work / "start"]
    command += ["--output", work / "trained", "--labels", "negative,positive", "--epochs", 3, "--batch", 32]
    run(*command, "--rate", 1.5e-4, "--layer-decay", 0.85, "--max-tokens", 160, "--seed", 0)


def run(*command):
    subprocess.run([str(part) for part in command], check=True)


def finish(options):
    """Once everything is chosen: a short epoch at a low rate that brings in the sentences held out until now."""
    work, draw = options.work, random.Random(0)
    rows = {name: [(row["label"], row["text"]) for row in read_tsv(work / f"{name}.tsv")]
            for name in ["phrases", "reviews", "ends", "removed"]}
    # What the model knows already, so that it does not forget.
    known = draw.sample(rows["phrases"], 25_000) + draw.sample(rows["reviews"], 600) + draw.sample(rows["ends"], 1_200)
    write_tsv(work / "finish.tsv", known + 2 * rows["removed"])
    command = [options.exegete, "train", "--train", work / "finish.tsv", "--labels", "negative,positive"]
    for name in ["sst2_dev", "imdb_original", "imdb_revised"]:
        command += ["--exclude", work / f"{name}.tsv"]
    command += ["--model", work / "trained", "--output", work / "finished", "--epochs", 1, "--batch", 32]
    run(*command, "--rate", 4e-5, "--layer-decay", 0.85, "--max-tokens", 160, "--seed", 2)


# --- Packing ----------------------------------------------------------------------------------------------------------


def pack(options):
    """Few bits a weight, and a temperature fitted on the held-out sentences folded into the last layer."""
    import numpy
    from safetensors.numpy import load_file

    trained = options.work / "finished"
    weights = load_file(trained / "model.safetensors")
    # Fitted before the held-out sentences were learned from.
    temperature = fit_temperature(*predictions(options, "held", options.work / "trained"))
    print(f"temperature {temperature:.2f}")
    for name in ["classifier.weight", "classifier.bias"]:
        weights[name] = weights[name] / temperature
    # What is alike lies together, the lowest of five bits and the high bytes of scales apart: gzip makes a twentieth less
    # of the same numbers so.
    high, low, scales, plain = [], [], [], []
    for name, value in sorted(weights.items()):
        if value.ndim == 2 and min(value.shape) > 2:
            form = WORDS if "embeddings" in name else LAYERS
            codes, scale = quantise(value, **form)
            apart = form["bits"] - 4
            high.append((f"{name}.q4", pack_bits(codes >> apart, 4)))
            if apart:
                low.append((f"{name}.low", pack_bits(codes & (2**apart - 1), apart)))
            scales.append((f"{name}.scale", numpy.stack([scale.view(numpy.uint8)[:, 1::2], scale.view(numpy.uint8)[:, 0::2]])))
        else:
            plain.append((name, value.astype(numpy.float16)))
    write_safetensors(HERE / "model.safetensors", high + low + scales + plain)
    for name in ["config.json", "tokenizer.json"]:
        (HERE / name).write_bytes((trained / name).read_bytes())
    print({path.name: path.stat().st_size for path in sorted(HERE.iterdir())})


def quantise(value, bits, group):
    """Codes and scales: weight = (code - (2^bits - 1)/2) * scale; each scale has the least squared error of a few."""
    import numpy

    rows, columns = value.shape
    groups = value.reshape(rows, columns // group, group)
    middle = (2**bits - 1) / 2
    largest = numpy.abs(groups).max(-1, keepdims=True) / middle
    best = None
    for share in numpy.linspace(0.6, 1.0, 17):
        scale = numpy.maximum(largest * share, 1e-6).astype(numpy.float16).astype(numpy.float32)
        codes = numpy.clip(numpy.round(groups / scale + middle), 0, 2**bits - 1)
        error = (((codes - middle) * scale - groups) ** 2).sum(-1, keepdims=True)
        if best is None:
            best = [error, scale, codes]
        else:
            better = error < best[0]
            best = [numpy.where(better, new, old) for new, old in zip([error, scale, codes], best)]
    return best[2].reshape(rows, columns).astype(numpy.uint8), best[1][..., 0].astype(numpy.float16)


def pack_bits(codes, bits):
    """Eight codes in as many bytes as a code has bits, the lowest bits first."""
    import numpy

    rows, columns = codes.shape
    eights = codes.reshape(rows, columns // 8, 8).astype(numpy.uint64)
    packed = sum(eights[:, :, place] << numpy.uint64(place * bits) for place in range(8))
    packed = packed.astype("<u8").reshape(rows, columns // 8, 1).view(numpy.uint8)[:, :, :bits]
    return numpy.ascontiguousarray(packed).reshape(rows, columns // 8 * bits)


def write_safetensors(path, tensors):
    kinds = {"uint8": "U8", "float16": "F16"}
    header, data = {}, b""
    for name, value in tensors:
        offsets = [len(data), len(data) + value.nbytes]
        header[name] = {"dtype": kinds[str(value.dtype)], "shape": value.shape, "data_offsets": offsets}
        data += value.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


# --- Measuring --------------------------------------------------------------------------------------------------------


def predictions(options, name, model):
    """Gold labels and the logits of both classes."""
    source, target = options.work / f"{name}.tsv", options.work / f"{name}.csv"
    run(options.exegete, "predict", "--input", source, "--model", model, "--format", "csv", "-o", target)
    with open(target, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    logits = [(float(row["logit_negative"]), float(row["logit_positive"])) for row in rows]
    return [int(row["label"]) for row in read_tsv(source)], logits


def probability(logits, temperature=1.0):
    """Of the second class."""
    return 1 / (1 + math.exp((logits[0] - logits[1]) / temperature))


def fit_temperature(labels, logits):
    """The one that gives the held-out labels the highest probability."""

    def loss(temperature):
        shares = [probability(pair, temperature) for pair in logits]
        return -sum(math.log(max(share if label else 1 - share, 1e-12)) for label, share in zip(labels, shares))

    return min((0.5 + step / 100 for step in range(351)), key=loss)


def measure(options):
    """The figures of the model card."""
    for name in ["sst2_dev", "imdb_original", "imdb_revised"]:
        labels, logits = predictions(options, name, HERE)
        shares = [probability(pair) for pair in logits]
        right = [label == (share > 0.5) for label, share in zip(labels, shares)]
        accuracy = sum(right) / len(right)
        error = math.sqrt(accuracy * (1 - accuracy) / len(right))
        print(f"{name}: accuracy {accuracy:.4f} ± {error:.4f} ({sum(right)} of {len(right)}), "
              f"expected calibration error {calibration_error(shares, right):.4f}")
        texts = [row["text"] for row in read_tsv(options.work / f"{name}.tsv")]
        for kind, holds in KINDS.items():
            chosen = [ok for text, ok in zip(texts, right) if holds(text)]
            if chosen and name == "sst2_dev":
                print(f"  {kind}: {sum(chosen) / len(chosen):.3f} of {len(chosen)}")


def calibration_error(shares, right, bins=15):
    """The mean distance of confidence and accuracy over bins of equal width, weighted by size."""
    total = 0.0
    for place in range(bins):
        confidence = [(max(share, 1 - share), ok) for share, ok in zip(shares, right)]
        inside = [(c, ok) for c, ok in confidence if place / bins < c <= (place + 1) / bins]
        if inside:
            total += abs(sum(c for c, _ in inside) - sum(ok for _, ok in inside))
    return total / len(shares)


def has(*wanted):
    return lambda text: any(f" {word} " in f" {text.lower()} " for word in wanted)


# Where sentiment models are known to stumble.
KINDS = {
    "negation": has("not", "n't", "never", "no", "nothing", "neither", "nor"),
    "contrast": has("but", "although", "though", "however", "despite", "while", "yet"),
    "conditional or wish": has("if", "would", "could", "should", "might"),
    "up to 10 words": lambda text: len(text.split()) <= 10,
    "over 30 words": lambda text: len(text.split()) > 30,
}


if __name__ == "__main__":
    main()
