#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of words, upright or upside down, to learn the difference from: an npz with x f32[n,channels,height,width] from
-1 to 1 and y, 0 for upright and 1 for upside down.

  render_words.py OUT.npz [--count N] [--size HEIGHTxWIDTH] [--seed N]
"""
import argparse
import glob
import gzip
import pathlib
import re

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

TEXT = pathlib.Path(__file__).resolve().parent.parent / "data/pride-and-prejudice.txt.gz"
FONTS = sorted(glob.glob("/usr/share/fonts/truetype/**/*.ttf", recursive=True))


def words():
    """Of three letters and more, in the three ways people write them."""
    found = sorted(set(re.findall(r"[a-z]{3,12}", gzip.open(TEXT, "rt", encoding="utf-8").read().lower())))
    return [form for word in found for form in (word, word.capitalize(), word.upper())]


def picture(random, word, is_upside_down, height, width):
    """Dark on light or light on dark, a little turned, blurred and noisy; as wide as it needs to be."""
    font = ImageFont.truetype(FONTS[random.integers(len(FONTS))], int(random.integers(height // 2, height)))
    left, top, right, bottom = font.getbbox(word)
    page = Image.new("L", (right - left + 12, bottom - top + 12), int(random.integers(150, 256)))
    ink = int(random.integers(0, 90))
    ImageDraw.Draw(page).text((6 - left, 6 - top), word, fill=ink, font=font)
    page = page.rotate(float(random.uniform(-4, 4)), resample=Image.BILINEAR, expand=True, fillcolor=page.getpixel((0, 0)))
    scale = min(height / page.height, width / page.width)
    page = page.resize((max(1, int(page.width * scale)), max(1, int(page.height * scale))), Image.BILINEAR)
    page = page.filter(ImageFilter.GaussianBlur(float(random.uniform(0, 1.2))))
    if is_upside_down:
        page = page.rotate(180)
    whole = Image.new("L", (width, height), page.getpixel((0, 0)))
    whole.paste(page, (0, (height - page.height) // 2))
    levels = np.asarray(whole, np.float32) / 127.5 - 1
    levels = np.clip(levels + random.normal(0, 0.08, levels.shape), -1, 1)
    return -levels if random.random() < 0.3 else levels


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out")
    arguments.add_argument("--count", type=int, default=2000)
    arguments.add_argument("--size", default="48x192")
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    height, width = map(int, options.size.split("x"))
    random, known = np.random.default_rng(options.seed), words()
    x, y = np.empty((options.count, 3, height, width), np.float32), random.integers(0, 2, options.count)
    for i in range(options.count):
        x[i] = picture(random, known[random.integers(len(known))], y[i], height, width)
    np.savez(options.out, x=x, y=y)
    print(f"{options.count} pictures of {len(known)} words in {len(FONTS)} fonts: {options.out}")


main()
