#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run a small training step on ranks, before and after scheduling it.

The ranks are threads of one process. First both versions run on the same inputs
and their results are compared bit by bit; then each is timed, with collectives
and operators that take as long as the model of the machine says.
"""
import argparse
import json
import pathlib
import sys

from tools import Failure, memory, run


def compare(runner, ranks, before, after):
    """The line that says how much was compared; raises if anything differs."""
    lines = run(runner, after, "--ranks", ranks, f"--compare={before}")
    return lines.strip().splitlines()[-1]


def measure(runner, ranks, step, repeat):
    """The measurements of the step, as JSON."""
    return json.loads(run(runner, step, "--ranks", ranks, "--modelled-times",
                          "--emulate-data=0", f"--repeat={repeat}",
                          "--format=json"))


def milliseconds(ns):
    return f"{ns / 1e6:,.2f} ms"


ROWS = (
    ("step time", "step_time_ns", milliseconds),
    ("peak memory", "peak_memory_bytes", memory),
)


def print_table(before, after):
    print(f"  {'':24}{'before':>22}{'after':>22}")
    print(f"  {'':24}" + f"{'predicted':>11}{'measured':>11}" * 2)
    for label, key, show in ROWS:
        cells = [show(step[key][side]) for step in (before, after)
                 for side in ("predicted", "measured")]
        print(f"  {label:24}" + "".join(f"{cell:>11}" for cell in cells))
    counts = [len(step["collectives"]) for step in (before, after)]
    print(f"  {'collectives':24}{counts[0]:>22}{counts[1]:>22}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", type=pathlib.Path,
                        help="MLIR text or bytecode of the step")
    parser.add_argument("--opt", default="commsched-opt",
                        help="the commsched-opt to run")
    parser.add_argument("--runner", default="commsched-run",
                        help="the commsched-run to run")
    parser.add_argument("--ranks", type=int, default=4,
                        help="ranks of the step (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=5,
                        help="timed runs of each version, of which the median "
                        "is printed (default: %(default)s)")
    parser.add_argument("--output-dir", type=pathlib.Path, default=".",
                        help="where the scheduled step goes")
    args = parser.parse_args(argv)

    after = args.output_dir / (args.step.stem + ".scheduled.mlir")
    try:
        args.output_dir.mkdir(parents=True, exist_ok=True)
        run(args.opt, args.step, "--commsched-pipeline", "-o", after)
        verdict = compare(args.runner, args.ranks, args.step, after)
        measured = [measure(args.runner, args.ranks, step, args.repeat)
                    for step in (args.step, after)]
    except (Failure, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{args.step} on {args.ranks} ranks, before and after scheduling")
    print(f"  results: {verdict}")
    for text in filter(None, measured[1]["evidence"].values()):
        print(f"  {text}")
    print_table(*measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())
