# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sends saved values to the host, and brings them back.

The forward starts an offload behind the last use of a value, waits for it
behind all others, and returns the tensor in pinned memory in the value's
place. The backward reloads it before its first use. Starts and waits are where
a schedule may move them from.

`ao::wait_tensor` frees what it is given as `keepalive`. That is not used here:
memory that something else may still show, or that a second backward reads, is
freed when nothing refers to it. `last_use_of_storage` keeps what a transfer
reads until it is done.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import fx

from commsched.torch.private import storage_of
from commsched.torch.private import partition as private
from commsched.torch.private import transfers
from commsched.torch.private.names import (
    is_contiguous_or_false,
    is_non_overlapping_and_dense_or_false,
)
from commsched.torch.rewriting.saved import (
    Emitter,
    first_of,
    last_use,
    place_of,
)


def offload_saved(
    forward: fx.GraphModule,
    backward: fx.GraphModule,
    names: Sequence[str],
    num_fwd_outputs: int,
    *,
    runs: bool = True,
) -> list[str]:
    """Sends the saved values `names` to the host, and returns those that were.

    Left on the device are values that are not saved, whose elements do not
    fill their memory, whose memory lives on in any case (that of an input, of
    an output or of another saved value) and, if the graphs are to be run, that
    are not on an accelerator.
    """
    outputs = list(forward.graph.output_node().args[0])
    taken = {n.name: n for n in backward.graph.find_nodes(op="placeholder")}
    held = _held(forward, outputs)
    sent = []
    for name in names:
        place = place_of(outputs, num_fwd_outputs, name)
        if place is None or name not in taken:
            continue
        value, old = outputs[place], taken[name]
        if not old.users or not _is_movable(value, held):
            continue
        if runs and not transfers.is_on_accelerator(value.meta["val"]):
            continue
        outputs[place] = _send(forward.graph, value)
        _bring_back(backward.graph, old, outputs[place])
        sent.append(name)
    if sent:
        private.set_outputs(forward, outputs, num_fwd_outputs)
    for half in (forward, backward) if sent else ():
        half.graph.lint()
        half.recompile()
    return sent


def _held(forward: fx.GraphModule, outputs: list) -> dict[int, int]:
    """Returns how many inputs and outputs of `forward` show each memory."""
    held: dict[int, int] = {}
    inputs = forward.graph.find_nodes(op="placeholder")
    for node in (*inputs, *outputs):
        key = storage_of(node)
        if key is not None:
            held[key] = held.get(key, 0) + 1
    return held


def _is_movable(value: fx.Node, held: dict[int, int]) -> bool:
    tensor = value.meta.get("val")
    if not isinstance(tensor, torch.Tensor) or value.op == "placeholder":
        return False
    if held.get(storage_of(value), 0) > 1:
        return False
    return is_contiguous_or_false(tensor) or (
        _has_known_layout(tensor) and is_non_overlapping_and_dense_or_false(tensor)
    )


def _has_known_layout(tensor: torch.Tensor) -> bool:
    return all(
        isinstance(number, int) for number in (*tensor.shape, *tensor.stride())
    )


def _send(graph: fx.Graph, value: fx.Node) -> fx.Node:
    operators = transfers.operators()
    with graph.inserting_before(last_use(value).next):
        emit = Emitter(graph, value)
        start = emit(operators.offload, value, name=f"{value.name}_offload")
    with graph.inserting_before(graph.output_node()):
        return emit(
            operators.wait, start, None, value, name=f"{value.name}_host"
        )


def _bring_back(graph: fx.Graph, old: fx.Node, host: fx.Node) -> None:
    """Replaces the placeholder `old` by one of the tensor on the host."""
    operators = transfers.operators()
    tensor = old.meta["val"]
    with graph.inserting_after(old):
        new = graph.placeholder(host.name)
    new.meta = dict(host.meta)
    layout = ()
    if not is_contiguous_or_false(tensor):
        layout = (list(tensor.shape), list(tensor.stride()))
    with graph.inserting_before(first_of(graph, old.users)):
        emit = Emitter(graph, old)
        emit.is_backward = True
        start = emit(
            operators.reload,
            new,
            tensor.device,
            *layout,
            name=f"{old.name}_reload",
        )
        value = emit(
            operators.wait, start, None, new, name=f"{old.name}_device"
        )
    old.replace_all_uses_with(value)
    graph.erase_node(old)
