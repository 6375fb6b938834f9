"""Shapley and Owen values of closed-form games, by shap: rewrites golden/games.json.

    pip install shap==0.51.0
    python golden/games.py

A game is a polynomial in who is there (1) and who is hidden (0), through a sigmoid or not. Kernel SHAP runs over all sets
without regularisation, partition SHAP over the linkage given, with several numbers of evaluations. shap's permutations
are its own; where only pairs of players act together, any permutation run forward and backward is exact.
"""

import json
from pathlib import Path

import numpy
import shap

OUT = Path(__file__).parent / "games.json"


def polynomial(random, players, order, count):
    """Each player alone, and some sets of up to `order`."""
    terms = [([i], random.normal()) for i in range(players)]
    for _ in range(count):
        size = random.integers(2, order + 1)
        chosen = sorted(int(i) for i in random.choice(players, size, replace=False))
        terms.append((chosen, random.normal()))
    return [(chosen, round(float(coefficient), 6)) for chosen, coefficient in terms]


def function(terms, sigmoid):
    def value(there):
        there = numpy.asarray(there, dtype=float)
        total = sum(coefficient * there[:, chosen].prod(axis=1) for chosen, coefficient in terms)
        return 1 / (1 + numpy.exp(-total)) if sigmoid else total

    return value


def linkage(random, players):
    """Random pairs of groups until one is left."""
    groups, sizes, rows = list(range(players)), [1] * players, []
    while len(groups) > 1:
        at = int(random.integers(len(groups) - 1))
        left, right = groups[at], groups.pop(at + 1)
        groups[at] = len(sizes)
        sizes.append(sizes[left] + sizes[right])
        rows.append([left, right, len(rows) + 1.0, sizes[-1]])
    return numpy.array(rows, dtype=float)


def record(name, seed, players, order, count, sigmoid):
    random = numpy.random.default_rng(seed)
    terms = polynomial(random, players, order, count)
    value = function(terms, sigmoid)
    none, all_ = numpy.zeros((1, players)), numpy.ones((1, players))
    tree = linkage(random, players)
    game = {"name": name, "players": players, "sigmoid": sigmoid, "terms": terms}
    game["tree"] = [[int(left), int(right)] for left, right, *_ in tree]
    if players <= 12:
        game["exact"] = shap.explainers.ExactExplainer(value, none)(all_).values[0].tolist()
        kernel = shap.KernelExplainer(value, none)
        game["kernel"] = kernel.shap_values(all_, nsamples=2**players, l1_reg=False, silent=True)[0].tolist()
    if order == 2 and not sigmoid:
        explainer = shap.explainers.PermutationExplainer(value, none, seed=seed)
        game["permutation"] = explainer(all_, max_evals=10 * (2 * players + 1)).values[0].tolist()
    game["partition"] = []
    for evaluations in [2, 3, 9, 24, 60, 100_000]:
        # A new masker each time: shap keeps values of the last run.
        masker = shap.maskers.Partition(none, clustering=tree)
        explainer = shap.explainers.PartitionExplainer(value, masker)
        values = explainer(all_, max_evals=evaluations, silent=True).values[0].tolist()
        game["partition"].append({"evaluations": evaluations, "values": values})
    return game


def main():
    games = [
        record("curved", 1, 6, 3, 8, True),
        record("steep", 2, 9, 4, 25, True),
        record("pairs", 3, 10, 2, 20, False),
        record("long", 4, 24, 3, 40, True),
    ]
    OUT.write_text(json.dumps({"shap": shap.__version__, "games": games}) + "\n")


if __name__ == "__main__":
    main()
