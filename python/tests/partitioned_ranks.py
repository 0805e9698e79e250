# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What two ranks do with joint graphs that CommSched partitions."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any, Optional

import compiled_steps as steps
import torch
import torch.distributed as dist

from commsched.torch import CommSchedWarning
from commsched.torch.compiling import records
from commsched.torch.compiling.launches import Launches
from commsched.torch.compiling.partitioner import Partitioner


@dataclasses.dataclass
class Outcome:
    """The first difference from eager, the collectives of each backward by
    name, the statuses of the joint graphs, who decided, and what training
    gave."""

    difference: Optional[str]
    backwards: list[list[str]]
    joints: list[tuple[str, str]]
    trained: list[dict]

    @property
    def gathers(self) -> list[int]:
        return [
            sum(name.startswith("all_gather") for name in names)
            for names in self.backwards
        ]


#: Compiling a step takes most of the time.
MODEL = {"layers": 1}

CASES = {
    "saved": steps.Case({}, MODEL, compiled={"collectives": "save"}),
    "recomputed": steps.Case({}, compiled={"collectives": "recompute"}),
    "by cost": steps.Case({}, MODEL, compiled={"collectives": "cost"}),
    "resharded within a budget": steps.Case(
        {},
        {"dropout": 0.3, "norm": True, **MODEL},
        compiled={
            "reshard_after_forward": True,
            "activation_memory_budget": 0.0,
        },
    ),
    "mixed precision": steps.Case(
        {},
        MODEL,
        distribute=steps.shard_mixed,
        dtype=torch.bfloat16,
        compiled={"collectives": "recompute"},
    ),
    "replicated": steps.Case(
        {},
        MODEL,
        distribute=steps.replicate,
        compiled={"activation_memory_budget": 0.3},
    ),
}


def train_all(rank: int) -> dict[str, Outcome]:
    torch.set_num_threads(1)
    warnings.simplefilter("error", category=CommSchedWarning)
    return {name: compare(case) for name, case in CASES.items()}


def compare(case: steps.Case) -> Outcome:
    torch._dynamo.reset()
    records.reset()
    backwards: list[list[str]] = []
    call = Partitioner.__call__

    def recording(self, *args: Any, **settings: Any):
        halves = call(self, *args, **settings)
        backwards.append(list(Launches.of(halves[1].graph).names))
        return halves

    eager = steps.train(case, None)
    Partitioner.__call__ = recording
    try:
        compiled = steps.train(case, {"inner": "eager", **case.compiled})
    finally:
        Partitioner.__call__ = call
    joints = [
        (record.status, record.decided)
        for record in records.records()
        if record.kind == "joint"
    ]
    difference = steps.difference(eager, compiled)
    return Outcome(difference, backwards, joints, compiled)


def train_unlike_graphs(rank: int) -> dict[str, Outcome]:
    """Ranks whose graphs differ: by the rows of their batches, by shards of
    different sizes, and one that has no commsched-opt."""
    import os

    torch.set_num_threads(1)
    options = {"activation_memory_budget": 0.4, "collectives": "cost"}
    found = {}
    rows = (4 + 60 * rank,) * steps.STEPS
    found["rows"] = compare(
        steps.Case({}, MODEL, rows=rows, compiled=options)
    )
    width, steps.WIDTH = steps.WIDTH, 33
    found["shards"] = compare(
        steps.Case(
            {}, MODEL, rows=rows, compiled={"collectives": "recompute"}
        )
    )
    steps.WIDTH = width
    dist.barrier()
    if rank == 1:
        os.environ["COMMSCHED_OPT"] = "/nowhere"
        warnings.simplefilter("ignore", category=CommSchedWarning)
    # The first rank to compile decides, here the one with the program.
    found["no program"] = compare(
        steps.Case(
            {},
            {"dropout": 0.1, **MODEL},
            compiled={"collectives": "recompute"},
        )
    )
    return found
