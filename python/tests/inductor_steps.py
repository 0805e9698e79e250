# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps under Inductor with and without CommSched, on several
ranks."""

from __future__ import annotations

import dataclasses
import time
import warnings
from typing import Any, Optional

import compiled_steps as steps
import torch
from generated_code import without_compiler

from commsched.torch.compiling.store import current_job

#: The settings of both: draws from the generator as eager makes them.
SETTINGS = {"fallback_random": True}

#: What a change of order could disturb, in one step: draws, buffers that are
#: written, rounding to 16 bits, and symbolic sizes.
CASE = steps.Case(
    {},
    {"dropout": 0.3, "norm": True},
    distribute=steps.shard_mixed,
    dtype=torch.bfloat16,
    rows=(8, 6),
)


def compare(rank: int, options: dict) -> tuple[Optional[str], list[str]]:
    """Returns the first difference from Inductor without CommSched, if any,
    and what became of the graphs."""
    import commsched.torch as cs
    from commsched.torch.compiling import records

    _prepare()
    plain = train(CASE, SETTINGS, dynamic=True)
    ours = train(CASE, cs.inductor_options(SETTINGS, **options), dynamic=True)
    statuses = [f"{r.kind} {r.status}" for r in records.records()]
    return steps.difference(plain, ours), statuses


def one_after_the_other(rank: int) -> dict[str, int]:
    """Compiles and runs a step, on rank 1 not before rank 0 waits for it with
    a compiled forward; returns what :func:`count` does."""
    import commsched.torch as cs

    _prepare()
    case = dataclasses.replace(steps.CASES["sharded"], rows=(8,))
    settings = cs.inductor_options()
    job = current_job()
    while rank == 1 and not job.get("at/0"):
        time.sleep(0.1)
    with without_compiler():
        return count(lambda: train(case, settings))


def _prepare() -> None:
    import commsched.torch as cs

    torch.set_num_threads(1)
    warnings.simplefilter("error", category=cs.CommSchedWarning)


def train(
    case: steps.Case, settings: dict, dynamic: Optional[bool] = None
) -> list[dict]:
    torch._dynamo.reset()
    return steps.train_with(
        case,
        lambda m: torch.compile(m, options=settings, dynamic=dynamic),
    )


def count(run: Any) -> dict[str, int]:
    """Returns what became of look-ups in the caches of Inductor and of AOT
    autograd during `run()`, and how many graphs were scheduled."""
    from commsched.torch.compiling import inductor
    from torch._dynamo.utils import counters

    scheduled = []
    schedule = inductor.optimize_graph

    def recorded(*args: Any, **settings: Any) -> bool:
        scheduled.append(schedule(*args, **settings))
        return scheduled[-1]

    inductor.optimize_graph = recorded
    counters.clear()
    try:
        run()
    finally:
        inductor.optimize_graph = schedule
    found = {"scheduled": len(scheduled)}
    for key in ("hit", "miss", "bypass"):
        autograd, fx = counters["aot_autograd"], counters["inductor"]
        found[f"autograd {key}"] = autograd[f"autograd_cache_{key}"]
        found[f"inductor {key}"] = fx[f"fxgraph_cache_{key}"]
    return found
