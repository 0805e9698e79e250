# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The curves that the peers make of a joint step."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator

import deepcompile
from steps import ROOT, Failure, Point, Tools, run

FX_OVERLAP = ROOT / "benchmarks" / "peers" / "fx_overlap.py"
# PyTorch's own options of its partitioner.
REFERENCE = "runtime-estimator=flops memory-budget-solver=dp"
# What DeepCompile may use above the peak without prefetch, in percent of it.
HEADROOM = (2, 5, 10, 20, 40)


class Step:
    """A joint step, and a folder for what peers make of it."""

    def __init__(self, program: pathlib.Path, folder: pathlib.Path, tools: Tools):
        self.program = program
        self.folder = folder
        self.tools = tools

    def path(self, name: str) -> pathlib.Path:
        return self.folder / name

    def partition(self, options: str, *before: str) -> pathlib.Path:
        halves = self.path("halves.mlirbc")
        passes = [*before, f"commsched-partition-joint{{{options}}}"]
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
        output = self.path("scheduled.mlirbc")
        passes = [f"commsched-training-pipeline{{{options}}}"]
        self.tools.transform(self.program, passes, output)
        return self.tools.measure(output, setting)


def pytorch(step: Step, fractions, gathers: str) -> Iterator[Point]:
    """The minimum cut at fractions of the activations, then the FX scheduler."""
    for fraction in fractions:
        halves = step.partition(
            f"activation-memory-budget={fraction} collectives={gathers} {REFERENCE}"
        )
        step.dump(halves)
        answer = step.path("answer.json")
        command = [step.tools.python, FX_OVERLAP, step.path("problem.json")]
        command += ["-o", answer, f"--timeout={step.tools.timeout}"]
        run(command, 4 * step.tools.timeout)
        yield step.apply(halves, answer, f"{fraction}")


def today(step: Step, fractions) -> Iterator[Point]:
    """The training pipeline at fractions of the activations."""
    for fraction in fractions:
        yield step.pipeline(f"activation-memory-budget={fraction}", f"{fraction}")


class DeepCompile:
    """Prefetch, then selective gathering, for a memory."""

    def __init__(self, step: Step, partition: str):
        self.step = step
        self.options = f"{partition} {REFERENCE} collectives=recompute"
        self.proposal = self._propose()

    def _propose(self) -> dict:
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
        sync = f"commsched-sync-partition{{proposals={path}}}"
        return self.step.partition(self.options, sync)

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
        least = peer.at(0, f"{name}, least")
        yield least
        for percent in HEADROOM:
            limit = least.peak_bytes * (100 + percent) // 100
            yield peer.at(limit, f"{name}, +{percent} %")


def ours(step: Step, memories: list[int]) -> Iterator[Point]:
    """The training pipeline for a device with each of these memories, ascending.
    Where none is enough, it gives what needs least, which is the next to ask."""
    least = 0
    for memory in memories:
        if memory < least:
            continue
        setting = f"{memory / 2**30:.1f} GiB"
        point = step.pipeline(f"device-memory={memory}", setting)
        yield point
        if point.peak_bytes > memory:
            least = point.peak_bytes
