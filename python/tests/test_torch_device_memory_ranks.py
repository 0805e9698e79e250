# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One limit for the memory of a step, on two ranks: the bits of eager and of
PyTorch's partitioner, whatever is saved."""

import pytest

torch = pytest.importorskip("torch")

import device_memory_ranks as ranks  # noqa: E402
from ranks import run_ranks  # noqa: E402

pytestmark = pytest.mark.usefixtures("opt_program")


def saved(outcome):
    (note,) = [n for n in outcome.notes if n.startswith("saves ")]
    return note


def test_results_are_those_of_eager_and_of_pytorch():
    first, second = run_ranks(ranks.train_all, 2, timeout=400)
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
    assert least.warning.startswith(
        "CommSched knows no step that fits: the least is "
    )


def test_saved_values_go_to_the_host_and_come_back():
    """The pass sends them; results are the bits of eager."""
    pytest.importorskip("torch._functorch._activation_offloading.offload_ops")
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


def test_unlike_ranks_launch_alike():
    first, second = run_ranks(ranks.train_unlike, 2, timeout=400)
    assert first.difference is None and second.difference is None
    assert first.backwards == second.backwards
    assert sorted(d for _, d in first.joints + second.joints) == [
        "agreed",
        "followed",
    ]
