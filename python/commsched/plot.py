# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draw step time against peak memory.

Run as ``python -m commsched.plot frontier.csv``, with the file that
``commsched-opt --commsched-frontier=file=frontier.csv`` wrote, or the same
as JSON. Each file gets axes of its own, each of its functions a curve. Needs
matplotlib: ``pip install -e './python[plot]'``.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from commsched.output import replacing

COLUMNS = ("function", "peak_bytes", "step_time_ns")
TIMES = (("ns", 1), ("µs", 10**3), ("ms", 10**6))
#: What other schedulers than ours do not say.
OPTIONAL = ("lower_bound_ns", "budget_bytes", "num_collectives")


class FrontierError(ValueError):
    """A file is no frontier; the message names it and says why."""


@dataclass(frozen=True)
class Point:
    """One schedule of a function; without `budget_bytes` of no limit."""

    peak_bytes: int
    step_time_ns: int
    lower_bound_ns: int | None = None
    budget_bytes: int | None = None
    num_collectives: int | None = None


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
        names = [*COLUMNS[1:], *(n for n in OPTIONAL if row.get(n) not in (None, ""))]
        points.append(Point(**{n: _number(where, n, row[n]) for n in names}))
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


def best_points(points: Iterable[Point]) -> list[Point]:
    """Those that no other point beats in both, by peak."""
    best: list[Point] = []
    for point in sorted(points, key=lambda p: (p.peak_bytes, p.step_time_ns)):
        if not best or point.step_time_ns < best[-1].step_time_ns:
            best.append(point)
    return best


def draw(frontiers: Mapping[str, Sequence[Point]]):
    """A matplotlib figure: for each function the step time that a peak allows,
    and, dashed, what no schedule can beat. Points that another point beats in
    both are marks beside the curve."""
    return draw_all({"": frontiers})


def draw_all(
    files: Mapping[str, Mapping[str, Sequence[Point]]],
    longest: float | None = None,
):
    """The same for several files, side by side. A title is above each; a
    function has one color in all of them, and one entry in the legend. Steps
    that take more than `longest` times the shortest one are not shown."""
    from matplotlib.figure import Figure

    columns = min(len(files), 3)
    rows = -(-len(files) // columns)
    size = (7, 4.5) if len(files) == 1 else (5 * columns, 4 * rows)
    # Not transparent: pages that show it may be dark.
    figure = Figure(figsize=size, layout="constrained", facecolor="white")
    grid = list(figure.subplots(rows, columns, squeeze=False).flat)
    colors: dict[str, str] = {}
    labels: dict[str, object] = {}
    for axes, (title, frontiers) in zip(grid, files.items(), strict=False):
        _draw_axes(axes, frontiers, colors)
        _limit_times(axes, frontiers, longest)
        if title:
            axes.set_title(title)
        for line, label in zip(*axes.get_legend_handles_labels(), strict=True):
            labels.setdefault(label, line)
    rest = grid[len(files) :]
    for axes in rest:
        axes.axis("off")
    # Beside the curves if there is room.
    place = {"loc": "center"} if rest else {}
    axes = rest[0] if rest else grid[0]
    axes.legend(labels.values(), labels.keys(), **place)
    return figure


def _limit_times(axes, frontiers, longest: float | None):
    """Ends the time axis at `longest` times the shortest step."""
    if longest is None:
        return
    times = [p.step_time_ns for each in frontiers.values() for p in each]
    unit = _unit(times, TIMES)[1]
    most = min(times) * longest / unit
    if most < axes.get_ylim()[1]:
        least = min(times) / unit
        axes.set_ylim(least - (most - least) / 20, most)


def _draw_axes(axes, frontiers, colors: dict[str, str]):
    points = [point for each in frontiers.values() for point in each]
    memory, memory_size = _unit(
        (point.peak_bytes for point in points),
        [("bytes", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)],
    )
    time, time_size = _unit((point.step_time_ns for point in points), TIMES)

    def draw_line(points, time_of, **style):
        return axes.plot(
            [point.peak_bytes / memory_size for point in points],
            [time_of(point) / time_size for point in points],
            **style,
        )[0]

    for function, each in frontiers.items():
        color = colors.setdefault(function, f"C{len(colors) % 10}")
        best = best_points(each)
        places = {(point.peak_bytes, point.step_time_ns) for point in best}
        others = [p for p in each if (p.peak_bytes, p.step_time_ns) not in places]
        # Between two points the step is that of the one with less memory.
        draw_line(
            best,
            lambda point: point.step_time_ns,
            color=color,
            marker="o",
            drawstyle="steps-post",
            label=function,
        )
        if others:
            draw_line(
                others,
                lambda point: point.step_time_ns,
                color=color,
                marker="x",
                linestyle="",
                alpha=0.4,
            )
        if all(point.lower_bound_ns is not None for point in each):
            draw_line(
                sorted(each, key=lambda point: point.peak_bytes),
                lambda point: point.lower_bound_ns,
                color=color,
                linestyle="--",
                marker="_",
                label=f"{function}: lower bound",
            )
    axes.set_xlabel(f"peak memory [{memory}]")
    axes.set_ylabel(f"step time [{time}]")
    axes.grid(alpha=0.3)


def save(figure, path: str) -> None:
    """Write a figure in the format of the file's ending, the same bytes each
    time. Raises ValueError for an ending that is no format."""
    import matplotlib

    form = os.path.splitext(path)[1].lower()
    metadata = {"Date": None} if form == ".svg" else None
    # Text as text makes small files.
    settings = {"svg.hashsalt": "commsched", "svg.fonttype": "none"}
    with matplotlib.rc_context(settings), replacing(path) as temporary:
        figure.savefig(temporary, dpi=150, metadata=metadata)


def read_files(paths: Sequence[str]):
    """The frontiers of each file, by its title: none if it is the only one."""
    if len(paths) == 1:
        return {"": read_frontiers(paths[0])}
    stems = [os.path.splitext(os.path.basename(path))[0] for path in paths]
    titles = stems if len({*stems}) == len(stems) else paths
    return {
        title: read_frontiers(path)
        for title, path in zip(titles, paths, strict=True)
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m commsched.plot",
        description="Draw step time against peak memory.",
    )
    parser.add_argument(
        "frontiers",
        metavar="FILE",
        nargs="+",
        help="what commsched-frontier wrote, CSV or JSON",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="picture to write, such as .png or .svg (default: beside the "
        "first FILE, as .png)",
    )
    parser.add_argument(
        "--longest",
        type=float,
        metavar="RATIO",
        help="show no steps that take more than RATIO times the shortest one",
    )
    options = parser.parse_args(arguments)
    output = options.output
    if output is None:
        output = os.path.splitext(options.frontiers[0])[0] + ".png"
    try:
        files = read_files(options.frontiers)
        save(draw_all(files, options.longest), output)
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
