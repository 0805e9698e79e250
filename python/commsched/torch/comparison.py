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
import time
import weakref
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.hooks import RemovableHandle

from .compiling import records
from .compiling.confirmation import RanksDiffer, RanksSilent, fail
from .compiling.launches import digest_of
from .compiling.store import Job, StoreSilent, current_job, poll
from .private import call_after_backward, fsdp
from .reads import Read, ReadReplica

_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def compare_models(model: nn.Module, reads: Sequence[Read]) -> None:
    """Raises RanksDiffer if the first rank that has adopted its n-th model over some
    ranks has adopted other parameters, of which `reads` read this rank's. No rank
    waits for another before it first reads a parameter in code that is not compiled."""
    job = current_job()
    if job is None:
        return
    paths = {module: path for path, module in model.named_modules()}
    by_ranks: defaultdict[tuple[int, ...], list[Read]] = defaultdict(list)
    for read in reads:
        by_ranks[tuple(read.mesh.mesh.flatten().tolist())].append(read)
    counts = job.state.setdefault("adopted", Counter())
    with contextlib.suppress(StoreSilent):
        for ranks, theirs in by_ranks.items():
            counts[ranks] += 1
            key = f"adopted/{digest_of(ranks)}/{counts[ranks]}"
            # The user may have taken them from the model meanwhile.
            owners = [paths.get(read.owner, type(read.owner).__name__) for read in theirs]
            ours = [f"{o}.{read.name}".lstrip(".") for o, read in zip(owners, theirs)]
            _compare_names(job, key, ranks, ours)
            arrival = _Arrival(job, key, ranks, type(model).__name__)
            for read in theirs:
                read.arrive = arrival.wait


def _compare_names(
    job: Job, key: str, ranks: tuple[int, ...], ours: list[str]
) -> None:
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


class _Arrival:
    """Of the ranks that adopt a model: each does before it communicates for it."""

    def __init__(self, job: Job, key: str, ranks: tuple[int, ...], name: str):
        self.job, self.key, self.ranks, self.name = job, key, ranks, name
        self.is_known = False
        job.set(f"{key}/{job.rank}", "1")
        job.add(f"{key}/count", 1)

    def wait(self) -> None:
        """Waits for the other ranks, once, as their first collective would. Raises
        RanksSilent if some do not adopt the model in time."""
        job, key = self.job, self.key
        if self.is_known:
            return
        self.is_known = True
        seconds = job.limit(None)
        with contextlib.suppress(StoreSilent):
            if poll(
                lambda: job.add(f"{key}/count", 0) == len(self.ranks) or None,
                time.monotonic() + seconds,
            ):
                return
            missing = [r for r in self.ranks if job.get(f"{key}/{r}") is None]
            message = (
                f"rank {job.rank} waited {seconds:g} s in a forward of its {self.name} "
                f"for {len(missing)} of {len(self.ranks)} ranks, of which rank "
                f"{missing[0]} is the first, to adopt that model, too"
            )
            raise fail(job, RanksSilent(message))


class Comparison:
    """Watches which parameters, that `reads` read, get a gradient behind forwards of
    the adopted `model`, and compares the first ones between its ranks."""

    def __init__(self, model: DistributedDataParallel, reads: Sequence[ReadReplica]):
        self.model, self.reads = model, reads
        #: The parameters without a gradient behind the last forward that has a backward.
        self.left: set[int] = set()
        self.is_compared = False
        # Parameters do not show their hooks to the collection of garbage.
        own = weakref.ref(self)
        # Not of the gradients: these are also called where none is added up.
        self.hooks: list[RemovableHandle] = [
            read.parameter.register_post_accumulate_grad_hook(
                lambda _, i=i: own() and own()._add(i)
            )
            for i, read in enumerate(reads)
        ]

    def remove(self) -> None:
        for hook in self.hooks:
            hook.remove()

    def describe_missing(self) -> str:
        names = {m: f"{name}." for name, m in self.model.module.named_modules() if name}
        missing = [self.reads[i] for i in sorted(self.left)]
        found = [f"'{names.get(read.owner, '')}{read.name}'" for read in missing[:8]]
        return (
            f"rank {dist.get_rank()}: the last backward of a DistributedDataParallel "
            f"has given no gradient to {len(missing)} of {len(self.reads)} parameters: "
            f"{', '.join(found)}{' and others' if missing[8:] else ''}. Use them in the "
            "loss on all ranks, freeze them before DistributedDataParallel is made, or "
            "let that find_unused_parameters, without adopt"
        )

    @torch.compiler.disable  # Of a compiled step, Dynamo would trace what hooks call.
    def _add(self, index: int) -> None:
        if not self.reads[index].accumulation.reduces:
            return
        if self.model.is_awaited:
            self.model.is_awaited, self.model.is_unfinished = False, True
            self.left = set(self._list_watched())
        elif index not in self.left:
            records.warn_once(
                f"the parameter '{self.reads[index].name}' of a "
                f"{type(self.reads[index].owner).__name__} gets a gradient once more "
                "behind one forward of its DistributedDataParallel, or without one: "
                "where that comes from reading it in a forward, it is averaged over "
                "the ranks, which is not done unless the model is adopted",
                cause="gradients of a replica once more",
            )
        self.left.discard(index)
        if not self.left and self.model.is_unfinished:
            self.model.is_unfinished = False
            if not self.is_compared:
                call_after_backward(self._compare)

    def _list_watched(self) -> Iterator[int]:
        for index, (read, hook) in enumerate(zip(self.reads, self.hooks)):
            parameter = read.parameter
            if parameter is None or not parameter.requires_grad:
                continue
            known = fsdp.list_hooks(parameter)
            if known - read.list_hooks() - {hook.id}:
                records.warn_once(
                    f"the parameter '{read.name}' of a {type(read.owner).__name__} has "
                    "got a hook after adopt, which sees averaged gradients: those of a "
                    "DistributedDataParallel that is not adopted see this rank's own",
                    cause="hooks of a replica",
                )
            if hook.id in known:  # Not of what was put in its place.
                yield index

    @torch.compiler.disable
    def _compare(self) -> None:
        self.is_compared = True
        # Each rank has a column for each read, but may have no gradient of it.
        least = None
        for index, read in enumerate(self.reads):
            gradient = None if read.parameter is None else read.parameter.grad
            if gradient is None:
                continue
            if least is None:
                size = 3, len(self.reads)
                least = gradient.new_zeros(size, dtype=torch.int64)
            if gradient.is_complex():
                gradient = torch.view_as_real(gradient)
            bits = gradient.contiguous().view(_INTEGERS[gradient.element_size()])
            value = bits.sum()
            least[:, index] = torch.stack((value, -value, torch.ones_like(value)))
        dist.all_reduce(least, dist.ReduceOp.MIN, self.model.process_group)
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
