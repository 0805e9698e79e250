# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of the collectives of process groups.

Every call is isolated: the ranks of the group meet in a barrier, each computes
for about a millisecond, starts the collective and waits for it, and takes the
time on its own clock. The computation is what a step does between collectives:
ranks come out of it at slightly different times, and threads of gloo that have
slept meanwhile answer later than right after a barrier. The median over the
repeats is a rank's time, and the largest over the ranks is the time of the
collective, for it ends when the last rank has its result.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from typing import Any, Callable, Optional, Sequence

import torch
import torch.distributed as dist

#: Kinds of collectives that are measured, by the dialect's names.
KINDS = (
    "all_gather",
    "reduce_scatter",
    "all_reduce",
    "all_to_all",
    "broadcast",
    "permute",
    "send",
    "recv",
    "barrier",
)

#: Kinds that one launch may carry several tensors of.
_COALESCED = ("all_gather", "reduce_scatter", "all_reduce")

#: Tensors of a coalesced launch, and how many sizes of it are measured: it is
#: the latency of a tensor that is sought, which the smallest show.
_TENSORS = 8
_COALESCED_SIZES = 3

_ELEMENT = torch.float32

#: What measures a job of so many processes on this machine.
MEASURE_COMMAND = (
    "torchrun --nproc-per-node {} -m commsched.torch.measure -o profile.json"
)

#: Rows of a matrix whose square takes a processor about a millisecond.
_MATRIX_SIZE = 256


def sizes_between(smallest: int, largest: int, factor: int = 4) -> list[int]:
    """Returns the sizes from `smallest` to `largest` bytes, both included,
    each `factor` times the one before."""
    sizes = []
    size = smallest
    while size < largest:
        sizes.append(size)
        size *= factor
    return [*sizes, largest]


def measure_collectives(
    groups: Optional[Sequence[dist.ProcessGroup]] = None,
    sizes: Sequence[int] = tuple(sizes_between(1024, 16 << 20)),
    kinds: Sequence[str] = KINDS,
    *,
    repeats: int = 20,
    device: Optional[torch.device] = None,
    report: Callable[[str], None] = lambda message: None,
) -> list[dict[str, Any]]:
    """Times `kinds` of collectives of `sizes` bytes in `groups`.

    All ranks of the job must call this, each with the groups that it is a
    member of, in the same order (by default the one of all ranks), and get the
    same rows: those of a profile. `sizes` are full buffers; one that a group's
    size does not divide is rounded up. A kind that the backend refuses is left
    out, and `report` gets a line with its reason. Kinds that can be coalesced
    have rows of several tensors, too, for the smallest sizes.

    Raises ValueError for unknown kinds, and RuntimeError on all ranks without
    a process group, or if a rank gives what is none, or a group that moves no
    data: one of the backend `fake`, or of one rank.
    """
    if not dist.is_available() or not dist.is_initialized():
        raise RuntimeError(
            "no process group is initialized: run under torchrun, or call "
            "torch.distributed.init_process_group first"
        )
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(
                f"unknown collective '{kind}'; collectives are "
                + ", ".join(KINDS)
            )
    if not sizes or min(sizes) < 1 or repeats < 1:
        raise ValueError("sizes and repeats must be positive")
    groups = [dist.group.WORLD] if groups is None else groups
    # A rank that is no member of a new group has a placeholder of it.
    other = dist.GroupMember.NON_GROUP_MEMBER
    own = [group for group in groups if kinds and group != other]
    _check_groups(own)
    device = device or default_device()
    rows: dict[tuple, int] = {}
    for group in own:
        _measure_group(group, sizes, kinds, repeats, device, rows, report)
    return _merge(rows)


def _check_groups(groups: Sequence[dist.ProcessGroup]) -> None:
    """Raises RuntimeError on all ranks if a group of one is none, or moves no
    data."""
    mine = next(filter(None, map(_why_not_measured, groups)), None)
    found: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(found, mine)
    # The backend `fake` leaves None for other ranks.
    for fault in filter(None, (mine, *found)):
        raise RuntimeError(fault)


def _why_not_measured(group: dist.ProcessGroup) -> Optional[str]:
    """Says why calls in `group` would show no time of communication, if so."""
    if not isinstance(group, dist.ProcessGroup):
        return (
            f"'groups' has {group!r}, which is no process group: give what "
            "torch.distributed.new_group returns, or no 'groups' for the one "
            "of all ranks"
        )
    size, backend = dist.get_world_size(group), dist.get_backend(group)
    name = f"process group '{group.group_name}' ({group.group_desc})"
    backends = dist.get_backend_config(group).split(",")
    if any(entry.rpartition(":")[2] == "fake" for entry in backends):
        return (
            f"{name} of {size} ranks has the backend '{backend}', which moves "
            "no data, so that its times say nothing: measure a job of "
            f"{max(size, 2)} processes with nccl or gloo, as in '"
            + MEASURE_COMMAND.format(max(size, 2)) + "'"
        )
    if size == 1:
        return (
            f"{name} of the backend '{backend}' has 1 rank, so that its "
            "collectives move no data: start more processes, as in '"
            + MEASURE_COMMAND.format(2)
            + "', and leave out groups of one rank; or measure operators "
            "alone, by '--kinds' without a value (in Python: kinds=[])"
        )
    return None


def default_device() -> torch.device:
    """Returns this rank's accelerator if the job's backend uses one, else
    the CPU."""
    backend = dist.get_backend()
    if backend in ("nccl", "rccl", "xccl") and torch.accelerator.is_available():
        return torch.device(
            torch.accelerator.current_accelerator().type,
            torch.accelerator.current_device_index(),
        )
    return torch.device("cpu")


def _measure_group(group, sizes, kinds, repeats, device, rows, report) -> None:
    ranks = dist.get_process_group_ranks(group)
    nodes = _count_nodes(ranks)

    def measure(what: str, key: tuple, call: Callable, argument: int) -> bool:
        """Adds a row; returns whether the backend could run it."""
        try:
            run = call(key[0], group, argument, device)
            nanoseconds = _time(run, group, repeats, device)
        except (RuntimeError, NotImplementedError, ValueError) as error:
            reason = str(error).strip().splitlines()[0]
            report(f"left out {what} of {len(ranks)} ranks: {reason}")
            return False
        rows[key] = max(rows.get(key, 0), nanoseconds)
        return True

    for kind in kinds:
        base = (kind, len(ranks), nodes)
        single = []
        for size in [0] if kind == "barrier" else sizes:
            elements = _elements(size, len(ranks))
            single.append(elements * _ELEMENT.itemsize)
            if not measure(kind, (*base, single[-1]), _call, elements):
                single.clear()
                break
        if kind not in _COALESCED or not single:
            continue
        for size in _coalesced_sizes(single, len(ranks)):
            key = (*base, size, _TENSORS)
            if not measure(f"coalesced {kind}", key, _call_coalesced, size):
                break


def _coalesced_sizes(sizes: Sequence[int], ranks: int) -> list[int]:
    """The full buffers of coalesced launches: some of the smallest among
    `sizes`, rounded up to equal tensors that `ranks` divides. None is larger
    than all `sizes`, for the times of single tensors have to enclose them."""
    unit = _TENSORS * ranks * _ELEMENT.itemsize
    rounded = {math.ceil(size / unit) * unit for size in sizes}
    fitting = sorted(size for size in rounded if size <= max(sizes))
    return fitting[:_COALESCED_SIZES]


def _count_nodes(ranks: Sequence[int]) -> int:
    per_node = int(os.environ.get("LOCAL_WORLD_SIZE", dist.get_world_size()))
    return len({rank // per_node for rank in ranks})


def _elements(size: int, ranks: int) -> int:
    """Elements of a full buffer of `size` bytes that `ranks` divides."""
    elements = math.ceil(size / _ELEMENT.itemsize)
    return math.ceil(elements / ranks) * ranks


def _call(
    kind: str, group: dist.ProcessGroup, elements: int, device: torch.device
) -> Callable[[], Any]:
    """Returns a function that runs one collective to its end.

    Reductions, gathers and exchanges are the operators of compiled graphs.
    """
    ops, name = torch.ops._c10d_functional, group.group_name
    size, rank = dist.get_world_size(group), dist.get_rank(group)
    full = torch.ones(elements, dtype=_ELEMENT, device=device)
    part = torch.ones(elements // size, dtype=_ELEMENT, device=device)
    parts = [elements // size] * size
    if kind == "all_gather":
        start = lambda: ops.all_gather_into_tensor(part, size, name)
    elif kind == "reduce_scatter":
        start = lambda: ops.reduce_scatter_tensor(full, "sum", size, name)
    elif kind == "all_reduce":
        start = lambda: ops.all_reduce(full, "sum", name)
    elif kind == "all_to_all":
        start = lambda: ops.all_to_all_single(full, parts, parts, name)
    elif kind == "broadcast":
        start = lambda: ops.broadcast(full, 0, name)
    elif kind == "permute":
        sent = [elements if i == (rank + 1) % size else 0 for i in range(size)]
        got = [elements if i == (rank - 1) % size else 0 for i in range(size)]
        start = lambda: ops.all_to_all_single(full, got, sent, name)
    elif kind == "barrier":
        return lambda: dist.barrier(group)
    else:
        return lambda: _exchange(group, full)
    return lambda: ops.wait_tensor(start())


def _call_coalesced(
    kind: str, group: dist.ProcessGroup, size: int, device: torch.device
) -> Callable[[], Any]:
    """Returns a function that runs one launch of several equal tensors, of
    `size` bytes together, to its end."""
    ops, name = torch.ops._c10d_functional, group.group_name
    ranks = dist.get_world_size(group)
    elements = size // _ELEMENT.itemsize // _TENSORS
    full, part = (
        [
            torch.ones(count, dtype=_ELEMENT, device=device)
            for _ in range(_TENSORS)
        ]
        for count in (elements, elements // ranks)
    )
    if kind == "all_gather":
        start = lambda: ops.all_gather_into_tensor_coalesced(part, ranks, name)
    elif kind == "reduce_scatter":
        start = lambda: ops.reduce_scatter_tensor_coalesced(
            full, "sum", ranks, name
        )
    else:
        start = lambda: ops.all_reduce_coalesced(full, "sum", name)
    return lambda: [ops.wait_tensor(tensor) for tensor in start()]


def _exchange(group: dist.ProcessGroup, full: torch.Tensor) -> None:
    """One message from each rank of even number to the next one."""
    ranks, rank = dist.get_process_group_ranks(group), dist.get_rank(group)
    if rank % 2:
        dist.recv(full, ranks[rank - 1], group)
    elif rank + 1 < len(ranks):
        dist.send(full, ranks[rank + 1], group)


def _time(
    run: Callable[[], Any],
    group: dist.ProcessGroup,
    repeats: int,
    device: torch.device,
) -> int:
    """Returns the largest over the group's ranks of the median time of `run`
    on each, in nanoseconds."""
    times = []
    matrix = torch.ones(_MATRIX_SIZE, _MATRIX_SIZE, device=device)
    for index in range(repeats + 2):
        dist.barrier(group)
        matrix @ matrix
        _synchronize(device)
        start = time.perf_counter_ns()
        run()
        _synchronize(device)
        if index >= 2:  # The first calls connect the ranks.
            times.append(time.perf_counter_ns() - start)
    median = max(1, round(statistics.median(times)))
    result = torch.tensor([median], dtype=torch.int64, device=device)
    dist.all_reduce(result, dist.ReduceOp.MAX, group)
    return max(1, int(result.item()))


def _synchronize(device: torch.device) -> None:
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


def _merge(rows: dict[tuple, int]) -> list[dict[str, Any]]:
    """Returns the rows of all ranks, sorted; of equal ones the slowest."""
    everyone: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, sorted(rows.items()))
    merged: dict[tuple, int] = {}
    for items in everyone:
        # A backend that moves nothing leaves None for other ranks.
        for key, nanoseconds in items or ():
            merged[tuple(key)] = max(merged.get(tuple(key), 0), nanoseconds)
    columns = ("collective", "ranks", "nodes", "bytes", "tensors")
    return [
        {**dict(zip(columns, key)), "time_ns": nanoseconds}
        for key, nanoseconds in sorted(
            merged.items(), key=lambda item: (KINDS.index(item[0][0]), item[0])
        )
    ]
