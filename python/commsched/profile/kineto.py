# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the traces that torch.profiler (Kineto) writes.

With a GPU, activities are kernels and copies, which the id of the operator
that launched them ("External id") joins to its name and shapes. Without one
they are the operators themselves, and the collectives of gloo.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from math import prod
from typing import Any, Optional

from commsched.profile.activities import (
    Activity,
    Device,
    Kernel,
    Step,
    Trace,
    TraceError,
)
from commsched.profile.reading import span_ns

_COPIES = ("gpu_memcpy", "gpu_memset")
_DEVICE = ("kernel", *_COPIES)
_LAUNCH = ("cuda_runtime", "cuda_driver")
_WAIT = re.compile(r"(?:cuda|hip|cu)(?:Stream|Device|Event|Ctx)Synchronize")
_LAUNCHERS = ("c10d.", "_c10d_functional.", "record_param_comms")
_STEP = re.compile(r"ProfilerStep#(\d{1,18})")
_ELEMENTS = {
    "float": "f32", "double": "f64", "c10::Half": "f16",
    "c10::BFloat16": "bf16", "long int": "i64", "long": "i64", "int": "i32",
    "bool": "i1", "unsigned char": "ui8", "signed char": "i8",
}
_COMM_ELEMENTS = {
    "Float": "f32", "Double": "f64", "Half": "f16", "BFloat16": "bf16",
    "Long": "i64", "Int": "i32", "Byte": "ui8", "Char": "i8",
}


# The kinds of collectives, by what PyTorch, NCCL, RCCL and gloo call them.

#: A collective of which the trace does not say more.
COLLECTIVE = "collective"
#: What NCCL's kernel SendRecv does: all_to_all, send or recv.
SEND_RECV = "send_recv"

_KINDS = {
    "allreduce": "all_reduce", "allgather": "all_gather",
    "reducescatter": "reduce_scatter", "alltoall": "all_to_all",
    "broadcast": "broadcast", "sendrecv": SEND_RECV, "send": "send",
    "recv": "recv", "permute": "permute", "barrier": "barrier",
    "reduce": "reduce", "gather": "gather", "scatter": "scatter",
    "coalesced": COLLECTIVE, "generic": COLLECTIVE,
}
# The backend, or the namespace of the operator.
_PREFIX = re.compile(r"(gloo|nccl|rccl|mpi|ucc|xccl|c10d|_c10d_functional)::?")
# What follows the kind in the names of variants, such as _allgather_base,
# all_to_all_single, reduce_scatter_tensor_coalesced, recv_any_source_.
_RECORD = re.compile(
    rf"({'|'.join(_KINDS)})(base|intotensor|tensor|single|coalesced|vout|v|out"
    r"|sparse|object|anysource)*")
# ncclAllReduceRingLLKernel_sum_f32, ncclKernel_AllReduce_RING_LL_Sum_float,
# ncclDevKernel_AllReduce_Sum_f32_RING_LL, ncclSymkDevKernel_AllGather_LL,
# ncclDevKernel_Generic_1; what the compiler mangles begins otherwise.
_KERNEL = re.compile(
    r"[nr]ccl(?:Symk?)?(?:Dev)?(?:Kernel)?(?:Debug)?_?"
    r"(AllReduce|AllGather|ReduceScatter|All[Tt]oAll|Broadcast|SendRecv|Reduce"
    r"|Generic)")
_IS_KERNEL = re.compile(r"(?:void |_Z\d+)?(?:nccl|rccl|msccl)\w*", re.ASCII)


def is_collective_kernel(name: str) -> bool:
    """Whether a kernel is one of NCCL or RCCL, by its name."""
    return _IS_KERNEL.match(name) is not None


def kind_of(name: str) -> str:
    """The kind of a collective by what PyTorch or NCCL calls it, or ''."""
    kernel = _KERNEL.search(name)
    if kernel:
        return _KINDS[kernel.group(1).lower()]
    prefix = _PREFIX.match(name)
    # Behind a space are the ranks of "nccl:send 0->1".
    text = name[prefix.end() if prefix else 0:].partition(" ")[0]
    record = _RECORD.fullmatch(re.sub(r"[^a-z0-9]", "", text.lower()))
    return _KINDS[record.group(1)] if record else ""


def most_precise(*names: str) -> str:
    """The kind by the first of these names that says it most precisely."""
    kinds = [kind for kind in map(kind_of, names) if kind]
    vague = (SEND_RECV, COLLECTIVE)
    return min(kinds, key=lambda kind: kind in vague and 1 + vague.index(kind),
               default=COLLECTIVE)


def operator_name(name: str) -> str:
    """The operator without its overload, alike for traces and programs:
    'aten::add_' and 'aten.add.Tensor' are both 'aten.add'."""
    parts = name.replace("::", ".").split(".")
    return ".".join(parts[:2]).rstrip("_")


@dataclass
class _Event:
    name: str
    begin: int
    end: int
    thread: Any
    args: dict
    is_copy: bool = False


@dataclass(frozen=True)
class _Call:
    """A call of the driver or the runtime by the host."""

    name: str
    begin: int
    end: int
    thread: Any


@dataclass
class _Events:
    """What of a trace is needed. `launches` are calls by correlation, `calls`
    what PyTorch records on the host around the launch of a collective."""

    operators: list = field(default_factory=list)
    device: list = field(default_factory=list)
    gloo: list = field(default_factory=list)
    calls: list = field(default_factory=list)
    launches: dict = field(default_factory=dict)
    waits: list = field(default_factory=list)
    steps: list = field(default_factory=list)


_KEPT = ("External id", "correlation", "Input Dims", "Input type", "stream",
         "Collective name", "In msg nelems", "dtype", "Process Group Name",
         "Process Group Description", "Process Group Ranks", "Group size")


def _collect(path: str, events: Iterable[dict]) -> _Events:
    found = _Events()
    for event in events:
        if event.get("ph") != "X":
            continue
        category, name = event.get("cat"), str(event.get("name"))
        is_step = category == "user_annotation" and _STEP.match(name)
        is_gloo = name.startswith("gloo:")
        is_call = name.startswith("nccl:") and category == "user_annotation"
        if not (is_step or is_gloo or is_call or category == "cpu_op"
                or category in _DEVICE or category in _LAUNCH):
            continue
        begin, end = span_ns(path, event)
        args = event.get("args") or {}
        if not isinstance(args, dict):
            raise TraceError(
                f"{path}: the arguments ('args') of the event '{name}' are no "
                "object; expected names and values")
        thread = _key(event.get("pid")), _key(event.get("tid"))
        if category in _LAUNCH:
            call = _Call(name, begin, end, thread)
            found.launches[_key(args.get("correlation"))] = call
            if _WAIT.match(name):
                found.waits.append((begin, end, name))
            continue
        kept = _Event(name, begin, end, thread,
                      {key: args[key] for key in _KEPT if key in args},
                      category in _COPIES)
        if is_step:
            found.steps.append(kept)
        elif is_gloo:
            found.gloo.append(kept)
        elif category in _DEVICE:
            found.device.append(kept)
        else:
            if is_call or "Collective name" in args:
                found.calls.append(kept)
            if not is_call:
                found.operators.append(kept)
    return found


def _key(value: Any) -> Any:
    """What names a thread, a stream or a call, as a key of dictionaries."""
    return value if isinstance(value, (int, str)) else str(value)


def read_kineto(
    path: str, events: Iterable[dict], header: dict,
    operators: Optional[set] = None,
) -> Trace:
    """The steps of the rank of a trace. `operators` are those of the program,
    by operator_name(): the outermost of them count, with all that they call.
    Others count if they call none, so that waits in them do not."""
    found = _collect(path, events)
    if not found.operators and not found.device:
        raise TraceError(
            f"{path}: has neither operators (category 'cpu_op') nor kernels "
            "(category 'kernel'); expected a trace of torch.profiler or a "
            "timeline of commsched-run"
        )
    rank = f"rank {header.get('distributedInfo.rank', 0)}"
    owners = _find_owners(found.operators, operators)
    device = None
    if found.device:
        launches = _Launches(found)
        activities = _device_activities(found, owners, launches)
        device = _Device(found, owners, launches)
    else:
        activities = _host_activities(found, owners)
    if not activities:
        raise TraceError(
            f"{path}: none of its operators are in the program; expected a "
            "trace of the program's model"
        )
    steps = _split(rank, found, activities, device)
    if not steps:
        raise TraceError(
            f"{path}: nothing runs within its steps (ProfilerStep#N)"
        )
    inside = sum(len(step.activities) for step in steps)
    return Trace(path, steps, len(activities) - inside)


def _find_owners(events: list, names: Optional[set]) -> list:
    """For each operator the outermost one around it, itself included, that is
    one of `names`. Else itself if it calls no other, and None if it does."""
    owners: list = [None] * len(events)
    calls = [False] * len(events)
    threads = defaultdict(list)
    for index, event in enumerate(events):
        threads[event.thread].append(index)
    for indices in threads.values():
        indices.sort(key=lambda i: (events[i].begin, -events[i].end, i))
        stack: list = []
        for index in indices:
            event = events[index]
            while stack and events[stack[-1]].end <= event.begin:
                stack.pop()
            owner = owners[stack[-1]] if stack else None
            if stack:
                calls[stack[-1]] = True
            is_named = bool(names) and operator_name(event.name) in names
            owners[index] = index if owner is None and is_named else owner
            stack.append(index)
    return [
        index if owner is None and not calls[index] else owner
        for index, owner in enumerate(owners)
    ]


def _operands(event: Optional[_Event]) -> tuple:
    """Shapes of the operands that have dimensions, and the first's type."""
    if event is None or not isinstance(event.args.get("Input Dims"), list):
        return None, ""
    shapes, element = [], ""
    types = event.args.get("Input type")
    types = types if isinstance(types, list) else []
    for index, dims in enumerate(event.args["Input Dims"]):
        if not isinstance(dims, list):
            continue
        for shape in dims if dims and isinstance(dims[0], list) else [dims]:
            if not shape or not all(isinstance(d, int) for d in shape):
                continue
            shapes.append(tuple(shape))
            if not element and index < len(types):
                name = str(types[index])
                element = _ELEMENTS.get(name, name)
    return tuple(shapes), element


def _host_activities(found: _Events, owners: list) -> list:
    activities = []
    for index, event in enumerate(found.operators):
        name = operator_name(event.name)
        # The launch of a collective, whose time is that of gloo's thread.
        if owners[index] != index or name.startswith(_LAUNCHERS):
            continue
        shapes, element = _operands(event)
        activities.append((event.begin, Activity(
            name, event.begin, event.end, event.end - event.begin, "compute",
            shapes=shapes, element=element)))
    for event in found.gloo:
        shapes, element = _operands(event)
        activities.append((event.begin, Activity(
            event.name, event.begin, event.end, event.end - event.begin,
            "gloo", kind=kind_of(event.name) or COLLECTIVE,
            elements=sum(map(prod, shapes)) if shapes else None,
            element=element, queue=str(event.thread[1]))))
    return activities


class _Launches:
    """Which call of the host launched what runs on the device."""

    def __init__(self, found: _Events) -> None:
        self._calls = found.launches
        self._around: dict = defaultdict(list)
        for event in found.calls:
            self._around[event.thread].append(event)
        for events in self._around.values():
            events.sort(key=lambda e: e.begin)

    def of(self, event: _Event) -> Optional[_Call]:
        return self._calls.get(_key(event.args.get("correlation")))

    def time_of(self, event: _Event) -> int:
        """When it was launched, or began if that is not known."""
        call = self.of(event)
        return call.begin if call else event.begin

    def kernel(self, event: _Event, name: str) -> Kernel:
        call = self.of(event)
        return Kernel(event.begin, event.end, call and call.begin,
                      call and call.end, name)

    def recorded_around(self, event: _Event) -> Optional[_Event]:
        """What PyTorch has recorded of a collective where it was launched."""
        call = self.of(event)
        if call is None:
            return None
        events = self._around.get(call.thread, [])
        index = bisect_right(events, call.begin, key=lambda e: e.begin) - 1
        is_inside = index >= 0 and call.begin < events[index].end
        return events[index] if is_inside else None


def _is_collective(event: _Event, comms: dict) -> bool:
    return (is_collective_kernel(event.name) or "Collective name" in event.args
            or _key(event.args.get("External id")) in comms)


def _comms(found: _Events) -> dict:
    """What is recorded of collectives, by the id that joins it to kernels."""
    return {_key(event.args.get("External id")): event.args
            for event in found.operators if "Collective name" in event.args}


def _owner_of(found: _Events, owners: list) -> dict:
    """The owner of the operator that an id joins to kernels."""
    return {_key(event.args.get("External id")): owner
            for event, owner in zip(found.operators, owners)}


def _device_activities(found: _Events, owners: list,
                       launches: _Launches) -> list:
    comms = _comms(found)
    owner_of = _owner_of(found, owners)
    computed: dict = {}
    activities = []
    for order, event in enumerate(found.device):
        key = _key(event.args.get("External id"))
        launch = launches.time_of(event)
        if _is_collective(event, comms):
            activities.append((launch, _collective(
                event, {**comms.get(key, {}), **event.args}, launches)))
            continue
        owner = owner_of.get(key)
        # Kernels of one operator are one activity.
        computed.setdefault(
            ("owner", owner) if owner is not None else ("alone", order),
            []).append((launch, event))
    for (_, owner), parts in computed.items():
        events = [event for _, event in parts]
        operator = found.operators[owner] if _ == "owner" else None
        shapes, element = _operands(operator)
        activities.append((min(launch for launch, _event in parts), Activity(
            operator_name(operator.name) if operator else events[0].name,
            min(e.begin for e in events), max(e.end for e in events),
            sum(e.end - e.begin for e in events), _stream(events[0]),
            shapes=shapes, element=element,
            kernels=(tuple((e.begin, e.end) for e in events)
                     if len(events) > 1 else ()))))
    return activities


def _stream(event: _Event) -> str:
    return f"stream {event.args.get('stream', event.thread[1])}"


def _collective(event: _Event, args: dict, launches: _Launches) -> Activity:
    around = launches.recorded_around(event)
    if around is not None:
        args = {**around.args, **args}
    element = _COMM_ELEMENTS.get(str(args.get("dtype", "")), "")
    elements = args.get("In msg nelems")
    if "Collective name" not in args and around is not None:
        shapes, element = _operands(around)
        elements = sum(map(prod, shapes)) if shapes else None
    name = str(args.get("Process Group Name", ""))
    what = str(args.get("Process Group Description", ""))
    call = launches.of(event)
    return Activity(
        event.name, event.begin, event.end, event.end - event.begin,
        f"group {what if what not in ('', 'undefined') else name}"
        if name else _stream(event),
        kind=most_precise(str(args.get("Collective name", "")), event.name,
                          around.name if around else ""),
        elements=elements if isinstance(elements, int) else None,
        element=element, launch_ns=call.begin if call else None,
        queue=_stream(event),
        group=f"{name} {args.get('Process Group Ranks', '')}" if name else "")


def _waits(found: _Events, launches: _Launches) -> list:
    """The calls in which the host waits for the device: besides those that
    synchronize, copies that return when all has been copied."""
    waits = list(found.waits)
    for event in found.device:
        call = launches.of(event) if event.is_copy else None
        if call is not None and call.end >= event.end:
            waits.append((call.begin, call.end, call.name))
    return sorted(waits)


def _split(rank: str, found: _Events, activities: list,
           device: Optional[_Device]) -> list:
    """The steps by the annotations of torch.profiler, or one step. What was
    launched in a step belongs to it, whenever it runs."""
    marks = sorted(found.steps, key=lambda e: e.begin)
    parts: dict = defaultdict(list)
    begins = [mark.begin for mark in marks]
    for launch, activity in activities:
        index = bisect_right(begins, launch) - 1 if marks else 0
        if marks and (index < 0 or launch >= marks[index].end):
            continue
        parts[index].append(activity)
    steps = []
    for index in sorted(parts):
        part = sorted(parts[index], key=lambda a: (a.begin_ns, a.end_ns))
        begin = part[0].begin_ns
        end = max(activity.end_ns for activity in part)
        if marks and device is None:
            begin, end = marks[index].begin, max(end, marks[index].end)
        number = int(_STEP.match(marks[index].name).group(1)) if marks else 0
        steps.append(Step(rank, begin, end, part, number,
                          device and device.within(begin, end)))
    return steps


class _Device:
    """What computes and copies on the device in all of a trace."""

    def __init__(self, found: _Events, owners: list,
                 launches: _Launches) -> None:
        comms, owner_of = _comms(found), _owner_of(found, owners)
        runs: tuple[list, list] = [], []
        for event in found.device:
            if _is_collective(event, comms):
                continue
            owner = owner_of.get(_key(event.args.get("External id")))
            name = event.name if owner is None else operator_name(
                found.operators[owner].name)
            runs[event.is_copy].append(launches.kernel(event, name))
        self._runs = [sorted(part, key=lambda run: (run.begin_ns, run.end_ns))
                      for part in runs]
        self._waits = _waits(found, launches)
        self._reach = [list(accumulate((run.end_ns for run in part), max))
                       for part in self._runs]

    def within(self, begin: int, end: int) -> Device:
        kernels, copies = (
            part[bisect_right(reach, begin):
                 bisect_left(part, end, key=lambda run: run.begin_ns)]
            for part, reach in zip(self._runs, self._reach))
        return Device(kernels, copies, self._waits)
