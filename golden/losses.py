"""Expected losses of labelled rows and slopes of their sum, one kind of label a case: `losses.json`, `losses.safetensors`.

    python golden/losses.py                          needs golden/models, which make.py writes

Each row is a batch of its own, so that a mean over a batch is a mean over the row.
"""

import json
from pathlib import Path

import torch
import transformers

from record import load_model, write_json, write_tensors

HERE = Path(__file__).parent
LAYER = "bert.encoder.layer.0.attention.self.query.weight"
# Of each case one parameter in the head and one below everything else.
CASES = {
    "bert-sequence": ["classifier.weight", LAYER],
    "bert-token": ["classifier.weight", LAYER],
    "bert-mlm": ["cls.predictions.transform.dense.weight", LAYER],
    "bert-qa": ["qa_outputs.weight", LAYER],
}
# What torch takes for "no label".
IGNORED = -100


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    cases, tensors = [], {}
    for name, parameters in CASES.items():
        case, gradients = record_losses(name, parameters)
        cases.append(case)
        tensors |= {f"{name}/{parameter}": gradient for parameter, gradient in gradients.items()}
    versions = {module.__name__: module.__version__.split("+")[0] for module in (torch, transformers)}
    write_tensors(HERE / "losses.safetensors", tensors)
    (HERE / "losses.safetensors").chmod(0o644)  # safetensors writes files that only their owner can read
    write_json(HERE / "losses.json", {"versions": versions, "cases": cases})


def record_losses(name, parameters):
    """The loss of every input under its label, and the gradient of their sum."""
    folder = HERE / "models" / name
    model, head = load_model(folder)
    rows = json.loads((folder / "golden.json").read_text())["inputs"]
    labels = [label_of(head, model.config, number, row) for number, row in enumerate(rows)]
    losses = [loss_of(model, row, label) for row, label in zip(rows, labels)]
    wanted = dict(model.named_parameters())
    gradients = torch.autograd.grad(sum(losses), [wanted[parameter] for parameter in parameters])
    case = {"folder": name, "labels": labels, "losses": [loss.item() for loss in losses], "parameters": parameters}
    return case, dict(zip(parameters, gradients))


def label_of(head, config, number, row):
    """A label that differs from row to row; of tokens, one in three has none."""
    tokens = row["tokens"]
    if head == "sequence":
        return {"class": number % config.num_labels}
    if head == "qa":
        return {"span": [1 + number, tokens - 2 - number % 2]}
    kinds = config.num_labels if head == "token" else config.vocab_size
    return {"tokens": [(7 * place + number) % kinds if place % 3 else None for place in range(tokens)]}


def loss_of(model, row, label):
    """The model's own loss."""
    inputs = {"input_ids": torch.tensor([row["ids"]]), "token_type_ids": torch.tensor([row["types"]])}
    match label:
        case {"class": index}:
            inputs["labels"] = torch.tensor([index])
        case {"span": [first, last]}:
            inputs |= {"start_positions": torch.tensor([first]), "end_positions": torch.tensor([last])}
        case {"tokens": classes}:
            inputs["labels"] = torch.tensor([[IGNORED if index is None else index for index in classes]])
    return model(**inputs).loss


if __name__ == "__main__":
    main()
