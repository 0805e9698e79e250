# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps with operators of others: one that raises while collectives are in
flight, and a collective that CommSched does not know."""

from __future__ import annotations

import warnings

import compiled_steps
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.distributed_c10d import _resolve_process_group

from commsched.torch.compiling import records

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


@torch.library.custom_op("commsched_test::sum_ranks", mutates_args=())
def sum_ranks(x: torch.Tensor, group_name: str) -> torch.Tensor:
    """The sum over the ranks of a group; done when it returns."""
    total = x.clone()
    dist.all_reduce(total, group=_resolve_process_group(group_name))
    return total


sum_ranks.register_fake(lambda x, group_name: torch.empty_like(x))
sum_ranks.register_autograd(
    lambda ctx, gradient: (sum_ranks(gradient, ctx.group_name), None),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "group_name", inputs[1]),
)


class Layer(nn.Module):
    """Calls an operator between two products."""

    def __init__(self, operator):
        super().__init__()
        self.up = nn.Linear(WIDTH, WIDTH)
        self.down = nn.Linear(WIDTH, WIDTH)
        self.operator = operator

    def forward(self, x):
        return x + self.down(self.operator(torch.tanh(self.up(x))))


def make(is_unknown=False):
    torch.manual_seed(1)
    group = dist.group.WORLD.group_name
    operator = (lambda x: sum_ranks(x, group)) if is_unknown else check
    return compiled_steps.shard(nn.Sequential(*(Layer(operator) for _ in range(3))))


def compiled(model, **options):
    # Every order is better than this one: nothing takes any memory.
    options = {"memory_budget": "400%", **options}
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
    return [loss.detach(), *compiled_steps.take_gradients(model)]


def goes_on(rank: int, inner: str) -> dict:
    """All ranks raise at the same place, catch it, and go on."""
    model = make()
    expected = [run(model, model, number) for number in range(6)]
    model = make()
    # Gathers start as early as they can.
    step = compiled(model, inner=inner, buckets="off")
    found, errors, notes = [], 0, []
    for number in range(6):
        for where in ("forward", "backward") if number in (2, 4) else ():
            try:
                run(model, step, number, where)
            except ArithmeticError as error:
                errors += 1
                notes += getattr(error, "__notes__", [])
            model.zero_grad()
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
    step = compiled(model, inner=inner, buckets="off")
    run(model, step, 0)
    run(model, step, 1, "forward" if rank == 1 else None)


def compare_unknown(rank: int, inner: str, partition: str) -> dict:
    """What a compiled step with unknown collectives did, and how it differs from
    the eager one."""
    model = make(True)
    eager = [run(model, model, number) for number in range(3)]
    model = make(True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        step = compiled(model, inner=inner, partition=partition)
        found = [run(model, step, number) for number in range(3)]
    equal = torch.equal if inner == "eager" else torch.allclose
    known = records.records()
    return {
        "equal": all(all(map(equal, *pair)) for pair in zip(eager, found)),
        "statuses": {r.kind: r.status for r in known},
        "unchanged": [r.plan.unchanged for r in known if r.plan is not None],
        "notes": [note for r in known for note in r.notes
                  if note.startswith("moves nothing across")],
        "warnings": [str(w.message) for w in caught if "collective" in str(w)],
    }
