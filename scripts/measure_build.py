#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the processor time of a cold build, and compares revisions.

    scripts/measure_build.py [REVISION ...] [--jobs N]

For the working tree and for every REVISION, builds in new folders, without a
compiler cache, what scripts/demo.sh builds and then the rest of what
scripts/test.sh builds, and prints user plus system seconds of all processes,
with the ratio to the first row. A revision whose two scripts use two presets is
built twice, as its scripts do. All rows come from one run, so that they share
the state of the machine.
"""
import argparse
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def used_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(command, cwd):
    """Runs a command without a compiler cache; exits with its output on failure."""
    environment = dict(os.environ, CCACHE_DISABLE="1")
    done = subprocess.run(command, cwd=cwd, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed in {cwd}:\n"
                 f"{done.stdout[-4000:]}")


def build_steps(tree):
    """The (preset, targets) of the demo and of the tests, from the scripts."""
    steps = []
    for script in ("demo.sh", "test.sh"):
        text = (tree / "scripts" / script).read_text(encoding="utf-8")
        match = re.search(r"^build (\S+) (.*)$", text.replace("\\\n", " "),
                          re.MULTILINE)
        steps.append((match[1], match[2].split()))
    return steps


def measure(tree, jobs):
    """Processor seconds of building for the demo, and for demo and tests."""
    seconds, configured = [], set()
    begin = used_seconds()
    for preset, targets in build_steps(tree):
        if preset not in configured:
            run(["cmake", "--preset", preset], tree)
            configured.add(preset)
        run(["cmake", "--build", "--preset", preset, "--parallel", str(jobs),
             "--target", *targets], tree)
        seconds.append(used_seconds() - begin)
    return seconds


def check_out(revision, folder):
    """A clone of the repository at `revision` ('': the working tree's files)."""
    tree = pathlib.Path(folder) / (revision or "working-tree")
    run(["git", "clone", "--quiet", "--shared", "--no-checkout", ROOT, tree],
        ROOT)
    run(["git", "checkout", "--quiet", revision or "HEAD"], tree)
    if not revision:
        patch = subprocess.run(["git", "diff", "--binary", "HEAD"], cwd=ROOT,
                               check=True, capture_output=True).stdout
        if patch:
            subprocess.run(["git", "apply", "-"], cwd=tree, input=patch,
                           check=True)
    return tree


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("revisions", nargs="*", metavar="REVISION",
                        help="what to build beside the working tree")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="parallel compilers (default: all processors)")
    options = parser.parse_args()
    first = None
    print(f"{'':24}{'demo':>10}{'ratio':>8}{'demo+tests':>12}{'ratio':>8}")
    with tempfile.TemporaryDirectory(prefix="measure-build-") as folder:
        for revision in ["", *options.revisions]:
            seconds = measure(check_out(revision, folder), options.jobs)
            first = first or seconds
            print(f"{revision or 'working tree':24}{seconds[0]:8.0f} s"
                  f"{seconds[0] / first[0]:8.2f}{seconds[1]:10.0f} s"
                  f"{seconds[1] / first[1]:8.2f}", flush=True)


if __name__ == "__main__":
    main()
