# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files of the points, and what is printed of them."""

from __future__ import annotations

import json
import pathlib

from steps import Point  # Adds the folder of the others.
from measured_steps import print_header, print_row

OURS = ("ours", "ours with host memory")
# By how many percent ours is to be shorter in the middle of PyTorch's curves.
TARGET = 5
HEADER = ("peer", "setting", "peak, GiB", "peer, ms", "ours, ms", "ours / peer")


def read_points(path: pathlib.Path) -> dict[str, list[Point]]:
    """The points of every peer; none if there is no file."""
    curves: dict[str, list[Point]] = {}
    if path.exists():
        for row in json.loads(path.read_text(encoding="utf-8")):
            curves.setdefault(row.pop("function"), []).append(Point(**row))
    return curves


def write_points(path: pathlib.Path, curves: dict[str, list[Point]]):
    """Writes a frontier, as `commsched.plot` reads it, with a line for each peer."""
    lines = []
    for name in sorted(curves):
        rows = [{"function": name, **point._asdict()} for point in curves[name]]
        rows = [{k: v for k, v in row.items() if v is not None} for row in rows]
        lines.append(", ".join(json.dumps(row) for row in rows))
    path.write_text("[" + ",\n".join(filter(None, lines)) + "]\n", encoding="utf-8")


def get_answers(curves: dict[str, list[Point]]) -> list[Point]:
    """Ours, one call for each memory, which is the setting."""
    points = [p for p in curves.get(OURS[0], []) if p.setting.isdigit()]
    return sorted(points, key=lambda point: int(point.setting))


def best_within(answers: list[Point], peak_bytes: int) -> int | None:
    """The shortest step of ours for no more memory, if it fits."""
    times = [
        point.step_time_ns
        for point in answers
        if max(int(point.setting), point.peak_bytes) <= peak_bytes
    ]
    return min(times, default=None)


def middle_of(points: list[Point]) -> Point:
    """Of the points that no other point beats in both, the one that is closest to
    the middle between their least and their most memory."""
    curve: list[Point] = []
    for point in sorted(points, key=lambda p: (p.peak_bytes, p.step_time_ns)):
        if not curve or point.step_time_ns < curve[-1].step_time_ns:
            curve.append(point)
    middle = (curve[0].peak_bytes + curve[-1].peak_bytes) / 2
    return min(curve, key=lambda point: abs(point.peak_bytes - middle))


def list_peers_of(curves) -> list[str]:
    return [name for name in curves if name not in OURS]


def list_longer(curves) -> list[tuple[str, Point, int | None]]:
    """The points of peers at whose memory ours is longer, or does not fit."""
    answers = get_answers(curves)
    found = []
    for name in list_peers_of(curves):
        for point in curves[name]:
            best = best_within(answers, point.peak_bytes)
            if best is None or best > point.step_time_ns:
                found.append((name, point, best))
    return found


def get_gain(point: Point, best: int) -> float:
    """By how many percent a step of ours is shorter."""
    return 100 * (1 - best / point.step_time_ns)


def find_gain(curves, name: str) -> tuple[Point, float] | None:
    """The middle of a peer's curve, and by how many percent ours is shorter."""
    if name not in curves:
        return None
    point = middle_of(curves[name])
    best = best_within(get_answers(curves), point.peak_bytes)
    return (point, get_gain(point, best)) if best else None


def find_gain_with_host(curves, point: Point) -> float | None:
    """By how many percent the best point of the frontier with the host is
    shorter that needs no more memory of the device."""
    times = [
        other.step_time_ns
        for other in curves.get(OURS[1], [])
        if other.peak_bytes <= point.peak_bytes
    ]
    return get_gain(point, min(times)) if times else None


def count_descents(answers: list[Point]) -> int:
    """How often the next larger memory gives a longer step."""
    fitting = [p for p in answers if p.peak_bytes <= int(p.setting)]
    pairs = zip(fitting, fitting[1:], strict=False)
    return sum(a.step_time_ns < b.step_time_ns for a, b in pairs)


def _get_seconds(points: list[Point], is_frontier: bool) -> list[float]:
    seconds = [
        point.seconds
        for point in points
        if point.seconds is not None
        and point.setting.startswith("frontier") == is_frontier
    ]
    return sorted(seconds[:1] if is_frontier else seconds)


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f}"


def _ms(time_ns: int | None) -> str:
    return f"{time_ns / 1e6:,.1f}" if time_ns else "-"


def print_step(label: str, curves: dict[str, list[Point]]):
    """A row for every point of every peer: what ours makes of its memory. What
    the host buys, and the points at which ours is longer."""
    print(f"## {label}\n")
    answers = get_answers(curves)
    print_header(HEADER, 2)
    for name in list_peers_of(curves):
        for point in sorted(curves[name], key=lambda p: -p.peak_bytes):
            best = best_within(answers, point.peak_bytes)
            print_row(
                [name, point.setting, _gib(point.peak_bytes)]
                + [_ms(point.step_time_ns), _ms(best)]
                + [f"{best / point.step_time_ns:.3f}" if best else "-"]
            )
    print()
    _print_host(curves)
    longer = list_longer(curves) if answers else []
    for name, point, best in longer:
        print(
            f"- longer than {name}, {point.setting} "
            f"({_gib(point.peak_bytes)} GiB): {_ms(best)} ms, not "
            f"{_ms(point.step_time_ns)}"
        )
    print("\n" * bool(longer), end="")


def _print_host(curves):
    """What host memory buys: both frontiers."""
    rows = sorted(
        (point.peak_bytes, name, point)
        for name in OURS
        for point in curves.get(name, [])
        if point.setting.startswith("frontier")
    )
    if not rows:
        return
    print_header(("frontier of", "peak, GiB", "step, ms"), 1)
    for _, name, point in rows:
        print_row([name, _gib(point.peak_bytes), _ms(point.step_time_ns)])
    print()


SUMMARY = (
    "step",
    "points of peers",
    "ours longer",
    "gathers kept, middle",
    "gathers repeated, middle",
    "more memory, longer step",
    "s a memory, median",
    "most",
    "s a frontier",
    "with host",
)


def _show_gain(curves, name: str) -> str:
    found = find_gain(curves, name)
    if not found:
        return "-"
    point, gain = found
    with_host = find_gain_with_host(curves, point)
    host = f" ({-with_host:+.1f} % with host)" if with_host is not None else ""
    return f"{-gain:+.1f} %{host} at {_gib(point.peak_bytes)} GiB"


def _summarize(label: str, curves) -> list[str]:
    mine, host = (curves.get(name, []) for name in OURS)
    seconds = _get_seconds(mine, is_frontier=False)
    number = sum(len(curves[name]) for name in list_peers_of(curves))
    cells = [label, number, len(list_longer(curves))]
    cells += [_show_gain(curves, f"PyTorch, gathers {w}") for w in ("kept", "repeated")]
    cells.append(count_descents(get_answers(curves)))
    times = [seconds[len(seconds) // 2 :][:1], seconds[-1:]]
    times += [_get_seconds(points, is_frontier=True) for points in (mine, host)]
    cells += [f"{time[0]:.1f}" if time else "-" for time in times]
    return [str(cell) for cell in cells]


def _print_fractions(compared):
    """By how much ours is shorter at every fraction that PyTorch was given."""
    names = [
        (label, name)
        for label, curves in compared.items()
        for name in list_peers_of(curves)
        if name.startswith("PyTorch")
    ]
    fractions = sorted(
        {p.setting for label, name in names for p in compared[label][name]},
        reverse=True,
    )
    if not names:
        return
    print_header(("step", "peer", *fractions), 2)
    for label, name in names:
        points = {p.setting: p for p in compared[label][name]}
        answers = get_answers(compared[label])
        cells = [label, name]
        for fraction in fractions:
            point = points.get(fraction)
            best = best_within(answers, point.peak_bytes) if point else None
            cells.append(f"{-get_gain(point, best):+.1f} %" if best else "")
        print_row(cells)
    print()


def print_targets(all_curves: dict[str, dict[str, list[Point]]]):
    """A row for every step, and whether the targets are met."""
    compared = {
        label: curves for label, curves in all_curves.items() if get_answers(curves)
    }
    if not compared:
        return
    print("## Targets\n")
    print_header(SUMMARY, 1)
    for label, curves in compared.items():
        print_row(_summarize(label, curves))
    print()
    _print_fractions(compared)
    longer = sum(len(list_longer(curves)) for curves in compared.values())
    points = sum(
        len(curves[name])
        for curves in compared.values()
        for name in list_peers_of(curves)
    )
    gains = [
        found[1]
        for curves in compared.values()
        for name in list_peers_of(curves)
        if name.startswith("PyTorch") and (found := find_gain(curves, name))
    ]
    print(
        f"- {_judge(not longer)}: at the memory of every point of every peer ours is "
        f"never longer (longer at {longer} of {points})"
    )
    if gains:
        print(
            f"- {_judge(min(gains) >= TARGET)}: in the middle of PyTorch's curves ours "
            f"is at least {TARGET} % shorter ({min(gains):.1f} to {max(gains):.1f} %)"
        )


def _judge(is_met: bool) -> str:
    return "met" if is_met else "missed"
