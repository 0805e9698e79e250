# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what reading and writing StableHLO costs commsched-opt: the
processor time of parsing and printing a module, of the same with
convert-stablehlo-to-commsched and convert-commsched-to-stablehlo between, and
of scheduling it. Each time is the least of several runs; the ways take turns.
Writes a table in Markdown."""

import argparse
import pathlib
import resource
import subprocess
import tempfile

from make_module import module

IN = "--convert-stablehlo-to-commsched"
OUT = "--convert-commsched-to-stablehlo"
WAYS = {
    "parse, print": (),
    "parse, in, print": (IN,),
    "parse, in, out, print": (IN, OUT),
    "the same, not verified between": (IN, OUT, "--verify-each=0"),
    "parse, in, schedule, out, print": (IN, "--commsched-schedule", OUT),
}


def seconds(command):
    """Processor time of `command`, user and kernel mode, of all threads."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, timeout=600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    )


def measure(opt, path, ways, runs):
    """The times of each way; the ways take turns, so that other work on the
    machine slows all of them."""
    times = {way: [] for way in ways}
    for _ in range(runs):
        for way in ways:
            command = [opt, "--mlir-disable-threading", *WAYS[way]]
            times[way].append(
                seconds([*command, str(path), "-o", "/dev/null"])
            )
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--opt", default="build/bin/commsched-opt")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument(
        "--operations", type=int, nargs="+", default=[10000, 100000]
    )
    parser.add_argument("--schedule", action="store_true")
    options = parser.parse_args()
    ways = list(WAYS)[: None if options.schedule else -1]
    print("| operations | MB | way | seconds | ratio |")
    print("| ---: | ---: | --- | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "module.mlir")
        for operations in options.operations:
            text = module(operations)
            path.write_text(text)
            times = measure(options.opt, path, ways, options.runs)
            first = min(times[ways[0]])
            for way in ways:
                least = min(times[way])
                print(
                    f"| {operations} | {len(text) / 1e6:.1f} | {way} "
                    f"| {least:.2f} | {least / first:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
