# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files of the points, and what is printed of them."""

from __future__ import annotations

import csv
import pathlib

from steps import Point

OURS = "ours"
COLUMNS = ("function", "setting", "peak_bytes", "step_time_ns")
HEADER = ("step", "peer", "setting", "peak, GiB", "peer, ms", "ours, ms", "ours / peer")


def read_points(path: pathlib.Path) -> dict[str, list[Point]]:
    """The points of every peer; none if there is no file."""
    curves: dict[str, list[Point]] = {}
    if path.exists():
        with open(path, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                point = Point(
                    row["setting"], int(row["peak_bytes"]), int(row["step_time_ns"])
                )
                curves.setdefault(row["function"], []).append(point)
    return curves


def write_points(path: pathlib.Path, curves: dict[str, list[Point]]):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for name in sorted(curves):
            writer.writerows((name, *point) for point in curves[name])


def best_within(points: list[Point], peak_bytes: int) -> int | None:
    """The shortest step of those that need no more memory."""
    times = [p.step_time_ns for p in points if p.peak_bytes <= peak_bytes]
    return min(times, default=None)


def middle_of(points: list[Point]) -> Point:
    """The point that is closest to the middle between the least and the most
    memory of a curve."""
    peaks = [point.peak_bytes for point in points]
    middle = (min(peaks) + max(peaks)) / 2
    return min(points, key=lambda point: abs(point.peak_bytes - middle))


def _print_row(cells):
    print("| " + " | ".join(cells) + " |")


def print_step(label: str, curves: dict[str, list[Point]]):
    """A row for every point of every peer: what ours makes of its memory."""
    mine = curves.get(OURS, [])
    _print_row(HEADER)
    _print_row(["---"] * 3 + ["---:"] * (len(HEADER) - 3))
    longer = []
    for name, points in curves.items():
        if name == OURS:
            continue
        for point in sorted(points, key=lambda p: -p.peak_bytes):
            best = best_within(mine, point.peak_bytes)
            ratio = best / point.step_time_ns if best else None
            if ratio is None or ratio > 1:
                longer.append((name, point.setting))
            _print_row(
                [label, name, point.setting, f"{point.peak_bytes / 2**30:.1f}"]
                + [f"{point.step_time_ns / 1e6:,.1f}"]
                + [f"{best / 1e6:,.1f}" if best else "-"]
                + [f"{ratio:.3f}" if ratio else "-"]
            )
    print()
    if mine:
        _print_summary(label, curves, longer)


def _print_summary(label, curves, longer):
    print(f"- {label}: ours is longer, or needs more memory, at {len(longer)} points")
    for name, setting in longer:
        print(f"  - {name}, {setting}")
    for name, points in curves.items():
        if name.startswith("PyTorch"):
            point = middle_of(points)
            best = best_within(curves[OURS], point.peak_bytes)
            if best:
                gain = 100 * (1 - best / point.step_time_ns)
                print(
                    f"- {label}: in the middle of {name} "
                    f"({point.peak_bytes / 2**30:.1f} GiB): {gain:.1f} % shorter"
                )
    print()
