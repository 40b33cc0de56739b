#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the built-in models with PyTorch's, from the same weights on the same batch: the first three losses (within
1e-4) and every parameter's gradient (within 1e-3 of its largest element), in f64, where all must agree within 1e-6, and in f32.

A rectifier whose input is nearer to 0 than the rounding of its sum moves the gradients of all layers before it, so that f32 programs agree
in networks of them only where they add in the same order (docs/architecture.md), and PyTorch with one thread does not agree with itself with two.
- Of resnet50 that shows in the third loss: weights that differ in a last bit after the first step are enough. If all else agrees, both programs
  are therefore compared again from PyTorch's own weights after the first step: two losses, and the second step's gradients; and the third
  loss may be three times as far off as PyTorch's own losses are with one thread, or PyTorch's own f32 ones from its f64 ones.
- On a CPU where PyTorch adds otherwise: the first loss must agree as above, and the f32 comparison is made again from weights that keep
  rectifiers off their edge (torch_peer.py --off-the-edge).
  There some gradients are thousands of times smaller than others, since the next norm undoes what a norm's bias adds, and rounding
  decides more in them (also which of two equals a pooling takes): no gradient need be nearer than 1e-7 of the largest of all.

  bench/check_torch.py REPRISE [MODEL]...
"""
import json, os, subprocess, sys, tempfile
import numpy as np
from openblas import CORE

HERE = os.path.dirname(os.path.abspath(__file__))
RESTARTED = ["resnet50"]  # trained by plain SGD, which has no state
MODELS = ["gpt4s", "mlp16", "rnn512", "lstm512", "gpt6", "resnet18", "unet", "resnet50", "vgg16"]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **CORE})
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed with status {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout)


def distance(a, b, size):
    return float(np.abs(a - b).max() / size) if a.shape == b.shape and np.isfinite(a).all() and np.isfinite(b).all() else np.inf


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


def relative(pairs):
    return max(abs(a - b) / abs(b) if np.isfinite([a, b]).all() else np.inf for a, b in pairs)


def run_torch(model, folder, *options):
    return run("/usr/bin/python3", os.path.join(HERE, "torch_peer.py"), model, "--dump", folder, "--steps", "3", *options)


class Comparison:
    """Our steps in f32, from the weights and the batch that PyTorch wrote into a folder, and PyTorch's losses of the same steps. Differences of
    a gradient are told as a share of its largest element, or of `floor` times the largest gradient of all if that is more."""

    def __init__(self, reprise, model, folder, theirs, floor=0):
        self.reprise, self.model, self.folder, self.theirs = reprise, model, folder, theirs
        self.dumped = Dumped(folder)
        self.theirs_in_f32 = {name: self.dumped.read("gradient", name) for name in self.dumped.names("gradient")}
        sizes = {name: float(np.abs(gradient).max()) for name, gradient in self.theirs_in_f32.items()}
        self.sizes = {name: max(size, floor * max(sizes.values()), 1e-30) for name, size in sizes.items()}
        ours, gradients = self.run_ours(np.float32, "losses")
        self.losses = [relative([pair]) for pair in zip(ours, theirs["losses"], strict=True)]
        self.gradients, self.where = self.farthest(gradients, self.theirs_in_f32)

    def farthest(self, some, others):
        return max((distance(some[name], others[name], self.sizes[name]), name) for name in others)

    def run_ours(self, dtype, losses, *options):
        """Our losses, and our gradients by name."""
        with tempfile.TemporaryDirectory() as folder:
            ours = run(self.reprise, "bench", self.model, "--steps", str(len(self.theirs["losses"])), "--init", self.folder, "--gradients", folder,
                       "--estimate", "--json", *options)
            if ours["params"] != self.theirs["params"]:
                sys.exit(f"{self.model} has {ours['params']} parameters, PyTorch's {self.theirs['params']}")
            return ours[losses], {name: np.fromfile(os.path.join(folder, name + ".bin"), dtype) for name in self.theirs_in_f32}

    def agrees(self):
        return max(self.losses) <= 1e-4 and self.gradients <= 1e-3

    def exact(self):
        return {name: self.dumped.read("exact", name) for name in self.theirs_in_f32}

    def their_noise(self):
        """How far PyTorch's f32 gradients are from its f64 ones."""
        return self.farthest(self.theirs_in_f32, self.exact())[0]

    def theirs_in_another_order(self):
        """How far PyTorch's f32 losses and gradients are from its own with another number of threads, which adds in another order."""
        with tempfile.TemporaryDirectory() as folder:
            other = run_torch(self.model, folder, "--threads", "1")
            dumped = Dumped(folder)
            gradients = {name: dumped.read("gradient", name) for name in self.theirs_in_f32}
            return relative(zip(other["losses"], self.theirs["losses"])), self.farthest(gradients, self.theirs_in_f32)[0]

    def in_f64(self):
        """How far our f64 losses and gradients are from PyTorch's."""
        losses, gradients = self.run_ours(np.float64, "exact_losses", "--exact")
        return relative(zip(losses, self.theirs["exact_losses"])), self.farthest(gradients, self.exact())[0]

    def __str__(self):
        losses = " ".join(f"{apart:.1e}" for apart in self.losses)
        return f"losses {losses} apart, gradients {self.gradients:.1e} at most ({self.where})"


def agrees_one_step_later(started):
    """From PyTorch's weights after the first step."""
    theirs = {**started.theirs, "losses": started.theirs["losses"][1:]}
    later = Comparison(started.reprise, started.model, os.path.join(started.folder, "next"), theirs)
    print(f"{'':10} from PyTorch's weights after the first step: {later}", flush=True)
    return later.agrees()


def agrees_off_the_edge(started, folder):
    theirs = run_torch(started.model, folder, "--off-the-edge")
    moved = Comparison(started.reprise, started.model, folder, theirs, 1e-4)
    print(f"{'':10} off the edge: {moved}; PyTorch's own from f64 {moved.their_noise():.1e}", flush=True)
    return moved.agrees()


def agrees_in_f64(started):
    losses, gradients = started.in_f64()
    print(f"{'':10} in f64: losses {losses:.1e} apart, gradients {gradients:.1e} at most", flush=True)
    return max(losses, gradients) <= 1e-6


def check(reprise, model):
    with tempfile.TemporaryDirectory() as folder:
        at = os.path.join(folder, "started")
        started = Comparison(reprise, model, at, run_torch(model, at))
        print(f"{model:10} {started}; PyTorch's own from f64 {started.their_noise():.1e}", flush=True)
        ok = started.agrees()
        if not ok:
            losses, gradients = started.theirs_in_another_order()
            print(f"{'':10} PyTorch's own with one thread: losses {losses:.1e} apart, gradients {gradients:.1e} at most", flush=True)
            if model in RESTARTED and started.gradients <= 1e-3 and max(started.losses[:2]) <= 1e-4:
                rounding = relative(zip(started.theirs["losses"], started.theirs["exact_losses"]))
                ok = agrees_one_step_later(started) and started.losses[2] <= 3 * max(losses, rounding)
            elif started.losses[0] <= 1e-4:
                ok = agrees_off_the_edge(started, os.path.join(folder, "moved"))
        ok = agrees_in_f64(started) and ok
    print(f"{'':10} {'ok' if ok else 'DIFFERS'}", flush=True)
    return ok


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    results = [check(sys.argv[1], model) for model in sys.argv[2:] or MODELS]
    sys.exit(0 if all(results) else 1)


main()
