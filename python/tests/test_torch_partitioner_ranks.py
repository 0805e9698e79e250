# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Joint graphs that CommSched partitions, on two ranks: gathered parameters
that the backward gathers again, with the bits of eager."""

import pytest
import torch
import partitioned_ranks as ranks
from ranks import run_ranks

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


@pytest.mark.parametrize("case, is_repeated", [
    ("saved", False),
    ("recomputed", True),
    ("resharded within a budget", True),
    ("mixed precision", True),
    ("replicated", False),
])
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


# -- One limit for the memory of a step, on two ranks: the bits of eager and of
# PyTorch's partitioner, whatever is saved.


def saved(outcome):
    (note,) = [n for n in outcome.notes if n.startswith("saves ")]
    return note


def test_results_are_those_of_eager_and_of_pytorch():
    first, second = run_ranks(ranks.train_fitted, 2, timeout=400)
    for case in ranks.MEMORY:
        for rank in (first, second):
            assert rank[case].from_eager is None, rank[case].from_eager
            assert rank[case].from_default is None, rank[case].from_default
            assert rank[case].decided == "agreed"
        assert first[case].backward == second[case].backward
        assert first[case].notes == second[case].notes
    ample, least = first["ample"], first["least"]
    # With memory to spare parameters stay gathered.
    assert not any(name.startswith("all_gather") for name in ample.backward)
    assert any(name.startswith("all_gather") for name in least.backward)
    assert saved(ample) != saved(least)
    assert ample.warning == ""
    assert least.warning.startswith("CommSched knows no step that fits: the least is ")


def test_saved_values_go_to_the_host_and_come_back():
    """The pass sends them; results are the bits of eager."""
    first, second = run_ranks(ranks.train_sent, 2, timeout=400)
    for rank in (first, second):
        assert rank.difference is None, rank.difference
        count = rank.transfers["forward"]
        assert rank.transfers == {"forward": count, "backward": count}
        assert count > 0
        one_step = ["offload"] * count + ["reload"] * count
        assert rank.started == one_step * 2
        assert any(
            note.startswith(f"sends {count} tensors to the host, ")
            for note in rank.notes
        )
    assert first.notes == second.notes


def test_unlike_ranks_fit_alike():
    first, second = run_ranks(ranks.train_unlike, 2, timeout=400)
    assert first.difference is None and second.difference is None
    assert first.backwards == second.backwards
    assert sorted(d for _, d in first.joints + second.joints) == ["agreed", "followed"]
