# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of a graph's operators, measured while the graph runs.

The graph is run node after node on tensors that are made up, so that every
operator finds the caches as it finds them in a step. Collectives are not run:
their results are made up too. This takes no process group.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from typing import Any, Callable, Iterable, Optional

import torch
from torch import fx

from commsched.torch.importer.targets import (
    communicates,
    is_wait,
    schema_of,
    transfer_kind,
)
from commsched.torch.importer.types import has_value, raw_value
from commsched.torch.measuring.profile import hint_of, signature
from commsched.torch.private.names import tree_leaves, tree_map

#: Calls between two events of an accelerator's stream: one call alone would
#: time its launch.
_CALLS = 10

#: Namespaces of operators that do nothing but compute.
_OWN = ("aten", "prims")

#: What is read before each call: more than caches keep for a core. In a step,
#: other operators have used them since the tensors of this one were made.
_FORGOTTEN_BYTES = 16 << 20


def measure_operators(
    graphs: Iterable[fx.GraphModule],
    device: Optional[torch.device] = None,
    repeats: int = 10,
    report: Callable[[str], None] = lambda message: None,
) -> list[dict[str, Any]]:
    """Times every distinct call of `graphs` on `device`.

    Distinct is what :func:`profile.signature` tells apart. A time is the
    median over `repeats` runs of all calls with that signature, in
    nanoseconds. `device` is by default that of the graphs' own values.

    Returns the entries of a profile's `operators`, sorted. An operator that
    fails is left out, and `report` gets a line with its reason.
    """
    times: dict[str, list[int]] = {}
    counts: dict[str, int] = {}
    failed: dict[str, str] = {}
    for gm in graphs:
        for node in gm.graph.nodes:
            text = signature(node)
            if text is not None:
                counts[text] = counts.get(text, 0) + 1
        timer = _Timer(gm, device, failed)
        for index in range(repeats + 1):
            for text, nanoseconds in timer.run_once():
                if index:  # The first run warms up.
                    times.setdefault(text, []).append(nanoseconds)
    for text, reason in failed.items():
        report(f"left out {text}: {reason}")
    return [
        {
            "operator": text,
            "time_ns": max(1, round(statistics.median(times[text]))),
            "count": counts[text],
        }
        for text in sorted(times)
        if text not in failed
    ]


def time_calls(
    nodes: Iterable[fx.Node], seconds: float, repeats: int = 5
) -> dict[str, int]:
    """Times the calls of `nodes` on this processor one by one, in this order,
    until `seconds` have passed; returns what each takes in nanoseconds, by its
    signature.

    Each is one that :func:`is_timed`, on arguments that are made up: no more
    memory than it takes in a step. One that fails is left out.
    """
    deadline = time.perf_counter() + seconds
    other = torch.zeros(_FORGOTTEN_BYTES // 4)
    times: dict[str, int] = {}
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        for node in nodes:
            if time.perf_counter() > deadline:
                break
            with contextlib.suppress(Exception):  # Whatever it raises.
                elapsed = _time_call(node, other, deadline, repeats)
                times[signature(node)] = elapsed
    return times


def is_timed(node: fx.Node) -> bool:
    """Whether :func:`time_calls` may call what `node` does: an operator of
    PyTorch's own, on processors. Others might do more than compute."""
    if signature(node) is None or not has_value(node):  # As assertions.
        return False
    if node.target.namespace not in _OWN:
        return False
    values = [raw_value(given) for given in (node, *node.all_input_nodes)]
    return all(
        leaf.device.type == "cpu"
        for leaf in tree_leaves(values)
        if isinstance(leaf, torch.Tensor)
    )


def _time_call(
    node: fx.Node, other: torch.Tensor, deadline: float, repeats: int
) -> int:
    """Returns the median over `repeats` calls, after one that warms up; over
    fewer if these end after the `deadline`."""
    clock = own_clock()
    args, kwargs = fx.node.map_arg(
        (node.args, dict(node.kwargs)), lambda given: _made_up(raw_value(given))
    )
    moves = not _is_view(node, node.target(*args, **kwargs), (args, kwargs))
    taken: list[int] = []
    while len(taken) < repeats:
        if moves:
            other.sum()
        start = clock()
        node.target(*args, **kwargs)
        taken.append(clock() - start)
        if time.perf_counter() > deadline:
            break
    return max(1, round(statistics.median(taken)))


def own_clock() -> Callable[[], int]:
    """Returns a clock in nanoseconds for what this thread computes: one thread's
    own time is the same whatever else the machine does; that of several has to be
    the wall's."""
    alone = torch.get_num_threads() == 1
    return time.thread_time_ns if alone else time.perf_counter_ns


def _is_view(node: fx.Node, result: Any, arguments: Any) -> bool:
    """Whether a call has moved nothing: its result lives in an argument that it
    has not changed. Nothing has to be in a cache for it but its code, which the
    many views of a step keep there."""
    found, given = (
        {
            leaf.untyped_storage().data_ptr()
            for leaf in tree_leaves(value)
            if isinstance(leaf, torch.Tensor)
        }
        for value in (result, arguments)
    )
    return bool(found) and found <= given and not schema_of(node.target).is_mutable


class _Timer(fx.Interpreter):
    def __init__(
        self,
        gm: fx.GraphModule,
        device: Optional[torch.device],
        failed: dict[str, str],
    ):
        super().__init__(gm, garbage_collect_values=True)
        self._device = device
        self._failed = failed
        self._times: list[tuple[str, int]] = []
        self._signatures = {n: signature(n) for n in gm.graph.nodes}

    def run_once(self) -> list[tuple[str, int]]:
        """Runs the graph and returns signatures with times in nanoseconds."""
        self._times = []
        with torch.no_grad():
            self.run(*[None] * len(self.graph.find_nodes(op="placeholder")))
        return self._times

    def run_node(self, node: fx.Node) -> Any:
        if node.op == "placeholder":
            return self._make(node)
        if node.op == "call_function" and (
            communicates(node.target)
            or is_wait(node.target)
            or transfer_kind(node.target) is not None
        ):
            return self._make(node)
        text = self._signatures[node]
        if text in self._failed:
            return self._make(node)
        if text is None:
            return self._run_untimed(node)
        args, kwargs = self.fetch_args_kwargs_from_env(node)
        try:
            result, nanoseconds = self._time(node.target, args, kwargs)
        except Exception as error:  # Whatever an operator raises.
            self._failed[text] = _first_line(error)
            return self._make(node)
        self._times.append((text, nanoseconds))
        return result

    def _run_untimed(self, node: fx.Node) -> Any:
        if node.op == "output":
            return None
        try:
            return super().run_node(node)
        except Exception as error:
            self._failed[f"node '{node.name}'"] = _first_line(error)
            return self._make(node)

    def _time(self, target, args, kwargs) -> tuple[Any, int]:
        device = _device_of((args, kwargs))
        if device is None or device.type == "cpu":
            start = time.perf_counter_ns()
            result = target(*args, **kwargs)
            return result, time.perf_counter_ns() - start
        events = [
            torch.Event(device=device, enable_timing=True) for _ in range(2)
        ]
        result = target(*args, **kwargs)
        events[0].record()
        for _ in range(_CALLS):
            target(*args, **kwargs)
        events[1].record()
        events[1].synchronize()
        milliseconds = events[0].elapsed_time(events[1])
        return result, round(milliseconds * 1e6 / _CALLS)

    def _make(self, node: fx.Node) -> Any:
        return _made_up(raw_value(node), self._device)


def _made_up(value: Any, device: Optional[torch.device] = None) -> Any:
    """Replaces tensors of a value by real ones, and symbolic sizes by their
    hints."""

    def make(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return make_tensor(leaf, device)
        return hint_of(leaf)

    return tree_map(make, value)


def make_tensor(
    like: torch.Tensor, device: Optional[torch.device] = None
) -> torch.Tensor:
    """Makes a tensor of `like`'s shape, strides and type.

    Numbers are in [0.1, 1), which no operator turns into infinities at once;
    integers are 0, which is an index of every tensor that has an element.
    """
    shape = [hint_of(size) for size in like.shape]
    strides = [hint_of(stride) for stride in like.stride()]
    last = sum((n - 1) * s for n, s in zip(shape, strides))
    length = last + 1 if all(shape) else 0
    device = device or like.device
    dtype = like.dtype
    if dtype.is_floating_point and dtype.itemsize > 1:
        flat = torch.empty(length, dtype=dtype, device=device)
        flat.uniform_(0.1, 1.0)
    elif dtype.is_floating_point or dtype.is_complex:
        flat = torch.full((length,), 0.5, device=device).to(dtype)
    else:
        flat = torch.zeros(length, dtype=dtype, device=device)
    return flat.as_strided(shape, strides)


def _device_of(arguments: Any) -> Optional[torch.device]:
    for leaf in tree_leaves(arguments):
        if isinstance(leaf, torch.Tensor):
            return leaf.device
    return None


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}".rstrip(": ")
