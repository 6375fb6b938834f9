"""Compares integrated gradients of exegete with those of Captum on the same weights, texts and threads.

    cargo build --release
    python benches/peers/attribution.py --texts FILE.tsv [--model DIR]... [--only bert,model,texts,once] [--rounds 3]

Both sides take turns, so that whatever else the machine does hits both; the best round of each side counts.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import captum
import numpy
import torch
import transformers
from captum import attr
from tokenizers import Tokenizer

from peers import make_model, run_exegete

STEPS, LENGTH, REFERENCE_POINTS, REFERENCE_BATCH = 50, 40, 300, 50
# The better of these counts: all points at once, or a few at a time.
BATCHES = (None, 10)
COLUMNS = ("text", "sentence", "content")
# 20 words
SENTENCE = "the film has a few good scenes and an honest heart but the plot is terrible and it never ends"
ROWS = ("bert", "model", "texts", "once")


def main():
    options = arguments()
    torch.set_num_threads(options.threads)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    if options.once:
        explain_once(*options.once)
        return
    print(f"{options.threads} threads, Captum {captum.__version__}, PyTorch {torch.__version__}, {STEPS} points")
    with tempfile.TemporaryDirectory() as folder:
        if "bert" in options.only:
            compare_fixed(options, "BERT-base", Path(folder), make_model(Path(folder)))
    if "model" in options.only:
        for folder in options.model:
            compare_fixed(options, folder.name, folder, load_model(folder))
    with tempfile.TemporaryDirectory() as folder:
        default = options.default or export_default(options, folder)
        if "texts" in options.only and options.texts:
            compare_texts(options, default)
        if "once" in options.only:
            compare_once(options, default)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exegete", default="target/release/exegete", help="the program to measure")
    parser.add_argument("--model", type=Path, action="append", default=[], help="a Hugging Face folder; repeatable")
    parser.add_argument("--default", type=Path, help="the default model as exported [default: exported on the way]")
    parser.add_argument("--texts", type=Path, help=f"a table with a column {', '.join(COLUMNS)}")
    parser.add_argument("--rows", type=int, default=100, help="how many random rows of it are explained")
    parser.add_argument("--reference", type=Path, help="keeps the exact values of these rows from run to run")
    parser.add_argument("--only", type=lambda text: text.split(","), default=ROWS, help="of bert, model, texts, once")
    parser.add_argument("--threads", type=int, default=2, help="threads on both sides")
    parser.add_argument("--rounds", type=int, default=3, help="how often both sides take turns")
    parser.add_argument("--peer-only", action="store_true", help="measure Captum alone")
    parser.add_argument("--once", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def load_model(folder):
    """A classifier, or a bare encoder, in float32 with frozen parameters."""
    architecture = json.loads((folder / "config.json").read_text())["architectures"][0]
    return getattr(transformers, architecture).from_pretrained(folder).eval().requires_grad_(False)


def export_default(options, folder):
    run([options.exegete, "model", "export", "-o", folder])
    return Path(folder)


def run(command):
    """What the program prints, and its seconds as a whole process."""
    start = time.perf_counter()
    finished = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if finished.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: {finished.stderr.strip()}")
    return finished.stdout, seconds


def compare_fixed(options, name, folder, model):
    """One random text; Captum explains the layer of word vectors from a baseline of padding, as its tutorials do."""
    ours, best, peak, ways = None, None, 0.0, {}
    length = LENGTH
    for _ in range(options.rounds):
        if not options.peer_only:
            document = run_exegete(options, str(folder), "integrated_gradients")
            figure = document["figures"][0]
            peak, length = max(peak, document["peak"]["gflops"]), figure["lengths"][0]
            ours = figure if ours is None or figure["seconds"] < ours["seconds"] else ours
        for batch in BATCHES if len(ways) < len(BATCHES) else [min(ways, key=ways.get)]:
            ways[batch] = min(fixed_of_captum(model, length, batch), ways.get(batch, float("inf")))
    best = min(ways.values())
    tried = ", ".join(f"internal_batch_size {batch}: {seconds:.3f} s" for batch, seconds in ways.items())
    print(f"\n{name}, one text of {length} tokens, {STEPS} fixed points\n  Captum {best:.3f} s ({tried})")
    if ours:
        seconds, ideal = ours["seconds"], ours["flops"] / (peak * 1e9)
        print(f"  ours   {seconds:.3f} s, ratio {best / seconds:.2f}×, of peak {ideal / seconds:.2f}")
        print(f"  roofline {best / ideal:.2f}× at a peak of {peak:.0f} GFLOP/s")


def fixed_of_captum(model, length, batch):
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, model.config.vocab_size, (1, length), generator=generator)
    baseline = torch.full_like(ids, model.config.pad_token_id or 0)
    method = attr.LayerIntegratedGradients(lambda ids: score(model, input_ids=ids), model.get_input_embeddings())
    start = time.perf_counter()
    method.attribute(ids, baseline, n_steps=STEPS, internal_batch_size=batch)
    return time.perf_counter() - start


def score(model, target=0, **inputs):
    """The logit of a class, or the first pooled unit of a bare encoder, for every row."""
    outputs = model(**inputs)
    if "logits" in outputs:
        return outputs.logits[:, target]
    pooled = outputs.get("pooler_output")
    return (outputs.last_hidden_state[:, 0] if pooled is None else pooled)[:, 0]


def compare_texts(options, folder):
    """The seconds of every text, and how far its tokens are from the exact values."""
    texts = draw(options.texts, options.rows)
    model, tokenizer = load_model(folder), load_tokenizer(folder)
    exact = reference(options, model, tokenizer, texts)
    batch = better_batch(model, tokenizer, texts[0])
    ours, theirs, whole = [], [], []
    for _ in range(options.rounds):
        if not options.peer_only:
            values, seconds, process = texts_of_exegete(options, texts)
            ours.append(seconds)
            whole.append(process)
        laps, others = [], []
        for text in texts:
            start = time.perf_counter()
            others.append(text_of_captum(model, tokenizer, text, batch))
            laps.append(time.perf_counter() - start)
        theirs.append(laps)
    print(f"\nthe default model, {len(texts)} texts one by one, baseline of zeros, {options.rounds} rounds")
    round_of, text_of = best_round(theirs), best_texts(theirs)
    print(f"  Captum {round_of:.2f} s, {text_of:.2f} s by each text's best round, {STEPS} points each; {spread(others, exact)}")
    if ours:
        mine, own = min(whole), best_texts(ours)
        print(f"  ours   {mine:.2f} s as a whole process, {own:.2f} s by each text's best round; {spread(values, exact)}")
        print(f"  ratio  {round_of / mine:.2f}× of the whole process, {text_of / own:.2f}× by each text's best round")


def best_round(rounds):
    return min(sum(laps) for laps in rounds)


def best_texts(rounds):
    """A busy neighbour rarely hits the same text in every round."""
    return sum(min(laps) for laps in zip(*rounds))


def draw(table, rows):
    """Random rows of the first column with one of the known names."""
    header, *lines = [line.split("\t") for line in table.read_text(encoding="utf-8").removesuffix("\n").split("\n")]
    column = next((header.index(name) for name in COLUMNS if name in header), None)
    if column is None:
        raise SystemExit(f"{table}: has no column {', '.join(COLUMNS)}")
    return random.Random(0).sample([line[column] for line in lines], min(rows, len(lines)))


def load_tokenizer(folder):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    return tokenizer


def encode(model, tokenizer, text):
    """Word vectors [1, T, E] and the predicted class."""
    words = model.get_input_embeddings()(torch.tensor([tokenizer.encode(text).ids]))
    with torch.no_grad():
        return words, model(inputs_embeds=words).logits.argmax().item()


def better_batch(model, tokenizer, text):
    seconds = {}
    for batch in BATCHES * 2:
        start = time.perf_counter()
        text_of_captum(model, tokenizer, text, batch)
        seconds[batch] = min(time.perf_counter() - start, seconds.get(batch, float("inf")))
    return min(seconds, key=seconds.get)


def text_of_captum(model, tokenizer, text, batch=None):
    """Token values; a layer's baseline is made of tokens, so that zeros need the plain method at the word vectors."""
    words, target = encode(model, tokenizer, text)
    method = attr.IntegratedGradients(lambda words: score(model, target, inputs_embeds=words))
    settings = dict(n_steps=STEPS, internal_batch_size=batch)
    return target, method.attribute(words, torch.zeros_like(words), **settings)[0].sum(-1).tolist()


def texts_of_exegete(options, texts):
    """Token values and seconds by text, and the seconds of the whole process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "texts.jsonl"
        file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
        command = [options.exegete, "explain", "--input", file, "--method", "integrated_gradients"]
        command += ["--check", "none", "--format", "jsonl", "--threads", options.threads]
        printed, seconds = run(command)
    reports = [json.loads(line) for line in printed.splitlines()]
    values = [(predicted(report["items"][0]), report["items"][0]["token_values"]) for report in reports]
    return values, [report["provenance"]["seconds"] for report in reports], seconds


def predicted(item):
    prediction = item["prediction"]
    return [score["label"] for score in prediction["scores"]].index(prediction["label"])


def reference(options, model, tokenizer, texts):
    """Token values by Gauss-Legendre with so many points that the rule no longer matters."""
    if options.reference and options.reference.exists():
        stored = json.loads(options.reference.read_text())
        if stored["texts"] == texts:
            return [tuple(entry) for entry in stored["values"]]
    places, weights = (torch.tensor(part) for part in numpy.polynomial.legendre.leggauss(REFERENCE_POINTS))
    values = [exact_values(model, tokenizer, text, (1 + places) / 2, weights / 2) for text in texts]
    if options.reference:
        options.reference.write_text(json.dumps({"texts": texts, "values": values}))
    return values


def exact_values(model, tokenizer, text, places, weights):
    words, target = encode(model, tokenizer, text)
    total = torch.zeros_like(words[0], dtype=torch.float64)
    for part, share in zip(places.split(REFERENCE_BATCH), weights.split(REFERENCE_BATCH)):
        points = (part[:, None, None] * words).float().requires_grad_()
        (slopes,) = torch.autograd.grad(score(model, target, inputs_embeds=points).sum(), points)
        total += torch.einsum("s,ste->te", share, slopes.double())
    return target, (words[0] * total).sum(-1).tolist()


def spread(found, exact):
    """The largest error of a text's tokens relative to its largest token: median, 90th percentile and most."""
    errors = []
    for (target, values), (right_target, right) in zip(found, exact, strict=True):
        if target != right_target or len(values) != len(right):
            raise SystemExit("another class or other tokens than PyTorch")
        errors.append(max(abs(a - b) for a, b in zip(values, right)) / max(map(abs, right)))
    errors.sort()
    shares = [statistics.median(errors), errors[int(0.9 * (len(errors) - 1))], errors[-1]]
    return "token error median {:.2g}, 90 % {:.2g}, most {:.2g}".format(*shares)


def compare_once(options, folder):
    """With everything that `explain` does by default on our side, the evidence included."""
    once = [sys.executable, __file__, "--threads", options.threads, "--once", folder, SENTENCE]
    theirs = min(run(once)[1] for _ in range(options.rounds))
    print(f"\none text of 20 words as a whole process\n  Captum {theirs:.2f} s")
    if not options.peer_only:
        command = [options.exegete, "explain", SENTENCE, "--threads", options.threads]
        ours = min(run(command)[1] for _ in range(10))
        print(f"  ours   {ours:.3f} s with the default card, ratio {theirs / ours:.1f}×")


def explain_once(folder, text):
    model, tokenizer = load_model(Path(folder)), load_tokenizer(Path(folder))
    _, values = text_of_captum(model, tokenizer, text)
    print(json.dumps(values))


if __name__ == "__main__":
    main()
