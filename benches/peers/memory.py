"""The most memory that explaining a masked language model takes: BERT-base size, random weights, 30,522 words.

Not against a peer: the limit is `--memory` plus the weights as `model info` books them (the file, and the most that is
kept of it in another layout), and the program must keep to it.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile
import time

import torch
import transformers

TEXT = "the film is warm and honest but the story is very long and [MASK] with great acting"
TARGET = "token:14=dull"


def make(folder: pathlib.Path) -> None:
    """Saves a model with a vocabulary of whole words."""
    torch.manual_seed(0)
    model = transformers.BertForMaskedLM(transformers.BertConfig())
    model.save_pretrained(folder)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words += sorted(set(TEXT.replace("[MASK]", "dull").split()))
    words += [f"w{i}" for i in range(model.config.vocab_size - len(words))]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")


def booked(program: str, folder: str) -> int:
    """What the program says that the weights take, in MiB."""
    command = [program, "model", "info", folder, "--format", "json"]
    info = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return (info["weights_bytes"] + info["kept_panels_bytes"]) >> 20


def most_resident(command: list[str]) -> int:
    """The high-water mark in MiB, watched while it runs: what a child inherits from this script counts otherwise."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    status, peak = pathlib.Path(f"/proc/{process.pid}/status"), 0
    while process.poll() is None:
        found = re.search(r"VmHWM:\s+(\d+)", status.read_text())
        peak = max(peak, int(found[1]) >> 10 if found else 0)
        time.sleep(0.05)
    assert process.returncode == 0, command
    return peak


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--program", default="target/release/exegete")
    arguments.add_argument("--memory", type=int, default=512, help="MiB")
    arguments.add_argument("--samples", type=int, default=5000)
    arguments.add_argument("--check", default="default", help="deep explains again for every layer: take fewer samples")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        make(pathlib.Path(folder))
        weights = booked(given.program, folder)
        command = [given.program, "explain", TEXT, "--model", folder, "--target", TARGET, "--method", "lime"]
        command += ["--set", f"samples={given.samples}", "--memory", f"{given.memory}M", "--format", "json"]
        command += ["--check", given.check]
        peak = most_resident(command)
    allowed = given.memory + weights
    print(f"lime, {given.samples} samples, and the {given.check} evidence: {peak} MiB resident at most")
    print(f"allowed: {given.memory} MiB of activations and {weights} MiB of weights, {peak / allowed:.2f} of it used")
    assert peak <= allowed, "more than is allowed"


if __name__ == "__main__":
    main()
