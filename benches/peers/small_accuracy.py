"""How right small models are beside the same models in PyTorch: the kinds of `exegete train` with their defaults and a plain
PyTorch loop, over the same rows, words, word vectors and numbers of epochs, seed by seed.

    python benches/peers/small_accuracy.py --data DIR [--vectors FILE] [--reviews DIR] [--only lstm,kim] [--seeds 5]

DIR of --data holds train.tsv and dev.tsv, a text and a label a line without a header; that of --reviews the folders `neg` and
`pos` of whole reviews for the hierarchical model, of which those numbered from 800 are dev. Every finished run goes into the
file of --state; a run that is in it is not made again. The table at the end has the accuracy on dev of the best epoch.
"""

import argparse
import json
import math
import random
import re
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import torch
from small import WORD, Attentive, Kim, batches, read
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

KINDS = ["lstm", "average", "cnn", "kim"]
# Of Student's t, the quantile at .975 for 1 degree of freedom and more.
QUANTILES = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]
# What ends a sentence in lower-case text (UAX 29): line breaks, exclamation and question marks unless a comma or the like goes on,
# and full stops that no word follows before the line or another sentence ends.
END = re.compile(r"\n+|(?<=[!?] )(?![!?,;:-])|(?<=\. )(?![.!?,;:-])(?=[^a-z\n.!?]*(?:[\n.!?]|$))")
# From this number on, reviews are measured on.
DEV_REVIEWS = 800


class Level(nn.Module):
    """A GRU in both directions over packed rows and additive attention over places `from_` … length − `from_`."""

    def __init__(self, d, hidden, from_):
        super().__init__()
        m = 2 * hidden
        self.encoder, self.from_ = nn.GRU(d, hidden, bidirectional=True, batch_first=True), from_
        self.hidden, self.score = nn.Linear(m, m), nn.Linear(m, 1, bias=False)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states = pad_packed_sequence(self.encoder(packed)[0], batch_first=True)[0]
        at = torch.arange(x.shape[1])
        read = (at >= self.from_) & (at < (lengths - self.from_)[:, None])
        scores = self.score(torch.tanh(self.hidden(states)))[..., 0].masked_fill(~read, -torch.inf)
        return (torch.softmax(scores, 1)[..., None] * states).sum(1)


class Han(nn.Module):
    """Serrano and Smith (2019): words are weighed to sentences, sentences to a review."""

    def __init__(self, words, d=200, hidden=50):
        super().__init__()
        self.embed = nn.Embedding(words, d, padding_idx=0)
        self.word, self.sentence = Level(d, hidden, 1), Level(2 * hidden, hidden, 0)
        self.head = nn.Linear(2 * hidden, 2)
        self.dropouts = nn.ModuleList(map(nn.Dropout, [0.44, 0.22, 0.25]))
        for name, value in self.named_parameters():
            if value.dim() == 1:
                nn.init.zeros_(value)
            elif "weight_hh" in name:
                nn.init.orthogonal_(value)
            elif not name.startswith("embed"):
                nn.init.xavier_uniform_(value)

    def forward(self, reviews):
        sentences = [torch.tensor(ids) for review in reviews for ids in review]
        lengths = torch.tensor([len(ids) for ids in sentences])
        before_words, before_sentences, before_head = self.dropouts
        vectors = self.word(before_words(self.embed(pad_sequence(sentences, batch_first=True))), lengths)
        counts = [len(review) for review in reviews]
        x = pad_sequence(vectors.split(counts), batch_first=True)
        return self.head(before_head(self.sentence(before_sentences(x), torch.tensor(counts))))


class Texts:
    """Rows of single texts."""

    def __init__(self, data):
        self.files = [data / f"{name}.tsv" for name in ("train", "dev")]
        self.flags = ["--no-header"]

    def rows(self, vocabulary):
        train, dev = (read(file, vocabulary) for file in self.files)
        assert all(1 not in ids for ids, _ in train), "words are not cut as exegete cuts them"
        return train, dev

    @staticmethod
    def batches(rows, size, random_order):
        """Batches of like lengths in a random order, as in `exegete train`."""
        order = random_order.sample(rows, len(rows))
        found = [((ids, lengths), labels) for ids, lengths, labels in batches(order, size)]
        return random_order.sample(found, len(found))


class Reviews:
    """Rows of whole texts, a sentence a line."""

    def __init__(self, folder, work):
        self.files, self.flags = [work / f"{name}.jsonl" for name in ("train", "dev")], []
        rows = {file: [] for file in self.files}
        for label in ("neg", "pos"):
            for path in sorted((folder / label).glob("cv*.txt")):
                late = int(path.name[2:5]) >= DEV_REVIEWS
                rows[self.files[late]].append({"text": path.read_text(errors="replace"), "label": label})
        for file, found in rows.items():
            file.write_text("".join(json.dumps(row) + "\n" for row in found))

    def rows(self, vocabulary):
        def sentences(text):
            found = [WORD.findall(part) for part in END.split(text.lower())]
            return [[2, *(vocabulary.get(word, 1) for word in words), 3] for words in found if words]

        def rows(file):
            found = [json.loads(line) for line in file.read_text().splitlines()]
            return [(sentences(row["text"]), int(row["label"] == "pos")) for row in found]

        return [rows(file) for file in self.files]

    @staticmethod
    def batches(rows, size, random_order):
        order = random_order.sample(rows, len(rows))
        parts = [order[i : i + size] for i in range(0, len(order), size)]
        return [(([row for row, _ in part],), torch.tensor([label for _, label in part])) for part in parts]


def ours(args, kind, data, seed, out):
    """The accuracy on dev of the best epoch, and the settings of the run."""
    train, dev = data.files
    command = [args.program, "train", "--kind", kind, "--train", train, "--dev", dev, *data.flags, "-o", out, "--overwrite"]
    if args.vectors:
        command += ["--vectors", args.vectors]
    subprocess.run([*command, "--seed", str(seed), "--threads", str(args.threads)], check=True, capture_output=True)
    report = json.loads((out / "training.json").read_text())
    return report["epochs"][report["best_epoch"] - 1]["dev"]["accuracy"], report["settings"]


def network(args, kind, words):
    matrix = given_vectors(args.vectors, words) if args.vectors else None
    own = {"kim": Kim, "han": Han}.get(kind, partial(Attentive, kind))
    model = own(len(words)) if matrix is None else own(len(words), d=matrix.shape[1])
    with torch.no_grad():
        if matrix is not None:
            model.embed.weight.copy_(matrix)
        model.embed.weight[:2] = 0
    return model


def given_vectors(file, words):
    """The first vector of each word; words without one are drawn with the deviation of all numbers found."""
    known, found = set(words[4:]), {}
    with open(file) as lines:
        for line in lines:
            word, *numbers = line.split(" ")
            if word in known and word not in found:
                found[word] = torch.tensor([float(x) for x in numbers])
    vectors = torch.stack(list(found.values()))
    matrix = vectors.std(correction=0) * torch.randn(len(words), vectors.shape[1])
    for i, word in enumerate(words):
        if word in found:
            matrix[i] = found[word]
    return matrix


def theirs(args, kind, data, seed, words, settings):
    """The same in PyTorch: the accuracy on dev of the best epoch."""
    torch.manual_seed(seed)
    order = random.Random(seed)
    model = network(args, kind, words)
    train, dev = data.rows({word: i for i, word in enumerate(words)})
    attention = [value for name, value in model.named_parameters() if name.startswith("attention")]
    others = [value for name, value in model.named_parameters() if not name.startswith("attention")]
    groups = [
        {"params": attention, "weight_decay": settings["decay_attention"] or 0.0},
        {"params": others, "weight_decay": settings["decay"]},
    ]
    groups = [group for group in groups if group["params"]]
    optimiser = torch.optim.Adam(groups, lr=settings["rate"], amsgrad=settings["amsgrad"])
    halve = settings["schedule"] == "Halve"
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, "max", factor=0.5, patience=0) if halve else None
    weights = torch.tensor(settings["class_weights"]) if settings["class_weights"] else None
    best, since = (-1.0, 0.0), 0
    for _ in range(settings["epochs"]):
        model.train()
        for inputs, labels in data.batches(train, settings["batch"], order):
            optimiser.zero_grad()
            # The mean of PyTorch divides by the weights of the rows; here it would be over rows, and no run has both.
            nn.functional.cross_entropy(model(*inputs), labels, weights, reduction=settings["reduction"]).backward()
            if settings["clip"]:
                nn.utils.clip_grad_norm_(model.parameters(), settings["clip"])
            optimiser.step()
            if kind == "kim":
                with torch.no_grad():
                    model.head.weight.copy_(torch.renorm(model.head.weight, 2, 0, 3))
        accuracy, area = measured(model, data, dev)
        figure = area if settings["metric"] == "auc" else accuracy
        if plateau:
            plateau.step(figure)
        best, since = ((figure, accuracy), 0) if figure > best[0] else (best, since + 1)
        if settings["patience"] and since >= settings["patience"]:
            break
    return best[1]


def measured(model, data, rows):
    """Accuracy, and the area under the curve, ties counting half."""
    model.eval()
    with torch.no_grad():
        found = [(model(*inputs), labels) for inputs, labels in data.batches(rows, 32, random.Random(0))]
    logits, labels = (torch.cat(parts) for parts in zip(*found))
    margins = logits[:, 1] - logits[:, 0]
    above = margins[labels == 1][:, None] - margins[labels == 0]
    return (logits.argmax(1) == labels).double().mean().item(), ((above > 0) + 0.5 * (above == 0)).mean().item()


def interval(values):
    """The mean and half the width of the 95 % interval, in points; no width for one run."""
    n = len(values)
    mean = sum(values) / n
    if n == 1:
        return f"{100 * mean:.1f}"
    deviation = math.sqrt(sum((x - mean) ** 2 for x in values) / (n - 1))
    return f"{100 * mean:.1f} ± {100 * QUANTILES[n - 2] * deviation / math.sqrt(n):.1f}"


def table(state):
    print("| kind | vectors | seeds | exegete | PyTorch | difference, seed by seed |")
    print("|---|---|---|---|---|---|")
    for name in dict.fromkeys(key.rpartition(" ")[0] for key in state):
        runs = [run for key, run in state.items() if key.rpartition(" ")[0] == name and "theirs" in run]
        if runs:
            columns = [[run["ours"] for run in runs], [run["theirs"] for run in runs]]
            columns.append([own - peer for own, peer in zip(*columns)])
            kind, vectors = name.split(" ", 1)
            print(f"| {kind} | {vectors} | {len(runs)} | {' | '.join(map(interval, columns))} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="train.tsv and dev.tsv")
    parser.add_argument("--reviews", type=Path, help="neg and pos, for the kind han")
    parser.add_argument("--vectors", type=Path, help="word vectors to start from on both sides; random without")
    parser.add_argument("--only", default=None, help="some of the kinds, separated by commas")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--state", type=Path, default=Path("small_accuracy.json"))
    parser.add_argument("--program", default="target/release/exegete")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    state = json.loads(args.state.read_text()) if args.state.exists() else {}
    kinds = args.only.split(",") if args.only else (KINDS if args.data else []) + (["han"] if args.reviews else [])
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        sets = {"texts": args.data and Texts(args.data), "han": args.reviews and Reviews(args.reviews, work)}
        for seed in range(args.seeds):
            for kind in kinds:
                run = state.setdefault(f"{kind} {args.vectors.stem if args.vectors else 'random'} {seed}", {})
                if "theirs" in run:
                    continue
                data = sets["han" if kind == "han" else "texts"]
                own, settings = ours(args, kind, data, seed, work / "model")
                words = (work / "model" / "vocab.txt").read_text().splitlines()
                run |= {"ours": own, "theirs": theirs(args, kind, data, seed, words, settings)}
                args.state.write_text(json.dumps(state, indent=1))
                print(f"{kind} {seed}: {run}", flush=True)
    table(state)


if __name__ == "__main__":
    main()
