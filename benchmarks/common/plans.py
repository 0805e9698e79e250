# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipelines that bucket the collectives of a step by hand-written plans."""

import re

KINDS = ("all-gather", "reduce-scatter", "all-reduce")


def buckets(options: str, then: str = "") -> str:
    """A pipeline of the bucketing passes, with the same options."""
    passes = [f"commsched-bucket-{kind}{{{options}}}" for kind in KINDS]
    return f"func.func({','.join(passes + ([then] if then else []))})"


def find_plan(program: str) -> str:
    """An entry for each transformer block, and one for each other module."""
    entries = []
    for path in re.findall(r'commsched\.module = "([^"]*)"', program):
        block = re.match(r"(.*\blayers\.\d+)(\.|$)", path)
        entry = block.group(1) if block else path
        if entry not in entries:
            entries.append(entry)
    return ";".join(entries)
