# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far merged and scheduled small steps are from the optimum.

The optimum is the shortest step over all ways to merge the collectives of each
kind and all orders, within the memory budget: CP-SAT of OR-tools proves it for
each way that a lower bound does not rule out. A bucket travels as the cost model
says is cheaper, or without copies, which takes less memory.
"""

import collections
import itertools
import json
import pathlib
import subprocess
import tempfile

import exact
import optima
from merge_steps import PROLOGUE, MergeStep
from simulate import simulate

PASSES = ("commsched-bucket-all-gather", "commsched-bucket-reduce-scatter")
SCHEDULE = "commsched-schedule{{split=off buckets={} memory-budget={}}}"


def list_partitions(operands):
    """All ways to put collectives into buckets: for each its bucket, numbered in
    the order of their first members. No bucket sends one operand twice, which
    plans do not make."""
    ways = [()]
    for _ in operands:
        ways = [
            (*way, bucket)
            for way in ways
            for bucket in range(max(way, default=-1) + 2)
        ]
    return [way for way in ways if len(set(zip(way, operands))) == len(operands)]


def list_ways(mergeable):
    """All ways to put the collectives of each kind into buckets."""
    kinds = [list_partitions(operands) for operands in mergeable.values()]
    return [dict(zip(mergeable, way)) for way in itertools.product(*kinds)]


def list_uncopied(buckets):
    """All sets of the buckets of one kind, each with several members."""
    numbers = [number for number in set(buckets) if buckets.count(number) > 1]
    return itertools.chain.from_iterable(
        itertools.combinations(numbers, count) for count in range(len(numbers) + 1)
    )


def make_passes(uncopied, most):
    """The passes that merge the buckets of up to `most` numbers of each kind,
    those that are named without copies."""
    passes = []
    for name, without in zip(PASSES, uncopied):
        rest = [number for number in range(most) if number not in without]
        for mode, numbers in (("coalesced", without), ("auto", rest)):
            plan = ";".join(f"bucket.{number}" for number in numbers)
            if numbers:
                passes.append(f"{name}{{mode={mode} plan={plan}}}")
    return passes


def call(opt, text, passes):
    """By function, the problem and the report of what the passes make."""
    with tempfile.TemporaryDirectory() as folder:
        report, dump = (pathlib.Path(folder) / name for name in ("report", "dump"))
        pipeline = ",".join(
            [
                *(f"func.func({name})" for name in passes),
                f"commsched-report{{format=json output={report}}}",
                f"commsched-dump-problem{{file={dump}}}",
            ]
        )
        command = [opt, f"--pass-pipeline=builtin.module({pipeline})"]
        subprocess.run(
            [*command, "-o", "/dev/null"], input=text, text=True, check=True
        )
        reports = [json.loads(line) for line in report.read_text().splitlines()]
        problems = json.loads(dump.read_text())["functions"]
    return {
        problem["function"]: (problem, found)
        for problem, found in zip(problems, reports)
    }


class Result:
    """What becomes of one step: times in nanoseconds."""

    def __init__(self, options, seed):
        self.step = step = MergeStep(seed)
        text = PROLOGUE + step.text()
        ((problem, costs),) = call(options.opt, text, []).values()
        peak = costs["peak_memory_bytes"]
        self.limit = peak + peak * step.budget_percent // 100
        made = {way: self.schedule(options, text, way) for way in ("off", "auto")}
        self.ours = {way: costs["step_time_ns"] for way, (_, costs) in made.items()}
        self.unmerged_ns = exact.solve(
            problem, self.limit, seconds=options.seconds
        ).step_ns
        self.optimum_ns = self.unmerged_ns
        # The search may also gather a parameter twice in one launch.
        chosen, costs_of_chosen = made["auto"]
        self.ways = [
            (costs_of_chosen["tight_lower_bound_ns"], chosen), *self.merge(options)
        ]
        for bound, problem in self.ways:
            self.try_merged(options, problem, bound)
        bound, best = costs["merging_lower_bound_ns"], min(self.ours.values())
        if not bound <= self.optimum_ns <= best:
            raise optima.Contradiction(
                f"{step.name}: not {bound} <= {self.optimum_ns} <= {best}"
            )

    def schedule(self, options, text, way):
        passes = [SCHEDULE.format(way, self.limit)]
        ((problem, costs),) = call(options.opt, text, passes).values()
        if costs["peak_memory_bytes"] > self.limit:
            raise optima.Contradiction(f"{self.step.name} is over its budget")
        return problem, costs

    def merge(self, options):
        """Pairs of a bound and a problem for all ways to merge, best bound
        first."""
        most = max(map(len, self.step.mergeable.values()))
        functions = collections.defaultdict(list)
        for buckets in list_ways(self.step.mergeable):
            modes = map(list_uncopied, buckets.values())
            for uncopied in itertools.product(*modes):
                functions[uncopied].append(buckets)
        pairs = {}
        for uncopied, ways in functions.items():
            texts = [
                self.step.text(f"way{number}", buckets)
                for number, buckets in enumerate(ways)
            ]
            passes = make_passes(uncopied, most)
            found = call(options.opt, PROLOGUE + "".join(texts), passes)
            for number, buckets in enumerate(ways):
                problem, costs = found[f"way{number}"]
                wanted = sum(len(set(members)) for members in buckets.values())
                if costs["num_collectives"] != wanted:
                    raise optima.Contradiction(
                        f"{self.step.name}: {buckets} was not made"
                    )
                # Many are made twice: without copies is often cheaper.
                key = json.dumps({**problem, "function": ""}, sort_keys=True)
                pairs[key] = costs["tight_lower_bound_ns"], problem
        return sorted(pairs.values(), key=lambda pair: pair[0])

    def try_merged(self, options, problem, bound):
        if bound >= self.optimum_ns:
            return
        found = exact.solve(problem, self.limit, seconds=options.seconds, low=bound,
                            high=self.optimum_ns - 1)
        if not found:
            return
        costs = simulate(problem, found.order)
        if (costs["step_time_ns"] != found.step_ns
                or costs["peak_memory_bytes"] > self.limit):
            raise optima.Contradiction(f"{self.step.name}: {costs}")
        self.optimum_ns = found.step_ns

    def get_gap(self, way):
        """Of `off`, without merging, or `auto`; of `unmerged`, the optimum without
        merging."""
        ours = self.unmerged_ns if way == "unmerged" else self.ours[way]
        return ours / self.optimum_ns - 1
