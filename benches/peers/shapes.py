"""Two shapes that papers report, on small models over one set of texts, through the command line alone.

    python benches/peers/shapes.py --data DIR [--vectors FILE] [--work DIR] [--only deletion,softplus]

DIR of --data holds train.tsv and dev.tsv, a text and a label a line without a header.

`deletion`: Arras et al. (2017) delete words from texts of at least ten words, by their relevance for the right class: the highest
first where the model was right, the lowest first where it was wrong. LRP, the squared gradient and a random order on a BiLSTM
that reads its last states; accuracy after 0 to 5 deletions.

`softplus`: Kim's CNN with a softplus of β in the place of every ReLU: the largest change of a logit, and changed decisions.

Trained models stay in the folder of --work and are used again. Intervals are 95 %, by 2,000 resamples of the texts.
"""

import argparse
import json
import random
import subprocess
import tempfile
from pathlib import Path

LEAST_WORDS, DELETIONS, RANDOM_ORDERS, RESAMPLES = 10, 5, 10, 2000
METHODS = {"LRP": "lrp", "squared gradient": "saliency"}
BETAS = [1, 10, 1000]


def run(args, *command):
    done = subprocess.run([args.program, *map(str, command), "--threads", str(args.threads)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def trained(args, kind, *flags):
    """A model of this kind; the one of an earlier run where it is there."""
    model = args.work / kind
    if not (model / "training.json").exists():
        files = ["--train", args.data / "train.tsv", "--dev", args.data / "dev.tsv", "--no-header", "-o", model]
        vectors = ["--vectors", args.vectors] if args.vectors else []
        run(args, "train", "--kind", kind, *files, *vectors, *flags)
    return model


def read(path):
    return [line.rsplit("\t", 1) for line in path.read_text().splitlines()]


def explained(args, model, texts, method, *flags):
    """A report's only item for each text."""
    file = args.work / "texts.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    command = ["explain", "--model", model, "--input", file, "--method", method, "--check", "none", "--format", "jsonl"]
    return [json.loads(line)["items"][0] for line in run(args, *command, *flags).splitlines()]


def predicted(args, model, texts):
    file = args.work / "texts.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    rows = json.loads(run(args, "predict", "--model", model, "--input", file, "--format", "json"))["rows"]
    return [row["prediction"]["label"] for row in rows]


def without(text, spans):
    """A text without these stretches of bytes."""
    data, end, kept = text.encode(), 0, []
    for start, stop in sorted(spans):
        kept.append(data[end:start])
        end = stop
    return b"".join([*kept, data[end:]]).decode()


def orders(args, model, rows):
    """For each way of ordering, for each text, the stretches of its words with the highest relevance first."""
    found = {name: [None] * len(rows) for name in METHODS}
    spans = [None] * len(rows)
    for label in sorted({label for _, label in rows}):
        own = [i for i, row in enumerate(rows) if row[1] == label]
        for name, method in METHODS.items():
            items = explained(args, model, [rows[i][0] for i in own], method, "--target", f"class:{label}")
            for i, item in zip(own, items):
                spans[i] = [(unit["start"], unit["end"]) for unit in item["units"]]
                ranked = sorted(range(len(spans[i])), key=lambda at: -item["values"][at])
                found[name][i] = [spans[i][at] for at in ranked]
    for order in range(RANDOM_ORDERS):
        draw = random.Random(order)
        found[f"random {order}"] = [draw.sample(own, len(own)) for own in spans]
    return found, [len(own) for own in spans]


def deletion(args):
    model = trained(args, "lstm", "--attention", "none", "--hidden", 60)
    rows = read(args.data / "dev.tsv")
    found, lengths = orders(args, model, rows)
    labels = predicted(args, model, [text for text, _ in rows])
    for right, title in [(True, "right, highest relevance first"), (False, "wrong, lowest relevance first")]:
        own = [i for i, row in enumerate(rows) if lengths[i] >= LEAST_WORDS and (labels[i] == row[1]) == right]
        print(f"\n{len(own)} texts that were {title}: accuracy after so many deletions\n")
        print("| order | " + " | ".join(map(str, range(DELETIONS + 1))) + " |")
        print("|---" * (DELETIONS + 2) + "|")
        hits = {}
        for name, order in found.items():
            side = lambda i: order[i] if right else order[i][::-1]
            for count in range(DELETIONS + 1):
                texts = [without(rows[i][0], side(i)[:count]) for i in own]
                answers = predicted(args, model, texts)
                hits[name, count] = [float(answer == rows[i][1]) for answer, i in zip(answers, own)]
        for count in range(DELETIONS + 1):
            drawn = [hits[f"random {order}", count] for order in range(RANDOM_ORDERS)]
            hits["random", count] = [sum(values) / RANDOM_ORDERS for values in zip(*drawn)]
        for name in [*METHODS, "random"]:
            shown = [interval(hits[name, count]) for count in range(DELETIONS + 1)]
            print(f"| {name} | {' | '.join(shown)} |")
        for name in METHODS:
            lower = [ranked - drawn for ranked, drawn in zip(hits[name, 3], hits["random", 3])]
            print(f"\n{name} less random after 3 deletions: {interval(lower)} points", end="")
        print()


def interval(values):
    """The mean in points, with the percentiles of the means of resamples."""
    draw = random.Random(0)
    mean = lambda values: 100 * sum(values) / len(values)
    means = sorted(mean(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    low, high = means[round(0.025 * RESAMPLES)], means[round(0.975 * RESAMPLES) - 1]
    return f"{mean(values):.1f} ({low:.1f}, {high:.1f})"


def softplus(args):
    model = trained(args, "kim")
    texts = [text for text, _ in read(args.data / "dev.tsv")]
    print("\n| β | largest change of a logit | mean change | decisions changed |\n|---|---|---|---|")
    for beta in BETAS:
        items = explained(args, model, texts, "gradient_x_input", "--set", f"softplus={beta}")
        swaps = [item["checks"]["swap"] for item in items]
        changes = [swap["logit_change"] for swap in swaps]
        changed = sum(swap["decision_changed"] for swap in swaps)
        print(f"| {beta} | {max(changes):.5f} | {sum(changes) / len(changes):.5f} | {changed} of {len(texts)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--only", default="deletion,softplus")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--program", default="target/release/exegete")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        args.work = args.work or Path(folder)
        args.work.mkdir(exist_ok=True)
        for part in args.only.split(","):
            {"deletion": deletion, "softplus": softplus}[part](args)


if __name__ == "__main__":
    main()
