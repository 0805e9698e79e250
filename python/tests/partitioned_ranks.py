# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What two ranks do with joint graphs that CommSched partitions, also with one
limit for the memory of a step."""

from __future__ import annotations

import dataclasses
import os
import warnings
from typing import Any, Optional
from unittest import mock

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
    name, of the joint graphs the status, who decided and what is said of them,
    what training gave, and warnings."""

    difference: Optional[str]
    backwards: list[list[str]]
    joints: list[tuple[str, str]]
    notes: list[str]
    trained: list[dict]
    warnings: list[str]

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
    # One limit for the memory of a step; a step needs more than the second.
    "ample": steps.Case(MODEL, compiled={"memory_budget": "1GiB"}),
    "least": steps.Case(MODEL, compiled={"memory_budget": "1KiB"}),
}


def train_all(rank: int) -> tuple[list[dict], dict[str, Outcome]]:
    """What PyTorch's partitioner gives of MODEL, and the cases."""
    default = steps.train(steps.Case(MODEL), {"inner": "eager"})
    return default, {name: compare(case) for name, case in CASES.items()}


def compare(case: steps.Case) -> Outcome:
    backwards: list[list[str]] = []
    call = Partitioner.__call__

    def recording(self, *args: Any, **settings: Any):
        halves = call(self, *args, **settings)
        backwards.append(list(Launches.of(halves[1].graph).names))
        return halves

    with (
        warnings.catch_warnings(record=True) as warned,
        mock.patch.object(Partitioner, "__call__", recording),
    ):
        warnings.simplefilter("always", category=CommSchedWarning)
        difference, compiled = steps.compare(case, case.compiled)
    joints = [record for record in records.records() if record.kind == "joint"]
    return Outcome(
        difference,
        backwards,
        [(joint.status, joint.decided) for joint in joints],
        [note for joint in joints for note in joint.notes],
        compiled,
        [str(w.message) for w in warned if w.category is CommSchedWarning],
    )


def train_unlike_graphs(rank: int) -> dict[str, Outcome]:
    """Ranks whose graphs differ: by the rows of their batches, by shards of
    different sizes, and one that has no commsched-opt."""
    rows = (4 + 60 * rank,) * steps.STEPS
    by_cost = {"activation_memory_budget": 0.4, "collectives": "cost"}
    again = {"collectives": "recompute"}
    found = {
        "rows": compare(steps.Case(MODEL, rows=rows, compiled=by_cost)),
        # Of the small batch everything fits, and the large one would gather
        # parameters again: it does not fit where it follows the other.
        "within a limit": compare(
            steps.Case(MODEL, rows=rows, compiled={"memory_budget": "210KiB"})
        ),
    }
    with mock.patch.object(steps, "WIDTH", 33):
        found["shards"] = compare(steps.Case(MODEL, rows=rows, compiled=again))
    dist.barrier()
    if rank == 1:
        os.environ["COMMSCHED_OPT"] = "/nowhere"
    # The first rank to compile decides, here the one with the program.
    case = steps.Case({"dropout": 0.1, **MODEL}, compiled=again)
    found["no program"] = compare(case)
    return found


#: Wide enough that computation hides transfers over a GH200's link, and less
#: memory than any step takes that is known without them.
WIDTH = ROWS = 512
SENT = {
    "memory_budget": "13.1MiB",
    "host_memory": "1GiB",
    "target": "gh200",
    "strict": True,
}


def train_sent(rank: int) -> tuple[Outcome, dict[str, int], list[str]]:
    """A step that fits by sending saved values to the host; the transfers in the
    graphs of the forward and of the backward, and those that ran, in order."""
    case = steps.Case(MODEL, rows=(ROWS,) * 2, compiled=SENT)
    with host_kernels.installed(), mock.patch.object(steps, "WIDTH", WIDTH):
        compared = compare(case)
        found = {record.kind: record for record in records.records()}
        transfers = {
            kind: found[kind].after["num_transfers"] for kind in ("forward", "backward")
        }
        return compared, transfers, list(host_kernels.started)
