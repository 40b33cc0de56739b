#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `reprise grad` on networks that PyTorch exports in training mode, at full size with random weights, with
PyTorch's own loss (within 1e-5) and gradients (within 1e-3 of the largest element of each), at a budget of 100 % and of 40 %
of what an unlimited run takes, which must be equal bit for bit. Where one op reads and writes more than 40 % of a batch's share,
the batch is worked through in parts (see PARTS), with both budgets: 100 % is then still what the whole batch takes at once.
A gradient that is zero but for rounding (the bias before a batch norm, the bias of attention's keys) is compared with a
millionth of the largest gradient of all.

Networks with batch norms are compared twice. As PyTorch starts them, half of all rectifiers work around their edge, and f32
gradients of any two programs, or of PyTorch and itself in f64, are up to 10 % apart: they are compared in f64, on two samples,
within 1e-6. In f32 they are compared with other weights of their batch norms, where rounding decides next to nothing.

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


# What comes in and goes out of VGG-16's second convolution is 42 % of what a picture takes in all.
PARTS = {"vgg16": 16}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else None, done.stderr


def gradients_within(reprise, folder, case, budget, parts=1):
    """What it printed and wrote; nothing where no schedule fits, which is said."""
    out = os.path.join(folder, f"grads{budget.strip('%')}.npz")
    command = [reprise, "grad", os.path.join(folder, "net.onnx"), "--inputs", os.path.join(folder, "in.npz"), "--loss", case.loss,
               "--out", out, "--json", "--budget", budget, "--accumulate", str(parts)]
    status, result, said = run(*command)
    if status == 3:
        print(said, end="", flush=True)
        return None
    if status != 0:
        sys.exit(f"{' '.join(command)} failed with status {status}:\n{said}")
    return result, np.load(out)


def distance(a, b, floor):
    return float(np.abs(a - b).max() / max(np.abs(b).max(), floor))


def compare(case, ours, parts=1):
    loss, theirs = networks.gradients(case, parts)
    floor = 1e-3 * max(np.abs(g).max() for g in theirs.values())  # 1e-3 of that is a millionth of the largest
    rows = [(distance(ours[name], theirs[name], floor), name) for name in ours.files if name != "loss"]
    missing = len({id(p) for p in case.network.parameters()}) - len(rows)
    return abs(float(ours["loss"]) - loss) / abs(loss), rows, missing


def apart_in_f64(reprise, name):
    """The largest distance of the same network's gradients in f64, on two samples."""
    case = networks.make(networks.FULL, name)
    case.network.double()
    in_f64 = lambda t: t[:2].double() if t.is_floating_point() else t[:2]
    case.inputs, case.target = {k: in_f64(v) for k, v in case.inputs.items()}, in_f64(case.target)
    with tempfile.TemporaryDirectory() as folder:
        write(case, folder)
        _, ours = gradients_within(reprise, folder, case, "100%")
        return max(compare(case, ours)[1])[0]


def write(case, folder):
    networks.export(case, os.path.join(folder, "net.onnx"))
    np.savez(os.path.join(folder, "in.npz"), target=case.target.numpy(), **{k: v.numpy() for k, v in case.inputs.items()})


def check(reprise, name):
    case = networks.make(networks.FULL, name)
    exact = apart_in_f64(reprise, name) if networks.off_the_edge(case) else 0
    with tempfile.TemporaryDirectory() as folder:
        write(case, folder)
        size = os.path.getsize(os.path.join(folder, "net.onnx"))
        all_memory, ours = gradients_within(reprise, folder, case, "100%")
        parts, whole = PARTS.get(name, 1), all_memory["budget_bytes"]
        if parts > 1:
            all_memory, ours = gradients_within(reprise, folder, case, str(whole), parts)
        less = gradients_within(reprise, folder, case, "40%" if parts == 1 else str(whole * 2 // 5), parts)
        if less is None:
            print(f"{name:13} has no schedule within 40 %: WRONG", flush=True)
            return False
        equal = all(np.array_equal(ours[key], less[1][key]) for key in ours.files)
        loss, rows, missing = compare(case, ours, parts)
    peak, budget = less[0]["measured_peak_bytes"], less[0]["budget_bytes"]
    ok = loss <= 1e-5 and max(rows)[0] <= 1e-3 and exact <= 1e-6 and equal and peak <= budget and missing == 0
    print(f"{name:13} {size / 2**20:6.1f} MiB, {len(rows)} gradients: loss {loss:.1e} apart, gradients {max(rows)[0]:.1e} at most "
          f"({max(rows)[1]}){f', in f64 {exact:.1e}' if exact else ''}; {100 * budget / whole:.0f} % of {whole / 2**20:.1f} MiB "
          f"{f'in {parts} parts ' if parts > 1 else ''}{'equal' if equal else 'DIFFERS'}, {less[0]['recomputed']} recomputed: "
          f"{'ok' if ok else 'WRONG'}", flush=True)
    return ok


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(os.cpu_count() or 1)
    results = [check(sys.argv[1], name) for name in sys.argv[2:] or networks.FULL]
    sys.exit(0 if all(results) else 1)


main()
