# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that ranks with noisy times schedule alike once these are aligned.

Every rank has the same random programs (random_steps.py), but times that are off
by up to 20 %. Aligned, all ranks must have the medians, as computed
here, and then the same text after scheduling; without, at least one schedule of
all must come out in another order, or the check would prove nothing. Passes
that look at no times need no alignment.
"""

import argparse
import os
import random
import re
import statistics
import sys

from printed_steps import Tool
from random_steps import PROLOGUE, generate

TIME = re.compile(r"(commsched\.runtime_ns = )(\d+)")
NAMED_TIME = re.compile(r'commsched\.name = "(\w+)"[^}]*?commsched\.runtime_ns = (\d+)')
COMMS = "commsched-reorder-comms-preserving-peak-memory"
SINK = "commsched-sink-waits-iterative"
TIMED = [
    "func.func(commsched-reorder-compute-for-overlap)",
    f"func.func({COMMS}{{reorder_iterative_use_runtime_estimations}},"
    f"{SINK}{{sink_iterative_use_runtime_estimations}})",
    "func.func(commsched-schedule)",
    "commsched-pipeline{memory-budget=10%}",
]
UNTIMED = [
    f"func.func({COMMS},{SINK},commsched-simple-overlap)",
    "commsched-inductor-pipeline",
]


def add_noise(text, rng):
    return TIME.sub(
        lambda m: m[1] + str(round(int(m[2]) * rng.uniform(0.8, 1.2))), text)


def read_times(text):
    """The time of every named operation."""
    return {name: int(time) for name, time in NAMED_TIME.findall(text)}


def check(tool, folder, num_ranks, source, rng):
    """How many of the schedules differ without alignment."""
    def run(text, pipeline):
        return tool.run(text, pipeline)[0].decode()

    texts = [add_noise(source, rng) for _ in range(num_ranks)]
    files = [os.path.join(folder, f"{rank}.json") for rank in range(num_ranks)]
    for text, file in zip(texts, files):
        run(text, f"commsched-align-runtimes{{output={file}}}")

    align = f"commsched-align-runtimes{{ranks={','.join(files)}}}"
    aligned = [run(text, align) for text in texts]
    if len(set(aligned)) != 1:
        sys.exit("the aligned programs differ")
    measured = [read_times(text) for text in texts]
    medians = {name: statistics.median_low(times[name] for times in measured)
               for name in measured[0]}
    if read_times(aligned[0]) != medians:
        sys.exit("the aligned times are not the medians")

    for schedule in TIMED:
        scheduled = {run(text, f"{align},{schedule}") for text in texts}
        if len(scheduled) != 1:
            sys.exit(f"{schedule} differs for the aligned programs")
    differing = 0
    for schedule in TIMED + UNTIMED:
        alone = {TIME.sub("", run(text, schedule)) for text in texts}
        if schedule in UNTIMED and len(alone) != 1:
            sys.exit(f"{schedule} looks at times")
        differing += len(alone) > 1
    return differing


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", nargs=argparse.REMAINDER,
                        help="commsched-opt and options for all of its runs")
    parser.add_argument("--functions", type=int, default=200)
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", required=True, help="where the ranks' files go")
    arguments = parser.parse_args()
    # Small times hardly change when rounded.
    source = TIME.sub(r"\g<1>\g<2>000", PROLOGUE + "".join(
        f.text for f in generate(arguments.functions, arguments.seed)))
    differing = check(Tool(arguments.tool), arguments.folder, arguments.ranks,
                      source, random.Random(arguments.seed))
    if not differing:
        sys.exit("the noise changes no order: nothing is shown")
    print(f"{arguments.functions} functions, {arguments.ranks} ranks: all well")


if __name__ == "__main__":
    main()
