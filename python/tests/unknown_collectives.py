# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A collective that CommSched does not know, and steps that have it."""

from __future__ import annotations

import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.distributed_c10d import _resolve_process_group

WIDTH, STEPS = 32, 3


@torch.library.custom_op("commsched_test::sum_ranks", mutates_args=())
def sum_ranks(x: torch.Tensor, group_name: str) -> torch.Tensor:
    """The sum over the ranks of a group; done when it returns."""
    total = x.clone()
    dist.all_reduce(total, group=_resolve_process_group(group_name))
    return total


sum_ranks.register_fake(lambda x, group_name: torch.empty_like(x))
sum_ranks.register_autograd(
    lambda ctx, gradient: (sum_ranks(gradient, ctx.group_name), None),
    setup_context=lambda ctx, inputs, output: setattr(
        ctx, "group_name", inputs[1]
    ),
)


class Layer(nn.Module):
    """Sums what every rank has between two products."""

    def __init__(self, group: str):
        super().__init__()
        self.up = nn.Linear(WIDTH, WIDTH)
        self.down = nn.Linear(WIDTH, WIDTH)
        self.group = group

    def forward(self, x):
        hidden = sum_ranks(torch.tanh(self.up(x)), self.group)
        return x + self.down(hidden)


def train(compiled: bool, **options):
    """The losses and the local gradients of sharded training steps."""
    import commsched.torch as cs

    torch.manual_seed(1)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    group = mesh.get_group().group_name
    model = nn.Sequential(*(Layer(group) for _ in range(3)))
    cs.shard_parameters(
        model, mesh, cs.MixedPrecision(torch.float32, torch.float32)
    )
    step = model
    if compiled:
        # Every order is better than this one: nothing takes any memory.
        options = {"memory_budget": "400%", **options}
        step = torch.compile(model, backend="commsched", options=options)
    found = []
    for number in range(STEPS):
        torch.manual_seed(10 * number + dist.get_rank())
        loss = step(torch.randn(4, WIDTH)).square().mean()
        loss.backward()
        found.append(loss.detach())
        for parameter in model.parameters():
            found.append(parameter.grad.to_local().clone())
            parameter.grad = None
    return found


def compare(rank: int, inner: str, partition: str) -> dict:
    """What a compiled step did, and how it differs from the eager one."""
    from commsched.torch.compiling import records

    eager = train(False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled = train(True, inner=inner, partition=partition)
    equal = torch.equal if inner == "eager" else torch.allclose
    return {
        "equal": all(map(equal, eager, compiled)),
        "statuses": {r.kind: r.status for r in records.records()},
        "unchanged": [
            r.plan.unchanged for r in records.records() if r.plan is not None
        ],
        "notes": [
            note
            for r in records.records()
            for note in r.notes
            if note.startswith("moves nothing across")
        ],
        "warnings": [str(w.message) for w in caught if "collective" in str(w)],
    }
