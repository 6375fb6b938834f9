"""Expected values of optimisers: three steps of torch's own on a few numbers, in `optimisers.json`.

    python golden/optimisers.py

Gradients are given, not computed, so that only the rule of a step is compared. In float64.
"""

import json
from pathlib import Path

import torch

FILE = Path(__file__).parent / "optimisers.json"
START = [1.0, -0.5, 0.25, 1.0]
# The second moments of the first number and, with decay, of the last fall again, which only AMSGrad minds; the third
# has no gradient but its decay.
GRADIENTS = [[1.0, 0.3, 0.0, 1.0], [0.0, -0.2, 0.0, -0.09], [-0.02, 0.1, 0.0, -0.08]]
RATE = 0.1
CASES = [
    dict(optimiser="sgd", momentum=0.9, decay=0.1),
    dict(optimiser="adamw", decay=0.0),
    dict(optimiser="adamw", decay=0.1),
    dict(optimiser="adam", decay=0.0),
    dict(optimiser="adam", decay=0.1),
    dict(optimiser="adam", amsgrad=True, decay=0.0),
    dict(optimiser="adam", amsgrad=True, decay=0.1),
]
RULES = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW, "adam": torch.optim.Adam}


def main():
    cases = [case | {"after": three_steps(**case)} for case in CASES]
    content = {"torch": torch.__version__.split("+")[0], "rate": RATE, "start": START, "gradients": GRADIENTS}
    FILE.write_text(json.dumps(content | {"cases": cases}, indent=1) + "\n")


def three_steps(optimiser, decay, **constants):
    """The parameters after each step."""
    values = torch.nn.Parameter(torch.tensor(START, dtype=torch.float64))
    rule = RULES[optimiser]([values], lr=RATE, weight_decay=decay, **constants)
    after = []
    for gradient in GRADIENTS:
        values.grad = torch.tensor(gradient, dtype=torch.float64)
        rule.step()
        after.append(values.detach().tolist())
    return after


if __name__ == "__main__":
    main()
