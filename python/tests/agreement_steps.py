# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of ranks whose graphs, files or caches differ, for tests."""

from __future__ import annotations

import dataclasses
import os
import warnings
from unittest import mock

import compiled_steps as steps
import torch
from torch import distributed, nn

from commsched import opt
from commsched.torch.compiling import records, schedule


def compare(*rows: int, **options) -> list[tuple]:
    """Trains eagerly and compiled with so many rows, and raises unless that is
    equal; returns how each graph was decided."""
    case = steps.Case(rows=rows)
    difference, _ = steps.compare(case, {"timeout": 200, **options})
    assert difference is None, difference
    return [(r.kind, r.status, r.decided) for r in records.records()]


def cannot_follow(rank: int) -> str:
    """As if no plan fitted the graph of rank 1, which is the second to decide.
    Returns why the step does not start."""
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
    torch._dynamo.reset()
    options = {"inner": "eager", "timeout": 200, "memory_budget": "6%"}
    try:
        steps.train(steps.Case(rows=(8,)), options)
    except RuntimeError as error:
        return str(error)
    return "it did"


def _refuse(*_):
    raise schedule.RewriteError("not here")


def on_rank_1(rank: int, name: str, function, **options) -> list[tuple]:
    """A step for which rank 1 has another function of `schedule`."""
    if rank == 1:
        with mock.patch.object(schedule, name, function):
            return compare(8, **options)
    return compare(8, **options)


def other_plan(rank: int, agree: bool) -> list[tuple]:
    """As if costs made rank 1 launch two gathers the other way round."""
    make_plan = _exchanging(schedule.make_plan)
    found = on_rank_1(rank, "make_plan", make_plan, agree=agree, buckets="off")
    assert not any(record.reason for record in records.records())
    return found


def all_eager(rank: int) -> dict:
    """One job for everything: starting processes takes longest."""
    warnings.simplefilter("ignore")
    found = {}
    with mock.patch.object(steps, "WIDTH", 33):  # Shards are padded on one rank.
        found["uneven shards"] = compare(8)
    found["batch sizes"] = compare(2 if rank == 0 else 256)
    # Rank 0 compiles again alone, with dynamic sizes.
    found["one alone"] = compare(*((8, 4, 12) if rank == 0 else (8, 8, 8)))
    found["other plan"] = other_plan(rank, True)
    program = opt.find()
    if rank == 1:
        os.environ["COMMSCHED_OPT"] = "no such program"
    found["no program"] = compare(6, target="a100")
    os.environ["COMMSCHED_OPT"] = program
    found["does not fit"] = on_rank_1(rank, "fit_plan", _refuse, memory_budget="7%")
    # The job ends with this.
    found["cannot follow"] = cannot_follow(rank)
    return found


def inductor(rank: int, other: bool) -> dict:
    """Compiles with Inductor. With `other`, rank 1 makes another plan for
    the forward than it would, and makes it before rank 0 compiles."""
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
    torch.manual_seed(0)
    linears = (nn.Linear(63, 63, bias=False) for _ in "123")
    model = steps.shard(nn.Sequential(*linears))
    options = {"timeout": 200, "buckets": "off"}
    step = torch.compile(model, backend="commsched", fullgraph=True, options=options)
    loss = step(torch.randn(8, 63)).square().mean()
    loss.backward()
    return {
        "results": [loss.detach(), *steps.take_gradients(model)],
        "decided": {r.kind: r.decided for r in records.records()},
        "hits": counters["aot_autograd"]["autograd_cache_hit"],
    }


def _exchanging(make):
    """Returns `make_plan` with the second gather of a forward before the first; both
    need nothing but parameters."""

    def exchanged(before, after, function):
        plan = make(before, after, function)
        if function != "forward":
            return plan
        order = list(plan.order)
        second = [name for name in order if name.startswith("all_gather")][1]
        order.insert(0, order.pop(order.index(second)))
        return dataclasses.replace(plan, order=tuple(order), unchanged=False)

    return exchanged
