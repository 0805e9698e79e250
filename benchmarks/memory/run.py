#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare step time against peak memory on joint steps, with the same costs and
simulator.

Writes the points of every peer to DATA/STEP.json, which `commsched.plot` draws,
and prints tables and what they say about the targets. Points that are in the
file are not made again, unless --again names their peer; --tables runs nothing.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks" / "common"))

import peers  # noqa: E402
import tables  # noqa: E402
from measured_steps import Failure, make_parser  # noqa: E402
from steps import LARGE, STEPS, Tools, trace  # noqa: E402

# Peaks that differ by less are one memory for ours, the smaller one.
NEIGHBORS = 1.03
# In the picture, of the shortest step.
LONGEST = 1.3
FRACTIONS = tuple(f"{tenths / 10}" for tenths in range(10, -1, -1))
# What DeepCompile's passes start from: its own partition saves everything but
# parameters; users recompute with checkpoints, here with fractions.
PARTITIONS = {
    "all saved": "strategy=default",
    "1.0": "activation-memory-budget=1.0",
    "0.5": "activation-memory-budget=0.5",
    "0.2": "activation-memory-budget=0.2",
}


def list_peers(fractions: tuple) -> dict:
    """Name -> the function that makes its points of a step."""
    return {
        "today": lambda step: peers.today(step, fractions),
        "PyTorch, gathers repeated": lambda step: peers.pytorch(
            step, fractions, "recompute"
        ),
        "PyTorch, gathers kept": lambda step: peers.pytorch(step, fractions, "save"),
        "DeepCompile": lambda step: peers.deep_compile(step, PARTITIONS),
    }


def list_memories(curves: dict) -> list[int]:
    """The peaks of the peers' points, ascending, without those that are hardly
    above another, unless ours is longer there than the peer."""
    points = sorted(
        (point.peak_bytes, point.step_time_ns)
        for name, points in curves.items()
        if name not in tables.OURS
        for point in points
    )
    answers = tables.get_answers(curves)
    memories: list[int] = []
    for peak, step_time in points:
        if memories and peak <= memories[-1] * NEIGHBORS:
            best = tables.best_within(answers, peak)
            if peak == memories[-1] or best is None or best <= step_time:
                continue
        memories.append(peak)
    return memories


def run_peer(name, make_points, step, data):
    """Adds the points of a peer to the file of the step, one after the other."""
    for point in make_points(step):
        if point.setting not in step.known:
            print(f"{data.stem}: {name}: {point}", file=sys.stderr, flush=True)
        step.known[point.setting] = point
        points = list(step.known.values())
        tables.write_points(data, {**tables.read_points(data), name: points})


def list_steps(options) -> dict:
    """Label -> the file of a step; None: it is to be traced."""
    if options.programs:
        return {path.stem: path for path in options.programs}
    return {label: None for label in STEPS if re.search(options.steps, label)}


def compare_step(label: str, program, options, tools: Tools):
    data = options.data / f"{label}.json"
    fractions = options.fractions or FRACTIONS[:: 2 if label in LARGE else 1]
    makers = list_peers(tuple(fractions))

    def read_memories():
        return list_memories(tables.read_points(data))

    reserved = options.reserved_bytes

    def make_ours(step):
        return peers.ours(step, read_memories(), reserved)

    def make_with_host(step):
        return peers.with_host(step, read_memories(), reserved)

    mine, host = tables.OURS
    # Last, because their memories are those of the others. The second time ours
    # is asked for the memories of points at which it was longer.
    rounds = [*makers.items(), (mine, make_ours), (mine, make_ours)]
    rounds.append((host, make_with_host))
    known = {
        name: points
        for name, points in tables.read_points(data).items()
        if not (re.search(options.peers, name) and re.search(options.again, name))
    }
    tables.write_points(data, known)
    program = program or trace(label, options.traces, tools)
    with tempfile.TemporaryDirectory() as folder:
        step = peers.Step(program, pathlib.Path(folder), tools)
        for name, make in rounds:
            if re.search(options.peers, name):
                step.known = {p.setting: p for p in known.get(name, [])}
                run_peer(name, make, step, data)
                known[name] = list(step.known.values())


def draw(options):
    files = [options.data / f"{label}.json" for label in list_steps(options)]
    files = [str(file) for file in files if file.exists()]
    command = [options.python, "-m", "commsched.plot", *files]
    command += ["-o", options.picture, f"--longest={LONGEST}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)


def main() -> int:
    parser = make_parser(__doc__)
    add = parser.add_argument
    results = ROOT / "docs" / "results"
    add("programs", nargs="*", type=pathlib.Path, help="instead of the known steps")
    add("--peers", default=".", help="only the peers whose name this matches")
    add("--again", default="$^", help="make points of these again")
    add("--data", type=pathlib.Path, default=results / "data" / "memory")
    add("--traces", type=pathlib.Path, default=ROOT / "build", help="folder of steps")
    add("--fractions", nargs="+", help="of the activations, instead of tenths")
    add(
        "--reserved-bytes",
        type=int,
        default=0,
        help="of optimizer states and the framework, which devices have beside "
        "the memory of a point: ours is the same step",
    )
    add("--target", default="h100", help="preset that prices the operations")
    add("--timeout", type=float, default=600.0, help="seconds of one tool")
    add("--tables", action="store_true", help="only print what was measured")
    add("--picture", type=pathlib.Path, help="file of the curves, such as .svg")
    options = parser.parse_args()
    tools = Tools(
        options.opt, options.tool, options.python, options.target, options.timeout
    )
    try:
        options.data.mkdir(parents=True, exist_ok=True)
        all_curves = {}
        for label, program in list_steps(options).items():
            if not options.tables:
                compare_step(label, program, options, tools)
            curves = tables.read_points(options.data / f"{label}.json")
            if curves:
                tables.print_step(label, curves)
                all_curves[label] = curves
        tables.print_targets(all_curves)
        if options.picture:
            draw(options)
    except (Failure, OSError, subprocess.CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
