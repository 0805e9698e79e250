# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of the collectives of process groups.

Calls are made as a step makes them: each rank computes for two milliseconds,
starts the collective and waits for it, and goes on, without meeting the others in
between. A rank that comes early waits for the others, so the time of the rank
that waits least counts, which is the one that the others wait for; where only
some ranks wait at all, as for messages, the time of the one that waits most.

Threads that have slept or computed meanwhile do not always get a core at once.
Many calls take little, some take several times as long, and both add up in a step.
So each row is the mean of the shorter half of its calls, and the mean of what all
small calls take longer than that, which a few calls of each size do not show.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from typing import Any, Callable, Mapping, Optional, Sequence

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

#: Full buffers that a bounded measurement takes. From 32 MiB on, glibc gives them
#: pages that the kernel has to clear.
SIZES = (1 << 10, 1 << 13, 1 << 16, 1 << 19, 1 << 22, 31 << 20, 32 << 20)

#: Calls of a size if time runs short.
_FEW = 3

#: Kinds of which a rank may have done its part before the others come.
_ONE_SIDED = ("broadcast", "send", "recv")

#: The largest full buffers of which all calls wait alike for a core, and the part
#: of the waits that is left out, for the longest are another program's.
_SMALL_BYTES = 1 << 19
_LEFT_OUT = 1 / 50

_ELEMENT = torch.float32

#: What measures a job of so many processes on this machine.
MEASURE_COMMAND = (
    "torchrun --nproc-per-node {} -m commsched.torch.measure -o profile.json"
)

#: Seconds of computation before each call, and the rows of the matrices that
#: are multiplied meanwhile.
_COMPUTED = 2e-3
_MATRIX_SIZE, _SAMPLE = 256, 20

#: The full buffers of collectives whose processor time is measured, how many
#: of each in a row, and the most of their time that computation is taken to
#: lose to them.
_BESIDE_BYTES = (1 << 16, 1 << 19, 1 << 22)
_IN_A_ROW = 4
_MOST_LOST = 0.9


def sizes_between(smallest: int, largest: int, factor: int = 4) -> list[int]:
    """Returns the sizes from `smallest` to `largest` bytes, both included,
    each `factor` times the one before; and 31 and 32 MiB (:data:`SIZES`) if these
    are between them."""
    sizes = []
    size = smallest
    while size < largest:
        sizes.append(size)
        size *= factor
    steps = [size for size in SIZES[-2:] if smallest <= size and SIZES[-1] <= largest]
    return sorted({*sizes, *steps, largest})


def measure_collectives(
    groups: Optional[Sequence[dist.ProcessGroup]] = None,
    sizes: Sequence[int] = tuple(sizes_between(1024, SIZES[-1])),
    kinds: Sequence[str] = KINDS,
    *,
    repeats: int = 20,
    device: Optional[torch.device] = None,
    report: Callable[[str], None] = lambda message: None,
    limit: float = math.inf,
    exchange: Optional[Callable[[Any], list]] = None,
) -> list[dict[str, Any]]:
    """Times `kinds` of collectives of `sizes` bytes in `groups`.

    All ranks of the job must call this, each with the groups that it is a
    member of, in the same order (by default the one of all ranks), and get the
    same rows: those of a profile. `sizes` are full buffers; one that a group's
    size does not divide is rounded up. A kind that the backend refuses is left
    out, and `report` gets a line with its reason. Kinds that can be coalesced
    have rows of several tensors, too, for the smallest sizes.

    After `limit` seconds a group goes on with nothing but the smallest size,
    which comes first. `exchange` returns what each rank of the job gives to
    it, by default through the process group of all ranks.

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
    exchange = exchange or exchange_objects
    _check_groups(own, exchange)
    device = device or default_device()
    rows: dict[tuple, int] = {}
    for group in own:
        _measure_group(
            group, sizes, kinds, repeats, device, rows, report, limit
        )
    return _merge(exchange(sorted(rows.items())))


def exchange_objects(mine: Any) -> list[Any]:
    """Returns what each rank of the job calls this with."""
    found: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(found, mine)
    return found


def _check_groups(groups: Sequence[dist.ProcessGroup], exchange) -> None:
    """Raises RuntimeError on all ranks if a group of one is none, or moves no
    data."""
    mine = next(filter(None, map(_why_not_measured, groups)), None)
    # The backend `fake` leaves None for other ranks.
    for fault in filter(None, (mine, *exchange(mine))):
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


def _measure_group(
    group, sizes, kinds, repeats, device, rows, report, limit
) -> None:
    ranks = dist.get_process_group_ranks(group)
    base = (len(ranks), _count_nodes(ranks))
    steps = _steps(kinds, sizes, len(ranks))
    smallest = min((size for size, *_ in steps if size), default=0)
    refused: set = set()
    started, spent, calls = time.monotonic(), 0.0, repeats
    compute, taken = _computation(group, device), {}
    for size, tensors, kind in steps:
        if (kind, 1) in refused or (kind, tensors) in refused:
            continue
        if spent > limit and size > smallest:
            report(f"{len(ranks)} ranks took {spent:.1f} s for {kind} of less "
                   f"than {size} bytes")
            break
        call = _call if tensors == 1 else _call_coalesced
        try:
            run = call(kind, group, size, device)
            each = _time(run, compute, group, calls, device)
            times, spent = _of_all(each, started, group, kind, device)
        except (RuntimeError, NotImplementedError, ValueError) as error:
            reason = str(error).strip().splitlines()[0]
            what = kind if tensors == 1 else f"coalesced {kind}"
            report(f"left out {what} of {len(ranks)} ranks: {reason}")
            refused.add((kind, tensors))
            continue
        taken[(kind, *base, size, *([tensors] if tensors > 1 else []))] = times
        # What was spent is equal on all ranks of the group.
        if spent > limit / 2:
            calls = min(repeats, _FEW)
    for key, nanoseconds in expected(taken).items():
        rows[key] = max(rows.get(key, 0), nanoseconds)


def _steps(
    kinds: Sequence[str], sizes: Sequence[int], ranks: int
) -> list[tuple[int, int, str]]:
    """Returns bytes, tensors and kind of what is measured, the smallest
    first, but of several tensors behind the sizes of one that enclose it: time may
    run short."""
    steps = {(0, 1, kind) for kind in kinds if kind == "barrier"}
    full = [_elements(size, ranks) * _ELEMENT.itemsize for size in sizes]
    for kind in set(kinds) - {"barrier"}:
        steps |= {(size, 1, kind) for size in full}
        if kind in _COALESCED:
            coalesced = _coalesced_sizes(full, ranks)
            steps |= {(size, _TENSORS, kind) for size in coalesced}
    return sorted(
        steps, key=lambda step: (min(s for s in full if s >= step[0]), step[1], step)
    )


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


def measure_slowdown(group: dist.ProcessGroup, repeats: int = 5) -> float:
    """Returns by which part of its time computation on processors takes longer
    beside a collective of `group`, whose ranks all call this: the field
    `compute_slowdown` of a target.

    It is the processor time that a collective takes from computation: all of
    its thread that launches and waits, and of gloo's own threads as much as
    finds no core free while all ranks compute. To time computation beside
    collectives says little on a machine that does other things, too.
    """
    ops, name = torch.ops._c10d_functional, group.group_name
    crowding, parts = core_shortage(), []
    for size in _BESIDE_BYTES:
        full = torch.ones(size // _ELEMENT.itemsize, dtype=_ELEMENT)
        for index in range(repeats + 2):
            dist.barrier(group)
            wall, own = time.perf_counter(), time.thread_time()
            process = time.process_time()
            for _ in range(_IN_A_ROW):
                ops.wait_tensor(ops.all_reduce(full, "sum", name))
            wall, own = time.perf_counter() - wall, time.thread_time() - own
            others = time.process_time() - process - own
            if index >= 2:  # The first calls connect the ranks.
                parts.append((own + crowding * max(others, 0.0)) / wall)
    part = min(statistics.median(parts), _MOST_LOST)
    return part / (1 - part)


def core_shortage() -> float:
    """Returns which part of one further thread of each rank has no core for
    itself while all ranks of this machine compute."""
    ranks = int(os.environ.get("LOCAL_WORLD_SIZE") or dist.get_world_size())
    cores = len(os.sched_getaffinity(0)) - ranks * torch.get_num_threads()
    return min(max(1 - cores / ranks, 0.0), 1.0)


def _call(
    kind: str, group: dist.ProcessGroup, full_size: int, device: torch.device
) -> Callable[[], Any]:
    """Returns a function that runs one collective, of a full buffer of
    `full_size` bytes, to its end.

    Reductions, gathers and exchanges are the operators of compiled graphs.
    """
    ops, name = torch.ops._c10d_functional, group.group_name
    size, rank = dist.get_world_size(group), dist.get_rank(group)
    elements = full_size // _ELEMENT.itemsize
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


def _computation(
    group: dist.ProcessGroup, device: torch.device
) -> Callable[[], None]:
    """Returns a function that computes for about `_COMPUTED` seconds, the same on
    all ranks of the group."""
    matrix = torch.ones(_MATRIX_SIZE, _MATRIX_SIZE, device=device)

    def compute(count: int) -> None:
        for _ in range(count):
            matrix @ matrix
        _synchronize(device)

    compute(_SAMPLE)
    start = time.perf_counter()
    compute(_SAMPLE)
    sample = torch.tensor([time.perf_counter() - start], device=device)
    dist.all_reduce(sample, dist.ReduceOp.MIN, group)
    count = max(1, round(_COMPUTED * _SAMPLE / sample.item()))
    return lambda: compute(count)


def _time(
    run: Callable[[], Any],
    compute: Callable[[], None],
    group: dist.ProcessGroup,
    repeats: int,
    device: torch.device,
) -> list[int]:
    """Returns what each call of `run` takes on this rank, in nanoseconds."""
    times = []
    dist.barrier(group)
    for index in range(repeats + 2):
        compute()
        start = time.perf_counter_ns()
        run()
        _synchronize(device)
        if index >= 2:  # The first calls connect the ranks.
            times.append(time.perf_counter_ns() - start)
    return times


def _of_all(
    mine: list[int], started: float, group: dist.ProcessGroup, kind: str, device
) -> tuple[list[float], float]:
    """Returns the times of the rank of the group that counts, and the most of the
    seconds since each has `started`."""
    values = [*mine, time.monotonic() - started]
    given = torch.tensor(values, dtype=torch.float64, device=device)
    found = [torch.empty_like(given) for _ in range(dist.get_world_size(group))]
    dist.all_gather(found, given, group)
    everyone = [values.tolist() for values in found]
    choose = max if kind in _ONE_SIDED else min
    times = choose((values[:-1] for values in everyone), key=sum)
    return times, max(values[-1] for values in everyone)


def expected(taken: Mapping[tuple, Sequence[float]]) -> dict[tuple, int]:
    """Returns what a call takes in the mean, of each row's calls, in nanoseconds.
    Those of one tensor in a small buffer show together what calls wait."""
    least = {key: _shorter_half(times) for key, times in taken.items()}
    waits = sorted(
        t - least[key]
        for key, times in taken.items()
        if len(key) == 4 and key[3] <= _SMALL_BYTES and key[0] not in _ONE_SIDED
        for t in times
    )
    kept = waits[: math.ceil(len(waits) * (1 - _LEFT_OUT))]
    wait = statistics.fmean(kept) if kept else 0.0
    return {key: max(1, round(time + wait)) for key, time in least.items()}


def _shorter_half(times: Sequence[float]) -> float:
    return statistics.fmean(sorted(times)[: math.ceil(len(times) / 2)])


def _synchronize(device: torch.device) -> None:
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


def _merge(everyone: Sequence[Any]) -> list[dict[str, Any]]:
    """Returns the rows of all ranks, sorted; of equal ones the slowest."""
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
