"""Compares `exegete bench` with PyTorch on the same weights, shapes and threads.

    cargo build --release
    python benches/peers/peers.py [--exegete target/release/exegete] [--threads 2] [--rounds 5] [--only NAME]

Both sides take turns, so that whatever else the machine does hits both; the best time of each side counts.
"""

import argparse
import json
import os
import string
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification

VOCABULARY = 30522
BATCH = 32


def main():
    options = arguments()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        model = make_model(Path(folder))
        best, peak = {}, 0.0
        # All work in every round: a slow minute of the machine hits one lap of each, not all laps of one.
        for turn in range(options.rounds):
            for name in (name for name in PEERS if options.only in name):
                document = run_exegete(options, folder, name)
                peak = max(peak, document["peak"]["gflops"])
                figure = document["figures"][0]
                lap = PEERS[name](model, figure["lengths"]) if PEERS[name] else None
                told = f", PyTorch {lap:.4f} s" if lap else ""
                print(f"round {turn + 1}: {name} {figure['seconds']:.4f} s{told}", file=sys.stderr)
                ours, theirs = best.get(name, (figure, lap))
                faster = min(ours, figure, key=lambda one: one["seconds"])
                best[name] = faster, theirs and min(theirs, lap)
    print_table(best, peak, options)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exegete", default="target/release/exegete", help="the program to measure")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads on both sides")
    parser.add_argument("--rounds", type=int, default=5, help="how often both sides take turns")
    parser.add_argument("--only", default="", metavar="NAME", help="only the work whose name holds this")
    return parser.parse_args()


def make_model(folder):
    """A BERT-base classifier with random weights, saved as a Hugging Face folder."""
    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(vocab_size=VOCABULARY, num_labels=2)).eval()
    model.requires_grad_(False)
    model.save_pretrained(folder)
    make_tokenizer().save(str(folder / "tokenizer.json"))
    return model


def make_tokenizer():
    """A WordPiece tokenizer over letters, filled up to the size of the model's vocabulary."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = special + list(string.ascii_lowercase) + [f"##{c}" for c in string.ascii_lowercase]
    pieces += [f"filler{i}" for i in range(VOCABULARY - len(pieces))]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    tokenizer.add_special_tokens(special)
    return tokenizer


def run_exegete(options, folder, name):
    command = [options.exegete, "bench", "--model", folder, "--format", "json", "--quick"]
    command += ["--only", name, "--threads", str(options.threads)]
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {finished.stderr.strip()}")
    return json.loads(finished.stdout)


def padded(lengths):
    """Random token ids padded to the longest, and their mask, which PyTorch is spared where nothing is padded."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, VOCABULARY, (len(lengths), max(lengths)), generator=generator)
    mask = torch.arange(max(lengths))[None, :] < torch.tensor(lengths)[:, None]
    return ids * mask, None if mask.all() else mask.long()


def forward(model, lengths):
    """Batches of 32 in the given order, as a user of transformers would run them."""
    batches = [padded(lengths[i : i + BATCH]) for i in range(0, len(lengths), BATCH)]
    with torch.no_grad():
        return timed(lambda: [model(input_ids=ids, attention_mask=mask).logits for ids, mask in batches])


def gradient(model, lengths):
    """The gradient of the summed first logits at the word vectors, parameters frozen."""
    ids, mask = padded(lengths)
    vectors = model.get_input_embeddings()(ids).detach().requires_grad_()

    def run():
        logits = model(inputs_embeds=vectors, attention_mask=mask).logits
        return torch.autograd.grad(logits[:, 0].sum(), vectors)

    return timed(run)


def timed(work):
    start = time.perf_counter()
    work()
    # A short run says more about the moment than about the machine, so it is repeated more often.
    laps = []
    for _ in range(2 if time.perf_counter() - start > 1 else 10):
        start = time.perf_counter()
        work()
        laps.append(time.perf_counter() - start)
    return min(laps)


# The figures of `exegete bench` by name; None where PyTorch has nothing to compare.
PEERS = {
    "forward_batch": forward,
    "forward_mixed": forward,
    "forward_single": forward,
    "gradient": gradient,
    "ablations": None,
}


def print_table(figures, peak, options):
    print(f"peak {peak:.0f} GFLOP/s, {options.threads} threads, PyTorch {torch.__version__}, BERT-base, random weights")
    print(f"{'work':<18}{'ours s':>10}{'PyTorch s':>11}{'ratio':>8}{'of peak':>9}{'roofline':>10}")
    for name, (ours, theirs) in figures.items():
        ideal = ours["flops"] / (peak * 1e9)
        line = f"{name:<18}{ours['seconds']:>10.4f}"
        if theirs is None:
            line += f"{'':>11}{ours.get('ratio') or 0:>7.2f}×{ideal / ours['seconds']:>9.2f}"
        else:
            line += f"{theirs:>11.4f}{theirs / ours['seconds']:>7.2f}×{ideal / ours['seconds']:>9.2f}"
            line += f"{theirs / ideal:>9.2f}×"
        print(line)
    print("ratio: PyTorch's time ÷ ours (ablations: whole forwards of ours ÷ resumed ones)")
    print("roofline: PyTorch's time ÷ (our floating-point work ÷ peak), the ratio no engine could pass")


if __name__ == "__main__":
    main()
