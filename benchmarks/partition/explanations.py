# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Explanations of the cases in which CommSched saves or repeats more than the
reference. Every explanation is tested: by repairs of the reference that remove
the difference, and by the results of both within the budget."""

from itertools import chain, combinations

from repairs import REPAIRS
from torch_partitioners import Refusal


def explain(row, measure, most):
    """The reason for a difference; None if none is known.

    `measure(repairs)` is the reference's partition with these repairs, `most`
    what CommSched saves at budget 1.
    """
    if row.mine is None or not row.is_cut:
        return None
    known = [r for r in REPAIRS if r.applies(row)]
    for repairs in chain.from_iterable(
        combinations(known, count) for count in range(len(known) + 1)
    ):
        try:
            theirs = measure(repairs)
        except Refusal:
            continue
        reason = compare_budgets(row.mine, theirs, row.budget, most)
        if reason is not None:
            texts = [f"the reference {repair.text}" for repair in repairs]
            return "; ".join([*texts, *filter(None, [reason])])
    return None


def is_no_more(mine, theirs):
    """Whether `mine` saves no more bytes and repeats no more flops."""
    return (
        mine.saved_bytes <= theirs.saved_bytes and mine.flops <= theirs.flops
    )


def compare_budgets(mine, theirs, budget, most):
    """Why `mine` is as good an answer as `theirs`: the empty text if it is no
    worse; None if there is no reason."""
    if is_no_more(mine, theirs):
        return ""
    if not 0 < budget < 1:
        return None
    allowed = budget * most.activation_bytes
    if mine.activation_bytes > allowed:
        return None
    if theirs.activation_bytes > allowed:
        return "the reference is over the budget"
    if (mine.flops, len(mine.repeated)) < (theirs.flops, len(theirs.repeated)):
        return "CommSched uses more of the budget and repeats less"
    return None
