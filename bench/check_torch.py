#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the built-in models with PyTorch's, from the same weights on the same batch: the first three losses (within
1e-4) and every parameter's gradient (within 1e-3 of its largest element, or, where rounding to f32 alone makes a larger
difference, as near to the f64 gradient as PyTorch's f32 one is, within a factor of two).

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


def compare_gradients(theirs, ours):
    """The largest distances: ours from PyTorch's, and, where that is above the limit, ours and PyTorch's f32 from f64."""
    with open(os.path.join(theirs, "manifest.json")) as file:
        entries = {(e["kind"], e["name"]): e for e in json.load(file)}
    read = lambda e: np.fromfile(os.path.join(theirs, e["file"]), e["dtype"])
    rows = []
    for (kind, name), entry in entries.items():
        if kind != "gradient":
            continue
        a, exact = read(entry), read(entries["exact", name])
        b = np.fromfile(os.path.join(ours, name + ".bin"), np.float32)
        rows.append((distance(b, a), distance(b, exact), distance(a, exact), name))
    return rows


def check(reprise, model):
    with tempfile.TemporaryDirectory() as folder:
        dump, mine = os.path.join(folder, "torch"), os.path.join(folder, "reprise")
        theirs = run("/usr/bin/python3", os.path.join(HERE, "torch_peer.py"), model, "--steps", "3", "--dump", dump)
        ours = run(reprise, "bench", model, "--steps", "3", "--init", dump, "--gradients", mine, "--estimate", "--json")
        rows = compare_gradients(dump, mine)
    loss = max(abs(a - b) / abs(b) for a, b in zip(ours["losses"], theirs["losses"]))
    apart, _, _, where = max(rows)
    # Where f32 itself is not that exact, ours must be as near to the f64 gradient as PyTorch's is.
    blurred = [row for row in rows if row[0] > 1e-3]
    wrong = [row for row in blurred if row[1] > max(1e-3, 2 * row[2])]
    ok = loss <= 1e-4 and not wrong and ours["params"] == theirs["params"]
    print(f"{model:10} losses {loss:.1e} apart, gradients {apart:.1e} at most ({where}): {'ok' if ok else 'DIFFERS'}", flush=True)
    if blurred:
        _, mine, torch, name = max(blurred, key=lambda row: row[1] / max(row[2], 1e-30))
        print(f"{'':10} {len(blurred)} of {len(rows)} above 1e-3; from f64: ours {max(r[1] for r in blurred):.1e}, PyTorch's f32 "
              f"{max(r[2] for r in blurred):.1e} at most; least favourable {name}: {mine:.1e} and {torch:.1e}", flush=True)
    return ok


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    results = [check(sys.argv[1], model) for model in sys.argv[2:] or MODELS]
    sys.exit(0 if all(results) else 1)


main()
