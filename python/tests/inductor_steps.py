# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps under Inductor with and without CommSched, on several
ranks."""

from __future__ import annotations

import warnings
from typing import Optional

import compiled_steps as steps
import torch

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
