# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the graphs of a traced step feed each other.

The backward takes what the forward saves, and the optimizer the gradients and
its own states. The forward and the optimizer take the parameters that the
optimizer of the step before updated, and the forward the buffers that it did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import fx

from commsched.torch.importer.links import Source
from commsched.torch.tracer.optimizer import (
    GRADIENT,
    STATES,
    STEP,
    Parameter,
)

#: The sources of a graph's inputs, by the names of their placeholders.
Sources = dict[str, Source]


def link_step(
    graphs: dict[str, fx.GraphModule],
    parameters: Sequence[Parameter],
    num_outputs: int,
    updated: Mapping[str, int],
) -> dict[str, Sources]:
    """The sources of every graph's inputs, by the graphs' names.

    ``graphs`` are ``forward`` and ``backward``, or ``joint``, and
    ``optimizer``. Of the outputs of the first the first ``num_outputs`` are the
    model's, and those of ``updated`` replace its inputs of these names.
    """
    first, *others = (name for name in graphs if name != "optimizer")
    links: dict[str, Sources] = {
        first: {name: Source(first, k, 1) for name, k in updated.items()},
        "optimizer": {},
    }
    gradients, behind = first, num_outputs
    for name in others:
        saved = len(graphs[first].graph.output_node().args[0]) - num_outputs
        inputs = graphs[name].graph.find_nodes(op="placeholder")
        # The last inputs are the tangents.
        links[name] = {
            node.name: Source(first, num_outputs + index)
            for index, node in enumerate(inputs[:saved])
        }
        gradients, behind = name, 0
    own = links["optimizer"]
    for index, parameter in enumerate(parameters):
        updated = Source("optimizer", index, 1)
        links[first][parameter.name] = own[parameter.name] = updated
        own[parameter.state(GRADIENT)] = Source(gradients, behind + index)
        for number, kind in enumerate(STATES, start=1):
            output = number * len(parameters) + index
            own[parameter.state(kind)] = Source("optimizer", output, 1)
    count = (1 + len(STATES)) * len(parameters)
    own[STEP] = Source("optimizer", count, 1)
    return links
