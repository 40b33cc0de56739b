#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `reprise grad` on networks that PyTorch exports in training mode, at full size with random weights, with
PyTorch's own loss (within 1e-5) and gradients (within 1e-3 of the largest element of each), at a budget of 100 % and of 40 %
of what an unlimited run takes (or the least of 50 %, 60 %, ... that has a schedule: weights and gradients are held whole),
which must be equal bit for bit. A gradient that is zero but for rounding (the bias before a batch norm, the bias of
attention's keys) is compared with a millionth of the largest gradient of all. Where rounding to f32 alone makes a larger
difference, as a rectifier on the edge does, ours must be as near to the f64 gradient as PyTorch's f32 one, or as the f64
gradient from weights and inputs moved by one f32 rounding, within a factor of two.

  bench/check_onnx.py REPRISE [NAME]...
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/onnx/fixtures"))
import networks  # noqa: E402


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else None, done.stderr


def gradients_within(reprise, folder, case, budget):
    """What it printed and wrote, and the budget; nothing, and what it said, where that does not fit."""
    out = os.path.join(folder, f"grads{budget.strip('%')}.npz")
    command = [reprise, "grad", os.path.join(folder, "net.onnx"), "--inputs", os.path.join(folder, "in.npz"), "--loss", case.loss,
               "--out", out, "--json", "--budget"]
    status, result, said = run(*command, budget)
    if status == 3:
        return None, said.strip()
    if status != 0:
        sys.exit(f"{' '.join(command)} {budget} failed with status {status}:\n{said}")
    return (result, np.load(out)), budget


def distance(a, b, floor):
    return float(np.abs(a - b).max() / max(np.abs(b).max(), floor))


def exact_gradients(case, floor, draws=4):
    """In f64, and how far each moves at most when weights and inputs are moved by one f32 rounding, in some random ways."""
    case.network.double()
    as_f64 = lambda t: t.double() if t.is_floating_point() else t
    case.inputs, case.target = {k: as_f64(v) for k, v in case.inputs.items()}, as_f64(case.target)
    exact = {name: g.copy() for name, g in networks.gradients(case)[1].items()}
    inputs, state = dict(case.inputs), {k: v.clone() for k, v in case.network.state_dict().items()}
    rounded = lambda t: t * (1 + 2.0**-24 * (2 * torch.rand_like(t) - 1)) if t.is_floating_point() else t
    moved = dict.fromkeys(exact, 0.0)
    for _ in range(draws):
        case.network.load_state_dict({k: rounded(v) for k, v in state.items()})
        case.inputs = {k: rounded(v) for k, v in inputs.items()}
        for name, g in networks.gradients(case)[1].items():
            moved[name] = max(moved[name], distance(g, exact[name], floor))
    return exact, moved


def compare(case, ours):
    loss, theirs = networks.gradients(case)
    floor = 1e-3 * max(np.abs(g).max() for g in theirs.values())  # 1e-3 of that is a millionth of the largest
    rows = [(distance(ours[name], theirs[name], floor), name) for name in ours.files if name != "loss"]
    blurred = [name for far, name in rows if far > 1e-3]
    wrong, far = [], (0, 0, 0)
    if blurred:
        exact, moved = exact_gradients(case, floor)
        apart = {name: (distance(ours[name], exact[name], floor), distance(theirs[name], exact[name], floor), moved[name])
                 for name in blurred}
        wrong = [name for name, (mine, torch_f32, move) in apart.items() if mine > max(1e-3, 2 * torch_f32, 2 * move)]
        far = tuple(max(column) for column in zip(*apart.values()))
    missing = len({id(p) for p in case.network.parameters()}) - (len(ours.files) - 1)
    return abs(float(ours["loss"]) - loss) / abs(loss), max(rows), blurred, wrong, far, missing


def check(reprise, name):
    case = networks.make(networks.FULL, name)
    with tempfile.TemporaryDirectory() as folder:
        networks.export(case, os.path.join(folder, "net.onnx"))
        np.savez(os.path.join(folder, "in.npz"), target=case.target.numpy(), **{k: v.numpy() for k, v in case.inputs.items()})
        size = os.path.getsize(os.path.join(folder, "net.onnx"))
        (whole, ours), _ = gradients_within(reprise, folder, case, "100%")
        less, budget = gradients_within(reprise, folder, case, "40%")
        if less is None:
            print(f"{name:13} 40 % does not fit: {budget}")
            less, budget = next((found, share) for share in ("50%", "60%", "70%", "80%", "90%", "100%")
                                for found, _ in [gradients_within(reprise, folder, case, share)] if found)
        equal = all(np.array_equal(ours[key], less[1][key]) for key in ours.files)
        loss, (apart, where), blurred, wrong, far, missing = compare(case, ours)
    within = less[0]["measured_peak_bytes"] <= less[0]["budget_bytes"]
    ok = loss <= 1e-5 and not wrong and equal and within and missing == 0
    print(f"{name:13} {size / 2**20:6.1f} MiB, {len(ours.files) - 1} gradients: loss {loss:.1e} apart, gradients {apart:.1e} at most "
          f"({where}); {budget} {'equal' if equal else 'DIFFERS'}, {less[0]['measured_peak_bytes'] / 2**20:.1f} of "
          f"{less[0]['budget_bytes'] / 2**20:.1f} MiB, {less[0]['recomputed']} recomputed: {'ok' if ok else 'WRONG'}", flush=True)
    if blurred:
        print(f"{'':13} {len(blurred)} above 1e-3: from f64 ours are {far[0]:.1e} at most, PyTorch's f32 {far[1]:.1e}, "
              f"f64 after roundings {far[2]:.1e}"
              f"{'; too far: ' + ', '.join(wrong) if wrong else ''}", flush=True)
    return ok


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(os.cpu_count() or 1)
    results = [check(sys.argv[1], name) for name in sys.argv[2:] or networks.FULL]
    sys.exit(0 if all(results) else 1)


main()
