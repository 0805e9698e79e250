#!/usr/bin/env python3
# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare CommSched's partitions of joint graphs with those of PyTorch.

Gives the same joint graphs to commsched-partition-joint and to the partitioners
of torch._functorch, and prints what each saves and computes again: the same, no
more, or something else, which is listed. Then times both on a large step. The
status is 1 if a difference has no explanation.
"""

import argparse
import itertools
import os
import pathlib
import re
import sys
import tempfile
import time
from collections import Counter

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "python"))
os.environ.setdefault("COMMSCHED_OPT", str(ROOT / "build/bin/commsched-opt"))

import cases  # noqa: E402
import commsched_partitioner as ours  # noqa: E402
import torch_partitioners as reference  # noqa: E402
from compare import (  # noqa: E402
    DIFFERENT,
    NO_MORE,
    SAME,
    WAYS,
    Row,
    compare,
)

#: How often each is timed: the least time counts.
RUNS = 3

#: Where the results begin in the page that they are written into.
RESULTS = "## Results\n"


def make_table(columns, rows, texts=1):
    """A table whose first columns are texts and whose others are numbers."""
    head = [columns, ["---"] * texts + ["---:"] * (len(columns) - texts)]
    lines = ("| " + " | ".join(map(str, r)) + " |" for r in [*head, *rows])
    return "\n".join(lines) + "\n"


def count_verdicts(rows):
    """One row a way: how many graphs, and how often each verdict."""
    for strategy, budget in WAYS:
        of_way = [r for r in rows if (r.strategy, r.budget) == (strategy, budget)]
        counts = Counter(row.verdict for row in of_way)
        if of_way:
            yield [
                of_way[0].way,
                len(of_way),
                *(counts[verdict] for verdict in (SAME, NO_MORE, DIFFERENT)),
            ]


def describe(partition):
    """Its saved MiB, its repeated Mflops, and how many operators it repeats."""
    if partition is None:
        return ["-"] * 3
    return [
        f"{partition.saved_bytes / 2**20:,.3f}",
        f"{partition.flops / 1e6:,.1f}",
        len(partition.repeated),
    ]


def interleave(row):
    pairs = zip(describe(row.mine), describe(row.theirs))
    return list(itertools.chain.from_iterable(pairs))


COSTS = [
    "saved, MiB", "reference", "repeated, Mflop", "reference",
    "repeated operators", "reference",
]


def make_equal_results(equal):
    """Whether CommSched repeats more with as many bytes as the reference."""
    found = [row for row in equal if row.verdict == DIFFERENT]
    yield (
        "With as many bytes as the reference saves at budget 0.5, CommSched "
        f"repeats no more flops on {len(equal) - len(found)} of {len(equal)} "
        "graphs. The others:\n"
    )
    yield make_table(
        ["graph", "strategy", *COSTS],
        [[row.case, row.way, *interleave(row)] for row in found],
        2,
    )


def make_results(models, randoms, equal):
    counted = ["strategy", "graphs", SAME, NO_MORE, DIFFERENT]
    yield "Models:\n"
    yield make_table(
        ["graph", "strategy", "verdict", *COSTS],
        [[r.case, r.way, r.verdict, *interleave(r)] for r in models],
        3,
    )
    yield "Random graphs:\n"
    yield make_table(counted, count_verdicts(randoms))
    found = [r for r in randoms + models if r.verdict == DIFFERENT]
    yield "Differences:\n"
    yield make_table(
        ["graph", "strategy", "because", *COSTS],
        [[r.case, r.way, r.reason or "?", *interleave(r)] for r in found],
        3,
    )
    yield from make_equal_results(equal)


def time_reference(case, strategy, budget, is_simplified):
    return min(
        reference.run(case, strategy, budget, is_simplified)[-1]
        for _ in range(RUNS)
    )


def time_large(folder):
    """Both, on each large step: the reference's function on nodes that are
    there already, the pass on operations that are there already, and the
    program from file to file."""
    rows = []
    for name, options in cases.LARGE.items():
        case = cases.trace(name, options)
        simple = cases.simplified(case)
        path = folder / "large.mlir"
        path.write_text(str(ours.imported(simple)))
        for strategy, budget in WAYS:
            whole = time_reference(case, strategy, budget, False)
            part = time_reference(simple, strategy, budget, True)
            runs = [ours.measure(path, strategy, budget) for _ in range(RUNS)]
            inside, program = map(min, zip(*runs))
            rows.append(
                [name, Row(name, strategy, budget).way,
                 len(simple.graph.graph.nodes),
                 f"{whole:.2f}", f"{part:.2f}",
                 f"{inside * 1e3:.0f}", f"{program * 1e3:.0f}",
                 *(f"{time / inside:.0f}" for time in (whole, part))]
            )
    return make_table(
        ["step", "strategy", "nodes", "reference, s", "without CSE, s",
         "pass, ms", "program, ms", "reference / pass", "without CSE / pass"],
        rows,
        2,
    )


def write(path, texts):
    """Prints the texts, and writes them into a page, in place of what is
    there as results."""
    text = "\n".join(texts)
    print(text)
    if path is None:
        return
    page = path.read_text() if path.exists() else RESULTS
    head = page.partition(RESULTS)[0]
    path.write_text(f"{head}{RESULTS}\n{text}")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--random", type=int, default=100, help="random graphs (default 100)")
    add("--seed", type=int, default=0, help="of the first of them (default 0)")
    add("--models", default=".", help="only models whose name this matches")
    add("--no-timing", action="store_true", help="leave the large step out")
    add("--output", type=pathlib.Path, help="a page to write the results into")
    return parser.parse_args()


def main() -> int:
    options = parse_options()
    if reason := reference.get_skip_reason():
        print(f"skipped: {reason}", file=sys.stderr)
        return 0
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models = [
            row
            for case in cases.make_models()
            if re.search(options.models, case.name)
            for row in compare(case, folder, equal_bytes=True)
        ]
        randoms = [
            row
            for case in cases.make_random("random", options.random, options.seed)
            for row in compare(case, folder, equal_bytes=True)
        ]
        equal = [row for row in models + randoms if row.is_equal]
        models, randoms = (
            [row for row in rows if not row.is_equal]
            for rows in (models, randoms)
        )
        texts = list(make_results(models, randoms, equal))
        if not options.no_timing:
            texts += ["Time:\n", time_large(folder)]
    write(options.output, texts)
    print(f"took {time.perf_counter() - start:.0f} s", file=sys.stderr)
    unexplained = [
        r for r in models + randoms
        if r.verdict == DIFFERENT and (r.reason is None or r.mine is None)
    ]
    for row in unexplained:
        print(f"unexplained: {row.case}, {row.way}", file=sys.stderr)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
