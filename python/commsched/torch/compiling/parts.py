# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adopted models that are compiled in parts: block by block, or with graph breaks.

Each graph is scheduled by itself, so that what one of them reads is not gathered
before it runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from torch import nn

from commsched.torch.compiling import records
from commsched.torch.compiling.shared_reads import list_reads


def warn_of_parts(inputs: Sequence[Any]) -> None:
    """Warns if the graph with these inputs reads no more than half of the parameters
    of an adopted model: of several parts of a model one does."""
    known: defaultdict[nn.Module, list[bool]] = defaultdict(list)
    given = set(map(id, inputs))
    for read in list_reads():
        known[read.model].append(id(read.parameter) in given)
    for model, is_read in known.items():
        if 0 < 2 * sum(is_read) <= len(is_read):
            name = type(model).__name__
            records.warn_once(
                f"CommSched schedules a graph that reads {sum(is_read)} of the "
                f"{len(is_read)} parameters of this {name}. Graphs are scheduled one "
                "by one: the gathers of a block cannot start beside the block before. "
                "Compile the model as a whole, torch.compile(model, "
                "backend='commsched'), and without graph breaks",
                cause=f"parts of {name}",
            )
