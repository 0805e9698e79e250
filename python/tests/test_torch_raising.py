# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step that raises while collectives are in flight leaves nothing behind that the
next step finds, and a job in which one rank raises ends."""

import sys
import time

import pytest

pytest.importorskip("torch.distributed")

import raising_steps as steps  # noqa: E402
from ranks import RanksFailed, run_ranks  # noqa: E402

pytestmark = pytest.mark.usefixtures("opt_program")


#: What is said of the rank's first step that raises, in the forward and the
#: backward.
NOTES = {
    "eager": (
        "CommSched: raised on rank {} in the forward graph 0/0, node 'check' of "
        "the module '0'",
        "CommSched: raised on rank {} in the backward graph 0/0, node 'check_3' of "
        "the module '2'",
    ),
    "inductor": ("CommSched: raised on rank {} in the forward of graph 0/0",),
}


@pytest.mark.parametrize("inner", NOTES)
def test_ranks_that_raise_alike_go_on(inner):
    ranks = run_ranks(steps.goes_on, 2, args=(inner,), timeout=300)
    for number, rank in enumerate(ranks):
        assert rank["errors"] == 4
        if sys.version_info >= (3, 11):
            notes = [note.format(number) for note in NOTES[inner]]
            assert rank["notes"] == 2 * notes
        assert rank["equal"] == [True] * 6
        assert min(rank["in flight"]) > 0


def test_a_rank_that_raises_alone_ends_the_job():
    started = time.monotonic()
    with pytest.raises(RanksFailed) as failed:
        run_ranks(steps.one_raises, 2, args=("eager",), timeout=300)
    assert "the step has failed" in str(failed.value)
    assert time.monotonic() - started < 200
