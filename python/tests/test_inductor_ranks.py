# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules under Inductor on two ranks: what they compute."""

import pytest

pytest.importorskip("torch")

import inductor_steps
from ranks import run_ranks

pytestmark = pytest.mark.usefixtures("opt_program")


def test_training_is_that_of_inductor():
    """An order alone changes no bit."""
    outcomes = run_ranks(
        inductor_steps.compare, timeout=280, args=({"buckets": "off"},)
    )
    for difference, statuses in outcomes:
        assert difference is None
        assert statuses == ["forward scheduled", "backward scheduled"]
