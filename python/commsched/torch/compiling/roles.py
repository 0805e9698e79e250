# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which placeholders of AOT autograd's graphs are parameters.

Under Dynamo, parameters and buffers are inputs as all others: AOT autograd
describes the local shard of one as part `_local_tensor` of plain input i. What
knows them is the list of inputs, the partitioner's `static_lifetime_input_
indices`, or, while Inductor's passes run, the metadata of the graph.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, Optional

import torch
from torch import fx, nn

from commsched.torch.importer.roles import innermost

_PRIMAL = re.compile(r"\Aprimals_(\d+)\Z")


def parameter_inputs(inputs: Sequence[Any]) -> frozenset[int]:
    """Returns the positions of the parameters among the inputs of a backend,
    as the `parameters` of the functions below."""
    return frozenset(
        index
        for index, value in enumerate(inputs)
        if isinstance(value, nn.Parameter)
    )


def parameter_roles(
    graph: fx.Graph, parameters: Collection[int]
) -> dict[str, Optional[str]]:
    """Returns the role "parameter" by name of each placeholder that is one.

    `graph` is AOT autograd's joint, forward, backward or inference graph;
    `parameters` are the positions, among the inputs of Dynamo's graph, of
    parameters, and of buffers if they are known.
    """
    return {
        node.name: "parameter"
        for node in graph.find_nodes(op="placeholder")
        if is_parameter(node, parameters)
    }


def is_parameter(node: fx.Node, parameters: Collection[int] = ()) -> bool:
    """Returns whether a placeholder is a parameter, or a tensor inside of one
    such as the local shard of a DTensor.

    AOT autograd says so itself for a module that it was given; for the inputs
    of a function, `parameters` are the positions of parameters.
    """
    if not isinstance(node.meta.get("val"), torch.Tensor):
        return False
    description = innermost(node.meta.get("desc"))
    kind = type(description).__name__
    if kind == "PlainAOTInput":
        return description.idx in parameters
    return kind.startswith(("Param", "Buffer"))


def roles_by_position(
    graph: fx.Graph, positions: Collection[int]
) -> dict[str, Optional[str]]:
    """Returns the role "parameter" by name of each placeholder whose position
    among the primals of the joint graph is in `positions`.

    A backward that takes a primal over keeps its name, and the name the
    position, so this works for forward and backward alike.
    """
    roles: dict[str, Optional[str]] = {}
    for node in graph.find_nodes(op="placeholder"):
        number = _PRIMAL.match(node.name)
        if (
            number is not None
            and int(number[1]) - 1 in positions
            and isinstance(node.meta.get("val"), torch.Tensor)
        ):
            roles[node.name] = "parameter"
    return roles
