#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every `reprise` line of a page's shell examples as it stands there.
    run_docs.py TOOL PAGE..."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def commands(page):
    for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.S):
        for line in block.splitlines():
            if re.match(r"\S*reprise ", line):
                yield re.sub(r"^\S*reprise ", "reprise ", line)


def prepare(folder, tool):
    """What the examples speak of: net.json, run/, net.onnx with its inputs and samples, and the tool itself."""
    (folder / "bin").mkdir()
    (folder / "bin/reprise").symlink_to(pathlib.Path(tool).resolve())
    shutil.copytree(ROOT / "examples", folder / "examples")
    shutil.copy(ROOT / "examples/ten_nodes.json", folder / "net.json")
    shutil.copy(ROOT / "tests/onnx/fixtures/resnet.onnx", folder / "net.onnx")
    shutil.copy(ROOT / "tests/onnx/fixtures/resnet.npz", folder / "in.npz")
    random = numpy.random.default_rng(1)
    numpy.savez(folder / "samples.npz", x=random.normal(size=(200, 3, 16, 16)), y=random.integers(0, 3, 200))
    os.environ["PATH"] = f"{folder / 'bin'}:{os.environ['PATH']}"
    (folder / "run").mkdir()
    run(folder, "reprise plan net.json --budget 70% -o run/plan.json")


def run(folder, line):
    began = time.monotonic()
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"status {done.returncode}: {line}\n{done.stderr}")
    print(f"ok, {time.monotonic() - began:.1f} s: {line}")


def run_page(page, tool):
    lines = list(commands(page))
    if not lines:
        sys.exit(f"{page} has no example")
    with tempfile.TemporaryDirectory() as name:
        prepare(pathlib.Path(name), tool)
        for line in lines:
            run(pathlib.Path(name), line)


path = os.environ["PATH"]
for page in sys.argv[2:]:
    os.environ["PATH"] = path
    run_page(pathlib.Path(page), sys.argv[1])
