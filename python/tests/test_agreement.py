# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two ranks, whose graphs differ, make one plan and train as eager does."""

import json
import os
import warnings

import pytest

from ranks import RanksFailed, run_ranks

torch = pytest.importorskip("torch")
dist = pytest.importorskip("torch.distributed")

pytestmark = pytest.mark.usefixtures("opt_program")


class Block(torch.nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, hidden)
        self.gate = torch.nn.Linear(width, hidden, bias=False)
        self.down = torch.nn.Linear(hidden, width)

    def forward(self, x):
        hidden = self.norm(x)
        hidden = torch.relu(self.up(hidden)) * self.gate(hidden)
        return x + self.down(hidden)


def _model(width=64, hidden=96):
    import commsched.torch as cs
    from torch.distributed.device_mesh import init_device_mesh

    torch.manual_seed(0)
    model = torch.nn.Sequential(*(Block(width, hidden) for _ in range(3)))
    precision = cs.MixedPrecision(torch.float32, torch.float32)
    cs.shard_parameters(model, init_device_mesh("cpu", (2,)), precision)
    return model


def _train(model, step, rows):
    """Runs a step for each number of rows; returns losses and gradients."""
    results = []
    for index, count in enumerate(rows):
        torch.manual_seed(index)
        x = torch.randn(count, model[0].norm.normalized_shape[0])
        model.zero_grad()
        loss = step(x).square().mean()
        loss.backward()
        results.append(loss.detach().clone())
        results += [p.grad.to_local().clone() for p in model.parameters()]
    return results


def _compare(rows, width=64, options=None):
    """Trains eager and compiled; returns how the graphs were decided."""
    from commsched.torch.compiling import records
    from commsched.torch.compiling.backend import commsched

    expected = _train(model := _model(width), model, rows)
    model = _model(width)
    settings = {"inner": "eager", "timeout": 30, **(options or {})}
    step = torch.compile(
        model, backend=commsched, fullgraph=True, options=settings
    )
    found = _train(model, step, rows)
    assert all(map(torch.equal, expected, found))
    return [(r.kind, r.status, r.decided) for r in records.records()]


def _uneven(rank):
    return _compare([8], width=33)


def _batches(rank):
    return _compare([2] if rank == 0 else [256])


def _alone(rank):
    """Rank 0 meets other sizes than rank 1, whose sizes stay as they are, and
    compiles again, with dynamic sizes."""
    return _compare([8, 4, 12, 12] if rank == 0 else [8, 8, 8, 8])


@pytest.mark.parametrize("worker", [_uneven, _batches, _alone])
def test_ranks_with_unequal_graphs_train_as_eager(worker):
    decisions = run_ranks(worker, timeout=90)
    print(decisions)
    for made in decisions:
        assert {status for _, status, _ in made} == {"scheduled"}
    assert len(decisions[0]) > len(decisions[1]) or worker is not _alone
