# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a partition came to, for `explain`."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Optional

import torch
from torch import fx

from commsched.figures import size_text
from commsched.torch.compiling.records import log
from commsched.torch.importer.aliases import is_view
from commsched.torch.importer.targets import is_transfer_wait, is_wait
from commsched.torch.private import storage_key

#: Of the output of a backward: see `mark_beside`.
_BESIDE = "commsched_beside_bytes"


def partition_notes(
    forward: fx.GraphModule,
    backward: fx.GraphModule,
    num_fwd_outputs: int,
    repeated_launches: int,
) -> list[str]:
    """Returns how much the forward saves, and what the backward repeats."""
    saved = saved_bytes(forward, num_fwd_outputs)
    known = {n.name for n in forward.graph.nodes if n.op == "call_function"}
    repeated = sum(
        node.op == "call_function"
        and node.name in known
        and not is_view(node)
        and not is_wait(node.target)
        for node in backward.graph.nodes
    )
    notes = [
        f"saves {size_text(saved)} of activations for the backward",
        f"computes {repeated - repeated_launches} operations again, and "
        f"launches {repeated_launches} collectives again",
    ]
    narrow = sum(
        _is_narrow(node) for node in _saved(forward, num_fwd_outputs)
    )
    if narrow:
        notes.append(f"saves {narrow} tensors in 8 bits")
    sent = [n for n in _saved(forward, num_fwd_outputs) if _is_on_host(n)]
    if sent:
        size = sum(size for node in sent for _, size in _storages(node))
        notes.append(
            f"sends {len(sent)} tensors to the host, {size_text(size)}"
        )
    return notes


def log_operators(forward: fx.GraphModule, backward: fx.GraphModule) -> None:
    """Logs, for those who debug, how often each operator occurs in each half
    and among what both compute."""
    if not log.isEnabledFor(logging.DEBUG):
        return
    again = {node.name for node in backward.graph.nodes}
    both = [node for node in forward.graph.nodes if node.name in again]
    for what, nodes in (
        ("of the forward", forward.graph.nodes),
        ("of the backward", backward.graph.nodes),
        ("that both compute", both),
    ):
        log.debug("operators %s: %s", what, count_operators(nodes))


def count_operators(nodes: Iterable[fx.Node]) -> list[tuple[str, int]]:
    """Returns the names of operators with their numbers, the most frequent
    first, as `_count_ops` of torch/_functorch/partitioners.py logs them."""
    return Counter(
        node.target.__name__ for node in nodes if node.op == "call_function"
    ).most_common()


def saved_bytes(forward: fx.GraphModule, num_fwd_outputs: int) -> int:
    """Returns the bytes of the storages that `forward` saves on the device,
    inputs aside; symbolic sizes count as their hints."""
    held: dict[int, int] = {}
    for node in _saved(forward, num_fwd_outputs):
        if _is_on_host(node):
            continue
        held.update(_storages(node))
    for node in forward.graph.find_nodes(op="placeholder"):
        for key, _ in _storages(node):
            held.pop(key, None)
    return sum(held.values())


def mark_beside(
    forward: fx.GraphModule, backward: fx.GraphModule, num_fwd_outputs: int
) -> None:
    """Marks `backward` with what lives beside it: storages that the forward takes
    or gives to its caller, such as parameters, and that are no inputs of it."""
    outputs = forward.graph.output_node().args[0][:num_fwd_outputs]
    taken = backward.graph.find_nodes(op="placeholder")
    held: dict[int, int] = {}
    for node in (*forward.graph.find_nodes(op="placeholder"), *outputs):
        if isinstance(node, fx.Node):
            held.update(_storages(node))
    for node in taken:
        for key, _ in _storages(node):
            held.pop(key, None)
    backward.graph.output_node().meta[_BESIDE] = sum(held.values())


def beside_bytes(graph: fx.Graph) -> int:
    """Returns the bytes that live beside a graph while it runs, as far as known."""
    return graph.output_node().meta.get(_BESIDE, 0)


def _saved(forward: fx.GraphModule, count: int) -> list[fx.Node]:
    outputs = forward.graph.output_node().args[0][count:]
    return [node for node in outputs if isinstance(node, fx.Node)]


def _storages(node: fx.Node) -> Iterator[tuple[int, int]]:
    value = node.meta.get("val")
    key = storage_key(value) if isinstance(value, torch.Tensor) else None
    if key is not None:
        yield key, _hint(value.untyped_storage().nbytes()) or 0


def _hint(size: Any) -> Optional[int]:
    if isinstance(size, int):
        return size
    return int(size.node.hint) if size.node.has_hint() else None


def _is_on_host(node: fx.Node) -> bool:
    return is_transfer_wait(node.target)


def _is_narrow(node: fx.Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype in (
        torch.float8_e5m2,
        torch.float8_e4m3fn,
    )
