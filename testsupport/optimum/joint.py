# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far small joint functions with a memory budget are from the optimum.

The optimum is the shortest step over all sets of saved values and all orders of
both halves, within the budget: CP-SAT of OR-tools proves it. The budgets of a
step divide what lies between the least and the most memory that any partition
takes in the order of the program.
"""

import sys

import exact
import joint_optima
from joint_steps import PROLOGUE, JointStep

#: What decides, with `{}` for the bytes. Collectives are not merged.
WAYS = {
    "commsched-partition-joint, commsched-schedule": (
        "commsched-partition-joint{{memory-budget={0} collectives=cost "
        "runtime-estimator=model}},func.func(commsched-schedule{{buckets=off "
        "memory-budget={0}}})"
    ),
    "commsched-pipeline": (
        "commsched-pipeline{{memory-budget={0} buckets=off}}"
    ),
}


class Result:
    """What becomes of one step with one budget: times in nanoseconds."""

    def __init__(self, step, limit, optimum_ns):
        self.step, self.limit, self.optimum_ns = step, limit, optimum_ns
        self.ours = {}  # By way; none where the budget is exceeded.

    def get_gap(self, way):
        ours = self.ours.get(way)
        return None if ours is None else ours / self.optimum_ns - 1


def run_way(opt, step, way, limit):
    """The step time, or None where it takes more than the limit."""
    _, reports = joint_optima.transform(
        opt, PROLOGUE + step.text(), WAYS[way].format(limit)
    )
    report = reports[step.name]
    fits = report["peak_memory_bytes"] <= limit
    return report["step_time_ns"] if fits else None


def compare(options, seed):
    """Yields the results of a step."""
    step = JointStep(seed)
    partitions = joint_optima.Partitions(options.opt, options.tool, step)
    peaks = [partition.peak for partition in partitions.all]
    least, most = min(peaks), max(peaks)
    limits = [
        least + (most - least) * number // options.budgets
        for number in range(options.budgets)
    ]
    for limit in dict.fromkeys(limits):
        ours = {
            way: run_way(options.opt, step, way, limit) for way in options.ways
        }
        known = min((t for t in ours.values() if t is not None), default=None)
        solver = joint_optima.Solver(partitions, options.seconds)
        try:
            optimum = solver.solve(limit, known)
        except exact.NotProved as error:
            print(f"{step.name} with {limit} bytes: {error}", file=sys.stderr)
            continue
        result = Result(step, limit, optimum[0])
        result.ours = ours
        yield result
