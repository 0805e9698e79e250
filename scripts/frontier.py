# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the frontiers of step time and peak memory that commsched-frontier
writes, adds them up for a step of several functions, prints and draws them."""
import csv
import importlib.util
import os
import pathlib
import sys
from dataclasses import dataclass

from tools import memory, milliseconds, percent, run

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "python"


@dataclass(frozen=True)
class Point:
    """What a budget (None: no limit) leads to."""

    budget: int | None
    peak: int
    step: int
    bound: int
    collectives: int


def read(path):
    """The points of each function, both in the order of the file."""
    frontiers = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            budget = row["budget_bytes"]
            frontiers.setdefault(row["function"], []).append(Point(
                int(budget) if budget else None, int(row["peak_bytes"]),
                int(row["step_time_ns"]), int(row["lower_bound_ns"]),
                int(row["num_collectives"])))
    return frontiers


def add_up(frontiers):
    """The points of the step in which one function runs after the other: for
    each budget the shortest schedules of all that keep it."""
    added = []
    for peak in sorted({p.peak for points in frontiers for p in points}):
        chosen = [min((p for p in points if p.peak <= peak),
                      key=lambda p: p.step, default=None)
                  for points in frontiers]
        if None in chosen:
            continue
        point = Point(peak, max(p.peak for p in chosen),
                      *(sum(getattr(p, key) for p in chosen)
                        for key in ("step", "bound", "collectives")))
        if not added or point.step < added[-1].step:
            added.append(point)
    return added


COLUMNS = (
    ("budget", lambda p: "none" if p.budget is None else memory(p.budget)),
    ("peak memory", lambda p: memory(p.peak)),
    ("step time", lambda p: milliseconds(p.step)),
    ("above bound", lambda p: percent(p.step, p.bound)),
    ("collectives", lambda p: str(p.collectives)),
)


def print_table(frontiers):
    """Prints the points of each function, and those of a step of several."""
    rows = list(frontiers.items())
    if len(rows) > 1:
        rows.append(("whole step", add_up(frontiers.values())))
    print_rows(rows)


def print_rows(rows):
    """Prints points by their names, a list of pairs."""
    width = max(len(name) for name, _ in rows)
    print(f"  {'':{width}}" + "".join(f"{heading:>14}" for heading, _ in COLUMNS))
    for name, points in rows:
        for index, point in enumerate(points):
            print(f"  {'' if index else name:{width}}"
                  + "".join(f"{show(point):>14}" for _, show in COLUMNS))


def draw(path, picture):
    """Draws the file; False where matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        return False
    run(sys.executable, "-m", "commsched.plot", path, "-o", picture,
        env={**os.environ, "PYTHONPATH": str(PACKAGE)})
    return True
