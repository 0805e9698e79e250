# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs programs that repeat before and after passes and compares what they
compute in 1, 2 and 7 repetitions.

`--steps` names training steps whose parameters are fed back; `--random` are
seeds of random steps of one function, `--linked` of several, `--whole` of steps
that call a joint function and an optimizer (testsupport/steps/joint_steps.py), and
`--loops` of loops, which have as many iterations. The results of all repetitions and the
last state have to be the same, bit for bit, on every rank.
"""

import sys
from pathlib import Path

from check_equivalence import Checker, make_parser
from repeated_programs import MOST_ROUNDS, write_linked, write_loop, write_step
from seeds import parse_seeds
from transformer_step import parse_step

sys.path.append(str(Path(__file__).resolve().parents[3] / "testsupport/steps"))

import joint_steps  # noqa: E402

COUNTS = (1, 2, MOST_ROUNDS)
STEADY = "test-commsched-steady-state"
LOOPS = "commsched-pipeline-loops"
BOTH = "commsched-interleave{first=@step second=@step name=both}"

# Options of transformer_step.py.
STEPS = {
    "plain": ["--sharding=plain", "--layers=1"],
    "mixed": ["--sharding=mixed", "--optimizer=adamw", "--layers=1"],
    "packed": ["--sharding=packed", "--layers=1"],
    "stored": ["--sharding=stored", "--layers=1"],
    "hybrid": ["--sharding=hybrid", "--layers=1"],
    "accumulated": ["--sharding=mixed", "--layers=1", "--microbatches=2"],
    "experts": ["--sharding=packed", "--experts", "--optimizer=adamw", "--layers=1"],
}
PIPELINES = [
    f"{STEADY}{{memory-budget=200% max-depth=4}}",
    "func.func(commsched-schedule),commsched-set-costs{slack=0},"
    f"{STEADY}{{memory-budget=100%}}",
    f"commsched-pipeline,{STEADY}{{memory-budget=200%}}",
]
# For steps of several functions. Without a merge, the functions stay apart.
LINKED_PIPELINES = [
    "test-commsched-merge-step",
    "commsched-pipeline",
    "test-commsched-merge-step,func.func(commsched-schedule{memory-budget=50%})",
    f"test-commsched-merge-step,{STEADY}{{memory-budget=200%}}",
    "commsched-pipeline{steady-state memory-budget=200%}",
]
# For steps that call a joint function.
WHOLE_PIPELINES = [
    "commsched-pipeline{memory-budget=24KiB host-memory=1GiB}",
    "commsched-pipeline{memory-budget=48KiB host-memory=16KiB steady-state}",
    "commsched-pipeline{memory-budget=20% activation-memory-budget=0.5 "
    "steady-state}",
]
LOOP_PIPELINES = [
    f"func.func({LOOPS}{{memory-budget=200%}})",
    "commsched-set-costs{slack=0},"
    f"func.func({LOOPS}{{memory-budget=400% max-depth=4}})",
    f"commsched-pipeline,func.func({LOOPS}{{memory-budget=50%}})",
    f"func.func({LOOPS}{{memory-budget=200% unroll=4}})",
    f"func.func({LOOPS}{{memory-budget=100% unroll=8 max-depth=2}})",
]


class IterationChecker(Checker):
    def __init__(self, options):
        super().__init__(options)
        # How many of the results overlap repetitions.
        self.overlapping = 0

    def check(self, name, before, pipelines, counts, *options):
        for index, pipeline in enumerate(pipelines):
            after = self.transform(before, pipeline)
            self.overlapping += any(mark in after for mark in (
                "commsched.steady_state", "prologue.0", "commsched.pipelined"))
            for count in counts:
                self.compare(f"{name}.{index}.{count}", before, after,
                             f"--iterations={count}", *options)

    def check_step(self, name):
        pipelines, counts = PIPELINES, COUNTS
        if self.turn is not None:
            turn, rest = divmod(self.turn + list(STEPS).index(name), 2)
            if rest:
                return
            pipelines = [PIPELINES[turn % len(PIPELINES)]]
            counts = self.choose_counts(turn // len(PIPELINES))
        before = self.transform(parse_step([*STEPS[name], "--repeats"]).write(), "")
        self.check(name, before, pipelines, counts)

    def check_random(self, seed):
        before = self.transform(write_step(seed), "")
        self.check(f"random.{seed}", before, PIPELINES[seed % 2:seed % 2 + 1],
                   self.choose_counts(seed), f"--seed={seed}")

    def check_linked(self, seed):
        before = self.transform(write_linked(seed), "")
        chosen = seed % len(LINKED_PIPELINES)
        self.check(f"linked.{seed}", before, [LINKED_PIPELINES[chosen]],
                   self.choose_counts(seed), f"--seed={seed}")

    def check_whole(self, seed, most_operations):
        step = joint_steps.WholeStep(seed)
        if len(step.lines) > most_operations:
            return
        before = self.transform(joint_steps.FAST_HOST + step.write_step() + "}\n", "")
        chosen = seed % len(WHOLE_PIPELINES)
        self.check(f"whole.{seed}", before, [WHOLE_PIPELINES[chosen]],
                   self.choose_counts(seed // len(WHOLE_PIPELINES)),
                   f"--seed={seed}")

    def check_loop(self, seed):
        """Of a number of iterations that is known, or else of one that is the
        same on all ranks."""
        rounds = [*COUNTS, None][seed % 4]
        before = self.transform(write_loop(seed, rounds), "")
        chosen = seed % len(LOOP_PIPELINES)
        self.check(f"loop.{seed}", before, [LOOP_PIPELINES[chosen]], (2,),
                   f"--seed={seed}", *["--same-inputs"] * (rounds is None))

    def check_itself(self, seed):
        """A random step and itself, on other inputs, as one function."""
        before = self.transform(write_step(seed), "")
        self.check_both(f"both.{seed}", before, self.transform(before, BOTH),
                        f"--seed={seed}", f"--iterations={COUNTS[seed % 3]}")

    @staticmethod
    def choose_counts(seed):
        return COUNTS[seed % 3:seed % 3 + 1]


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--steps", nargs="*", choices=STEPS, default=[])
    parser.add_argument("--turn", type=int,
                        help="a number: half of the steps, each with one "
                        "pipeline and one number of repetitions; others for "
                        "the next number")
    for kind in ("random", "linked", "whole", "loops", "both"):
        parser.add_argument(f"--{kind}", type=parse_seeds, default=())
    parser.add_argument("--operations", type=int, default=60,
                        help="leave larger joint functions of whole steps out")
    options = parser.parse_args()
    checker = IterationChecker(options)
    for name in options.steps:
        checker.check_step(name)
    for seed in options.random:
        checker.check_random(seed)
    for seed in options.linked:
        checker.check_linked(seed)
    for seed in options.whole:
        checker.check_whole(seed, options.operations)
    for seed in options.loops:
        checker.check_loop(seed)
    for seed in options.both:
        checker.check_itself(seed)
    print(f"{checker.compared} comparisons are equal, {checker.overlapping} "
          "programs overlap repetitions")


if __name__ == "__main__":
    main()
