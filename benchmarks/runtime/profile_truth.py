#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicts a run from the profile of the run before.

Runs a step, makes a profile of its timeline, simulates the step with the
profile, and runs it once more. Prints Markdown: what the profile predicts,
what the next run takes, and by how much they differ.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def run(command, environment):
    """Runs a tool; returns what it printed, or ends the program."""
    result = subprocess.run([str(word) for word in command], text=True,
                            capture_output=True, env=environment)
    if result.returncode:
        sys.exit(f"error: {' '.join(map(str, command))}\n"
                 f"{result.stderr}{result.stdout}")
    return result.stdout


def compare(args, launcher, options, folder):
    """The step of the model, that of the profile, and of the next run."""
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1",
                       OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       COMMSCHED_OPT=str(args.opt.resolve()))
    timeline, costs = folder / "timeline.json", folder / "costs.json"
    command = [*launcher, args.runner, args.step, "--emulate-data=0",
               f"--repeat={args.repeat}", "--format=json", *options]
    run([*command, f"--timeline={timeline}"], environment)
    report = json.loads(run(
        [sys.executable, "-m", "commsched.profile", timeline, "--program",
         args.step, "--output", costs, "--format=json"], environment))
    following = json.loads(run(command, environment))
    step = report["step"]
    return (step["model_ns"], step["predicted_ns"],
            following["step_time_ns"]["measured"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", type=pathlib.Path)
    parser.add_argument("--opt", type=pathlib.Path,
                        default="build/bin/commsched-opt")
    parser.add_argument("--runner", default="build/bin/commsched-run")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=9)
    args = parser.parse_args()

    local = [f"--ranks={args.ranks}"]
    settings = {
        "local, modelled times": ([], [*local, "--modelled-times"]),
        "local, emulated operators": ([], local),
        "mpirun, emulated operators": (
            ["mpirun", "--oversubscribe", "-n", args.ranks], [])}
    print("| ranks | model (ms) | profile (ms) | next run (ms) | difference |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, (launcher, options) in settings.items():
            model, predicted, measured = compare(
                args, launcher, options, pathlib.Path(folder))
            print(f"| {name} | {model / 1e6:.2f} | {predicted / 1e6:.2f} "
                  f"| {measured / 1e6:.2f} "
                  f"| {100 * (measured - predicted) / predicted:+.1f} % |",
                  flush=True)


if __name__ == "__main__":
    main()
