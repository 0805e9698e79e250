# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that ranks with noisy times schedule alike once these are aligned.

Every rank has the same random programs (random_programs.py), but times that
are off by up to 20 %. Aligned, all ranks must have the medians, as computed
here, and then the same text after scheduling; without, at least one function
must come out in another order, or the check would prove nothing. Passes that
look at no times need no alignment.
"""

import argparse
import os
import random
import re
import statistics
import sys

from check_schedules import run
from random_programs import PROLOGUE, generate

TIME = re.compile(r"(commsched\.runtime_ns = )(\d+)")
NAMED_TIME = re.compile(
    r'commsched\.name = "(\w+)"[^}]*?commsched\.runtime_ns = (\d+)')
COMMS = "commsched-reorder-comms-preserving-peak-memory"
SINK = "commsched-sink-waits-iterative"
TIMED = [
    "func.func(commsched-reorder-compute-for-overlap)",
    f"func.func({COMMS}{{reorder_iterative_use_runtime_estimations}},"
    f"{SINK}{{sink_iterative_use_runtime_estimations}})",
    "func.func(commsched-schedule)",
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", nargs=argparse.REMAINDER,
                        help="commsched-opt and options for all of its runs")
    parser.add_argument("--functions", type=int, default=200)
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", required=True,
                        help="where the ranks' files go")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    functions = generate(arguments.functions, arguments.seed)
    # Small times hardly change when rounded.
    source = TIME.sub(r"\g<1>\g<2>000",
                      PROLOGUE + "".join(f.text for f in functions))
    texts = [add_noise(source, rng) for _ in range(arguments.ranks)]
    files = [os.path.join(arguments.folder, f"{rank}.json")
             for rank in range(arguments.ranks)]
    for text, file in zip(texts, files):
        run(arguments.tool, text, f"commsched-align-runtimes{{output={file}}}")

    align = f"commsched-align-runtimes{{ranks={','.join(files)}}}"
    aligned = [run(arguments.tool, text, align) for text in texts]
    if len(set(aligned)) != 1:
        sys.exit("the aligned programs differ")
    measured = [read_times(text) for text in texts]
    medians = {name: statistics.median_low(times[name] for times in measured)
               for name in measured[0]}
    if read_times(aligned[0]) != medians:
        sys.exit("the aligned times are not the medians")

    for schedule in TIMED:
        scheduled = {run(arguments.tool, text, f"{align},{schedule}")
                     for text in texts}
        if len(scheduled) != 1:
            sys.exit(f"{schedule} differs for the aligned programs")
    for schedule in TIMED + UNTIMED:
        alone = {TIME.sub("", run(arguments.tool, text, schedule))
                 for text in texts}
        if schedule in TIMED and len(alone) == 1:
            sys.exit(f"the noise changes no order of {schedule}: nothing is "
                     "shown")
        if schedule in UNTIMED and len(alone) != 1:
            sys.exit(f"{schedule} looks at times")
    print(f"{len(functions)} functions, {arguments.ranks} ranks: all well")


if __name__ == "__main__":
    main()
