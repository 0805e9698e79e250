# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A pass for frameworks that keep one FX graph of the whole step.

Such a framework runs a graph of forward, loss and backward, with or without
the optimizer, in the order of its nodes, and takes passes with the signature
``(gm, example_inputs) -> gm``::

    from commsched.torch import schedule_pass
    passes.append(schedule_pass(memory_budget="5%", target="h100"))

It comes behind the passes that decide what is computed, and before those that
compile the graph or wrap it. In torchtitan's list of passes
:mod:`commsched.torch.torchtitan` puts it at its place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Optional, Union

import torch
from torch import nn

from commsched.torch.compiling.options import Options, check_runs_by_backend
from commsched.torch.compiling.schedule import ScheduleError, optimize_graph

#: What says which placeholders are parameters: how many of them, the first
#: ones, their names, or a function of the placeholder.
Parameters = Union[
    None, int, Collection[str], Callable[[torch.fx.Node], bool]
]


def schedule_pass(
    *, parameters: Parameters = None, **options: Any
) -> GraphPass:
    """Returns a pass that schedules the communication of a whole step's
    graph in place.

    `parameters` says which placeholders are parameters: so many, the first
    ones, or by name, or by a function of the placeholder; without it those
    whose example input is a `torch.nn.Parameter`, and those that AOT autograd
    describes as such, count. `options` are those of :class:`Options`; `inner`
    has no meaning, since the framework runs the graph.

    The pass raises ScheduleError for a graph module that another pass has
    wrapped, since what runs would stay as it was.
    """
    checked = Options.of(options)
    check_runs_by_backend(checked, "schedule_pass")
    return GraphPass(checked, parameters)


class GraphPass:
    """What :func:`schedule_pass` returns."""

    def __init__(self, options: Options, parameters: Parameters = None):
        self.options = options
        self._parameters = parameters
        self.__name__ = "commsched"

    def __call__(
        self,
        gm: torch.fx.GraphModule,
        example_inputs: Optional[Sequence[Any]] = None,
        **_settings: Any,
    ) -> torch.fx.GraphModule:
        """Schedules `gm` and returns it. Settings that frameworks hand to
        all their passes are not needed."""
        _check_runs(gm)
        roles = self._roles(gm.graph, example_inputs or ())
        optimize_graph(gm, "step", self.options, roles)
        return gm

    def uuid(self) -> str:
        """What caches have to know a result of this pass by."""
        return f"commsched {self.options.fingerprint()}"

    def _roles(
        self, graph: torch.fx.Graph, inputs: Sequence[Any]
    ) -> dict[str, Optional[str]]:
        placeholders = graph.find_nodes(op="placeholder")
        given = self._parameters
        if isinstance(given, int):
            chosen = placeholders[:given]
        elif callable(given):
            chosen = [node for node in placeholders if given(node)]
        elif given is not None:
            chosen = [node for node in placeholders if node.name in given]
        elif len(inputs) == len(placeholders):
            chosen = [
                node
                for node, value in zip(placeholders, inputs)
                if isinstance(value, nn.Parameter)
            ]
        else:
            chosen = []
        return {node.name: "parameter" for node in chosen}


def _check_runs(gm: torch.fx.GraphModule) -> None:
    """Raises ScheduleError if calling `gm` does not run its graph: a pass has
    put something else in the place of the `forward` that its code makes."""
    wrapper = vars(gm).get("forward")
    if wrapper is not None:
        raise ScheduleError(
            "the forward of this graph module was replaced by "
            f"'{getattr(wrapper, '__qualname__', type(wrapper).__qualname__)}', "
            "which runs what the graph was before, so that a schedule would "
            "change nothing: schedule before the pass that replaces it "
            "(torchtitan's is 'cudagraph_pass')"
        )
