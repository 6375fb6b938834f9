"""Expected values of one Hugging Face folder, from transformers in float64: `golden.json` and `golden.safetensors`.

Shape letters: T tokens, H hidden, E embedding, N heads, L layers, V vocabulary, C classes.
"""

import json
from pathlib import Path

import tokenizers
import torch
import transformers
from safetensors.torch import save_file
from tokenizers import Tokenizer

# What the name of an architecture ends with; "bare" last, since it is the shortest.
SUFFIXES = {
    "sequence": "ForSequenceClassification",
    "token": "ForTokenClassification",
    "qa": "ForQuestionAnswering",
    "mlm": "ForMaskedLM",
    "bare": "Model",
}


def record(folder, out, inputs, detailed):
    """Writes the golden files of `folder` into `out`.

    `detailed` holds the numbers of the inputs for which everything is stored and not only the outputs, since the
    attention of long inputs is most of the size. Returns what `golden.json` holds.
    """
    model, head = load_model(folder)
    tokenizer = load_tokenizer(folder)
    rows, tensors = [], {}
    for number, fields in enumerate(inputs):
        row = encode(tokenizer, fields)
        row["target"], values = trace(model, head, row)
        rows.append(row)
        outputs = ["logits", "pooled"] + ([f"hidden.{model.config.num_hidden_layers}"] if head == "bare" else [])
        kept = values if number in detailed else {name: values[name] for name in outputs if name in values}
        tensors.update({f"{number}.{name}": value for name, value in kept.items()})
    golden = {
        "versions": {module.__name__: module.__version__.split("+")[0] for module in (torch, transformers, tokenizers)},
        "architecture": type(model).__name__,
        "head": head,
        "inputs": rows,
    }
    write_tensors(Path(out) / "golden.safetensors", tensors)
    write_json(Path(out) / "golden.json", golden)
    return golden


def load_model(folder):
    """The model in float64 with every weight as stored, and the kind of its head."""
    architecture = (transformers.AutoConfig.from_pretrained(folder).architectures or ["AutoModel"])[0]
    loader = getattr(transformers, architecture)
    model, info = loader.from_pretrained(
        folder, dtype=torch.float64, attn_implementation="eager", output_loading_info=True
    )
    # transformers fills what a file lacks with fresh random numbers.
    assert not info["missing_keys"], f"{folder}: the file lacks {sorted(info['missing_keys'])}"
    return model.eval(), next(head for head, suffix in SUFFIXES.items() if architecture.endswith(suffix))


def load_tokenizer(folder):
    file = Path(folder) / "tokenizer.json"
    if file.exists():
        tokenizer = Tokenizer.from_file(str(file))
    else:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder).backend_tokenizer
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def encode(tokenizer, fields):
    """One input (a text, or a list of two) as the model's tokens, with offsets in bytes of each field."""
    texts = [fields] if isinstance(fields, str) else fields
    encoding = tokenizer.encode(*texts)
    offsets = []
    for field, special, (start, end) in zip(encoding.sequence_ids, encoding.special_tokens_mask, encoding.offsets):
        offsets.append(None if special else [len(texts[field][:place].encode()) for place in (start, end)])
    return {
        "text": fields,
        "tokens": len(encoding.ids),
        "ids": encoding.ids,
        "types": encoding.type_ids,
        # The vocabulary's own string: the encoding's is the surface text for unknown and some added tokens.
        "pieces": [tokenizer.id_to_token(id) for id in encoding.ids],
        "offsets": offsets,
        "special": encoding.special_tokens_mask,
        "fields": encoding.sequence_ids,
    }


def trace(model, head, row):
    """The target and all expected values of one input, gradients included."""
    ids = torch.tensor([row["ids"]])
    word = model.get_input_embeddings()(ids).detach().requires_grad_()  # [1, T, E]
    embed, pooled, outputs = run(model, row, inputs_embeds=word)
    logits = head_output(head, outputs)
    check_against_ids(model, head, row, outputs)

    pooled = outputs.get("pooler_output") if head == "bare" else pooled
    target, scalar = pick_target(head, logits, pooled, outputs.hidden_states)
    word_gradient, layer_gradient = torch.autograd.grad(scalar, [word, outputs.hidden_states[2]])
    values = {"embed": embed, "grad.embed_word": word_gradient, "grad.layer.1.out": layer_gradient}
    values |= {"logits": logits} if logits is not None else {}
    values |= {"pooled": pooled} if pooled is not None else {}
    values |= {f"hidden.{place}": state for place, state in enumerate(outputs.hidden_states)}
    values |= {f"attention.{layer}": probabilities for layer, probabilities in enumerate(outputs.attentions)}
    return target, {name: value[0] for name, value in values.items()}


def run(model, row, **inputs):
    """One forward pass; also the embeddings before a projection and what the last linear of a classifier reads."""
    seen = {}
    embeddings = model.base_model.embeddings
    hooks = [embeddings.register_forward_hook(lambda _module, _inputs, output: seen.update(embed=output))]
    if type(model).__name__.endswith(SUFFIXES["sequence"]):
        last = getattr(model.classifier, "out_proj", model.classifier)
        hooks.append(last.register_forward_hook(lambda _module, inputs, _output: seen.update(pooled=inputs[0])))
    if model.config.model_type != "distilbert":
        inputs["token_type_ids"] = torch.tensor([row["types"]])
    outputs = model(**inputs, output_hidden_states=True, output_attentions=True)
    for hook in hooks:
        hook.remove()
    return seen["embed"], seen.get("pooled"), outputs


def head_output(head, outputs):
    """[1, C], [1, T, C], [1, T, V], for question answering [1, T, 2] (start, end), or None."""
    if head == "bare":
        return None
    if head == "qa":
        return torch.stack([outputs.start_logits, outputs.end_logits], dim=-1)
    return outputs.logits


def check_against_ids(model, head, row, outputs):
    """Running from ids and from looked-up word vectors must be the same thing (RoBERTa makes its positions twice)."""
    with torch.no_grad():
        _, _, again = run(model, row, input_ids=torch.tensor([row["ids"]]))
    pairs = [(outputs.hidden_states[-1], again.hidden_states[-1])]
    if head != "bare":
        pairs.append((head_output(head, outputs), head_output(head, again)))
    for one, other in pairs:
        assert one.dtype == torch.float64
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def pick_target(head, logits, pooled, hidden_states):
    """The scalar that is differentiated, as a site and an index into its flattened value."""
    if head == "bare" and pooled is None:
        site, value, index = f"layer.{len(hidden_states) - 2}.out", hidden_states[-1], 0
    elif head == "bare":
        site, value, index = "pooled", pooled, 1
    else:
        # The second class; for a value per token the second one of the middle token (a tag, the end, a word).
        classes = logits.shape[-1]
        position = logits.shape[1] // 2 if logits.dim() == 3 else 0
        site, value, index = "logits", logits, position * classes + min(1, classes - 1)
    return {"site": site, "flat_index": index}, value.flatten()[index]


def record_learning(folder, out, golden, curvature):
    """Parameter gradients of the cross-entropy summed over all inputs (labels i % C), and a Hessian-vector product."""
    model, _ = load_model(folder)
    losses = []
    for number, row in enumerate(golden["inputs"]):
        _, _, outputs = run(model, row, input_ids=torch.tensor([row["ids"]]))
        label = torch.tensor([number % model.config.num_labels])
        losses.append(torch.nn.functional.cross_entropy(outputs.logits, label))
    loss = sum(losses)
    names, parameters = zip(*model.named_parameters())
    gradients = dict(zip(names, torch.autograd.grad(loss, parameters, create_graph=True)))
    write_tensors(Path(out) / "golden_params.safetensors", gradients)
    if curvature:
        product = hessian_vector_product(dict(zip(names, parameters)), gradients, curvature)
        write_tensors(Path(out) / "golden_hvp.safetensors", product)
    learning = {"labels": [number % model.config.num_labels for number in range(len(losses))], "loss": loss.item()}
    write_json(Path(out) / "golden.json", golden | {"learning": learning})


def hessian_vector_product(parameters, gradients, names):
    """`v` random over the named parameters and zero elsewhere; `hv` is the product's part in the same parameters."""
    generator = torch.Generator().manual_seed(7)
    vector = {name: torch.randn(parameters[name].shape, generator=generator) for name in names}
    slope = sum((gradients[name] * vector[name].double()).sum() for name in names)
    product = torch.autograd.grad(slope, [parameters[name] for name in names])
    return {f"v.{name}": vector[name] for name in names} | {f"hv.{name}": hv for name, hv in zip(names, product)}


def write_tensors(path, tensors, metadata=None):
    save_file({name: value.detach().float().contiguous() for name, value in tensors.items()}, path, metadata)


def write_json(path, value):
    path.write_text(layout(value) + "\n", encoding="utf-8")


def layout(value, indent=""):
    """JSON with objects of objects or lists spread over lines and everything else on one line."""
    inner = indent + "  "
    if isinstance(value, dict) and any(isinstance(entry, (dict, list)) for entry in value.values()):
        lines = [f"{inner}{json.dumps(key)}: {layout(entry, inner)}" for key, entry in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(inner + layout(entry, inner) for entry in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
