# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Explanations of the cases in which CommSched saves or repeats more than the
reference. Every explanation is tested: by repairs of the reference that remove
the difference, and by the results of both within the budget."""

from itertools import chain, combinations

from repairs import REPAIRS
from torch_partitioners import SEVERAL, Refusal


def explain(row, measure, most):
    """The reason for a difference; None if none is known.

    `measure(repairs)` are both partitions with these repairs, `most` what
    CommSched saves at budget 1.
    """
    if row.mine is None or not row.is_cut:
        return None
    if SEVERAL in (row.refusal or ""):
        return f"the reference {SEVERAL}"
    known = [r for r in REPAIRS if r.applies(row)]
    failing = None
    for repairs in chain.from_iterable(
        combinations(known, count) for count in range(len(known) + 1)
    ):
        try:
            mine, theirs = measure(repairs)
        except Refusal as refusal:
            if SEVERAL in str(refusal):
                failing = failing or [*(r.text for r in repairs), SEVERAL]
            continue
        reason = compare_budgets(mine, theirs, row.budget, most)
        if reason is not None:
            texts = [f"the reference {repair.text}" for repair in repairs]
            return "; ".join([*texts, *filter(None, [reason])])
    return failing and "; ".join(f"the reference {text}" for text in failing)


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
    if budget == 1:
        return None
    allowed = budget * most.activation_bytes
    if mine.activation_bytes > allowed:
        if mine.activation_bytes < theirs.activation_bytes:
            return "neither keeps the budget, and CommSched saves less"
        return None
    if theirs.activation_bytes > allowed:
        return "the reference is over the budget"
    if (mine.flops, len(mine.repeated)) < (theirs.flops, len(theirs.repeated)):
        return "CommSched uses more of the budget and repeats less"
    return None
