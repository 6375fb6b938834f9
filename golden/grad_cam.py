"""Grad-CAM of two golden small models by Captum: `grad_cam.json`, from `golden/small`, which `small.py` writes.

    python golden/grad_cam.py

Captum's `LayerGradCam` takes the second axis of a layer's output for the channels, which is where a convolution has them:
[1, channels, positions]. Where a rectifier follows the convolution it is the layer; Kim's comes after the maximum.
"""

import json
from pathlib import Path

import captum
import torch
from captum.attr import LayerGradCam
from torch import nn

from small_nets import open_folder

FOLDER = Path(__file__).parent
MODELS = ("cnn-additive", "kim")


class Convolved(nn.Module):
    """A small model from word vectors [1, T, d] to logits [1, C], with a module where each convolution's output passes."""

    def __init__(self, model):
        super().__init__()
        self.model, self.widths = model, model.encoder.widths
        self.seen = nn.ModuleList([nn.Identity() for _ in self.widths])
        self.active = (lambda y: y) if model.config["kind"] == "kim" else torch.relu

    def forward(self, x):
        parts = []
        for width, seen in zip(self.widths, self.seen):
            convolved = getattr(self.model.encoder, f"conv{width}")(x.transpose(1, 2))  # [1, channels, T]
            parts.append(seen(self.active(convolved)))
        states = torch.cat(parts, 1)[0].T  # [T, m]
        pooled = self.model.attention(states[1:-1], None, None, {})
        return self.model.head(pooled)[None]


def main():
    cases = []
    for name in MODELS:
        folder = FOLDER / "small" / name
        model = open_folder(folder).double()
        for number, (text,) in enumerate(json.loads((folder / "golden.json").read_text())["inputs"]):
            words = [model.vocabulary.index(word) if word in model.vocabulary else 1 for word in text.split()]
            ids = [2, *words, 3]
            x = model.embed(torch.tensor(ids)).detach()[None]
            net = Convolved(model)
            assert torch.allclose(net(x)[0], model([ids])[0]), "not the same network"
            for width, seen in zip(net.widths, net.seen):
                found = LayerGradCam(net, seen).attribute(x, target=0)  # [1, 1, T]
                scores = found.detach()[0, 0].tolist()
                cases.append({"folder": name, "input": number, "site": f"conv.{width}", "class": 0, "scores": scores})
    document = {"captum": captum.__version__, "torch": torch.__version__, "cases": cases}
    (FOLDER / "grad_cam.json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
