#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One table from interleaved runs of `reprise bench` and PyTorch (with OpenMP OpenBLAS and tcmalloc, its fastest set-up):
step time and peak memory, ours / theirs, without a limit and at the memory of PyTorch's own checkpointing.

  bench/bench_torch.py REPRISE [--rounds N] [MODEL]...
"""
import argparse, glob, json, math, os, statistics, subprocess, sys
from openblas import BLAS, CORE

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = ["mlp16", "gpt6", "gpt4s", "resnet18", "resnet50", "vgg16", "unet", "lstm512", "rnn512"]
PRELOAD = glob.glob("/usr/lib/*/libtcmalloc_minimal.so.4") + BLAS


def run(command, **extra):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **extra})
    return json.loads(done.stdout) if done.returncode == 0 else None


def torch(model, how):
    command = ["/usr/bin/python3", os.path.join(HERE, "torch_peer.py"), model, "--checkpoint", how]
    return run(command, LD_PRELOAD=":".join(PRELOAD), **CORE)


def ours(reprise, model, budget):
    return run([reprise, "bench", model, "--budget", str(budget), "--json"])


def median_of(runs, key):
    return statistics.median(r[key] for r in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reprise")
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_intermixed_args()
    print(f"{'model':10} {'PyTorch':8} {'theirs s':>9} {'ours s':>9} {'time':>6} {'theirs MiB':>11} {'ours MiB':>9} {'memory':>7}")
    ratios = {}
    for model in options.models:
        for how in ("none", "sqrt", "block"):
            theirs, mine = [], []
            for _ in range(options.rounds):
                theirs.append(torch(model, how))
                budget = "100%" if how == "none" else int(median_of(theirs, "rss_peak_bytes"))
                result = ours(options.reprise, model, budget)
                if result is None:
                    break
                mine.append(result)
            if not mine:
                print(f"{model:10} {how:8} {median_of(theirs, 'step_seconds'):9.3f}   does not fit {budget} bytes", flush=True)
                continue
            time = median_of(mine, "step_seconds") / median_of(theirs, "step_seconds")
            memory = median_of(mine, "rss_peak_bytes") / median_of(theirs, "rss_peak_bytes")
            ratios.setdefault(how, []).append((time, memory))
            print(f"{model:10} {how:8} {median_of(theirs, 'step_seconds'):9.3f} {median_of(mine, 'step_seconds'):9.3f} {time:6.2f} "
                  f"{median_of(theirs, 'rss_peak_bytes') / 2**20:11.0f} {median_of(mine, 'rss_peak_bytes') / 2**20:9.0f} {memory:7.2f}", flush=True)
    for how, pairs in ratios.items():
        mean = [math.exp(statistics.fmean(math.log(pair[i]) for pair in pairs)) for i in (0, 1)]
        print(f"geometric mean, {how}: time {mean[0]:.2f}, memory {mean[1]:.2f} of PyTorch's")


main()
