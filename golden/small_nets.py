"""Small models in PyTorch, whose parameters have the names of exegete's folders: `load_state_dict` reads a trained folder.

Shape letters: T tokens, W words, d embedding, m state, C classes. One text at a time; `sites` holds what was seen.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn

CELLS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
WIDTHS = {"cnn": ([1, 3, 5, 7], 32), "kim": ([3, 4, 5], 100), "conv": ([3, 5], 50)}


class States(nn.Module):
    """Word vectors [T, d] to states [T, m]."""

    def __init__(self, config):
        super().__init__()
        self.kind = config.get("encoder", config["kind"])
        d, hidden = config["embedding"], config["hidden"]
        self.width = d
        if self.kind == "average":
            self.proj, self.width = nn.Linear(d, hidden), hidden
        elif self.kind in WIDTHS:
            widths, channels = WIDTHS[self.kind]
            self.widths, channels = config.get("widths", widths), config.get("channels", channels)
            for width in self.widths:
                setattr(self, f"conv{width}", nn.Conv1d(d, channels, width, padding="same"))
            self.width = len(self.widths) * channels
        elif self.kind in CELLS:
            directions, layers = config["directions"], config["layers"]
            cell = CELLS[self.kind](d, hidden, layers, bidirectional=directions == 2)
            self.cell = [cell]  # hidden from state_dict: its parameters are ours
            for name, value in cell.named_parameters():
                self.register_parameter(name, value)
            self.width = directions * hidden

    def forward(self, x, sites, prefix=""):
        if self.kind == "average":
            return torch.tanh(self.proj(x))
        if self.kind in WIDTHS:
            # Kim's rectifier comes after the maximum: the same numbers, and no ties at 0.
            active = (lambda y: y) if self.kind == "kim" else torch.relu
            found = [active(getattr(self, f"conv{k}")(x.T[None])[0].T) for k in self.widths]
            for k, value in zip(self.widths, found):
                see(sites, f"{prefix}conv.{k}", value)
            return torch.cat(found, 1)
        if self.kind in CELLS:
            return self.recurrent(x, sites, prefix)
        return x * 1.0

    def recurrent(self, x, sites, prefix):
        cell = self.cell[0]
        expected = cell(x)[0].detach()
        for layer in range(cell.num_layers):
            ends = ["", "_reverse"] if cell.bidirectional else [""]
            seen, outs = {}, []
            for end in ends:
                weights = [getattr(self, f"{part}_l{layer}{end}") for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
                outs.append(self.direction(x, weights, end != "", seen))
            for name, steps in seen.items():
                sites[f"{prefix}enc.{layer}.{name}"] = steps  # a list of [T] steps a direction
            x = torch.cat(outs, 1)
        assert torch.allclose(x.detach(), expected, atol=1e-10 if x.dtype == torch.float64 else 1e-5), "the steps are not PyTorch's"
        return x

    def direction(self, x, weights, reverse, seen):
        w_ih, w_hh, b_ih, b_hh = weights
        size = w_hh.shape[1]
        h, c = x.new_zeros(size), x.new_zeros(size)
        order = range(len(x) - 1, -1, -1) if reverse else range(len(x))
        steps = {}
        for t in order:
            given, own = w_ih @ x[t] + b_ih, w_hh @ h + b_hh
            if self.kind == "lstm":
                i, f, g, o = (given + own).chunk(4)
                i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
                parts = {"i": i, "f": f, "g": g, "o": o}
                parts = {name: keep(part) for name, part in parts.items()}
                c = keep(parts["f"] * c + parts["i"] * parts["g"])
                h = keep(parts["o"] * torch.tanh(c))
                parts |= {"cell": c, "hidden": h}
            elif self.kind == "gru":
                (r, z, n), (r_own, z_own, n_own) = given.chunk(3), own.chunk(3)
                r, z = keep(torch.sigmoid(r + r_own)), keep(torch.sigmoid(z + z_own))
                n = keep(torch.tanh(n + r * n_own))
                h = keep((1 - z) * n + z * h)
                parts = {"r": r, "z": z, "n": n, "hidden": h}
            else:
                h = keep(torch.tanh(given + own))
                parts = {"hidden": h}
            steps[t] = parts
        for name in steps[0]:
            seen.setdefault(name, []).append([steps[t][name] for t in range(len(x))])
        return torch.stack([steps[t]["hidden"] for t in range(len(x))])


class Attention(nn.Module):
    def __init__(self, config, m, asked):
        super().__init__()
        self.how = "max" if config["kind"] == "kim" else config["attention"]
        if self.how == "additive":
            a = config.get("attention_hidden", m if config["kind"] in ("flan", "han") else m // 2)
            self.hidden, self.score = nn.Linear(m, a), nn.Linear(a, 1, bias=False)
            self.query = nn.Linear(m, a) if asked else None
        elif self.how == "dot" and not asked:
            self.score = nn.Linear(m, 1, bias=False)

    def forward(self, words, ends, query, sites, prefix=""):
        if self.how == "none":
            return words.mean(0) if ends is None else ends
        if self.how == "max":
            return torch.relu(words.max(0).values)
        n, m = words.shape
        if self.how == "uniform":
            probs = words.new_full([n], 1 / n).requires_grad_()
        else:
            if self.how == "dot":
                scores = (words @ query if query is not None else self.score(words)[:, 0]) / m**0.5
            else:
                inner = self.hidden(words) + (0 if query is None else self.query(query))
                scores = self.score(torch.tanh(inner))[:, 0]
            probs = torch.softmax(see(sites, f"{prefix}attn.scores", scores), 0)
        return see(sites, f"{prefix}attn.probs", probs) @ words


class Small(nn.Module):
    def __init__(self, config, vocabulary):
        super().__init__()
        self.config, self.vocabulary = config, vocabulary
        self.asked = config.get("head", "text") != "text"
        self.embed = nn.Embedding(len(vocabulary), config["embedding"])
        self.encoder = States(config)
        self.query_encoder = States(config) if self.asked else None
        m, classes = self.encoder.width, len(config["labels"])
        self.attention = Attention(config, m, self.asked)
        if self.asked:
            inner = m // 2
            self.head = nn.ModuleDict(
                {"first": nn.Linear(m, inner), "second": nn.Linear(m, inner), "out": nn.Linear(inner, classes)}
            )
        else:
            self.head = nn.Linear(m, classes)

    def forward(self, fields):
        """Ids of each field, markers included, to logits [C] and everything seen on the way."""
        sites = {}
        ids = torch.tensor([i for field in fields for i in field])
        x = see(sites, "embed.word", self.embed(ids))
        parts = x.split([len(field) for field in fields])
        query = self.ask(parts[1], sites) if self.asked else None
        states = see(sites, "enc.out", self.encoder(parts[0], sites))
        pooled = self.attention(states[1:-1], self.ends(states), query, sites)
        pooled = see(sites, "pooled", pooled)
        if self.asked:
            logits = self.head["out"](torch.tanh(self.head["first"](pooled) + self.head["second"](query)))
        else:
            logits = self.head(pooled)
        if self.config.get("head") == "entity_qa":
            there = [self.vocabulary.index(label) in fields[0] for label in self.config["labels"]]
            logits = torch.where(torch.tensor(there), logits, torch.tensor(-1e9, dtype=logits.dtype))
        return see(sites, "logits", logits), sites

    def ask(self, x, sites):
        states = see(sites, "query.enc.out", self.query_encoder(x, sites, "query."))
        ends = self.ends(states)
        return see(sites, "query.pooled", states[1:-1].mean(0) if ends is None else ends)

    def ends(self, states):
        if self.encoder.kind not in CELLS:
            return None
        if self.config["directions"] == 1:
            return states[-1]
        half = self.config["hidden"]
        return torch.cat([states[-1, :half], states[0, half:]])


class Atae(nn.Module):
    """Wang and others 2016: the second field is the aspect, from a table of its own, beside every word."""

    asked = True

    def __init__(self, config, vocabulary):
        super().__init__()
        self.config, self.vocabulary = config, vocabulary
        d, m, classes = config["embedding"], config["hidden"], len(config["labels"])
        a = config.get("attention_hidden", m)
        self.embed, self.aspect = nn.Embedding(len(vocabulary), d), nn.Embedding(len(vocabulary), d)
        self.encoder = States(config | {"encoder": "lstm", "embedding": 2 * d})
        plain = lambda given, out: nn.Linear(given, out, bias=False)
        self.attention = nn.ModuleDict({"hidden": plain(m, a), "query": plain(d, d), "score": plain(a + d, 1)})
        self.head = nn.ModuleDict({"context": plain(m, m), "last": plain(m, m), "out": nn.Linear(m, classes)})

    def forward(self, fields):
        sites = {}
        text, asked = (torch.tensor(field) for field in fields)
        x = see(sites, "embed.word", torch.cat([self.embed(text), self.aspect(asked)]))
        aspect = see(sites, "aspect.pooled", x[len(text) + 1 : -1].mean(0))
        pairs = torch.stack([torch.cat([word, aspect]) for word in x[: len(text)]])
        states = see(sites, "enc.out", self.encoder(pairs, sites))
        inner = [torch.cat([self.attention["hidden"](h), self.attention["query"](aspect)]) for h in states[1:-1]]
        scores = self.attention["score"](torch.tanh(torch.stack(inner)))[:, 0]
        probs = see(sites, "attn.probs", torch.softmax(see(sites, "attn.scores", scores), 0))
        context = see(sites, "attn.context", probs @ states[1:-1])
        pooled = torch.tanh(self.head["context"](context) + self.head["last"](states[-1]))
        return see(sites, "logits", self.head["out"](see(sites, "pooled", pooled))), sites


class Han(nn.Module):
    """Serrano and Smith 2019: words are weighed to sentences, sentences to a text."""

    asked = False

    def __init__(self, config, vocabulary):
        super().__init__()
        self.config, self.vocabulary = config, vocabulary
        self.embed = nn.Embedding(len(vocabulary), config["embedding"])
        self.word = self.level(config)
        m = self.word["encoder"].width
        self.sentence = self.level(config | {"embedding": m})
        self.head = nn.Linear(m, len(config["labels"]))

    def level(self, config):
        states = States(config)
        return nn.ModuleDict({"encoder": states, "attention": Attention(config, states.width, False)})

    def forward(self, sentences):
        """Ids of each sentence, markers included. A site that each sentence has for itself is a tuple of theirs."""
        sites, lengths = {}, [len(sentence) for sentence in sentences]
        x = see(sites, "embed.word", self.embed(torch.tensor([i for sentence in sentences for i in sentence])))
        inner = [{} for _ in sentences]
        states = [self.word["encoder"](part, own, "word.") for part, own in zip(x.split(lengths), inner)]
        parts = see(sites, "word.enc.out", torch.cat(states)).split(lengths)
        weigh = lambda part, own: self.word["attention"](part[1:-1], None, None, own, "word.")
        vectors = see(sites, "word.pooled", torch.stack([weigh(part, own) for part, own in zip(parts, inner)]))
        for name in inner[0]:
            values = [own[name] for own in inner]
            steps = isinstance(values[0], list)
            sites[name] = [sum(steps, []) for steps in zip(*values)] if steps else tuple(values)
        states = see(sites, "sentence.enc.out", self.sentence["encoder"](vectors, sites, "sentence."))
        text = self.sentence["attention"](states, None, None, sites, "sentence.")
        return see(sites, "logits", self.head(see(sites, "sentence.pooled", text))), sites


class Seq2seq(nn.Module):
    """A GRU in both directions reads the source, another writes the target: Bahdanau et al. 2015, Luong et al. 2015."""

    asked = False

    def __init__(self, config, vocabulary, target):
        super().__init__()
        self.config, self.vocabulary, self.target = config, vocabulary, target
        d, h, how = config["embedding"], config["hidden"], config["attention"]
        a, luong = config.get("attention_hidden", h), how == "luong"
        self.embed = nn.Embedding(len(vocabulary), d)
        self.encoder = States(config | {"encoder": "gru"})
        parts = {"embed": nn.Embedding(len(target), d), "bridge": nn.Linear(2 * h, h), "rnn": nn.GRU(d if luong else d + 2 * h, h)}
        if how == "bahdanau":
            parts["attention"] = nn.ModuleDict({"hidden": nn.Linear(3 * h, a), "score": nn.Linear(a, 1, bias=False)})
        if luong:
            parts["attention"] = nn.ModuleDict({"hidden": nn.Linear(2 * h, h, bias=False), "context": nn.Linear(3 * h, h)})
        parts["out"] = nn.Linear(h if luong else 3 * h + d, len(target))
        self.decoder = nn.ModuleDict(parts)

    def forward(self, source, target, own=False):
        """Ids of the source with its markers, and of the target with its end; the logits at each of its places. With `own`
        the decoder reads the likeliest word that it wrote, not the target's."""
        sites = {}
        x = see(sites, "encoder.embed.word", self.embed(torch.tensor(source)))
        states = see(sites, "encoder.enc.out", self.encoder(x, sites, "encoder."))
        h = self.config["hidden"]
        ends = torch.cat([states[-1, :h], states[0, h:]])
        state = torch.tanh(self.decoder["bridge"](ends))
        read, logits, steps = [2], [], {}
        # One lookup for all places, so that the site is one value.
        told = see(sites, "decoder.embed.word", self.decoder["embed"](torch.tensor([2, *target[:-1]])))
        for t in range(len(target)):
            y = self.decoder["embed"](torch.tensor(read[-1])) if own else told[t]
            state, out = self.step(y, state, states[1:-1], ends, steps)
            logits.append(out)
            read.append(out.argmax().item() if own else target[t])
        sites |= {name: [values] for name, values in steps.items()}
        return see(sites, "logits", torch.stack(logits)), sites

    def step(self, y, state, words, ends, steps):
        keep_step = lambda name, value: steps.setdefault(name, []).append(keep(value)) or value
        if self.config["attention"] == "luong":
            state = self.cell(y, state, keep_step)
            context = self.context(state, words, ends, keep_step)
            mixed = torch.tanh(self.decoder["attention"]["context"](torch.cat([context, state])))
            return state, self.decoder["out"](mixed)
        context = self.context(state, words, ends, keep_step)
        state = self.cell(torch.cat([y, context]), state, keep_step)
        return state, self.decoder["out"](torch.cat([state, context, y]))

    def context(self, state, words, ends, keep_step):
        how = self.config["attention"]
        if how == "none":
            return keep_step("decoder.context", ends * 1.0)
        if how == "uniform":
            probs = words.new_full([len(words)], 1 / len(words)).requires_grad_()
        else:
            attention = self.decoder["attention"]
            if how == "bahdanau":
                both = torch.cat([state.expand(len(words), -1), words], 1)
                scores = attention["score"](torch.tanh(attention["hidden"](both)))[:, 0]
            else:
                scores = attention["hidden"](words) @ state
            probs = torch.softmax(keep_step("decoder.attn.scores", scores), 0)
        return keep_step("decoder.context", keep_step("decoder.attn.probs", probs) @ words)

    def cell(self, x, before, keep_step):
        rnn = self.decoder["rnn"]
        given = rnn.weight_ih_l0 @ x + rnn.bias_ih_l0
        own = rnn.weight_hh_l0 @ before + rnn.bias_hh_l0
        (r, z, n), (r_own, z_own, n_own) = given.chunk(3), own.chunk(3)
        r, z = keep_step("decoder.0.r", torch.sigmoid(r + r_own)), keep_step("decoder.0.z", torch.sigmoid(z + z_own))
        n = keep_step("decoder.0.n", torch.tanh(n + r * n_own))
        state = keep_step("decoder.0.hidden", (1 - z) * n + z * before)
        expected = rnn(x[None].detach(), before[None].detach())[0][0].detach()
        assert torch.allclose(state.detach(), expected, atol=1e-10), "the step is not PyTorch's"
        return state

    def greedy(self, source, most):
        """The likeliest words from the start on, until the end or so many of them."""
        logits = self(source, [0] * most, own=True)[0]
        words = logits.argmax(1).tolist()
        return words[: words.index(3) + 1] if 3 in words else words


def network(config, vocabulary, target=None):
    """The module of a config's kind."""
    if config["kind"] == "seq2seq":
        return Seq2seq(config, vocabulary, target)
    return {"atae": Atae, "han": Han}.get(config["kind"], Small)(config, vocabulary)


def see(sites, name, value):
    sites[name] = keep(value)
    return value


def keep(value):
    if value.requires_grad and not value.is_leaf:
        value.retain_grad()
    return value


def open_folder(folder):
    """A folder of exegete as the PyTorch module with the same weights, in double precision."""
    folder = Path(folder)
    config = json.loads((folder / "config.json").read_text())
    vocabulary = (folder / "vocab.txt").read_text().splitlines()
    target = folder / "vocab.target.txt"
    model = network(config, vocabulary, target.read_text().splitlines() if target.exists() else None).double()
    model.load_state_dict({name: value.double() for name, value in load_file(folder / "model.safetensors").items()})
    return model
