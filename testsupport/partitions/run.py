#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare CommSched's partitions of joint graphs with those of PyTorch.

Gives the same joint graphs to commsched-partition-joint and to the partitioners
of torch._functorch, and prints what each saves and computes again: the same, no
more, or something else, with its reason. The status is 1 if a difference has no
explanation.
"""

import argparse
import multiprocessing
import os
import pathlib
import re
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "python"), str(ROOT / "examples" / "models")]
os.environ.setdefault("COMMSCHED_OPT", str(ROOT / "build/bin/commsched-opt"))

import torch  # noqa: E402

import cases  # noqa: E402
import rewrites  # noqa: E402
import torch_partitioners as reference  # noqa: E402
from compare_partitions import (  # noqa: E402
    DIFFERENT,
    NO_MORE,
    SAME,
    compare,
)


def make_table(columns, rows, texts=1):
    """A table whose first columns are texts and whose others are numbers."""
    head = [columns, ["---"] * texts + ["---:"] * (len(columns) - texts)]
    lines = ("| " + " | ".join(map(str, r)) + " |" for r in [*head, *rows])
    return "\n".join(lines) + "\n"


def count_verdicts(rows):
    """One row a family and way: how many graphs, how often each verdict, and
    why graphs differ."""
    groups = group(rows, lambda row: (row.case.split()[0], row.way))
    for (family, way), of_way in groups.items():
        counts = Counter(row.verdict for row in of_way)
        reasons = Counter(
            reason
            for row in of_way
            if row.verdict == DIFFERENT
            for reason in (row.reason or "?").split("; ")
        )
        yield [
            family,
            way,
            join(reasons),
            len(of_way),
            *(counts[verdict] for verdict in (SAME, NO_MORE, DIFFERENT)),
        ]


def join(reasons):
    texts = (f"{count} {reason}" for reason, count in sorted(reasons.items()))
    return "; ".join(texts) or "-"


def group(items, key):
    groups = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def count_outcomes(outcomes):
    """One row a family and rewrite, as count_verdicts()."""
    groups = group(outcomes, lambda o: (o.case.split()[0], o.what))
    for (family, what), found in groups.items():
        reasons = Counter(reason for o in found for reason in o.reasons)
        yield [
            family,
            what,
            join(reasons),
            len(found),
            sum(o.same for o in found),
            "",
            sum(not o.same for o in found),
        ]


def compare_random(task):
    """The rows and the outcomes of one random graph, in a process of its own.
    What fails is an outcome without a reason."""
    family, seed = task
    torch.set_num_threads(1)
    rows, outcomes = [], []

    def partition():
        with tempfile.TemporaryDirectory() as name:
            case = cases.FAMILIES[family](seed)
            rows.extend(compare(case, pathlib.Path(name)))

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
    print(f"seeds {options.seed} to {last} of each family", file=sys.stderr)
    return rows, outcomes


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
    return parser.parse_args()


def main() -> int:
    options = parse_options()
    if reason := reference.get_skip_reason():
        print(f"skipped: {reason}", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models = [
            row
            for case in cases.make_models()
            if re.search(options.models, case.name)
            for row in compare(case, folder)
        ]
    for row in models:
        # One family of their own.
        row.case = f"model {row.case}"
    randoms, outcomes = compare_randoms(options)
    print(
        make_table(
            ["graphs", "strategy", "reasons", "number", SAME, NO_MORE, DIFFERENT],
            [*count_verdicts(models + randoms), *count_outcomes(outcomes)],
            3,
        )
    )
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
