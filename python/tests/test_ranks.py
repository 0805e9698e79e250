# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runner of several ranks: results, failures, and ranks that hang."""

import os
import time

import pytest

from ranks import RanksFailed, run_ranks

dist = pytest.importorskip("torch.distributed")


def _sum(rank, offset):
    import torch

    value = torch.tensor([rank + offset])
    dist.all_reduce(value)
    return value.item(), os.environ["MARK"]


def _one_fails(rank):
    if rank == 1:
        raise ValueError("rank one gives up")
    dist.barrier()


def _one_aborts(rank):
    if rank == 0:
        os.abort()


def _hangs(rank):
    time.sleep(600 if rank == 1 else 0)


def test_returns_results_by_rank():
    marks = [{"MARK": "a"}, {"MARK": "b"}]
    assert run_ranks(_sum, 2, args=(10,), env=marks) == [(21, "a"), (21, "b")]


def test_reports_the_rank_that_failed():
    with pytest.raises(RanksFailed, match="rank one gives up") as failure:
        run_ranks(_one_fails)
    assert failure.value.outcomes[1].end == "exit status 1"


def test_reports_signals():
    outcomes = run_ranks(_one_aborts, check=False)
    assert outcomes[0].end == "SIGABRT"
    assert "_one_aborts" in outcomes[0].stderr


def test_kills_ranks_that_hang_and_shows_where():
    # Waits for PyTorch, which is imported once, without that deadline.
    run_ranks(_sum, args=(0,), env={"MARK": ""})
    start = time.monotonic()
    outcomes = run_ranks(_hangs, timeout=5, check=False)
    assert time.monotonic() - start < 30
    assert outcomes[1].killed and "in _hangs" in outcomes[1].stderr
