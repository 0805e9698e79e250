# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The joint steps of the comparison, and the passes that all its peers share."""

from __future__ import annotations

import json
import os
import pathlib
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks" / "common"))

import measured_steps  # noqa: E402
from measured_steps import Failure, processor_seconds, run  # noqa: E402, F401

EXAMPLE = ROOT / "examples" / "llama3-8b-joint-fsdp64.mlirbc"
# Label -> the options of examples/models/torch_step.py.
STEPS = {
    "llama3-8b-dp64": None,
    "llama3-8b-dp8": ["--model=llama3-8b", "--dp=8"],
    "llama3-70b-dp64": ["--model=llama3-70b", "--dp=64"],
    "llama3-70b-dp8": ["--model=llama3-70b", "--dp=8"],
    "deepseek-16b-ep8": ["--model=deepseek-v3-16b", "--ep=8"],
}
# Those of which PyTorch's scheduler takes a minute or more for a point.
LARGE = ("llama3-70b-dp64", "llama3-70b-dp8")


class Point(NamedTuple):
    """What one setting of a peer makes of a step."""

    setting: str
    peak_bytes: int
    step_time_ns: int
    # Processor time of commsched-opt, where it makes all of the point.
    seconds: float | None = None


class Tools(NamedTuple):
    """Programs and options that all peers share."""

    opt: str
    peers: str
    python: str
    target: str
    timeout: float

    @property
    def estimate(self) -> str:
        return (f"commsched-set-costs{{target={self.target}}},"
                "func.func(commsched-estimate-runtime)")

    def run_passes(self, program, passes: list, *arguments) -> str:
        pipeline = f"builtin.module({','.join(passes)})"
        command = [self.opt, program, "--mlir-print-op-on-diagnostic=false"]
        command += [f"--pass-pipeline={pipeline}", *arguments]
        return run(command, limit=self.timeout)

    def transform(self, program, passes: list, output):
        passes = [self.estimate, *passes]
        self.run_passes(program, passes, "--emit-bytecode", "-o", output)

    def measure(self, program, setting: str, *passes: str) -> Point:
        """The step that calls the halves that a peer, or these passes, have
        made. It stands in front of them."""
        report = "commsched-report{format=json}"
        # What a peer has made has its times, and calls have none of their own.
        times = [self.estimate] if passes else []
        text = self.run_passes(
            program, [*times, *passes, report], "-o", os.devnull
        )
        step = json.loads(text.splitlines()[0])
        return Point(setting, step["peak_memory_bytes"], step["step_time_ns"])


def trace(label: str, folder: pathlib.Path, tools: Tools) -> pathlib.Path:
    """The file of a step, which is traced if it is not there."""
    if STEPS[label] is None:
        return EXAMPLE
    options = ["--joint", "--no-reshard-after-forward", *STEPS[label]]
    path = folder / f"joint-{label}.mlirbc"
    return measured_steps.trace(tools.python, tools.opt, options, path)
