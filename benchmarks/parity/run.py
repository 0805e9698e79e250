#!/usr/bin/env python3
# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare CommSched's orders with those of PyTorch Inductor.

Gives the same scheduling problems to CommSched's passes, to the solvers behind
them, and to the functions of torch._inductor.comms and torch._inductor.memory,
and prints how often they give the same order, what both orders cost, and how
long each took. Where the orders differ, Inductor's function runs again with its
known defects repaired; a difference that no repair explains is printed, and the
status is 1.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from itertools import chain, combinations

import random_steps
from counterparts import ALL, BUDGETED, FUNCTIONS, RAISE, WALKS
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
# How many collectives are compared where Inductor takes too long for all.
FIRST = 16


@dataclass
class Comparison:
    """One function of a program, scheduled by both."""

    label: str
    name: str  # Inductor's function, with its settings.
    ours: dict
    theirs: object  # reference.Answer
    costs: dict | None  # Of their order.
    before: dict  # Of the program.
    peaks: tuple  # By Inductor's model: of the program, our and their order.
    # None: not compared, since Inductor takes too long.
    differences: list | None = None
    # Defects whose repair makes both equal; none that is enough: None.
    explanation: tuple | None = ()
    # Only so many collectives are compared.
    first: int | None = None

    @property
    def agrees(self):
        return self.differences == []

    @property
    def moved(self):
        return self.ours["order"] != sorted(self.ours["order"])

    def get_ratio(self, key):
        """Inductor's time over that of `pass_ns` or `solver_ns`."""
        return self.theirs.time_ns / max(1, self.ours[key] or 1)


def call_tool(options, path, pipelines, solvers=(), runs=1):
    """Yields what commsched-parity says of each function of a program."""
    command = [options.tool, path, f"--runs={runs}"]
    command += [f"--pipeline={pipeline}" for pipeline in pipelines]
    command += [f"--solver={solver}" for solver in solvers]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    for line in result.stdout.splitlines():
        yield json.loads(line)


def dump(options, path, names):
    """Yields the problem of each function of a program, with CommSched's
    answers."""
    functions = [ALL[name] for name in names]
    pipelines = [
        f.get_pipeline() for f in functions if f.solver or not f.is_iterative
    ]
    pipelines += [f.get_account() for f in functions if f.is_iterative]
    solvers = [f.solver for f in functions if f.solver]
    return call_tool(options, path, pipelines, solvers, options.runs)


def get_answer(problem, name):
    """CommSched's: of the passes, with their statistics where they have some;
    a sort's pass goes back to the program's order where that is better, so that
    the sort itself counts."""
    outcomes = {o["name"]: o for o in problem["outcomes"]}
    function = ALL[name]
    if not function.solver:
        answer = outcomes[
            function.get_account() if function.is_iterative
            else function.get_pipeline()
        ]
        return {**answer, "pass_ns": answer["time_ns"], "solver_ns": None,
                "other_orders": []}
    timed, solved = outcomes[function.get_pipeline()], outcomes[function.solver]
    answer = timed
    if function.is_sort:
        answer = solved
    elif function.is_iterative:
        answer = outcomes[function.get_account()]
    return {
        **answer,
        "pass_ns": timed["time_ns"],
        "solver_ns": solved["time_ns"],
        "other_orders": [
            o["order"] for o in (timed, solved)
            if not function.is_sort and o["order"] != answer["order"]
        ],
    }


def classify(limiting_factor):
    """The kind of reason that CommSched's text gives."""
    if limiting_factor == "nothing":
        return "none"
    if limiting_factor.startswith("the collective"):
        return "collective"
    if limiting_factor.startswith("memory:"):
        return "memory"
    if limiting_factor == "estimates: computation hides it":
        return "hidden"
    if limiting_factor.startswith("estimates: passing"):
        return "exposure"
    if limiting_factor.split(" with ")[0].endswith(" dependence"):
        return "dependence"
    raise ValueError(f"unknown limiting factor: {limiting_factor}")


def find_differences(ours, theirs):
    """What differs between two answers, as text for people."""
    found = []
    if ours.get("other_orders"):
        found.append("CommSched's pass and its solver differ")
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


def explain(standin, ours, theirs, name, options, first):
    """The fewest repairs that make Inductor give the same answer."""
    import reference

    function = ALL[name]
    repairs = list(reference.REPAIRS.get(function.function, {}))
    for chosen in chain.from_iterable(
        combinations(repairs, count) for count in range(1, len(repairs) + 1)
    ):
        repaired = reference.run(
            standin, function, chosen, options.limit, first=first,
            statistics=not theirs.is_over_time,
        )
        if repaired.order and not find_differences(ours, repaired):
            return chosen
    return None


def run_first(problem, standin, name, options):
    """Both answers, when only the first collectives are moved."""
    import reference

    pipeline = ALL[name].get_account(FIRST)
    theirs = reference.run(
        standin, ALL[name], seconds=options.limit, first=FIRST, statistics=False
    )
    ours = next(
        other["outcomes"][0]
        for other in call_tool(options, problem["program"], [pipeline])
        if other["function"] == problem["function"]
    )
    return ours, theirs


def check_costs(problem, label):
    """Raises ValueError unless CommSched's costs are those of the model."""
    program = list(range(len(problem["nodes"])))
    for order, costs in [(program, problem["costs"])] + [
        (o["order"], o["costs"]) for o in problem["outcomes"]
    ]:
        if simulate(problem, order) != costs:
            raise ValueError(f"{label}: {costs} is not what the model says")


def compare_function(problem, standin, label, name, options):
    import reference

    ours = get_answer(problem, name)
    theirs = reference.run(
        standin, ALL[name], seconds=options.limit, runs=options.runs
    )
    program = list(range(len(problem["nodes"])))
    result = Comparison(
        label,
        name,
        ours,
        theirs,
        simulate(problem, theirs.order) if theirs.order else None,
        problem["costs"],
        tuple(
            standin.estimate_peak(order or ours["order"])
            for order in (program, ours["order"], theirs.order)
        ),
    )
    if not theirs.order and ALL[name].is_iterative:
        result.first = FIRST
        ours, theirs = run_first(problem, standin, name, options)
    if theirs.order:
        result.differences = find_differences(ours, theirs)
    if result.differences:
        result.explanation = explain(
            standin, ours, theirs, name, options, result.first
        )
    return result


def build_standin(problem):
    import reference
    from standins import StandIn

    standin = StandIn(problem)
    standin.order_collectives(reference.comms)
    return standin


def compare(problem, label, names, options):
    """The comparisons of one function."""
    check_costs(problem, label)
    standin = build_standin(problem)
    for name in names:
        yield compare_function(problem, standin, label, name, options)


def compare_exposures(problem):
    """How often both find the same computation beside a collective in the
    program's order, by the function of Inductor: Counter of "same", "explained"
    and "unexplained"."""
    import reference

    standin = build_standin(problem)
    theirs = reference.find_exposures(standin)
    repaired = reference.find_exposures(standin, repaired=True)
    counts = {walk: Counter() for walk in WALKS}
    for start, *ours in problem["exposures"]:
        for walk, mine, other, mended in zip(
            WALKS, ours, theirs[start], repaired[start]
        ):
            verdict = (
                "same" if mine == other
                else "explained" if mine == mended
                else "unexplained"
            )
            counts[walk][verdict] += 1
    return counts


def print_row(cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def print_header(columns, texts=1):
    print_row(columns)
    print_row(["---"] * texts + ["---:"] * (len(columns) - texts))


def print_random(comparisons, names):
    """How often both agree on random steps, one row a function of Inductor."""
    print_header(
        ["function", "steps", "reordered", "same", "explained by",
         "unexplained", "Inductor's time / the pass's, median",
         "Inductor's time / the solver's, median"]
    )
    for name in names:
        rows = [c for c in comparisons if c.name == name]
        defects = Counter(" + ".join(c.explanation) for c in rows if c.explanation)
        print_row(
            [name, len(rows), sum(c.moved for c in rows),
             sum(c.agrees for c in rows),
             ", ".join(f"{defects[d]} {d}" for d in sorted(defects)) or "-",
             sum(c.explanation is None for c in rows),
             *(f"{statistics.median(c.get_ratio(key) for c in rows):.0f}"
               if ALL[name].solver else "-" for key in ("pass_ns", "solver_ns"))]
        )


def print_exposures(counts):
    print_header(["function", "collectives", "same", "explained", "unexplained"])
    for walk, verdicts in counts.items():
        print_row([walk, verdicts.total(), verdicts["same"],
                   verdicts["explained"], verdicts["unexplained"]])


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


def describe_agreement(comparison):
    c = comparison
    if c.differences is None:
        return "not compared"
    text = "yes" if c.agrees else " + ".join(c.explanation or ["no"])
    return text if c.first is None else f"{text} (first {c.first} collectives)"


def print_programs(comparisons):
    """One row a function of the program and of Inductor."""
    print_header(
        ["program", "function", "same", "pass, ms", "solver, ms", "Inductor, ms",
         "Inductor / pass", "Inductor / solver", "step, ms", "exposed, ms",
         "peak, GiB", "peak by Inductor, GiB"],
        3,
    )
    last = None
    for c in comparisons:
        if c.label != last:
            last = c.label
            print_row(
                [c.label, "(before)", "", "", "", "", "", "",
                 f"{c.before['step_time_ns'] / 1e6:.2f}",
                 f"{c.before['exposed_comm_ns'] / 1e6:.2f}",
                 f"{c.before['peak_memory_bytes'] / 2**30:.2f}",
                 f"{c.peaks[0] / 2**30:.2f}"]
            )
        more = "> " if c.theirs.is_over_time else ""
        costs = [
            both(c.ours["costs"][key], (c.costs or c.ours["costs"])[key], scale)
            for key, scale in (
                ("step_time_ns", 1e6),
                ("exposed_comm_ns", 1e6),
                ("peak_memory_bytes", 2**30),
            )
        ]
        print_row(
            ["", c.name, describe_agreement(c),
             *(f"{c.ours[key] / 1e6:.2f}" for key in ("pass_ns", "solver_ns")),
             f"{more}{c.theirs.time_ns / 1e6:.2f}",
             *(f"{more}{c.get_ratio(key):.0f}" for key in ("pass_ns", "solver_ns")),
             *costs, both(c.peaks[1], c.peaks[2], 2**30)]
        )


def print_parsing(sizes):
    """What stands before each pass that gets a program as text."""
    print_header(["program", "operations", "collectives", "parsing, ms"])
    for label, (operations, collectives, parse_ns) in sizes.items():
        print_row([label, operations, collectives, f"{parse_ns / 1e6:.2f}"])


def compare_random(options, names):
    """The comparisons on random steps, and what compare_exposures() says of all
    of them."""
    if not options.graphs:
        return [], {}
    print(f"{options.graphs} random steps, seed {options.seed}\n")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "steps.mlir")
        with open(path, "w", encoding="utf-8") as out:
            out.write(random_steps.generate(options.graphs, options.seed))
        results, exposures = [], {walk: Counter() for walk in WALKS}
        for problem in dump(options, path, names):
            results += compare(problem, problem["function"], names, options)
            for walk, verdicts in compare_exposures(problem).items():
                exposures[walk] += verdicts
        return results, exposures


def compare_programs(options, names):
    """The comparisons, and by program its operations, its collectives, and the
    time to parse it."""
    comparisons, sizes = [], {}
    for path in options.programs:
        program = os.path.basename(path)
        for problem in dump(options, path, names):
            kinds = Counter(kind for kind, *_ in problem["nodes"])
            before = sizes.get(program, (0, 0, 0))
            sizes[program] = (
                before[0] + kinds.total(),
                before[1] + kinds["start"] + kinds["blocking"],
                problem["parse_ns"],
            )
            label = f"{program}, {problem['function']}"
            comparisons += compare(problem, label, names, options)
    return comparisons, sizes


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
    add("--graphs", type=int, default=500, help="number of random steps")
    add("--seed", type=int, default=1, help="of the random steps")
    add("--only", nargs="+", choices=ALL, help="functions, with their settings")
    add("--runs", type=int, default=3, help="of everything; the median counts")
    add("--limit", type=float, default=60, metavar="SECONDS",
        help="for the runs of one function of Inductor on one program; once "
             "more without its statistics, twice as long")
    add("--tool", default=BUILT_TOOL, help="commsched-parity")
    options = parser.parse_args()
    if reason := get_skip_reason():
        print(f"skipped: {reason}")
        return 0
    names = options.only or [*ALL]
    try:
        steps, exposures = compare_random(options, names)
        programs, sizes = compare_programs(
            options, [name for name in names if name in FUNCTIONS]
        )
    except subprocess.CalledProcessError as error:
        # It has said why.
        return error.returncode
    if steps:
        print_random(steps, names)
        print()
        print_exposures(exposures)
        print()
        budgeted = [name for name in names if name in BUDGETED]
        if budgeted:
            print_budgets(steps, budgeted)
            print()
    if programs:
        print_parsing(sizes)
        print()
        print_programs(programs)
    unexplained = report_unexplained(steps + programs)
    unexplained += sum(counts["unexplained"] for counts in exposures.values())
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
