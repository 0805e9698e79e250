# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the graphs of a traced step feed each other.

The backward takes what the forward saves, the optimizer the gradients, the
parameters as the forward returns them, and its own states; the forward takes
the parameters that the optimizer of the step before updated.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import fx

from commsched.torch.importer.links import Source
from commsched.torch.private.names import PlainAOTOutput
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
) -> dict[str, Sources]:
    """The sources of every graph's inputs, by the graphs' names.

    ``graphs`` are ``forward`` and ``backward``, or ``joint``, and
    ``optimizer``. The first of them is changed: it also returns the
    parameters, so that it says which values the optimizer updates. Of its
    outputs the first ``num_outputs`` are the model's.
    """
    first, *others = (name for name in graphs if name != "optimizer")
    added = _return_parameters(graphs[first], parameters, num_outputs)
    outputs = graphs[first].graph.output_node().args[0]
    returned = {node.name: index for index, node in enumerate(outputs)}
    behind = num_outputs + added
    links: dict[str, Sources] = {first: {}, "optimizer": {}}
    gradients = first
    for name in others:
        inputs = graphs[name].graph.find_nodes(op="placeholder")
        # The last inputs are the tangents.
        links[name] = {
            node.name: Source(first, behind + index)
            for index, node in enumerate(inputs[: len(outputs) - behind])
        }
        gradients, behind = name, 0
    own = links["optimizer"]
    for index, parameter in enumerate(parameters):
        links[first][parameter.name] = Source("optimizer", index, 1)
        own[parameter.name] = Source(first, returned[parameter.name])
        own[parameter.state(GRADIENT)] = Source(gradients, behind + index)
        for number, kind in enumerate(STATES, start=1):
            output = number * len(parameters) + index
            own[parameter.state(kind)] = Source("optimizer", output, 1)
    count = (1 + len(STATES)) * len(parameters)
    own[STEP] = Source("optimizer", count, 1)
    return links


def _return_parameters(
    graph_module: fx.GraphModule,
    parameters: Sequence[Parameter],
    num_outputs: int,
) -> int:
    """Return the parameters that are not returned yet behind the model's
    outputs, before what is saved and gradients; returns their number."""
    graph = graph_module.graph
    nodes = {n.name: n for n in graph.find_nodes(op="placeholder")}
    output = graph.output_node()
    values, descriptions = list(output.args[0]), list(output.meta["desc"])
    known = set(values)
    added = [
        nodes[parameter.name]
        for parameter in parameters
        if nodes[parameter.name] not in known
    ]
    values[num_outputs:num_outputs] = added
    descriptions[num_outputs:num_outputs] = [
        PlainAOTOutput(num_outputs + i) for i in range(len(added))
    ]
    output.args = (tuple(values),)
    output.meta["desc"] = descriptions
    graph_module.recompile()
    return len(added)
