"""Expected values of training: what torch's optimisers make of three of the golden models, in `training.safetensors`.

    python golden/training.py                        needs golden/models, which make.py writes

Dropout is off, since no other program draws the same random numbers.
"""

import json
from pathlib import Path

import torch
import transformers

import corpus
from record import encode, load_model, load_tokenizer, write_tensors

FILE = Path(__file__).parent / "training.safetensors"
MODELS = Path(__file__).parent / "models"
# An ordinary one, one whose layers share their parameters, and one with other names and a relu in its head.
CASES = {"bert": "bert-sequence", "albert": "albert-sequence", "distilbert": "distilbert-sequence"}
# Their gradient is zero: a shift of all keys leaves the softmax over them as it is.
KEY_BIASES = (".key.bias", ".k_lin.bias")
# The inputs of the other golden values, then the shortest lines, so that all fit the models' 48 positions.
TEXTS = corpus.TEXTS + sorted(corpus.CORPUS, key=len)[:8]
BATCH = 4
ADAMW = dict(rate=1e-3, betas=[0.9, 0.999], eps=1e-8, decay=0.01)
SGD = dict(rate=0.05, momentum=0.9, decay=0.01)


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    tensors, metadata = {}, {module.__name__: module.__version__.split("+")[0] for module in (torch, transformers)}
    for case, name in CASES.items():
        values, settings = record_training(MODELS / name)
        tensors |= {f"{case}/{key}": value for key, value in values.items()}
        metadata[case] = json.dumps(settings, ensure_ascii=False)
    write_tensors(FILE, tensors, metadata)
    order_metadata(FILE, metadata)
    FILE.chmod(0o644)  # safetensors writes files that only their owner can read


def record_training(folder):
    """The values of one folder in float64, and the settings that led to them."""
    tokenizer = load_tokenizer(folder)
    model, _ = load_model(folder)
    classes, positions = model.config.num_labels, model.config.max_position_embeddings
    # AdamW turns a gradient near zero into a whole step either way; of the labels tried, these are least prone to it.
    rows = [encode(tokenizer, text) | {"label": (number + 2) % classes} for number, text in enumerate(TEXTS)]
    assert max(row["tokens"] for row in rows) <= positions, f"{folder.name}: a text is too long"
    batches = [rows[start : start + BATCH] for start in range(0, len(rows), BATCH)]
    skip = [name for name, _ in model.named_parameters() if name.endswith(KEY_BIASES)]

    # Half the first norm, rounded so that it reads well.
    _, norms, _ = train(folder, adamw, batches[:1])
    clip = round(norms[0].item() / 2, 3)
    values = run_all(folder, batches, clip)
    assert values["three/norms"][0] > clip, f"{folder.name}: nothing is clipped"
    check_in_float32(folder, batches, clip, values, skip)
    settings = {
        "folder": folder.name,
        "adamw": ADAMW | {"clip": clip},
        "sgd": SGD,
        "skip": skip,
        "batches": [[{"text": row["text"], "label": row["label"]} for row in batch] for batch in batches],
    }
    return values, settings


def run_all(folder, batches, clip, **ways):
    """One step of AdamW on the first batch, three with clipping, and three of SGD on the same batches."""
    values = {}
    losses, _, model = train(folder, adamw, batches[:1], **ways)
    values["one/loss"] = losses
    values |= {f"one/gradient/{name}": parameter.grad for name, parameter in model.named_parameters()}
    values |= {f"one/after/{name}": parameter for name, parameter in model.named_parameters()}
    values["three/losses"], values["three/norms"], model = train(folder, adamw, batches, clip, **ways)
    values |= {f"three/after/{name}": parameter for name, parameter in model.named_parameters()}
    values["sgd/losses"], _, model = train(folder, sgd, batches, **ways)
    values |= {f"sgd/after/{name}": parameter for name, parameter in model.named_parameters()}
    return {name: value.detach() for name, value in values.items()}


def train(folder, make_optimiser, batches, clip=float("inf"), loss_of=None, dtype=torch.float64):
    """One step per batch from the stored weights; losses and norms are those before the step and its clipping.

    The gradients of the last step stay in the model, clipped where `clip` asks for it.
    """
    model, _ = load_model(folder)
    model.to(dtype)
    optimiser = make_optimiser(model)
    losses, norms = [], []
    for batch in batches:
        optimiser.zero_grad()
        loss = (loss_of or loss_by_text)(model, batch)
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), clip))
        optimiser.step()
        losses.append(loss.detach())
    return torch.stack(losses), torch.stack(norms), model


def adamw(model):
    rate, betas, eps = ADAMW["rate"], tuple(ADAMW["betas"]), ADAMW["eps"]
    return torch.optim.AdamW(groups(model, ADAMW["decay"]), lr=rate, betas=betas, eps=eps)


def sgd(model):
    return torch.optim.SGD(groups(model, SGD["decay"]), lr=SGD["rate"], momentum=SGD["momentum"])


def groups(model, decay):
    """Biases and norms are not pulled towards zero."""
    matrices = [parameter for parameter in model.parameters() if parameter.dim() >= 2]
    vectors = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    return [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]


def loss_by_text(model, batch):
    """The mean cross-entropy, one text at a time, so that nothing is padded."""
    losses = []
    for row in batch:
        logits = model(**inputs(model, [row])).logits
        losses.append(torch.nn.functional.cross_entropy(logits, torch.tensor([row["label"]])))
    return sum(losses) / len(losses)


def loss_of_padded(model, batch):
    """The same as most programs compute it: one padded batch, and the model's own loss."""
    labels = torch.tensor([row["label"] for row in batch])
    return model(**inputs(model, batch), labels=labels).loss


def inputs(model, batch):
    longest = max(row["tokens"] for row in batch)
    tensors = {
        "input_ids": [row["ids"] + [model.config.pad_token_id] * (longest - row["tokens"]) for row in batch],
        "attention_mask": [[1] * row["tokens"] + [0] * (longest - row["tokens"]) for row in batch],
    }
    if model.config.model_type != "distilbert":
        tensors["token_type_ids"] = [row["types"] + [0] * (longest - row["tokens"]) for row in batch]
    return {name: torch.tensor(value) for name, value in tensors.items()}


def check_in_float32(folder, batches, clip, values, skip):
    """Single precision, padding and the model's own loss must lead to the same values.

    AdamW divides a gradient by its own size, so of a gradient that is zero but for rounding it makes a whole step in
    a random direction; the parameters in `skip` are of that kind, and no output depends on them.
    """
    worst = {}
    single = run_all(folder, batches, clip, loss_of=loss_of_padded, dtype=torch.float32)
    for key, value in values.items():
        run, what, *name = key.split("/")
        if run != "sgd" and what == "after" and name[0] in skip:
            continue
        difference = ((single[key] - value).abs() / value.abs().clamp(min=1)).max().item()
        worst[f"{run}/{what}"] = max(worst.get(f"{run}/{what}", 0), difference)
    print(folder.name, *(f"{part} {difference:.0e}" for part, difference in worst.items()), sep="  ", flush=True)
    assert max(worst.values()) < 2e-6, f"{folder.name}: float32 gives other values"


def order_metadata(file, metadata):
    """The library writes the entries in another order on every run; the same values must be the same bytes."""
    content = file.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end]) | {"__metadata__": metadata}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(len(text).to_bytes(8, "little") + text + content[end:])


if __name__ == "__main__":
    main()
