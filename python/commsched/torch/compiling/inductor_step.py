# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scheduling a whole step that PyTorch's `regional_inductor` compiles.

It compiles the nodes that say so, with the settings of Inductor that they
carry, but takes them in an order of its own, in which backwards come long
before they are needed. So each node carries its place, too: the order is put
back before anything is made of the graph, and then scheduled by the passes
that schedule all of Inductor's graphs.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Any, Optional

import torch

from commsched.torch import private
from commsched.torch.compiling.guards import find_obstacle
from commsched.torch.compiling.inductor import (
    CacheKey,
    SchedulePass,
    settings_of,
)
from commsched.torch.compiling.options import Options
from commsched.torch.private.names import CustomGraphPass

#: The annotation by which `regional_inductor` knows the nodes that it compiles.
_COMPILED = "compile_with_inductor"
#: Annotations of this package: the place of a node, and that a placeholder is a
#: parameter.
_PLACE = "commsched_place"
_PARAMETER = "commsched_parameter"


class StepPass:
    """A pass over a whole step's graph that leaves word for Inductor to
    schedule it. The first `parameters` inputs are parameters."""

    def __init__(self, options: Options, parameters: int):
        self._options = options
        self._parameters = parameters
        self.__name__ = "commsched"

    def __call__(
        self, gm: torch.fx.GraphModule, example_inputs: Any = None
    ) -> torch.fx.GraphModule:
        """Annotates all nodes of `gm` and returns it."""
        if find_obstacle(self._options, "inductor"):
            return gm
        order = TracedOrder(self._options, gm.graph, self._parameters)
        settings = settings_of(
            self._options,
            {"pre_grad_custom_pass": order},
            functools.partial(_ScheduleStep, order=order),
        )
        compiled = {"inductor_configs": settings}
        placeholders = gm.graph.find_nodes(op="placeholder")
        for node in placeholders[: self._parameters]:
            _annotations(node)[_PARAMETER] = True
        for place, node in enumerate(gm.graph.nodes):
            if node.op not in ("placeholder", "output"):
                _annotations(node).update({_PLACE: place, _COMPILED: compiled})
        return gm


class TracedOrder(CustomGraphPass):
    """Puts the nodes that StepPass annotated back into their order."""

    def __init__(
        self, options: Options, graph: torch.fx.Graph, parameters: int
    ):
        #: Positions of parameters among the inputs of what is compiled.
        self.parameters: list[int] = []
        names = "\n".join(node.name for node in graph.nodes)
        digest = hashlib.sha256(names.encode()).hexdigest()
        self._key = f"commsched order {parameters} {digest}"

    def uuid(self) -> str:
        return self._key

    def __deepcopy__(self, memo: dict) -> TracedOrder:
        return self

    def __call__(self, graph: torch.fx.Graph) -> None:
        self.parameters = [
            position
            for position, node in enumerate(graph.find_nodes(op="placeholder"))
            if _annotations(node).get(_PARAMETER)
        ]
        rest = [node for node in graph.nodes if _PLACE in _annotations(node)]
        first = [node for node in graph.nodes if node.op == "placeholder"]
        last = [node for node in graph.nodes if node.op == "output"]
        rest.sort(key=lambda node: _annotations(node)[_PLACE])
        private.relink(graph, [*first, *rest, *last])
        graph.owning_module.recompile()


class _ScheduleStep(SchedulePass):
    """Schedules the graph that `order` was put into."""

    def __init__(self, options: Options, key: CacheKey, order: TracedOrder):
        super().__init__(options, key)
        self._order = order

    def uuid(self) -> Optional[str]:
        key = super().uuid()
        return None if key is None else f"{key} {self._order.uuid()}"

    def __deepcopy__(self, memo: dict) -> _ScheduleStep:
        return self

    def _known(
        self, graph: torch.fx.Graph
    ) -> tuple[str, dict[str, Optional[str]]]:
        inputs = graph.find_nodes(op="placeholder")
        return "step", {
            inputs[position].name: "parameter"
            for position in self._order.parameters
        }


def _annotations(node: torch.fx.Node) -> dict[str, Any]:
    return node.meta.setdefault("custom", {})
