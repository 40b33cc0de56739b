#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the built-in models with PyTorch's, from the same weights on the same batch: the first three losses (within
1e-4) and every parameter's gradient (within 1e-3 of its largest element). Where rounding to f32 alone makes a larger
difference, as rectifiers on the edge do, both are computed in f64 too: there every gradient must agree within 1e-6, and
the farthest of our f32 gradients may not be more than four times as far from that as PyTorch's farthest. Losses after
the first are steps from such gradients: those that leave PyTorch's own f64 losses by more than 1e-4 judge nothing.

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


def ours_in_f64(reprise, model, dump, theirs):
    """The largest distance of our f64 gradients from PyTorch's."""
    with tempfile.TemporaryDirectory() as folder:
        run(reprise, "bench", model, "--steps", "1", "--init", dump, "--gradients", folder, "--exact", "--estimate", "--json")
        return max(distance(np.fromfile(os.path.join(folder, name + ".bin"), np.float64), theirs.read("exact", name))
                   for name in theirs.names("exact"))


def check(reprise, model):
    with tempfile.TemporaryDirectory() as folder:
        dump, mine = os.path.join(folder, "torch"), os.path.join(folder, "reprise")
        theirs = peer(model, dump, "--steps", "3")
        ours = run(reprise, "bench", model, "--steps", "3", "--init", dump, "--gradients", mine, "--estimate", "--json")
        rows = compare_gradients(Dumped(dump), mine)
        unclear = sum(row[0] > 1e-3 for row in rows)
        exact = ours_in_f64(reprise, model, dump, Dumped(dump)) if unclear else 0
    losses = list(zip(ours["losses"], theirs["losses"], theirs["exact_losses"]))
    settled = [losses[0]] + [row for row in losses[1:] if not unclear or abs(row[1] - row[2]) <= 1e-4 * abs(row[2])]
    loss = max(abs(a - b) / abs(b) for a, b, _ in settled)
    apart, _, _, where = max(rows)
    our_noise, their_noise = max(row[1] for row in rows), max(row[2] for row in rows)
    clear = not unclear or (exact <= 1e-6 and our_noise <= max(2e-3, 4 * their_noise))
    ok = loss <= 1e-4 and clear and ours["params"] == theirs["params"]
    print(f"{model:10} {len(settled)} losses {loss:.1e} apart, gradients {apart:.1e} at most ({where}): {'ok' if ok else 'DIFFERS'}", flush=True)
    if unclear:
        print(f"{'':10} {unclear} of {len(rows)} above 1e-3; in f64 {exact:.1e} apart at most; f32 from f64: "
              f"ours {our_noise:.1e}, PyTorch's {their_noise:.1e}; losses (ours, PyTorch's, its f64) "
              + ", ".join("{:.6f} {:.6f} {:.6f}".format(*row) for row in losses), flush=True)
    return ok


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    results = [check(sys.argv[1], model) for model in sys.argv[2:] or MODELS]
    sys.exit(0 if all(results) else 1)


main()
