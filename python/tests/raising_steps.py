# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps that raise while collectives are in flight."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

WIDTH = 32

#: Whether calls of `check` raise.
fails = False


@torch.library.custom_op("commsched_test::check", mutates_args=())
def check(x: torch.Tensor) -> torch.Tensor:
    if fails:
        raise ArithmeticError("the step has failed")
    return x.clone()


check.register_fake(torch.empty_like)
check.register_autograd(lambda ctx, gradient: check(gradient))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, WIDTH)
        self.down = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(check(torch.tanh(self.up(x))))


def make():
    import commsched.torch as cs

    torch.manual_seed(1)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = nn.Sequential(*(Layer() for _ in range(3)))
    precision = cs.MixedPrecision(torch.float32, torch.float32)
    cs.shard_parameters(model, mesh, precision)
    return model


def compiled(model, inner):
    # Gathers start as early as they can.
    options = {"inner": inner, "memory_budget": "400%", "buckets": "off"}
    return torch.compile(model, backend="commsched", options=options)


def run(model, step, number, where=None):
    """One step; raises in the forward or in the backward if told so. Returns the
    loss and the gradients."""
    global fails
    torch.manual_seed(10 * number + dist.get_rank())
    x = torch.randn(4, WIDTH)
    fails = where == "forward"
    try:
        loss = step(x).square().mean()
        fails = where == "backward"
        loss.backward()
    finally:
        fails = False
    found = [loss.detach()]
    for parameter in model.parameters():
        found.append(parameter.grad.to_local().clone())
        parameter.grad = None
    return found


def goes_on(rank: int, inner: str) -> dict:
    """All ranks raise at the same place, catch it, and go on."""
    from commsched.torch.compiling import records

    model = make()
    expected = [run(model, model, number) for number in range(6)]
    model = make()
    step = compiled(model, inner)
    found, errors, notes = [], 0, []
    for number in range(6):
        for where in ("forward", "backward") if number in (2, 4) else ():
            try:
                run(model, step, number, where)
            except ArithmeticError as error:
                errors += 1
                notes += getattr(error, "__notes__", [])
            for parameter in model.parameters():
                parameter.grad = None
        found.append(run(model, step, number))
    equal = torch.equal if inner == "eager" else torch.allclose
    return {
        "equal": [all(map(equal, *pair)) for pair in zip(expected, found)],
        "errors": errors,
        "notes": notes,
        "in flight": [in_flight(r.plan.order) for r in records.records()],
    }


def in_flight(order) -> int:
    """How many collectives are not waited for when the step raises."""
    before = order[: [name.startswith("check") for name in order].index(True)]
    waits = sum(name.startswith("wait") for name in before)
    starts = sum(name.startswith(("all_gather", "reduce")) for name in before)
    return starts - waits


def one_raises(rank: int, inner: str) -> None:
    """Rank 1 raises and does not catch it."""
    model = make()
    step = compiled(model, inner)
    run(model, step, 0)
    run(model, step, 1, "forward" if rank == 1 else None)
