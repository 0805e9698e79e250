# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What two ranks do with joint graphs that CommSched partitions, also with one
limit for the memory of a step."""

from __future__ import annotations

import dataclasses
import os
import warnings
from typing import Any, Optional

import compiled_steps as steps
import host_kernels
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
    "saved": steps.Case(MODEL, compiled={"collectives": "save"}),
    "recomputed": steps.Case(compiled={"collectives": "recompute"}),
    "by cost": steps.Case(MODEL, compiled={"collectives": "cost"}),
    "resharded within a budget": steps.Case(
        {"dropout": 0.3, "norm": True, **MODEL},
        compiled={"reshard_after_forward": True, "activation_memory_budget": 0.0},
    ),
    "mixed precision": steps.Case(
        MODEL,
        distribute=steps.shard_mixed,
        dtype=torch.bfloat16,
        compiled={"collectives": "recompute"},
    ),
    "replicated": steps.Case(
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
    torch.set_num_threads(1)
    rows = (4 + 60 * rank,) * steps.STEPS
    by_cost = {"activation_memory_budget": 0.4, "collectives": "cost"}
    again = {"collectives": "recompute"}
    found = {"rows": compare(steps.Case(MODEL, rows=rows, compiled=by_cost))}
    width, steps.WIDTH = steps.WIDTH, 33
    found["shards"] = compare(steps.Case(MODEL, rows=rows, compiled=again))
    steps.WIDTH = width
    dist.barrier()
    if rank == 1:
        os.environ["COMMSCHED_OPT"] = "/nowhere"
        warnings.simplefilter("ignore", category=CommSchedWarning)
    # The first rank to compile decides, here the one with the program.
    case = steps.Case({"dropout": 0.1, **MODEL}, compiled=again)
    found["no program"] = compare(case)
    return found


#: By name, the memory of the device; a step needs more than the least of them.
MEMORY = {"ample": "1GiB", "least": "1KiB"}


@dataclasses.dataclass
class Fitted:
    """The first differences from eager and from PyTorch's partitioner, the
    collectives of the backward, what was said of the joint graph, and the
    first warning."""

    from_eager: Optional[str]
    from_default: Optional[str]
    backward: list[str]
    decided: str
    notes: list[str]
    warning: str


def train_fitted(rank: int) -> dict[str, Fitted]:
    torch.set_num_threads(1)
    warnings.simplefilter("always", category=CommSchedWarning)
    default = steps.train(steps.Case(MODEL), {"inner": "eager"})
    return {
        name: compare_fitted({"memory_budget": memory}, default)
        for name, memory in MEMORY.items()
    }


def compare_fitted(options: dict, default: list) -> Fitted:
    with warnings.catch_warnings(record=True) as warned:
        compared = compare(steps.Case(MODEL, compiled=options))
    (joint,) = (r for r in records.records() if r.kind == "joint")
    texts = [str(w.message) for w in warned if w.category is CommSchedWarning]
    return Fitted(
        compared.difference,
        steps.difference(default, compared.trained),
        compared.backwards[0],
        joint.decided,
        joint.notes,
        texts[0] if texts else "",
    )


@dataclasses.dataclass
class Sent:
    """What became of saved values on the host.

    difference: the first difference from eager.
    notes:      what was said of the joint graph.
    transfers:  of the forward and of the backward, those in the graph.
    started:    the transfers that ran, in order.
    """

    difference: Optional[str]
    notes: list[str]
    transfers: dict[str, int]
    started: list[str]


#: Wide enough that computation hides transfers over a GH200's link, and less
#: memory than any step takes that is known without them.
WIDTH = ROWS = 512
SENT = {
    "memory_budget": "13.1MiB",
    "host_memory": "1GiB",
    "target": "gh200",
    "strict": True,
}


def train_sent(rank: int) -> Sent:
    """A step that fits by sending saved values to the host."""
    torch.set_num_threads(1)
    warnings.simplefilter("error", category=CommSchedWarning)
    steps.WIDTH = WIDTH
    case = steps.Case(MODEL, rows=(ROWS,) * 2, compiled=SENT)
    with host_kernels.installed():
        compared = compare(case)
        found = {record.kind: record for record in records.records()}
        transfers = {
            kind: found[kind].after["num_transfers"] for kind in ("forward", "backward")
        }
        started = list(host_kernels.started)
        return Sent(compared.difference, found["joint"].notes, transfers, started)


def train_unlike(rank: int) -> Outcome:
    """Ranks whose batches have different sizes: of the small one everything
    fits, and the large one would gather parameters again."""
    torch.set_num_threads(1)
    # The large one does not fit where it follows the other.
    warnings.simplefilter("ignore", category=CommSchedWarning)
    rows = (4 + 60 * rank,) * steps.STEPS
    options = {"memory_budget": "210KiB"}
    return compare(steps.Case(MODEL, rows=rows, compiled=options))
