# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the memory-aware passes on random steps and checks what they promise.

The programs come from random_steps.py with a model of them, step_model.py.
Whatever the pass, the printed result must hold the operations of the input,
line by line, in an order that the model allows; its peak must be within the
budget of the input that the first pass saw, by the model; and the report must
state the peak and the time that the model gives. More for single passes:

- commsched-simple-overlap: no higher peak, no longer step, the order of all
  collectives, and a second run that changes nothing,
- commsched-schedule: no longer step, and no longer one by a second run, which
  may still find a shorter one,
- commsched-pipeline: no longer step; where collectives were merged or split, the
  operations are others, and the report alone has to keep the budget,
- commsched-reorder-for-peak-memory: no higher peak; what is over a budget that
  cannot be met comes in its order,
- what looks at no times: other times, the same order,
- budgets of growing percentages: no longer step by a larger one than by one of
  the fixed budgets below it, nor an equal step that takes more memory,
- passes that are not iterative: a second run that changes nothing,
- all: the same bytes from text and from bytecode, and of functions of which
  remarks say that nothing moved, those of the input.
"""

import argparse
import math
import random
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from printed_steps import NUMBER, Step, Tool
from random_steps import PROLOGUE, generate

INFO = re.compile(r"commsched\.reorder_info = \{.*?\}, ")
TIME = re.compile(r"(commsched\.runtime_ns = )(\d+)")
KEPT = r"commsched\.(?:baseline_peak|over_budget)_bytes = \d+ : i64"
BASELINE = re.compile(rf" attributes \{{{KEPT}(?:, {KEPT})?\}}")
UNLIMITED = (1 << 63) - 1
FIXED = (0, 1, 2, 5, 10, 20, 50, 100)
BETWEEN = (3, 30)

COMMS = "commsched-reorder-comms-preserving-peak-memory"
SINK = "commsched-sink-waits-iterative"
OVERLAP = "commsched-simple-overlap"
PEAK = "commsched-reorder-for-peak-memory"
SCHEDULE = "commsched-schedule{buckets=off "
ESTIMATE = "reorder_iterative_use_runtime_estimations"
SINK_ESTIMATE = "sink_iterative_use_runtime_estimations"
MOVES = "buckets=off split=off"
KEEP_STREAMS = "reorder_iterative_unsafe_collectives_reorder=false"
VERBOSE = "reorder_sink_verbose_logging"


def percent(number):
    """The limit of a budget that is a percentage."""
    return lambda step: step.peak + math.floor(step.peak * (number / 100))


def by_reference(step):
    """The limit of the default budget with the reference's memory model."""
    counted = step.peak - sum(
        b.bytes for b in step.function.blocks[0].buffers
        if not b.producer and (b.stays or not b.users))
    return step.peak + math.floor(counted * 0.2)


@dataclass
class Case:
    """A pipeline and what it promises."""

    pipeline: str
    limit: object  # Gives the bytes that a step may take; None: any.
    # Which order of collectives: free, stream, all, or waits, which is all and
    # each wait before the next start.
    keeps: str = "free"
    is_slower_allowed: bool = True
    numbers: bool = False  # Writes commsched.order.
    remarks: bool = False
    merges: bool = False  # Collectives may be merged or split.


def functions(passes):
    return f"func.func({passes})"


def schedule_all(budget, options, **rest):
    """The pipeline with a budget in percent over the peak."""
    return Case(f"commsched-pipeline{{memory-budget={budget}% {options}}}",
                percent(budget), is_slower_allowed=False, **rest)


# Without a budget: name -> passes, which are the same when they run again.
SIMPLE = {
    "raise": "commsched-raise-comms",
    "waits": "commsched-sink-waits",
    "compute": "commsched-reorder-compute-for-overlap",
}
CASES = {
    **{name: Case(functions(passes), None, "stream")
       for name, passes in SIMPLE.items()},
    "raise and waits": Case(functions(",".join(SIMPLE.values())), None, "stream"),
    "peak": Case(functions(PEAK), percent(0), "stream", remarks=True),
    "overlap": Case(functions(OVERLAP), percent(0), "all",
                    is_slower_allowed=False, remarks=True),
    "comms": Case(functions(COMMS), percent(20), remarks=True),
    "comms, 0 %": Case(
        functions(f"{COMMS}{{reorder_iterative_peak_memory_budget=0 "
                  f"{KEEP_STREAMS} {VERBOSE}}}"), percent(0), "stream"),
    "comms, estimates": Case(
        functions(f"{COMMS}{{memory-budget=300% {ESTIMATE} "
                  "reorder_iterative_group_with_collectives}"), percent(300)),
    "comms, any": Case(functions(f"{COMMS}{{memory-budget={UNLIMITED}}}"), None),
    "sink": Case(functions(f"{SINK}{{reference-memory-model}}"), by_reference,
                 "waits", remarks=True),
    "sink, 0 %": Case(
        functions(f"{SINK}{{memory-budget=0% "
                  "sink_waits_iterative_swap_with_collectives}"), percent(0),
        "all"),
    "sink, estimates": Case(
        functions(f"{SINK}{{memory-budget=7.5% {SINK_ESTIMATE} {VERBOSE}}}"),
        percent(7.5), "waits"),
    "schedule": Case(functions(SCHEDULE + "memory-budget=0%}"), percent(0),
                     is_slower_allowed=False, remarks=True),
    "schedule, 10 %": Case(functions(SCHEDULE + "memory-budget=10%}"),
                           percent(10), is_slower_allowed=False),
    "schedule, any": Case(functions(f"{SCHEDULE}memory-budget={UNLIMITED}}}"),
                          None, is_slower_allowed=False),
    "moves, 0 %": schedule_all(0, MOVES),
    "moves, no slack": schedule_all(50, f"{MOVES} slack=0"),
    "moves, much slack": schedule_all(2.5, f"{MOVES} slack=100"),
    "all, 5 %": schedule_all(5, "", merges=True),
    "all, coalesced": schedule_all(20, "mode=coalesced", merges=True),
    "inductor": Case("commsched-inductor-pipeline", percent(20), "all", numbers=True),
    "inductor, free": Case(
        "commsched-inductor-pipeline{order-collectives=false "
        "memory-budget=5%}", percent(5)),
}
# Times of the operations make no difference to these.
UNTIMED = ["raise", "waits", "peak", "overlap", "inductor"]


class Checker:
    def __init__(self, tool, programs):
        self.tool = tool
        source = PROLOGUE + "".join(f.text for f in programs)
        self.text = source
        self.bytecode = tool.run(source, "", "--emit-bytecode")[0]
        self.input = tool.schedule(self.bytecode, "")
        self.steps = [Step(f, self.input.bodies[f.name]) for f in programs]
        self.case = ""
        self.moved = {}
        for step in self.steps:
            self.check_report(step, step.costs[0], self.input)

    def fail(self, problem, step=None, output=None):
        text = ""
        if step:
            name = step.function.name
            text = f" on @{name}"
            problem += f"\nbefore:\n{step.printed}"
            if output:
                problem += f"\nafter:\n{output.bodies[name]}"
        sys.exit(f"{self.case}{text}: {problem}")

    def run(self, cases, source):
        """What the cases make of `source`, all of it checked."""
        outputs = {}
        with ThreadPoolExecutor(2) as pool:
            runs = {name: pool.submit(self.tool.schedule, source,
                                      case.pipeline, case.remarks)
                    for name, case in cases.items()}
            for name, case in cases.items():
                self.case = f"{name} ({case.pipeline})"
                outputs[name] = runs[name].result()
                self.moved[name] = self.check(case, outputs[name])
                if not self.moved[name]:
                    self.fail("moves nothing")
                if case.remarks:
                    self.check_unmoved(case, outputs[name])
        return outputs

    def check(self, case, output):
        """Checks all functions; returns how many are in another order."""
        moved = 0
        for step in self.steps:
            orders = self.read(step, case, output)
            if orders is None:
                self.check_merged(step, case, output)
                moved += 1
                continue
            if violation := step.find_violation(orders, case.keeps):
                self.fail("%s and %s change places" % violation, step, output)
            costs = step.price(orders)
            self.check_costs(step, case, costs, output)
            self.check_report(step, costs[0], output)
            moved += orders != step.original
        return moved

    def check_merged(self, step, case, output):
        report = output.reports[step.function.name]
        peak, time = report["peak_memory_bytes"], report["step_time_ns"]
        if peak > case.limit(step):
            self.fail(f"{peak} bytes of {case.limit(step)}", step, output)
        if time > step.time:
            self.fail(f"{time} ns instead of {step.time}", step, output)

    def read(self, step, case, output):
        """The orders of the step's blocks; None if some collectives are
        others, as they may be."""
        name = step.function.name
        body = output.bodies[name]
        if VERBOSE in case.pipeline:
            body = INFO.sub("", body)
        if case.numbers:
            body = NUMBER.sub("", body)
        orders = step.read(body, case.numbers)
        if not orders and case.merges:
            return None
        if not orders or output.tails[name] != self.input.tails[name] or (
                BASELINE.sub("", output.heads[name])
                != self.input.heads[name]):
            self.fail("another program", step, output)
        return orders

    def check_costs(self, step, case, costs, output):
        for index, (before, after) in enumerate(zip(step.costs, costs)):
            allowed = max(before[0], case.limit(step)) if case.limit else UNLIMITED
            # The peak of the body counts those of the blocks inside, which may
            # take what is left.
            if index == 0 and after[0] > allowed:
                self.fail(f"{after[0]} bytes of {allowed}", step, output)
            if after[1] > before[1] and not case.is_slower_allowed:
                self.fail(f"block {index} takes {after[1]} ns instead of "
                          f"{before[1]}", step, output)

    def check_report(self, step, costs, output):
        report = output.reports[step.function.name]
        actual = report["peak_memory_bytes"], report["step_time_ns"]
        if actual != costs:
            self.fail(f"the report says {actual} instead of {costs}", step, output)

    def check_unmoved(self, case, output):
        """What no remark speaks of is as it was."""
        moved = set(re.findall(
            r"(?:CollectiveMoved|BlockReordered|BlockScheduled) "
            r".*?Function=(\w+)",
            output.remarks))
        kept = [s for s in self.steps if s.function.name not in moved]
        if not kept or not moved:
            self.fail("nothing moved, or everything did")
        for step in kept:
            name = step.function.name
            if (output.heads[name], output.bodies[name]) != (
                    self.input.heads[name], self.input.bodies[name]):
                self.fail("changed without a remark", step, output)

    def run_again(self, outputs):
        """The same result however the program comes, and whatever it takes; of
        the scheduler, none that is longer."""
        rng = random.Random(1)
        noisy = TIME.sub(lambda m: m[1] + str(
            round(int(m[2]) * rng.uniform(0.8, 1.2))), self.text)
        runs = [("inductor", "as text", self.text, CASES["inductor"].pipeline),
                *((name, "on its own result", self.bytecode,
                   functions(f"{passes},{passes}"))
                  for name, passes in {**SIMPLE, "overlap": OVERLAP}.items()),
                *((name, "on its own result", self.bytecode,
                   ",".join([CASES[name].pipeline] * 2))
                  for name in ("schedule", "schedule, 10 %"))]
        runs += [(name, "with other times", noisy, CASES[name].pipeline)
                 for name in UNTIMED]
        with ThreadPoolExecutor(2) as pool:
            agains = pool.map(self.tool.schedule, [r[2] for r in runs],
                              [r[3] for r in runs])
            for (name, how, source, _), again in zip(runs, agains):
                self.case = f"{name} {how}"
                if name.startswith("schedule"):
                    self.check_no_longer(again, outputs[name])
                    continue
                texts = [again.text, outputs[name].text]
                if source is noisy:
                    texts = [TIME.sub("", text) for text in texts]
                if texts[0] != texts[1]:
                    self.fail("another result")

    def check_no_longer(self, again, first):
        for step in self.steps:
            name = step.function.name
            times = [run.reports[name]["step_time_ns"] for run in (again, first)]
            if times[0] > times[1]:
                self.fail(f"{times[0]} ns instead of {times[1]}", step, again)

    def run_growing(self, count):
        """Larger budgets of the first `count` steps."""
        source = PROLOGUE + "".join(s.function.text for s in self.steps[:count])
        budgets = (*FIXED, *BETWEEN)
        with ThreadPoolExecutor(2) as pool:
            outputs = dict(zip(budgets, pool.map(
                lambda budget: self.tool.schedule(source, functions(
                    f"commsched-schedule{{memory-budget={budget}%}}")),
                budgets)))
        for large in budgets:
            self.case = f"a budget of {large} %"
            for small in FIXED:
                for step in self.steps[:count] if small < large else ():
                    before, after = (
                        (report["step_time_ns"], report["peak_memory_bytes"])
                        for report in (
                            outputs[budget].reports[step.function.name]
                            for budget in (small, large)))
                    if after > before:
                        self.fail(f"{after} ns and bytes instead of the "
                                  f"{before} of {small} %", step)

    def run_tight(self, outputs):
        """Budgets that each function breaks by a byte if there is none."""
        limits = {}
        source = PROLOGUE
        for step in self.steps:
            report = outputs["comms, any"].reports[step.function.name]
            limits[step] = max(0, report["peak_memory_bytes"] - 1)
            source += step.function.text.replace(
                ") {\n", ") attributes {commsched.baseline_peak_bytes = "
                f"{limits[step]} : i64}} {{\n", 1)
        zero = "memory-budget=0%"
        cases = {
            "comms, tight": Case(functions(f"{COMMS}{{{zero}}}"), limits.get),
            "comms, tight and kept": Case(
                functions(f"{COMMS}{{{zero} {KEEP_STREAMS}}}"), limits.get,
                "stream"),
            "sink, tight": Case(functions(f"{SINK}{{{zero}}}"), limits.get),
            "schedule, tight": Case(functions(SCHEDULE + "memory-budget=0%}"), limits.get),
            "overlap, tight": Case(functions(OVERLAP), percent(0), "all",
                                   is_slower_allowed=False),
        }
        kept = self.run(cases, source)["comms, tight and kept"]
        self.check_least(limits, kept, outputs["peak"])

    def check_least(self, limits, output, least):
        """What cannot keep its budget comes in the order for peak memory.

        Blocks without collectives are none of the pass's business.
        """
        over = 0
        for step in self.steps:
            name = step.function.name
            body = step.function.blocks[0]
            if output.reports[name]["peak_memory_bytes"] <= limits[step] or (
                    not any(op.is_collective() for op in body.ops)):
                continue
            over += 1
            order, least_order = (
                step.read(o.bodies[name], False)[0] for o in (output, least))
            if order != least_order:
                self.fail("over the budget in another order than that for "
                          "peak memory", step, output)
        if not over:
            self.fail("every budget was kept")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", nargs=argparse.REMAINDER,
                        help="commsched-opt and options for all of its runs")
    parser.add_argument("--functions", type=int, default=2000)
    parser.add_argument("--growing", type=int, default=100,
                        help="how many of the functions get growing budgets")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    checker = Checker(Tool(arguments.tool),
                      generate(arguments.functions, arguments.seed))
    outputs = checker.run(CASES, checker.bytecode)
    checker.run_again(outputs)
    checker.run_tight(outputs)
    checker.run_growing(arguments.growing)
    print(f"{arguments.functions} functions: all well; other orders:")
    for name, moved in checker.moved.items():
        print(f"{moved:8} {name}")


if __name__ == "__main__":
    main()
