#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicts runs of a step from the profile of another run.

Runs a step, makes a profile of the timeline of its repetitions, simulates the
step with the profile, and runs it once more, several times. Prints Markdown:
what the profiles predict, and by how much the medians of the profiled runs and of
the next ones differ from that. How far these two are apart is what the machine
changes from run to run.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks" / "common"))

from measured_steps import MPI, compare_in_folder, run  # noqa: E402


def try_once(args, launcher, options, folder):
    """The step in ns by the model, by the profile of a run, as measured in this
    run, and in the next one."""
    environment = os.environ | MPI
    environment["COMMSCHED_OPT"] = str(args.opt.resolve())
    timeline, costs = folder / "timeline.json", folder / "costs.json"
    command = [*launcher, args.runner, args.step, "--emulate-data=0",
               f"--repeat={args.repeat}", "--format=json", *options]
    profiled = json.loads(run(
        [*command, f"--timeline={timeline}", "--timeline-runs=all"],
        env=environment))
    report = json.loads(run(
        [sys.executable, "-m", "commsched.profile", timeline, "--program",
         args.step, "--output", costs, "--format=json"], env=environment))
    following = json.loads(run(command, env=environment))
    return (report["step"]["model_ns"], report["step"]["predicted_ns"],
            profiled["step_time_ns"]["measured"],
            following["step_time_ns"]["measured"])


def describe(percents):
    """The median and the range of differences in percent."""
    return (f"{statistics.median(percents):+.1f} % "
            f"({min(percents):+.1f} to {max(percents):+.1f})")


def print_row(name, tries):
    model, predicted = (statistics.median(t[i] for t in tries) for i in (0, 1))
    own, following = ([100 * (t[i] - t[1]) / t[1] for t in tries]
                      for i in (2, 3))
    print(f"| {name} | {model / 1e6:.2f} | {predicted / 1e6:.2f} "
          f"| {describe(own)} | {describe(following)} |", flush=True)


def compare(args, folder):
    local = [f"--ranks={args.ranks}"]
    settings = {
        "local, modelled times": ([], [*local, "--modelled-times"]),
        "local, emulated operators": ([], local),
        "mpirun, emulated operators": (
            ["mpirun", "--oversubscribe", "-n", str(args.ranks)], [])}
    print("| ranks | model (ms) | profile (ms) | profiled run | next run |")
    print("|---|---|---|---|---|")
    for name, (launcher, options) in settings.items():
        print_row(name, [try_once(args, launcher, options, folder)
                         for _ in range(args.tries)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", type=pathlib.Path)
    parser.add_argument("--opt", type=pathlib.Path,
                        default="build/bin/commsched-opt")
    parser.add_argument("--runner", default="build/bin/commsched-run")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=15,
                        help="measured runs of the step in each run")
    parser.add_argument("--tries", type=int, default=5)
    return compare_in_folder(compare, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
