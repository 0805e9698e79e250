# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of ranks whose graphs, files or caches differ, for tests."""

from __future__ import annotations

import dataclasses
import os
import warnings

import torch
from compiled_steps import shard, take_gradients
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh

from commsched import opt

WIDTH = 64


class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 96)
        self.gate = nn.Linear(width, 96, bias=False)
        self.down = nn.Linear(96, width)

    def forward(self, x):
        hidden = self.norm(x)
        hidden = torch.relu(self.up(hidden)) * self.gate(hidden)
        return x + self.down(hidden)


def sharded(width: int = WIDTH) -> nn.Module:
    torch.manual_seed(0)
    model = nn.Sequential(*(Block(width) for _ in range(2)))
    model.width = width
    return distribute(model)


def distribute(model: nn.Module) -> nn.Module:
    """Shards the parameters of `model` over all ranks."""
    shard(model, init_device_mesh("cpu", (2,)))
    return model


def compiled(model: nn.Module, **options):
    from commsched.torch.compiling.backend import commsched

    torch._dynamo.reset()
    return torch.compile(
        model,
        backend=commsched,
        fullgraph=True,
        options={"inner": "eager", "timeout": 200, **options},
    )


def train(model: nn.Module, step, rows) -> list[torch.Tensor]:
    """Runs a step for each number of rows of `model.width`; returns losses
    and gradients."""
    results = []
    for index, count in enumerate(rows):
        torch.manual_seed(index)
        loss = step(torch.randn(count, model.width)).square().mean()
        loss.backward()
        results += [loss.detach().clone(), *take_gradients(model)]
    return results


def compare(rows, width: int = WIDTH, **options) -> list[tuple]:
    """Trains eagerly and compiled, and raises unless that is equal; returns
    how each graph was decided."""
    from commsched.torch.compiling import records

    records.reset()
    model = sharded(width)
    expected = train(model, model, rows)
    model = sharded(width)
    found = train(model, compiled(model, **options), rows)
    assert all(map(torch.equal, expected, found))
    return [(r.kind, r.status, r.decided) for r in records.records()]


def refused(**options) -> str:
    """Returns why a step does not start."""
    try:
        compiled(sharded(), **options)(torch.randn(8, WIDTH))
    except RuntimeError as error:
        return str(error)
    return "it did"


def cannot_follow(rank: int) -> str:
    """As if no plan fitted the graph of rank 1, which is the second to decide."""
    from commsched.torch.compiling import schedule

    store = distributed.distributed_c10d._get_default_store()
    agree = schedule.agree

    def decide(*args):
        decision = agree(*args)
        store.set("decided", "")
        return decision

    if rank == 1:
        schedule.fit_plan = schedule.follow_plan = _refuse
        store.wait(["decided"])
    else:
        schedule.agree = decide
    return refused(memory_budget="6%")


def _refuse(gm, plan, **_settings):
    from commsched.torch.compiling import schedule

    raise schedule.RewriteError("not here")


def does_not_fit(rank: int) -> list[tuple]:
    """As if rank 1's own plan did not fit its graph."""
    from commsched.torch.compiling import schedule

    original = schedule.fit_plan
    if rank == 1:
        schedule.fit_plan = _refuse
    try:
        return compare([8], memory_budget="7%")
    finally:
        schedule.fit_plan = original


def other_plan(rank: int, agree: bool) -> list[tuple]:
    """As if costs made rank 1 launch two gathers the other way round."""
    from commsched.torch.compiling import schedule

    original = schedule.make_plan
    if rank == 1:
        schedule.make_plan = _exchanging(original)
    try:
        # Gathers that are in flight together.
        return compare([8], agree=agree, buckets="off")
    finally:
        schedule.make_plan = original


def all_eager(rank: int) -> dict:
    """One job for everything: starting processes takes longest."""
    warnings.simplefilter("ignore")
    found = {
        # Shards of 33 rows are padded on one rank.
        "uneven shards": compare([8], 33),
        "batch sizes": compare([2 if rank == 0 else 256]),
        # Rank 0 compiles again alone, with dynamic sizes.
        "one alone": compare([8, 4, 12] if rank == 0 else [8, 8, 8]),
    }
    found["other plan"] = other_plan(rank, True)
    program = opt.find()
    if rank == 1:
        os.environ["COMMSCHED_OPT"] = "no such program"
    found["no program"] = compare([6], target="a100")
    os.environ["COMMSCHED_OPT"] = program
    found["does not fit"] = does_not_fit(rank)
    # The job ends with this.
    found["cannot follow"] = cannot_follow(rank)
    return found


def inductor(rank: int, other: bool) -> dict:
    """Compiles with Inductor. With `other`, rank 1 makes another plan for
    the forward than it would, and makes it before rank 0 compiles."""
    from commsched.torch.compiling import records, schedule
    from torch._dynamo.utils import counters

    store = distributed.distributed_c10d._get_default_store()
    if other and rank == 0:
        store.wait(["sealed"])
    if other and rank == 1:
        schedule.make_plan = _exchanging(schedule.make_plan)
        seal = schedule.seal

        def sealed(*args):
            seal(*args)
            store.set("sealed", "")

        schedule.seal = sealed
    # Nothing but matrix products: no kernel has to be compiled.
    torch.manual_seed(0)
    model = distribute(
        nn.Sequential(*(nn.Linear(WIDTH, WIDTH, bias=False) for _ in "123"))
    )
    model.width = WIDTH
    step = compiled(model, inner="inductor", buckets="off")
    results = train(model, step, [8])
    return {
        "results": results,
        "decided": {r.kind: r.decided for r in records.records()},
        "hits": counters["aot_autograd"]["autograd_cache_hit"],
    }


def _exchanging(make):
    """Returns `make_plan` with two gathers of a forward exchanged, which are in
    flight together and need nothing but parameters."""

    def exchanged(before, after, function):
        plan = make(before, after, function)
        if function != "forward":
            return plan
        order = list(plan.order)
        first_wait = next(p for p, name in enumerate(order) if name.startswith("wait"))
        places = [
            place
            for place, name in enumerate(order[:first_wait])
            if name.startswith("all_gather")
        ]
        one, other = places[0], places[-1]
        assert one != other
        order[one], order[other] = order[other], order[one]
        return dataclasses.replace(plan, order=tuple(order), unchanged=False)

    return exchanged
