# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that a forward saves: where they are, and operators beside them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Optional

import torch
from torch import fx

from commsched.torch.importer.aliases import is_view


def place_of(
    outputs: Sequence[Any], num_fwd_outputs: int, name: str
) -> Optional[int]:
    """Returns the place of the saved value `name` among the outputs of a
    forward, or None if it is not saved."""
    for place in range(num_fwd_outputs, len(outputs)):
        if getattr(outputs[place], "name", None) == name:
            return place
    return None


def last_use(value: fx.Node) -> fx.Node:
    shown = {value}
    last = value
    graph = value.graph
    for node in graph.nodes:
        if node.op == "placeholder":
            # Nothing comes between placeholders.
            last = node if last.op == "placeholder" else last
        elif node.op != "output" and any(
            source in shown for source in node.all_input_nodes
        ):
            last = node
            if is_view(node):
                shown.add(node)
    return last


def first_of(graph: fx.Graph, users: Collection[fx.Node]) -> fx.Node:
    return next(node for node in graph.nodes if node in users)


class Emitter:
    """Adds operators with fake values, at the graph's place for nodes, in the
    name of `source`."""

    def __init__(self, graph: fx.Graph, source: fx.Node):
        self._graph = graph
        self._mode = source.meta["val"].fake_mode
        self._meta = {
            key: source.meta[key]
            for key in ("nn_module_stack", "stack_trace", "custom")
            if key in source.meta
        }
        self.is_backward = False

    def __call__(
        self, target: Any, *args: Any, name: str | None = None, **kwargs: Any
    ) -> fx.Node:
        node = self._graph.create_node(
            "call_function", target, args, kwargs, name=name
        )
        values = fx.node.map_arg((args, kwargs), lambda n: n.meta["val"])
        node.meta = dict(self._meta)
        if self.is_backward:
            node.meta["autograd_backward"] = True
        with self._mode:
            node.meta["val"] = target(*values[0], **values[1])
        return node

    def cast(
        self, value: fx.Node, dtype: torch.dtype, name: str | None = None
    ) -> fx.Node:
        """Adds a conversion of `value` to `dtype`, unless it has it."""
        if value.meta["val"].dtype == dtype and name is None:
            return value
        target = torch.ops.prims.convert_element_type.default
        return self(target, value, dtype, name=name)
