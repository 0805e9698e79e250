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
import gc
import itertools
import multiprocessing
import os
import pathlib
import re
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "python"))
os.environ.setdefault("COMMSCHED_OPT", str(ROOT / "build/bin/commsched-opt"))

import torch  # noqa: E402

import cases  # noqa: E402
import commsched_partitioner as ours  # noqa: E402
import rewrites  # noqa: E402
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
    """One row a family and way: how many graphs, and how often each verdict."""
    groups = group(rows, lambda row: (row.case.split()[0], row.way))
    for (family, way), of_way in groups.items():
        counts = Counter(row.verdict for row in of_way)
        yield [
            family,
            way,
            len(of_way),
            *(counts[verdict] for verdict in (SAME, NO_MORE, DIFFERENT)),
        ]


def count_reasons(rows):
    """One row a family, way and reason: on how many graphs it holds."""
    found = [row for row in rows if row.verdict == DIFFERENT]
    groups = group(
        found, lambda row: (row.case.split()[0], row.way, row.reason or "?")
    )
    for (family, way, reason), of_reason in groups.items():
        yield [family, way, reason, len(of_reason)]


def group(items, key):
    groups = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def count_outcomes(outcomes):
    """One row a family and rewrite: how many graphs, how often both did the
    same, on how many values or operations, and how often each reason held."""
    groups = group(outcomes, lambda o: (o.case.split()[0], o.what))
    for (family, what), found in groups.items():
        reasons = Counter(reason for o in found for reason in o.reasons)
        yield [
            family,
            what,
            "; ".join(f"{n}: {reason}" for reason, n in reasons.items()),
            len(found),
            sum(o.same for o in found),
            sum(o.count for o in found),
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


def make_results(models, randoms, equal, outcomes):
    counted = ["family", "strategy", "graphs", SAME, NO_MORE, DIFFERENT]
    yield "Models:\n"
    yield make_table(
        ["graph", "strategy", "verdict", *COSTS],
        [[r.case, r.way, r.verdict, *interleave(r)] for r in models],
        3,
    )
    yield "Random graphs:\n"
    yield make_table(counted, count_verdicts(randoms), 2)
    yield "Reasons of the differences among them:\n"
    yield make_table(
        ["family", "strategy", "because", "graphs"], count_reasons(randoms), 3
    )
    found = [r for r in models if r.verdict == DIFFERENT]
    yield "Differences among the models:\n"
    yield make_table(
        ["graph", "strategy", "because", *COSTS],
        [[r.case, r.way, r.reason or "?", *interleave(r)] for r in found],
        3,
    )
    yield "Rewrites of random graphs:\n"
    yield make_table(
        ["family", "rewrite", "differences", "graphs", SAME, "rewritten"],
        count_outcomes(outcomes),
        3,
    )
    yield from make_equal_results(equal)


def compare_random(task):
    """The rows and the outcomes of one random graph, in a process of its own.
    What fails is an outcome without a reason."""
    family, seed = task
    torch.set_num_threads(1)
    rows, outcomes = [], []

    def partition():
        with tempfile.TemporaryDirectory() as name:
            case = cases.FAMILIES[family](seed)
            is_first = family == "random"
            rows.extend(compare(case, pathlib.Path(name), equal_bytes=is_first))

    def order():
        return rewrites.compare_order(cases.FAMILIES[family](seed))

    def quantization():
        narrow = cases.FAMILIES[family](seed, torch.bfloat16)
        return rewrites.compare_quantization(
            narrow, rewrites.Settings.draw(seed)
        )

    for step in (partition, order, quantization):
        try:
            outcomes.append(step())
        except Exception as error:
            text = f"{type(error).__name__}: {error}".splitlines()[0]
            outcomes.append(
                rewrites.Outcome(
                    f"{family} {seed}", step.__name__, False, 0, [], text
                )
            )
    return rows, list(filter(None, outcomes))


def compare_randoms(options):
    """An interrupt ends it early: the results are those of the seeds so far."""
    tasks = [
        (family, seed)
        for seed in range(options.seed, options.seed + options.random)
        for family in options.families.split(",")
    ]
    rows, outcomes, number = [], [], 0
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        try:
            done = pool.map(compare_random, tasks)
            for number, (of_case, rewritten) in enumerate(done, 1):
                rows += of_case
                outcomes += rewritten
                if number % 50 == 0:
                    print(f"{number} of {len(tasks)} graphs", file=sys.stderr,
                          flush=True)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
    last = tasks[max(0, number - 1)][1]
    return f"Seeds {options.seed} to {last} of each family.\n", rows, outcomes


def time_reference(case, strategy, budget, is_simplified):
    gc.collect()
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
    add("--random", type=int, default=500,
        help="random graphs of each family (default 500)")
    add("--families", default=",".join(cases.FAMILIES),
        help="families of random graphs (default all)")
    add("--jobs", type=int, default=2, help="processes (default 2)")
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
        seeds, randoms, outcomes = compare_randoms(options)
        equal = [row for row in models + randoms if row.is_equal]
        models, randoms = (
            [row for row in rows if not row.is_equal]
            for rows in (models, randoms)
        )
        texts = [seeds, *make_results(models, randoms, equal, outcomes)]
        if not options.no_timing:
            texts += ["Time:\n", time_large(folder)]
    write(options.output, texts)
    print(f"took {time.perf_counter() - start:.0f} s", file=sys.stderr)
    unexplained = [
        r for r in models + randoms
        if r.verdict == DIFFERENT and (r.reason is None or r.mine is None)
    ]
    found = [
        (row.case, row.way, row.reason or row.refusal) for row in unexplained
    ] + [
        (outcome.case, outcome.what, outcome.detail)
        for outcome in outcomes
        if not outcome.same and not outcome.reasons
    ]
    for case, what, text in found:
        print(f"unexplained: {case}, {what}: {text}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
