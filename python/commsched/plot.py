# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draw step time against peak memory.

Run as ``python -m commsched.plot frontier.csv``, with the file that
``commsched-opt --commsched-frontier=file=frontier.csv`` wrote, or the same
as JSON. Needs matplotlib: ``pip install -e './python[plot]'``.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

COLUMNS = ("function", "peak_bytes", "step_time_ns", "lower_bound_ns")


class FrontierError(ValueError):
    """A file is no frontier; the message names it and says why."""


@dataclass(frozen=True)
class Point:
    """One schedule of a function."""

    peak_bytes: int
    step_time_ns: int
    lower_bound_ns: int


def read_frontiers(path: str) -> dict[str, list[Point]]:
    """The points of each function, both in the order of the file.

    Raises FrontierError if the file is none, and OSError if it cannot be read.
    """
    frontiers: dict[str, list[Point]] = {}
    for where, row in _read_rows(path):
        missing = [name for name in COLUMNS if row.get(name) is None]
        if missing:
            raise FrontierError(f"{where} has no '{missing[0]}'")
        points = frontiers.setdefault(str(row["function"]), [])
        points.append(Point(*(_number(where, n, row[n]) for n in COLUMNS[1:])))
    if not frontiers:
        raise FrontierError(f"{path} has no points")
    return frontiers


def _read_rows(path: str) -> Iterable[tuple[str, Mapping]]:
    """The rows of a file, each with where it stands."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            if not path.endswith(".json"):
                reader = csv.DictReader(file, strict=True)
                return [(f"{path}:{reader.line_num}", r) for r in reader]
            rows = json.load(file)
    except (UnicodeDecodeError, csv.Error, json.JSONDecodeError) as error:
        raise FrontierError(f"{path} is no frontier: {error}") from error
    if not isinstance(rows, list):
        raise FrontierError(f"{path} is no frontier: not an array")
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            raise FrontierError(f"{path}: entry {index} is not an object")
    return [(f"{path}: entry {index}", r) for index, r in enumerate(rows)]


def _number(where: str, name: str, value: object) -> int:
    # True is an int to Python, and int() takes 1.5 and "1_0".
    text = str(value)
    if not (text.isascii() and text.isdigit()):
        raise FrontierError(
            f"{where}: '{name}' is not a number of at least 0, but '{text}'"
        )
    return int(text)


def _unit(values: Iterable[int], units: Sequence[tuple[str, int]]):
    """The largest unit that the largest value has at least one of."""
    largest = max(values)
    fitting = [unit for unit in units if unit[1] <= largest]
    return fitting[-1] if fitting else units[0]


def draw(frontiers: Mapping[str, Sequence[Point]]):
    """A matplotlib figure: for each function the step time that a peak allows,
    and, dashed, what no schedule can beat."""
    from matplotlib.figure import Figure

    points = [point for each in frontiers.values() for point in each]
    memory, memory_size = _unit(
        (point.peak_bytes for point in points),
        [("bytes", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)],
    )
    time, time_size = _unit(
        (point.step_time_ns for point in points),
        [("ns", 1), ("µs", 10**3), ("ms", 10**6)],
    )
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for function, each in frontiers.items():
        each = sorted(each, key=lambda point: point.peak_bytes)
        peaks = [point.peak_bytes / memory_size for point in each]
        steps = [point.step_time_ns / time_size for point in each]
        bounds = [point.lower_bound_ns / time_size for point in each]
        # Between two points the step is that of the one with less memory.
        (line,) = axes.plot(
            peaks, steps, marker="o", drawstyle="steps-post", label=function
        )
        axes.plot(
            peaks,
            bounds,
            color=line.get_color(),
            linestyle="--",
            marker="_",
            label=f"{function}: lower bound",
        )
    axes.set_xlabel(f"peak memory [{memory}]")
    axes.set_ylabel(f"step time [{time}]")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def save(figure, path: str) -> None:
    """Write a figure in the format of the file's ending, the same bytes each
    time. Raises ValueError for an ending that is no format."""
    import matplotlib

    form = os.path.splitext(path)[1].lower()
    metadata = {"Date": None} if form == ".svg" else None
    with matplotlib.rc_context({"svg.hashsalt": "commsched"}):
        figure.savefig(path, dpi=150, metadata=metadata)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m commsched.plot",
        description="Draw step time against peak memory.",
    )
    parser.add_argument(
        "frontier",
        metavar="FILE",
        help="what commsched-frontier wrote, CSV or JSON",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="picture to write, such as .png or .svg (default: beside FILE, "
        "as .png)",
    )
    options = parser.parse_args(arguments)
    output = options.output
    if output is None:
        output = os.path.splitext(options.frontier)[0] + ".png"
    try:
        save(draw(read_frontiers(options.frontier)), output)
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        print(
            "error: this needs matplotlib: pip install -e './python[plot]'",
            file=sys.stderr,
        )
        return 1
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
