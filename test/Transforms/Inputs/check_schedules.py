# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs passes on random programs and checks that these mean the same.

The check executes the model of a program (random_programs.py) in the order of
the rewritten text: every operation must see the contents that it saw in the
original order, no operation may touch what a collective has in flight,
collectives keep their order on each group and under `commsched.order`, and
nothing that communicates crosses what may communicate in unknown ways. The
report of straight programs is compared with a simulation of the model. All of
this knows nothing of how the passes see a program. A pass that runs again must
change nothing more unless it is iterative, one for peak memory nothing for the
worse, and every run gives the same result.
"""

import argparse
import json
import re
import subprocess
import sys

from random_programs import BYTES, PROLOGUE, generate

NAME = re.compile(r'commsched\.name = "(\w+)"')
# Running again may save more: ties are broken by the new order of the program.
PEAK_MEMORY = "commsched-reorder-for-peak-memory"
# May go further from where it came to.
ITERATIVE = [
    "commsched-reorder-comms-preserving-peak-memory{"
    "reorder_iterative_unsafe_collectives_reorder=false}",
    "commsched-sink-waits-iterative{memory-budget=0%}",
]
PIPELINES = [
    "commsched-order-collectives",
    "commsched-raise-comms",
    "commsched-sink-waits",
    "commsched-reorder-compute-for-overlap",
    "commsched-sink-waits,commsched-raise-comms",
    "commsched-simple-overlap",
    *ITERATIVE,
    PEAK_MEMORY,
    "commsched-order-collectives,commsched-raise-comms,commsched-sink-waits,"
    "commsched-reorder-compute-for-overlap",
]
# How often the last pipeline runs again, on several threads.
REPETITIONS = 20


def run(tool, text, pipeline):
    result = subprocess.run(
        [*tool, "--allow-unregistered-dialect",
         f"--pass-pipeline=builtin.module({pipeline})", "-"],
        input=text, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{pipeline} failed:\n{result.stderr[:4000]}")
    return result.stdout


def read_orders(text):
    """Function name -> tree of (operation name, children)."""
    functions, stack = {}, []
    for line in text.splitlines():
        line = line.strip()
        match = re.match(r"func\.func @(\w+)", line)
        if match:
            stack = [[]]
            functions[match.group(1)] = stack[0]
        elif stack:
            names = NAME.findall(line)
            if line.startswith("} else {"):
                continue
            if line.startswith("}") and len(stack) > 1:
                children = stack.pop()
                stack[-1].append((names[0], children))
            elif line.endswith("{"):
                stack.append([])
            elif names:
                stack[-1].append((names[0], []))
    return functions


def original_order(ops):
    return [(op.name, original_order(op.body)) for op in ops]


class Execution:
    """Executes a function of the model in the given order."""

    def __init__(self, function, order):
        self.function = function
        self.content = {v.storage: ("argument", v.storage)
                        for v in function.arguments}
        self.random = 0
        self.flying = []
        self.seen = {}
        self.races = set()
        self.streams = {}
        self.ordered = []
        self.sides = {}
        self.run(function.ops, order)

    def run(self, ops, order):
        by_name = {op.name: op for op in ops}
        assert sorted(by_name) == sorted(n for n, _ in order), (
            f"operations appeared or vanished in {self.function.name}")
        before = []
        for name, children in order:
            op = by_name[name]
            if op.communicates():
                if op.is_barrier():
                    self.sides[name] = sorted(before)
                before.append(name)
            self.execute(op, children)

    def execute(self, op, children):
        reads = [v.storage for v in op.reads]
        writes = [v.storage for v in op.writes]
        if op.effect:
            world = sorted(self.function.world)
            reads, writes = reads + world, writes + world
        if op.kind == "start":
            self.streams.setdefault(op.group, []).append(op.name)
            writes = [v.storage for v in op.into]
            if op.order >= 0:
                self.ordered.append(op.order)
        if op.kind == "blocking":
            self.streams.setdefault(op.group, []).append(op.name)
        if op.kind == "wait":
            self.flying.remove(op.start)
            reads = [v.storage for v in op.start.reads]
            writes = [v.storage for v in op.start.into]
        self.find_races(op, reads, writes)
        sight = [self.content.get(s) for s in reads]
        if op.random or op.effect:
            sight.append(self.random)
        self.seen[op.name] = hash(tuple(sight))
        state = (op.name, self.seen[op.name])
        if op.random or op.effect:
            self.random = state
        if op.kind == "start":
            self.flying.append(op)
        self.run(op.body, children)
        for storage in writes:
            self.content[storage] = (*state, storage)
        for value in op.makes:
            self.content[value.storage] = (*state, value.storage)

    def find_races(self, op, reads, writes):
        for start in self.flying:
            into = {v.storage for v in start.into}
            sent = {v.storage for v in start.reads}
            if into & set(reads) or (into | sent) & set(writes):
                self.races.add((op.name, start.name))


def check(function, order):
    before = Execution(function, original_order(function.ops))
    after = Execution(function, order)
    for name, sight in before.seen.items():
        if after.seen[name] != sight:
            return f"{name} sees other contents"
    if after.content != before.content:
        return "the contents at the end differ"
    if after.races - before.races:
        return f"races: {sorted(after.races - before.races)}"
    if after.streams != before.streams:
        return "the order of collectives on a group differs"
    if after.ordered != before.ordered:
        return "commsched.order is not respected"
    if after.sides != before.sides:
        return "something communicating crossed a barrier"
    return None


def simulate(function, order):
    """The numbers of the report, by the time and memory model."""
    by_name = {op.name: op for op in function.ops}
    clock, streams, ends = 0, {}, {}
    # Storage -> bytes, position that allocates it, positions that use it.
    where = {v.text: v.text for v in function.arguments}
    size = {v.text: BYTES for v in function.arguments}
    born = {v.text: -1 for v in function.arguments}
    last = {}
    for position, (name, _) in enumerate(order):
        op = by_name[name]
        if op.kind in ("start", "blocking"):
            begin = max(clock, streams.get(op.group, 0))
            ends[name] = streams[op.group] = begin + op.cost
            clock = clock if op.kind == "start" else ends[name]
        elif op.kind == "wait":
            clock = max(clock, ends[op.start.name])
        else:
            clock += op.cost
        users = op.reads + op.writes + op.into
        if op.kind == "start" and not op.into:
            for index in range(len(op.reads)):
                key = f"{name}#{index}"
                size[key], born[key] = BYTES, position
                last[key] = position
        for value in users:
            last[where[value.text]] = position
        if op.kind == "wait":
            for value in op.start.reads + op.start.into:
                last[where[value.text]] = position
        for index, value in enumerate(op.makes + op.views):
            if op.kind == "wait":
                key = (where[op.start.into[index].text] if op.start.into
                       else f"{op.start.name}#{index}")
            elif op.views and not (op.kind == "unknown" or len(op.reads) == 2
                                   and "select" in op_text(function, name)):
                key = where[aliased(op, value, function)]
            else:
                key = value.text
                size[key], born[key] = BYTES, position
            where[value.text] = key
            last[key] = position
    stay = {v.text for v in function.arguments}
    stay |= {where[v.text] for v in function.returned}
    for value in function.arguments:
        if value.text == "%p" and value.text not in last:
            size[value.text] = 0  # An unsharded parameter that is not used.
    live = sum(size[v.text] for v in function.arguments)
    peak = live
    for position in range(len(order)):
        live += sum(size[k] for k in size if born[k] == position)
        peak = max(peak, live)
        live -= sum(size[k] for k in size
                    if last.get(k) == position and k not in stay)
    return {"step_time_ns": clock, "peak_memory_bytes": peak,
            "num_ops": len(order) + 3}


def op_text(function, name):
    return next(line for line in function.text.splitlines()
                if f'commsched.name = "{name}"' in line)


def aliased(op, value, function):
    match = re.search(r"alias = (\d+)", op_text(function, op.name))
    return op.reads[int(match.group(1)) if match else 0].text


def read_reports(tool, text):
    """Function name -> its report."""
    lines = run(tool, text, "commsched-report{format=json}").splitlines()
    reports = (json.loads(line) for line in lines
               if line.startswith('{"function"'))
    return {report["function"]: report for report in reports}


def check_report(tool, functions, orders, text):
    reports = read_reports(tool, text)
    for function in functions:
        if function.has_regions:
            continue
        expected = simulate(function, orders[function.name])
        if function.resizes:  # The model does not follow such storage.
            del expected["peak_memory_bytes"]
        actual = {key: reports[function.name][key] for key in expected}
        if actual != expected:
            fail(function, "the report", text,
                 f"says {actual} instead of {expected}")


def check_peaks(tool, before, after):
    """No function may need more memory; returns whether one needs less."""
    reports = read_reports(tool, after)
    lower = False
    for name, report in read_reports(tool, before).items():
        peak, peak_after = (r["peak_memory_bytes"]
                            for r in (report, reports[name]))
        if peak_after > peak:
            sys.exit(f"{PEAK_MEMORY} on @{name}: the peak memory rises from "
                     f"{peak} to {peak_after} bytes")
        lower |= peak_after < peak
    return lower


def fail(function, pipeline, text, problem):
    after = re.search(rf"  func\.func @{function.name}\(.*?\n  }}\n", text,
                      re.S)
    sys.exit(f"{pipeline} on @{function.name}: {problem}\nbefore:\n"
             f"{function.text}\nafter:\n{after.group(0) if after else text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", nargs=argparse.REMAINDER,
                        help="commsched-opt and options for all of its runs")
    parser.add_argument("--functions", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    functions = generate(arguments.functions, arguments.seed)
    source = PROLOGUE + "".join(f.text for f in functions)
    moved = 0
    for pipeline in PIPELINES:
        text = run(arguments.tool, source, f"func.func({pipeline})")
        orders = read_orders(text)
        for function in functions:
            order = orders[function.name]
            moved += order != original_order(function.ops)
            problem = check(function, order)
            if problem:
                fail(function, pipeline, text, problem)
        check_report(arguments.tool, functions, orders, text)
        if "," in pipeline or pipeline in ITERATIVE:
            continue
        again = run(arguments.tool, text, f"func.func({pipeline})")
        if pipeline == PEAK_MEMORY:
            assert check_peaks(arguments.tool, source, text), "nothing saved"
            check_peaks(arguments.tool, text, again)
        elif again != text:
            sys.exit(f"{pipeline} changes its own result")
    assert moved, "no pass has moved anything"
    for _ in range(REPETITIONS):
        again = run(arguments.tool, source, f"func.func({PIPELINES[-1]})")
        if again != text:
            sys.exit(f"{PIPELINES[-1]} gives different results on one input")
    print(f"{len(functions)} functions, {len(PIPELINES)} pipelines: all well, "
          f"{moved} orders changed")


if __name__ == "__main__":
    main()
