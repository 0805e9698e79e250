# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The curves that the peers make of a joint step."""

from __future__ import annotations

import csv
import functools
import json
import os
import pathlib
import sys
from collections.abc import Callable, Iterable, Iterator

import deepcompile
from steps import ROOT, Failure, Point, Tools, processor_seconds, run

FX_OVERLAP = ROOT / "benchmarks" / "peers" / "fx_overlap.py"
# PyTorch's own options of its partitioner.
REFERENCE = "runtime-estimator=flops memory-budget-solver=dp"
# What DeepCompile may use above the peak without prefetch, in percent of it.
HEADROOM = (2, 5, 10, 20, 40)


# What ours may use of the host.
HOST_MEMORY = "512GiB"


class Step:
    """A joint step, a folder for what peers make of it, and the points of a peer
    that are known already, by their settings."""

    def __init__(self, program: pathlib.Path, folder: pathlib.Path, tools: Tools):
        self.program = program
        self.folder = folder
        self.tools = tools
        self.known: dict[str, Point] = {}

    def attempt(self, setting: str, make: Callable[[], Point]) -> Iterator[Point]:
        """The point of a setting, if it is known or can be made."""
        if setting in self.known:
            yield self.known[setting]
            return
        try:
            point = make()
        except (Failure, OSError) as error:
            print(f"{self.program}: {setting}: {error}", file=sys.stderr, flush=True)
        else:
            yield point

    def path(self, name: str) -> pathlib.Path:
        return self.folder / name

    def partition(self, options: str) -> pathlib.Path:
        halves = self.path("halves.mlirbc")
        passes = [f"commsched-partition-joint{{{options}}}"]
        self.tools.transform(self.program, passes, halves)
        return halves

    def dump(self, halves: pathlib.Path) -> list[dict]:
        problem = self.path("problem.json")
        run([self.tools.peers, halves, f"--dump={problem}"], self.tools.timeout)
        return json.loads(problem.read_text(encoding="utf-8"))["functions"]

    def apply(self, halves, answer, setting: str) -> Point:
        output = self.path("scheduled.mlirbc")
        command = [self.tools.peers, halves, f"--external=peer={answer}"]
        text = run([*command, f"--output={output}"], self.tools.timeout)
        for line in map(json.loads, text.splitlines()):
            if "error" in line:
                raise Failure(f"{setting}: {line['error']}")
        return self.tools.measure(output, setting)

    def pipeline(self, options: str, setting: str) -> Point:
        before = processor_seconds()
        passes = f"commsched-pipeline{{{options}}}"
        point = self.tools.measure(self.program, setting, passes)
        return point._replace(seconds=round(processor_seconds() - before, 2))

    def frontier(self, options: str) -> list[Point]:
        """The curve that one call of the pipeline writes."""
        before = processor_seconds()
        path = self.path("frontier.csv")
        pipeline = f"commsched-pipeline{{{options} frontier={path}}}"
        passes = [self.tools.estimate, pipeline]
        self.tools.run_passes(self.program, passes, "-o", os.devnull)
        seconds = round(processor_seconds() - before, 2)
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return [
            Point(
                f"frontier, {index}",
                int(row["peak_bytes"]),
                int(row["step_time_ns"]),
                seconds,
            )
            for index, row in enumerate(rows)
        ]


def pytorch(step: Step, fractions, gathers: str) -> Iterator[Point]:
    """The minimum cut at fractions of the activations, then the FX scheduler."""

    def make(fraction: str) -> Point:
        halves = step.partition(
            f"activation-memory-budget={fraction} collectives={gathers} {REFERENCE}"
        )
        step.dump(halves)
        answer = step.path("answer.json")
        command = [step.tools.python, FX_OVERLAP, step.path("problem.json")]
        command += ["-o", answer, f"--timeout={step.tools.timeout}"]
        run(command, 4 * step.tools.timeout)
        return step.apply(halves, answer, fraction)

    for fraction in fractions:
        yield from step.attempt(fraction, functools.partial(make, fraction))


def today(step: Step, fractions) -> Iterator[Point]:
    """The pipeline at fractions of the activations."""
    for fraction in fractions:
        option = f"activation-memory-budget={fraction}"
        yield from step.attempt(
            fraction, functools.partial(step.pipeline, option, fraction)
        )


class DeepCompile:
    """Prefetch, then selective gathering, for a memory."""

    def __init__(self, step: Step, partition: str):
        self.step = step
        self.options = f"{partition} {REFERENCE} collectives=recompute"

    @functools.cached_property
    def proposal(self) -> dict:
        path = self.step.path("proposal.json")
        self.step.partition(f"{self.options} propose={path}")
        return json.loads(path.read_text(encoding="utf-8"))

    def _split(self, kept: list) -> pathlib.Path:
        """The halves in which these gathers are kept."""
        if not kept:
            return self.step.partition(self.options)
        sizes = {v["name"]: v["bytes"] for v in self.proposal["values"]}
        saved = set(self.proposal["saved"])
        saved -= {gather.shard for gather in kept}
        saved |= {gather.value for gather in kept}
        chosen = dict(self.proposal)
        chosen["saved"] = [name for name in sizes if name in saved]
        chosen["saved_bytes"] = sum(sizes[name] for name in chosen["saved"])
        path = self.step.path("chosen.json")
        path.write_text(json.dumps(chosen) + "\n", encoding="utf-8")
        return self.step.partition(f"{self.options} proposals={path}")

    def _prefetch(self, kept: list, limit: int, setting: str):
        halves = self._split(kept)
        functions = [deepcompile.Function(f) for f in self.step.dump(halves)]
        answers = [deepcompile.prefetch(f, limit) for f in functions]
        path = self.step.path("answer.json")
        path.write_text(json.dumps({"functions": answers}), encoding="utf-8")
        return self.step.apply(halves, path, setting), functions

    def at(self, limit: int, setting: str) -> Point:
        point, functions = self._prefetch([], limit, setting)
        available = limit - point.peak_bytes
        kept = deepcompile.choose_persistent(functions, available)
        if not kept:
            return point
        return self._prefetch(kept, limit, setting)[0]


def deep_compile(step: Step, partitions: dict) -> Iterator[Point]:
    """For each partition the memory that it needs without prefetch, and more."""
    for name, options in partitions.items():
        peer = DeepCompile(step, options)

        def attempt(setting: str, limit: int, peer=peer) -> Iterator[Point]:
            return step.attempt(setting, functools.partial(peer.at, limit, setting))

        for least in attempt(f"{name}, least", 0):
            yield least
            for percent in HEADROOM:
                limit = least.peak_bytes * (100 + percent) // 100
                yield from attempt(f"{name}, +{percent} %", limit)


def for_device(memory: int, reserved: int) -> str:
    """The options of a device on which the step may take `memory` beside what
    is reserved."""
    return f"memory-budget={memory + reserved} reserved-bytes={reserved}"


def ours(step: Step, memories: Iterable[int], reserved: int) -> Iterator[Point]:
    """The pipeline for a device with each of these memories, ascending.
    Where none is enough, it gives what needs least, which is the next to ask.
    Then, for the most memory, the frontier that one call gives."""
    least = memory = 0
    for memory in memories:
        if memory < least:
            continue
        make = functools.partial(step.pipeline, for_device(memory, reserved))
        for point in step.attempt(f"{memory}", functools.partial(make, f"{memory}")):
            yield point
            if point.peak_bytes > memory:
                least = point.peak_bytes
    if memory:
        yield from all_at_once(step, for_device(memory, reserved))


def with_host(step: Step, memories: list[int], reserved: int) -> Iterator[Point]:
    """The frontier if saved values may be on the host."""
    if memories:
        options = for_device(memories[-1], reserved)
        yield from all_at_once(step, f"{options} host-memory={HOST_MEMORY}")


def all_at_once(step: Step, options: str) -> Iterator[Point]:
    """The points of a frontier: all are known, or none."""
    first = "frontier, 0"
    if first in step.known:
        yield from (p for s, p in step.known.items() if s.startswith("frontier"))
        return
    points: list[Point] = []

    def make() -> Point:
        points.extend(step.frontier(options))
        return points[0]

    yield from step.attempt(first, make)
    yield from points[1:]
