# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fits many random functions into memory, all in one module.

Joint functions are the small ones of testsupport/steps/joint_steps.py
(`--small`, a range of seeds). With every budget of `--budgets`, as
commsched-report simulates the step:

- test-commsched-verify-partition accepts the halves, the verifier the module;
- the peak is within the budget, or a remark says that it is not;
- a smaller budget never gives a shorter step;
- no step is longer than that of commsched-partition-joint and then
  commsched-pipeline, if this one fits, and then the step fits as well
  (`--no-comparison` leaves this out);
- a second run, without threads, makes the same text (`--twice`: how many
  budgets are run twice).

Whole steps of the same generator (`--steps`), each a function that calls a joint
function and an optimizer, go through commsched-pipeline with these budgets, with
memory of the host, one half of them with steady-state. Besides, the model of
testsupport/count_program.py finds the time and the peak that the report gives, with
the parts in the step. It also finds them of steps of merge_steps.py and
split_steps.py (`--counted`) whose collectives are merged or split.

Functions of split_regions.py (`--regions`, seeds of each kind) are scheduled
with splitting and without, in 0 and 20 percent more memory than they take. They
always keep that, take no longer than without, and come out the same twice. With
`--turn`, they are split in one way and with one budget.

Random functions with loops of known length (`--loops`), which a later compiler
fuses, go through commsched-pipeline with percentages as `--budgets`, of the fixed
ones: a larger one never gives a longer function than one that was kept, nor one
that takes as long and more memory; and none is longer than with its loops apart, or
shorter than its merging bound. `--twice` holds for them, too.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

from repeated_programs import write_loops
from seeds import parse_seeds
from split_regions import KINDS, write_function, write_module

SUPPORT = Path(__file__).resolve().parents[3] / "testsupport"
sys.path += [str(SUPPORT), str(SUPPORT / "steps")]

import joint_steps  # noqa: E402
import merge_steps  # noqa: E402
import split_steps  # noqa: E402
from count_program import count  # noqa: E402

EXCEEDED = re.compile(r"\[\w+\] MemoryExceeded .*?Function=(\w+)")
WARNED = re.compile(r"warning: '(\w+)': memory-budget=")
FIT = "test-commsched-fit-memory{{memory-budget={}}}"
BEFORE = ("commsched-partition-joint{{memory-budget={0} collectives=cost "
          "runtime-estimator=model}},commsched-pipeline{{memory-budget={0}}}")
FUSED = "commsched-assume-fusion"
LOOPS = FUSED + ",commsched-pipeline{{memory-budget={}%{}}}"
SPLIT = "commsched-pipeline{{{{memory-budget={{}}% split={}}}}}"
STEP = "commsched-pipeline{{memory-budget={} host-memory=1GiB}}"
REPEATED = "commsched-pipeline{{memory-budget={} host-memory=1GiB steady-state}}"
COUNTED = "commsched-pipeline{{memory-budget=20% split=sums mode={}}}"
STEADY = "_steady"
PERCENT = (0, 20)  # Over the peak.
PARTS = ("_forward", "_backward", "_optimizer", "_prologue", "_epilogue")


class Checker:
    exceeded_pattern = EXCEEDED
    options = ["--remarks-filter=commsched"]
    passes = []  # Behind the report.

    def __init__(self, options):
        self.opt = shlex.split(options.opt)
        self.folder = Path(options.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.program = self.folder / "program.mlir"
        self.functions, self.exceeded, self.shorter = set(), 0, 0

    def run(self, pipeline, name, *more):
        """The reports on the steps, by joint function, and the remarks."""
        report, output = (self.folder / f"{name}.{kind}" for kind in ("json", "mlir"))
        passes = ",".join(filter(None, [
            pipeline, "test-commsched-verify-partition",
            f"commsched-report{{format=json output={report}}}",
            *(text.format(self.folder) for text in self.passes)]))
        result = subprocess.run(
            [*self.opt, str(self.program), "-o", str(output),
             f"--pass-pipeline=builtin.module({passes})",
             *self.options, *more],
            text=True, capture_output=True, check=False)
        if result.returncode:
            sys.exit(f"{passes} failed:\n{result.stderr[-4000:]}")
        lines = map(json.loads, report.read_text().splitlines())
        return {line["function"]: line for line in lines
                if not line["function"].endswith(PARTS)}, result.stderr

    def compare(self, fit, before, budgets, twice, find_limits=None):
        """With each budget, by pipelines that take it; returns the problems."""
        best_ns = {}  # Within a smaller budget.
        for number, budget in enumerate(budgets):
            ours, remarks = self.run(fit.format(budget), "fit")
            limits = find_limits(budget) if find_limits else {}
            over = set() if limits else set(self.exceeded_pattern.findall(remarks))
            others = self.run(before.format(budget), "before")[0] if before else {}
            for name, report in ours.items():
                other = others.get(name)
                yield from check(f"@{name} with {fit.format(budget)}",
                                 limits.get(name, budget), report, name in over,
                                 other, None if limits else best_ns.get(name))
                step = report["step_time_ns"]
                if name in over:
                    self.exceeded += 1
                else:
                    best_ns[name] = min(step, best_ns.get(name, step))
                    self.shorter += bool(other and step < other["step_time_ns"])
            if number < twice:
                yield from self.run_again(fit.format(budget))
            self.functions |= ours.keys()

    def run_again(self, fit):
        first = (self.folder / "fit.mlir").read_text()
        self.run(fit, "fit", "--mlir-disable-threading")
        if (self.folder / "fit.mlir").read_text() != first:
            yield f"two runs of {fit} differ"


class StepChecker(Checker):
    """Of whole steps. What repeats is as long as its period."""

    exceeded_pattern = WARNED
    options = []
    passes = ["test-commsched-merge-step",
              "commsched-dump-problem{{file={}/problem.json}}",
              "commsched-export-json{{file={}/program.json}}"]

    def run(self, pipeline, name, *more):
        reports, warnings = super().run(pipeline, name, *more)
        if pipeline:
            self.count(reports)
        for steady in [n for n in reports if n.endswith(STEADY)]:
            step = reports[steady.removesuffix(STEADY)]
            repeated = reports.pop(steady)
            step["step_time_ns"] = repeated["period_ns"]
            step["peak_memory_bytes"] = max(step["peak_memory_bytes"],
                                            repeated["peak_memory_bytes"])
        return reports, warnings

    def count(self, reports):
        problems, programs = (
            json.loads((self.folder / f"{kind}.json").read_text())["functions"]
            for kind in ("problem", "program"))
        for problem, program in zip(problems, programs, strict=True):
            report = reports.get(program["name"])
            if not report or program["name"].endswith(STEADY):
                continue
            costs = [cost for _, cost, *_ in problem["nodes"]]
            for key, number in count(program, costs).items():
                if report[key] != number:
                    sys.exit(f"@{program['name']}: {key} is {report[key]} by "
                             f"the report, {number} by the program")


def check(where, limit, ours, is_exceeded, before, best_ns):
    peak, step = ours["peak_memory_bytes"], ours["step_time_ns"]
    if (peak > limit) != is_exceeded:
        yield (f"{where}: the peak is {peak} of {limit}, and "
               f"{'a' if is_exceeded else 'no'} remark says that it is over")
    is_fit_before = before and before["peak_memory_bytes"] <= limit
    if peak > limit:
        if is_fit_before:
            yield (f"{where}: the peak is {peak}, but "
                   f"{before['peak_memory_bytes']} by what it is compared with")
        return
    if is_fit_before and step > before["step_time_ns"]:
        yield (f"{where}: {step} ns, but {before['step_time_ns']} ns by what "
               "it is compared with")
    if best_ns is not None and step > best_ns:
        yield f"{where}: {step} ns, but {best_ns} ns with less memory"


def check_regions(checker, options):
    """The number of functions, and the problems."""
    checker.program.write_text(write_module(
        write_function(kind, seed, name=f"{kind}_{seed}")
        for kind in KINDS for seed in options.regions))
    budgets, splits = PERCENT, ("auto", "sums")
    if options.turn is not None:
        budgets = budgets[options.turn % 2:][:1]
        splits = splits[options.turn // 2 % 2:][:1]
    options.budgets = budgets
    peaks = {name: report["peak_memory_bytes"]
             for name, report in checker.run("", "before")[0].items()}
    problems = [
        problem for split in splits for problem in checker.compare(
            SPLIT.format(split), SPLIT.format("off"), budgets, 2,
            lambda percent: {name: peak * (1 + percent / 100)
                             for name, peak in peaks.items()})]
    return len(KINDS) * len(options.regions), problems


def check_loops(checker, options):
    """The number of functions, and the problems."""
    checker.program.write_text(write_loops(options.loops))
    before, _ = checker.run(FUSED, "before")
    best, problems = {}, []
    for number, percent in enumerate(options.budgets):
        fit = LOOPS.format(percent, "")
        ours, _ = checker.run(fit, "fit")
        apart, _ = checker.run(LOOPS.format(percent, " pipeline-loops=false"), "apart")
        for name, report in ours.items():
            rank = report["step_time_ns"], report["peak_memory_bytes"]
            # Within no more memory, whether loops stay apart is not tried.
            limits = before[name]["merging_lower_bound_ns"], apart[name]["step_time_ns"]
            if not limits[0] <= rank[0] <= limits[1]:
                problems.append(f"@{name} with {fit}: {rank[0]} ns is not within {limits}")
            if rank[1] > before[name]["peak_memory_bytes"] * (1 + percent / 100):
                checker.exceeded += 1
                continue
            if rank > best.get(name, rank):
                problems.append(f"@{name} with {fit}: {rank} ns and bytes, but "
                                f"{best[name]} with less memory")
            best[name] = min(rank, best.get(name, rank))
            checker.shorter += rank[0] < before[name]["step_time_ns"]
        if number < options.twice:
            problems += checker.run_again(fit)
        checker.functions |= ours.keys()
    return len(options.loops), problems


def choose(kind, seeds, options):
    return [step for step in map(kind, seeds) if len(step.lines) <= options.operations]


def check_small(checker, options):
    steps = choose(joint_steps.JointStep, options.small, options)
    checker.program.write_text(joint_steps.PROLOGUE + "".join(
        step.text() for step in steps))
    return len(steps), list(checker.compare(
        FIT, None if options.no_comparison else BEFORE, options.budgets,
        options.twice))


def check_steps(checker, options):
    steps = choose(joint_steps.WholeStep, options.steps, options)
    problems = []
    # A few at once, of which the one that fails is found soon.
    for first in range(0, len(steps), 20):
        for turn, fit in enumerate((STEP, REPEATED)):
            some = [step for step in steps[first:first + 20]
                    if step.seed // 5 % 2 == turn]
            if not some:
                continue
            checker.program.write_text(joint_steps.FAST_HOST + "".join(
                step.write_step() for step in some) + "}\n")
            problems += checker.compare(fit, None, options.budgets, options.twice)
    return len(steps), problems


def check_counted(checker, options):
    """That the model finds the same, and that there was something to find."""
    made = ""
    for module, kind in ((merge_steps, merge_steps.MergeStep),
                         (split_steps, split_steps.SplitStep)):
        checker.program.write_text(module.PROLOGUE + "".join(
            kind(seed).text() for seed in options.counted))
        mode = ("copy", "coalesced")[options.counted[0] % 2]
        reports, _ = checker.run(COUNTED.format(mode), "fit")
        checker.functions |= reports.keys()
        made += (checker.folder / "program.json").read_text()
    missing = [op for op in ("tensor.concat", "commsched.chunk") if op not in made]
    return 2 * len(options.counted), [f"nothing has {op}" for op in missing]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--opt", default="commsched-opt")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--regions", type=parse_seeds, default=())
    parser.add_argument("--turn", type=int)
    parser.add_argument("--loops", type=parse_seeds, default=())
    parser.add_argument("--small", type=parse_seeds, default=())
    parser.add_argument("--steps", type=parse_seeds, default=())
    parser.add_argument("--counted", type=parse_seeds, default=())
    parser.add_argument("--operations", type=int, default=30,
                        help="leave larger ones out of the small functions")
    parser.add_argument("--budgets", type=int, nargs="+",
                        help="ascending: bytes, or percentages with --loops")
    parser.add_argument("--twice", type=int, default=1)
    parser.add_argument("--no-comparison", action="store_true")
    options = parser.parse_args()
    is_counted = options.steps or options.counted
    checker = (StepChecker if is_counted else Checker)(options)
    check_all = (check_regions if options.regions else
                 check_loops if options.loops else
                 check_steps if options.steps else
                 check_counted if options.counted else check_small)
    expected, problems = check_all(checker, options)
    if len(checker.functions) != expected:
        problems.append(f"reports on {len(checker.functions)} functions alone")
    if problems:
        sys.exit("\n".join([*problems[:20], f"{len(problems)} problems"]))
    if options.counted:
        print(f"{expected} functions take what the model counts")
        return
    print(f"{expected} functions keep {len(options.budgets)} budgets, "
          f"{checker.exceeded} times with more memory; {checker.shorter} times "
          "shorter than before")


if __name__ == "__main__":
    main()
