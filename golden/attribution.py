"""Expected attributions of the golden models and of three small nets: `attribution.safetensors` and `attribution.json`.

    python golden/attribution.py                     needs golden/models, which make.py writes

Every value is computed here from its formula, in float64, and compared with Captum wherever Captum has the method and
can reach the place; only where the two differ on purpose are both stored.

The formulas are in `formulas.py`, the places inside the models in `sites.py`, what is done under given noise in
`noise.py`, the nets in `nets.py`.
"""

import json
import warnings
from pathlib import Path

import captum
import torch
import transformers
from captum import attr

import nets
import noise
from formulas import (
    agree,
    attention_norms,
    average,
    baseline,
    conductance,
    conductance_by_differences,
    exact_integrated_gradients,
    gradient,
    integrated_gradients,
    layer_ends,
    layer_integrated_gradients,
    neuron_conductance,
    nodes,
    path,
)
from record import write_tensors
from sites import WORD, Subject, find

FOLDER = Path(__file__).parent
FAMILIES = ("bert", "roberta", "distilbert", "electra", "albert")
LAYER_SITES = ("layer.1.out", "layer.0.attn.out", "embed")
CONDUCTANCE_SITES = ("layer.1.out", "layer.0.ffn.inner")
CAM_SITES = ("layer.0.out", "layer.1.out")
POSITION, INDEX = 2, 3
UNIT = f"layer.1.out[{POSITION},{INDEX}]"
MANY_STEPS, LAYER_STEPS, FIXED_STEPS, DEFAULT_STEPS = 300, 50, (5, 20), 20
CAPTUM_RULES = {
    "gauss_legendre": "gausslegendre",
    "left": "riemann_left",
    "right": "riemann_right",
    "middle": "riemann_middle",
    "trapezoid": "riemann_trapezoid",
}
# Multiples of 1/64, so that they are the same numbers in every precision.
SHAP_BASELINES = ("zero", "pad", "mask", "mean", "zero")
SHAP_ALPHAS = (0.796875, 0.140625, 0.546875, 0.328125, 0.953125)

NOTES = {
    "source": "captum: Captum gives the same to 1e-7; torch: Captum has no such method, or cannot reach the place; "
    "captum only: what Captum gives, which differs from the definition, so not to be compared with",
    "trapezoid": "Captum's trapezoid weights sum to (n-1)/n: 1/n each and half that at both ends, for n nodes. Compare "
    "with the cases of rule 'trapezoid', whose weights are 1/(n-1) and half that at both ends; those of rule "
    "'captum_trapezoid' are stored to show the difference.",
    "precision": "Captum computes the nodes of the Riemann rules in torch's default type, which is float64 here, and "
    "the weights of integrated gradients in float32 whatever the type: its own values carry an error of 1e-8.",
    "layer integrated gradients": "The path is in the space of the site, from y(x') to y(x), while the text stays x: "
    "where a residual passes a site by (layer.0.attn.out) the sum is F(x) - F(x with y(x') at the site), not F(x) - "
    "F(x'), against which Captum computes its delta. 'difference' holds the former.",
    "conductance": "rule gauss_legendre is the integral of dF/dy * dy/dalpha by 50 nodes, with exact derivatives. rule "
    "differences is Captum's: sum of (y_k+1 - y_k) * dF/dy at node k over n+1 Gauss-Legendre nodes, which covers only "
    "the path from the first node to the last.",
    "neuron conductance": "Captum's default there is the trapezoid above, which is biased; Gauss-Legendre here.",
    "grad_cam": "Captum's LayerGradCam takes the second axis for the channels, whatever the model: on [rows, tokens, units] "
    "it would take tokens for them. It was given the place with its axes exchanged.",
    "shared modules": "Captum hooks modules, and ALBERT runs one module for all layers: asked for layer 1, Captum "
    "gives the values of the last layer without a word.",
} | noise.NOTES | nets.NOTES


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.use_deterministic_algorithms(True)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    warnings.filterwarnings("ignore", module="captum")
    book = Book()
    for family in FAMILIES:
        record_all(book, f"{family}-sequence", 0, "class:0:logit")
        record_few(book, f"{family}-sequence", 3, "class:2:logit")
    record_few(book, "bert-pair", 0, "class:1:logit")
    record_few(book, "bert-qa", 0, "start:logit")
    record_few(book, "bert-qa", 0, "end:logit")
    record_few(book, "bert-token", 0, "tag:7=B-LOC:logit")
    record_few(book, "bert-mlm", 0, "token:8=film:logit")
    network_entries, network_tensors = nets.record()
    write_tensors(FOLDER / "attribution.safetensors", book.tensors | network_tensors)
    (FOLDER / "attribution.safetensors").chmod(0o644)  # safetensors writes files that only their owner can read
    versions = {module.__name__: module.__version__.split("+")[0] for module in (torch, transformers, captum)}
    document = {"versions": versions, "notes": NOTES, "cases": book.cases, "nets": network_entries}
    (FOLDER / "attribution.json").write_text(layout(document) + "\n", encoding="utf-8")


class Book:
    """The cases and their tensors so far."""

    def __init__(self):
        self.cases, self.tensors = [], {}

    def add(self, subject, method, value, variant="", params=None, source="torch", extra=None, **more):
        """One case. `extra` holds tensors, or the keys of tensors stored before."""
        name = "/".join(filter(None, [subject.name, method, variant]))
        assert name not in self.tensors, name
        assert torch.isfinite(value).all(), name
        self.tensors[name] = value
        keys = {}
        for part, tensor in (extra or {}).items():
            keys[part] = tensor if isinstance(tensor, str) else f"{name}/{part}"
            if not isinstance(tensor, str):
                self.tensors[keys[part]] = tensor
        about = {"name": name, "folder": subject.folder, "input": subject.number, "method": method}
        about |= {"params": params or {}, "target": more.pop("target", subject.target), "site": more.pop("site", WORD)}
        self.cases.append(about | {"source": source, "key": name, "extra": keys} | more)


def subject_of(folder, number, target):
    described = json.loads((FOLDER / "models" / folder / "golden.json").read_text(encoding="utf-8"))
    subject = Subject(FOLDER / "models" / folder, described["inputs"][number]["text"], target)
    assert subject.row["ids"] == described["inputs"][number]["ids"]
    subject.folder, subject.number = folder, number
    subject.name = f"{folder}/{number}" + (f"/{target.split(':')[0]}" if folder == "bert-qa" else "")
    # Captum reaches places by module, and ALBERT has one for all layers.
    subject.smooth = not (folder == "distilbert-sequence")  # its head has a relu
    subject.reachable = subject.model.config.model_type != "albert"
    return subject


def record_all(book, folder, number, target):
    subject = subject_of(folder, number, target)
    record_gradients(book, subject)
    record_rules(book, subject)
    record_baselines(book, subject, ("pad", "mask", "mean"))
    record_exact(book, subject)
    for site in LAYER_SITES:
        record_layer(book, subject, site)
    for site in CONDUCTANCE_SITES:
        record_conductance(book, subject, site)
        record_influence(book, subject, site)
    for site in CAM_SITES:
        record_grad_cam(book, subject, site)
    record_neurons(book, subject)
    noise.record(book, subject)
    record_shap(book, subject)
    record_attention(book, subject)
    print(folder, len(book.cases), flush=True)


def record_few(book, folder, number, target):
    subject = subject_of(folder, number, target)
    record_gradients(book, subject)
    record_fixed(book, subject, "gauss_legendre", DEFAULT_STEPS)
    record_baselines(book, subject, ("pad",))
    record_exact(book, subject)
    record_layer(book, subject, "layer.1.out")
    record_conductance(book, subject, "layer.1.out")
    print(folder, len(book.cases), flush=True)


def record_gradients(book, subject):
    x = subject.words[None]
    (slope,) = gradient(subject, x)
    agree(slope, attr.Saliency(subject).attribute(x, abs=False))
    agree(x * slope, attr.InputXGradient(subject).attribute(x))
    score = subject(x).item()
    book.add(subject, "saliency", slope[0], params={"reduce": "none"}, source="captum", score=score)
    book.add(subject, "gradient_x_input", (x * slope)[0], source="captum", score=score)


def record_rules(book, subject):
    for rule in CAPTUM_RULES:
        for steps in FIXED_STEPS:
            record_fixed(book, subject, rule, steps)


def record_fixed(book, subject, rule, steps):
    start = baseline(subject, "zero")
    value = integrated_gradients(subject, start, rule, steps)
    theirs = captum_integrated_gradients(subject, start, rule, steps)
    params = {"rule": rule, "steps": steps, "baseline": "zero"}
    biased = rule == "trapezoid"
    if biased:
        # Their weights are ours times (n-1)/n.
        agree(value * (steps - 1) / steps, theirs)
        params_of_theirs = params | {"rule": "captum_trapezoid"}
        add_integrated(book, subject, theirs, f"captum_trapezoid/{steps}", params_of_theirs, "captum only")
    else:
        agree(value, theirs)
    add_integrated(book, subject, value, f"{rule}/{steps}", params, "torch" if biased else "captum")


def captum_integrated_gradients(subject, start, rule, steps):
    method = attr.IntegratedGradients(subject)
    x, start = subject.words[None], start[None]
    return method.attribute(x, start, n_steps=steps, method=CAPTUM_RULES[rule])[0]


def add_integrated(book, subject, value, variant, params, source, start=None):
    start = baseline(subject, "zero") if start is None else start
    with torch.no_grad():
        low, high = subject(torch.stack([start, subject.words])).tolist()
    more = dict(score=high, difference=high - low)
    book.add(subject, "integrated_gradients", value, variant, params, source, **more)


def record_baselines(book, subject, names):
    rule, steps = "gauss_legendre", DEFAULT_STEPS
    values = {}
    for name in names:
        start = baseline(subject, name)
        values[name] = integrated_gradients(subject, start, rule, steps)
        agree(values[name], captum_integrated_gradients(subject, start, rule, steps))
        params = {"rule": rule, "steps": steps, "baseline": name}
        add_integrated(book, subject, values[name], f"from_{name}", params, "captum", start)
    if len(names) > 1:
        both = (integrated_gradients(subject, baseline(subject, "zero"), rule, steps) + values["pad"]) / 2
        params = {"rule": rule, "steps": steps, "baseline": ["zero", "pad"]}
        with torch.no_grad():
            ends = subject(torch.stack([baseline(subject, "zero"), baseline(subject, "pad"), subject.words])).tolist()
        more = dict(score=ends[2], difference=ends[2] - (ends[0] + ends[1]) / 2)
        book.add(subject, "integrated_gradients", both, "from_zero_and_pad", params, "captum", **more)


def record_exact(book, subject):
    """What an adaptive rule must come near to."""
    start = baseline(subject, "zero")
    value = exact_integrated_gradients(subject, start)
    with torch.no_grad():
        low, high = subject(torch.stack([start, subject.words])).tolist()
    gap = abs(value.sum().item() - (high - low))
    assert gap < 1e-8, f"{subject.name}: not complete by {gap}"
    many = integrated_gradients(subject, start, "gauss_legendre", MANY_STEPS)
    agree(value, many, 1e-8 if subject.smooth else 1e-4)
    add_integrated(book, subject, value, "exact", {"rule": "exact", "baseline": "zero"}, "torch")


def record_layer(book, subject, site):
    start = baseline(subject, "zero")
    value = layer_integrated_gradients(subject, site, start, "gauss_legendre", LAYER_STEPS)
    module, end, _ = find(subject.model, site)
    if reachable := subject.reachable or site == "embed":
        method = attr.LayerIntegratedGradients(subject, module)
        inside = end == "input"
        x, zero = subject.words[None], start[None]
        agree(value, method.attribute(x, zero, n_steps=LAYER_STEPS, attribute_to_layer_input=inside)[0])
    lower, upper = layer_ends(subject, site, start)
    with torch.no_grad():
        words = subject.words.expand(2, -1, -1)
        (low, high), _ = subject.run(words, replace={site: torch.stack([lower, upper])})
        first = subject(start[None]).item()
    if site != "layer.0.attn.out":  # there the residual passes by
        assert abs(low.item() - first) < 1e-12
    assert abs(value.sum().item() - (high - low).item()) < 5e-3 * value.abs().sum().item(), f"{subject.name} {site}"
    params = {"rule": "gauss_legendre", "steps": LAYER_STEPS, "baseline": "zero"}
    more = dict(site=site, score=high.item(), difference=(high - low).item())
    source = "captum" if reachable else "torch"
    book.add(subject, "integrated_gradients", value, f"at_{site}", params, source, **more)


def record_conductance(book, subject, site):
    start = baseline(subject, "zero")
    params = {"rule": "gauss_legendre", "steps": LAYER_STEPS, "baseline": "zero"}
    value = conductance(subject, site, start, "gauss_legendre", LAYER_STEPS)
    with torch.no_grad():
        low, high = subject(torch.stack([start, subject.words])).tolist()
    more = dict(site=site, score=high)
    complete = {}
    if site == "layer.1.out":  # nothing passes it by
        assert abs(value.sum().item() - (high - low)) < 5e-3 * value.abs().sum().item(), f"{subject.name} {site}"
        complete = dict(difference=high - low)
    book.add(subject, "conductance", value, f"at_{site}", params, **more, **complete)
    differences = conductance_by_differences(subject, site, start, LAYER_STEPS)
    if subject.reachable:
        module, end, _ = find(subject.model, site)
        method = attr.LayerConductance(subject, module)
        x, zero = subject.words[None], start[None]
        inside = end == "input"
        agree(differences, method.attribute(x, zero, n_steps=LAYER_STEPS, attribute_to_layer_input=inside)[0])
    params = params | {"rule": "differences"}
    source = "captum" if subject.reachable else "torch"
    book.add(subject, "conductance", differences, f"differences_at_{site}", params, source, **more)


def record_influence(book, subject, site):
    start = baseline(subject, "zero")
    alphas, weights = nodes("gauss_legendre", LAYER_STEPS)
    (slopes,) = gradient(subject, path(start, subject.words, alphas), [site])
    value = average(weights, slopes)
    if subject.reachable:
        module, end, _ = find(subject.model, site)
        method = attr.InternalInfluence(subject, module)
        x, zero = subject.words[None], start[None]
        inside = end == "input"
        agree(value, method.attribute(x, zero, n_steps=LAYER_STEPS, attribute_to_layer_input=inside)[0])
    params = {"rule": "gauss_legendre", "steps": LAYER_STEPS, "baseline": "zero"}
    source = "captum" if subject.reachable else "torch"
    book.add(subject, "internal_influence", value, f"at_{site}", params, source, site=site)


def record_grad_cam(book, subject, site):
    """The mean slope of each channel over all positions, times the channels of each position."""
    words = subject.words[None]
    (slope,) = gradient(subject, words, [site])
    with torch.no_grad():
        _, seen = subject.run(words, keep=[site])
    value = (slope[0].mean(0) * seen[site][0]).sum(-1)  # [T]
    if subject.reachable:
        probed = Probed(subject, site)
        # Its default is without the rectifier.
        agree(value, attr.LayerGradCam(probed, probed.channels_first).attribute(words)[0, 0])
    source = "captum" if subject.reachable else "torch"
    book.add(subject, "grad_cam", value, f"at_{site}", {"relu": "no"}, source, site=site)


class Probed(torch.nn.Module):
    """F with one place laid out as Captum expects it: channels before positions, [S, H, T]."""

    def __init__(self, subject, site):
        super().__init__()
        self.subject, self.channels_first = subject, torch.nn.Identity()
        self.module, _, _ = find(subject.model, site)

    def forward(self, words):
        turned = lambda _module, _inputs, output: self.channels_first(output.transpose(1, 2)).transpose(1, 2)
        hook = self.module.register_forward_hook(turned)
        try:
            return self.subject(words)
        finally:
            hook.remove()


def record_neurons(book, subject):
    """Attributions of one unit, alone and summed over the tokens, and of the class through that unit."""
    start, x = baseline(subject, "zero"), subject.words[None]
    module, _, _ = find(subject.model, "layer.1.out")
    source = "captum" if subject.reachable else "torch"
    params = {"rule": "gauss_legendre", "steps": LAYER_STEPS, "baseline": "zero"}
    selectors = {f"{POSITION}": (POSITION, INDEX), "*": lambda value: value[:, :, INDEX].sum(1)}
    for position, selector in selectors.items():
        target = f"unit:layer.1.out[{position},{INDEX}]"
        unit = subject_of(subject.folder, subject.number, target)
        (slope,) = gradient(unit, x)
        integrated = integrated_gradients(unit, start, "gauss_legendre", LAYER_STEPS)
        if subject.reachable:
            agree(slope, attr.NeuronGradient(subject, module).attribute(x, selector))
            method = attr.NeuronIntegratedGradients(subject, module)
            agree(integrated, method.attribute(x, selector, start[None], n_steps=LAYER_STEPS)[0])
        with torch.no_grad():
            low, high = unit(torch.stack([start, subject.words])).tolist()
        variant = "of_unit" if position != "*" else "of_units"
        more = dict(target=target, score=high)
        book.add(unit, "saliency", slope[0], variant, {"reduce": "none"}, source, **more)
        more["difference"] = high - low
        book.add(unit, "integrated_gradients", integrated, variant, params, source, **more)
    unit = ("layer.1.out", POSITION, INDEX)
    value = neuron_conductance(subject, unit, start, "gauss_legendre", LAYER_STEPS)
    if subject.reachable:
        method = attr.NeuronConductance(subject, module)
        settings = dict(baselines=start[None], n_steps=LAYER_STEPS, method="gausslegendre")
        agree(value, method.attribute(x, (POSITION, INDEX), **settings)[0])
    # The sum over the inputs is what the layer's conductance has at this unit.
    layer = conductance(subject, unit[0], start, "gauss_legendre", LAYER_STEPS)
    agree(value.sum(), layer[POSITION, INDEX])
    book.add(subject, "conductance", value, "through_unit", params | {"through": UNIT}, source)


def record_shap(book, subject):
    """The mean over samples of (x - x'_s) * dF/dx at x'_s + alpha_s (x - x'_s)."""
    starts = torch.stack([baseline(subject, name) for name in SHAP_BASELINES])
    alphas = torch.tensor(SHAP_ALPHAS)[:, None, None]
    (slopes,) = gradient(subject, starts + alphas * (subject.words - starts))
    value = ((subject.words - starts) * slopes).mean(0)
    params = {"samples": len(SHAP_ALPHAS), "baselines": list(SHAP_BASELINES), "alphas": list(SHAP_ALPHAS)}
    book.add(subject, "gradient_shap", value, params=params)


def record_attention(book, subject):
    x = subject.words[None]
    layers = range(subject.model.config.num_hidden_layers)
    score, seen = subject.run(x.clone().requires_grad_(), keep=[f"layer.{n}.attn.v" for n in layers])
    attentions = subject.outputs.attentions
    slopes = torch.stack([part[0] for part in torch.autograd.grad(score.sum(), attentions)])
    weights = torch.stack([part[0] for part in attentions]).detach()  # [L, N, T, T], query by key
    matrix = weights.mean((0, 1))
    add = lambda value, how, **extra: add_attention(book, subject, value, how, extra)
    add(weights[-1].mean(0)[0], "last")
    add(matrix[0], "mean", matrix=matrix)
    rollout = torch.eye(len(subject.words))
    for layer in weights.mean(1):
        rollout = (layer + torch.eye(len(layer))) / 2 @ rollout
    torch.testing.assert_close(rollout.sum(1), torch.ones(len(rollout)))
    add(rollout[0], "rollout", matrix=rollout)
    products = weights * slopes
    positive = products[-1].clamp(min=0)
    parts = dict(heads=products[-1][:, 0], layers=products.mean(1)[:, 0], positive=positive.mean(0)[0])
    add(products[-1].mean(0)[0], "gradient", **parts)
    norms, heads = attention_norms(subject, weights, [seen[f"layer.{n}.attn.v"][0].detach() for n in layers])
    add(norms, "norm", heads=heads)


def add_attention(book, subject, value, how, extra):
    # The last place that is read; `how` says whether the layers before it are read too.
    site = f"layer.{subject.model.config.num_hidden_layers - 1}.attn.{'out' if how == 'norm' else 'probs'}"
    book.add(subject, "attention", value, how, {"how": how}, extra=extra, site=site)


def layout(document):
    """JSON with one line for every case, net and note."""
    dump = lambda value: json.dumps(value, ensure_ascii=False)
    lines = []
    for name, part in document.items():
        if isinstance(part, list):
            inner = ",\n".join("    " + dump(entry) for entry in part)
            lines.append(f"  {dump(name)}: [\n{inner}\n  ]")
        else:
            inner = ",\n".join(f"    {dump(key)}: {dump(value)}" for key, value in part.items())
            lines.append(f"  {dump(name)}: {{\n{inner}\n  }}")
    return "{\n" + ",\n".join(lines) + "\n}"


if __name__ == "__main__":
    main()
