# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the order of starts, waits and external calls, from Inductor's code,
from FX graphs, and from what a graph of eager kernels calls, in one form.

An order is a list of events: "all_gather_into_tensor 3" is the fourth start
and its operator, "wait 3" the wait for it, and "call addmm" an external call.
"""

from __future__ import annotations

import contextlib
import re

import torch

START = re.compile(
    r"(?:(\w+) = )?torch\.ops\._c10d_functional\.(\w+)\.\w+\((\[?)(\w+)"
)
CALL = re.compile(
    r"(?:\w+ = )?(?:extern_kernels\.(\w+)|torch\.ops\.aten\.(\w+))"
)
#: Operators of ATen that Inductor calls rather than generates, on a CPU and,
#: the last ones, on a GPU.
EXTERNAL = (
    "mm",
    "addmm",
    "bmm",
    "baddbmm",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention_for_cpu_backward",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_backward",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_efficient_attention_backward",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_cudnn_attention_backward",
)
ALIAS = re.compile(r"(\w+) = (?:reinterpret_tensor\()?(\w+)(?:\[(\d+)\])?")


def events_of_code(code: str) -> list[str]:
    """Returns the order of the function `call` of Inductor's Python code."""
    body = code[code.index("def call(") :].splitlines()
    events: list[str] = []
    starts: dict[str, int] = {}
    count = 0
    for line in map(str.strip, body):
        if line.startswith("#"):
            continue
        found = START.match(line)
        if found and found.group(2) == "wait_tensor":
            events.append(f"wait {starts[found.group(4)]}")
        elif found:
            results = [found.group(1) or found.group(4)]
            if not found.group(1) and found.group(3):
                # It writes into each tensor of a list.
                listed = line[found.start(4) :].partition("]")[0]
                results = re.findall(r"[a-z]\w*", listed)
            events.append(f"{found.group(2).rstrip('_')} {count}")
            starts.update(dict.fromkeys(results, count))
            count += 1
        elif found := CALL.match(line):
            events.append(f"call {found.group(1) or found.group(2)}")
        elif (found := ALIAS.match(line)) and found.group(2) in starts:
            starts[found.group(1)] = starts[found.group(2)]
    return events


def events_of_graph(graph: torch.fx.Graph, inside: bool = False) -> list[str]:
    """Returns the order of an FX graph of ATen operators; of its external
    calls those that Inductor does not turn into kernels, and, with `inside`,
    those that operators of higher order make."""
    events: list[str] = []
    starts: dict[torch.fx.Node, int] = {}
    count = 0
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        space, _, name = str(_operator(node, inside)).partition(".")
        name = name.partition(".")[0]
        if space != "_c10d_functional":
            if name in EXTERNAL:
                events.append(f"call {name}")
            elif node.args and node.args[0] in starts:
                starts[node] = starts[node.args[0]]
        elif name == "wait_tensor":
            events.append(f"wait {starts[node.args[0]]}")
        else:
            events.append(f"{name} {count}")
            starts[node] = count
            count += 1
    return events


def _operator(node: torch.fx.Node, inside: bool):
    """What a node calls, or, `inside` one of higher order, such as those that
    keep the state of random numbers, what this is given to call."""
    if inside and isinstance(node.target, torch._ops.HigherOrderOperator):
        for argument in node.args:
            if isinstance(argument, torch._ops.OpOverload):
                return argument
    return node.target


@contextlib.contextmanager
def recorded_calls():
    """Gives the list of calls of collectives, waits and external operators
    that graphs make, as they run: the operator, its first argument and what it
    returned. Whatever only traces them has other tensors."""
    calls = []
    overload = torch._ops.OpOverload
    original = overload.__call__

    def call(self, /, *args, **kwargs):
        result = original(self, *args, **kwargs)
        space, _, name = str(self).partition(".")
        name = name.partition(".")[0]
        if space == "_c10d_functional" or name in EXTERNAL:
            if all(type(tensor) is torch.Tensor for tensor in _tensors(result)):
                calls.append((name, args[0], result))
        return result

    overload.__call__ = call
    try:
        yield calls
    finally:
        overload.__call__ = original


def events_of_calls(calls: list[tuple]) -> list[str]:
    """Returns the order of calls that were recorded. A wait for what is not
    among them has no number."""
    events: list[str] = []
    starts: dict[int, int] = {}
    count = 0
    for name, argument, result in calls:
        if name in EXTERNAL:
            events.append(f"call {name}")
        elif name == "wait_tensor":
            events.append(f"wait {starts.get(_storage(argument))}")
        else:
            events.append(f"{name} {count}")
            starts.update((_storage(tensor), count) for tensor in _tensors(result))
            count += 1
    return events


def moved_events(events: list[str], calls: list[tuple]) -> int:
    """Returns how many of a graph's events are elsewhere in the run of calls
    that is most like them: 0 if the graph ran in this order."""
    size = len(events)
    runs = (calls[i : i + size] for i in range(max(1, len(calls) - size + 1)))
    return min(_differences(events_of_calls(run), events) for run in runs)


def _differences(found: list[str], wanted: list[str]) -> int:
    differ = sum(a != b for a, b in zip(found, wanted))
    return differ + abs(len(found) - len(wanted))


def _tensors(value) -> list[torch.Tensor]:
    return torch.utils._pytree.tree_leaves(value)


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


@contextlib.contextmanager
def without_compiler():
    """Kernels for CPUs are generated but not compiled: they do nothing."""
    from torch._inductor.async_compile import AsyncCompile

    compiler = AsyncCompile.cpp_pybinding
    AsyncCompile.cpp_pybinding = lambda *args, **kw: lambda *args: None
    try:
        yield
    finally:
        AsyncCompile.cpp_pybinding = compiler
