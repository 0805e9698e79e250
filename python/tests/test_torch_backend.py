# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules under Inductor on two ranks: what they compute. test_torch_matrix.py
compares eager kernels."""

import warnings
from typing import NamedTuple, Optional

import pytest
import torch
import commsched.torch as cs
import compiled_steps as steps
from commsched.torch.compiling import records
from ranks import run_ranks

pytestmark = pytest.mark.usefixtures("opt_program")


@pytest.fixture(scope="module")
def ordered_outcomes():
    return run_ranks(compare, timeout=280)


def test_training_is_that_of_inductor(ordered_outcomes):
    """An order alone changes no bit."""
    for outcome in ordered_outcomes:
        assert outcome.ordered is None
        assert outcome.statuses == ["forward scheduled", "backward scheduled"] * 2


def test_buckets_change_rounding_alone(ordered_outcomes):
    """Parameters and activations have 8 bits of precision."""
    for outcome in ordered_outcomes:
        assert outcome.buckets >= 2
        assert outcome.merged < 0.02


# -- Training steps under Inductor with and without CommSched, on several
# ranks.


#: The settings of both: draws from the generator as eager makes them.
SETTINGS = {"fallback_random": True}

#: What a change of order could disturb, in one step: draws, buffers that are
#: written, rounding to 16 bits, symbolic sizes, and frozen parameters.
CASE = steps.Case(
    {"layers": 1, "dropout": 0.3, "norm": True},
    distribute=steps.shard_mixed,
    dtype=torch.bfloat16,
    rows=(8, 6),
    prepare=steps.freeze,
)


class Compared(NamedTuple):
    """Against Inductor without CommSched: the first difference of what is only
    ordered, the largest of what is merged too, as a part of the largest value,
    what became of the graphs, and how many buckets there are."""

    ordered: Optional[str]
    merged: float
    statuses: list[str]
    buckets: int


def compare(rank: int) -> Compared:
    warnings.simplefilter("error", category=cs.CommSchedWarning)
    plain = train(CASE, SETTINGS, dynamic=True)
    ordered = train(CASE, cs.inductor_options(SETTINGS, buckets="off"), dynamic=True)
    merged = train(CASE, cs.inductor_options(SETTINGS), dynamic=True)
    found = records.records()
    return Compared(
        steps.difference(plain, ordered),
        _largest_difference(plain[0], merged[0]),
        [f"{record.kind} {record.status}" for record in found],
        sum(len(record.merged) for record in found),
    )


def _largest_difference(wanted: dict, found: dict) -> float:
    assert wanted.keys() == found.keys()
    return max(
        float((found[name] - value).abs().max() / value.abs().max())
        for name, value in wanted.items()
        if value.is_floating_point() and value.abs().max() > 0
    )


def train(
    case: steps.Case, settings: dict, dynamic: Optional[bool] = None
) -> list[dict]:
    torch._dynamo.reset()
    return steps.train_with(
        case,
        lambda m: torch.compile(m, options=settings, dynamic=dynamic),
    )
