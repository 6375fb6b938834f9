"""Compares `exegete train` with a plain PyTorch loop on the same texts, weights, batch size and threads.

    cargo build --release
    python benches/peers/training.py --model DIR --data FILE.tsv [--rows 1600] [--threads 2] [--rounds 3]

Both sides take turns, so that whatever else the machine does hits both; the best round of each side counts.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import BertForSequenceClassification, get_linear_schedule_with_warmup, logging

TEXT, LABEL = "sentence", "label"
BATCH, RATE, DECAY, WARMUP, CLIP = 32, 5e-5, 0.01, 0.1, 1.0
# Batches of like lengths are made within windows of this many batches.
WINDOW = 50
TARGET, AIM = 1.3, 2.0
# A process inherits the peak of the one that starts it, and with PyTorch that is a large one; so a small process
# starts the program, and reports its peak in KiB as the last line.
MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


def main():
    options = arguments()
    torch.set_num_threads(options.threads)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    ours, theirs, peaks = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.tsv"
        file.write_text(draw(options.data, options.rows), encoding="utf-8")
        examples, classes = read_examples(file, options.model)
        for turn in range(options.rounds):
            if not options.peer_only:
                speed, peak = run_exegete(options, file)
                ours.append(speed)
                peaks.append(peak)
            theirs.append(run_peer(options, examples, classes, seed=turn))
    print_table(ours, theirs, peaks, options)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exegete", default="target/release/exegete", help="the program to measure")
    parser.add_argument("--model", type=Path, required=True, help="a folder with a BERT encoder")
    parser.add_argument("--data", type=Path, required=True, help=f"a table with the columns {LABEL} and {TEXT}")
    parser.add_argument("--rows", type=int, default=1600, help="how many random rows of it are learned")
    parser.add_argument("--threads", type=int, default=2, help="threads on both sides")
    parser.add_argument("--rounds", type=int, default=3, help="how often both sides take turns")
    parser.add_argument("--fused", action="store_true", help="PyTorch's fused AdamW in place of the one it picks")
    parser.add_argument("--peer-only", action="store_true", help="measure PyTorch alone")
    return parser.parse_args()


def draw(table, rows):
    """The header and random lines as they stand, so that no side sees a quote or a space that the other does not."""
    header, *lines = table.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    if rows > len(lines):
        raise SystemExit(f"{table}: has {len(lines)} rows, not {rows}")
    return "\n".join([header] + random.Random(0).sample(lines, rows)) + "\n"


def read_examples(file, model):
    """Tokens and class of every row, and the number of classes."""
    header, *lines = [line.split("\t") for line in file.read_text(encoding="utf-8").removesuffix("\n").split("\n")]
    labels = [line[header.index(LABEL)] for line in lines]
    classes = {label: number for number, label in enumerate(sorted(set(labels)))}
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(json.loads((model / "config.json").read_text())["max_position_embeddings"])
    encodings = tokenizer.encode_batch([line[header.index(TEXT)] for line in lines])
    return [(row.ids, classes[label]) for row, label in zip(encodings, labels)], len(classes)


def run_exegete(options, file):
    """Examples per second, and the peak of resident memory in MiB."""
    with tempfile.TemporaryDirectory() as output:
        command = [options.exegete, "train", "--train", str(file), "--model", str(options.model), "--output", output]
        command += ["--epochs", "1", "--batch", str(BATCH), "--rate", str(RATE)]
        command += ["--text-column", TEXT, "--label-column", LABEL, "--threads", str(options.threads)]
        finished = subprocess.run([sys.executable, "-S", "-c", MEASURE] + command, capture_output=True, text=True)
        if finished.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: {finished.stderr.strip()}")
        report = json.loads((Path(output) / "training.json").read_text())
    return report["examples_per_second"], int(finished.stdout.split()[-1]) / 1024


def run_peer(options, examples, classes, seed):
    """Examples per second of one epoch; reading the model and the texts is not counted, as it is not on our side."""
    torch.manual_seed(seed)
    model = BertForSequenceClassification.from_pretrained(options.model, num_labels=classes).train()
    groups = [
        {"params": [value for value in model.parameters() if value.dim() >= 2], "weight_decay": DECAY},
        {"params": [value for value in model.parameters() if value.dim() < 2], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=RATE, fused=options.fused or None)
    batches = bucket(examples, random.Random(seed))
    schedule = get_linear_schedule_with_warmup(optimiser, round(WARMUP * len(batches)), len(batches))
    start = time.perf_counter()
    for batch in batches:
        model(**pad(batch, model.config.pad_token_id)).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
    return len(examples) / (time.perf_counter() - start)


def bucket(examples, generator):
    """Shuffled batches of examples of like lengths, so that little is padded."""
    examples = generator.sample(examples, len(examples))
    batches = []
    for start in range(0, len(examples), WINDOW * BATCH):
        window = sorted(examples[start : start + WINDOW * BATCH], key=lambda example: len(example[0]))
        batches += [window[first : first + BATCH] for first in range(0, len(window), BATCH)]
    generator.shuffle(batches)
    return batches


def pad(batch, padding):
    longest = max(len(ids) for ids, _ in batch)
    return {
        "input_ids": torch.tensor([ids + [padding] * (longest - len(ids)) for ids, _ in batch]),
        "attention_mask": torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids, _ in batch]),
        "labels": torch.tensor([label for _, label in batch]),
    }


def print_table(ours, theirs, peaks, options):
    print(f"{options.rows} rows, batches of {BATCH}, {options.threads} threads, PyTorch {torch.__version__}")
    for name, speeds in (("ours", ours), ("PyTorch", theirs)):
        if speeds:
            rounds = ", ".join(f"{speed:.1f}" for speed in speeds)
            print(f"{name:<9}{max(speeds):>8.1f} examples/s, best of {rounds}")
    if ours:
        print(f"{'ratio':<9}{max(ours) / max(theirs):>8.2f}× (target {TARGET:g}, aim {AIM:g})")
        print(f"{'memory':<9}{max(peaks):>8.0f} MiB at the peak of ours")


if __name__ == "__main__":
    main()
