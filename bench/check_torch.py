#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the built-in models with PyTorch's, from the same weights on the same batch: the first three losses (within
1e-4) and every parameter's gradient (within 1e-3 of its largest element).

  bench/check_torch.py REPRISE [MODEL]...
"""
import json, os, subprocess, sys, tempfile
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = ["gpt4s", "mlp16", "rnn512", "lstm512", "gpt6", "resnet18", "unet", "resnet50", "vgg16"]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed with status {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout)


def worst_gradient(theirs, ours):
    worst, where = 0.0, ""
    with open(os.path.join(theirs, "manifest.json")) as file:
        entries = [e for e in json.load(file) if e["kind"] == "gradient"]
    for entry in entries:
        a = np.fromfile(os.path.join(theirs, entry["file"]), np.float32)
        b = np.fromfile(os.path.join(ours, entry["name"] + ".bin"), np.float32)
        error = float(np.abs(a - b).max() / max(np.abs(a).max(), 1e-30)) if a.shape == b.shape else np.inf
        if error > worst:
            worst, where = error, entry["name"]
    return worst, where


def check(reprise, model):
    with tempfile.TemporaryDirectory() as folder:
        dump, mine = os.path.join(folder, "torch"), os.path.join(folder, "reprise")
        theirs = run("/usr/bin/python3", os.path.join(HERE, "torch_peer.py"), model, "--steps", "3", "--dump", dump)
        ours = run(reprise, "bench", model, "--steps", "3", "--init", dump, "--gradients", mine, "--estimate", "--json")
        gradient, where = worst_gradient(dump, mine)
    loss = max(abs(a - b) / abs(b) for a, b in zip(ours["losses"], theirs["losses"]))
    ok = loss <= 1e-4 and gradient <= 1e-3 and ours["params"] == theirs["params"]
    print(f"{model:10} losses {loss:.1e} apart, gradients {gradient:.1e} at most ({where}): {'ok' if ok else 'DIFFERS'}", flush=True)
    return ok


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    results = [check(sys.argv[1], model) for model in sys.argv[2:] or MODELS]
    sys.exit(0 if all(results) else 1)


main()
