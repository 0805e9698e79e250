# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs programs before and after passes and compares what they compute.

`--steps` names training steps of pass_runs.py, on which each run listed with
them is tried by itself (`--turn`: by turns); `--random` are seeds of
random_tensors.py, each of which gets a random sequence of runs; `--regions` some
of split_regions.py, all kinds of which are divided in the ways of split_runs.py.
`--table` checks that no pass and no option is missing there.

Results have to be the same, bit for bit, on every rank. There is a tolerance
only where a pass says that sums are rounded otherwise, and with `--mpi` where
the library may sum what is merged in another order; never for random programs,
whose sums are exact.
"""

import argparse
import random
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from joint_halves import parse_functions, run_twice
from pass_runs import RUNS, STEPS, find_forgotten
from random_tensors import write_program
from seeds import parse_seeds
from split_regions import write_region
from split_runs import REGION_RUNS
from transformer_step import parse_step

# A turn is one of so many of the ways to divide a region.
TURNS = 6
SOURCE = Path(__file__).resolve().parents[3]
MARKS = re.compile(
    r'commsched\.\w+(?: = (?:"[^"]*"|\{[^}]*\}|\[[^]]*\]|[^,}]*)|(?=[,}]))'
    r'(?:, )?')
EMPTY = re.compile(r" (?:attrs = |attributes )?\{\}")
# Target and profile, which are nested deeper than marks.
FACTS = re.compile(r"^module attributes \{.*\} \{$", re.MULTILINE)
# What is of no use in a random sequence: they need the files of a run before, or
# look at what no random program has.
ALONE = {"commsched-accumulate-gradients", "commsched-align-runtimes",
         # What it names has to be in the list of the passes behind it.
         "test-commsched-choose-implementations", "commsched-interleave",
         "test-commsched-merge-step", "commsched-report",
         "commsched-dump-problem", "commsched-export-chakra",
         "commsched-export-json",
         "commsched-frontier", "test-commsched-split-backward",
         "commsched-quantize-activations", "commsched-partition-joint",
         "test-commsched-verify-partition",
         "commsched-mimic-autograd-order", "test-commsched-steady-state"}


def strip_marks(text):
    """Without the discardable attributes, those of the module included."""
    return EMPTY.sub("", MARKS.sub("", FACTS.sub("module {", text)))


class Checker:
    def __init__(self, options):
        self.opt = shlex.split(options.opt)
        self.run_command = shlex.split(options.run)
        self.is_mpi = options.mpi
        self.runs = [run for run in RUNS if options.only in run.name]
        self.turn = options.turn
        self.folder = Path(options.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.before = None
        self.expected = {}
        self.compared = 0

    def call(self, command, source=None):
        result = subprocess.run(command, input=source, text=True,
                                capture_output=True, check=False)
        if result.returncode:
            sys.exit(f"{shlex.join(map(str, command))} failed:\n"
                     f"{(result.stderr or result.stdout)[-4000:]}")
        return result.stdout

    def transform(self, source, pipeline):
        pipeline = pipeline.replace("%folder", str(self.folder)).replace(
            "%src", str(SOURCE))
        return self.call([*self.opt, "-",
                          f"--pass-pipeline=builtin.module({pipeline})"],
                         source)

    def run(self, name, program):
        """The files with the results of all ranks: name -> bytes."""
        file = self.folder / f"{name}.mlir"
        file.write_text(program)
        with tempfile.TemporaryDirectory(dir=self.folder) as results:
            self.call([*self.run_command, file, f"--output-dir={results}"])
            return {str(path.relative_to(results)): path.read_bytes()
                    for path in Path(results).glob("*/*.npy")}

    def compare(self, name, before, after, *options):
        """Exits if the two compute different results."""
        files = [self.folder / f"{name}.{side}.mlir" for side in ("before", "after")]
        for file, text in zip(files, (before, after)):
            file.write_text(text)
        self.call([*self.run_command, files[1], f"--compare={files[0]}", *options])
        self.compared += 1

    def compare_again(self, name, before, after):
        """As `compare`, with results of `before` that are kept from one call
        to the next."""
        if self.before != before:
            self.expected = self.run(f"{name}.before", before)
            self.before = before
        if not self.expected:
            sys.exit(f"{name} has no results")
        if self.run(f"{name}.after", after) != self.expected:
            self.compare(name, before, after)  # Describes it.
            sys.exit(f"{name} writes other files of results")
        self.compared += 1

    def check_step(self, name):
        before = self.transform(parse_step(STEPS[name]).write(), "")
        known = {strip_marks(before)}
        for index, run in enumerate(self.runs):
            turn = None if self.turn is None else self.turn + index
            if not run.has_turn(name, turn):
                continue
            middle = self.transform(before, run.after) if run.after else before
            if run.first:
                self.transform(middle, run.pipeline(run.first))
            after = self.transform(middle, run.text)
            program = strip_marks(after)
            is_same = program == strip_marks(middle)
            if after == middle or is_same != run.marks:
                what = "nothing" if after == middle else (
                    "only marks" if is_same else "more than marks")
                sys.exit(f"{run.text} changes {what} of {name}")
            if program in known:
                continue
            known.add(program)
            if run.name == "commsched-interleave":
                self.check_both(f"{name}.{index}", before, after)
                continue
            if run.rounds or self.is_mpi and run.moves_sums:
                self.compare(f"{name}.{index}", before, after, "--tolerance=1e-4")
            else:
                self.compare_again(f"{name}.{index}", before, after)

    def check_both(self, name, before, after, *options):
        """Compares two runs of the step with its interleaving with itself."""
        step = parse_functions(before)["step"]
        self.compare(name, *(
            self.call([*self.opt, "-", "--inline", "--symbol-dce"],
                      run_twice(text, step, together=text is after))
            for text in (before, after)), *options)

    def check_region(self, kind, seed):
        """Every way to divide a region; where messages are sent, those with
        the most of them."""
        numbers = "exact" if self.is_mpi else None
        before = self.transform(write_region(kind, seed, numbers), "")
        for index, run in enumerate(REGION_RUNS[kind]):
            if self.turn is not None and (self.turn + index) % TURNS:
                continue
            if self.is_mpi and "extent=nearest" in run.text:
                continue
            after = self.transform(before, run.text)
            if run.divides not in (None, "commsched.chunk" in after):
                sys.exit(f"{run.text} {'leaves' if run.divides else 'divides'}"
                         f" region {kind} {seed}")
            rounds = run.rounds and "f32" in before
            self.compare(f"{kind}.{seed}.{index}", before, after,
                         f"--seed={seed}", *["--tolerance=1e-5"] * rounds)

    def check_random(self, seed):
        """A random sequence of runs, as long as it takes to change the
        program."""
        before = after = self.transform(write_program(seed), "")
        rng = random.Random(seed)
        # A pipeline that no other step runs needs what no random program has.
        runs = [run for run in self.runs if run.name not in ALONE
                and "joint" not in run.steps
                and (run.steps or run.name != "commsched-pipeline")]
        merging = [run for run in runs if "bucket" in run.name]
        sequence = rng.sample(merging, rng.randint(0, min(3, len(merging))))
        sequence.append(runs[seed % len(runs)])  # Each has its turn.
        while strip_marks(after) == strip_marks(before):
            sequence += rng.choices(runs, k=rng.randint(0, 4))
            if len(sequence) > 40:
                sys.exit(f"nothing changes random program {seed}")
            after = self.transform(before, ",".join(run.text for run in sequence))
        self.compare(f"random.{seed}", before, after, f"--seed={seed}")


def check_table(opt):
    text = subprocess.run([*shlex.split(opt), "--help"], text=True,
                          capture_output=True, check=True).stdout
    if forgotten := find_forgotten(text):
        sys.exit("not in pass_runs.py: " + ", ".join(forgotten))


def make_parser(description):
    """The options of a Checker."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--opt", default="commsched-opt")
    parser.add_argument(
        "--run", default="commsched-run --ranks=4 --opt-level=0 -o /dev/null",
        help="the runner, with its options and launcher")
    parser.add_argument("--mpi", action="store_true",
                        help="messages decide on the order of sums")
    parser.add_argument("--folder", required=True)
    parser.set_defaults(only="", turn=None)
    return parser


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--only", default="",
                        help="what the names of passes have to contain")
    parser.add_argument("--steps", nargs="*", choices=STEPS, default=[])
    parser.add_argument("--turn", type=int,
                        help="a number: a quarter of the runs is tried on one "
                        "of their steps, and every third way to divide a "
                        "region; others for the next number")
    parser.add_argument("--random", type=parse_seeds, default=())
    parser.add_argument("--regions", type=parse_seeds, default=(),
                        help="seeds of each kind of split_regions.py")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        check_table(options.opt)
    checker = Checker(options)
    for name in options.steps:
        checker.check_step(name)
    for seed in options.random:
        checker.check_random(seed)
    for kind in REGION_RUNS if options.regions else ():
        for seed in options.regions:
            checker.check_region(kind, seed)
    print(f"{checker.compared} programs keep their meaning")


if __name__ == "__main__":
    main()
