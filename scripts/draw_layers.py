#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws docs/layers.svg: a step of two layers before and after scheduling.

    scripts/draw_layers.py --opt build/bin/commsched-opt      writes the picture
    scripts/draw_layers.py --opt ... --check                  compares it instead

The step is examples/llama3-2layer-fsdp64.mlirbc, scheduled by commsched-pipeline
with its default budget. What is drawn is what commsched-report simulates.
"""

import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEP = ROOT / "examples" / "llama3-2layer-fsdp64.mlirbc"
PICTURE = ROOT / "docs" / "layers.svg"
TARGET = "h100"

COLORS = {
    "compute": "#4c72b0",
    "wait": "#c44e52",
    "all_gather": "#55a868",
    "reduce_scatter": "#dd8452",
}
LEGEND = {
    "compute": "computation",
    "wait": "waits for communication",
    "all_gather": "gather of parameters",
    "reduce_scatter": "reduction of gradients",
}
WIDTH, LEFT, RIGHT = 880, 76, 20
LANE, GAP = 26, 6
# What is shorter than this part of a pixel apart is drawn as one bar.
JOIN = 0.25


def simulate(opt, passes):
    """The functions of the step after passes, in order: the name, the bars
    (category, begin, end in ns) and the end of each."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        passes = [f"commsched-set-costs{{target={TARGET}}}", *passes,
                  "func.func(commsched-estimate-runtime)",
                  f"commsched-report{{format=trace output={trace}}}"]
        pipeline = f"builtin.module({','.join(passes)})"
        command = [*shlex.split(opt), STEP, f"--pass-pipeline={pipeline}"]
        subprocess.run([*command, "-o", "/dev/null"], check=True)
        events = json.loads(trace.read_text())["traceEvents"]
    names = {e["pid"]: e["args"]["name"].lstrip("@") for e in events
             if e["name"] == "process_name"}
    functions = []
    for pid, name in names.items():
        bars = [(e["cat"], e["ts"] * 1e3, (e["ts"] + e["dur"]) * 1e3)
                for e in events if e["pid"] == pid and e["ph"] == "X"]
        functions.append((name, bars, max(end for _, _, end in bars)))
    return functions


def join(bars, distance):
    """Bars of one category that are close to each other, as one."""
    joined = []
    for category, begin, end in sorted(bars, key=lambda bar: (bar[0], bar[1])):
        last = joined[-1] if joined else None
        if last and last[0] == category and begin - last[2] <= distance:
            last[2] = max(last[2], end)
        else:
            joined.append([category, begin, end])
    return joined


class Picture:
    """The parts of the picture, on one axis of time."""

    def __init__(self, longest_ns):
        self.scale = (WIDTH - LEFT - RIGHT) / longest_ns
        self.parts = []

    def x(self, ns):
        return LEFT + ns * self.scale

    def text(self, x, y, words, anchor="start", style=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
                          f'{style}>{escape(words)}</text>')

    def bar(self, category, x, y, width, height=LANE):
        self.parts.append(f'<rect x="{x:.2f}" y="{y}" width="{max(width, 0.3):.2f}" '
                          f'height="{height}" fill="{COLORS[category]}"/>')

    def line(self, x1, y1, x2, y2, color="#999"):
        self.parts.append(f'<path d="M{x1:.1f} {y1}L{x2:.1f} {y2}" '
                          f'stroke="{color}"/>')

    def step(self, y, title, functions):
        """Two lanes, and above them what runs when. Returns the end in ns."""
        begin, lanes = 0, (y + 24, y + 24 + LANE + GAP)
        for lane, name in zip(lanes, ("compute", "network")):
            self.text(LEFT - 6, lane + 18, name, "end")
        for name, bars, end in functions:
            for category, start, stop in join(bars, JOIN / self.scale):
                lane = lanes[category not in ("compute", "wait")]
                self.bar(category, self.x(begin + start), lane,
                         (stop - start) * self.scale)
            self.line(self.x(begin), y + 6, self.x(begin), lanes[1] + LANE)
            self.text(self.x(begin) + 5, y + 16, name)
            begin += end
        self.line(self.x(begin), y + 6, self.x(begin), lanes[1] + LANE)
        anchor = "end" if self.x(begin) > WIDTH / 2 + 300 else "start"
        place = self.x(begin) + (-5 if anchor == "end" else 5)
        self.text(place, y + 16, f"{title}: {begin / 1e6:.1f} ms", anchor,
                  ' font-weight="bold"')
        return begin

    def legend(self, y):
        x = LEFT
        for category, words in LEGEND.items():
            self.bar(category, x, y - 11, 14, 13)
            self.text(x + 19, y, words)
            x += 45 + 7.4 * len(words)

    def write(self, height):
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} '
            f'{height}" width="{WIDTH}" height="{height}" '
            'font-family="Helvetica, Arial, sans-serif" font-size="14">',
            # Not transparent: pages that show it may be dark.
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
            *self.parts, "</svg>\n"])


def draw(opt):
    """The text of the picture."""
    before = simulate(opt, [])
    after = simulate(opt, ["commsched-pipeline"])
    longest = sum(end for _, _, end in before)
    picture = Picture(longest)
    picture.text(8, 22, "Training step of two layers of Llama 3 8B, parameters "
                 f"sharded over 64 ranks: simulated, target {TARGET}", style=
                 ' font-weight="bold"')
    picture.step(30, "before", before)
    picture.step(130, "after", after)
    picture.legend(250)
    return picture.write(264)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--opt", default="commsched-opt",
                        help="the commsched-opt to run, with options")
    parser.add_argument("--check", action="store_true",
                        help="fail unless the picture is what would be written")
    args = parser.parse_args(argv)
    text = draw(args.opt)
    if not args.check:
        PICTURE.write_text(text, encoding="utf-8")
    elif PICTURE.read_text(encoding="utf-8") != text:
        print(f"{PICTURE} is not what scripts/draw_layers.py draws; run it again",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
