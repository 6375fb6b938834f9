"""Compares LIME, partition Shapley values and leave-one-out of exegete with lime, shap and Captum on the same weights.

    cargo build --release
    python benches/peers/perturbation.py --model DIR --texts FILE.tsv [--only bert,model,interval,anchors] [--rounds 3]

Both sides take turns, so that whatever else the machine does hits both; the best round of each side counts. Only the
work itself is timed, not the opening of models.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import captum
import numpy
import shap
import torch
import transformers
from captum import attr
from lime.lime_text import LimeTextExplainer
from tokenizers import Tokenizer
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from peers import run_exegete

WORDS, SAMPLES, EVALUATIONS, BATCH = 38, 1000, 500, 64
COLUMNS = ("text", "sentence", "content")
ROWS = ("bert", "model", "interval", "anchors")
TOLERANCE = 0.05


def main():
    options = arguments()
    torch.set_num_threads(options.threads)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    print(f"{options.threads} threads, PyTorch {torch.__version__}, shap {shap.__version__}, Captum {captum.__version__}")
    for name in ("bert", "model"):
        if name in options.only:
            with tempfile.TemporaryDirectory() as folder:
                compare(options, name, Path(folder), make_classifier(options, name, Path(folder)))
    if "interval" in options.only:
        compare_intervals(options)
    if "anchors" in options.only:
        time_anchors(options)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exegete", default="target/release/exegete", help="the program to measure")
    parser.add_argument("--model", type=Path, required=True, help="a BERT-like folder; its tokenizer serves BERT-base too")
    parser.add_argument("--texts", type=Path, help=f"a table with a column {', '.join(COLUMNS)}")
    parser.add_argument("--rows", type=int, default=50, help="texts for intervals; twice as many for anchors")
    parser.add_argument("--only", type=lambda text: text.split(","), default=ROWS, help=f"of {', '.join(ROWS)}")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads on both sides")
    parser.add_argument("--rounds", type=int, default=3, help="how often both sides take turns")
    return parser.parse_args()


def make_classifier(options, name, folder):
    """BERT-base with random weights, or the given encoder with a random head, and the given tokenizer."""
    torch.manual_seed(0)
    tokenizer = Tokenizer.from_file(str(options.model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if name == "bert":
        model = BertForSequenceClassification(BertConfig(vocab_size=tokenizer.get_vocab_size(), num_labels=2))
    else:
        model = BertForSequenceClassification.from_pretrained(options.model, num_labels=2)
    model.eval().requires_grad_(False).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    special = dict(pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")
    return model, PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), **special)


def words_of(tokenizer):
    """Distinct whole words that are one token each."""
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    words = [word for word, _ in vocabulary if word.isascii() and word.isalpha() and len(word) > 3]
    return " ".join(words[100 : 100 + WORDS])


def classifier(model, tokenizer):
    """Probabilities of texts in padded batches, as a user of transformers would write it."""

    def probabilities(texts):
        rows = []
        for start in range(0, len(texts), BATCH):
            batch = tokenizer(list(texts[start : start + BATCH]), padding=True, return_tensors="pt")
            batch.pop("token_type_ids", None)
            with torch.no_grad():
                rows.append(torch.softmax(model(**batch).logits, -1))
        return torch.cat(rows).double().numpy()

    return probabilities


def compare(options, name, folder, loaded):
    model, tokenizer = loaded
    text, ask = words_of(tokenizer), classifier(*loaded)
    works = {
        f"LIME, {SAMPLES} samples": (["lime", "--set", "sampling=package", "--set", f"samples={SAMPLES}"], lambda: lime_of(ask, text)),
        f"partition, {EVALUATIONS} evaluations": (
            ["partition_shap", "--set", f"budget={EVALUATIONS}"],
            lambda: partition_of(ask, tokenizer, text),
        ),
        "leave-one-out": (["leave_one_out", "--masker", "mask"], lambda: ablation_of(model, tokenizer, text)),
    }
    config = model.config
    print(f"\n{name}: {config.num_hidden_layers} layers of {config.hidden_size}, {WORDS + 2} tokens")
    for work, (method, theirs) in works.items():
        ours, best, peak = None, None, 0.0
        for _ in range(options.rounds):
            report = explain(options, [text, "--model", folder, "--method", *method])
            made = report["provenance"]
            ours = made if ours is None or made["seconds"] < ours["seconds"] else ours
            lap = timed(theirs)
            best = lap if best is None else min(best, lap)
            peak = max(peak, run_exegete(options, str(folder), "forward_single")["peak"]["gflops"])
        ideal = flops(config, work, ours["forward_rows"]) / (peak * 1e9)
        line = f"  {work:<28} theirs {best:7.3f} s, ours {ours['seconds']:7.3f} s, ratio {best / ours['seconds']:.2f}×"
        line += f", roofline {best / ideal:.2f}×, of peak {ideal / ours['seconds']:.2f}"
        print(f"{line} ({ours['asked_rows']} rows asked, {ours['forward_rows']} run)")


def flops(config, work, rows):
    """Of the matrix products that texts of the mean length need; deletion leaves half of the words on average."""
    tokens = WORDS + 2 if work == "leave-one-out" else WORDS / 2 + 2
    hidden, inner = config.hidden_size, config.intermediate_size
    layer = 2 * tokens * (4 * hidden * hidden + 2 * hidden * inner) + 4 * tokens * tokens * hidden
    return rows * config.num_hidden_layers * layer


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def lime_of(ask, text):
    return LimeTextExplainer(random_state=0).explain_instance(text, ask, labels=[1], num_samples=SAMPLES)


def partition_of(ask, tokenizer, text):
    explainer = shap.Explainer(lambda texts: ask(texts)[:, 1], shap.maskers.Text(tokenizer), silent=True)
    return explainer([text], max_evals=EVALUATIONS, batch_size=BATCH, silent=True)


def ablation_of(model, tokenizer, text):
    """Each token in turn becomes the mask; the better of one at a time and a batch at a time counts."""
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    method = attr.FeatureAblation(lambda ids: model(input_ids=ids).logits[:, 1])
    with torch.no_grad():
        return method.attribute(ids, tokenizer.mask_token_id, perturbations_per_eval=BATCH)


def explain(options, words):
    command = [options.exegete, "explain", *words, "--check", "none", "--format", "json"]
    command += ["--threads", options.threads]
    finished = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if finished.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: {finished.stderr.strip()}")
    return json.loads(finished.stdout)


def draw(table, rows):
    """The first rows of the first column with one of the known names."""
    header, *lines = [line.split("\t") for line in table.read_text(encoding="utf-8").removesuffix("\n").split("\n")]
    column = next((header.index(name) for name in COLUMNS if name in header), None)
    if column is None:
        raise SystemExit(f"{table}: has no column {', '.join(COLUMNS)}")
    return [line[column] for line in lines[:rows]]


def reports(options, texts, words):
    """One report a text by the default model, and the seconds of the whole process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "texts.jsonl"
        file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
        command = [options.exegete, "explain", "--input", file, *words, "--check", "none", "--format", "jsonl"]
        start = time.perf_counter()
        finished = subprocess.run([str(w) for w in command], capture_output=True, text=True)
        seconds = time.perf_counter() - start
    if finished.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: {finished.stderr.strip()}")
    return [json.loads(line) for line in finished.stdout.splitlines()], seconds


def compare_intervals(options):
    """Rows until every standard error is a share of the largest score, against plain sampling with as many rows for all."""
    texts = draw(options.texts, options.rows)
    print(f"\nrows until every standard error is {TOLERANCE} of the largest score, {len(texts)} texts, default model")
    for method, fixed in (
        ("lime", ["--set", "sampling=package", "--set", f"samples={SAMPLES}"]),
        ("permutation_shap", ["--set", "samples=20"]),
        ("kernel_shap", ["--set", f"samples={SAMPLES}"]),
    ):
        # A budget that ends first would spare rows by missing the interval.
        until = ["--set", f"tolerance={TOLERANCE}", "--set", f"budget={20 * SAMPLES}"]
        ours, _ = reports(options, texts, ["--method", method, *until])
        theirs, _ = reports(options, texts, ["--method", method, *fixed])
        reached = sum(share_of_largest(report) <= TOLERANCE for report in ours)
        spent = statistics.mean(report["provenance"]["forward_rows"] for report in ours)
        needed = sorted(rows_needed(report) for report in theirs)
        print(f"  {method:<18} {spent:7.0f} rows on average, reached by {reached} of {len(texts)}; a fixed number needs", end="")
        for count, name in (
            (needed[-1], "for all"),
            (needed[int(0.9 * (len(needed) - 1))], "for 9 of 10"),
            (statistics.mean(needed), "on average, if it were known for each text"),
        ):
            print(f" {count:.0f} {name} ({count / spent:.1f}×)", end="")
        print()


def share_of_largest(report):
    item = report["items"][0]
    largest = max(map(abs, item["values"]), default=0.0)
    return max(item.get("errors") or [0.0]) / largest if largest else 0.0


def rows_needed(report):
    """A standard error falls with the root of the number of samples."""
    return report["provenance"]["forward_rows"] * (share_of_largest(report) / TOLERANCE) ** 2


def time_anchors(options):
    texts = draw(options.texts, 2 * options.rows)
    found, seconds = reports(options, texts, ["--method", "anchors"])
    rows = numpy.mean([report["provenance"]["forward_rows"] for report in found])
    met = numpy.mean([report["items"][0]["met"] for report in found])
    size = numpy.mean([len(report["items"][0]["conditions"]) for report in found])
    print(f"\nanchors, {len(texts)} texts, default model: {seconds / len(texts):.3f} s a text", end="")
    print(f", {rows:.0f} rows, {size:.1f} words a rule, {100 * met:.0f} % reach the precision")


if __name__ == "__main__":
    main()
