# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules under Inductor on two ranks: what they compute, and caches."""

import pytest

pytest.importorskip("torch")

import inductor_steps
from ranks import run_ranks

pytestmark = pytest.mark.usefixtures("opt_program")


def test_training_is_that_of_inductor():
    """An order alone changes no bit."""
    outcomes = run_ranks(
        inductor_steps.compare, timeout=240, args=({"buckets": "off"},)
    )
    for difference, statuses in outcomes:
        assert difference is None
        assert statuses == ["forward scheduled", "backward scheduled"]


def test_a_rank_runs_what_another_compiled(tmp_path):
    """The second rank finds the forward of the first in the job's caches, and
    both run it; the next job does not find it."""
    env = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    for _ in range(2):
        first, second = run_ranks(
            inductor_steps.one_after_the_other, timeout=150, env=env
        )
        assert first["inductor hit"] == 0
        assert first["scheduled"] == 2
        assert second["inductor hit"] >= 1
        assert second["scheduled"] <= 1
