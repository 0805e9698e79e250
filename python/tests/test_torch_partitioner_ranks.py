# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Joint graphs that CommSched partitions, on two ranks: gathered parameters
that the backward gathers again, with the bits of eager."""

import pytest

torch = pytest.importorskip("torch")

import partitioned_ranks as ranks  # noqa: E402
from ranks import run_ranks  # noqa: E402

pytestmark = pytest.mark.usefixtures("opt_program")


@pytest.fixture(scope="module")
def outcomes():
    return run_ranks(ranks.train_all, 2, timeout=400)


@pytest.mark.parametrize("case", ranks.CASES)
def test_training_is_that_of_eager(case, outcomes):
    for rank in outcomes:
        assert rank[case].difference is None, rank[case].difference
    first, second = outcomes
    assert first[case].backwards == second[case].backwards


@pytest.mark.parametrize(
    "case, is_repeated",
    [
        ("saved", False),
        ("recomputed", True),
        ("resharded within a budget", True),
        ("mixed precision", True),
        ("replicated", False),
    ],
)
def test_parameters_are_gathered_again(case, is_repeated, outcomes):
    for rank in outcomes:
        (count,) = rank[case].gathers
        assert (count > 0) == is_repeated, rank[case].backwards


def test_ranks_agree(outcomes):
    for case in ("saved", "recomputed", "by cost"):
        for rank in outcomes:
            assert rank[case].joints == [("scheduled", "agreed")]


def test_unlike_ranks_launch_alike():
    first, second = run_ranks(ranks.train_unlike_graphs, 2, timeout=400)
    for case in first:
        assert first[case].difference is None, (case, first[case].difference)
        assert second[case].difference is None
        assert first[case].backwards == second[case].backwards, case
