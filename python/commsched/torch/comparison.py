# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ranks compare of the models that they adopt: which parameters those are, and
the gradients of a `DistributedDataParallel` that reading its parameters does not
reduce.

A forward may use a parameter without reading it as an attribute of its module: from a
list, or from a cache. `DistributedDataParallel` reduces the gradient of any use. Here
the ranks compare what parameters get in the first backward that reduces, and what
differs is reduced once more from then on.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Optional

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.hooks import RemovableHandle

from .compiling import records
from .compiling.confirmation import RanksDiffer, fail
from .compiling.launches import digest_of
from .compiling.store import Job, StoreSilent, current_job
from .private import call_after_backward
from .reads import Read, ReadReplica

_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def compare_models(model: nn.Module, reads: Sequence[Read]) -> None:
    """Raises RanksDiffer if the first rank that has adopted its n-th model over some
    ranks has adopted other parameters, of which `reads` read this rank's. No rank
    waits for another."""
    job = current_job()
    if job is None:
        return
    paths = {module: path for path, module in model.named_modules()}
    by_ranks: defaultdict[tuple[int, ...], list[str]] = defaultdict(list)
    for read in reads:
        ranks = tuple(read.mesh.mesh.flatten().tolist())
        # The user may have taken it from the model meanwhile.
        path = paths.get(read.owner, type(read.owner).__name__)
        by_ranks[ranks].append(f"{path}.{read.name}".lstrip("."))
    with contextlib.suppress(StoreSilent):
        for ranks, ours in by_ranks.items():
            _compare_names(job, ranks, ours)


def _compare_names(job: Job, ranks: tuple[int, ...], ours: list[str]) -> None:
    counts = job.state.setdefault("adopted", Counter())
    counts[ranks] += 1
    key = f"adopted/{digest_of(ranks)}/{counts[ranks]}"
    first, theirs = json.loads(job.decide(key, json.dumps([job.rank, ours])))
    for pair in itertools.zip_longest(theirs, ours):
        if pair[0] != pair[1]:
            their, own = (f"'{name}'" if name else "no more" for name in pair)
            message = (
                f"rank {first} and rank {job.rank} adopt other parameters of a model "
                f"over {len(ranks)} ranks: {their} on rank {first} and {own} on rank "
                f"{job.rank}"
            )
            raise fail(job, RanksDiffer(message))


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
