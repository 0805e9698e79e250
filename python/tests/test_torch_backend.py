# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backend of torch.compile with eager kernels: what it computes is what
eager computes, bit for bit."""

import pytest

torch = pytest.importorskip("torch")

import compiled_steps as steps  # noqa: E402
from ranks import run_ranks  # noqa: E402

pytestmark = pytest.mark.usefixtures("opt_program")


@pytest.fixture(scope="module")
def outcomes():
    """What eager and compiled training gave on two ranks, by case."""
    return run_ranks(steps.train_all, 2, timeout=300)


@pytest.mark.parametrize("case", steps.CASES)
def test_training_is_that_of_eager(case, outcomes):
    for rank in outcomes:
        outcome = rank[case]
        assert outcome.difference is None, outcome.difference


@pytest.mark.parametrize("case", steps.CASES)
def test_graphs_are_scheduled(case, outcomes):
    for rank in outcomes:
        assert rank[case].statuses == steps.CASES[case].statuses


def test_ddp_with_compiled_autograd(outcomes):
    """The graph of the whole backward is an inference graph."""
    for rank in outcomes:
        outcome = rank[steps.DDP]
        assert outcome.difference is None, outcome.difference
        assert outcome.statuses["inference scheduled"] >= 1
