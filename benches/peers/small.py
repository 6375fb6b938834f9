"""Small models against PyTorch, in turns: training, prediction and gradient × input of a BiLSTM with additive attention, and
training of Kim's CNN.

    python benches/peers/small.py --data DIR [--rounds 5] [--program target/release/exegete]

DIR holds train.tsv and dev.tsv, a text and a label a line without a header. PyTorch reads the vocabulary and the order of
batches from the same files; both use two threads. Every figure is the best of the rounds.
"""

import argparse
import csv
import json
import re
import subprocess
import tempfile
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

THREADS = 2


class Attentive(nn.Module):
    """Word vectors, an encoder (`lstm`, `average` or `cnn`), additive attention over the words, a linear head."""

    def __init__(self, kind, words, d=300, hidden=128):
        super().__init__()
        self.kind, self.embed = kind, nn.Embedding(words, d, padding_idx=0)
        width = 2 * hidden if kind == "lstm" else 128
        if kind == "lstm":
            self.encoder = nn.LSTM(d, hidden, bidirectional=True, batch_first=True)
        elif kind == "average":
            self.encoder = nn.Linear(d, width)
        else:
            self.encoder = nn.ModuleList(nn.Conv1d(d, 32, k, padding="same") for k in (1, 3, 5, 7))
        self.attention = nn.ModuleList([nn.Linear(width, width // 2), nn.Linear(width // 2, 1, bias=False)])
        self.head = nn.Linear(width, 2)

    def states(self, x, lengths):
        if self.kind == "lstm":
            packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            return pad_packed_sequence(self.encoder(packed)[0], batch_first=True)[0]
        if self.kind == "average":
            return torch.tanh(self.encoder(x))
        return torch.cat([torch.relu(conv(x.transpose(1, 2))) for conv in self.encoder], 1).transpose(1, 2)

    def forward(self, ids, lengths, vectors=None):
        states = self.states(self.embed(ids) if vectors is None else vectors, lengths)
        hidden, score = self.attention
        scores = score(torch.tanh(hidden(states)))[..., 0]
        weights = torch.softmax(scores.masked_fill(~content(ids, lengths), -torch.inf), 1)
        return self.head((weights[..., None] * states).sum(1))


class Kim(nn.Module):
    """Kim (2014): what three convolutions find most of among the words, dropout, a linear head."""

    def __init__(self, words, d=300):
        super().__init__()
        self.embed = nn.Embedding(words, d, padding_idx=0)
        self.convs = nn.ModuleList(nn.Conv1d(d, 100, k, padding="same") for k in (3, 4, 5))
        self.dropout, self.head = nn.Dropout(0.5), nn.Linear(300, 2)

    def forward(self, ids, lengths):
        x = self.embed(ids).transpose(1, 2)
        found = torch.cat([torch.relu(conv(x)) for conv in self.convs], 1)
        return self.head(self.dropout(found.masked_fill(~content(ids, lengths)[:, None], -torch.inf).amax(2)))


def content(ids, lengths):
    """Where words stand in padded rows: not the two markers, not the padding."""
    at = torch.arange(ids.shape[1])
    return (at >= 1) & (at < (lengths - 1)[:, None])


# Words as exegete cuts them (UAX 29), as far as such texts need it: marks within words and numbers, and runs of other signs.
WORD = re.compile(r"\w+(?:(?:(?<=[^\W\d])['.:](?=[^\W\d])|(?<=\d)[',.](?=\d))\w+)*|[^\w\s]+")


def read(path, vocabulary):
    with open(path, newline="") as file:
        rows = [row for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    texts = [[2, *(vocabulary.get(word, 1) for word in WORD.findall(row[0].lower())), 3] for row in rows]
    return [(torch.tensor(ids), int(row[-1])) for ids, row in zip(texts, rows)]


def batches(rows, size):
    rows = sorted(rows, key=lambda row: len(row[0]))
    for i in range(0, len(rows), size):
        part = rows[i : i + size]
        yield (
            pad_sequence([ids for ids, _ in part], batch_first=True),
            torch.tensor([len(ids) for ids, _ in part]),
            torch.tensor([label for _, label in part]),
        )


def train(model, rows, size):
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5, amsgrad=True)
    started = time.perf_counter()
    for ids, lengths, labels in batches(rows, size):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(ids, lengths), labels, reduction="sum").backward()
        optimiser.step()
        if isinstance(model, Kim):
            with torch.no_grad():
                model.head.weight.copy_(torch.renorm(model.head.weight, 2, 0, 3))
    return time.perf_counter() - started


def predict(model, rows):
    started = time.perf_counter()
    with torch.no_grad():
        for ids, lengths, _ in batches(rows, 32):
            torch.softmax(model(ids, lengths), 1)
    return time.perf_counter() - started


def gradient_times_input(model, rows):
    started = time.perf_counter()
    for ids, lengths, _ in batches(rows, 32):
        vectors = model.embed(ids).detach().requires_grad_()
        logits = model(ids, lengths, vectors)
        chosen = logits.gather(1, logits.argmax(1, keepdim=True)).sum()
        (torch.autograd.grad(chosen, vectors)[0] * vectors).sum(2)
    return time.perf_counter() - started


def ours(program, kind, data, out):
    """One epoch; the seconds that its steps took."""
    command = [program, "train", "--kind", kind, "--train", data / "train.tsv", "--no-header", "-o", out, "--overwrite"]
    subprocess.run([*command, "--epochs", "1", "--threads", str(THREADS)], check=True, capture_output=True)
    return json.loads((out / "training.json").read_text())["seconds"]


def timed(command):
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", default="target/release/exegete")
    args = parser.parse_args()
    torch.set_num_threads(THREADS)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        ours(args.program, "lstm", args.data, folder / "lstm")
        words = (folder / "lstm" / "vocab.txt").read_text().splitlines()
        vocabulary = {word: i for i, word in enumerate(words)}
        rows, dev = (read(args.data / f"{name}.tsv", vocabulary) for name in ("train", "dev"))
        (folder / "dev.tsv").write_text("text\tlabel\n" + (args.data / "dev.tsv").read_text())
        (folder / "one.tsv").write_text("".join((folder / "dev.tsv").read_text().splitlines(True)[:2]))
        bench = [args.program, "predict", "--threads", str(THREADS), "--model", folder / "lstm", "--input"]
        explain = [args.program, "explain", "--threads", str(THREADS), "--model", folder / "lstm"]
        explain += ["--method", "gradient_x_input", "--check", "none", "--format", "jsonl", "--input"]
        best = {}
        for _ in range(args.rounds):
            lstm, kim = Attentive("lstm", len(words)), Kim(len(words))
            # Of the program's whole runs those with one text are taken off: starting and opening is not the work.
            figures = {
                "train BiLSTM": (ours(args.program, "lstm", args.data, folder / "lstm"), train(lstm, rows, 32)),
                "predict": (timed([*bench, folder / "dev.tsv"]) - timed([*bench, folder / "one.tsv"]), predict(lstm, dev)),
                "gradient × input": (
                    timed([*explain, folder / "dev.tsv"]) - timed([*explain, folder / "one.tsv"]),
                    gradient_times_input(lstm, dev),
                ),
                "train Kim's CNN": (ours(args.program, "kim", args.data, folder / "kim"), train(kim, rows, 50)),
            }
            for name, pair in figures.items():
                best[name] = tuple(map(min, pair, best.get(name, pair)))
    for name, (own, peer) in best.items():
        print(f"{name:20} exegete {own:8.3f} s   PyTorch {peer:8.3f} s   {peer / own:5.2f}×")


if __name__ == "__main__":
    main()
