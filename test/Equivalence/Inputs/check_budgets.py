# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fits many random joint functions into memory, all in one module.

The functions are those of random_joint.py (`--random`, a range of seeds) or the
small ones of testsupport/steps/joint_steps.py (`--small`). With every budget
of `--budgets`, as commsched-report simulates the step:

- test-commsched-verify-partition accepts the halves, the verifier the module;
- the peak is within the budget, or a remark says that it is not;
- a smaller budget never gives a shorter step;
- no step is longer than that of commsched-partition-joint and then
  commsched-pipeline, if this one fits, and then the step fits as well
  (`--no-comparison` leaves this out);
- a second run, without threads, makes the same text (`--twice`: how many
  budgets are run twice).
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import random_joint
from seeds import parse_seeds

sys.path.append(str(Path(__file__).resolve().parents[3]
                    / "testsupport/steps"))

import joint_steps  # noqa: E402

EXCEEDED = re.compile(r"\[\w+\] MemoryExceeded .*?Function=(\w+)")
FIT = "test-commsched-fit-memory{{memory-budget={}}}"
BEFORE = ("commsched-partition-joint{{memory-budget={0} collectives=cost "
          "runtime-estimator=model}},commsched-pipeline{{memory-budget={0}}}")

HALVES = ("_forward", "_backward")


class Checker:
    def __init__(self, options):
        self.opt = shlex.split(options.opt)
        self.folder = Path(options.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.program = self.folder / "joint.mlir"

    def run(self, pipeline, name, *more):
        """The reports on the steps, by joint function, and the remarks."""
        report, output = (self.folder / f"{name}.{kind}"
                          for kind in ("json", "mlir"))
        passes = (f"{pipeline},test-commsched-verify-partition,"
                  f"commsched-report{{format=json output={report}}}")
        result = subprocess.run(
            [*self.opt, str(self.program), "-o", str(output),
             f"--pass-pipeline=builtin.module({passes})",
             "--remarks-filter=commsched", *more],
            text=True, capture_output=True, check=False)
        if result.returncode:
            sys.exit(f"{passes} failed:\n{result.stderr[-4000:]}")
        lines = map(json.loads, report.read_text().splitlines())
        return {line["function"]: line for line in lines
                if not line["function"].endswith(HALVES)}, result.stderr

    def check_repetition(self, budget):
        output = self.folder / "fit.mlir"
        first = output.read_text()
        self.run(FIT.format(budget), "fit", "--mlir-disable-threading")
        if output.read_text() != first:
            sys.exit(f"two runs with {budget} bytes make different texts")


class Function:
    """What has been seen of one function, from the least memory on."""

    def __init__(self, name):
        self.name = name
        self.best_ns = None  # Within a smaller budget.

    def check(self, budget, ours, is_exceeded, before):
        where = f"@{self.name} with {budget} bytes"
        peak, step = ours["peak_memory_bytes"], ours["step_time_ns"]
        if (peak > budget) != is_exceeded:
            yield (f"{where}: the peak is {peak}, and "
                   f"{'a' if is_exceeded else 'no'} remark says that it is "
                   "over the memory")
        is_fit_before = before and before["peak_memory_bytes"] <= budget
        if peak > budget:
            if is_fit_before:
                yield (f"{where}: the peak is {peak}, but that of one pass after "
                       f"the other {before['peak_memory_bytes']}")
            return
        if is_fit_before and step > before["step_time_ns"]:
            yield (f"{where}: {step} ns, but {before['step_time_ns']} ns by "
                   "one pass after the other")
        if self.best_ns is not None and step > self.best_ns:
            yield f"{where}: {step} ns, but {self.best_ns} ns with less memory"
        self.best_ns = min(step, self.best_ns or step)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--opt", default="commsched-opt")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--random", type=parse_seeds, default=())
    parser.add_argument("--small", type=parse_seeds, default=())
    parser.add_argument("--operations", type=int, default=30,
                        help="leave larger ones out of the small functions")
    parser.add_argument("--budgets", type=int, nargs="+", required=True,
                        help="bytes, ascending")
    parser.add_argument("--twice", type=int, default=1)
    parser.add_argument("--no-comparison", action="store_true")
    options = parser.parse_args()
    checker = Checker(options)
    count = len(options.random)
    texts = [random_joint.PROLOGUE] if options.random else []
    texts += [random_joint.JointProgram(f"f{seed}", seed, False).write()
              for seed in options.random]
    if options.small:
        steps = [step for step in map(joint_steps.JointStep, options.small)
                 if len(step.lines) <= options.operations]
        texts += [joint_steps.PROLOGUE, *(step.text() for step in steps)]
        count += len(steps)
    checker.program.write_text("".join(texts))

    functions, problems, exceeded, shorter = {}, [], 0, 0
    for number, budget in enumerate(options.budgets):
        ours, remarks = checker.run(FIT.format(budget), "fit")
        over = set(EXCEEDED.findall(remarks))
        before = {} if options.no_comparison else checker.run(
            BEFORE.format(budget), "before")[0]
        for name, report in ours.items():
            function = functions.setdefault(name, Function(name))
            problems += function.check(budget, report, name in over,
                                       before.get(name))
            exceeded += name in over
            shorter += (name in before and name not in over and
                        report["step_time_ns"] < before[name]["step_time_ns"])
        if number < options.twice:
            checker.check_repetition(budget)
    if len(functions) != count:
        problems.append(f"reports on {len(functions)} functions alone")
    if problems:
        sys.exit("\n".join([*problems[:20], f"{len(problems)} problems"]))
    print(f"{len(functions)} joint functions keep {len(options.budgets)} "
          f"budgets, {exceeded} times with more memory; {shorter} times "
          "shorter than before")


if __name__ == "__main__":
    main()
