# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of an adopted `DistributedDataParallel` that reading its parameters does
not reduce.

A forward may use a parameter without reading it as an attribute of its module: from a
list, or from a cache. `DistributedDataParallel` reduces the gradient of any use. Here
the ranks compare what parameters get in the first backward that reduces, and what
differs is reduced once more from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import torch
import torch.distributed as dist
from torch.utils.hooks import RemovableHandle

from .compiling import records
from .private import call_after_backward
from .reads import ReadReplica

_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Comparison:
    """Compares the gradients of what `reads` read between the ranks of `group`, once."""

    def __init__(self, reads: Sequence[ReadReplica], group: Any):
        self.reads, self.group = reads, group
        #: By read: a sum of the bits of the gradient in the backward that runs.
        self.sums: dict[int, torch.Tensor] = {}
        self.hooks: list[RemovableHandle] = [
            read.parameter.register_hook(lambda g, i=i: self._add(i, g))
            for i, read in enumerate(reads)
        ]

    def remove(self) -> None:
        for hook in self.hooks:
            hook.remove()
        self.hooks = []

    @torch.compiler.disable  # Of a compiled step, Dynamo would trace what hooks call.
    def _add(self, index: int, gradient: Optional[torch.Tensor]) -> None:
        # Compiled code gives none to what it uses without recording gradients.
        if gradient is None or not self.reads[index].accumulation.reduces:
            return
        call_after_backward(self._finish)
        gradient = gradient.detach().contiguous()
        if gradient.is_complex():
            gradient = torch.view_as_real(gradient)
        self.sums[index] = gradient.view(_INTEGERS[gradient.element_size()]).sum()

    @torch.compiler.disable
    def _finish(self) -> None:
        if not self.hooks:
            return
        self.remove()
        # Each rank has a column for each read, but may have no gradient of it.
        least = next(iter(self.sums.values())).new_zeros(3, len(self.reads))
        for index, value in self.sums.items():
            least[:, index] = torch.stack((value, -value, torch.ones_like(value)))
        dist.all_reduce(least, dist.ReduceOp.MIN, self.group)
        differing = [
            read
            for read, (low, minus_high, is_used) in zip(self.reads, least.T.tolist())
            if is_used and low != -minus_high
        ]
        for read in differing:
            read.average_all()
        if differing:
            read, others = differing[0], len(differing) - 1
            records.warn_once(
                f"ranks have other gradients of the parameter '{read.name}' of a "
                f"{type(read.owner).__name__}{f' and {others} more' if others else ''}, "
                "used but not read as an attribute of its module: they are averaged "
                "once more behind each backward from now on"
            )
