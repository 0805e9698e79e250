# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far split and scheduled small steps are from the optimum.

The optimum is the shortest step over all orders and all numbers of chunks up to
max_chunks, within the memory budget: CP-SAT of OR-tools proves it for each
number of chunks. It is compared with the best schedule over the same numbers,
and with the step that commsched-schedule makes when it chooses itself.
"""

import json
import subprocess

import exact
import optima
from simulate import simulate
from split_steps import PROLOGUE, SplitStep

SCHEDULE = "func.func(commsched-schedule{{buckets=off memory-budget={} {}}})"


def transform(opt, text, pipeline):
    command = [opt, f"--pass-pipeline=builtin.module({pipeline})"]
    done = subprocess.run(
        command, input=text, text=True, check=True, stdout=subprocess.PIPE
    )
    return done.stdout


def read_problem(tool, text):
    """The problem of the only function of a module."""
    command = [tool, "-"]
    done = subprocess.run(
        command, input=text, text=True, check=True, stdout=subprocess.PIPE
    )
    return json.loads(done.stdout)


def schedule_program(options, text, limit, splitting="split=off"):
    """The problem of a program in the order of commsched-schedule."""
    scheduled = transform(options.opt, text, SCHEDULE.format(limit, splitting))
    return read_problem(options.tool, scheduled)


class Result:
    """What becomes of one step: times in nanoseconds."""

    def __init__(self, options, seed):
        self.step = step = SplitStep(seed)
        text = PROLOGUE + step.text()
        whole = read_problem(options.tool, text)
        peak = whole["costs"]["peak_memory_bytes"]
        limit = peak + peak * step.budget_percent // 100
        self.ours, self.optimum = {}, {}
        for chunks in range(1, options.max_chunks + 1):
            program = text
            if chunks > 1:
                split = f"func.func(commsched-split{{chunks={chunks} extent=widest}})"
                program = transform(options.opt, text, split)
            problem = schedule_program(options, program, limit)
            costs, order = problem["costs"], list(range(len(problem["nodes"])))
            if simulate(problem, order) != costs:
                raise optima.Contradiction(f"{step.name}: {costs}")
            fits = costs["peak_memory_bytes"] <= limit
            optimum = exact.solve(
                problem, limit, order if fits else None, options.seconds
            )
            if fits:
                self.ours[chunks] = costs["step_time_ns"]
            if optimum:
                self.optimum[chunks] = optimum.step_ns
        self.whole_ns = self.optimum[1]
        chosen = schedule_program(
            options, text, limit, f"max-chunks={options.max_chunks}"
        )
        self.chosen_ns = chosen["costs"]["step_time_ns"]

    @property
    def optimum_ns(self):
        return min(self.optimum.values())

    def get_gap(self, way):
        ours = min(self.ours.values()) if way == "best" else self.chosen_ns
        return ours / self.optimum_ns - 1

    @property
    def gain(self):
        """How much splitting can save at most."""
        return 1 - self.optimum_ns / self.whole_ns
