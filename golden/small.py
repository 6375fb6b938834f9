"""Makes the golden small models: one tiny random folder for every cell, direction, attention and head, with what PyTorch
computes for them in float64.

    python golden/small.py                 rewrites golden/small, golden/seq2seq and golden/small_steps.safetensors
    python golden/small.py --steps         rewrites the last alone, from the folders of golden/small
    python golden/small.py --folder DIR    loads a trained folder into PyTorch and prints the logits of its first words
"""

import argparse
import json
import re
import shutil
import zlib
from pathlib import Path

import torch
from safetensors.torch import save_file

from small_nets import network, open_folder

OUT = Path(__file__).parent / "small"
SEQUENCES = Path(__file__).parent / "seq2seq"
STEPS = Path(__file__).parent / "small_steps.safetensors"
WORDS = "the a film was good bad not very cat dog kitchen garden office mary john is where and went to".split()
VOCABULARY = ["<pad>", "<unk>", "<s>", "</s>"] + WORDS
TEXTS = ["the film was very good", "bad", "not a good film and not bad unseen the dog was not very good"]
PAIRS = [
    ("mary went to the kitchen", "where is mary"),
    ("john went to the office and mary went to the garden", "where is the dog"),
    ("the cat was good in the garden kitchen", "bad"),
]
DOCUMENTS = [
    ("the film was very good !", "not bad"),
    ("bad",),
    ("not a good film !", "bad ?", "the dog was not very good and unseen"),
]
BASE = dict(attention="additive", directions=2, layers=1, embedding=5, hidden=4, lowercase=True, labels=["no", "so", "yes"])
TABLES = ["embed.weight", "aspect.weight"]
PLACES = dict(head="entity_qa", labels=["kitchen", "garden", "office"])
CASES = {
    "lstm-additive": dict(kind="lstm"),
    "lstm-dot-two-layers": dict(kind="lstm", attention="dot", layers=2),
    "lstm-one-direction": dict(kind="lstm", directions=1, attention_hidden=7),
    "lstm-none": dict(kind="lstm", attention="none"),
    "gru-additive": dict(kind="gru"),
    "gru-uniform-one-direction-two-layers": dict(kind="gru", attention="uniform", directions=1, layers=2),
    "rnn-dot": dict(kind="rnn", attention="dot"),
    "none-additive": dict(kind="none"),
    "average-additive": dict(kind="average"),
    "average-none": dict(kind="average", attention="none"),
    "cnn-additive": dict(kind="cnn", widths=[1, 3, 4], channels=3),
    "kim": dict(kind="kim", attention="none", channels=4),
    "flan-gru": dict(kind="flan", encoder="gru"),
    "flan-conv": dict(kind="flan", encoder="conv", channels=3),
    "flan-none": dict(kind="flan", encoder="none"),
    "pair-lstm-additive": dict(kind="lstm", head="pair"),
    "pair-gru-dot": dict(kind="gru", head="pair", attention="dot"),
    "pair-cnn-uniform": dict(kind="cnn", head="pair", attention="uniform", widths=[3], channels=4),
    "qa-lstm-additive": dict(kind="lstm", **PLACES),
    "qa-average-additive": dict(kind="average", **PLACES),
    "atae": dict(kind="atae", head="pair", directions=1),
    "atae-two-layers": dict(kind="atae", head="pair", directions=1, layers=2, attention_hidden=3),
    "han-gru": dict(kind="han", encoder="gru"),
    "han-conv": dict(kind="han", encoder="conv", channels=3),
    "han-none": dict(kind="han", encoder="none"),
    "han-dot": dict(kind="han", encoder="gru", attention="dot", directions=1),
    "han-uniform": dict(kind="han", encoder="none", attention="uniform"),
}

TARGETS = ["<pad>", "<unk>", "<s>", "</s>"] + "le un film était bon mauvais pas très chat chien jardin et".split()
TRANSLATIONS = [
    ("the film was very good", "le film était très bon"),
    ("bad", "mauvais"),
    ("the unseen cat and the dog was not in the garden", "le chat et un inconnu chien pas"),
]
# The rate, and the length that gradients are clipped to.
RATE, CLIP = 0.01, 1.0
# Decay, that of the attention's own parameters, and the longest row of Kim's head: strong enough to show after a step.
DECAY, DECAY_ATTENTION, HEAD_NORM = 0.1, 0.05, 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder")
    parser.add_argument("--steps", action="store_true")
    args = parser.parse_args()
    folder = args.folder
    if args.steps:
        return record_steps()
    if folder:
        model = open_folder(folder)
        if model.config["kind"] == "seq2seq":
            ids = [2, *range(4, min(9, len(model.vocabulary))), 3]
            print(model.vocabulary[4:9], [model.target[word] for word in model.greedy(ids, 2 * (len(ids) - 2) + 10)])
            return
        ids = [2, *range(4, min(9, len(model.vocabulary))), 3]
        print(model.vocabulary[4:9], model([ids, ids] if model.asked else [ids])[0].tolist())
        return
    shutil.rmtree(OUT, ignore_errors=True)
    for name, changes in CASES.items():
        make(OUT / name, BASE | changes)
    shutil.rmtree(SEQUENCES, ignore_errors=True)
    for how in ["bahdanau", "luong", "uniform", "none"]:
        make_sequences(SEQUENCES / how, how)
    record_steps()


def make_sequences(folder, how):
    torch.manual_seed(zlib.crc32(how.encode()))
    config = dict(kind="seq2seq", attention=how, directions=2, layers=1, embedding=5, hidden=4, lowercase=True)
    model = network(config, VOCABULARY, TARGETS).double()
    with torch.no_grad():
        model.embed.weight[:2] = 0
        model.decoder["embed"].weight[:2] = 0
        for value in model.parameters():
            value.copy_((value * (1 if len(value) in (len(VOCABULARY), len(TARGETS)) else 2)).float().double())
    pairs = [(ids(source), [TARGETS.index(w) if w in TARGETS else 1 for w in target.split()] + [3]) for source, target in TRANSLATIONS]
    tensors, losses = {}, []
    for number, (source, target) in enumerate(pairs):
        read = lambda: model(source, target)
        # The last place has read all that was written before it.
        tensors |= {f"{number}.{name}": value for name, value in values_of(model, read, (len(target) - 1, 5)).items()}
        losses.append(torch.nn.functional.cross_entropy(model(source, target)[0], torch.tensor(target)).item())
    start = {name: value.detach().clone() for name, value in model.named_parameters()}
    steps = {}
    for own in [False, True]:
        model.load_state_dict(start)
        optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
        for step in [1, 2, 3]:
            optimiser.zero_grad()
            logits = torch.cat([model(source, target, own)[0] for source, target in pairs])
            loss = torch.nn.functional.cross_entropy(logits, torch.tensor([word for _, target in pairs for word in target]))
            loss.backward()
            prefix = "own" if own else "told"
            steps.setdefault(prefix, []).append(loss.item())
            if step == 1:
                tensors |= {f"{prefix}.learned.{name}": value.grad.clone() for name, value in model.named_parameters() if value.grad is not None}
            torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimiser.step()
            if step in (1, 3):
                tensors |= {f"{prefix}.after{step}.{name}": value.detach().clone() for name, value in model.named_parameters()}
    model.load_state_dict(start)
    folder.mkdir(parents=True)
    described = {
        "inputs": TRANSLATIONS,
        "targets": [target for _, target in pairs],
        "losses": losses,
        "greedy": [model.greedy(source, 2 * (len(source) - 2) + 10) for source, _ in pairs],
        "rate": RATE,
        "clip": CLIP,
        "steps": steps,
    }
    (folder / "golden.json").write_text(json.dumps(described, indent=1, ensure_ascii=False) + "\n")
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    (folder / "vocab.target.txt").write_text("\n".join(TARGETS) + "\n")
    single = lambda values: {name: value.detach().float().contiguous() for name, value in values.items()}
    save_file(single(start), folder / "model.safetensors", {"format": "pt"})
    save_file(single(tensors), folder / "golden.safetensors")


def make(folder, config):
    torch.manual_seed(zlib.crc32(folder.name.encode()))
    model = network(config, VOCABULARY).double()
    with torch.no_grad():
        for name, value in model.named_parameters():
            if name in TABLES:
                value[:2] = 0
        for name, value in model.named_parameters():
            # Large enough that gates and weights differ from word to word, and exact in single precision.
            value.copy_((value * (1 if name in TABLES else 2)).float().double())
    documents = config["kind"] == "han"
    inputs = DOCUMENTS if documents else PAIRS if model.asked else [(text,) for text in TEXTS]
    tensors = {}
    for number, texts in enumerate(inputs):
        tensors |= {f"{number}.{name}": value for name, value in trace(model, texts).items()}
    losses = []
    model.zero_grad()
    for number, texts in enumerate(inputs):
        logits, _ = model([ids(text) for text in texts])
        losses.append(torch.nn.functional.cross_entropy(logits[None], torch.tensor([label(model, texts, number)])))
    sum(losses).backward()
    tensors |= {f"learned.{name}": value.grad for name, value in model.named_parameters() if value.grad is not None}
    folder.mkdir(parents=True)
    labels = [label(model, texts, number) for number, texts in enumerate(inputs)]
    written = [(" ".join(sentences),) for sentences in inputs] if documents else inputs
    described = {"inputs": written, "labels": labels, "losses": [loss.item() for loss in losses]}
    (folder / "golden.json").write_text(json.dumps(described, indent=1) + "\n")
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    single = lambda values: {name: value.detach().float().contiguous() for name, value in values.items()}
    save_file(single(dict(model.named_parameters())), folder / "model.safetensors", {"format": "pt"})
    save_file(single(tensors), folder / "golden.safetensors")


def record_steps():
    """What one and three steps make of every folder of golden/small: Adam with AMSGrad on the sum of the losses."""
    tensors = {}
    for name in CASES:
        exact, single = (three_steps(OUT / name, dtype) for dtype in (torch.float64, torch.float32))
        # Adam makes a whole step of a gradient that is zero but for rounding; such a case would compare nothing.
        worst = max((exact[key] - single[key]).abs().max().item() for key in exact)
        assert worst < 2e-6, f"{name}: single precision differs by {worst}"
        tensors |= {f"{name}/{key}": value.float().contiguous() for key, value in exact.items()}
    save_file(tensors, STEPS, dict(torch=torch.__version__.split("+")[0]))
    STEPS.chmod(0o644)  # safetensors writes files that only their owner can read


def three_steps(folder, dtype):
    """The losses before three steps on all inputs, and the parameters after the first and the last."""
    model = open_folder(folder).to(dtype)
    described = json.loads((folder / "golden.json").read_text())
    inputs = DOCUMENTS if model.config["kind"] == "han" else described["inputs"]
    own = [name for name, _ in model.named_parameters() if re.match(r"(word\.|sentence\.)?attention\.", name)]
    groups = [
        {"params": [value for name, value in model.named_parameters() if (name in own) == attends], "weight_decay": decay}
        for attends, decay in [(False, DECAY), (True, DECAY_ATTENTION)]
    ]
    optimiser = torch.optim.Adam(groups, lr=RATE, amsgrad=True)
    values, losses = {}, []
    for step in [1, 2, 3]:
        optimiser.zero_grad()
        logits = torch.stack([model([ids(text) for text in texts])[0] for texts in inputs])
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor(described["labels"]), reduction="sum")
        loss.backward()
        for value in model.parameters():
            # What no output depends on decays all the same.
            value.grad = torch.zeros_like(value) if value.grad is None else value.grad
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()
        if model.config["kind"] == "kim":
            with torch.no_grad():
                model.head.weight.copy_(torch.renorm(model.head.weight, 2, 0, HEAD_NORM))
        losses.append(loss.detach() / len(inputs))
        if step in (1, 3):
            values |= {f"after{step}/{name}": value.detach().clone() for name, value in model.named_parameters()}
    return values | {"losses": torch.stack(losses)}


def label(model, texts, number):
    """A class that the story does not rule out."""
    if model.config.get("head") != "entity_qa":
        return number % len(model.config["labels"])
    return next(i for i, name in enumerate(model.config["labels"]) if name in texts[0].split())


def ids(text):
    return [2, *(VOCABULARY.index(word) if word in VOCABULARY else 1 for word in text.split()), 3]


def trace(model, texts):
    """Every site, and the gradient of one logit at each that it depends on."""
    return values_of(model, lambda: model([ids(text) for text in texts]), label(model, texts, 0))


def values_of(model, read, logit):
    model.zero_grad()
    logits, sites = read()
    logits[logit].backward()
    values = {}
    for name, value in sites.items():
        if isinstance(value, list):  # directions of steps
            together = lambda read: torch.cat([torch.stack([read(step) for step in steps]) for steps in value], 1)
            values[name] = together(lambda step: step)
            # A last state's own gate may lead nowhere.
            values[f"grad.{name}"] = together(lambda step: torch.zeros_like(step) if step.grad is None else step.grad)
        elif isinstance(value, tuple):  # sentences
            values[name] = torch.cat(value)
            values[f"grad.{name}"] = torch.cat([torch.zeros_like(part) if part.grad is None else part.grad for part in value])
        else:
            values[name] = value
            if value.grad is not None and name != "logits":
                values[f"grad.{name}"] = value.grad
    return values


if __name__ == "__main__":
    main()
