#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser: it draws, pointing at a bar tells its value, the keys work, and nothing complains.
    browser.py TOOL"""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from chromium import Chromium  # noqa: E402

TOOL = sys.argv[1]
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' 层 🚀 "


def chain(depth, size, prefix):
    """A problem as training makes it: forward, and back along the same values."""
    nodes = [{"name": prefix + "x", "cost": 0, "bytes": size, "pinned": True, "group": "batch"}]
    for i in range(depth):
        nodes.append({"name": f"{prefix}{i}", "cost": 1 + i % 3, "bytes": size, "inputs": [nodes[-1]["name"]],
                      "group": "activations"})
    for i in reversed(range(depth)):
        reads = [nodes[-1]["name"], f"{prefix}{i - 1}" if i else prefix + "x"]
        nodes.append({"name": f"{prefix}{i}.grad", "cost": 1, "bytes": size, "inputs": list(dict.fromkeys(reads)),
                      "group": "gradients"})
    return {"nodes": nodes, "outputs": [nodes[-1]["name"]]}


def keep_all(problem):
    """The plan that runs everything once and drops nothing, each value in a place of its own."""
    nodes = problem["nodes"]
    layout, top = [], 0
    for i, node in enumerate(nodes):
        begin = 0 if node.get("pinned") else i
        layout.append({"value": node["name"], "from": begin, "to": len(nodes), "offset": top, "bytes": node["bytes"]})
        top += node["bytes"]
    cost = sum(node["cost"] for node in nodes)
    return {"steps": [["run", node["name"]] for node in nodes], "layout": layout, "budget_bytes": top, "peak_bytes": top,
            "cost": cost, "lower_bound": cost, "problem": problem}


def report(folder, source, name, *options):
    path = folder / name
    subprocess.run([TOOL, "report", source, "-o", path, *options], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return path


def expect(is_true, what):
    if not is_true:
        raise SystemExit("FAILED: " + what)
    print("ok: " + what)


def box(browser, name):
    return browser.value(f"(()=>{{const b=document.getElementById('{name}').getBoundingClientRect();"
                         "return [b.left,b.top,b.width,b.height]})()")


def painted(browser, name):
    """How many colours a canvas shows."""
    return browser.value(
        f"(()=>{{const c=document.getElementById('{name}'),d=c.getContext('2d').getImageData(0,0,c.width,c.height).data;"
        "const s=new Set();for(let i=0;i<d.length;i+=44)s.add(d[i]<<16|d[i+1]<<8|d[i+2]);return s.size})()")


def hover_tips(browser, name):
    """What the tip says at a grid of points."""
    browser.value(f"document.getElementById('{name}').scrollIntoView({{block:'center'}})")
    left, top, width, height = box(browser, name)
    tips = []
    for across in (0.2, 0.35, 0.5, 0.65):
        for down in (0.3, 0.5, 0.7, 0.85):
            browser.point(left + across * width, top + down * height)
            tips.append(browser.value("document.getElementById('tip').hidden ? '' : document.getElementById('tip').innerText"))
    return [tip for tip in tips if tip]


def check_page(browser, path, values):
    browser.open(path)
    expect(browser.value("document.documentElement.dataset.ready") == "yes", f"{path.name}: the script ran to its end")
    expect(painted(browser, "memory") > 3 and painted(browser, "layout") > 3, f"{path.name}: both pictures are drawn")
    names = browser.value("JSON.parse(document.getElementById('data').textContent).values.name")
    expect(len(names) >= values, f"{path.name}: {len(names)} values are there")
    tips = hover_tips(browser, "layout")
    told = [tip for tip in tips if tip.split("\n")[0].strip() in {name.strip() for name in names}]
    expect(told and any("iB" in tip or " B" in tip for tip in told), f"{path.name}: pointing at a bar tells its value")
    expect(any("kept" in tip or "recomputed" in tip for tip in told), f"{path.name}: and whether it is kept or recomputed")
    expect(any("in memory" in tip for tip in hover_tips(browser, "memory")), f"{path.name}: pointing at memory splits it")


def check_keys(browser):
    browser.value("document.getElementById('layout').focus()")
    heard = []
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "End"):
        browser.press(key)
        heard.append(browser.value("document.getElementById('told').textContent"))
    expect(all(heard) and len(set(heard)) > 1, "the arrow keys walk from value to value")
    browser.value("document.getElementById('by-step').click()")
    browser.value("document.getElementById('zoom-in').click()")
    browser.value("(()=>{const f=document.getElementById('find');f.value='grad';f.dispatchEvent(new Event('input'))})()")
    expect("found" in browser.value("document.getElementById('found').textContent"), "values are found by name")
    browser.value("document.getElementById('zoom-all').click()")


def check_themes(browser):
    def page_color():
        return browser.value("getComputedStyle(document.body).backgroundColor")
    browser.prefer("light")
    light = page_color()
    browser.prefer("dark")
    expect(page_color() != light, "the page follows light and dark")
    browser.value("document.getElementById('theme').click()")
    expect(page_color() == light, "and the button turns it")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "evil.json").write_text(json.dumps(chain(14, 1 << 20, EVIL)))
        (folder / "metrics.jsonl").write_text("".join(
            json.dumps({"step": i, "loss": 4 / i, "lr": 0.1 / i}) + "\n" for i in range(1, 200)))
        evil = report(folder, folder / "evil.json", "evil.html", "--budget", "60%", "--points", "4", "--iterations", "200",
                      "--title", EVIL, "--metrics", folder / "metrics.jsonl")
        (folder / "large.json").write_text(json.dumps(keep_all(chain(10_000, 4096, "layer."))))
        large = report(folder, folder / "large.json", "large.html", "--points", "0")
        with Chromium() as browser:
            check_page(browser, evil, 25)
            expect("alert(1)" in browser.value("document.querySelector('h1').textContent"), "markup in names is shown as text")
            expect(browser.value("document.querySelectorAll('svg.chart').length") == 3, "the curves are drawn")
            check_keys(browser)
            check_themes(browser)
            check_page(browser, large, 20_000)
            expect(not browser.complaints, "nothing complained: " + "; ".join(browser.complaints))
            if len(sys.argv) > 2:
                browser.screenshot(sys.argv[2])


main()
