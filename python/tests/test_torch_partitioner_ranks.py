# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Joint graphs that CommSched partitions, on two ranks: gathered parameters
that the backward gathers again, with the bits of eager."""

import pytest
import torch
import compiled_steps as steps
import partitioned_ranks as ranks
from ranks import run_ranks

pytestmark = pytest.mark.usefixtures("opt_program")


@pytest.fixture(scope="module")
def trained():
    return run_ranks(ranks.train_all, 2, timeout=400)


@pytest.fixture(scope="module")
def outcomes(trained):
    return [cases for _, cases in trained]


@pytest.mark.parametrize("case", ranks.CASES)
def test_training_is_that_of_eager(case, outcomes):
    for rank in outcomes:
        assert rank[case].difference is None, rank[case].difference
        assert case == "least" or rank[case].warnings == []
    first, second = outcomes
    assert first[case].backwards == second[case].backwards


@pytest.mark.parametrize("case, is_repeated", [
    ("saved", False),
    ("recomputed", True),
    ("resharded within a budget", True),
    ("mixed precision", True),
    ("replicated", False),
    # With memory to spare parameters stay gathered.
    ("ample", False),
    ("least", True),
])
def test_parameters_are_gathered_again(case, is_repeated, outcomes):
    for rank in outcomes:
        count = rank[case].gathers[0]
        assert (count > 0) == is_repeated, rank[case].backwards


def test_ranks_agree(outcomes):
    for case in ("saved", "recomputed", "by cost", "ample", "least"):
        first, second = (rank[case] for rank in outcomes)
        assert first.joints == second.joints == [("scheduled", "agreed")]
        assert first.notes == second.notes


def test_one_limit_for_the_memory_of_a_step(trained):
    """The bits of PyTorch's partitioner too, whatever is saved."""
    for default, cases in trained:
        said = []
        for case in ("ample", "least"):
            assert steps.difference(default, cases[case].trained) is None
            said += [n for n in cases[case].notes if n.startswith("saves ")]
        ample, least = said
        assert ample != least
        warning, *_ = cases["least"].warnings
        assert warning.startswith("CommSched knows no step that fits: the least is ")


def test_unlike_ranks_launch_alike():
    first, second = run_ranks(ranks.train_unlike_graphs, 2, timeout=400)
    for case in first:
        assert first[case].difference is None, (case, first[case].difference)
        assert second[case].difference is None
        assert first[case].backwards == second[case].backwards, case
    joints = first["within a limit"].joints + second["within a limit"].joints
    assert sorted(decided for _, decided in joints) == ["agreed", "followed"]
    for case in ("rows", "shards"):
        assert first[case].warnings == second[case].warnings == [], case


def test_saved_values_go_to_the_host_and_come_back():
    """The pass sends them; results are the bits of eager."""
    ranks_ = run_ranks(ranks.train_sent, 2, timeout=400)
    for outcome, transfers, started in ranks_:
        assert outcome.difference is None, outcome.difference
        count = transfers["forward"]
        assert transfers == {"forward": count, "backward": count} and count > 0
        assert started == (["offload"] * count + ["reload"] * count) * 2
        sent = f"sends {count} tensors to the host, "
        assert any(note.startswith(sent) for note in outcome.notes)
        assert outcome.notes == ranks_[0][0].notes and outcome.warnings == []
