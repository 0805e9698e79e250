#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare a forward and a backward in one schedule with one after the other.

Traced steps of a mixture of experts, whose all-to-alls nothing hides within one
micro-batch:

    one after the other  each function by commsched-schedule
    whole backward       commsched-interleave of the forward and the backward
    split backward       test-commsched-split-backward, then the forward of one
                         micro-batch, the gradients of inputs of another and the
                         gradients of weights of a third in one schedule

Times are simulated, with the costs of the trace. Time is the processor time of
the tool.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks" / "common"))

from measured_steps import (  # noqa: E402
    Failure,
    compare_in_folder,
    make_parser,
    print_header,
    print_row,
    processor_seconds,
    traced,
)

# Label -> options of examples/models/torch_step.py.
STEPS = {
    "16B experts, ep 8": ["--model=deepseek-v3-16b", "--ep=8"],
    "16B experts, ep 32": ["--model=deepseek-v3-16b", "--ep=32"],
}
BUDGETS = (0, 1, 5, 20)
# The trace has no stage before it. The gradient of the embedding, which is the
# first result, depends on all that one would wait for.
SPLIT = "test-commsched-split-backward{input-gradients=0}"
REPORT = "commsched-report{format=json}"
HEADER = ("step", "memory", "one after the other", "whole backward")
HEADER += ("split backward", "bounds, ms", "peaks, GiB", "s")


class Schedule(NamedTuple):
    """What a remark and the report say; times in ms."""

    before: float
    exposed_before: float
    step: float
    exposed: float
    exposed_at_bound: float
    peak_bytes: int
    seconds: float


def interleave(first: str, second: str, name: str, budget: int) -> str:
    return (
        f"commsched-interleave{{first=@{first} second=@{second} name={name} "
        f"memory-budget={budget}%}}"
    )


def measure(opt: str, program: pathlib.Path, passes: list, name: str) -> Schedule:
    """The function that the last of the passes makes."""
    pipeline = f"builtin.module({','.join([*passes, REPORT])})"
    command = [opt, program, "-o", os.devnull, f"--pass-pipeline={pipeline}"]
    command += ["--mlir-disable-threading", "--remarks-filter=commsched"]
    command += ["--remark-policy=all", "--remark-format=emitRemark"]
    before = processor_seconds()
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise Failure(result.stderr.strip().splitlines()[-1])
    seconds = processor_seconds() - before
    remark = re.findall(rf"\] Interleaved .*Function={name} .*", result.stderr)[-1]
    metrics = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", remark)}
    (report,) = [
        line
        for line in map(json.loads, result.stdout.splitlines())
        if line["function"] == name
    ]
    return Schedule(
        before=metrics["StepNsBefore"] / 1e6,
        exposed_before=metrics["ExposedNsBefore"] / 1e6,
        step=report["step_time_ns"] / 1e6,
        exposed=report["exposed_comm_ns"] / 1e6,
        exposed_at_bound=max(
            report["tight_lower_bound_ns"] - report["compute_time_ns"], 0
        )
        / 1e6,
        peak_bytes=report["peak_memory_bytes"],
        seconds=seconds,
    )


def compare_step(label: str, program: pathlib.Path, options: argparse.Namespace):
    for budget in BUDGETS:
        start = [label, f"+{budget} %"]
        whole = measure(
            options.opt,
            program,
            [interleave("forward", "backward", "both", budget)],
            "both",
        )
        split = measure(
            options.opt,
            program,
            [SPLIT, interleave("forward", "backward_input", "both", budget)]
            + [interleave("both", "backward_weight", "all", budget)],
            "all",
        )
        both = (whole, split)
        print_row([
            *start,
            f"{whole.before:.1f} ({whole.exposed_before:.1f})",
            *(f"{each.step:.1f} ({each.exposed:.1f})" for each in both),
            ", ".join(f"{each.exposed_at_bound:.1f}" for each in both),
            ", ".join(f"{each.peak_bytes / 2**30:.1f}" for each in both),
            ", ".join(f"{each.seconds:.1f}" for each in both),
        ])


def compare(options: argparse.Namespace, folder: pathlib.Path):
    print_header(HEADER, 2)
    for label, program in traced(STEPS, options, folder):
        compare_step(label, program, options)


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--traces", help="a folder to keep the traced steps in")
    return compare_in_folder(compare, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
