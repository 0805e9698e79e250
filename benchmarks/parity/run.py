#!/usr/bin/env python3
# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare CommSched's orders with those of PyTorch Inductor.

Gives the same scheduling problems to CommSched's passes and to the functions of
torch._inductor.comms and torch._inductor.memory, and prints how often they give
the same order, what both orders cost, and how long each took. Where the orders
differ, Inductor's function runs again with its known defects repaired; a
difference that no repair explains is printed, and the status is 1.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, combinations

import random_steps
from simulate import simulate

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
BUILT_TOOL = os.path.join(ROOT, "build", "bin", "commsched-parity")
EXAMPLES = [
    os.path.join(ROOT, "examples", name)
    for name in ("llama3-2layer-fsdp64.mlir", "llama3-8b-fsdp64.mlirbc")
]
TORCH = "2.13"
# What a schedule may need above the peak of the program: the default of
# config_comms.
BUDGET = 1.2
FIXED = "func.func(commsched-order-collectives);"
# Inductor's rules: what memory counts, and groups of any size.
AS_INDUCTOR = "reference-memory-model=true reorder_sink_verbose_logging=true"
UNBOUNDED = "max-group-size=1000000000"
# Inductor's function -> what is the same in CommSched: a pipeline, or a sort.
PIPELINES = {
    "raise_comms": f"{FIXED}func.func(commsched-raise-comms)",
    "sink_waits": f"{FIXED}func.func(commsched-sink-waits)",
    "reorder_compute_for_overlap": (
        f"{FIXED}func.func(commsched-reorder-compute-for-overlap)"
    ),
    "reorder_communication_preserving_peak_memory": (
        "func.func(commsched-reorder-comms-preserving-peak-memory"
        f"{{{AS_INDUCTOR} {UNBOUNDED}}})"
    ),
    "sink_waits_iterative": (
        f"func.func(commsched-sink-waits-iterative{{{AS_INDUCTOR}}})"
    ),
}
BUDGETED = [name for name in PIPELINES if AS_INDUCTOR in PIPELINES[name]]
SORTS = {
    f"topological_sort_{sort}": sort for sort in ("lpmf", "bfs", "dfs")
}


@dataclass
class Comparison:
    """One function of a program, scheduled by both."""

    label: str
    name: str  # Inductor's function.
    ours: dict
    theirs: object  # reference.Answer
    costs: dict  # Of their order.
    before: dict  # Of the program.
    peaks: tuple  # By Inductor's model: of the program, our and their order.
    differences: list = field(default_factory=list)
    # Defects whose repair makes both equal; none that is enough: None.
    explanation: tuple = ()

    @property
    def agrees(self):
        return not self.differences

    @property
    def moved(self):
        return self.ours["order"] != sorted(self.ours["order"])

    @property
    def ratio(self):
        return self.theirs.time_ns / max(1, self.ours["time_ns"])


def dump(options, path, names):
    """Yields what commsched-parity says of each function of a program."""
    command = [options.tool, path, f"--runs={options.runs}"]
    command += [f"--pipeline={PIPELINES[n]}" for n in names if n in PIPELINES]
    command += [f"--sort={SORTS[n]}" for n in names if n in SORTS]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    for line in result.stdout.splitlines():
        yield json.loads(line)


def classify(limiting_factor):
    """The kind of reason that CommSched's text gives."""
    if limiting_factor == "nothing":
        return "none"
    if limiting_factor.startswith("the collective"):
        return "collective"
    if limiting_factor.startswith("memory:"):
        return "memory"
    if limiting_factor.split(" with ")[0].endswith(" dependence"):
        return "dependence"
    raise ValueError(f"unknown limiting factor: {limiting_factor}")


def find_differences(ours, theirs):
    """What differs between two answers, as text for people."""
    found = []
    if ours["order"] != theirs.order:
        place = next(
            i
            for i, pair in enumerate(zip(ours["order"], theirs.order))
            if pair[0] != pair[1]
        )
        found.append(
            f"at place {place} of the order CommSched has operation "
            f"{ours['order'][place]} and Inductor {theirs.order[place]}"
        )
    infos = dict(ours["reorder_infos"])
    for node, move in theirs.moves.items():
        info = infos.get(node)
        if info is None:
            found.append(f"nothing is said of operation {node}")
            continue
        pairs = {
            "moves": (info["moves"], move.moves),
            "grouped": (info["grouped"], move.grouped),
            "limit": (classify(info["limiting_factor"]), move.limit),
            "comm_ns": (info["comm_ns"], move.comm_ns),
        }
        if move.comm_ns < 0:
            del pairs["comm_ns"]  # Inductor ran without statistics.
        found += [
            f"{key} of operation {node}: {mine} by CommSched, {other} by Inductor"
            for key, (mine, other) in pairs.items()
            if mine != other
        ]
    return found


def explain(standin, ours, name, options):
    """The fewest repairs that make Inductor give the same answer."""
    import reference

    repairs = list(reference.REPAIRS.get(name, {}))
    for chosen in chain.from_iterable(
        combinations(repairs, count) for count in range(1, len(repairs) + 1)
    ):
        theirs = reference.run(standin, name, chosen, options.limit)
        if not find_differences(ours, theirs):
            return chosen
    return None


def compare(problem, label, names, options):
    """The comparisons of one function."""
    import reference
    from standins import StandIn

    outcomes = {o["name"]: o for o in problem["outcomes"]}
    program = list(range(len(problem["nodes"])))
    for order, costs in [(program, problem["costs"])] + [
        (o["order"], o["costs"]) for o in problem["outcomes"]
    ]:
        if simulate(problem, order) != costs:
            raise ValueError(f"{label}: {costs} is not what the model says")
    standin = StandIn(problem)
    standin.order_collectives(reference.comms)
    for name in names:
        ours = outcomes[PIPELINES.get(name) or SORTS[name]]
        theirs = reference.run(
            standin, name, seconds=options.limit, runs=options.runs
        )
        result = Comparison(
            label,
            name,
            ours,
            theirs,
            simulate(problem, theirs.order),
            problem["costs"],
            tuple(
                standin.estimate_peak(order)
                for order in (program, ours["order"], theirs.order)
            ),
            find_differences(ours, theirs),
        )
        if not result.agrees:
            result.explanation = explain(standin, ours, name, options)
        yield result


def print_row(cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def print_header(columns, texts=1):
    print_row(columns)
    print_row(["---"] * texts + ["---:"] * (len(columns) - texts))


def print_random(comparisons, names):
    """How often both agree on random steps, one row a function of Inductor."""
    print_header(
        ["function", "steps", "reordered", "same", "explained by",
         "unexplained", "Inductor's time / CommSched's, median"]
    )
    for name in names:
        rows = [c for c in comparisons if c.name == name]
        defects = Counter(" + ".join(c.explanation) for c in rows if c.explanation)
        print_row(
            [name, len(rows), sum(c.moved for c in rows),
             sum(c.agrees for c in rows),
             ", ".join(f"{defects[d]} {d}" for d in sorted(defects)) or "-",
             sum(c.explanation is None for c in rows),
             f"{statistics.median(c.ratio for c in rows):.0f}"]
        )


def print_budgets(comparisons, names):
    """What the memory budget did on random steps, and what differences cost."""
    print_header(
        ["function", "stopped by the budget", "over it, CommSched",
         "over it, Inductor", "differing", "step shorter", "step longer",
         "peak lower", "peak higher"]
    )
    for name in names:
        rows = [c for c in comparisons if c.name == name]
        over = [
            sum(c.peaks[who] > BUDGET * c.peaks[0] for c in rows) for who in (1, 2)
        ]
        pairs = [(c.ours["costs"], c.costs) for c in rows if not c.agrees]
        costs = []
        for key in ("step_time_ns", "peak_memory_bytes"):
            costs.append(sum(mine[key] < other[key] for mine, other in pairs))
            costs.append(sum(mine[key] > other[key] for mine, other in pairs))
        print_row(
            [name,
             sum(any(m.limit == "memory" for m in c.theirs.moves.values())
                 for c in rows),
             *over, len(pairs), *costs]
        )


def both(mine, other, scale):
    """One number if both are the same, else CommSched's and Inductor's."""
    texts = [f"{value / scale:.2f}" for value in (mine, other)]
    return " / ".join(texts if texts[0] != texts[1] else texts[:1])


def print_programs(comparisons):
    """One row a function of the program and of Inductor."""
    print_header(
        ["program", "function", "same", "CommSched, ms", "Inductor, ms",
         "ratio", "step, ms", "exposed, ms", "peak, GiB",
         "peak by Inductor, GiB"],
        3,
    )
    last = None
    for c in comparisons:
        if c.label != last:
            last = c.label
            print_row(
                [c.label, "(before)", "", "", "", "",
                 f"{c.before['step_time_ns'] / 1e6:.2f}",
                 f"{c.before['exposed_comm_ns'] / 1e6:.2f}",
                 f"{c.before['peak_memory_bytes'] / 2**30:.2f}",
                 f"{c.peaks[0] / 2**30:.2f}"]
            )
        same = "yes" if c.agrees else " + ".join(c.explanation or ["no"])
        more = "> " if c.theirs.is_over_time else ""
        costs = [
            both(c.ours["costs"][key], c.costs[key], scale)
            for key, scale in (
                ("step_time_ns", 1e6),
                ("exposed_comm_ns", 1e6),
                ("peak_memory_bytes", 2**30),
            )
        ]
        print_row(
            ["", c.name, same, f"{c.ours['time_ns'] / 1e6:.2f}",
             f"{more}{c.theirs.time_ns / 1e6:.2f}", f"{more}{c.ratio:.0f}",
             *costs, both(c.peaks[1], c.peaks[2], 2**30)]
        )


def compare_random(options, names):
    if not options.graphs:
        return []
    print(f"{options.graphs} random steps, seed {options.seed}\n")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "steps.mlir")
        with open(path, "w", encoding="utf-8") as out:
            out.write(random_steps.generate(options.graphs, options.seed))
        return [
            result
            for problem in dump(options, path, names)
            for result in compare(problem, problem["function"], names, options)
        ]


def compare_programs(options, names):
    return [
        result
        for path in options.programs
        for problem in dump(options, path, names)
        for result in compare(
            problem,
            f"{os.path.basename(path)}, {problem['function']}",
            names,
            options,
        )
    ]


def report_unexplained(comparisons):
    unexplained = [c for c in comparisons if c.explanation is None]
    for c in unexplained:
        print(f"{c.label}, {c.name}: unexplained", file=sys.stderr)
        for difference in c.differences[:10]:
            print(f"  {difference}", file=sys.stderr)
    return len(unexplained)


def get_skip_reason():
    try:
        import torch
    except ImportError:
        return "there is no PyTorch"
    if not torch.__version__.startswith(TORCH):
        return f"PyTorch is {torch.__version__}, not {TORCH}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("programs", nargs="*", default=EXAMPLES, help="MLIR text or bytecode")
    add("--graphs", type=int, default=300, help="number of random steps")
    add("--seed", type=int, default=1, help="of the random steps")
    add("--only", nargs="+", choices=[*PIPELINES, *SORTS], help="functions")
    add("--runs", type=int, default=3, help="of everything; the median counts")
    add("--limit", type=float, default=60, metavar="SECONDS",
        help="for the runs of one function of Inductor on one program")
    add("--tool", default=BUILT_TOOL, help="commsched-parity")
    options = parser.parse_args()
    if reason := get_skip_reason():
        print(f"skipped: {reason}")
        return 0
    names = options.only or [*PIPELINES, *SORTS]
    try:
        steps = compare_random(options, names)
        programs = compare_programs(options, names)
    except subprocess.CalledProcessError as error:
        # It has said why.
        return error.returncode
    if steps:
        print_random(steps, names)
        print()
        budgeted = [name for name in names if name in BUDGETED]
        if budgeted:
            print_budgets(steps, budgeted)
            print()
    if programs:
        print_programs(programs)
    return 1 if report_unexplained(steps + programs) else 0


if __name__ == "__main__":
    sys.exit(main())
