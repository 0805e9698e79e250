# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps under Inductor with and without CommSched, on several
ranks."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any, Optional

import compiled_steps as steps
import torch

#: The settings of both: draws from the generator as eager makes them.
SETTINGS = {"fallback_random": True}


def compare(rank: int, names: list[str], **options: Any) -> dict:
    """Returns for each case the first difference from Inductor without
    CommSched, if any, and the statuses of the graphs that came to it."""
    import commsched.torch as cs

    torch.set_num_threads(1)
    warnings.simplefilter("error", category=cs.CommSchedWarning)
    return {name: _compare(steps.CASES[name], options) for name in names}


def _compare(case: steps.Case, options: dict) -> tuple[Optional[str], dict]:
    import commsched.torch as cs
    from commsched.torch.compiling import records

    records.reset()
    plain = train(case, SETTINGS)
    ours = train(case, cs.inductor_options(SETTINGS, **options))
    statuses: dict[str, int] = {}
    for record in records.records():
        key = f"{record.kind} {record.status}"
        statuses[key] = statuses.get(key, 0) + 1
    return steps.difference(plain, ours), statuses


def train(case: steps.Case, settings: dict) -> list[dict]:
    torch._dynamo.reset()
    return steps.train_with(
        case, lambda model: torch.compile(model, options=settings)
    )


def count_caches(rank: int, settings: dict) -> dict[str, int]:
    """Compiles and runs one step; returns what became of look-ups in the
    caches of Inductor and AOT autograd, and how often a graph was scheduled
    by this process."""
    import commsched.torch as cs
    from commsched.torch.compiling import inductor
    from torch._dynamo.utils import counters

    torch.set_num_threads(1)
    warnings.simplefilter("error", category=cs.CommSchedWarning)
    calls = []
    schedule = inductor.optimize_graph

    def counted(*args, **kw):
        calls.append(1)
        return schedule(*args, **kw)

    inductor.optimize_graph = counted
    if settings is not None:
        settings = cs.inductor_options(**settings)
    train(dataclasses.replace(steps.CASES["sharded"], rows=(8,)), settings)
    found = {"scheduled": len(calls)}
    for cache, counter in (
        ("autograd", counters["aot_autograd"]),
        ("inductor", counters["inductor"]),
    ):
        for key in ("hit", "miss", "bypass"):
            name = {"autograd": "autograd_cache", "inductor": "fxgraph_cache"}
            found[f"{cache} {key}"] = counter[f"{name[cache]}_{key}"]
    return found
