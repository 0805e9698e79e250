# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What two ranks do with one limit for the memory of a step."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Optional

import compiled_steps as steps
import host_kernels
import partitioned_ranks
import torch

from commsched.torch import CommSchedWarning
from commsched.torch.compiling import records

#: By name, the memory of the device; a step needs more than the least of them.
MEMORY = {"ample": "1GiB", "least": "1KiB"}

#: One layer: most of the time goes to the search for a step that fits.
MODEL = {"layers": 1}


@dataclasses.dataclass
class Outcome:
    """The first differences from eager and from PyTorch's partitioner, the
    collectives of the backward, what was said of the joint graph, and the
    first warning."""

    from_eager: Optional[str]
    from_default: Optional[str]
    backward: list[str]
    decided: str
    notes: list[str]
    warning: str


def train_all(rank: int) -> dict[str, Outcome]:
    torch.set_num_threads(1)
    warnings.simplefilter("always", category=CommSchedWarning)
    default = steps.train(steps.Case({}, MODEL), {"inner": "eager"})
    return {
        name: compare({"memory_budget": memory}, default)
        for name, memory in MEMORY.items()
    }


def compare(options: dict, default: list) -> Outcome:
    with warnings.catch_warnings(record=True) as warned:
        compared = partitioned_ranks.compare(
            steps.Case({}, MODEL, compiled=options)
        )
    (joint,) = (r for r in records.records() if r.kind == "joint")
    texts = [w for w in warned if w.category is CommSchedWarning]
    return Outcome(
        compared.difference,
        steps.difference(default, compared.trained),
        compared.backwards[0],
        joint.decided,
        joint.notes,
        str(texts[0].message) if texts else "",
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
    case = steps.Case({}, MODEL, rows=(ROWS,) * 2, compiled=SENT)
    with host_kernels.installed():
        compared = partitioned_ranks.compare(case)
        found = {record.kind: record for record in records.records()}
        return Sent(
            compared.difference,
            found["joint"].notes,
            {
                kind: found[kind].after["num_transfers"]
                for kind in ("forward", "backward")
            },
            list(host_kernels.started),
        )


def train_unlike(rank: int) -> partitioned_ranks.Outcome:
    """Ranks whose batches have different sizes: of the small one everything
    fits, and the large one would gather parameters again."""
    torch.set_num_threads(1)
    # The large one does not fit where it follows the other.
    warnings.simplefilter("ignore", category=CommSchedWarning)
    rows = (4 + 60 * rank,) * steps.STEPS
    options = {"memory_budget": "210KiB"}
    return partitioned_ranks.compare(
        steps.Case({}, MODEL, rows=rows, compiled=options)
    )
