#!/usr/bin/env python3
# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure how long a browser takes for the page of a step.

The page has each step twice, before and after scheduling. It is opened in
Chromium without a window; needs selenium, and Debian's chromium and
chromium-driver. Times are medians of the runs, in milliseconds.
"""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAKE = ROOT / "testsupport" / "steps" / "make_step.py"
# From the beginning of the navigation until the first picture is complete.
OPENED = "return Number(document.documentElement.dataset.drawn);"
# One picture after the other, of the whole step and of a hundredth of it.
DRAWN = """
  const {view} = timeline;
  const times = [1, 0.01].map((part) => {
    view.show(0.4 * view.endNs, (0.4 + part) * view.endNs);
    const begin = performance.now();
    for (let i = 0; i < 20; ++i) timeline.drawNow();
    return (performance.now() - begin) / 20;
  });
  return Math.max(...times);
"""
SEARCHED = """
  const begin = performance.now();
  search('mm');
  return performance.now() - begin;
"""
LISTED = """
  const begin = performance.now();
  fillLive(mainVersion(), timeline.view.endNs / 2, false);
  return performance.now() - begin;
"""


def make_browser():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu",
                     "--window-size=1440,900"):
        options.add_argument(argument)
    return webdriver.Chrome(options, Service(shutil.which("chromedriver")))


def make_steps(folder):
    """Llama 3 70B as it is, and with more layers than it has."""
    for title, layers in (("70b", 80), ("70b, 800 layers", 800)):
        path = folder / f"{layers}.mlir"
        with path.open("w") as file:
            subprocess.run([sys.executable, MAKE, "--model=70b",
                            f"--layers={layers}"], stdout=file, check=True)
        yield title, path


def write_page(opt, step, page, passes):
    begin = time.monotonic()
    subprocess.run([opt, step, "-o", "/dev/null", *passes,
                    "--commsched-report=format=html "
                    f"before={step} output={page}"], check=True)
    return time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("steps", nargs="*", type=pathlib.Path,
                        help="modules to show (default: steps of make_step.py)")
    parser.add_argument("--opt", default="build/bin/commsched-opt")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--schedule", action="store_true",
                        help="schedule the steps within 5 %% more memory first")
    args = parser.parse_args()
    passes = ["--commsched-pipeline=memory-budget=5%"] * args.schedule
    browser = make_browser()
    print("| step | operations | page, MB | written, s | opened, ms | "
          "a picture, ms | a search, ms | live values, ms |")
    print("| --- |" + " ---: |" * 7)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        page = folder / "page.html"
        steps = ([(step.stem, step) for step in args.steps]
                 or make_steps(folder))
        for title, step in steps:
            written = write_page(args.opt, step, page, passes)
            times = []
            for _ in range(args.runs):
                browser.get("about:blank")
                browser.get(page.as_uri())
                times.append([browser.execute_script(script) for script in
                              (OPENED, DRAWN, SEARCHED, LISTED)])
            operations = browser.execute_script(
                "return functions.flatMap(({versions}) => versions).reduce("
                "(sum, {step}) => sum + step.figures.num_ops, 0);")
            medians = [statistics.median(column)
                       for column in zip(*times, strict=True)]
            print(f"| {title} | {operations} | "
                  f"{page.stat().st_size / 1e6:.1f} | {written:.1f} | "
                  f"{medians[0]:.0f} | "
                  + " | ".join(f"{each:.1f}" for each in medians[1:]) + " |",
                  flush=True)
    browser.quit()


if __name__ == "__main__":
    main()
