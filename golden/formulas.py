"""Attributions by their formulas, for `attribution.py`.

Shape letters: S rows, T tokens, E embedding, H hidden, N heads, L layers. x are the word vectors, x' a baseline, F the
target, y what a site holds.
"""

import json

import numpy
import torch
from torch.autograd import forward_ad

from sites import WORD, find


def gradient(subject, words, sites=(WORD,), replace=None):
    """dF/dy for every row and site, [S, T, ..]."""
    words = words.detach().requires_grad_()
    score, seen = subject.run(words, keep=sites, replace=replace)
    return torch.autograd.grad(score.sum(), [seen[site] for site in sites])


def nodes(rule, steps):
    """Nodes in [0, 1] and weights that sum to 1."""
    even = torch.arange(steps, dtype=torch.float64)
    weights = torch.full([steps], 1 / steps)
    if rule == "gauss_legendre":
        places, weights = (torch.tensor(part) for part in numpy.polynomial.legendre.leggauss(steps))
        return (1 + places) / 2, weights / 2
    if rule == "trapezoid":
        weights = torch.full([steps], 1 / (steps - 1))
        weights[[0, -1]] /= 2
        return even / (steps - 1), weights
    return (even + {"left": 0, "middle": 0.5, "right": 1}[rule]) / steps, weights


def path(start, end, alphas):
    return start + alphas[:, None, None] * (end - start)  # [S, T, ..]


def average(weights, values):
    return torch.einsum("s,s...->...", weights, values)


def baseline(subject, name):
    """[T, E]; `mean` is at every token, as zero is, the others keep the special tokens."""
    if name == "zero":
        return torch.zeros_like(subject.words)
    if name == "mean":
        return subject.model.get_input_embeddings().weight.mean(0).expand_as(subject.words)
    settings = json.loads((subject.path / "tokenizer_config.json").read_text())
    other = subject.tokenizer.token_to_id(settings[f"{name}_token"])
    ids = [id if special else other for id, special in zip(subject.row["ids"], subject.row["special"])]
    return subject.look_up(ids)


def integrated_gradients(subject, start, rule, steps):
    alphas, weights = nodes(rule, steps)
    (gradients,) = gradient(subject, path(start, subject.words, alphas))
    return (subject.words - start) * average(weights, gradients)


def exact_integrated_gradients(subject, start):
    """Gauss-Legendre on halves of halves until halving changes nothing and every part is complete.

    Nodes may all lie on one side of a kink, so that halving alone would not notice it.
    """
    alphas, weights = nodes("gauss_legendre", 16)

    def integral(low, high):
        (gradients,) = gradient(subject, path(start, subject.words, low + (high - low) * alphas))
        return (subject.words - start) * (high - low) * average(weights, gradients)

    def refined(low, high, whole):
        middle = (low + high) / 2
        left, right = integral(low, middle), integral(middle, high)
        both = left + right
        with torch.no_grad():
            first, last = subject(path(start, subject.words, torch.tensor([low, high])))
        gap = (last - first - both.sum()).abs()
        if max(gap, (both - whole).abs().max()) < 1e-12 or high - low < 1e-11:
            return both
        return refined(low, middle, left) + refined(middle, high, right)

    return refined(0.0, 1.0, integral(0.0, 1.0))


def layer_integrated_gradients(subject, site, start, rule, steps):
    """The path is straight in the space of the site; what passes the site by stays that of the text."""
    alphas, weights = nodes(rule, steps)
    lower, upper = layer_ends(subject, site, start)
    points = path(lower, upper, alphas).requires_grad_()
    words = subject.words.expand(steps, -1, -1)
    score, _ = subject.run(words, replace={site: points})
    (gradients,) = torch.autograd.grad(score.sum(), points)
    return (upper - lower) * average(weights, gradients)


def layer_ends(subject, site, start):
    with torch.no_grad():
        _, seen = subject.run(torch.stack([start, subject.words]), keep=[site])
    return seen[site]


def conductance(subject, site, start, rule, steps):
    """The integral of dF/dy * dy/dalpha along the path of the inputs; the tangent of y is differentiated forward."""
    alphas, weights = nodes(rule, steps)
    points = path(start, subject.words, alphas)
    (slopes,) = gradient(subject, points, [site])
    with forward_ad.dual_level():
        moving = forward_ad.make_dual(points, (subject.words - start).expand_as(points))
        _, seen = subject.run(moving, keep=[site])
        tangents = forward_ad.unpack_dual(seen[site]).tangent
    return average(weights, slopes * tangents)


def conductance_by_differences(subject, site, start, steps):
    alphas, _ = nodes("gauss_legendre", steps + 1)
    points = path(start, subject.words, alphas)
    (slopes,) = gradient(subject, points, [site])
    with torch.no_grad():
        _, seen = subject.run(points, keep=[site])
    return ((seen[site][1:] - seen[site][:-1]) * slopes[:-1]).sum(0)


def neuron_conductance(subject, unit, start, rule, steps):
    """(x - x') times the integral of dF/dy * dy/dx for one number y inside the model."""
    alphas, weights = nodes(rule, steps)
    site, position, index = unit
    points = path(start, subject.words, alphas).requires_grad_()
    score, seen = subject.run(points, keep=[site])
    value = seen[site][:, position, index]
    (slopes,) = torch.autograd.grad(score.sum(), seen[site], retain_graph=True)
    (reach,) = torch.autograd.grad(value.sum(), points)
    return (subject.words - start) * average(weights * slopes[:, position, index], reach)


def attention_norms(subject, weights, values):
    """|sum_h a_h f_h(x_j)| for every query and key, [L, T, T], and |a_h f_h(x_j)|, [L, N, T, T].

    f(x) = (x W_V + b_V) W_O; `weights` are a, [L, N, T, T], `values` x W_V + b_V of every layer, [T, H].
    """
    norms, heads = [], []
    for number, (layer, value) in enumerate(zip(weights, values)):
        site = f"layer.{number}.attn.out"
        projection, _, _ = find(subject.model, site)
        parts = value.unflatten(-1, (len(layer), -1)).transpose(0, 1)  # [N, T, D]
        mapped = parts @ projection.weight.T.unflatten(0, (len(layer), -1))  # [N, T, H]
        moved = layer[..., None] * mapped[:, None]  # [N, T, T, H]
        _, seen = subject.run(subject.words[None], keep=[site])
        agree(moved.sum((0, 2)) + projection.bias, seen[site][0])
        norms.append(moved.sum(0).norm(dim=-1))
        heads.append(moved.norm(dim=-1))
    return torch.stack(norms), torch.stack(heads)


def agree(one, other, tolerance=1e-7):
    """Captum rounds the weights of integrated gradients to float32, whatever the model's type."""
    torch.testing.assert_close(one.detach(), other.detach(), rtol=tolerance, atol=tolerance)
