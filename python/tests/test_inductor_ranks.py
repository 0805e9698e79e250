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
        inductor_steps.compare, timeout=280, args=({"buckets": "off"},)
    )
    for difference, statuses in outcomes:
        assert difference is None
        assert statuses == ["forward scheduled", "backward scheduled"]


def test_code_from_a_cache_runs_on_another_rank_and_in_another_job(tmp_path):
    def job():
        return run_ranks(
            inductor_steps.one_after_the_other,
            timeout=150,
            env={"TORCHINDUCTOR_CACHE_DIR": str(tmp_path)},
        )

    first, second = job()
    assert (first["inductor hit"], first["scheduled"]) == (0, 2)
    assert second["inductor hit"] >= 1
    assert second["scheduled"] <= 1
    for rank in job():
        assert (rank["inductor miss"], rank["scheduled"]) == (0, 0)
        assert rank["inductor hit"] == 2
