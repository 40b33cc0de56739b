#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the built-in models with PyTorch's, from the same weights on the same batch: the first three losses (within
1e-4) and every parameter's gradient (within 1e-3 of its largest element). Where rounding to f32 alone makes a larger
difference, as a rectifier on the edge does, ours must be as near to the f64 gradient as PyTorch's f32 one, or as the f64
gradient from weights and inputs moved by one f32 rounding, within a factor of two.

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


def how_far_roundings_move(model):
    """By name: the f64 gradient's largest move when weights and inputs are moved by one f32 rounding, of eight draws."""
    with tempfile.TemporaryDirectory() as folder:
        peer(model, folder, "--steps", "1", "--blur", "8")
        dump = Dumped(folder)
        return {name: float(dump.read("blur", name)[0]) for name in dump.names("blur")}


def check(reprise, model):
    with tempfile.TemporaryDirectory() as folder:
        dump, mine = os.path.join(folder, "torch"), os.path.join(folder, "reprise")
        theirs = peer(model, dump, "--steps", "3")
        ours = run(reprise, "bench", model, "--steps", "3", "--init", dump, "--gradients", mine, "--estimate", "--json")
        rows = compare_gradients(Dumped(dump), mine)
    loss = max(abs(a - b) / abs(b) for a, b in zip(ours["losses"], theirs["losses"]))
    apart, _, _, where = max(rows)
    unclear = [row for row in rows if row[0] > 1e-3]
    moves = how_far_roundings_move(model) if unclear else {}
    wrong = [row for row in unclear if row[1] > max(1e-3, 2 * row[2], 2 * moves[row[3]])]
    ok = loss <= 1e-4 and not wrong and ours["params"] == theirs["params"]
    print(f"{model:10} losses {loss:.1e} apart, gradients {apart:.1e} at most ({where}): {'ok' if ok else 'DIFFERS'}", flush=True)
    if unclear:
        _, mine, torch, name = max(unclear, key=lambda row: row[1] / max(row[2], moves[row[3]], 1e-30))
        print(f"{'':10} {len(unclear)} of {len(rows)} above 1e-3; least favourable {name}: from f64 ours {mine:.1e}, "
              f"PyTorch's f32 {torch:.1e}, f64 after roundings {moves[name]:.1e}", flush=True)
    return ok


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    results = [check(sys.argv[1], model) for model in sys.argv[2:] or MODELS]
    sys.exit(0 if all(results) else 1)


main()
