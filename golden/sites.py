"""Places inside a model of transformers by exegete's names, and one run that keeps or replaces what they hold.

Shape letters: S rows, T tokens, E embedding, H hidden. Sites are found by module and by the number of its call, since
ALBERT runs one module for every layer.
"""

import itertools
import re
from contextlib import contextmanager

import torch

from record import encode, head_output, load_model, load_tokenizer

WORD = "embed.word"
# The longest answer in tokens.
LONGEST_ANSWER = 15


class Subject:
    """One number F of one text under one model, as a function of the text's word vectors."""

    def __init__(self, folder, text, target):
        self.path = folder
        self.model, self.head = load_model(folder)
        self.model.requires_grad_(False)
        self.tokenizer = load_tokenizer(folder)
        self.row = encode(self.tokenizer, text)
        self.target = target
        self.words = self.look_up(self.row["ids"])  # [T, E]
        logits = self.logits(self.words[None])  # [1, ..]
        self.unit, self.element = read_target(self, target, logits[0])

    def look_up(self, ids):
        return self.model.get_input_embeddings()(torch.tensor(ids)).detach()

    def logits(self, words):
        inputs = {"inputs_embeds": words}
        if self.model.config.model_type != "distilbert":
            inputs["token_type_ids"] = torch.tensor([self.row["types"]]).expand(len(words), -1)
        self.outputs = self.model(**inputs, output_attentions=True)
        return head_output(self.head, self.outputs)

    def run(self, words, keep=(), replace=None):
        """F of every row, [S], and what the sites of `keep` hold, [S, T, ..]; `replace` gives sites other values."""
        sites = list(keep) + ([self.unit[0]] if self.unit else [])
        with hooked(self.model, sites, replace or {}) as seen:
            logits = self.logits(words)
        seen[WORD] = words
        if self.unit is None:
            return logits.flatten(1)[:, self.element], seen
        site, position, index = self.unit
        values = seen[site][..., index]  # [S, T]
        return values.sum(1) if position is None else values[:, position], seen

    def __call__(self, words):
        return self.run(words)[0]


def read_target(subject, target, logits):
    """A unit as (site, position or None, index), or else the element of the flattened logits."""
    if unit := re.fullmatch(r"unit:(.+)\[(\*|\d+),(\d+)\]", target):
        site, position, index = unit.groups()
        return (site, None if position == "*" else int(position), int(index)), None
    kind, place = re.fullmatch(r"(\w+):?(.*):logit", target).groups()
    classes = logits.shape[-1]
    if kind == "class":
        return None, int(place)
    if kind in ("start", "end"):
        start, end = best_span(subject.row, logits)
        return None, 2 * start if kind == "start" else 2 * end + 1
    position, name = place.split("=")
    known = subject.model.config.label2id if kind == "tag" else subject.tokenizer.get_vocab()
    return None, int(position) * classes + known[name]


def best_span(row, logits):
    """The span of the context whose start logit plus end logit is largest."""
    places = [place for place, field in enumerate(row["fields"]) if field == 1]
    spans = [(start, end) for start in places for end in places if start <= end < start + LONGEST_ANSWER]
    sums = [(logits[start, 0] + logits[end, 1]).item() for start, end in spans]
    best, second = sorted(sums, reverse=True)[:2]
    assert best - second > 1e-3, "two answers are about as good"
    return spans[sums.index(best)]


def find(model, site):
    """The module, whether the site is its input or its output, and which of its calls."""
    base = model.base_model
    if site == "embed":
        # The module around it may get no tensor as its first argument, which Captum needs.
        return base.embeddings.dropout, "output", 0
    number, place = re.fullmatch(r"layer\.(\d+)\.(.+)", site).groups()
    call = 0
    if model.config.model_type == "albert":
        layer, call = base.encoder.albert_layer_groups[0].albert_layers[0], int(number)
        value, projection, inner = layer.attention.value, layer.attention.dense, layer.ffn_output
    elif model.config.model_type == "distilbert":
        layer = base.transformer.layer[int(number)]
        value, projection, inner = layer.attention.v_lin, layer.attention.out_lin, layer.ffn.lin2
    else:
        layer = base.encoder.layer[int(number)]
        attention = layer.attention
        value, projection, inner = attention.self.value, attention.output.dense, layer.output.dense
    ends = {
        "attn.v": (value, "output"),
        "attn.out": (projection, "output"),
        "ffn.inner": (inner, "input"),
        "out": (layer, "output"),
    }
    return *ends[place], call


@contextmanager
def hooked(model, keep, replace):
    """Runs of `model` inside write into the yielded dictionary what the sites hold, after any replacement."""
    seen = {}
    hooks = [attach(model, site, seen, replace.get(site)) for site in {*keep, *replace} - {WORD}]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def attach(model, site, seen, replacement):
    module, end, call = find(model, site)
    calls = itertools.count()

    def visit(value):
        if next(calls) != call:
            return None
        seen[site] = value if replacement is None else replacement
        assert isinstance(value, torch.Tensor) and seen[site].shape == value.shape, site
        return seen[site]

    if end == "output":
        return module.register_forward_hook(lambda _module, _inputs, output: visit(output))
    return module.register_forward_pre_hook(lambda _module, inputs: visit(inputs[0]))

