"""The search for other attention weights that keep the answer (S. Jain and B. C. Wallace, 2019) against PyTorch, in turns.

    python benches/peers/attention.py --model DIR --input FILE [--no-header] [--rounds 3] [--program target/release/exegete]

DIR is a small model of one text, such as `exegete train --kind lstm` makes. PyTorch gets the weights of the same texts and does the same
arithmetic on all of them in one batch, padded to the longest: five distributions a text, 500 steps of Adam with AMSGrad, and at every
step the farthest one that keeps the answer. It starts from the projected states (what each word adds to the logits, here random numbers
of the same shape), as exegete does once the model has run; our seconds hold reading the file and running the model too. Both use two threads.
Every figure is the best of the rounds.
"""

import argparse
import json
import subprocess
import time

import torch

THREADS, COUNT, STEPS, EPSILON, PENALTY = 2, 5, 500, 0.01, 500.0


def ours(args):
    command = [args.program, "attention", "test", "--model", args.model, "--input", args.input, "--only", "adversary"]
    command += ["--format", "json", "--threads", str(THREADS)] + ["--no-header"] * args.no_header
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    rows = next(item for item in report["items"] if item.get("name") == "texts")["rows"]
    return report["provenance"]["seconds"], rows


def xlogx(p, log_mean):
    return torch.where(p > 0, p * (p.clamp_min(1e-38).log() - log_mean), 0.0)


def jsd(p, q):
    log_mean = (0.5 * (p + q)).clamp_min(1e-38).log()
    return 0.5 * (xlogx(p, log_mean) + xlogx(q, log_mean)).sum(-1)


def theirs(rows):
    longest = max(len(row["alpha"]) for row in rows)
    alpha = torch.zeros(len(rows), 1, longest)
    for row, values in zip(alpha, rows):
        row[0, : len(values["alpha"])] = torch.tensor(values["alpha"])
    mask = alpha == 0
    slopes = torch.randn(len(rows), longest, 2)
    own = torch.softmax(alpha @ slopes, -1)
    z = (3 * torch.randn(len(rows), COUNT, longest)).requires_grad_()
    adam = torch.optim.Adam([z], lr=0.01, amsgrad=True)
    first, second = zip(*[(i, j) for i in range(COUNT) for j in range(i)])
    first, second = list(first), list(second)
    best = torch.full((len(rows),), -1.0)
    began = time.perf_counter()
    for step in range(STEPS + 1):
        weights = torch.softmax(z.masked_fill(mask, -torch.inf), -1)
        moved = 0.5 * (torch.softmax(weights @ slopes, -1) - own).abs().sum(-1)
        away = jsd(weights, alpha.expand_as(weights))
        apart = jsd(weights[:, first], weights[:, second]).sum(-1) / (COUNT * (COUNT - 1))
        loss = (PENALTY * (moved - EPSILON).clamp_min(0).sum(-1) - away.sum(-1) - apart).sum()
        kept = torch.where(moved <= EPSILON, away, -1.0).amax(-1)
        best = torch.maximum(best, kept.detach())
        if step < STEPS:
            adam.zero_grad()
            loss.backward()
            adam.step()
    return time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--input", required=True)
    parser.add_argument("--no-header", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--program", default="target/release/exegete")
    args = parser.parse_args()
    torch.set_num_threads(THREADS)
    seconds, torches = [], []
    for _ in range(args.rounds):
        found, rows = ours(args)
        seconds.append(found)
        torches.append(theirs(rows))
    print(f"{len(rows)} texts: exegete {min(seconds):.2f} s, PyTorch {min(torches):.2f} s")
    print(f"ratio {min(torches) / min(seconds):.1f}")


if __name__ == "__main__":
    main()
