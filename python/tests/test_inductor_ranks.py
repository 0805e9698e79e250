# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules under Inductor on two ranks: what they compute."""

import pytest

pytest.importorskip("torch")

import inductor_steps
from ranks import run_ranks

pytestmark = pytest.mark.usefixtures("opt_program")


@pytest.fixture(scope="module")
def outcomes():
    return run_ranks(inductor_steps.compare, timeout=280)


def test_training_is_that_of_inductor(outcomes):
    """An order alone changes no bit."""
    for outcome in outcomes:
        assert outcome.ordered is None
        assert outcome.statuses == ["forward scheduled", "backward scheduled"] * 2


def test_buckets_change_rounding_alone(outcomes):
    """Parameters and activations have 8 bits of precision."""
    for outcome in outcomes:
        assert outcome.buckets >= 2
        assert outcome.merged < 0.02
