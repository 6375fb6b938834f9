"""Writes lime.json: what the lime package makes of given masks of closed-form functions, and how it splits texts.

    pip install lime==0.2.0.1 scikit-learn==1.9.1 numpy
    python golden/lime_fits.py       # not lime.py, which would hide the package

A function is link(bias + sum of singles of present words + sum of pairs whose two words are present). Masks are strings
with 1 for a present word, one row each, the whole text first. The weights of samples and the fits are the package's own.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
from lime.lime_base import LimeBase
from lime.lime_text import IndexedString, LimeTextExplainer
from sklearn.metrics import pairwise_distances

CHOICES = ["none", "forward_selection", "highest_weights", "lasso_path", "auto"]
TEXTS = [
    "Please, take your time. Please",
    "It isn't good_enough; it ISN'T!",
    "  Zoë's 2nd café\tcost 10€ – twice 10.",
    "...",
    "",
]


def function(rng, words, link):
    pairs = [sorted(rng.choice(words, 2, replace=False)) for _ in range(words // 2)]
    return {
        "link": link,
        "bias": round(rng.normal(), 3),
        "singles": [round(x, 3) for x in rng.normal(size=words)],
        "pairs": [[int(i), int(j), round(rng.normal(), 3)] for i, j in pairs],
    }


def value(f, mask):
    total = f["bias"] + mask @ np.array(f["singles"])
    for i, j, c in f["pairs"]:
        total = total + c * mask[:, i] * mask[:, j]
    return {"identity": total, "sigmoid": 1 / (1 + np.exp(-total))}[f["link"]]


def masks(rng, words, rows):
    data = np.ones((rows, words))
    for row in data[1:]:
        row[rng.choice(words, rng.integers(1, words + 1), replace=False)] = 0
    return data


def fits(f, data, keeps):
    explainer = LimeTextExplainer()
    base = LimeBase(explainer.base.kernel_fn)
    distances = pairwise_distances(data, data[:1], metric="cosine").ravel() * 100
    labels = value(f, data)[:, None]
    for choice in CHOICES:
        for keep in keeps:
            intercept, weights, score, local = base.explain_instance_with_data(
                data, labels, distances, 0, keep, feature_selection=choice
            )
            yield {
                "choose": choice,
                "keep": keep,
                "weights": sorted([int(i), float(w)] for i, w in weights),
                "intercept": float(intercept),
                "score": float(score),
                "local_prediction": float(local[0]),
            }


def case(seed, words, rows, link, keeps):
    rng = np.random.default_rng(seed)
    f, data = function(rng, words, link), masks(rng, words, rows)
    return record(f, data, list(fits(f, data, keeps)))


def record(f, data, found):
    return {"function": f, "masks": ["".join("01"[int(v)] for v in row) for row in data], "fits": found}


def through_texts():
    """The package from end to end; the masks are read off the texts that it asks about."""
    text = "not a single good word in a long and good film"
    words = IndexedString(text).inverse_vocab
    f, asked = function(np.random.default_rng(5), len(words), "sigmoid"), []

    def classifier(texts):
        data = np.array([[float(word in text.split()) for word in words] for text in texts])
        asked.append(data)
        probability = value(f, data)
        return np.stack([1 - probability, probability], 1)

    explanation = LimeTextExplainer(random_state=7).explain_instance(text, classifier, num_features=6, num_samples=150)
    found = {
        "choose": "auto",
        "keep": 6,
        "weights": sorted([int(i), float(w)] for i, w in explanation.local_exp[1]),
        "intercept": float(explanation.intercept[1]),
        "score": float(explanation.score),
        "local_prediction": float(explanation.local_pred[0]),
    }
    return record(f, asked[0], [found])


def main():
    cases = [
        case(1, 8, 120, "identity", [2, 5]),
        case(2, 8, 60, "sigmoid", [3, 6, 8]),
        case(3, 20, 300, "sigmoid", [4, 10, 25]),
        case(4, 20, 40, "identity", [5, 12]),
        through_texts(),
    ]
    split = [{"text": text, "words": IndexedString(text).inverse_vocab} for text in TEXTS]
    split = [{**one, "words": [str(word) for word in one["words"]]} for one in split]
    versions = {name: version(name) for name in ("lime", "scikit-learn", "numpy")}
    book = {"versions": versions, "cases": cases, "texts": split}
    text = json.dumps(book, ensure_ascii=False).replace("}, {", "},\n{")
    Path(__file__).with_name("lime.json").write_text(text + "\n")


main()
