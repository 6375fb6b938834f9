"""Expected attributions of small feed-forward nets under rules other than the gradient, for `attribution.py`.

a is what enters a linear layer, W and b its weights, z = a W^T + b; x' a baseline. Everything is computed here from its
formula and compared with Captum.
"""

import torch
from captum import attr
from captum.attr._utils import lrp_rules
from torch import nn

# name: (widths, activations between, whether there are biases)
NETS = {
    "relu": ((4, 6, 5, 3), nn.ReLU, True),
    "smooth": ((4, 6, 5, 3), nn.Tanh, True),
    "unbiased": ((3, 5, 2), nn.ReLU, False),
}
TARGET = 1
EPSILONS, GAMMA, TINY = (1e-9, 0.25), 0.25, 1e-9

NOTES = {
    "nets": "y = act(x W^T + b) layer by layer; weights are [out, in] as torch stores them; 'smooth' has a tanh, then "
    "a sigmoid. Rows of inputs, baselines and results go together; deep_lift_shap takes all baselines for all rows.",
    "deep_lift": "The rescale rule: the multiplier of an activation is delta y / delta x, or dy/dx where |delta x| < "
    "1e-10 (Captum's bound). Captum refuses a net that calls one activation module twice, takes functional calls "
    "(torch.relu, attention) for linear without a word, and its softmax rule depends on the size of the batch and does "
    "not sum to the difference.",
    "lrp": "R_i = sum_j a_i W'_ji / (z'_j + eps sign z'_j) R_j with z' = a W'^T + b', R at the output = F. epsilon: W' "
    "= W, b' = b. gamma: W' = W + gamma W+, b' = b. alpha1_beta0: W' = W+, b' = b. bias 'zeroed': b' = 0. Captum "
    "leaves b as it is under gamma and alpha1_beta0, keeps W+ where an input is negative (so it is z+ only for a >= 0) "
    "and adds eps = 1e-9 to all; the inputs of the cases of gamma and alpha1_beta0 are not negative. Every convention "
    "about biases agrees on 'unbiased'. Captum is wrong without a word where one activation module is called twice.",
    "guided_backprop, deconvolution": "At a relu the gradient passes where it is positive, for guided_backprop only "
    "where the input of the relu is positive too.",
}


def record():
    """Entries for the JSON and the tensors they name."""
    entries, tensors = [], {}
    for number, (name, (widths, activation, biased)) in enumerate(NETS.items()):
        net = make(widths, activation, biased, seed=number)
        generator = torch.Generator().manual_seed(100 + number)
        draw = lambda rows: torch.randn([rows, widths[0]], generator=generator).float().double()
        given = {"signed": draw(3), "positive": draw(3).abs(), "baselines": draw(3)}
        given["baselines"][2, 0] = given["signed"][2, 0]  # one input that does not differ
        book = Book(f"net/{name}", given)
        record_deep_lift(book, net, given)
        if activation is nn.ReLU:
            record_modified_gradients(book, net, given)
            record_lrp(book, net, given)
        entries.append({"name": name, "layers": describe(net, book), "cases": book.cases})
        tensors |= book.tensors
    return entries, tensors


class Book:
    def __init__(self, name, given):
        self.name, self.cases = name, []
        self.tensors = {f"{name}/{part}": value for part, value in given.items()}

    def add(self, method, value, variant, inputs, params=None, baselines=None):
        key = f"{self.name}/{method}/{variant}"
        assert key not in self.tensors and torch.isfinite(value).all(), key
        self.tensors[key] = value
        about = {"name": key, "method": method, "params": params or {}, "target": TARGET, "key": key}
        about["inputs"] = f"{self.name}/{inputs}"
        about["baselines"] = f"{self.name}/{baselines}" if baselines else None
        self.cases.append(about)


def make(widths, activation, biased, seed):
    torch.manual_seed(seed)
    layers = []
    for place, (width, next_width) in enumerate(zip(widths, widths[1:])):
        linear = nn.Linear(width, next_width, bias=biased)
        linear.weight.data = (1.2 * torch.randn(next_width, width) / width**0.5).float().double()
        if biased:
            linear.bias.data = (0.3 * torch.randn(next_width)).float().double()
        layers.append(linear)
        if place < len(widths) - 2:
            # Every activation is a module of its own, which Captum needs.
            layers.append(nn.Sigmoid() if activation is nn.Tanh and place else activation())
    return nn.Sequential(*layers).eval().requires_grad_(False)


def describe(net, book):
    layers = []
    for module in net:
        if isinstance(module, nn.Linear):
            key = f"{book.name}/layer.{len(layers)}"
            book.tensors[f"{key}.weight"] = module.weight
            if module.bias is not None:
                book.tensors[f"{key}.bias"] = module.bias
            bias = None if module.bias is None else f"{key}.bias"
            layers.append({"weight": f"{key}.weight", "bias": bias, "activation": None})
        else:
            layers[-1]["activation"] = type(module).__name__.lower()
    return layers


def record_deep_lift(book, net, given):
    x, baselines = given["signed"], given["baselines"]
    value = rescale(net, x, baselines)
    difference = net(x)[:, TARGET] - net(baselines)[:, TARGET]
    agree(value.sum(1), difference)
    agree(value, attr.DeepLift(net).attribute(x.clone(), baselines, target=TARGET))
    book.add("deep_lift", value, "rescale", "signed", {"rule": "rescale"}, "baselines")
    every = torch.stack([rescale(net, x, row.expand_as(x)) for row in baselines]).mean(0)
    agree(every, attr.DeepLiftShap(net).attribute(x.clone(), baselines, target=TARGET))
    book.add("deep_lift_shap", every, "rescale", "signed", {"rule": "rescale"}, "baselines")


def rescale(net, x, start):
    """(x - x') times the multipliers, which a linear layer passes as its transpose and an activation as a slope."""
    pairs, one, other = [], x, start
    for module in net:
        pairs.append((module, one, other))
        one, other = module(one), module(other)
    multiplier = one_hot(one)
    for module, one, other in reversed(pairs):
        if isinstance(module, nn.Linear):
            multiplier = multiplier @ module.weight
        else:
            moved = one - other
            slope = torch.where(moved.abs() < 1e-10, derivative(module, one), (module(one) - module(other)) / moved)
            multiplier = multiplier * slope
    return multiplier * (x - start)


def one_hot(outputs):
    hot = torch.zeros_like(outputs)
    hot[:, TARGET] = 1
    return hot


def derivative(module, x):
    x = x.detach().requires_grad_()
    return torch.autograd.grad(module(x).sum(), x)[0]


def record_modified_gradients(book, net, given):
    x = given["signed"]
    for method, theirs, masked in (
        ("guided_backprop", attr.GuidedBackprop, True),
        ("deconvolution", attr.Deconvolution, False),
    ):
        value = modified_gradient(net, x, masked)
        agree(value, theirs(net).attribute(x.clone(), target=TARGET))
        book.add(method, value, "signed", "signed")


def modified_gradient(net, x, masked):
    inputs = []
    for module in net:
        inputs.append(x)
        x = module(x)
    gradient = one_hot(x)
    for module, x in zip(reversed(net), reversed(inputs)):
        if isinstance(module, nn.Linear):
            gradient = gradient @ module.weight
        else:
            gradient = gradient.clamp(min=0) * ((x > 0) if masked else 1)
    return gradient


def record_lrp(book, net, given):
    for epsilon in EPSILONS:
        for inputs in ("signed", "positive"):
            params = {"rule": "epsilon", "epsilon": epsilon}
            rule = lambda epsilon=epsilon: lrp_rules.EpsilonRule(epsilon)
            record_rule(book, net, given, inputs, f"epsilon_{epsilon:g}/{inputs}", params, rule, 0.0, False)
    for zeroed in (False, True):
        bias = "zeroed" if zeroed else "kept"
        params = {"rule": "gamma", "gamma": GAMMA, "epsilon": TINY, "bias": bias}
        rule = lambda zeroed=zeroed: lrp_rules.GammaRule(GAMMA, set_bias_to_zero=zeroed)
        record_rule(book, net, given, "positive", f"gamma/{bias}", params, rule, GAMMA, zeroed)
        params = {"rule": "alpha1_beta0", "epsilon": TINY, "bias": bias}
        rule = lambda zeroed=zeroed: lrp_rules.Alpha1_Beta0_Rule(set_bias_to_zero=zeroed)
        record_rule(book, net, given, "positive", f"alpha1_beta0/{bias}", params, rule, float("inf"), zeroed)


def record_rule(book, net, given, inputs, variant, params, rule, gamma, zeroed):
    x = given[inputs]
    value = relevance(net, x, params["epsilon"], gamma, zeroed)
    for module in net:
        if isinstance(module, nn.Linear):
            module.rule = rule()
    agree(value, attr.LRP(net).attribute(x.clone(), target=TARGET))
    book.add("lrp", value, variant, inputs, params)


def relevance(net, x, epsilon, gamma, zeroed):
    """The formula in NOTES; an infinite gamma keeps the positive weights alone."""
    inputs = []
    for module in net:
        inputs.append(x)
        x = module(x)
    share = one_hot(x) * x
    for module, a in zip(reversed(net), reversed(inputs)):
        if isinstance(module, nn.Linear):
            positive = module.weight.clamp(min=0)
            weight = positive if gamma == float("inf") else module.weight + gamma * positive
            z = a @ weight.T + (0 if zeroed or module.bias is None else module.bias)
            z = z + epsilon * torch.where(z < 0, -1.0, 1.0)
            share = a * ((share / z) @ weight)
    return share


def agree(one, other):
    torch.testing.assert_close(one.detach(), other.detach(), rtol=1e-9, atol=1e-9)
