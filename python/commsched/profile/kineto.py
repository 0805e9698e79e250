# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the traces that torch.profiler (Kineto) writes.

With a GPU, activities are kernels and copies, which the id of the operator
that launched them ("External id") joins to its name and shapes. Without one
they are the operators themselves, and the collectives of gloo.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod
from typing import Any, Optional

from commsched.profile.activities import Activity, Step, Trace, TraceError
from commsched.profile.reading import span_ns

_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_LAUNCH = ("cuda_runtime", "cuda_driver")
_STEP = re.compile(r"ProfilerStep#(\d+)")
_ELEMENTS = {
    "float": "f32", "double": "f64", "c10::Half": "f16",
    "c10::BFloat16": "bf16", "long int": "i64", "long": "i64", "int": "i32",
    "bool": "i1", "unsigned char": "ui8", "signed char": "i8",
}
_KINDS = {
    "allreduce": "all_reduce", "allgather": "all_gather",
    "allgatherbase": "all_gather", "allgatherintotensor": "all_gather",
    "allgatherintotensorcoalesced": "all_gather",
    "reducescatter": "reduce_scatter", "reducescatterbase": "reduce_scatter",
    "reducescattertensor": "reduce_scatter",
    "reducescattertensorcoalesced": "reduce_scatter",
    "alltoall": "all_to_all", "alltoallbase": "all_to_all",
    "alltoallv": "all_to_all", "broadcast": "broadcast", "send": "send",
    "recv": "recv", "barrier": "barrier",
}


def kind_of(name: str) -> str:
    """The kind of a collective by what PyTorch or NCCL calls it, or ''."""
    name = name.removeprefix("gloo:").removeprefix("nccl:")
    match = re.match(r"nccl(?:Dev)?Kernel_([A-Za-z]+)", name)
    text = match.group(1) if match else name
    return _KINDS.get(re.sub(r"[^a-z0-9]", "", text.lower()), "")


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


@dataclass
class _Events:
    """What of a trace is needed."""

    operators: list = field(default_factory=list)
    device: list = field(default_factory=list)
    gloo: list = field(default_factory=list)
    launches: dict = field(default_factory=dict)
    steps: list = field(default_factory=list)


_KEPT = ("External id", "correlation", "Input Dims", "Input type", "stream",
         "Collective name", "In msg nelems", "dtype", "Process Group Name",
         "Group size")


def _collect(path: str, events: Iterable[dict]) -> _Events:
    found = _Events()
    for event in events:
        if event.get("ph") != "X":
            continue
        category, name = event.get("cat"), str(event.get("name"))
        is_step = category == "user_annotation" and _STEP.match(name)
        is_gloo = name.startswith("gloo:")
        if not (is_step or is_gloo or category == "cpu_op"
                or category in _DEVICE or category in _LAUNCH):
            continue
        begin, end = span_ns(path, event)
        args = event.get("args") or {}
        if category in _LAUNCH:
            found.launches[args.get("correlation")] = begin
            continue
        kept = _Event(name, begin, end, (event.get("pid"), event.get("tid")),
                      {key: args[key] for key in _KEPT if key in args})
        if is_step:
            found.steps.append(kept)
        elif is_gloo:
            found.gloo.append(kept)
        elif category in _DEVICE:
            found.device.append(kept)
        else:
            found.operators.append(kept)
    return found


def read_kineto(
    path: str, events: Iterable[dict], header: dict,
    operators: Optional[set] = None,
) -> Trace:
    """The steps of the rank of a trace. `operators` are those of the program,
    by operator_name(): the outermost of them count, with all that they call;
    without them, those that no other calls."""
    found = _collect(path, events)
    if not found.operators and not found.device:
        raise TraceError(
            f"{path}: has neither operators (category 'cpu_op') nor kernels "
            "(category 'kernel'); expected a trace of torch.profiler or a "
            "timeline of commsched-run"
        )
    rank = f"rank {header.get('distributedInfo.rank', 0)}"
    owners = _find_owners(found.operators, operators)
    if found.device:
        activities = _device_activities(found, owners)
    else:
        activities = _host_activities(found, owners)
    if not activities:
        raise TraceError(
            f"{path}: none of its operators are in the program; expected a "
            "trace of the program's model"
        )
    steps = _split(rank, found, activities)
    if not steps:
        raise TraceError(
            f"{path}: nothing runs within its steps (ProfilerStep#N)"
        )
    inside = sum(len(step.activities) for step in steps)
    return Trace(path, steps, len(activities) - inside)


def _find_owners(events: list, names: Optional[set]) -> list:
    """For each operator the outermost one around it, itself included, that is
    one of `names`; without names, the outermost. Else itself if it calls no
    other, and None if it does."""
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
            is_named = names is None or operator_name(event.name) in names
            owners[index] = index if owner is None and is_named else owner
            stack.append(index)
    return [
        index if owner is None and not calls[index] else owner
        for index, owner in enumerate(owners)
    ]


def _operands(event: Optional[_Event]) -> tuple:
    """Shapes of the operands that have dimensions, and the first's type."""
    if event is None or "Input Dims" not in event.args:
        return None, ""
    shapes, element = [], ""
    types = event.args.get("Input type", [])
    for index, dims in enumerate(event.args["Input Dims"]):
        for shape in dims if dims and isinstance(dims[0], list) else [dims]:
            if not shape:
                continue
            shapes.append(tuple(shape))
            if not element and index < len(types):
                element = _ELEMENTS.get(types[index], types[index])
    return tuple(shapes), element


def _host_activities(found: _Events, owners: list) -> list:
    activities = []
    for index, event in enumerate(found.operators):
        name = operator_name(event.name)
        # The launch of a collective, whose time is that of gloo's thread.
        if owners[index] != index or name.startswith("c10d.") or \
                name.startswith("_c10d_functional."):
            continue
        shapes, element = _operands(event)
        activities.append((event.begin, Activity(
            name, event.begin, event.end, event.end - event.begin, "compute",
            shapes=shapes, element=element)))
    for event in found.gloo:
        shapes, element = _operands(event)
        activities.append((event.begin, Activity(
            event.name, event.begin, event.end, event.end - event.begin,
            "gloo", kind=kind_of(event.name) or event.name,
            elements=sum(map(prod, shapes)) if shapes else None,
            element=element)))
    return activities


def _device_activities(found: _Events, owners: list) -> list:
    by_id = {}
    comms = {}
    for index, event in enumerate(found.operators):
        key = event.args.get("External id")
        by_id[key] = index
        if "Collective name" in event.args:
            comms[key] = event.args
    computed: dict = {}
    activities = []
    for order, event in enumerate(found.device):
        key = event.args.get("External id")
        launch = found.launches.get(event.args.get("correlation"), event.begin)
        args = {**comms.get(key, {}), **event.args}
        if "Collective name" in args or event.name.startswith("nccl"):
            activities.append((launch, _collective(event, args)))
            continue
        index = by_id.get(key)
        owner = owners[index] if index is not None else None
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
            sum(e.end - e.begin for e in events),
            f"stream {events[0].args.get('stream', events[0].thread[1])}",
            shapes=shapes, element=element,
            kernels=(tuple((e.begin, e.end) for e in events)
                     if len(events) > 1 else ()))))
    return activities


def _collective(event: _Event, args: dict) -> Activity:
    name = args.get("Collective name", event.name)
    element = str(args.get("dtype", ""))
    element = {"Float": "f32", "Double": "f64", "Half": "f16",
               "BFloat16": "bf16", "Long": "i64", "Int": "i32",
               "Byte": "ui8", "Char": "i8"}.get(element, "")
    elements = args.get("In msg nelems")
    group = args.get("Process Group Name", args.get("stream", ""))
    return Activity(
        event.name, event.begin, event.end, event.end - event.begin,
        f"group {group}", kind=kind_of(name) or kind_of(event.name) or name,
        elements=elements if isinstance(elements, int) else None,
        element=element)


def _split(rank: str, found: _Events, activities: list) -> list:
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
        if marks and not found.device:
            begin, end = marks[index].begin, max(end, marks[index].end)
        steps.append(Step(rank, begin, end, part))
    return steps
