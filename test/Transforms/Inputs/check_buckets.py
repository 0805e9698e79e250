# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Merges collectives of random programs and checks that they mean the same.

The programs come from random_buckets.py. After one bucketing pass with random
options, or several of them followed by other passes,

- every rank computes the same results, by rank_execution.py, whether transfers
  happen as they start or as they are waited for,
- the rules of bucket_rules.py hold: nothing is lost, no bucket is larger than
  it may be, nothing crosses what it may not,
- a second run of a single pass changes nothing.
"""

import argparse
import json
import random
import sys
from collections import Counter

from bucket_rules import (DEDUPLICATE, SUM_FIRST, Bucketing,
                          Violation, check_function)
from generic_ir import delivered_types, list_ops, parse
from printed_steps import Tool
from random_buckets import MODULES, WORLDS, generate, prologue
from rank_execution import Execution, read_groups

FORMS = [(kind, mode) for mode in ["copy", "copy", "coalesced", "auto"]
         for kind in ["all-gather", "reduce-scatter", "all-reduce"]]
FORMS += [("permute", "copy"), ("permute", "coalesced"),
          ("broadcast", "auto"), ("all-to-all", "coalesced")]
MERGED = ("all_gather", "reduce_scatter", "all_reduce", "permute", "broadcast",
          "all_to_all")
PARAMETER_KINDS = ("all-gather", "reduce-scatter", "all-reduce")
CAPS = [16, 32, 48, 64, 100, 200, 1 << 30]
PLANS = [[["layers.0"], ["layers.1", "head"]], [["layers.*.mlp"], ["head"]],
         [["layers"]], [[module] for module in MODULES[2:]], "auto", "auto"]
OTHERS = ["commsched-simple-overlap", "commsched-sink-waits",
          "commsched-raise-comms", "commsched-reorder-for-peak-memory",
          "commsched-reorder-compute-for-overlap",
          "commsched-reorder-comms-preserving-peak-memory",
          "commsched-sink-waits-iterative", "commsched-enforce-fsdp-order",
          "commsched-reinplace-all-gather", "cse",
          "commsched-schedule{buckets=off}"]


def random_bucketing(rng, kind, mode):
    bucketing = Bucketing(kind, mode)
    flags = [("fsdp-only", 0.2), ("multi-dtype", 0.5), (DEDUPLICATE, 0.3)]
    if kind != "all-gather":
        flags[1:] = [("bitwise", 0.15)]
    if kind == "reduce-scatter":
        flags.append((SUM_FIRST, 0.3))
    has_plan = kind in PARAMETER_KINDS
    if not has_plan:
        flags = []
    if has_plan and rng.random() < 0.15:
        bucketing.plan = rng.choice(PLANS)
    else:  # A plan goes by modules alone.
        flags.append(("saturation", 0.1))
        if rng.random() < 0.7:
            bucketing.caps = rng.choices(CAPS, k=rng.randint(1, 3))
        if rng.random() < 0.2:
            bucketing.max_count = rng.randint(2, 4)
    bucketing.flags = [flag for flag, chance in flags if rng.random() < chance]
    return bucketing


def find_function(ops, name):
    return next(op for op in ops if op.symbol() == name)


class Batch:
    """Some functions and what one pipeline makes of them."""

    def __init__(self, tool, count, seed):
        rng = random.Random(seed)
        self.tool = tool
        self.seed = seed
        self.world, groups = rng.choice(WORLDS)
        # Every kind and mode comes as often.
        self.passes = [random_bucketing(rng, *FORMS[seed % len(FORMS)])]
        self.others = []
        if rng.random() < 0.35:
            self.passes += [random_bucketing(rng, *rng.choice(FORMS))
                            for _ in range(rng.randint(1, 3))]
            self.others = rng.sample(OTHERS, rng.randint(0, 3))
        self.pipeline = ",".join(
            [p.pipeline() for p in self.passes] + self.others)
        kind = self.passes[0].kind.replace("-", "_")
        self.texts = generate(groups, kind, count, seed)
        self.source = prologue(groups) + "".join(self.texts)

    def run(self, source, pipeline):
        """What the tool prints: reports, and operations in generic form."""
        passes = f"func.func({pipeline})," if pipeline else ""
        printed, _ = self.tool.run(
            source, passes + "commsched-report{format=json}",
            "--mlir-print-op-generic")
        reports, begin, text = printed.partition(b'"builtin.module"')
        reports = map(json.loads, reports.splitlines())
        return {r["function"]: r for r in reports}, begin + text

    def check(self):
        """Exits if something is wrong; returns what was merged."""
        _, old_text = self.run(self.source, "")
        new_reports, new_text = self.run(old_text, self.pipeline)
        before, after = parse(old_text.decode()), parse(new_text.decode())
        groups = read_groups(before, self.world)
        merged = Counter()
        for index, text in enumerate(self.texts):
            name = f"f{index}"
            old, new = (find_function(ops, name) for ops in (before, after))
            try:
                for bucket in check_function(old, new, self.passes):
                    delivered = delivered_types(bucket.result_types[0])
                    merged[bucket.name, len(delivered) > 1] += 1
                self.check_values(old, new, groups)
            except (Violation, ValueError) as problem:
                self.fail(str(problem), text)
        if len(self.passes) == 1 and self.run(
                new_text, self.pipeline) != (new_reports, new_text):
            self.fail("a second run changes something", self.source)
        return merged

    def execute(self, function, groups, is_late, condition):
        return Execution(groups, self.world, is_late, condition).run(function)

    def check_values(self, before, after, groups):
        has_branches = any(op.name == "scf.if" for op in list_ops(before))
        for condition in (False, True)[:1 + has_branches]:
            expected = self.execute(before, groups, False, condition)
            for is_late in (False, True):
                if self.execute(after, groups, is_late,
                                condition) != expected:
                    raise Violation(
                        "other results, if the condition is "
                        f"{condition} and transfers happen "
                        f"{'as they are waited for' if is_late else 'at once'}"
                    )

    def fail(self, problem, text):
        sys.exit(f"seed {self.seed}, {self.pipeline}: {problem}\n{text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", nargs=argparse.REMAINDER,
                        help="commsched-opt and options for all of its runs")
    parser.add_argument("--count", type=int, default=45, help="pipelines")
    parser.add_argument("--functions", type=int, default=12,
                        help="for each pipeline")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    tool = Tool(arguments.tool)
    merged = Counter()
    for index in range(arguments.count):
        seed = arguments.seed * 1000003 + index
        merged += Batch(tool, arguments.functions, seed).check()
    if not merged:
        sys.exit("nothing was merged")
    # Of few, some kinds may have nothing to merge.
    for kind in MERGED if arguments.count >= 45 else ():
        for is_coalesced in (False, True):
            assert (merged[f"commsched.{kind}", is_coalesced]
                    or kind == "all_to_all" and not is_coalesced), (
                        f"no {kind} was merged")
    print(f"{arguments.count} pipelines, {sum(merged.values())} buckets: "
          "all well")


if __name__ == "__main__":
    main()
