"""Cases under given noise, for `attribution.py`: noise tunnel, infidelity and sensitivity-max.

phi is the attribution of x, I a perturbation.
"""

import torch
from captum import attr, metrics

from formulas import agree, gradient

NOISE_SAMPLES, PERTURBATIONS, SHARE = 5, 6, 0.1
MOMENTS = {"smoothgrad": "mean", "smoothgrad_sq": "mean_square", "vargrad": "variance"}

NOTES = {
    "noise tunnel": "variance is the mean of squares minus the square of the mean: the population's, as Captum has it.",
    "infidelity": "mean over perturbations I of (I.phi - (F(x) - F(x - I)))^2; scaled: I divided by x, as "
    "infidelity_perturb_func_decorator(True) does; normalised: phi multiplied by the factor of least infidelity.",
    "sensitivity": "max over perturbations I of |phi(x + I) - phi(x)| in l2 over all of [T, E], divided by |phi(x)| "
    "where relative; tokens: the same of the token values, l2 of each row for saliency, its sum for gradient_x_input.",
}


def record(book, subject):
    noise = draw_noise(subject)
    record_noise(book, subject, noise[:NOISE_SAMPLES])
    record_trust(book, subject, noise[NOISE_SAMPLES:])


def draw_noise(subject):
    """[11, T, E], normal with a tenth of the range of x, rounded to what the file holds."""
    generator = torch.Generator().manual_seed(11)
    share = SHARE * (subject.words.max() - subject.words.min())
    shape = [NOISE_SAMPLES + PERTURBATIONS, *subject.words.shape]
    return (share * torch.randn(shape, generator=generator)).float().double()


def record_noise(book, subject, noise):
    (slopes,) = gradient(subject, subject.words + noise)
    mean, square = slopes.mean(0), slopes.square().mean(0)
    moments = {"smoothgrad": mean, "smoothgrad_sq": square, "vargrad": square - mean.square()}
    agree(moments["vargrad"], slopes.var(0, correction=0))
    key = f"{subject.name}/noise"
    book.tensors[key] = noise
    method = attr.NoiseTunnel(attr.Saliency(subject))
    # The class draws its own noise unless told otherwise.
    method._add_noise_to_input = lambda x, _stdev, samples: x.repeat_interleave(samples, dim=0) + noise
    for moment, value in moments.items():
        theirs = method.attribute(subject.words[None], nt_type=moment, nt_samples=len(noise), abs=False)
        agree(value, theirs[0])
        params = {"moment": MOMENTS[moment], "of": "saliency", "samples": len(noise), "reduce": "none"}
        book.add(subject, "noise_tunnel", value, MOMENTS[moment], params, "captum", {"noise": key})


def record_trust(book, subject, perturbations):
    """Infidelity and sensitivity-max of two attributions under given perturbations I."""
    key = f"{subject.name}/perturbations"
    book.tensors[key] = perturbations
    methods = {
        "saliency": lambda x, **_: attr.Saliency(subject).attribute(x, abs=False),
        "gradient_x_input": lambda x, **_: attr.InputXGradient(subject).attribute(x),
    }
    for name, method in methods.items():
        record_infidelity(book, subject, perturbations, key, name, method)
        record_sensitivity(book, subject, perturbations, key, name, method)


def record_infidelity(book, subject, perturbations, key, name, method):
    x = subject.words[None]
    scores = method(x)
    with torch.no_grad():
        drops = subject(x) - subject(x - perturbations)  # [S]
    for scaled in (False, True) if name == "gradient_x_input" else (False,):
        moved = perturbations / x if scaled else perturbations
        products = (moved * scores).sum((1, 2))
        for normalised in (False, True):
            factor = (products * drops).mean() / products.square().mean() if normalised else 1.0
            value = (factor * products - drops).square().mean()
            settings = dict(n_perturb_samples=len(perturbations), normalize=normalised)
            perturb = lambda x, moved=moved: (moved, x - perturbations)
            with torch.no_grad():
                theirs = metrics.infidelity(subject, perturb, x, scores, **settings)
            agree(value, theirs[0])
            params = {"of": name, "scaled": scaled, "normalised": normalised}
            variant = f"{name}/{'scaled' if scaled else 'plain'}{'_normalised' if normalised else ''}"
            book.add(subject, "infidelity", value[None], variant, params, "captum", {"perturbations": key})


def record_sensitivity(book, subject, perturbations, key, name, method):
    x = subject.words[None]
    before, after = method(x), method(x + perturbations)
    settings = dict(perturb_func=lambda x: x + perturbations, n_perturb_samples=len(perturbations))
    with torch.enable_grad():
        theirs = metrics.sensitivity_max(method, x, **settings)
    reduce = (lambda v: v.norm(dim=-1)) if name == "saliency" else (lambda v: v.sum(-1))
    for level, (one, other) in {"all": (before, after), "tokens": (reduce(before), reduce(after))}.items():
        size = one.norm()
        change = (other - one).flatten(1).norm(dim=1).max()
        if level == "all":
            agree(change / size, theirs[0])
        for relative in (True, False):
            params = {"of": name, "relative": relative, "level": level}
            variant = f"{name}/{'relative' if relative else 'absolute'}{'' if level == 'all' else '_tokens'}"
            source = "captum" if level == "all" and relative else "torch"
            value = change / size if relative else change
            book.add(subject, "sensitivity_max", value[None], variant, params, source, {"perturbations": key})
