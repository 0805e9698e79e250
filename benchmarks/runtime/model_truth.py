#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares predicted and measured steps.

Runs a step before and after scheduling, first on threads that sleep as long as
the model says, then under mpirun with real collectives, of which the predicted
times come from a table measured on the same machine. Operators are emulated in
both. Prints Markdown: the predicted and the measured step, and their ratio.

With --iterations, the step repeats, as linked functions, as one scheduled
function, and as a steady state; the table has the period, the time from one
repetition to the next.
"""
import argparse
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks" / "common"))

from measured_steps import MPI, compare_in_folder, run  # noqa: E402


def transform(args, pipeline, profile, folder):
    """The step behind a pipeline, by the predicted times of the profile if
    any; without a pipeline, the step as it is."""
    if pipeline is None:
        return args.step
    path = folder / "after.mlir"
    options = f"profile={profile}" if profile else ""
    run([args.opt, args.step, "-o", path, "--pass-pipeline=builtin.module("
         f"func.func(commsched-estimate-runtime{{{options}}}),"
         f"{pipeline.format(options)})"])
    return path


def measure(args, step, launcher, options):
    """The predicted and the measured time of the step, or the period."""
    if args.iterations:
        options = [*options, f"--iterations={args.iterations}"]
    text = run([*launcher, args.runner, step, "--emulate-data=0",
                f"--repeat={args.repeat}", "--format=json", *options],
               env=os.environ | MPI)
    return json.loads(text)["period_ns" if args.iterations else "step_time_ns"]


# What is done to the step; options go where the braces are.
ONCE = {"before": None, "after": "commsched-pipeline{{{}}}"}
REPEATED = {
    "functions": None,
    "one function": "test-commsched-merge-step,commsched-pipeline{{{}}}",
    "steady state": "commsched-pipeline{{steady-state {}}}"}


def compare(args, folder):
    local = [], [f"--ranks={args.ranks}", "--modelled-times"], None
    settings = {"local, modelled times": local}
    if args.profile:
        mpirun = ["mpirun", "--oversubscribe", "-n", str(args.ranks)]
        settings["mpirun, emulated operators"] = (
            mpirun, [f"--profile={args.profile}"], args.profile)
    what = "period" if args.iterations else "step"
    print(f"| ranks | {what} | predicted (ms) | measured (ms) | ratio |")
    print("|---|---|---|---|---|")
    variants = REPEATED if args.iterations else ONCE
    for name, (launcher, options, profile) in settings.items():
        for variant, pipeline in variants.items():
            step = transform(args, pipeline, profile, folder)
            time = measure(args, step, launcher, options)
            print(f"| {name} | {variant} | {time['predicted'] / 1e6:.2f} "
                  f"| {time['measured'] / 1e6:.2f} "
                  f"| {time['measured'] / time['predicted']:.3f} |",
                  flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", type=pathlib.Path)
    parser.add_argument("--opt", default="build/bin/commsched-opt")
    parser.add_argument("--runner", default="build/bin/commsched-run")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--profile", type=pathlib.Path,
                        help="measured collectives of this machine, for mpirun")
    parser.add_argument("--iterations", type=int,
                        help="repeat the step so many times, at least 6")
    args = parser.parse_args()
    if args.iterations is not None and args.iterations < 6:
        parser.error("--iterations must be at least 6: the period is that of "
                     "the second half")
    return compare_in_folder(compare, args)


if __name__ == "__main__":
    sys.exit(main())
