# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two ranks, whose graphs, files or caches differ, launch alike."""

import pytest

import agreement_steps as steps
import torch
from ranks import RanksFailed, run_ranks

pytestmark = pytest.mark.usefixtures("opt_program")

BOTH = [("forward", "scheduled"), ("backward", "scheduled")]


@pytest.fixture(scope="module")
def found():
    return run_ranks(steps.all_eager, timeout=300)


@pytest.mark.parametrize("case", ["uneven shards", "batch sizes"])
def test_ranks_with_unequal_graphs_train_as_eager(found, case):
    decided = set()
    for rank in found:
        assert [graph[:2] for graph in rank[case]] == BOTH
        decided.update(how for *_, how in rank[case])
    assert decided <= {"agreed", "followed"}


def test_a_rank_may_compile_again_alone(found):
    assert [graph[:2] for graph in found[0]["one alone"]] == 2 * BOTH
    assert [graph[:2] for graph in found[1]["one alone"]] == BOTH


@pytest.mark.parametrize("case", ["no program", "does not fit"])
def test_a_rank_without_a_plan_takes_part(found, case):
    """It follows, or as the first lets all keep the order."""
    statuses = [[graph[:2] for graph in rank[case]] for rank in found]
    assert statuses[0] == statuses[1]


def test_a_rank_that_cannot_follow_stops_all(found):
    for rank in found:
        assert "rank 0" in rank["cannot follow"]
        assert "rank 1" in rank["cannot follow"]
        assert "would launch different collectives" in rank["cannot follow"]


def test_ranks_with_other_costs_train_as_eager(found):
    decided = [rank["other plan"][0] for rank in found]
    assert {graph[:2] for graph in decided} == {("forward", "scheduled")}
    # The one that came second.
    assert sorted(how for *_, how in decided) == ["agreed", "followed"]


def test_without_agreement_other_costs_break_a_step():
    with pytest.raises(RanksFailed):
        run_ranks(steps.other_plan, timeout=120, args=(False,))


def test_a_warm_cache_and_a_cold_one(tmp_path):
    # One for both, whose shards differ in size.
    env = [{"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "warm")} for _ in (0, 1)]

    def run(other):
        return run_ranks(steps.inductor, timeout=300, env=env, args=(other,))

    first = run(False)
    # Where nobody decides otherwise, code from caches is used.
    again = run(False)
    assert [rank["hits"] for rank in again] == [1, 1]
    # Rank 0 has code for one order, and rank 1 decides on another.
    env[1]["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path / "cold")
    other = run(True)
    assert other[0]["hits"] == 0
    assert other[0]["decided"]["forward"] == "followed"
    for rank in (0, 1):
        for results in (again[rank]["results"], other[rank]["results"]):
            assert all(map(torch.equal, first[rank]["results"], results))
