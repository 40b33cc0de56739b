#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the built-in models with PyTorch's, from the same weights on the same batch: the first three losses (within
1e-4) and every parameter's gradient (within 1e-3 of its largest element). Where rounding to f32 alone makes a larger
difference, as rectifiers on the edge do, both programs are run in f64, where losses and gradients must agree within 1e-6;
of the f32 results the first loss must agree with PyTorch's, and the farthest gradient may not be more than 2e-3, or four times
as far as PyTorch's farthest, from its f64 value. Of mlp16 that is one rectifier of 7.9 million (layer 7, sample 60, unit 324),
whose f64 input is nearer to 0 than one rounding of its sum: with its sign set as our f32 has it, the f64 gradients are 5.3e-7
from ours.

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


def distance(a, b):
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)) if a.shape == b.shape else np.inf


class Dumped:
    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "manifest.json")) as file:
            self.entries = {(e["kind"], e["name"]): e for e in json.load(file)}

    def read(self, kind, name):
        entry = self.entries[kind, name]
        return np.fromfile(os.path.join(self.folder, entry["file"]), entry["dtype"])

    def names(self, kind):
        return [name for k, name in self.entries if k == kind]


def compare_gradients(theirs, folder):
    """Of every parameter: ours from PyTorch's, ours from f64, PyTorch's from f64, its name."""
    rows = []
    for name in theirs.names("gradient"):
        a, exact = theirs.read("gradient", name), theirs.read("exact", name)
        b = np.fromfile(os.path.join(folder, name + ".bin"), np.float32)
        rows.append((distance(b, a), distance(b, exact), distance(a, exact), name))
    return rows


def peer(model, folder, *options):
    return run("/usr/bin/python3", os.path.join(HERE, "torch_peer.py"), model, "--dump", folder, *options)


def relative(pairs):
    return max(abs(a - b) / abs(b) for a, b in pairs)


def in_f64(reprise, model, dump, theirs):
    """How far our f64 losses of three steps and our f64 gradients are from PyTorch's."""
    with tempfile.TemporaryDirectory() as folder:
        ours = run(reprise, "bench", model, "--steps", "3", "--init", dump, "--gradients", folder, "--exact", "--estimate", "--json")
        dumped = Dumped(dump)
        gradients = max(distance(np.fromfile(os.path.join(folder, name + ".bin"), np.float64), dumped.read("exact", name))
                        for name in dumped.names("exact"))
    return relative(zip(ours["exact_losses"], theirs["exact_losses"])), gradients


def check(reprise, model):
    with tempfile.TemporaryDirectory() as folder:
        dump, mine = os.path.join(folder, "torch"), os.path.join(folder, "reprise")
        theirs = peer(model, dump, "--steps", "3")
        ours = run(reprise, "bench", model, "--steps", "3", "--init", dump, "--gradients", mine, "--estimate", "--json")
        rows = compare_gradients(Dumped(dump), mine)
        losses = [relative([pair]) for pair in zip(ours["losses"], theirs["losses"])]
        apart, _, _, where = max(rows)
        is_clear = apart <= 1e-3 and max(losses) <= 1e-4
        exact = None if is_clear else in_f64(reprise, model, dump, theirs)
    our_noise, their_noise = max(row[1] for row in rows), max(row[2] for row in rows)
    ok = ours["params"] == theirs["params"] and losses[0] <= 1e-4
    ok = ok and (is_clear or (max(exact) <= 1e-6 and our_noise <= max(2e-3, 4 * their_noise)))
    print(f"{model:10} losses {max(losses):.1e} apart, gradients {apart:.1e} at most ({where}): {'ok' if ok else 'DIFFERS'}", flush=True)
    if exact:
        print(f"{'':10} in f64 losses {exact[0]:.1e} and gradients {exact[1]:.1e} apart; f32 gradients from f64: ours {our_noise:.1e}, "
              f"PyTorch's {their_noise:.1e}; losses (ours, PyTorch's, its f64) "
              + ", ".join("{:.6f} {:.6f} {:.6f}".format(*row) for row in zip(ours["losses"], theirs["losses"], theirs["exact_losses"])),
              flush=True)
    return ok


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    results = [check(sys.argv[1], model) for model in sys.argv[2:] or MODELS]
    sys.exit(0 if all(results) else 1)


main()
