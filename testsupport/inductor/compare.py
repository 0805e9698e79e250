#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare CommSched's orders with those of PyTorch Inductor.

Gives the problems of random steps to CommSched's passes and to the functions of
torch._inductor.comms and torch._inductor.memory, and prints how often they give
the same order. Where the orders differ, Inductor's function runs again with its
known defects repaired; a difference that no repair explains is printed, and the
status is 1.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from itertools import chain, combinations

sys.path.append(os.path.join(os.path.dirname(__file__), ".."))

import random_steps  # noqa: E402
from counterparts import ALL, WALKS  # noqa: E402
from simulate import simulate  # noqa: E402

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
BUILT_TOOL = os.path.join(ROOT, "build", "bin", "commsched-parity")
TORCH = "2.13"


@dataclass
class Comparison:
    """One function of a program, scheduled by both."""

    label: str
    name: str  # Inductor's function, with its settings.
    ours: dict
    differences: list
    # Defects whose repair makes both equal; none that is enough: None.
    explanation: tuple | None = ()

    @property
    def agrees(self):
        return self.differences == []

    @property
    def moved(self):
        return self.ours["order"] != sorted(self.ours["order"])


def dump(options, path, names):
    """Yields the problem of each function of a program, with CommSched's
    answers."""
    command = [options.tool, path]
    command += [ALL[name].get_flag() for name in names]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    for line in result.stdout.splitlines():
        yield json.loads(line)


def get_answer(problem, name):
    _, _, run = ALL[name].get_flag().partition("=")
    return next(o for o in problem["outcomes"] if o["name"] == run)


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


def explain(standin, ours, name):
    """The fewest repairs that make Inductor give the same answer."""
    import reference

    function = ALL[name]
    repairs = list(reference.REPAIRS.get(function.function, {}))
    for chosen in chain.from_iterable(
        combinations(repairs, count) for count in range(1, len(repairs) + 1)
    ):
        repaired = reference.run(standin, function, chosen)
        if not find_differences(ours, repaired):
            return chosen
    return None


def check_costs(problem, label):
    """Raises ValueError unless CommSched's costs are those of the model."""
    program = list(range(len(problem["nodes"])))
    for order, costs in [(program, problem["costs"])] + [
        (o["order"], o["costs"]) for o in problem["outcomes"]
    ]:
        if simulate(problem, order) != costs:
            raise ValueError(f"{label}: {costs} is not what the model says")


def compare_function(problem, standin, label, name):
    import reference

    ours = get_answer(problem, name)
    theirs = reference.run(standin, ALL[name])
    differences = find_differences(ours, theirs)
    result = Comparison(label, name, ours, differences)
    if differences:
        result.explanation = explain(standin, ours, name)
    return result


def build_standin(problem):
    import reference
    from standins import StandIn

    standin = StandIn(problem)
    standin.order_collectives(reference.comms)
    return standin


def compare(problem, label, names):
    """The comparisons of one function."""
    check_costs(problem, label)
    standin = build_standin(problem)
    for name in names:
        yield compare_function(problem, standin, label, name)


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


def print_table(comparisons):
    """How often both agree: a row for each function of Inductor, and one for it
    with all other settings."""
    print_row(["function", "steps", "reordered", "same", "explained by",
               "unexplained"])
    print_row(["---"] + ["---:"] * 3 + ["---", "---:"])
    rows = {}
    for c in comparisons:
        function, has_settings, _ = c.name.partition("[")
        label = f"{function}, other settings" if has_settings else function
        rows.setdefault(label, []).append(c)
    for label, found in rows.items():
        defects = Counter(" + ".join(c.explanation) for c in found if c.explanation)
        print_row(
            [label, len(found), sum(c.moved for c in found),
             sum(c.agrees for c in found),
             ", ".join(f"{defects[d]} {d}" for d in sorted(defects)) or "-",
             sum(c.explanation is None for c in found)]
        )


def print_exposures(counts):
    """How often both find the same computation beside a collective."""
    for walk, verdicts in counts.items():
        print_row([walk, verdicts.total(), "-", verdicts["same"],
                   f"{verdicts['explained']} windows of starts"
                   if verdicts["explained"] else "-",
                   verdicts["unexplained"]])


def compare_random(options, names):
    """The comparisons on random steps, and what compare_exposures() says of all
    of them."""
    print(f"{options.graphs} random steps, seed {options.seed}\n")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "steps.mlir")
        with open(path, "w", encoding="utf-8") as out:
            out.write(random_steps.generate(options.graphs, options.seed))
        results, exposures = [], {walk: Counter() for walk in WALKS}
        for problem in dump(options, path, names):
            results += compare(problem, problem["function"], names)
            for walk, verdicts in compare_exposures(problem).items():
                exposures[walk] += verdicts
        return results, exposures


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
    add("--graphs", type=int, default=500, help="number of random steps")
    add("--seed", type=int, default=1, help="of the random steps")
    add("--only", nargs="+", choices=ALL, help="functions, with their settings")
    add("--tool", default=BUILT_TOOL, help="commsched-parity")
    options = parser.parse_args()
    if reason := get_skip_reason():
        print(f"skipped: {reason}")
        return 0
    names = options.only or [*ALL]
    try:
        steps, exposures = compare_random(options, names)
    except subprocess.CalledProcessError as error:
        # It has said why.
        return error.returncode
    print_table(steps)
    print_exposures(exposures)
    unexplained = report_unexplained(steps)
    unexplained += sum(counts["unexplained"] for counts in exposures.values())
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
